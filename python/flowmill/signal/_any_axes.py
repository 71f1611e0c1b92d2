"""Fourier transforms along any dimensions."""

from __future__ import annotations

import math

import numpy as np

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.array import shape
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_util import constant_value
from flowmill.dtypes import complex64, complex128, float32, float64, int32
from flowmill.signal._real import padded


def fftnd(input_tensor, fft_length=None, axes=None, norm: str | None = None, name: str | None = None) -> Tensor:
    """Returns the discrete Fourier transform of complex numbers along dimensions.

    Args:
        input_tensor: complex numbers.
        fft_length: how many numbers count in each of these dimensions, with zeros behind them if there are fewer; a number for every dimension of
            the tensor if it is None.
        axes: the dimensions, all if it is None.
        norm: what is divided by the product of the lengths: nothing (``"backward"``, None), the result (``"forward"``), or both directions by
            its root (``"ortho"``). The lengths have to be constant for the latter two.
        name: the name of the scope.
    """
    return _transform("FFTND", "fftnd", input_tensor, fft_length, axes, norm, name)


def ifftnd(input_tensor, fft_length=None, axes=None, norm: str | None = None, name: str | None = None) -> Tensor:
    """Returns the inverse of :func:`fftnd`, whose arguments it has."""
    return _transform("IFFTND", "ifftnd", input_tensor, fft_length, axes, norm, name)


def rfftnd(input_tensor, fft_length=None, axes=None, norm: str | None = None, name: str | None = None) -> Tensor:
    """Returns the discrete Fourier transform of real numbers along dimensions, without the half of the last one that mirrors the other; as :func:`fftnd`.

    Raises:
        ValueError: for other numbers than float32 and float64.
    """
    return _transform("RFFTND", "rfftnd", input_tensor, fft_length, axes, norm, name)


def irfftnd(input_tensor, fft_length=None, axes=None, norm: str | None = None, name: str | None = None) -> Tensor:
    """Returns the inverse of :func:`rfftnd`: real numbers, in the last dimension twice one less than there are complex ones if `fft_length` is None.

    Raises:
        ValueError: for numbers that are not complex.
    """
    return _transform("IRFFTND", "irfftnd", input_tensor, fft_length, axes, norm, name)


def fftnd_op(input, fft_length, axes, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the discrete Fourier transform of complex numbers along the dimensions `axes`, of `fft_length` numbers in each."""
    return call("FFTND", name, input, fft_length, axes)


def ifftnd_op(input, fft_length, axes, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the inverse of :func:`fftnd`."""
    return call("IFFTND", name, input, fft_length, axes)


def rfftnd_op(input, fft_length, axes, Tcomplex=complex64, name: str | None = None) -> Tensor:  # noqa: A002, N803
    """Returns the discrete Fourier transform of real numbers along the dimensions `axes`, without the half of the last one that mirrors the other."""
    return call("RFFTND", name, input, fft_length, axes, Tcomplex=Tcomplex)


def irfftnd_op(input, fft_length, axes, Treal=float32, name: str | None = None) -> Tensor:  # noqa: A002, N803
    """Returns the inverse of :func:`rfftnd`: real numbers, `fft_length` in each of the dimensions `axes`."""
    return call("IRFFTND", name, input, fft_length, axes, Treal=Treal)


def _transform(op: str, default_name: str, values, fft_length, axes, norm: str | None, name: str | None) -> Tensor:
    is_inverse, is_real = "I" in op, "R" in op
    with op_scope(name, default_name, values, fft_length, axes) as scope:
        if axes is None:
            values = convert_to_tensor(values, preferred_dtype=float32 if op == "RFFTND" else complex64)
            axes = convert_to_tensor(np.arange(len(values.shape)), int32)
        else:
            axes = convert_to_tensor(axes, int32)
        count = axes.shape.as_list()[0]
        values = convert_to_tensor(values, preferred_dtype=float32 if op == "RFFTND" else complex64)
        attrs = _types(op, values) if is_real else {}
        values.shape.with_rank_at_least(count)
        known = None
        if fft_length is None and not (is_real and is_inverse):
            fft_length = shape(values)[-len(values.shape):]
        else:
            fft_length = _real_lengths(values) if fft_length is None else convert_to_tensor(fft_length, int32)
            known = constant_value(fft_length)
        rank = count if known is None else len(known)
        values = padded(values, fft_length, rank, is_inverse=is_real and is_inverse)
        lengths = fft_length if known is None else known
        if norm in ("forward", "ortho"):
            total = math.prod(int(length) for length in lengths)
            factor = total if norm == "forward" else np.sqrt(total)
            values = values * factor if is_inverse else values / factor
        return call(op, scope, values, lengths, axes, **attrs)


def _types(op: str, values: Tensor) -> dict:
    """Returns the type of the other numbers."""
    dtype = values.dtype.base_dtype
    if op == "RFFTND":
        if dtype not in (float32, float64):
            raise ValueError(f"RFFT requires tf.float32 or tf.float64 inputs, got: {values}")
        return {"Tcomplex": complex64 if dtype is float32 else complex128}
    if dtype not in (complex64, complex128):
        raise ValueError(f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {values}")
    return {"Treal": dtype.real_dtype}


def _real_lengths(values: Tensor) -> Tensor:
    """Returns the sizes of all dimensions, in the last one that of the real numbers."""
    sizes = list(dims(values) or [])
    if not sizes or sizes[-1] < 0:
        raise TypeError("unsupported operand type(s) for -: 'NoneType' and 'int'")
    sizes[-1] = max(0, 2 * (sizes[-1] - 1))
    return convert_to_tensor(sizes, int32)
