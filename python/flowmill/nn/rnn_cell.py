"""Cells of recurrent networks: what happens in one time step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flowmill as tf
from flowmill import nest
from flowmill._internal.apply import call
from flowmill._internal.graph import get_default_graph
from flowmill._internal.rnn_base import LSTMStateTuple, LayerRNNCell, RNNCell, check_type, check_types
from flowmill._internal.rnn_wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper
from flowmill._internal.tensor import Tensor
from flowmill.layers._base import InputSpec, Layer, function_of

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple", "MultiRNNCell", "RNNCell",
    "ResidualWrapper",
]


def _activation(given) -> Callable:
    return function_of(given, "activation") if given else tf.tanh


def _gates(inputs, h, kernel, bias) -> Tensor:
    return call("BiasAdd", None, tf.matmul(tf.concat([inputs, h], 1), kernel), bias)


class _UnitsCell(LayerRNNCell):
    """A cell whose state is its output: `num_units` numbers."""

    def __init__(self, num_units: int, activation=None, reuse=None, name: str | None = None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_type(self.dtype)
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


class BasicRNNCell(_UnitsCell):
    """The plainest cell: ``activation(W [inputs, state] + b)`` is the output and the next state.

    Args:
        num_units: the size of the output.
        activation: a function or its name, `tanh` if it is None.
        reuse: whether to use variables that are there.
        name: the name of its variable scope.
        dtype: of its variables.
    """

    def build(self, input_shape) -> None:
        """Makes ``kernel`` and ``bias``."""
        depth = self._depth(input_shape)
        self._kernel = self.add_weight("kernel", shape=[depth + self._num_units, self._num_units])
        self._bias = self.add_weight("bias", shape=[self._num_units], initializer=tf.zeros_initializer(dtype=self.dtype))
        super().build(input_shape)

    def call(self, inputs, state) -> Any:
        """One time step."""
        check_types([inputs, state])
        output = self._activation(_gates(inputs, state, self._kernel, self._bias))
        return output, output


class GRUCell(_UnitsCell):
    """A gated recurrent unit (Cho et al., 2014).

    Args:
        num_units: the size of the output.
        activation: a function or its name, `tanh` if it is None.
        reuse: whether to use variables that are there.
        kernel_initializer: of both kernels.
        bias_initializer: of both biases; ones for the gates and zeros for the candidate if it is None.
        name: the name of its variable scope.
        dtype: of its variables.
    """

    def __init__(self, num_units: int, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name: str | None = None,
                 dtype=None, **kwargs):
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def build(self, input_shape) -> None:
        """Makes ``gates/kernel``, ``gates/bias``, ``candidate/kernel`` and ``candidate/bias``."""
        depth, units, biases = self._depth(input_shape), self._num_units, self._bias_initializer
        self._gate_kernel = self.add_weight("gates/kernel", shape=[depth + units, 2 * units], initializer=self._kernel_initializer)
        self._gate_bias = self.add_weight("gates/bias", shape=[2 * units], initializer=biases or tf.constant_initializer(1.0, dtype=self.dtype))
        self._candidate_kernel = self.add_weight("candidate/kernel", shape=[depth + units, units], initializer=self._kernel_initializer)
        self._candidate_bias = self.add_weight("candidate/bias", shape=[units], initializer=biases or tf.zeros_initializer(dtype=self.dtype))
        super().build(input_shape)

    def call(self, inputs, state) -> Any:
        """One time step."""
        check_types([inputs, state])
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
        activation: a function or its name, `tanh` if it is None.
        reuse: whether to use variables that are there.
        name: the name of its variable scope.
        dtype: of its variables.
    """

    def __init__(self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True, activation=None, reuse=None, name: str | None = None,
                 dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_type(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self) -> Any:
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

    def call(self, inputs, state) -> Any:
        """One time step."""
        check_types([inputs, state])
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
        num_proj: the size of the output; `num_units` if it is None.
        proj_clip: bounds the projected output.
        num_unit_shards: into how many parts the kernel is cut; deprecated.
        num_proj_shards: into how many parts the projection is cut; deprecated.
        forget_bias: is added to the forget gate's bias.
        state_is_tuple: whether the state is an :class:`LSTMStateTuple`, or both parts of it joined along the second dimension.
        activation: a function or its name, `tanh` if it is None.
        reuse: whether to use variables that are there.
        name: the name of its variable scope.
        dtype: of its variables.
    """

    def __init__(self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None, initializer=None, num_proj: int | None = None,
                 proj_clip: float | None = None, num_unit_shards: int | None = None, num_proj_shards: int | None = None, forget_bias: float = 1.0,
                 state_is_tuple: bool = True, activation=None, reuse=None, name: str | None = None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_type(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._num_proj, self._use_peepholes = num_units, num_proj, use_peepholes
        self._cell_clip, self._proj_clip, self._initializer = cell_clip, proj_clip, initializer
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple, self._activation = forget_bias, state_is_tuple, _activation(activation)

    @property
    def state_size(self) -> Any:
        """An :class:`LSTMStateTuple` of sizes, or their sum."""
        pair = LSTMStateTuple(self._num_units, self.output_size)
        return pair if self._state_is_tuple else sum(pair)

    @property
    def output_size(self) -> int:
        """`num_proj`, or `num_units` if that is None."""
        return self._num_proj or self._num_units

    def build(self, input_shape) -> None:
        """Makes ``kernel`` and ``bias``, the peepholes and ``projection/kernel``."""
        def cut(shards):
            return None if shards is None else tf.fixed_size_partitioner(shards)

        depth, units, start = self._depth(input_shape), self._num_units, self._initializer
        self._kernel = self.add_weight(
            "kernel", shape=[depth + self.output_size, 4 * units], initializer=start, partitioner=cut(self._num_unit_shards))
        self._bias = self.add_weight("bias", shape=[4 * units], initializer=tf.zeros_initializer(dtype=self.dtype or tf.float32))
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (
                self.add_weight(name, shape=[units], initializer=start) for name in ("w_f_diag", "w_i_diag", "w_o_diag"))
        if self._num_proj is not None:
            self._proj_kernel = self.add_weight(
                "projection/kernel", shape=[units, self._num_proj], initializer=start, partitioner=cut(self._num_proj_shards))
        super().build(input_shape)

    def call(self, inputs, state) -> Any:
        """One time step.

        Raises:
            ValueError: if the inputs' depth is not known.
        """
        check_types([inputs, state])
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
        TypeError: if `cells` is no list.
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

    def _owned_objects(self) -> list[tuple[str, Any]]:
        return [(f"cell-{i}", cell) for i, cell in enumerate(self._cells)]

    @property
    def state_size(self) -> Any:
        """A tuple of the cells' sizes, or their sum."""
        return tuple(c.state_size for c in self._cells) if self._state_is_tuple else sum(c.state_size for c in self._cells)

    @property
    def output_size(self) -> Any:
        """The output size of the last cell."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size, dtype) -> Any:
        """Zeros of the form of the state."""
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list:
        """The trainable weights of the cells; none if it is not trainable."""
        return [w for cell in self._cells if isinstance(cell, Layer) for w in cell.trainable_weights] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list:
        """The weights of the cells that are not trained."""
        layers = [cell for cell in self._cells if isinstance(cell, Layer)]
        own = [w for cell in layers for w in cell.non_trainable_weights]
        return own if self.trainable else [w for cell in layers for w in cell.trainable_weights] + own

    def call(self, inputs, state) -> Any:
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
