"""Each thread's stack of graphs that are the default."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowmill._internal.graph import Graph


class _Defaults(threading.local):
    def __init__(self):
        # Outermost first.
        self.graphs: list[Graph] = []


defaults = _Defaults()


class AsDefault:
    """The context manager that :meth:`Graph.as_default` returns."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph):
        self._graph = graph

    def __enter__(self) -> Graph:
        defaults.graphs.append(self._graph)
        return self._graph

    def __exit__(self, *raised) -> None:
        stack = defaults.graphs
        if not stack or stack[-1] is not self._graph:
            raise AssertionError(f"Nesting violated for default stack of {type(self._graph)} objects")
        stack.pop()


def is_captured(graph: Graph) -> bool:
    """Returns true if the body of another function is being built, which captures the tensors of `graph` that it uses."""
    stack = defaults.graphs
    return bool(stack) and stack[-1].building_function and stack[-1] is not graph


def target(graph: Graph) -> Graph:
    """Returns the graph to which operations on tensors of `graph` are added: the body of a function that is being built, else the graph itself."""
    return defaults.graphs[-1] if is_captured(graph) else graph
