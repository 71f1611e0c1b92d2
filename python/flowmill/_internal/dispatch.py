"""Calls with ragged arguments of functions that are written for tensors: decorators that hand such a call to the ragged package."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from flowmill._internal.tensor import Tensor

_Function = TypeVar("_Function", bound=Callable[..., Any])


def is_ragged(value) -> bool:
    """Returns true if a value is a ragged tensor, or the value of one; does not load the module of ragged tensors."""
    return type(value) is not Tensor and hasattr(type(value), "nested_row_splits")


def of_rows(function: Callable, x, y):
    """Returns a function of two tensors for ones of which one is ragged."""
    return _handler("_elementwise.applied")(function, x, y)


def of_values(function: Callable, x):
    """Returns a ragged tensor with `function` applied to its flat values."""
    return _handler("_elementwise.of_values")(function, x)


def elementwise(function: _Function) -> _Function:
    """Makes a function of one tensor, its first argument, work on the flat values of a ragged one."""
    first = _parameters(function)[0]

    @functools.wraps(function)
    def dispatched(*args, **kwargs):
        x = args[0] if args else kwargs.get(first)
        if not is_ragged(x):
            return function(*args, **kwargs)
        if args:
            return of_values(lambda values: function(values, *args[1:], **kwargs), x)
        return of_values(lambda values: function(**kwargs | {first: values}), x)
    return dispatched  # type: ignore[return-value]


def pairwise(function: _Function) -> _Function:
    """Makes a function of two tensors, its first two arguments, broadcast ragged ones and work on their flat values."""
    first, second = _parameters(function)[:2]

    @functools.wraps(function)
    def dispatched(*args, **kwargs):
        given = dict(zip((first, second), args)) | kwargs
        x, y = given.pop(first, None), given.pop(second, None)
        if not (is_ragged(x) or is_ragged(y)) or x is None or y is None:
            return function(*args, **kwargs)
        return of_rows(lambda a, b: function(a, b, *args[2:], **given), x, y)
    return dispatched  # type: ignore[return-value]


def by_rows(handler: str) -> Callable[[_Function], _Function]:
    """Returns a decorator for a function that has another definition for ragged tensors.

    Args:
        handler: the module of the ragged package and the function there, such as ``"_layout.tile"``, which takes the same arguments.
    """
    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def dispatched(*args, **kwargs):
            if any(map(_has_ragged, args)) or any(map(_has_ragged, kwargs.values())):
                return _handler(handler)(*args, **kwargs)
            return function(*args, **kwargs)
        return dispatched  # type: ignore[return-value]
    return decorate


def of_operators(function: _Function) -> _Function:
    """Makes a function of matrices take a linear operator as its first argument: the function of this name in `linalg._of_operators` is called then."""
    first = _parameters(function)[0]

    @functools.wraps(function)
    def dispatched(*args, **kwargs):
        if not is_operator(args[0] if args else kwargs.get(first)):
            return function(*args, **kwargs)
        return of_operator(function.__name__)(*args, **kwargs)
    return dispatched  # type: ignore[return-value]


def is_operator(value) -> bool:
    """Returns true if a value is a linear operator; does not load the module of those."""
    return type(value) is not Tensor and hasattr(type(value), "_matrix_ndims")


def of_operator(name: str) -> Callable:
    """Returns a function of `linalg._of_operators`, which has linear operators among its arguments."""
    return getattr(importlib.import_module("flowmill.linalg._of_operators"), name)


def _has_ragged(value) -> bool:
    return is_ragged(value) or type(value) in (list, tuple) and any(map(is_ragged, value))


def _parameters(function: Callable) -> tuple[str, ...]:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__.co_varnames


def _handler(where: str) -> Callable:
    module, _, name = where.partition(".")
    return getattr(importlib.import_module(f"flowmill.ragged.{module}"), name)
