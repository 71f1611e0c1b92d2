"""Fourier and cosine transforms along the last dimensions."""

from __future__ import annotations

import math

from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import concat, expand_dims, gather, pad, rank, roll, shape, where
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import int32
from flowmill.layers._base import smart_cond
from flowmill.math import cast, complex as complex_, exp, less, range as range_, real, rsqrt, sqrt
from flowmill.signal._real import irfft, rfft


def fft(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the discrete Fourier transform along the last dimension of complex numbers."""
    return call("FFT", name, input)


def ifft(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the inverse of :func:`fft`."""
    return call("IFFT", name, input)


def fft2d(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the discrete Fourier transform along the last two dimensions of complex numbers."""
    return call("FFT2D", name, input)


def ifft2d(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the inverse of :func:`fft2d`."""
    return call("IFFT2D", name, input)


def fft3d(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the discrete Fourier transform along the last three dimensions of complex numbers."""
    return call("FFT3D", name, input)


def ifft3d(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the inverse of :func:`fft3d`."""
    return call("IFFT3D", name, input)


def fftshift(x, axes=None, name: str | None = None) -> Tensor:
    """Returns a tensor with the first halves of dimensions, all by default, moved behind the others: zero frequency in the middle."""
    return _shifted(x, axes, name, "fftshift", lambda half: half)


def ifftshift(x, axes=None, name: str | None = None) -> Tensor:
    """Undoes :func:`fftshift`."""
    return _shifted(x, axes, name, "ifftshift", lambda half: -half)


def _shifted(x, axes, name, default: str, distance) -> Tensor:
    with op_scope(name, default) as scope:
        x = convert_to_tensor(x)
        if axes is None:
            return roll(x, distance(shape(x) // 2), tuple(range(x.shape.rank)), scope)
        if isinstance(axes, int):
            return roll(x, distance(shape(x)[axes] // 2), axes, scope)
        count = rank(x)
        axes = where(less(axes, 0), axes + count, axes)
        return roll(x, distance(gather(shape(x), axes) // 2), axes, scope)


def dct(input, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the discrete cosine transform along the last dimension.

    Args:
        input: `float32` or `float64`.
        type: 1, 2, 3 or 4.
        n: how many numbers count; with zeros behind them if there are fewer; all if it is None.
        axis: -1.
        norm: ``"ortho"`` makes the transform an orthogonal one; not for type 1.
        name: the name of the scope.

    Raises:
        ValueError: for other types, dimensions or norms.
    """
    _check_cosine(type, n, axis, norm)
    return _transformed(input, type, n, norm, name)


def idct(input, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the inverse of :func:`dct`, without a factor if there is no norm; the arguments are the same."""
    _check_cosine(type, n, axis, norm)
    return _transformed(input, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, norm, name)


def _check_cosine(kind, n, axis, norm) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError(f"n should be a positive integer or None. Got: {n}")
    if kind not in (1, 2, 3, 4):
        raise ValueError(f"Types I, II, III and IV (I)DCT are supported. Got: {kind}")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if kind == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")


def _transformed(values, kind: int, n, norm: str | None, name: str | None = None) -> Tensor:
    """Returns a cosine transform, whose arguments have been checked; `n` may be a scalar tensor."""
    with op_scope(name, "dct", values):
        values = convert_to_tensor(values)
        if kind == 1 and values.shape.rank and values.shape[-1].value in (0, 1):
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
        zero = convert_to_tensor(0.0, values.dtype)
        if n is not None:
            values = _cut(values, n)
        size = values.shape[-1].value or shape(values)[-1]
        number = cast(size, values.dtype)
        if kind == 1:
            return real(rfft(concat([values, values[..., -2:0:-1]], -1)))
        if kind == 2:
            turns = _turns(zero, -range_(number), number)
            result = real(rfft(values, fft_length=[2 * size])[..., :size] * turns)
            if norm == "ortho":
                first = 0.5 * rsqrt(number)
                result = result * _weights(first, first * math.sqrt(2.0), size)
            return result
        if kind == 3:
            if norm == "ortho":
                first = sqrt(number)
                values = values * _weights(first, first * math.sqrt(0.5), size)
            else:
                values = values * number
            turns = _turns(zero, range_(number), number)
            return real(irfft(turns * complex_(values, zero), fft_length=[2 * size]))[..., :size]
        # The fourth one is every other number of the second one of twice the size.
        result = _transformed(values, 2, 2 * size, None)[..., 1::2]
        return result * (math.sqrt(0.5) * rsqrt(number)) if norm == "ortho" else result


def _cut(values: Tensor, n) -> Tensor:
    """Returns the first `n` numbers of the last dimension, with zeros behind them if there are fewer."""
    size = values.shape[-1].value or shape(values)[-1]

    def filled():
        amounts = [[0, 0] for _ in range(values.shape.rank)]
        amounts[-1][1] = n - size
        return pad(values, convert_to_tensor(amounts, int32))

    return smart_cond(n <= size, lambda: values[..., 0:n], filled)


def _turns(zero: Tensor, places: Tensor, number: Tensor) -> Tensor:
    """Returns points of a circle of radius 2, at quarters of the circle divided by the number of points."""
    return 2.0 * exp(complex_(zero, places * math.pi * 0.5 / number))


def _weights(first: Tensor, others: Tensor, size) -> Tensor:
    return pad(expand_dims(first, 0), [[0, size - 1]], constant_values=others)
