"""Marks of what is deprecated: calls log a warning, once for each function."""

from __future__ import annotations

import functools
from collections.abc import Callable

from flowmill import logging
from flowmill._internal.arguments import one_of

__all__ = ["deprecated", "deprecated_alias", "deprecated_arg_values", "deprecated_args", "deprecated_argument_lookup", "silence"]

_warned: set = set()
_silenced = 0


class silence:  # noqa: N801 - used like a function
    """A context without these warnings."""

    def __enter__(self):
        global _silenced
        _silenced += 1

    def __exit__(self, *raised):
        global _silenced
        _silenced -= 1


def _warn(key, what: str, date: str | None, instructions: str, once: bool) -> None:
    if _silenced or once and key in _warned:
        return
    _warned.add(key)
    when = "in a future version" if date is None else f"after {date}"
    logging.warning("%s is deprecated and will be removed %s. Instructions for updating: %s", what, when, instructions)


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable:
    """Returns a decorator of functions that are deprecated: to be removed after `date`, or some time; `instructions` say what to do."""
    def decorate(function):
        @functools.wraps(function)
        def decorated(*args, **kwargs):
            _warn(decorated, function.__qualname__, date, instructions, warn_once)
            return function(*args, **kwargs)
        return decorated
    return decorate


def deprecated_alias(deprecated_name: str, name: str, func_or_class, warn_once: bool = True):
    """Returns a function like `func_or_class` whose calls say that it is called `name` now."""
    @functools.wraps(func_or_class)
    def decorated(*args, **kwargs):
        _warn(decorated, deprecated_name, None, f"Please use {name} instead.", warn_once)
        return func_or_class(*args, **kwargs)
    return decorated


def deprecated_args(date: str | None, instructions: str, *deprecated_arg_names_or_tuples, **kwargs) -> Callable:
    """Returns a decorator of functions of which some arguments are deprecated, named or in tuples of name and value."""
    names = {n if isinstance(n, str) else n[0] for n in deprecated_arg_names_or_tuples}

    def decorate(function):
        @functools.wraps(function)
        def decorated(*args, **given):
            for name in sorted(names & given.keys()):
                _warn((decorated, name), f"{function.__qualname__} with {name}", date, instructions, kwargs.get("warn_once", True))
            return function(*args, **given)
        return decorated
    return decorate


def deprecated_arg_values(date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs) -> Callable:
    """Returns a decorator of functions of which some values of arguments are deprecated."""
    def decorate(function):
        @functools.wraps(function)
        def decorated(*args, **given):
            for name, value in deprecated_kwargs.items():
                if name in given and given[name] == value:
                    _warn((decorated, name), f"{function.__qualname__} with {name}={value}", date, instructions, warn_once)
            return function(*args, **given)
        return decorated
    return decorate


def deprecated_argument_lookup(new_name: str, new_value, old_name: str, old_value):
    """Returns the value of an argument that has two names.

    Raises:
        ValueError: if both are given.
    """
    return one_of(old_name, old_value, new_name, new_value)
