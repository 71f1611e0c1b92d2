"""Checks of what linear operators are made of."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.tensor import Operation, Tensor
from flowmill.dtypes import as_dtype


def checked_type(dtype, allowed: tuple[str, ...] = ("float16", "float32", "float64", "complex64", "complex128")) -> None:
    """Raises TypeError for a type that operators cannot have."""
    if as_dtype(dtype).name not in allowed:
        raise TypeError(f"Argument matrix must have dtype in {list(allowed)}. Found: {as_dtype(dtype)}.")


def assert_real(tensor: Tensor, message: str) -> Operation:
    """Returns an operation that fails with a message if a number has an imaginary part."""
    if not tensor.dtype.is_complex:
        return tf.no_op()
    imaginary = tf.imag(tensor)
    return tf.assert_equal(imaginary, tf.zeros([], imaginary.dtype), message=message)
