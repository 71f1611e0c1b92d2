"""Recurrent networks: a cell over the time steps of its inputs, in a loop or written out."""

from __future__ import annotations

from typing import Any

import flowmill as tf
from flowmill import nest
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.rnn_base import check_cell, sizes_of, with_batch, zeros_of
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_array import TensorArray
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import as_dtype

__all__ = [
    "bidirectional_dynamic_rnn", "dynamic_rnn", "raw_rnn", "static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn",
]


def _swapped(x: Tensor) -> Tensor:
    """Returns a tensor with its first two dimensions, batch and time, in the other order."""
    static = x.shape
    if static.rank is not None and static.rank < 2:
        return x
    swapped = tf.transpose(x, tf.concat(([1, 0], tf.range(2, tf.rank(x))), axis=0))
    if static.rank is not None:
        batch, time, *rest = static.as_list()
        swapped.set_shape([time, batch, *rest])
    return swapped


def _batch_size(flat_input):
    """Returns the size of the second dimension, a number if one of the tensors says it.

    Raises:
        ValueError: if there is no second dimension.
    """
    for tensor in flat_input:
        if tensor.shape.rank is None:
            continue
        if tensor.shape.rank < 2:
            raise ValueError(f"Input tensor should have rank >= 2. Received input={tensor} of rank {tensor.shape.rank}")
        size = tensor.shape.as_list()[1]
        if size is not None:
            return size
    return tf.shape(flat_input[0])[1]


def _state_type(explicit, state):
    """Returns the type that outputs have: `explicit`, or the one that all parts of the state have.

    Raises:
        ValueError: if they have several.
    """
    if explicit is not None:
        return as_dtype(explicit)
    types = [part.dtype for part in nest.flatten(state)]
    if not types:
        raise ValueError(f"Unable to infer dtype from argument state={state}.")
    if any(t != types[0] for t in types):
        raise ValueError(f"Argument state={state} has tensors of different inferred dtypes. Unable to infer a single representative dtype. "
                         f"Dtypes received: {types}")
    return types[0]


def _cache_variables(scope) -> None:
    """Reads each variable of the cells once, unless that is in a loop already."""
    graph = get_default_graph()
    if scope.caching_device is None and graph._thread.here.scope.context is None and not graph.building_function:
        scope.set_caching_device(lambda op: op.device)


def _initial_state(cell, batch_size, dtype):
    if not dtype:
        raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _rank_checked(sequence_length: Tensor, batch_size) -> None:
    if sequence_length.shape.rank not in (None, 1):
        raise ValueError(f"Argument sequence_length must be a vector of length batch_size. Received sequence_length={sequence_length} of shape: "
                         f"{sequence_length.shape}")


def dynamic_rnn(cell, inputs, sequence_length=None, initial_state=None, dtype=None, parallel_iterations: int | None = None, swap_memory: bool = False,
                time_major: bool = False, scope=None) -> tuple[Any, Any]:
    """Returns a recurrent network in a loop over time.

    Args:
        cell: the cell.
        inputs: of shape ``[batch, time, ...]``, or a structure of such tensors.
        sequence_length: for each element of the batch how many time steps it has, integers of shape ``[batch]``. After them outputs are zeros and the
            state stays.
        initial_state: the state to begin with; zeros if it is None.
        dtype: the type of the state and the outputs if there is no `initial_state`.
        parallel_iterations: how many time steps may run at once, 32 if it is None.
        swap_memory: only kept with the graph.
        time_major: whether inputs and outputs are of shape ``[time, batch, ...]``.
        scope: a variable scope, ``"rnn"`` if it is None.

    Returns:
        The outputs, of shape ``[batch, time, output_size]`` or a structure of such tensors, and the last state.

    Raises:
        TypeError: if `cell` is none.
        ValueError: if the inputs' depth is not known, sizes differ, or there is neither `initial_state` nor `dtype`.
    """
    check_cell("cell", cell)
    with tf.variable_scope(scope or "rnn") as varscope:
        _cache_variables(varscope)
        flat_input = nest.flatten(inputs)
        if not time_major:
            flat_input = [convert_to_tensor(i) for i in flat_input]
            flat_input = [_swapped(i) for i in flat_input]
        if sequence_length is not None:
            sequence_length = tf.cast(sequence_length, tf.int32)
            _rank_checked(sequence_length, None)
            sequence_length = tf.identity(sequence_length, name="sequence_length")
        batch_size = _batch_size(flat_input)
        state = initial_state if initial_state is not None else _initial_state(cell, batch_size, dtype)
        if sequence_length is not None:
            with get_default_graph().control_dependencies([_assert_shape(sequence_length, [batch_size])]):
                sequence_length = tf.identity(sequence_length, name="CheckSeqLen")
        outputs, final_state = _loop(cell, nest.pack_sequence_as(inputs, flat_input), state, parallel_iterations or 32, swap_memory, sequence_length,
                                     dtype)
        return outputs if time_major else nest.map_structure(_swapped, outputs), final_state


