"""Fourier transforms of real planes, along the last two dimensions."""

from __future__ import annotations

import flowmill as tf
from flowmill._apply import op_scope
from flowmill.signal._fourier import fft, ifft, irfft, rfft
from flowmill.tensor import Tensor
from flowmill.tensor_util import constant_value


def rfft2d(input_tensor, fft_length=None, name: str | None = None) -> Tensor:
    """The discrete Fourier transform along the last two dimensions of real numbers; of the last one its first half, of which the other half follows.

    Args:
        input_tensor: `float32` or `float64`.
        fft_length: how many numbers count in both dimensions, with zeros behind where there are less; all where it is None.
        name: of the scope.
    """
    with op_scope(name, "rfft2d", input_tensor, fft_length):
        values = tf.convert_to_tensor(input_tensor, preferred_dtype=tf.float32)
        values.shape.with_rank_at_least(2)
        lengths = None if fft_length is None else tf.convert_to_tensor(fft_length, tf.int32)
        rows = rfft(values, None if lengths is None else lengths[1:])
        return _along_columns(fft, rows, lengths)


def irfft2d(input_tensor, fft_length=None, name: str | None = None) -> Tensor:
    """The inverse of :func:`rfft2d`: real numbers.

    Args:
        input_tensor: `complex64` or `complex128`.
        fft_length: how many numbers there shall be in both dimensions; as many rows as there are, and twice one less columns where it is None.
        name: of the scope.
    """
    with op_scope(name, "irfft2d", input_tensor, fft_length):
        values = tf.convert_to_tensor(input_tensor, preferred_dtype=tf.complex64)
        values.shape.with_rank_at_least(2)
        lengths = None if fft_length is None else tf.convert_to_tensor(fft_length, tf.int32)
        return irfft(_along_columns(ifft, values, lengths), None if lengths is None else lengths[1:])


def _along_columns(transform, values: Tensor, lengths: Tensor | None) -> Tensor:
    """A transform along the last dimension but one, of so many rows as the lengths say."""
    if lengths is not None:
        known = constant_value(lengths)
        count = lengths[0] if known is None else int(known[0])
        there = values.shape.as_list()[-2] if values.shape.rank is not None else None
        if known is None or there is None or there != count:
            values = values[..., :count, :]
            missing = tf.maximum(0, count - tf.shape(values)[-2]) if known is None or there is None else max(0, count - there)
            order = tf.rank(values) if values.shape.rank is None else values.shape.rank
            if values.shape.rank is None:
                behind = tf.concat([tf.zeros([order - 2], tf.int32), tf.stack([missing, 0])], 0)
                values = tf.pad(values, tf.stack([tf.zeros_like(behind), behind], 1))
            else:
                values = tf.pad(values, [[0, 0]] * (order - 2) + [[0, missing], [0, 0]])
    return tf.linalg.matrix_transpose(transform(tf.linalg.matrix_transpose(values)))
