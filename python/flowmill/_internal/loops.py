"""Loops: `while_loop` by frames, that is `Enter`, `Merge`, `Switch`, `NextIteration` and `Exit`."""

from __future__ import annotations

from flowmill import nest
from flowmill._internal.apply import call, graph_of
from flowmill._internal.control_flow_contexts import WhileContext, collect
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.functional import is_functional
from flowmill._internal.loop_invariants import invariants_of
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.while_v2 import while_v2
from flowmill.errors import InvalidArgumentError


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
               name: str | None = None, maximum_iterations=None, return_same_structure: bool = False):
    """Calls `body` on variables as long as `cond` of them is true, when the graph runs. Both functions are called once, while it is built.

    Args:
        cond: called with the variables; returns a boolean scalar.
        body: called with the variables; returns their values in the next iteration, in the same structure and of the same types.
        loop_vars: a list or tuple of the values to begin with: tensors, numbers, composites such as TensorArrays, and structures of them.
        shape_invariants: for each variable a TensorShape or a TypeSpec that its values have in all iterations. If this is None, tensors keep their shapes,
            and composites what their specs say: sparse and ragged tensors may grow.
        parallel_iterations: how many iterations may run at once.
        back_prop: whether gradients go through; what comes out of a loop without them counts as constant.
        swap_memory: only kept with the graph: there is one memory.
        name: the name of the scope.
        maximum_iterations: an integer scalar, after how many iterations to stop in any case.
        return_same_structure: returns a list for a loop with one variable, too.

    Returns:
        The variables' last values in the structure that `body` gives; for one variable alone its value.

    Raises:
        TypeError: if a function cannot be called, or structures or types differ.
        ValueError: for no variables, and if a shape changes without an invariant that allows it.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    loop_vars = nest.map_structure(_read, loop_vars)
    graph = graph_of(nest.flatten(loop_vars, expand_composites=True))
    if is_functional(graph):
        return while_v2(graph, cond, body, loop_vars, lambda v, flat: invariants_of(v, flat, shape_invariants), parallel_iterations, back_prop, name,
                        maximum_iterations, return_same_structure)
    with graph.as_default(), graph.name_scope(name or "while"):
        if not loop_vars:
            raise ValueError("'loop_vars' must be provided.")
        options = {"back_prop": back_prop, "swap_memory": swap_memory}
        if maximum_iterations is None:
            return _loop(graph, cond, body, loop_vars, shape_invariants, return_same_structure, parallel_iterations, options)
        limit = convert_to_tensor(maximum_iterations, name="maximum_iterations")
        if limit.shape.rank != 0:
            raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {limit.shape}")
        counter = constant(0, limit.dtype, name="iteration_counter")
        alone = len(loop_vars) == 1 and not return_same_structure
        inner = loop_vars[0] if alone else loop_vars

        def counted_cond(i, variables):
            return call("LogicalAnd", None, i < limit, cond(variables) if alone else cond(*variables))

        def counted_body(i, variables):
            return i + 1, body(variables) if alone else body(*variables)

        if shape_invariants is not None:
            shape_invariants = (TensorShape([]), shape_invariants[0] if alone else shape_invariants)
        return _loop(graph, counted_cond, counted_body, (counter, inner), shape_invariants, True, parallel_iterations,
                     {**options, "maximum_iterations": limit._key})[1]


def _read(value):
    """Returns a resource variable's value; anything else as it is."""
    return convert_to_tensor(value) if getattr(value, "handle", None) is not None and hasattr(value, "_as_tensor") else value


def _converted(value):
    return value if hasattr(value, "_components") else convert_to_tensor(value)


def _loop(graph, cond, body, loop_vars, shape_invariants, return_same_structure: bool, parallel_iterations: int, options: dict):
    """Builds a loop in the current scope."""
    loop_vars = nest.map_structure(_converted, loop_vars)
    flat = [convert_to_tensor(v) for v in nest.flatten(loop_vars, expand_composites=True)]
    shapes = invariants_of(loop_vars, flat, shape_invariants)
    invariants = [None if s.rank is None else [-1 if d is None else d for d in s.as_list()] for s in shapes]
    try:
        looped = graph._core.begin_while(graph._thread.here.scope, [t._key for t in flat], invariants, parallel_iterations, **options)
        collect(graph, WhileContext, looped.scope.context)
        with graph._within(looped.scope):
            variables = _packed(graph, loop_vars, looped.cond_vars())
            go_on = convert_to_tensor(cond(*variables))
            variables = _packed(graph, loop_vars, looped.body_vars(go_on._key))
            result = body(*variables)
            if not nest.is_nested(result):
                result = [result]
            result = nest.map_structure(_read, result)
            # Variables come as a list mostly, what bodies give is a tuple mostly.
            nest.assert_same_structure(list(variables), list(result), expand_composites=True)
            values = [convert_to_tensor(v) for v in nest.flatten(result, expand_composites=True)]
            for variable, value in zip(flat, values):
                if value.dtype.base_dtype is not variable.dtype.base_dtype:
                    raise TypeError(
                        f"Input tensor '{variable.name}' enters the loop with type {variable.dtype.base_dtype.name}, but has type "
                        f"{value.dtype.base_dtype.name} after one iteration.")
            exits = looped.finish([v._key for v in values])
    except InvalidArgumentError as error:
        raise ValueError(error.message) from None
    whole = nest.pack_sequence_as(result, [graph._tensor(key) for key in exits], expand_composites=True)
    return whole[0] if len(exits) == 1 and not return_same_structure else whole


def _packed(graph, structure, keys):
    return nest.pack_sequence_as(structure, [graph._tensor(key) for key in keys], expand_composites=True)


__all__ = ["while_loop"]
