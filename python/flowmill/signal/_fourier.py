"""Fourier and cosine transforms along the last dimensions."""

from __future__ import annotations

import math

from flowmill._apply import call, dims, op_scope
from flowmill._convert import convert_to_tensor
from flowmill.array import concat, pad, reverse, roll, shape
from flowmill.math import cast, complex as complex_, exp, range as range_, real, rsqrt, sqrt
from flowmill.signal._real import irfft, rfft
from flowmill.tensor import Tensor


def fft(input, name: str | None = None) -> Tensor:  # noqa: A002
    """The discrete Fourier transform along the last dimension of complex numbers."""
    return call("FFT", name, input)


def ifft(input, name: str | None = None) -> Tensor:  # noqa: A002
    """The inverse of :func:`fft`."""
    return call("IFFT", name, input)


def fft2d(input, name: str | None = None) -> Tensor:  # noqa: A002
    """The discrete Fourier transform along the last two dimensions of complex numbers."""
    return call("FFT2D", name, input)


def ifft2d(input, name: str | None = None) -> Tensor:  # noqa: A002
    """The inverse of :func:`fft2d`."""
    return call("IFFT2D", name, input)


def fft3d(input, name: str | None = None) -> Tensor:  # noqa: A002
    """The discrete Fourier transform along the last three dimensions of complex numbers."""
    return call("FFT3D", name, input)


def ifft3d(input, name: str | None = None) -> Tensor:  # noqa: A002
    """The inverse of :func:`fft3d`."""
    return call("IFFT3D", name, input)


def fftshift(x, axes=None, name: str | None = None) -> Tensor:
    """A tensor with the first halves of dimensions, all by default, moved behind the others: zero frequency in the middle."""
    return _shifted(x, axes, name, "fftshift", lambda size: size // 2)


def ifftshift(x, axes=None, name: str | None = None) -> Tensor:
    """What :func:`fftshift` does, undone."""
    return _shifted(x, axes, name, "ifftshift", lambda size: -(size // 2))


def _shifted(x, axes, name, default: str, by) -> Tensor:
    with op_scope(name, default) as scope:
        x = convert_to_tensor(x)
        sizes = shape(x)
        if axes is None:
            return roll(x, by(sizes), tuple(range(x.shape.rank)), scope)
        if isinstance(axes, int):
            return roll(x, by(sizes[axes]), axes, scope)
        from flowmill.array import gather

        return roll(x, by(gather(sizes, list(axes))), list(axes), scope)


def dct(input, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """The discrete cosine transform along the last dimension.

    Args:
        input: `float32` or `float64`.
        type: 1, 2, 3 or 4.
        n: how many numbers count; with zeros behind where there are less; all where it is None.
        axis: -1.
        norm: ``"ortho"`` makes the transform an orthogonal one; not for type 1.
        name: of the scope.

    Raises:
        ValueError: for other types, dimensions or norms.
    """
    _check_cosine(type, n, axis, norm)
    with op_scope(name, "dct", input):
        values = convert_to_tensor(input)
        return _cosine(_cut(values, n), type, norm)


def idct(input, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """The inverse of :func:`dct`, without a factor where there is no norm; the arguments are the same."""
    _check_cosine(type, n, axis, norm)
    with op_scope(name, "idct", input):
        values = convert_to_tensor(input)
        return _cosine(_cut(values, n), {1: 1, 2: 3, 3: 2, 4: 4}[type], norm)


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


def _cut(values: Tensor, n: int | None) -> Tensor:
    if n is None:
        return values
    known = dims(values)
    if known is None or known[-1] < 0:
        raise ValueError("The size of the last dimension must be known where n is given.")
    if known[-1] >= n:
        return values[..., :n]
    return pad(values, [[0, 0]] * (len(known) - 1) + [[0, n - known[-1]]])


def _cosine(values: Tensor, kind: int, norm: str | None) -> Tensor:
    known = dims(values)
    size = known[-1] if known is not None and known[-1] >= 0 else shape(values)[-1]
    number = cast(size, values.dtype)
    if kind == 1:
        return real(rfft(concat([values, reverse(values[..., 1:-1], [-1])], -1)))
    if kind == 2:
        return _second(values, size, number, norm)
    if kind == 3:
        return _third(values, size, number, norm)
    # The fourth one is every other number of the second one of twice the size.
    whole = _second(values, 2 * size, number * 2.0, None)[..., 1::2]
    return whole * (math.sqrt(0.5) * rsqrt(number)) if norm == "ortho" else whole


def _turns(size, number: Tensor, dtype, sign: float) -> Tensor:
    """Points of the unit circle, at quarters of the circle divided by the size."""
    angle = cast(range_(size), dtype) * (sign * math.pi * 0.5) / number
    return exp(complex_(angle * 0.0, angle))


def _second(values: Tensor, size, number: Tensor, norm: str | None) -> Tensor:
    kind = values.dtype.base_dtype
    spectrum = rfft(values, fft_length=[2 * size])[..., :size]
    result = 2.0 * real(spectrum * _turns(size, number, kind, -1.0))
    if norm != "ortho":
        return result
    first, others = 0.5 * rsqrt(number), 0.5 * rsqrt(number) * math.sqrt(2.0)
    return concat([result[..., :1] * first, result[..., 1:] * others], -1)


def _third(values: Tensor, size, number: Tensor, norm: str | None) -> Tensor:
    kind = values.dtype.base_dtype
    if norm == "ortho":
        first, others = sqrt(number), sqrt(number) * math.sqrt(0.5)
        values = concat([values[..., :1] * first, values[..., 1:] * others], -1)
    else:
        values = values * number
    turned = complex_(values, values * 0.0) * _turns(size, number, kind, 1.0) * 2.0
    return irfft(turned, fft_length=[2 * size])[..., :size]
