"""The base class of all cells of recurrent networks; shapes and zeros of their states."""

from __future__ import annotations

from typing import Any, NamedTuple

import flowmill as tf
from flowmill import nest
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variables import PartitionedVariable
from flowmill.dtypes import DType, as_dtype
from flowmill.layers._base import Layer


class _Pair(NamedTuple):
    c: object
    h: object


class LSTMStateTuple(_Pair):
    """The state of an LSTM cell: `c`, its memory, and `h`, its output."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The type of both.

        Raises:
            TypeError: if they differ.
        """
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent dtypes for internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


def check_cell(name: str, cell) -> None:
    """Checks that something is like a cell.

    Raises:
        TypeError: if it is not.
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
    """Returns the static shape whose first sizes are `batch`.

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
    """Returns the static shape for a size or a shape: a number, a TensorShape, or a vector."""
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
        ValueError: if `size` is not known.
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
    """A cell: ``output, new_state = cell(inputs, state)``.

    Subclasses have properties `state_size` and `output_size`, numbers, shapes or structures of them, and a method `call`.
    """

    def __call__(self, inputs, state, scope=None) -> Any:
        """One time step.

        Args:
            inputs: of shape ``[batch, depth]``.
            state: of shape ``[batch, state_size]``, a structure where `state_size` is one.
            scope: a variable scope, its own if it is None.

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
        first = next(iter(variable)) if isinstance(variable, PartitionedVariable) else variable
        trained = any(first is v for v in tf.trainable_variables())
        known = self._trainable_weights if trained else self._non_trainable_weights
        if all(variable is not v for v in known):
            known.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The sizes of the state, without that of the batch.

        Raises:
            NotImplementedError: for a cell that does not say.
        """
        raise NotImplementedError(f"{type(self).__name__} has no state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output, without that of the batch.

        Raises:
            NotImplementedError: for a cell that does not say.
        """
        raise NotImplementedError(f"{type(self).__name__} has no output_size.")

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None) -> Any:
        """The state to begin with: zeros, for a batch of `inputs` or of `batch_size`.

        Raises:
            ValueError: if sizes or types do not fit, or are not given.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            if dtype is not None and inputs.dtype != as_dtype(dtype):
                raise ValueError(f"dtype from input tensor is different from the input param. Input tensor dtype: {inputs.dtype}, dtype: {dtype}")
            static = tf.get_static_value(batch_size)
            if batch_size is not None and static is not None and static != inputs.shape.as_list()[0]:
                raise ValueError(f"batch size from input tensor is different from the input param. Input tensor batch: {inputs.shape.as_list()[0]}, "
                                 f"batch_size: {batch_size}")
            batch_size, dtype = inputs.shape.as_list()[0] or tf.shape(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(f"batch_size and dtype cannot be None while constructing initial state: batch_size={batch_size}, dtype={dtype}")
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size, dtype) -> Any:
        """Zeros of the form of the state.

        Args:
            batch_size: a number or an integer scalar.
            dtype: their type.
        """
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            return nest.map_structure(lambda size: _shaped_zeros(batch_size, size, dtype), self.state_size)


class LayerRNNCell(RNNCell):
    """A cell whose variables are made by `build`."""

    def __call__(self, inputs, state, scope=None) -> Any:
        """One time step: the output and the next state."""
        return Layer.__call__(self, inputs, state, scope=scope)

    def _depth(self, input_shape) -> int:
        depth = TensorShape(input_shape).as_list()[-1]
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, received shape: {input_shape}")
        check_type(self.dtype)
        return depth


def check_type(dtype) -> None:
    """Checks that cells have numbers of a type.

    Raises:
        ValueError: if they have not.
    """
    if dtype is not None and not (as_dtype(dtype).is_floating or as_dtype(dtype).is_complex):
        raise ValueError(f"RNN cell only supports floating point inputs, but received dtype: {as_dtype(dtype)!r}")


def check_types(values) -> None:
    """Checks the types of tensors in a structure."""
    for tensor in nest.flatten(values):
        check_type(tensor.dtype)
