"""Strides, windows and padding as ops take them."""

from __future__ import annotations

import numpy as np
from collections.abc import Sized

from flowmill._internal.tensor import Tensor


def sizes(value, n: int, channel_index: int, name: str) -> list[int]:
    """One size for each dimension.

    Args:
        value: a number or a list of 1, `n` or ``n + 2`` of them; None for ones.
        n: the number of spatial dimensions.
        channel_index: where the channels are: 1, or after the spatial dimensions.
        name: what the argument is called.

    Raises:
        ValueError: for a list of another length.
    """
    if value is None:
        return [1] * (n + 2)
    listed = list(value) if isinstance(value, Sized) else [value]
    if len(listed) == n + 2:
        return listed
    if len(listed) == 1:
        listed = listed * n
    elif len(listed) != n:
        raise ValueError(f"{name} should be of length 1, {n} or {n + 2}. Received: {name}={value} of length {len(listed)}")
    return [1, 1, *listed] if channel_index == 1 else [1, *listed, 1]


def channels_at(data_format: str, n: int) -> int:
    """Returns the axis of the channels."""
    return 1 if data_format.startswith("NC") else n + 1


def padding_of(padding, expected_length: int = 4) -> tuple[str, list[int]]:
    """`padding` as ops take it: its kind, and if it is a list of pairs, their numbers.

    Raises:
        ValueError: for a list of another form.
    """
    if padding == "EXPLICIT":
        raise ValueError("'EXPLICIT' is not a valid value for `padding`. To use explicit padding, `padding` must be a list.")
    if not isinstance(padding, (list, tuple)):
        return padding, []
    for i, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ValueError(
                f"When `padding` is a list, each element of `padding` must be a list/tuple of size 2. Received: padding={padding} with element at "
                f"index {i} of {f'size {len(pair)}' if isinstance(pair, (list, tuple)) else f'type {type(pair)}'}")
    if len(padding) != expected_length:
        raise ValueError(f"When padding is a list, it must be of size {expected_length}. Received: padding={padding} of size {len(padding)}")
    return "EXPLICIT", [int(size) for pair in padding for size in pair]


def rank_of(value) -> int | None:
    """Returns the rank of a tensor or of an object that provides one; None if it is not known."""
    shape = getattr(value, "shape", None)
    if shape is None:
        return np.ndim(value)
    return value.shape.rank if isinstance(value, Tensor) else getattr(shape, "rank", len(shape) if isinstance(shape, tuple) else None)
