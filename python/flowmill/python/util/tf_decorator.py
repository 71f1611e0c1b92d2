"""Decorators that keep what they decorate."""

from __future__ import annotations

import functools
from collections.abc import Callable

__all__ = ["make_decorator", "unwrap"]


def make_decorator(target: Callable, decorator_func: Callable, decorator_name: str | None = None, decorator_doc: str = "", decorator_argspec=None) -> Callable:
    """Returns `decorator_func` with the name and the documentation of `target`; :func:`unwrap` finds `target` again. Other arguments are not used."""
    return functools.wraps(target)(decorator_func)


def unwrap(maybe_tf_decorator: Callable) -> tuple[list[Callable], Callable]:
    """Returns the decorators around a function, the outermost first, and the function."""
    decorators, target = [], maybe_tf_decorator
    while hasattr(target, "__wrapped__"):
        decorators.append(target)
        target = target.__wrapped__
    return decorators, target
