"""Integers as bits: ``tf.bitwise``."""

from __future__ import annotations

from flowmill._internal.apply import call
from flowmill._internal.dispatch import elementwise, pairwise
from flowmill._internal.tensor import Tensor


@pairwise
def bitwise_and(x, y, name: str | None = None) -> Tensor:
    """Returns the bits that both have."""
    return call("BitwiseAnd", name, x, y)


@pairwise
def bitwise_or(x, y, name: str | None = None) -> Tensor:
    """Returns the bits that one has."""
    return call("BitwiseOr", name, x, y)


@pairwise
def bitwise_xor(x, y, name: str | None = None) -> Tensor:
    """Returns the bits that one has and the other has not."""
    return call("BitwiseXor", name, x, y)


@elementwise
def invert(x, name: str | None = None) -> Tensor:
    """Returns the bits that a number does not have."""
    return call("Invert", name, x)


@pairwise
def left_shift(x, y, name: str | None = None) -> Tensor:
    """Bits moved up by `y` places."""
    return call("LeftShift", name, x, y)


@pairwise
def right_shift(x, y, name: str | None = None) -> Tensor:
    """Bits moved down by `y` places; numbers with a sign keep it."""
    return call("RightShift", name, x, y)
