"""Conditionals whose branches are functions: `If`, `Case` and those without state."""

from __future__ import annotations

from flowmill import nest
from flowmill._internal import protos
from flowmill._internal.apply import apply_op, call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.func_graph import FuncGraph, to_function, trace, unique_function_name
from flowmill._internal.program_order import note_read_only_inputs
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape


def cond_v2(graph: Graph, pred, true_fn, false_fn, name: str | None = None):
    """Like :func:`flowmill.cond`, with functions.

    Raises:
        TypeError: for a Python boolean, and if the branches give structures or types that differ.
        ValueError: if one of them returns None in place of a tensor.
    """
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool", pred)
    with graph.as_default(), graph.name_scope(name or "cond") as scope:
        names = [unique_function_name(scope, branch) for branch in ("true", "false")]
        pred = scalar(convert_to_tensor(pred))
        labels = ("true_fn", "false_fn")
        branches = [trace(_branch(n, graph, label), function, (), pred) for n, label, function in zip(names, labels, (true_fn, false_fn))]
        return _chosen("If", pred, branches, scope, ("then_branch", "else_branch"))


def indexed_case(graph: Graph, branch_index: Tensor, functions, name: str = "indexed_case"):
    """Returns the result of the function at `branch_index` in `functions`, or of the last one if no function has that index.

    Raises:
        TypeError: if the functions give structures or types that differ.
    """
    with graph.as_default(), graph.name_scope(name) as scope:
        names = [unique_function_name(scope, f"branch{i}") for i in range(len(functions))]
        branch_index = convert_to_tensor(branch_index, name="branch_index")
        branches = [trace(_branch(n, graph, f"branch {i}"), function, (), branch_index) for i, (n, function) in enumerate(zip(names, functions))]
        return _chosen("Case", branch_index, branches, scope, None)


def _branch(name: str, graph: Graph, label: str) -> FuncGraph:
    branch = FuncGraph(name, graph, is_control_flow=True)
    branch.label = label
    return branch


def scalar(tensor: Tensor) -> Tensor:
    """Returns a tensor of one element as a scalar."""
    return call("Squeeze", None, tensor) if tensor.shape.rank is None or tensor.shape.rank > 0 else tensor


def _chosen(op: str, index: Tensor, branches: list[FuncGraph], scope: str, attrs):
    """Returns the operation that calls one of the functions, and what it gives."""
    graph = get_default_graph()
    _check_same_outputs(op, branches)
    inputs = share_inputs(branches)
    functions = [to_function(b) for b in branches]
    named = dict(zip(attrs, functions)) if attrs else {"branches": functions}
    shapes = [_common(tensors) for tensors in zip(*(b.outputs for b in branches))]
    is_stateful = any(b.is_stateful() for b in branches)
    with graph.control_dependencies([c for b in branches for c in b.control_captures]):
        made = apply_op(op if is_stateful else "Stateless" + op, scope, [index, inputs],
                        {**named, "Tout": [t.dtype.base_dtype for t in branches[0].outputs], "output_shapes": shapes})
    mark_lowered(made)
    note_read_only_inputs(made, branches, 1)
    graph.prevent_fetching(made)
    tensors = iter([call("Identity", None, t) for t in made._outputs])
    structure = branches[0].structured_outputs
    flat = [None if value is None else next(tensors) for value in nest.flatten(structure, expand_composites=True)]
    whole = nest.pack_sequence_as(structure, flat, expand_composites=True)
    return made if not made._outputs and structure is None else whole


def mark_lowered(op) -> None:
    """Allows the bodies to be inlined in place of the calls."""
    op._set_attr("_lower_using_switch_merge", protos.get("AttrValue")(b=True))


def share_inputs(branches: list[FuncGraph]) -> list[Tensor]:
    """Adds the tensors that any branch captures to the parameters of all branches. Returns the tensors outside."""
    outside: dict[int, Tensor] = {}
    for branch in branches:
        outside.update((id(t), t) for t in branch.external_captures)
    for branch in branches:
        branch.inputs = [branch._captures[key][1] if key in branch._captures else branch.placeholder(t.dtype, t.shape, "unused")
                         for key, t in outside.items()]
    return list(outside.values())


def _common(tensors):
    """Returns the static shape that all tensors have in common."""
    first, *others = [t.shape for t in tensors]
    if any(o.rank != first.rank for o in others) or first.rank is None:
        return TensorShape(None)
    return TensorShape([sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*(s.as_list() for s in (first, *others)))])


def _check_same_outputs(op: str, branches: list[FuncGraph]) -> None:
    def fail(i: int, details: str):
        first, other = ("true_fn", "false_fn") if op == "If" else ("branches[0]", f"branches[{i}]")
        raise TypeError(
            f"{first} and {other} arguments to {'tf.cond' if op == 'If' else 'tf.switch_case'} must have the same number, type, and overall "
            f"structure of return values.\n\n{first} output: {branches[0].structured_outputs}\n{other} output: {branches[i].structured_outputs}\n\n"
            f"Error details:\n{details}")

    for place, values in enumerate(zip(*(nest.flatten(b.structured_outputs) for b in branches))):
        if any(isinstance(v, IndexedSlices) for v in values) and len({type(v) for v in values}) > 1:
            raise TypeError(f"Cannot reconcile {'tf.cond' if op == 'If' else 'tf.switch_case'} {place}-th outputs:\n"
                            + "\n".join(f"  branch {i}: {v}" for i, v in enumerate(values)))
    for i, branch in enumerate(branches[1:], 1):
        try:
            nest.assert_same_structure(branches[0].structured_outputs, branch.structured_outputs, expand_composites=True)
        except (TypeError, ValueError) as error:
            fail(i, str(error))
        counts = len(branches[0].outputs), len(branch.outputs)
        if counts[0] != counts[1]:
            raise ValueError(
                f"Lengths of branch outputs of {'cond' if op == 'If' else 'case'} must match.\nlen(graphs[0].outputs): {counts[0]}\n"
                f"len(graphs[{i}].outputs): {counts[1]}\n")
        for a, b in zip(branches[0].outputs, branch.outputs):
            if a.dtype is not b.dtype:
                fail(i, f"{a} and {b} have different types")


__all__ = ["cond_v2", "indexed_case"]
