"""The fetches of a step: any nesting of tensors, operations and names."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from typing import Any

from flowmill._internal.graph import Graph
from flowmill._internal.tensor import Operation, Tensor


# The ops whose values are handles of tensors that stay in the session.
_HANDLES = frozenset(("GetSessionHandle",))


class Fetches:
    """A structure of fetches taken apart.

    Attributes:
        tensors: the tensors to fetch, once each.
        targets: the operations to run.
        layout: for each leaf of the structure its place among `tensors`, None for an operation.
        rebuild: makes the structure of a list of the leaves' values.
        has_handles: whether a value becomes a `TensorHandle` of the session.
    """

    def __init__(self, graph: Graph, fetches, session=None):
        self._graph, self._session = graph, session
        self.has_handles = False
        self._places: dict[Tensor, int] = {}
        self.targets: list[Operation] = []
        self.layout: list[int | None] = []
        self.rebuild = self._take_apart(fetches)
        self.tensors = list(self._places)

    def _take_apart(self, fetch) -> Callable[[list], Any]:
        """Notes the leaves of a structure; returns what makes it of all leaves' values."""
        value_of = getattr(fetch, "_value_of", None)  # an object made of several tensors
        if value_of is not None:
            parts = [self._leaf(part) for part in fetch._components()]
            return lambda values: value_of([part(values) for part in parts])
        if isinstance(fetch, (list, tuple)):
            return self._sequence(fetch)
        if isinstance(fetch, Mapping):
            return self._mapping(fetch)
        if hasattr(type(fetch), "__attrs_attrs__"):
            names = [a.name for a in type(fetch).__attrs_attrs__]
            parts = [self._take_apart(getattr(fetch, n)) for n in names]
            return lambda values: type(fetch)(*(p(values) for p in parts))
        return self._leaf(fetch)

    def _sequence(self, fetch):
        parts = [self._take_apart(f) for f in fetch]
        kind = type(fetch)
        if hasattr(kind, "_fields"):  # a named tuple
            return lambda values: kind(*(p(values) for p in parts))
        if kind in (list, tuple):
            return lambda values: kind([p(values) for p in parts])
        kind = list if isinstance(fetch, list) else tuple
        return lambda values: kind([p(values) for p in parts])

    def _mapping(self, fetch):
        parts = [(key, self._take_apart(f)) for key, f in fetch.items()]

        def rebuild(values):
            if isinstance(fetch, collections.defaultdict):
                made = collections.defaultdict(fetch.default_factory)
            else:
                made = type(fetch)()
            for key, part in parts:
                made[key] = part(values)
            return made

        return rebuild

    def _leaf(self, fetch):
        element = self._element(fetch)
        place = len(self.layout)
        if isinstance(element, Operation):
            self.targets.append(element)
            self.layout.append(None)
        else:
            self.layout.append(self._places.setdefault(element, len(self._places)))
            if element.op.type in _HANDLES:
                return self._handle(element, place)
        return lambda values: values[place]

    def _handle(self, element: Tensor, place: int):
        from flowmill._internal.session_ops import _new_handle  # start-up: most programs keep no tensors in sessions

        self.has_handles = True
        dtype = element.op.get_attr("T")
        return lambda values: _new_handle(values[place], dtype, self._session)

    def _element(self, fetch) -> Tensor | Operation:
        if fetch is None:
            raise TypeError('Argument `fetch` = None has invalid type "NoneType". Cannot be None')
        try:
            element = self._graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(f'Argument `fetch` = {_shown(fetch)} has invalid type "{type(fetch).__name__}" must be a string or Tensor. ({error})') from None
        except (ValueError, KeyError) as error:
            raise ValueError(f"Argument `fetch` = {_shown(fetch)} cannot be interpreted as a Tensor. ({error.args[0]})") from None
        op = element if isinstance(element, Operation) else element.op
        if not (self._graph.is_fetchable(element) and self._graph.is_fetchable(op)):
            raise ValueError(
                f"Operation {op.name} has been marked as not fetchable. Typically this happens when it is defined in another function or code block. "
                "Use return values, explicit Python locals or TensorFlow collections to access it.")
        return element


def _shown(fetch) -> str:
    """Returns a fetch in a message; an operation by its name, for all of its node would be lines."""
    return repr(fetch) if isinstance(fetch, Operation) else str(fetch)
