"""Conditionals and operations that order others. What `cond` builds in a graph is `Switch` and `Merge`."""

from __future__ import annotations

import builtins

from flowmill import nest
from flowmill._internal.apply import apply_op, call, graph_of
from flowmill._internal.control_flow_contexts import CondContext, collect
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.functional import is_functional
from flowmill._internal.graph import get_default_graph
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.tensor import Operation, Tensor


def no_op(name: str | None = None) -> Operation:
    """Returns an operation that does nothing; it is there to be waited for."""
    return apply_op("NoOp", name)


def group(*inputs, name: str | None = None) -> Operation:
    """Returns an operation that is done when all of `inputs` are: operations, tensors, or nested lists of them.

    Raises:
        TypeError: for anything else.
    """
    flat = nest.flatten(list(inputs), expand_composites=True)
    by_device: dict[str, list] = {}
    for item in flat:
        if not hasattr(item, "device"):
            raise TypeError(f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type '{type(item)}'.")
        by_device.setdefault(item.device, []).append(item)
    graph = graph_of(flat)
    with graph.as_default(), graph.name_scope(name or "group_deps") as scope:
        if not flat:
            return no_op(scope)
        if len(by_device) == 1:
            (device, operations), = by_device.items()
            return _after(operations, device, scope)
        # One for each device waits there, so that only one signal crosses.
        gates = [_after(by_device[device], device, None) for device in sorted(by_device)]
        with graph.control_dependencies(gates):
            return no_op(scope)


def _after(operations, device: str, name: str | None) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(operations), graph.device(device):
        return no_op(name)


def tuple(tensors, name: str | None = None, control_inputs=None) -> list[Tensor | None]:  # noqa: A001 - TensorFlow's name
    """Tensors as they are, each once all are there.

    Args:
        tensors: tensors, and operations, for each of which comes one that waits for all; None stays None.
        name: the name of the scope that the operations are made in.
        control_inputs: more to wait for.

    Raises:
        ValueError: if there is no tensor among them.
        TypeError: if `control_inputs` holds something that is no tensor or operation.
    """
    from flowmill._internal.tensor_util import is_tensor  # start-up: only tf.tuple needs it here

    graph = get_default_graph()
    with graph.name_scope(name or "tuple"):
        tensors = [t if t is None or isinstance(t, Operation) or is_tensor(t) else convert_to_tensor(t) for t in tensors]
        waits = [t if isinstance(t, Operation) else t.op for t in tensors if t is not None]
        for control in control_inputs or ():
            if not isinstance(control, (Operation, Tensor)):
                raise TypeError(f"'control_inputs' must only contain Operation or Tensor. Received: {type(control)}")
            waits.append(control if isinstance(control, Operation) else control.op)
        if not waits:
            raise ValueError("'tensors' must have at least one Tensor.")
        gate = group(*dict.fromkeys(waits))
        return [None if t is None else _gated(gate, t) for t in tensors]


def _gated(gate: Operation, part):
    if not isinstance(part, Operation):
        return with_dependencies([gate], part)
    with get_default_graph().control_dependencies([gate]):
        return group(part)


def with_dependencies(dependencies, output, name: str | None = None):
    """`output` as it is, once `dependencies` are done."""
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
    """Returns the result of one of two functions, chosen by the value of `pred` when the graph runs.

    Both functions are called once, while the graph is built; only the operations of one run. They must give structures of tensors of the same types;
    an operation in such a structure means that it has run, and is returned as a tensor.

    Args:
        pred: a boolean scalar.
        true_fn: called without arguments for what to compute if `pred` is true.
        false_fn: the same for where it is false.
        strict: returns lists of one element as lists, instead of the element.
        name: the name of the scope.
        fn1: `true_fn` by its old name.
        fn2: `false_fn` by its old name.

    Raises:
        TypeError: if `pred` is a Python boolean, or a function cannot be called or is not given.
        ValueError: if the functions give nothing, or structures or types that differ.
    """
    true_fn, false_fn = _one_of("true_fn", true_fn, "fn1", fn1), _one_of("false_fn", false_fn, "fn2", fn2)
    graph = graph_of([pred])
    if is_functional(graph):
        from flowmill._internal.cond_v2 import cond_v2  # cycle: variable imports this module

        return cond_v2(graph, pred, true_fn, false_fn, name)
    return cond_by_switches(graph, pred, true_fn, false_fn, strict, name)


def cond_by_switches(graph, pred, true_fn, false_fn, strict: bool = False, name: str | None = None):
    """Like :func:`cond`, as part of the graph in any case: a branch reads variables itself, while a function would get their values."""
    with graph.as_default(), graph.name_scope(name or "cond"):
        if isinstance(pred, bool):
            raise TypeError("'pred' must not be a Python bool.")
        pred = convert_to_tensor(pred, name="Switch/pred")
        building = graph._core.begin_cond(graph._thread.here.scope, pred._key)
        true_result, true_flat = _branch(graph, building, True, true_fn)
        false_result, false_flat = _branch(graph, building, False, false_fn)
        if not strict:
            true_result, false_result = _alone(true_result), _alone(false_result)
        _check_branches(true_result, false_result, true_flat, false_flat)
        merged = [graph._tensor(key) for key in building.finish()]
        whole = nest.pack_sequence_as(true_result, merged, expand_composites=True)
        return whole if strict else _alone(whole)


def _one_of(name: str, function, old_name: str, old):
    """Returns a function that has two names."""
    if old is not None:
        if function is not None:
            raise TypeError(f"cond(): '{name}' and '{old_name}' may not be set simultaneously.")
        function = old
    elif function is None:
        raise TypeError(f"cond(): '{name}' argument required")
    if not callable(function):
        raise TypeError(f"'{name}' must be callable.")
    return function


def _alone(result):
    return result[0] if isinstance(result, (list, builtins.tuple)) and len(result) == 1 else result


def _branch(graph, building, taken: bool, function):
    """Builds a branch; returns its result and the tensors of that."""
    inside = building.open(taken)
    collect(graph, CondContext, inside.context)
    with graph._within(inside):
        result = function()
        if result is None:
            raise ValueError(f"'{'true_fn' if taken else 'false_fn'}' must have a return value.")
        flat = []
        for value in nest.flatten(result, expand_composites=True):
            if isinstance(value, Operation):
                value = with_dependencies([value], graph._tensor(building.pivot(taken)))
            flat.append(convert_to_tensor(value))
        building.close([t._key for t in flat])
    return result, flat


def _check_branches(true_result, false_result, true_flat, false_flat) -> None:
    nest.assert_same_structure(true_result, false_result, expand_composites=True)
    if not true_flat:
        raise ValueError("'true_fn' and 'false_fn' must return at least one result.")
    for a, b in zip(true_flat, false_flat):
        if a.dtype.base_dtype is not b.dtype.base_dtype:
            raise ValueError(
                "Outputs of 'true_fn' and 'false_fn' must have the same type(s). "
                f"Received {a.dtype.name} from 'true_fn' and {b.dtype.name} from 'false_fn'.")


def Assert(condition, data, summarize: int | None = None, name: str | None = None) -> Operation:  # noqa: N802 - TensorFlow's name
    """Returns an operation that fails if `condition` is false. Nothing runs it by itself: let what relies on it wait for it.

    Args:
        condition: a boolean scalar.
        data: tensors, or what can be made ones, that the error shows.
        summarize: how many elements of each are shown, 3 if it is None.
        name: the name of the scope.
    """
    graph = graph_of([condition, *data])
    with graph.as_default(), graph.name_scope(name or "Assert"):
        tensors = [convert_to_tensor(value) for value in data]
        if all(t.dtype.name in ("string", "int32") for t in tensors):
            return call("Assert", "Assert", condition, data, summarize=summarize)
        condition = convert_to_tensor(condition, name="Condition")
        guarded = cond(condition, no_op, lambda: call("Assert", "Assert", condition, data, summarize=summarize), name="AssertGuard")
        return guarded.op
