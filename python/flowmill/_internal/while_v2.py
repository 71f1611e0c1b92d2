"""Loops whose condition and body are functions: `While` and the one without state."""

from __future__ import annotations

from typing import Any

from flowmill import nest
from flowmill._internal import protos
from flowmill._internal.apply import apply_op, call
from flowmill._internal.cond_v2 import mark_lowered, scalar
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.func_graph import FuncGraph, to_function, trace, unique_function_name
from flowmill._internal.graph import Graph
from flowmill._internal.program_order import note_read_only_inputs
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape


def while_v2(graph: Graph, cond, body, loop_vars, invariants, parallel_iterations: int, back_prop: bool, name: str | None, maximum_iterations,
             return_same_structure: bool):
    """Like :func:`flowmill.while_loop`, with functions.

    Args:
        graph: where to add the loop.
        cond: the condition.
        body: the body.
        loop_vars: the variables.
        invariants: called with the variables and their tensors for the shapes of these in all iterations.
        parallel_iterations: how many iterations may run at once.
        back_prop: whether gradients go through.
        name: the name of the scope.
        maximum_iterations: after how many iterations to stop, or None.
        return_same_structure: returns a list for a loop with one variable, too.
    """
    with graph.as_default():
        loop_vars = nest.map_structure(lambda v: v if hasattr(v, "_components") else convert_to_tensor(v), loop_vars)
        flat = [convert_to_tensor(v) for v in nest.flatten(loop_vars, expand_composites=True)]
        shapes = invariants(loop_vars, flat)
        with graph.name_scope(name or "while") as scope:
            names = [unique_function_name(scope, part) for part in ("cond", "body")]
            limit = convert_to_tensor(-1 if maximum_iterations is None else maximum_iterations, "int32", "maximum_iterations")
            counter = constant(0, limit.dtype, name="loop_counter")
            graphs = [FuncGraph(n, graph, is_control_flow=True) for n in names]
            cond_graph, body_graph = graphs
            parameters = [_parameters(g, counter, limit, flat, shapes) for g in graphs]
            _trace_condition(cond_graph, cond, loop_vars, parameters[0], maximum_iterations is not None)
            _trace_body(body_graph, cond_graph, body, loop_vars, parameters[1])
            _check(body_graph.outputs[2:2 + len(flat)], shapes, flat)
            _share(cond_graph, body_graph)
            inputs = [counter, limit, *flat, *body_graph.external_captures]
            all_shapes = [t.shape for t in body_graph.outputs]
            all_shapes[2:2 + len(flat)] = shapes
            is_stateful = any(g.is_stateful() for g in graphs)
            with graph.control_dependencies([c for g in graphs for c in g.control_captures]):
                made = apply_op("While" if is_stateful else "StatelessWhile", scope, [inputs], {
                    "cond": to_function(cond_graph), "body": to_function(body_graph), "output_shapes": all_shapes,
                    "parallel_iterations": parallel_iterations})
            mark_lowered(made)
            note_read_only_inputs(made, graphs)
            made._set_attr("_num_original_outputs", protos.get("AttrValue")(i=len(made._outputs)))
            tensors = list(made._outputs)
            if not graph.building_function:
                tensors = [call("Identity", None, t) for t in tensors]
        tensors = tensors[2:2 + len(flat)]
        if not back_prop:
            tensors = [call("StopGradient", None, t) for t in tensors]
        result = nest.pack_sequence_as(loop_vars, tensors, expand_composites=True)
        return tensors_alone(result) if not return_same_structure else result


def tensors_alone(result) -> Any:
    """Returns the content of a structure of one element; any other structure unchanged."""
    flat = nest.flatten(result)
    return flat[0] if len(flat) == 1 else result


def _parameters(graph: FuncGraph, counter: Tensor, limit: Tensor, flat: list[Tensor], shapes: list[TensorShape]) -> list[Tensor]:
    found = [graph.placeholder(t.dtype, t.shape, t.op.name.replace("/", "_")) for t in (counter, limit)]
    found.extend(graph.placeholder(t.dtype.base_dtype, s) for t, s in zip(flat, shapes))
    graph.inputs.extend(found)
    return found


def _trace_condition(graph: FuncGraph, cond, loop_vars, parameters: list[Tensor], is_bounded: bool) -> None:
    def condition():
        go_on = scalar(convert_to_tensor(cond(*nest.pack_sequence_as(loop_vars, parameters[2:], expand_composites=True))))
        return call("LogicalAnd", None, parameters[0] < parameters[1], go_on) if is_bounded else go_on

    trace(graph, condition, ())


def _trace_body(graph: FuncGraph, cond_graph: FuncGraph, body, loop_vars, parameters: list[Tensor]) -> None:
    def step():
        # What the condition takes comes first among what both take.
        for outside in cond_graph.external_captures:
            graph.capture(outside)
        result = body(*nest.pack_sequence_as(loop_vars, parameters[2:], expand_composites=True))
        if not nest.is_nested(result):
            result = [result]
        nest.assert_same_structure(result, loop_vars, check_types=False, expand_composites=True)
        return [parameters[0] + 1, parameters[1], *result]

    trace(graph, step, ())
    graph.outputs.extend(graph.internal_captures)


def _share(cond_graph: FuncGraph, body_graph: FuncGraph) -> None:
    """Adds the parameters that only the body uses to the condition."""
    for outside in body_graph.external_captures:
        if id(outside) not in cond_graph._captures:
            cond_graph.inputs.append(cond_graph.placeholder(outside.dtype, outside.shape, "unused"))


def _check(outputs: list[Tensor], shapes: list[TensorShape], inputs: list[Tensor]) -> None:
    for output, shape, tensor in zip(outputs, shapes, inputs):
        if output.dtype.base_dtype is not tensor.dtype.base_dtype:
            raise TypeError(
                f"Loop var {tensor.name} enters the loop with type {tensor.dtype.base_dtype} but has type {output.dtype} after 1 iteration. "
                f"{tensor.name} type should remain constant.")
        if shape.rank is not None and (
                output.shape.rank != shape.rank or any(s is not None and s != o for s, o in zip(shape.as_list(), output.shape.as_list()))):
            raise ValueError(
                f"Input tensor `{tensor.name}` enters the loop with shape {shape}, but has shape {output.shape} after one iteration. To allow the "
                "shape to vary across iterations, use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape.")


__all__ = ["while_v2"]