def _assert_shape(tensor: Tensor, shape):
    found, wanted = tf.shape(tensor), tf.stack(shape)
    return tf.Assert(tf.reduce_all(tf.equal(found, wanted)), [f"Expected shape for Tensor {tensor.name} is ", wanted, " but saw shape: ", found])


def _sizes_checked(flat_input) -> list[TensorShape]:
    """Returns the inputs' static shapes, which have the same first two sizes and known others."""
    shapes = [i.shape.with_rank_at_least(3) for i in flat_input]
    for tensor, shape in zip(flat_input, shapes):
        if not shape[2:].is_fully_defined():
            raise ValueError(f"Input size (depth of inputs) must be accessible via shape inference, but saw value None for input={tensor}.")
        for place, what in enumerate(("Time steps", "Batch_size")):
            if shape.as_list()[place] != shapes[0].as_list()[place]:
                raise ValueError(f"{what} is not the same for all the elements in the input. Received {what.lower()}={shape.as_list()[place]} for "
                                 f"input={tensor}.")
    return shapes


def _loop(cell, inputs, state, parallel_iterations: int, swap_memory: bool, sequence_length, dtype):
    flat_input, flat_sizes = nest.flatten(inputs), nest.flatten(cell.output_size)
    time_steps = tf.shape(flat_input[0])[0]
    batch_size = _batch_size(flat_input)
    shapes = _sizes_checked(flat_input)
    const_time_steps, const_batch_size = shapes[0].as_list()[:2]
    zero_output = nest.pack_sequence_as(cell.output_size, [zeros_of(batch_size, s, _state_type(dtype, state)) for s in flat_sizes])
    shortest = longest = None
    if sequence_length is not None:
        shortest, longest = tf.reduce_min(sequence_length), tf.reduce_max(sequence_length)
    time = tf.constant(0, dtype=tf.int32, name="time")
    with get_default_graph().name_scope("dynamic_rnn") as base_name:
        pass

    def array(name: str, element_shape, kind) -> TensorArray:
        return TensorArray(kind, size=time_steps, element_shape=element_shape, tensor_array_name=base_name + name)

    output_arrays = tuple(
        array(f"output_{i}", TensorShape([const_batch_size]).concatenate(sizes_of(s)), _state_type(dtype, state)) for i, s in enumerate(flat_sizes))
    input_arrays = [array(f"input_{i}", t.shape[1:], t.dtype) for i, t in enumerate(flat_input)]
    input_arrays = [a.unstack(t) for a, t in zip(input_arrays, flat_input)]

    def step(time, arrays, state):
        read = [a.read(time) for a in input_arrays]
        for tensor, shape in zip(read, shapes):
            tensor.set_shape(shape[1:])
        here = nest.pack_sequence_as(inputs, read)
        if sequence_length is None:
            output, new_state = cell(here, state)
        else:
            output, new_state = _rnn_step(time, sequence_length, shortest, longest, zero_output, state, lambda: cell(here, state), True)
        return time + 1, tuple(a.write(time, o) for a, o in zip(arrays, nest.flatten(output))), new_state

    bound = tf.minimum(time_steps, tf.maximum(1, time_steps if longest is None else longest))
    _, arrays, final_state = tf.while_loop(
        lambda time, *_: time < bound, step, (time, output_arrays, state), parallel_iterations=parallel_iterations, maximum_iterations=time_steps,
        swap_memory=swap_memory)
    outputs = [a.stack() for a in arrays]
    for output, size in zip(outputs, flat_sizes):
        output.set_shape(with_batch([const_time_steps, const_batch_size], size))
    return nest.pack_sequence_as(cell.output_size, outputs), final_state


