"""Conditionals, loops, and operations that order others. What `cond` and `while_loop` build in a graph is `Switch`, `Merge`, `Enter`, `Exit` and `NextIteration`."""

from __future__ import annotations

from flowmill import nest
from flowmill._apply import apply_op, call, graph_of
from flowmill._convert import convert_to_tensor
from flowmill.graph import get_default_graph
from flowmill.tensor import Operation, Tensor


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; it is there to be waited for."""
    return apply_op("NoOp", name)


def group(*inputs, name: str | None = None) -> Operation:
    """An operation that is done when all of `inputs` are: operations, tensors, or nested lists of them.

    Raises:
        TypeError: for anything else.
    """
    operations = []
    for item in nest.flatten(list(inputs)):
        found = getattr(item, "op", item)
        if not isinstance(found, Operation):
            raise TypeError(f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type '{type(item)}'.")
        operations.append(found)
    graph = graph_of(operations)
    # One that waits for another need not be waited for twice, as one graph node a device gathers what is on it.
    with graph.as_default(), graph.control_dependencies(operations):
        return apply_op("NoOp", name or "group_deps", graph=graph)


def tuple(tensors, name: str | None = None, control_inputs=None) -> list[Tensor | None]:  # noqa: A001 - TensorFlow's name
    """Tensors as they are, each once all are there.

    Args:
        tensors: tensors; None stays None.
        name: of the scope that the operations are made in.
        control_inputs: more to wait for.

    Raises:
        ValueError: where there is no tensor among them.
        TypeError: where `control_inputs` holds something that is no tensor or operation.
    """
    graph = get_default_graph()
    with graph.name_scope(name or "tuple"):
        waits = [t if isinstance(t, Operation) else t.op for t in tensors if t is not None]
        for control in control_inputs or ():
            if not isinstance(control, (Operation, Tensor)):
                raise TypeError(f"'control_inputs' must only contain Operation or Tensor. Received: {type(control)}")
            waits.append(control if isinstance(control, Operation) else control.op)
        if not waits:
            raise ValueError("'tensors' must have at least one Tensor.")
        gate = group(*dict.fromkeys(waits))
        return [None if t is None else with_dependencies([gate], t) for t in tensors]


def with_dependencies(dependencies, output, name: str | None = None):
    """`output` as it is, once `dependencies` are done."""
    from flowmill.indexed_slices import IndexedSlices

    graph = get_default_graph()
    with graph.name_scope(name or "control_dependency") as scope, graph.control_dependencies(dependencies):
        if isinstance(output, IndexedSlices):
            return IndexedSlices(_identity(output.values, scope), output.indices, output.dense_shape)
        output = convert_to_tensor(output)
        with graph.colocate_with(output):
            return _identity(output, scope)


def _identity(tensor: Tensor, name: str | None) -> Tensor:
    return call("RefIdentity" if tensor.dtype._is_ref_dtype else "Identity", name, tensor)


def cond(pred, true_fn=None, false_fn=None, strict: bool = False, name: str | None = None, fn1=None, fn2=None):
    """What one of two functions gives, by the value of `pred` when the graph runs.

    Both functions are called once, while the graph is built; only the operations of one run. They must give structures of tensors of the same types.

    Args:
        pred: a boolean scalar.
        true_fn: called without arguments for what to compute where `pred` is true.
        false_fn: the same for where it is false.
        strict: returns lists of one element as lists, instead of the element.
        name: of the scope.
        fn1: `true_fn` by its old name.
        fn2: `false_fn` by its old name.

    Raises:
        TypeError: where `pred` is a Python boolean, or a function cannot be called.
        ValueError: where the functions give structures or types that differ.
    """
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn):
        raise TypeError("'true_fn' must be callable.")
    if not callable(false_fn):
        raise TypeError("'false_fn' must be callable.")
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    graph = graph_of([pred])
    with graph.as_default(), graph.name_scope(name or "cond"):
        pred = convert_to_tensor(pred, name="pred")
        building = graph._core.begin_cond(graph._local.scope, pred._key)
        results = [_branch(graph, building, taken, fn, strict) for taken, fn in ((True, true_fn), (False, false_fn))]
        (true_structure, true_flat), (false_structure, false_flat) = results
        _check_branches(true_structure, false_structure, true_flat, false_flat)
        merged = [graph._tensor(key) for key in building.finish()]
        if true_structure is None:
            return merged[0].op if merged else None
        return nest.pack_sequence_as(true_structure, merged, expand_composites=True)


def _branch(graph, building, taken: bool, function, strict: bool):
    """Builds a branch; gives the structure of its result and its tensors."""
    with graph._within(building.open(taken)):
        structure = function()
        if not strict and isinstance(structure, list) and len(structure) == 1:
            structure = structure[0]
        if structure is None or isinstance(structure, Operation):
            # Nothing to hand on but that it is done.
            with graph.control_dependencies([] if structure is None else [structure]):
                flat, structure = [convert_to_tensor(0)], None
        else:
            flat = [_result(value) for value in nest.flatten(structure, expand_composites=True)]
        building.close([t._key for t in flat])
    return structure, flat


def _result(value) -> Tensor:
    if isinstance(value, Operation):
        with value.graph.control_dependencies([value]):
            return convert_to_tensor(0)
    return convert_to_tensor(value)


def _check_branches(true_structure, false_structure, true_flat, false_flat) -> None:
    if (true_structure is None) != (false_structure is None):
        raise ValueError("true_fn and false_fn must both return tensors, or both operations or None.")
    if true_structure is not None:
        try:
            nest.assert_same_structure(true_structure, false_structure, expand_composites=True)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Incompatible return values of true_fn and false_fn: {error}") from None
    for a, b in zip(true_flat, false_flat):
        if a.dtype.base_dtype is not b.dtype.base_dtype:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {a.dtype.base_dtype.name}, {b.dtype.base_dtype.name}")
