"""Windows: what frames of a signal are multiplied by."""

from __future__ import annotations

import numpy as np

from flowmill._internal.apply import op_scope
from flowmill._internal.array import concat, ones
from flowmill._internal.control_flow import cond
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_util import constant_value
from flowmill.dtypes import as_dtype, bool as bool_, float32, int32
from flowmill.math import bessel_i0e, cast, cos, cumsum, equal, exp, pow as pow_, range as range_, sin, sqrt, square
from flowmill.nn import relu


def _checked_length(window_length, dtype, name: str | None = None) -> Tensor:
    """Returns the length of a window as a tensor.

    Raises:
        ValueError: for a type that is not a floating one, and a length that is no scalar.
    """
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    window_length = convert_to_tensor(window_length, int32, name)
    window_length.shape.assert_has_rank(0)
    return window_length


def _raised_cosine(name: str | None, default: str, window_length, periodic, dtype, a: float, b: float) -> Tensor:
    dtype = as_dtype(dtype)
    with op_scope(name, default, window_length, periodic):
        window_length = _checked_length(window_length, dtype, "window_length")
        known = constant_value(window_length)
        if known is not None and known == 1:
            return ones([1], dtype)
        periodic = cast(convert_to_tensor(periodic, bool_, "periodic"), int32)
        even = 1 - window_length % 2
        count = cast(window_length + periodic * even - 1, dtype)
        places = cast(range_(window_length), dtype)
        angles = constant(2 * np.pi, dtype) * places / count

        def window():
            return cast(a - b * cos(angles), dtype)

        if known is not None:
            return window()
        return cond(equal(window_length, 1), lambda: ones([window_length], dtype), window)


def hann_window(window_length, periodic=True, dtype=float32, name: str | None = None) -> Tensor:
    """Returns a window of the form of a raised cosine.

    Args:
        window_length: how many numbers, a scalar.
        periodic: leaves the last zero out if the length is even.
        dtype: the type of the numbers.
        name: the name of the scope.

    Raises:
        ValueError: for a type that is not a floating one.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(window_length, periodic=True, dtype=float32, name: str | None = None) -> Tensor:
    """Like :func:`hann_window`, with 0.08 at its ends."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def vorbis_window(window_length, dtype=float32, name: str | None = None) -> Tensor:
    """Returns the window of Vorbis, whose square and that of its shifted self add up to 1."""
    dtype = as_dtype(dtype)
    with op_scope(name, "vorbis_window"):
        window_length = _checked_length(window_length, dtype)
        places = cast(range_(window_length), dtype)
        sines = sin(np.pi / cast(window_length, dtype) * (places + 0.5))
        return sin(np.pi / 2.0 * pow_(sines, 2.0))


def kaiser_window(window_length, beta=12.0, dtype=float32, name: str | None = None) -> Tensor:
    """Returns the window of Kaiser; `beta` trades the width of the middle for what is beside it."""
    dtype = as_dtype(dtype)
    with op_scope(name, "kaiser_window"):
        window_length = _checked_length(window_length, dtype)
        if constant_value(window_length) == 1:
            return ones([1], dtype)
        half = (cast(window_length, float32) - 1.0) / 2.0
        # The limit is a little greater, so that rounding does not lose the last place.
        places = cast(range_(-half, half + 0.1, dtype=float32), dtype)
        beta, one = cast(beta, dtype), cast(1.0, dtype)
        half = cast(half, dtype)
        # Rounding must not make the ends negative.
        inside = beta * sqrt(relu(one - square(places / half)))
        # The scaled Bessel functions do not overflow; the exponential undoes their scales.
        return exp(inside - beta) * (bessel_i0e(inside) / bessel_i0e(beta))


def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=float32, name: str | None = None) -> Tensor:
    """Returns a window made of running sums of that of Kaiser, whose square and that of its shifted self add up to 1; of even length."""
    dtype = as_dtype(dtype)
    with op_scope(name, "kaiser_bessel_derived_window"):
        half = _checked_length(window_length, dtype) // 2
        sums = cumsum(kaiser_window(half + 1, beta, dtype=dtype))
        rising = sqrt(sums[:-1] / sums[-1])
        return concat([rising, rising[::-1]], axis=0)
