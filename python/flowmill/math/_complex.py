"""Complex numbers and their parts."""

from __future__ import annotations

import numpy as np

from flowmill._internal.apply import call, op_scope
from flowmill._internal.array._creation import ones_like, zeros_like
from flowmill._internal.array._masks import where
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import elementwise, pairwise
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import complex64, complex128, float32, float64


@pairwise
def complex(real, imag, name: str | None = None) -> Tensor:  # noqa: A001 - TensorFlow's name
    """Complex numbers of their parts, both `float32` or both `float64`.

    Raises:
        TypeError: for parts of other types.
    """
    with op_scope(name, "Complex", real, imag) as scope:
        real, imag = convert_to_tensor(real, name="real"), convert_to_tensor(imag, name="imag")
        kinds = real.dtype.base_dtype, imag.dtype.base_dtype
        if kinds == (float64, float64):
            whole = complex128
        elif kinds == (float32, float32):
            whole = complex64
        else:
            raise TypeError(f"The `real` and `imag` components have incorrect types: {kinds[0].name} {kinds[1].name}. They must be consistent, and "
                            f"one of {[float32, float64]}")
        return call("Complex", scope, real, imag, Tout=whole)


@elementwise
def real(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the real part; real numbers as they are."""
    with op_scope(name, "Real", input) as scope:
        input = convert_to_tensor(input, name="input")  # noqa: A001
        return call("Real", scope, input, Tout=input.dtype.base_dtype.real_dtype) if input.dtype.is_complex else input


@elementwise
def imag(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the imaginary part; zeros for real numbers."""
    with op_scope(name, "Imag", input) as scope:
        input = convert_to_tensor(input, name="input")  # noqa: A001
        if input.dtype.is_complex:
            return call("Imag", scope, input, Tout=input.dtype.base_dtype.real_dtype)
        return zeros_like(input)


@elementwise
def angle(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the angle of complex numbers in radians; 0 or π for real ones."""
    with op_scope(name, "Angle", input) as scope:
        input = convert_to_tensor(input, name="input")  # noqa: A001
        if input.dtype.is_complex:
            return call("Angle", scope, input, Tout=input.dtype.base_dtype.real_dtype)
        return where(input < 0, np.pi * ones_like(input), zeros_like(input))


@elementwise
def conj(x, name: str | None = None) -> Tensor:
    """Returns the conjugate; real numbers as they are.

    Raises:
        TypeError: for what is not numeric.
    """
    if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with op_scope(name, "Conj", x) as scope:
        x = convert_to_tensor(x, name="x")
        kind = x.dtype.base_dtype
        if kind.is_complex or kind.name == "variant":
            return call("Conj", scope, x)
        if kind.is_floating or kind.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")
