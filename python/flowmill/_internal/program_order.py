"""Control edges in bodies of functions: operations with effects run in the order of the program, and all of them run.

Operations that take the same resource are ordered among each other, those without resources among each other. Reads need no order among reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowmill._internal import protos
from flowmill._internal.apply import signature
from flowmill._internal.tensor import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flowmill._internal.graph import Graph
    from flowmill._internal.tensor import Tensor

__all__ = ["add_order", "note_read_only_inputs"]

_READS = frozenset(("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "_ReadVariablesOp"))

# Operations that have effects, but wait for others of their own accord, or may run in any order.
_UNORDERED = frozenset((
    "Multinomial", "ParameterizedTruncatedNormal", "RandomGamma", "RandomGammaGrad", "RandomPoisson", "RandomPoissonV2", "RandomShuffle",
    "RandomStandardNormal", "RandomUniform", "RandomUniformInt", "Recv", "RestoreV2", "SaveV2", "TruncatedNormal",
))

# Operations of control flow by frames: what is in a branch or in a loop cannot wait for what is outside of it.
_FRAMES = frozenset(("Enter", "Merge", "RefEnter", "RefMerge", "RefSwitch", "Switch"))

_READ_ONLY = "_read_only_resource_inputs"


def add_order(graph: Graph) -> list[Operation]:
    """Adds control edges between the operations of a body, and returns those that have effects besides reads, which all run whenever the function is
    called. A body with control flow by frames stays as it is."""
    operations = graph.get_operations()
    if any(op.type in _FRAMES for op in operations):
        return []
    must_run: list[Operation] = []
    effects: dict[str, bool] = {}
    writes: dict[object, Operation] = {}
    reads: dict[object, list[Operation]] = {}
    for op in operations:
        if op.type not in effects:
            effects[op.type] = op.type not in _UNORDERED and op.type != "Placeholder" and signature(op.type, graph).is_stateful
        resources = dict(_resources(op)) if effects[op.type] or _takes_resources(op) else {}
        if effects[op.type] and not resources:
            resources = {None: False}
        before: dict[Operation, None] = {}
        for resource, is_read in resources.items():
            if resource in writes:
                before[writes[resource]] = None
            if is_read:
                reads.setdefault(resource, []).append(op)
            else:
                before.update(dict.fromkeys(reads.pop(resource, ())))
                writes[resource] = op
        op._add_control_inputs(before)
        if effects[op.type] and not all(resources.values()):
            must_run.append(op)
    return must_run


def note_read_only_inputs(op: Operation, bodies: Iterable[Graph], first: int = 0) -> None:
    """Sets the attribute that says which resources a call of functions does not change.

    Args:
        op: the call.
        bodies: the functions, each of which takes the inputs of the call from number `first` on.
        first: the number of inputs that the functions do not take.
    """
    read_only: set[int] | None = None
    for body in bodies:
        found = {i for i, tensor in enumerate(body.inputs) if _is_resource(tensor) and all(_only_reads(user, tensor) for user in tensor.consumers())}
        read_only = found if read_only is None else read_only & found
    message = protos.get("AttrValue")()
    message.list.SetInParent()
    message.list.i.extend(first + i for i in sorted(read_only or ()))
    op._set_attr(_READ_ONLY, message)


def _takes_resources(op: Operation) -> bool:
    return any(map(_is_resource, op.inputs))


def _is_resource(tensor: Tensor) -> bool:
    return tensor.dtype.name == "resource"


def _resources(op: Operation) -> Iterator[tuple[object, bool]]:
    """Yields the resources that an operation takes, each with whether it is only read."""
    read_only = _read_only_inputs(op)
    by_key: dict[object, bool] = {}
    for i, tensor in enumerate(op.inputs):
        if _is_resource(tensor):
            by_key[tensor._key] = by_key.get(tensor._key, True) and (read_only is None or i in read_only)
    yield from by_key.items()


def _read_only_inputs(op: Operation) -> frozenset[int] | None:
    """Returns the numbers of the inputs that an operation only reads; None for all."""
    if op.type in _READS:
        return None
    try:
        return frozenset(op.get_attr(_READ_ONLY))
    except ValueError:
        return frozenset()


def _only_reads(op: Operation, tensor: Tensor) -> bool:
    return dict(_resources(op)).get(tensor._key, True)