def _rnn_step(time, sequence_length, shortest, longest, zero_output, state, call_cell, without_conditionals: bool = False):
    """Returns a time step in which the elements of the batch that are over keep their state and give zeros."""
    flat_state, flat_zeros = nest.flatten(state), nest.flatten(zero_output)
    is_over = time >= sequence_length

    def keep(old, new):
        if isinstance(old, TensorArray) or old.shape.rank == 0:
            return new
        with get_default_graph().colocate_with(new):
            return tf.where(is_over, old, new)

    def called():
        output, new_state = call_cell()
        nest.assert_same_structure(zero_output, output)
        nest.assert_same_structure(state, new_state)
        return nest.flatten(output), nest.flatten(new_state)

    def kept(outputs, states):
        return [keep(z, o) for z, o in zip(flat_zeros, outputs)] + [keep(s, n) for s, n in zip(flat_state, states)]

    def step():
        outputs, states = called()
        return tf.cond(time < shortest, lambda: outputs + states, lambda: kept(outputs, states))

    if without_conditionals:
        found = kept(*called())
    else:
        found = tf.cond(time >= longest, lambda: flat_zeros + flat_state, step)
    outputs, states = found[:len(flat_zeros)], found[len(flat_zeros):]
    for new, old in zip([*outputs, *states], [*flat_zeros, *flat_state]):
        if not isinstance(new, TensorArray):
            new.set_shape(old.shape)
    return nest.pack_sequence_as(zero_output, outputs), nest.pack_sequence_as(state, states)


def bidirectional_dynamic_rnn(cell_fw, cell_bw, inputs, sequence_length=None, initial_state_fw=None, initial_state_bw=None, dtype=None,
                              parallel_iterations: int | None = None, swap_memory: bool = False, time_major: bool = False,
                              scope=None) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Two recurrent networks, of which one goes back in time.

    Args:
        cell_fw: the cell of the one that goes forward.
        cell_bw: the cell of the other.
        inputs: as in :func:`dynamic_rnn`, as are the other arguments.
        sequence_length: the lengths.
        initial_state_fw: the state of the first to begin with.
        initial_state_bw: that of the other.
        dtype: the type of the states.
        parallel_iterations: how many time steps may run at once.
        swap_memory: only kept with the graph.
        time_major: whether time is the first dimension.
        scope: a variable scope, ``"bidirectional_rnn"`` if it is None.

    Returns:
        A pair of the outputs of both, and a pair of their last states.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reverse(tensor):
        if sequence_length is not None:
            return tf.reverse_sequence(tensor, sequence_length, seq_axis=time_axis, batch_axis=batch_axis)
        return tf.reverse(tensor, axis=[time_axis])

    options = {"sequence_length": sequence_length, "dtype": dtype, "parallel_iterations": parallel_iterations, "swap_memory": swap_memory,
               "time_major": time_major}
    with tf.variable_scope(scope or "bidirectional_rnn"):
        with tf.variable_scope("fw") as fw_scope:
            output_fw, state_fw = dynamic_rnn(cell_fw, inputs, initial_state=initial_state_fw, scope=fw_scope, **options)
        with tf.variable_scope("bw") as bw_scope:
            backwards = nest.map_structure(reverse, inputs)
            output_bw, state_bw = dynamic_rnn(cell_bw, backwards, initial_state=initial_state_bw, scope=bw_scope, **options)
    return (output_fw, nest.map_structure(reverse, output_bw)), (state_fw, state_bw)


