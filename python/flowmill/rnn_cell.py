"""Cells of recurrent networks: what happens in one time step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import flowmill as tf
from flowmill import nest
from flowmill._apply import call
from flowmill._convert import convert_to_tensor
from flowmill.dtypes import as_dtype
from flowmill.graph import get_default_graph
from flowmill.layers._base import InputSpec, Layer, function_of
from flowmill.tensor import Tensor
from flowmill.tensor_array import TensorArray
from flowmill.tensor_shape import TensorShape

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple", "MultiRNNCell", "RNNCell",
    "ResidualWrapper",
]


class _Pair(NamedTuple):
    c: object
    h: object


class LSTMStateTuple(_Pair):
    """The state of an LSTM cell: `c`, its memory, and `h`, its output."""

    __slots__ = ()

    @property
    def dtype(self):
        """The type of both.

        Raises:
            TypeError: where they differ.
        """
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent dtypes for internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


def check_cell(name: str, cell) -> None:
    """Checks that something is like a cell.

    Raises:
        TypeError: where it is not.
    """
    lacking = [what for what, there in (
        ("'output_size' property is missing", hasattr(type(cell), "output_size") or hasattr(cell, "output_size")),
        ("'state_size' property is missing", hasattr(type(cell), "state_size") or hasattr(cell, "state_size")),
        ("either 'zero_state' or 'get_initial_state' method is required", hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")),
        ("is not callable", callable(cell)),
    ) if not there]
    if lacking:
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(lacking)}.")


def with_batch(batch, size) -> TensorShape:
    """What is known of a shape whose first sizes are `batch`.

    Args:
        batch: a size, or a list of sizes, as numbers or scalar tensors; None is not known.
        size: the other sizes: a number, a TensorShape, or a vector.
    """
    # TensorFlow has these constants in its graphs, and names later ones after them.
    _vectors(batch, size)
    first = batch if isinstance(batch, (list, tuple)) else [batch]
    known = TensorShape([None if isinstance(b, Tensor) else b for b in first])
    return known.concatenate(sizes_of(size))


def sizes_of(size) -> TensorShape:
    """What is known of a size or a shape: a number, a TensorShape, or a vector."""
    if isinstance(size, Tensor):
        value = size.graph._core.constant_value(*size._key)
        return TensorShape(None if value is None else value)
    return TensorShape([size] if isinstance(size, int) else size)


def _vectors(*parts) -> list[Tensor | None]:
    """Sizes as vectors; None for those that are not known."""
    found = []
    for part in parts:
        if isinstance(part, Tensor):
            found.append(tf.expand_dims(part, 0) if part.shape.rank == 0 else part)
        else:
            shape = TensorShape([part] if isinstance(part, int) or part is None else part)
            found.append(tf.constant(shape.as_list(), dtype=tf.int32) if shape.is_fully_defined() else None)
    return found


def zeros_of(batch, size, dtype) -> Tensor:
    """Zeros of shape ``[batch, *size]``.

    Raises:
        ValueError: where `size` is not known.
    """
    first, rest = _vectors(batch, size)
    if first is None or rest is None:
        raise ValueError(f"Prefix or suffix can't be None. Received prefix = {batch} and suffix = {size}")
    return tf.zeros(tf.concat((first, rest), 0), dtype=dtype)


def _shaped_zeros(batch, size, dtype) -> Tensor:
    zeros = zeros_of(batch, size, dtype)
    zeros.set_shape(with_batch(batch, size))
    return zeros


class RNNCell(Layer):
    """A cell: ``output, new_state = cell(inputs, state)``. Subclasses have properties `state_size` and `output_size`, numbers, shapes or structures of
    them, and a method `call`."""

    def __call__(self, inputs, state, scope=None):
        """One time step.

        Args:
            inputs: of shape ``[batch, depth]``.
            state: of shape ``[batch, state_size]``, a structure where `state_size` is one.
            scope: a variable scope, its own where it is None.

        Returns:
            The output, of shape ``[batch, output_size]``, and the next state.
        """
        if scope is not None:
            with tf.variable_scope(scope, custom_getter=self._rnn_get_variable) as scope:
                return super().__call__(inputs, state, scope=scope)
        kept = getattr(self, "rnncell_scope", None)
        if kept is None:
            kept = self.rnncell_scope = tf.get_variable_scope()
        with tf.variable_scope(kept, custom_getter=self._rnn_get_variable):
            return super().__call__(inputs, state)

    def _rnn_get_variable(self, getter, *args, **kwargs):
        """Notes the variables that `call` makes."""
        variable = getter(*args, **kwargs)
        first = next(iter(variable)) if type(variable).__name__ == "PartitionedVariable" else variable
        trained = any(first is v for v in tf.trainable_variables())
        known = self._trainable_weights if trained else self._non_trainable_weights
        if all(variable is not v for v in known):
            known.append(variable)
        return variable

    @property
    def state_size(self):
        """The sizes of the state, without that of the batch."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        """The size of the output, without that of the batch."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """The state to begin with: zeros, for a batch of `inputs` or of `batch_size`.

        Raises:
            ValueError: where sizes or types do not fit, or are not given.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            if dtype is not None and inputs.dtype != as_dtype(dtype):
                raise ValueError(f"dtype from input tensor is different from the input param. Input tensor dtype: {inputs.dtype}, dtype: {dtype}")
            batch_size, dtype = inputs.shape.as_list()[0] or tf.shape(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(f"batch_size and dtype cannot be None while constructing initial state: batch_size={batch_size}, dtype={dtype}")
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size, dtype):
        """Zeros of the form of the state.

        Args:
            batch_size: a number or an integer scalar.
            dtype: their type.
        """
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            return nest.map_structure(lambda size: _shaped_zeros(batch_size, size, dtype), self.state_size)


