"""Fourier transforms of real numbers, along the last one, two or three dimensions."""

from __future__ import annotations

import numpy as np

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.array import concat, pad, rank as rank_of, shape, stack, unstack, zeros, zeros_like
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_util import constant_value
from flowmill.dtypes import complex64, complex128, float32, float64, int32
from flowmill.math import maximum


def rfft(input_tensor, fft_length=None, name: str | None = None) -> Tensor:
    """Returns the first half of the discrete Fourier transform along the last dimension of real numbers, of which the other half follows.

    Args:
        input_tensor: `float32` or `float64`.
        fft_length: how many numbers count, a vector of one; with zeros behind them if there are fewer; all if it is None.
        name: the name of the operation.
    """
    return _forward("RFFT", "rfft", 1, input_tensor, fft_length, name)


def rfft2d(input_tensor, fft_length=None, name: str | None = None) -> Tensor:
    """Returns the discrete Fourier transform along the last two dimensions of real numbers; of the last one its first half, of which the other half follows.

    Args:
        input_tensor: `float32` or `float64`.
        fft_length: how many numbers count in both dimensions, with zeros behind them if there are fewer; all if it is None.
        name: the name of the operation.
    """
    return _forward("RFFT2D", "rfft2d", 2, input_tensor, fft_length, name)


def rfft3d(input_tensor, fft_length=None, name: str | None = None) -> Tensor:
    """Returns the discrete Fourier transform along the last three dimensions of real numbers; of the last one its first half, of which the other half follows.

    Args:
        input_tensor: `float32` or `float64`.
        fft_length: how many numbers count in the three dimensions, with zeros behind them if there are fewer; all if it is None.
        name: the name of the operation.
    """
    return _forward("RFFT3D", "rfft3d", 3, input_tensor, fft_length, name)


def irfft(input_tensor, fft_length=None, name: str | None = None) -> Tensor:
    """Returns the inverse of :func:`rfft`: real numbers.

    Args:
        input_tensor: `complex64` or `complex128`.
        fft_length: how many numbers there shall be, a vector of one; twice one less than there are complex ones if it is None.
        name: the name of the operation.
    """
    return _inverse("IRFFT", "irfft", 1, input_tensor, fft_length, name)


def irfft2d(input_tensor, fft_length=None, name: str | None = None) -> Tensor:
    """Returns the inverse of :func:`rfft2d`: real numbers.

    Args:
        input_tensor: `complex64` or `complex128`.
        fft_length: how many numbers there shall be in both dimensions; as many rows as there are, and twice one less columns if it is None.
        name: the name of the operation.
    """
    return _inverse("IRFFT2D", "irfft2d", 2, input_tensor, fft_length, name)


def irfft3d(input_tensor, fft_length=None, name: str | None = None) -> Tensor:
    """Returns the inverse of :func:`rfft3d`: real numbers.

    Args:
        input_tensor: `complex64` or `complex128`.
        fft_length: how many numbers there shall be in the three dimensions; as many as there are, in the last one twice one less, if it is None.
        name: the name of the operation.
    """
    return _inverse("IRFFT3D", "irfft3d", 3, input_tensor, fft_length, name)


def _forward(op: str, default_name: str, rank: int, input_tensor, fft_length, name: str | None) -> Tensor:
    with op_scope(name, default_name, input_tensor, fft_length) as scope:
        values = convert_to_tensor(input_tensor, preferred_dtype=float32)
        values.shape.with_rank_at_least(rank)
        whole = complex128 if values.dtype.base_dtype is float64 else complex64
        lengths = _lengths(values, fft_length, rank, is_inverse=False)
        values = padded(values, lengths, rank, is_inverse=False)
        return call(op, scope, values, _known_or(lengths), Tcomplex=whole)


def _inverse(op: str, default_name: str, rank: int, input_tensor, fft_length, name: str | None) -> Tensor:
    with op_scope(name, default_name, input_tensor, fft_length) as scope:
        values = convert_to_tensor(input_tensor, preferred_dtype=complex64)
        values.shape.with_rank_at_least(rank)
        lengths = _lengths(values, fft_length, rank, is_inverse=True)
        values = padded(values, lengths, rank, is_inverse=True)
        return call(op, scope, values, _known_or(lengths), Treal=values.dtype.base_dtype.real_dtype)


def _known_or(lengths: Tensor):
    """Returns the lengths themselves, if they are constant."""
    known = constant_value(lengths)
    return lengths if known is None else known


def _last_dims(values: Tensor, rank: int) -> list[int] | None:
    """Returns the last dimensions, if they are static."""
    known = dims(values)
    return None if known is None or any(size < 0 for size in known[-rank:]) else list(known[-rank:])


def _lengths(values: Tensor, given, rank: int, is_inverse: bool) -> Tensor:
    """Returns the lengths of the transform in the last dimensions, a vector."""
    if given is not None:
        return convert_to_tensor(given, int32)
    known = _last_dims(values, rank)
    if known is not None:
        last = max(0, 2 * (known[-1] - 1)) if is_inverse else known[-1]
        return convert_to_tensor(np.array([*known[:-1], last], np.int32))
    sizes = shape(values)[-rank:]
    if not is_inverse:
        return sizes
    *others, last = unstack(sizes)
    return stack([*others, maximum(0, 2 * (last - 1))])


def padded(values: Tensor, lengths: Tensor, rank: int, is_inverse: bool) -> Tensor:
    """Returns the numbers padded with zeros if they are fewer than the transform needs."""
    known, have, wanted = dims(values), _last_dims(values, rank), constant_value(lengths)
    if known is not None and 0 in known:
        return values
    if have is not None and wanted is not None:
        needed = [int(n) for n in np.reshape(wanted, [-1])]
        if is_inverse and needed:
            needed[-1] = needed[-1] // 2 + 1
        missing = [max(0, n - size) for n, size in zip(needed, have)]
        if not any(missing) or len(needed) != rank:
            return values
        return pad(values, [[0, 0]] * (len(known) - rank) + [[0, more] for more in missing])
    count = rank_of(values)
    sizes = shape(values)[-rank:]
    outer = zeros([maximum(0, count - rank)], lengths.dtype)
    if is_inverse:
        lengths = concat([lengths[:-1], lengths[-1:] // 2 + 1], 0)
    behind = concat([outer, maximum(0, lengths - sizes)], 0)
    return pad(values, stack([zeros_like(behind), behind], axis=1))
