"""Copies of what computes a dataset: in the function of a one-shot iterator, and in graphs of their own."""

from __future__ import annotations

from flowmill._internal.func_graph import FuncGraph
from flowmill._internal.graph import Graph
from flowmill._internal.tensor import Operation, Tensor


def copy_by_value(tensor: Tensor, into: Graph) -> Tensor:
    """Returns a copy of a dataset in another graph, with copies of all that computes it.

    Args:
        tensor: the dataset's variant.
        into: the other graph.

    Raises:
        ValueError: if the dataset depends on a placeholder, or on an operation with state that makes no dataset.
    """
    source = tensor.graph
    found: dict[int, Operation] = {}
    todo = [tensor.op]
    while todo:
        op = todo.pop()
        if op._id not in found:
            _check(op)
            found[op._id] = op
            todo.extend(t.op for t in reversed(op.inputs))
    for function in source._functions.values():
        function.add_to_graph(into)
    copies: dict[int, Operation] = {}
    for number in sorted(found):  # inputs have smaller numbers
        op = found[number]
        inputs = [copies[t.op._id]._outputs[t.value_index] for t in op.inputs]
        copies[number] = into.create_op(op.type, inputs, name=op.name, attrs=_attrs(op, found.values()))
    return copies[tensor.op._id]._outputs[tensor.value_index]


def _check(op: Operation) -> None:
    if op.type in ("Placeholder", "PlaceholderV2"):
        raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
    makes_dataset = bool(op._outputs) and op._outputs[0].dtype.name == "variant"
    if op.op_def.is_stateful and not makes_dataset:
        raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")


def _attrs(op: Operation, copied) -> dict:
    """Returns the attributes of an operation; it leaves the groups of operations that are not copied."""
    attrs = dict(op.node_def.attr)
    if "_class" in attrs:
        names = {b"loc:@" + other.name.encode() for other in copied}
        groups = [group for group in attrs.pop("_class").list.s if group in names]
        if groups:
            attrs["_class"] = type(op.node_def.attr["_class"])()
            attrs["_class"].list.s.extend(groups)
    return attrs


class FactoryGraph(FuncGraph):
    """The body of the function that makes a one-shot iterator's dataset: it captures nothing but copies."""

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns a copy of a tensor of the graph around this one.

        Raises:
            ValueError: if it depends on a placeholder or on state.
        """
        return tensor if tensor.graph is self else copy_by_value(tensor, self)
