"""The scopes in which the functions of this package build."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from flowmill._internal.apply import graph_of


@contextlib.contextmanager
def scope(name: str | None, default: str, values=()) -> Iterator[str]:
    """The scope that a function builds in, of the graph of its arguments. Returns the scope's whole name with a slash at its end, which an operation
    that is called so gets without the slash.

    Args:
        name: what the caller asks for.
        default: what it is if that is None.
        values: the arguments.
    """
    graph = graph_of(values)
    with graph.as_default(), graph.name_scope(default if name is None else name) as whole:
        yield whole
