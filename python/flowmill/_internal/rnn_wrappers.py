"""Cells around other cells: dropped elements, residual connections, devices."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import flowmill as tf
from flowmill import nest
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.rnn_base import LSTMStateTuple, RNNCell, check_cell
from flowmill._internal.tensor_array import TensorArray
from flowmill._internal.tensor_shape import TensorShape


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
        """The state size of the cell inside."""
        return self.cell.state_size

    @property
    def output_size(self):
        """The output size of the cell inside."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list:
        """The trainable weights of the cell inside."""
        return list(getattr(self.cell, "trainable_weights", []))

    @property
    def non_trainable_weights(self) -> list:
        """The non-trainable weights of the cell inside."""
        return list(getattr(self.cell, "non_trainable_weights", []))

    def zero_state(self, batch_size, dtype):
        """Returns the zero state of the cell inside."""
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            return self.cell.zero_state(batch_size, dtype)


def _map_up_to(shallow, function: Callable, *structures):
    """`function` of the place and the parts of structures where `shallow` has elements."""
    parts = zip(*(nest.flatten_up_to(shallow, s) for s in structures))
    return nest.pack_sequence_as(shallow, [function(i, *p) for i, p in enumerate(parts)])


def _drops(state):
    """Chooses the parts of a state that are dropped by default: the outputs of LSTM cells, not their memories."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    if nest.is_nested(state):
        is_plain = isinstance(state, (list, tuple)) and not hasattr(state, "_fields")
        return type(state)(map(_drops, state)) if is_plain else nest.map_structure(_drops, state)
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
        TypeError: if the cell is none, or the filter cannot be called.
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

    def __call__(self, inputs, state, scope=None) -> Any:
        """One time step of the cell, with elements dropped."""
        inputs = self._dropped("input", inputs)
        output, new_state = self.cell(inputs, state, scope=scope)
        new_state = self._dropped("state", new_state, self._filter(new_state))
        return self._dropped("output", output), new_state


def _share(name: str, value):
    """Returns a share as a number if it is known, else a tensor."""
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

    def __call__(self, inputs, state, scope=None) -> Any:
        """One time step of the cell, with the inputs added to the output."""
        outputs, new_state = self.cell(inputs, state, scope=scope)
        return self._residual_fn(inputs, outputs), new_state


def _sum(inputs, outputs):
    def add(a, b):
        a.shape.assert_is_compatible_with(b.shape)
        return a + b

    return nest.map_structure(add, inputs, outputs)


class DeviceWrapper(_Wrapper):
    """Runs a cell on a device.

    Args:
        cell: the cell.
        device: the device's name.
    """

    def __init__(self, cell, device, **kwargs) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size, dtype) -> Any:
        """Returns the zero state of the cell inside, made on the device."""
        graph = get_default_graph()
        with graph.name_scope(type(self).__name__ + "ZeroState"), graph.device(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None) -> Any:
        """One time step of the cell, on the device."""
        with get_default_graph().device(self._device):
            return self.cell(inputs, state, scope=scope)