class LayerRNNCell(RNNCell):
    """A cell whose variables are made by `build`."""

    def __call__(self, inputs, state, scope=None):
        """One time step: the output and the next state."""
        return Layer.__call__(self, inputs, state, scope=scope)

    def _depth(self, input_shape) -> int:
        depth = TensorShape(input_shape).as_list()[-1]
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, received shape: {input_shape}")
        _check_type(self.dtype)
        return depth


def _check_type(dtype) -> None:
    if dtype is not None and not (as_dtype(dtype).is_floating or as_dtype(dtype).is_complex):
        raise ValueError(f"RNN cell only supports floating point inputs, but received dtype: {as_dtype(dtype)!r}")


def _check_types(values) -> None:
    for tensor in nest.flatten(values):
        _check_type(tensor.dtype)


def _activation(given) -> Callable:
    return function_of(given, "activation") if given else tf.tanh


def _gates(inputs, h, kernel, bias) -> Tensor:
    return call("BiasAdd", None, tf.matmul(tf.concat([inputs, h], 1), kernel), bias)


class BasicRNNCell(LayerRNNCell):
    """The plainest cell: ``activation(W [inputs, state] + b)`` is the output and the next state.

    Args:
        num_units: the size of the output.
        activation: a function or its name, `tanh` where it is None.
        reuse: whether to use variables that are there.
        name: of its variable scope.
        dtype: of its variables.
    """

    def __init__(self, num_units: int, activation=None, reuse=None, name: str | None = None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        _check_type(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, _activation(activation)

    @property
    def state_size(self) -> int:
        """`num_units`."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """`num_units`."""
        return self._num_units

    def build(self, input_shape) -> None:
        """Makes ``kernel`` and ``bias``."""
        depth = self._depth(input_shape)
        self._kernel = self.add_weight("kernel", shape=[depth + self._num_units, self._num_units])
        self._bias = self.add_weight("bias", shape=[self._num_units], initializer=tf.zeros_initializer(dtype=self.dtype))
        super().build(input_shape)

    def call(self, inputs, state):
        """One time step."""
        _check_types([inputs, state])
        output = self._activation(_gates(inputs, state, self._kernel, self._bias))
        return output, output


class GRUCell(LayerRNNCell):
    """A gated recurrent unit (Cho et al., 2014).

    Args:
        num_units: the size of the output.
        activation: a function or its name, `tanh` where it is None.
        reuse: whether to use variables that are there.
        kernel_initializer: of both kernels.
        bias_initializer: of both biases; ones for the gates and zeros for the candidate where it is None.
        name: of its variable scope.
        dtype: of its variables.
    """

    def __init__(self, num_units: int, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name: str | None = None, dtype=None,
                 **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        _check_type(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, _activation(activation)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    @property
    def state_size(self) -> int:
        """`num_units`."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """`num_units`."""
        return self._num_units

    def build(self, input_shape) -> None:
        """Makes ``gates/kernel``, ``gates/bias``, ``candidate/kernel`` and ``candidate/bias``."""
        depth, units, biases = self._depth(input_shape), self._num_units, self._bias_initializer
        self._gate_kernel = self.add_weight("gates/kernel", shape=[depth + units, 2 * units], initializer=self._kernel_initializer)
        self._gate_bias = self.add_weight("gates/bias", shape=[2 * units], initializer=biases or tf.constant_initializer(1.0, dtype=self.dtype))
        self._candidate_kernel = self.add_weight("candidate/kernel", shape=[depth + units, units], initializer=self._kernel_initializer)
        self._candidate_bias = self.add_weight("candidate/bias", shape=[units], initializer=biases or tf.zeros_initializer(dtype=self.dtype))
        super().build(input_shape)

    def call(self, inputs, state):
        """One time step."""
        _check_types([inputs, state])
        gates = tf.sigmoid(_gates(inputs, state, self._gate_kernel, self._gate_bias))
        r, u = tf.split(value=gates, num_or_size_splits=2, axis=1)
        r_state = r * state
        c = self._activation(_gates(inputs, r_state, self._candidate_kernel, self._candidate_bias))
        h = u * state + (1 - u) * c
        return h, h


class BasicLSTMCell(LayerRNNCell):
    """A long short-term memory cell without clipping, projection or peepholes (Zaremba et al., 2014).

    Args:
        num_units: the size of the output.
        forget_bias: is added to the forget gate's bias.
        state_is_tuple: whether the state is an :class:`LSTMStateTuple`, or both parts of it joined along the second dimension.
        activation: a function or its name, `tanh` where it is None.
        reuse: whether to use variables that are there.
        name: of its variable scope.
        dtype: of its variables.
    """

    def __init__(self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True, activation=None, reuse=None, name: str | None = None,
                 dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        _check_type(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self):
        """An :class:`LSTMStateTuple` of sizes, or twice `num_units`."""
        return LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units

    @property
    def output_size(self) -> int:
        """`num_units`."""
        return self._num_units

    def build(self, input_shape) -> None:
        """Makes ``kernel`` and ``bias``."""
        depth = self._depth(input_shape)
        self._kernel = self.add_weight("kernel", shape=[depth + self._num_units, 4 * self._num_units])
        self._bias = self.add_weight("bias", shape=[4 * self._num_units], initializer=tf.zeros_initializer(dtype=self.dtype))
        super().build(input_shape)

    def call(self, inputs, state):
        """One time step."""
        _check_types([inputs, state])
        one = tf.constant(1, dtype=tf.int32)
        c, h = state if self._state_is_tuple else tf.split(value=state, num_or_size_splits=2, axis=one)
        i, j, f, o = tf.split(value=_gates(inputs, h, self._kernel, self._bias), num_or_size_splits=4, axis=one)
        forget_bias = tf.constant(self._forget_bias, dtype=f.dtype)
        kept = tf.multiply(c, tf.sigmoid(tf.add(f, forget_bias)))
        new_c = tf.add(kept, tf.multiply(tf.sigmoid(i), self._activation(j)))
        new_h = tf.multiply(self._activation(new_c), tf.sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else tf.concat([new_c, new_h], 1)


class LSTMCell(LayerRNNCell):
    """A long short-term memory cell with optional peepholes, clipping and a projection of the output (Sak et al., 2014).

    Args:
        num_units: the size of the memory.
        use_peepholes: whether the gates see the memory, by ``w_f_diag``, ``w_i_diag`` and ``w_o_diag``.
        cell_clip: bounds the memory.
        initializer: of the kernels and peepholes.
        num_proj: the size of the output; `num_units` where it is None.
        proj_clip: bounds the projected output.
        num_unit_shards: into how many parts the kernel is cut; deprecated.
        num_proj_shards: into how many parts the projection is cut; deprecated.
        forget_bias: is added to the forget gate's bias.
        state_is_tuple: whether the state is an :class:`LSTMStateTuple`, or both parts of it joined along the second dimension.
        activation: a function or its name, `tanh` where it is None.
        reuse: whether to use variables that are there.
        name: of its variable scope.
        dtype: of its variables.
    """

    def __init__(self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None, initializer=None, num_proj: int | None = None,
                 proj_clip: float | None = None, num_unit_shards: int | None = None, num_proj_shards: int | None = None, forget_bias: float = 1.0,
                 state_is_tuple: bool = True, activation=None, reuse=None, name: str | None = None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        _check_type(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._num_proj, self._use_peepholes = num_units, num_proj, use_peepholes
        self._cell_clip, self._proj_clip, self._initializer = cell_clip, proj_clip, initializer
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple, self._activation = forget_bias, state_is_tuple, _activation(activation)

    @property
    def state_size(self):
        """An :class:`LSTMStateTuple` of sizes, or their sum."""
        pair = LSTMStateTuple(self._num_units, self.output_size)
        return pair if self._state_is_tuple else sum(pair)

    @property
    def output_size(self) -> int:
        """`num_proj`, or `num_units` where that is None."""
        return self._num_proj or self._num_units

    def build(self, input_shape) -> None:
        """Makes ``kernel`` and ``bias``, the peepholes and ``projection/kernel``."""
        def cut(shards):
            return None if shards is None else tf.fixed_size_partitioner(shards)

        depth, units, start = self._depth(input_shape), self._num_units, self._initializer
        self._kernel = self.add_weight("kernel", shape=[depth + self.output_size, 4 * units], initializer=start, partitioner=cut(self._num_unit_shards))
        self._bias = self.add_weight("bias", shape=[4 * units], initializer=tf.zeros_initializer(dtype=self.dtype or tf.float32))
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (
                self.add_weight(name, shape=[units], initializer=start) for name in ("w_f_diag", "w_i_diag", "w_o_diag"))
        if self._num_proj is not None:
            self._proj_kernel = self.add_weight(
                "projection/kernel", shape=[units, self._num_proj], initializer=start, partitioner=cut(self._num_proj_shards))
        super().build(input_shape)

    def call(self, inputs, state):
        """One time step.

        Raises:
            ValueError: where the inputs' depth is not known.
        """
        _check_types([inputs, state])
        if self._state_is_tuple:
            c_prev, m_prev = state
        else:
            c_prev = tf.slice(state, [0, 0], [-1, self._num_units])
            m_prev = tf.slice(state, [0, self._num_units], [-1, self.output_size])
        if inputs.shape.with_rank(2).as_list()[1] is None:
            raise ValueError(f"Could not infer input size from inputs.get_shape()[-1].Received input shape: {inputs.shape}")
        i, j, f, o = tf.split(value=_gates(inputs, m_prev, self._kernel, self._bias), num_or_size_splits=4, axis=1)
        if self._use_peepholes:
            c = tf.sigmoid(f + self._forget_bias + self._w_f_diag * c_prev) * c_prev
            c = c + tf.sigmoid(i + self._w_i_diag * c_prev) * self._activation(j)
        else:
            c = tf.sigmoid(f + self._forget_bias) * c_prev + tf.sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = tf.clip_by_value(c, -self._cell_clip, self._cell_clip)
        m = tf.sigmoid(o + self._w_o_diag * c if self._use_peepholes else o) * self._activation(c)
        if self._num_proj is not None:
            m = tf.matmul(m, self._proj_kernel)
            if self._proj_clip is not None:
                m = tf.clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else tf.concat([c, m], 1)


class MultiRNNCell(RNNCell):
    """Cells one upon another: each takes the output of the one before it.

    Args:
        cells: the cells, first the one that takes the inputs.
        state_is_tuple: whether the state is a tuple of the cells' states, or those joined along the second dimension.

    Raises:
        ValueError: for no cells, and for states that cannot be joined.
        TypeError: where `cells` is no list.
    """

    def __init__(self, cells, state_is_tuple: bool = True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but received: {cells}.")
        self._cells, self._state_is_tuple = cells, state_is_tuple
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise ValueError("Some cells return tuples of states, but the flag state_is_tuple is not set. "
                             f"State sizes are: {[c.state_size for c in cells]}")

    @property
    def state_size(self):
        """A tuple of the cells' sizes, or their sum."""
        return tuple(c.state_size for c in self._cells) if self._state_is_tuple else sum(c.state_size for c in self._cells)

    @property
    def output_size(self):
        """That of the last cell."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size, dtype):
        """Zeros of the form of the state."""
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list:
        """Those of the cells; none where it is not trainable."""
        return [w for cell in self._cells if isinstance(cell, Layer) for w in cell.trainable_weights] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list:
        """Those of the cells that are not trained."""
        layers = [cell for cell in self._cells if isinstance(cell, Layer)]
        own = [w for cell in layers for w in cell.non_trainable_weights]
        return own if self.trainable else [w for cell in layers for w in cell.trainable_weights] + own

    def call(self, inputs, state):
        """One time step of each cell."""
        at, states = 0, []
        for i, cell in enumerate(self._cells):
            with tf.variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    if not nest.is_nested(state):
                        raise ValueError(f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}")
                    current = state[i]
                else:
                    current = tf.slice(state, [0, at], [-1, cell.state_size])
                    at += cell.state_size
                inputs, new_state = cell(inputs, current)
                states.append(new_state)
        return inputs, tuple(states) if self._state_is_tuple else tf.concat(states, 1)


class _Wrapper(RNNCell):
    """A cell around another."""

    def __init__(self, cell, *args, **kwargs):
        super().__init__(*args, **kwargs)
        check_cell("cell", cell)
        self.cell = cell

    @property
    def wrapped_cell(self):
        """The cell inside."""
        return self.cell

    @property
    def state_size(self):
        """That of the cell inside."""
        return self.cell.state_size

    @property
    def output_size(self):
        """That of the cell inside."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list:
        """Those of the cell inside."""
        return list(getattr(self.cell, "trainable_weights", []))

    @property
    def non_trainable_weights(self) -> list:
        """Those of the cell inside."""
        return list(getattr(self.cell, "non_trainable_weights", []))

    def zero_state(self, batch_size, dtype):
        """That of the cell inside."""
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            return self.cell.zero_state(batch_size, dtype)


def _map_up_to(shallow, function: Callable, *structures):
    """`function` of the place and the parts of structures where `shallow` has elements."""
    parts = zip(*(nest.flatten_up_to(shallow, s) for s in structures))
    return nest.pack_sequence_as(shallow, [function(i, *p) for i, p in enumerate(parts)])


def _drops(state):
    """Which parts of a state are dropped by default: the outputs of LSTM cells, not their memories."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    if nest.is_nested(state):
        return type(state)(map(_drops, state)) if not hasattr(state, "_fields") and isinstance(state, (list, tuple)) else nest.map_structure(_drops, state)
    return not isinstance(state, TensorArray)


class DropoutWrapper(_Wrapper):
    """Drops elements of a cell's inputs, outputs and states.

    Args:
        cell: the cell.
        input_keep_prob: the share of the inputs' elements that is kept, a number or a scalar tensor.
        output_keep_prob: the same of the outputs.
        state_keep_prob: the same of the states, without the memories of LSTM cells.
        variational_recurrent: whether the same elements are dropped in all time steps (Gal and Ghahramani, 2015).
        input_size: the inputs' sizes, for `variational_recurrent` with an `input_keep_prob` below 1.
        dtype: the type, for `variational_recurrent`.
        seed: for the random numbers.
        dropout_state_filter_visitor: which parts of states are dropped: a function from a state to a structure of booleans.

    Raises:
        TypeError: where the cell is none, or the filter cannot be called.
        ValueError: for shares outside of [0, 1], and where sizes or types are missing.
    """

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent: bool = False, input_size=None,
                 dtype=None, seed: int | None = None, dropout_state_filter_visitor: Callable | None = None, **kwargs):
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError(f"dropout_state_filter_visitor must be callable. Received: {dropout_state_filter_visitor}")
        self._filter, self._seed, self._variational = dropout_state_filter_visitor or _drops, seed, variational_recurrent
        with get_default_graph().name_scope("DropoutWrapperInit"):
            self._keep = {
                "input": _share("input_keep_prob", input_keep_prob), "state": _share("state_keep_prob", state_keep_prob),
                "output": _share("output_keep_prob", output_keep_prob)}
        self._noise: dict = {}
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            if not isinstance(self._keep["input"], float) or self._keep["input"] < 1.0:
                if input_size is None:
                    raise ValueError("When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be provided")
                self._noise["input"] = self._noise_for("input", input_size, dtype)
            self._noise["state"] = self._noise_for("state", cell.state_size, dtype)
            self._noise["output"] = self._noise_for("output", cell.output_size, dtype)

    def _noise_for(self, what: str, sizes, dtype):
        def noise(i, size):
            shape = tf.concat(([1], TensorShape([size] if isinstance(size, int) else size).as_list()), 0)
            return tf.random_uniform(shape, seed=self._seed_of(what, i), dtype=dtype)

        return _map_up_to(sizes, noise, sizes)

    def _seed_of(self, what: str, index: int) -> int | None:
        if self._seed is None:
            return None
        return int(hashlib.md5(f"{self._seed}{what}_{index}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF

    def build(self, input_shape) -> None:
        """Builds the cell inside."""
        self.cell.build(input_shape)
        super().build(input_shape)

    def _dropped(self, what: str, values, filtered=None):
        keep = self._keep[what]
        if isinstance(keep, float) and keep >= 1:
            return values
        filtered = nest.map_structure(lambda _: True, values) if filtered is None else filtered

        def drop(i, is_dropped, value, noise=None):
            if isinstance(is_dropped, bool) and not is_dropped:
                return value
            if noise is None:
                return tf.nn.dropout(value, rate=1.0 - keep, seed=self._seed_of(what, i))
            kept = tf.divide(value, keep) * tf.floor(keep + noise)
            kept.set_shape(value.shape)
            return kept

        structures = [filtered, values] + ([self._noise[what]] if self._variational else [])
        return _map_up_to(filtered, drop, *structures)

    def __call__(self, inputs, state, scope=None):
        """One time step of the cell, with elements dropped."""
        inputs = self._dropped("input", inputs)
        output, new_state = self.cell(inputs, state, scope=scope)
        new_state = self._dropped("state", new_state, self._filter(new_state))
        return self._dropped("output", output), new_state


def _share(name: str, value):
    """A share as a number where it is known, else a tensor."""
    tensor = convert_to_tensor(value)
    known = tensor.graph._core.constant_value(*tensor._key)
    if known is None:
        return tensor
    if known < 0 or known > 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1. Received {known}")
    return float(known)


class ResidualWrapper(_Wrapper):
    """Adds the inputs to a cell's outputs.

    Args:
        cell: the cell.
        residual_fn: what to give instead of the sum, called with inputs and outputs.
    """

    def __init__(self, cell, residual_fn: Callable | None = None, **kwargs):
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn or _sum

    def __call__(self, inputs, state, scope=None):
        """One time step of the cell, with the inputs added to the output."""
        outputs, new_state = self.cell(inputs, state, scope=scope)
        return self._residual_fn(inputs, outputs), new_state


def _sum(inputs, outputs):
    def add(a, b):
        a.shape.assert_is_compatible_with(b.shape)
        return a + b

    return nest.map_structure(add, inputs, outputs)


class DeviceWrapper(_Wrapper):
    """Lets a cell run on a device.

    Args:
        cell: the cell.
        device: the device's name.
    """

    def __init__(self, cell, device, **kwargs):
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size, dtype):
        """That of the cell inside, on the device."""
        graph = get_default_graph()
        with graph.name_scope(type(self).__name__ + "ZeroState"), graph.device(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        """One time step of the cell, on the device."""
        with get_default_graph().device(self._device):
            return self.cell(inputs, state, scope=scope)
