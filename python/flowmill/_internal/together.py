"""Operations that a function makes together."""

from __future__ import annotations

from flowmill._internal.apply import _Input, graph_of
from flowmill._internal.convert import are_plain, array_of, convert_to_tensor, is_plain
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import DType, as_dtype


class Together:
    """Operations that are added in one go, in a name scope of their own: called `name`, or `default` if that is None, in the graph of `values`.

    What :meth:`input` and :meth:`add` give are inputs for the operations after them. Where one of `values` takes more than a constant to become a
    tensor, operations are added one by one.
    """

    __slots__ = ("_graph", "_name", "_nodes", "_at_once")

    def __init__(self, name: str | None, default: str, *values):
        plain = are_plain(values)
        graph = self._graph = get_default_graph() if plain else graph_of(values)
        graph._check_not_finalized()
        self._name = name or default
        self._nodes: list[tuple] = []
        self._at_once = plain or all(type(v) is Tensor and v._graph is graph or is_plain(v) for v in values)
        if not self._at_once:
            self._name = graph._named(graph._thread.here.scope, self._name)[1] + "/"

    def input(self, value, dtype: DType | None, name: str, allowed: tuple[int, ...] = ()) -> _Input:
        """Returns a value as an input: a constant called `name` if it is a number or the like.

        Raises:
            TypeError: if `allowed` has numbers of types, and that of the value is not among them.
        """
        if not self._at_once:
            graph = self._graph
            with graph.as_default(), graph.name_scope(self._name):
                tensor = convert_to_tensor(value, dtype, name)
        elif isinstance(value, Tensor):
            tensor = convert_to_tensor(value, dtype)
        else:
            array, number = array_of(value, dtype)
            _check(number, allowed, name)
            self._nodes.append(("Const", name, array, number))
            return len(self._nodes) - 1
        _check(tensor.dtype.base_dtype._number, allowed, name)
        return tensor._key

    def add(self, op: str, name: str, inputs: list[_Input], **attrs) -> _Input:
        """Adds an operation; attributes are in the core's form, and None means left out."""
        node = op, name, inputs, attrs and {k: v for k, v in attrs.items() if v is not None}
        if not self._at_once:
            return self._graph._add_all(self._name, (node,))._outputs[0]._key
        self._nodes.append(node)
        return len(self._nodes) - 1

    def last(self, op: str, inputs: list[_Input], name: str = "", **attrs) -> Tensor:
        """Adds all, and this operation, which has the scope's name if it has none of its own; returns its output."""
        added = self.add(op, name, inputs, **attrs)
        return self._graph._add_for_output(tuple(self._nodes), self._name) if self._at_once else self._graph._tensor(added)


def _check(number: int, allowed: tuple[int, ...], name: str) -> None:
    if allowed and number not in allowed:
        names = ", ".join(as_dtype(n).name for n in allowed)
        raise TypeError(f"Value passed to parameter '{name}' has DataType {as_dtype(number).name} not in list of allowed values: {names}")
