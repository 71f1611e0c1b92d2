"""Pooling."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.layers._base import InputSpec, Layer
from flowmill.layers._sizes import data_format_of, op_format, padding_of, sizes, window_length


class _Pooling(Layer):
    """Windows of some spatial dimensions.

    Args:
        pool_size: the window's sizes, a number or a list.
        strides: how far to move, a number or a list.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: the name of its scope.
    """

    _rank: int
    _kind: str

    def __init__(self, pool_size, strides, padding: str = "valid", data_format: str = "channels_last", name: str | None = None, **kwargs):
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(name=name, **kwargs)
        self.pool_size = sizes(pool_size, self._rank, "pool_size")
        self.strides = sizes(strides, self._rank, "strides", allow_zero=True)
        self.padding = padding_of(padding)
        self.data_format = data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _along(self, spatial) -> tuple[int, ...]:
        return (1, 1, *spatial) if self.data_format == "channels_first" else (1, *spatial, 1)

    def call(self, inputs):
        """The largest element or the mean of each window."""
        if self._rank == 1:
            return self._of_sequences(inputs)
        if self._rank == 3:
            return self._of_volumes(inputs)
        function = tf.nn.max_pool if self._kind == "max" else tf.nn.avg_pool
        return function(inputs, self._along(self.pool_size), self._along(self.strides), self.padding.upper(),
                        data_format=op_format(self.data_format, 4))

    def _of_sequences(self, inputs):
        first = self.data_format == "channels_first"
        at = 3 if first else 2
        inputs = tf.expand_dims(inputs, at)
        function = tf.nn.max_pool if self._kind == "max" else tf.nn.avg_pool
        window, steps = ((1, 1, *s, 1) if first else (1, *s, 1, 1) for s in (self.pool_size, self.strides))
        outputs = function(inputs, window, steps, self.padding.upper(), data_format="NCHW" if first else "NHWC")
        return tf.squeeze(outputs, at)

    def _of_volumes(self, inputs):
        first = self.data_format == "channels_first"
        if first:
            inputs = tf.transpose(inputs, (0, 2, 3, 4, 1))
        function = tf.nn.max_pool3d if self._kind == "max" else tf.nn.avg_pool3d
        outputs = function(inputs, (1, *self.pool_size, 1), (1, *self.strides, 1), self.padding.upper())
        return tf.transpose(outputs, (0, 4, 1, 2, 3)) if first else outputs

    def compute_output_shape(self, input_shape) -> TensorShape:
        """Returns the batch, as many elements as windows fit, and the channels."""
        found = TensorShape(input_shape).as_list()
        start = 2 if self.data_format == "channels_first" else 1
        for i in range(self._rank):
            found[start + i] = window_length(found[start + i], self.pool_size[i], self.padding, self.strides[i])
        return TensorShape(found)


class MaxPooling1D(_Pooling):
    """The largest element of each window of sequences. Arguments are as for :func:`max_pooling1d`."""

    _rank, _kind = 1, "max"


class AveragePooling1D(_Pooling):
    """The mean of each window of sequences. Arguments are as for :func:`average_pooling1d`."""

    _rank, _kind = 1, "avg"


class MaxPooling2D(_Pooling):
    """The largest element of each window of images. Arguments are as for :func:`max_pooling2d`."""

    _rank, _kind = 2, "max"


class AveragePooling2D(_Pooling):
    """The mean of each window of images. Arguments are as for :func:`average_pooling2d`."""

    _rank, _kind = 2, "avg"


class MaxPooling3D(_Pooling):
    """The largest element of each window of volumes. Arguments are as for :func:`max_pooling3d`."""

    _rank, _kind = 3, "max"


class AveragePooling3D(_Pooling):
    """The mean of each window of volumes. Arguments are as for :func:`average_pooling3d`."""

    _rank, _kind = 3, "avg"


def max_pooling1d(inputs, pool_size, strides, padding: str = "valid", data_format: str = "channels_last", name: str | None = None) -> Tensor:
    """Returns the largest element of each window of sequences.

    Args:
        inputs: ``[batch, width, channels]``, or channels after the batch for ``"channels_first"``.
        pool_size: the window's size.
        strides: how far to move.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: the name of the scope.
    """
    return MaxPooling1D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling1d(inputs, pool_size, strides, padding: str = "valid", data_format: str = "channels_last", name: str | None = None) -> Tensor:
    """The mean of each window of sequences. Arguments are as for :func:`max_pooling1d`."""
    return AveragePooling1D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling2d(inputs, pool_size, strides, padding: str = "valid", data_format: str = "channels_last", name: str | None = None) -> Tensor:
    """Returns the largest element of each window of images, ``[batch, height, width, channels]``. Sizes are numbers or pairs; see :func:`max_pooling1d`."""
    return MaxPooling2D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling2d(inputs, pool_size, strides, padding: str = "valid", data_format: str = "channels_last", name: str | None = None) -> Tensor:
    """The mean of each window of images, ``[batch, height, width, channels]``. Sizes are numbers or pairs; see :func:`max_pooling1d`."""
    return AveragePooling2D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling3d(inputs, pool_size, strides, padding: str = "valid", data_format: str = "channels_last", name: str | None = None) -> Tensor:
    """Returns the largest element of each window of volumes, ``[batch, depth, height, width, channels]``. See :func:`max_pooling1d`."""
    return MaxPooling3D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling3d(inputs, pool_size, strides, padding: str = "valid", data_format: str = "channels_last", name: str | None = None) -> Tensor:
    """The mean of each window of volumes, ``[batch, depth, height, width, channels]``. See :func:`max_pooling1d`."""
    return AveragePooling3D(pool_size, strides, padding, data_format, name)(inputs)