def raw_rnn(cell, loop_fn, parallel_iterations: int | None = None, swap_memory: bool = False, scope=None):
    """Returns a recurrent network whose inputs, states and outputs a function chooses in each time step.

    Args:
        cell: the cell.
        loop_fn: called as ``loop_fn(time, cell_output, cell_state, loop_state)``, with None but for the time before the first step; gives
            ``(finished, next_input, next_state, emit_output, next_loop_state)``, `finished` being booleans of shape ``[batch]``. Its first
            `emit_output` is the form of what is emitted, that of the cell's outputs for None; its first state is the initial one.
        parallel_iterations: how many time steps may run at once, 32 if it is None.
        swap_memory: only kept with the graph.
        scope: a variable scope, ``"rnn"`` if it is None.

    Returns:
        TensorArrays of what was emitted, the last state, the last loop state.

    Raises:
        TypeError: if `cell` is none, or `loop_fn` cannot be called.
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError(f"Argument `loop_fn` must be a callable. Received: {loop_fn}.")
    with tf.variable_scope(scope or "rnn") as varscope:
        _cache_variables(varscope)
        time = tf.constant(0, dtype=tf.int32)
        finished, next_input, state, emit_structure, first_loop_state = loop_fn(time, None, None, None)
        flat_input = nest.flatten(next_input)
        loop_state = first_loop_state if first_loop_state is not None else tf.constant(0, dtype=tf.int32)
        static_batch = flat_input[0].shape.as_list()[0] if flat_input[0].shape.rank else None
        for tensor in flat_input:
            if tensor.shape.rank:
                TensorShape([static_batch]).assert_is_compatible_with(tensor.shape[:1])
        batch_size = static_batch if static_batch is not None else tf.shape(flat_input[0])[0]
        nest.assert_same_structure(state, cell.state_size)
        state = nest.map_structure(lambda s: s if hasattr(s, "_components") else convert_to_tensor(s), state)
        if emit_structure is not None:
            flat_emit = nest.flatten(emit_structure)
            sizes = [e.shape if e.shape.is_fully_defined() else tf.shape(e) for e in flat_emit]
            types = [e.dtype for e in flat_emit]
        else:
            emit_structure = cell.output_size
            sizes = nest.flatten(emit_structure)
            types = [nest.flatten(state)[0].dtype] * len(sizes)
        emitted = nest.pack_sequence_as(emit_structure, [
            TensorArray(t, dynamic_size=True, element_shape=TensorShape([static_batch]).concatenate(sizes_of(s)), size=0, name=f"rnn_output_{i}")
            for i, (t, s) in enumerate(zip(types, sizes))])
        zeros = nest.pack_sequence_as(emit_structure, [zeros_of(batch_size, s, t) for s, t in zip(sizes, types)])

        def step(time, finished, current_input, emitted, state, loop_state):
            next_output, cell_state = cell(current_input, state)
            nest.assert_same_structure(state, cell_state)
            nest.assert_same_structure(cell.output_size, next_output)
            next_time = time + 1
            next_finished, next_input, next_state, emit, next_loop_state = loop_fn(next_time, next_output, cell_state, loop_state)
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(current_input, next_input)
            nest.assert_same_structure(emitted, emit)

            def keep(old, new):
                if isinstance(old, TensorArray) or old.shape.rank == 0:
                    return new
                with get_default_graph().colocate_with(new):
                    return tf.where(finished, old, new)

            emit = nest.map_structure(keep, zeros, emit)
            next_state = nest.map_structure(keep, state, next_state)
            arrays = nest.map_structure(lambda array, value: array.write(time, value), emitted, emit)
            return (next_time, tf.logical_or(finished, next_finished), next_input, arrays, next_state,
                    loop_state if next_loop_state is None else next_loop_state)

        returned = tf.while_loop(
            lambda time, finished, *_: tf.logical_not(tf.reduce_all(finished)), step, [time, finished, next_input, emitted, state, loop_state],
            parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory)
        emitted, final_state, final_loop_state = returned[-3:]
        return emitted, final_state, None if first_loop_state is None else final_loop_state


def _check_sequence(inputs) -> None:
    if not nest.is_nested(inputs):
        raise TypeError(f"Argument `inputs` must be a sequence. Received: {inputs}")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")


def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None) -> tuple[list[Any], Any]:
    """Returns a recurrent network written out: a copy of the cell for each time step.

    Args:
        cell: the cell.
        inputs: a list with the inputs of each time step, of shape ``[batch, ...]`` or a structure of such tensors.
        initial_state: the state to begin with; zeros if it is None.
        dtype: the type of the state and the outputs if there is no `initial_state`.
        sequence_length: for each element of the batch how many time steps it has, integers of shape ``[batch]``.
        scope: a variable scope, ``"rnn"`` if it is None.

    Returns:
        A list of the outputs of each time step, and the last state.

    Raises:
        TypeError: if `cell` is none, or `inputs` no list.
        ValueError: for no inputs, if their depth is not known, and if there is neither `initial_state` nor `dtype`.
    """
    check_cell("cell", cell)
    _check_sequence(inputs)
    with tf.variable_scope(scope or "rnn") as varscope:
        _cache_variables(varscope)
        first = nest.flatten(inputs)[0]
        fixed = first.shape.as_list()[0] if first.shape.rank else None
        if first.shape.rank != 1:
            for tensor in nest.flatten(inputs):
                shape = tensor.shape.with_rank_at_least(2)
                TensorShape([fixed]).assert_is_compatible_with(shape[:1])
                for i, size in enumerate(shape.as_list()[1:]):
                    if size is None:
                        raise ValueError(f"Input size (dimension {i} of input {tensor}) must be accessible via shape inference, but saw value None.")
        batch_size = fixed if fixed else tf.shape(first)[0]
        state = initial_state if initial_state is not None else _initial_state(cell, batch_size, dtype)
        if sequence_length is not None:
            sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if sequence_length.shape.rank not in (None, 1):
                raise ValueError(f"Argument `sequence_length` must be a vector of length {batch_size}. Received sequence_length={sequence_length}.")
            zero_output = nest.map_structure(lambda size: zeros_of(batch_size, size, _state_type(dtype, state)), cell.output_size)
            for zeros, size in zip(nest.flatten(zero_output), nest.flatten(cell.output_size)):
                zeros.set_shape(with_batch(fixed, size))
            sequence_length = tf.cast(sequence_length, tf.int32)
            shortest, longest = tf.reduce_min(sequence_length), tf.reduce_max(sequence_length)
        outputs = []
        for time, here in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()
            if sequence_length is None:
                output, state = cell(here, state)
            else:
                output, state = _rnn_step(
                    time, sequence_length, shortest, longest, zero_output, state, lambda here=here, state=state: cell(here, state))
            outputs.append(output)
        return outputs, state


def static_state_saving_rnn(cell, inputs, state_saver, state_name, sequence_length=None, scope=None) -> Any:
    """Like :func:`static_rnn`, with a state that is kept from one step to the next.

    Args:
        cell: the cell.
        inputs: a list with the inputs of each time step.
        state_saver: an object with methods ``state(name)`` and ``save_state(name, value)``.
        state_name: the state's name, or a tuple of the names of its parts.
        sequence_length: for each element of the batch how many time steps it has.
        scope: a variable scope.

    Raises:
        ValueError: if the names do not fit the state.
    """
    size = cell.state_size
    if nest.is_nested(size) != nest.is_nested(state_name):
        raise ValueError(
            f"Argument `state_name` should be the same type as `cell.state_size`. Received: state_name={state_name}, cell.state_size={size}.")
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(size)):
        raise ValueError(f"Number of elements in argument `state_name` and `cell.state_size` are mismatched. Received state_name={state_name} with "
                         f"{len(names)} elements and cell.state_size={size} with {len(nest.flatten(size))} elements.")
    initial = nest.pack_sequence_as(size, [state_saver.state(n) for n in names])
    outputs, state = static_rnn(cell, inputs, initial_state=initial, sequence_length=sequence_length, scope=scope)
    saved = [state_saver.save_state(n, part) for n, part in zip(names, nest.flatten(state))]
    with get_default_graph().control_dependencies(saved):
        outputs[-1] = nest.map_structure(tf.identity, outputs[-1])
        state = nest.map_structure(tf.identity, state)
    return outputs, state


def static_bidirectional_rnn(cell_fw, cell_bw, inputs, initial_state_fw=None, initial_state_bw=None, dtype=None, sequence_length=None,
                             scope=None) -> Any:
    """Two recurrent networks written out, of which one goes back in time.

    Args:
        cell_fw: the cell of the one that goes forward.
        cell_bw: the cell of the other.
        inputs: as in :func:`static_rnn`, as are the other arguments.
        initial_state_fw: the state of the first to begin with.
        initial_state_bw: that of the other.
        dtype: the type of the states.
        sequence_length: the lengths.
        scope: a variable scope, ``"bidirectional_rnn"`` if it is None.

    Returns:
        A list of the outputs of both joined along the second dimension, the last state of the first, that of the other.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    _check_sequence(inputs)
    with tf.variable_scope(scope or "bidirectional_rnn"):
        with tf.variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope)
        with tf.variable_scope("bw") as bw_scope:
            backwards, state_bw = static_rnn(cell_bw, _reversed(inputs, sequence_length), initial_state_bw, dtype, sequence_length, scope=bw_scope)
    output_bw = _reversed(backwards, sequence_length)
    joined = [tf.concat([f, b], 1) for f, b in zip(nest.flatten(output_fw), nest.flatten(output_bw))]
    return nest.pack_sequence_as(output_fw, joined), state_fw, state_bw


def _reversed(sequence, lengths) -> list:
    """Time steps from the last to the first, each element of the batch within its length."""
    if lengths is None:
        return list(reversed(sequence))
    steps = [[] for _ in sequence]
    for parts in zip(*(nest.flatten(step) for step in sequence)):
        rank = parts[0].shape.rank
        turned = tf.unstack(tf.reverse_sequence(tf.stack(parts), lengths, 0, 1))
        for tensor, step in zip(turned, steps):
            if rank is not None:
                tensor.set_shape([None] * rank)
            step.append(tensor)
    return [nest.pack_sequence_as(structure, flat) for structure, flat in zip(sequence, steps)]
