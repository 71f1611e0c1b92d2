"""The largest elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowmill._internal.apply import call
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import int32
from flowmill.nn._scope import scope

if TYPE_CHECKING:
    from flowmill.raw_ops import _TopKV2


def top_k(input, k=1, sorted: bool = True, index_type=int32, name: str | None = None) -> _TopKV2:  # noqa: A002 - TensorFlow's names
    """Returns the `k` largest elements along the last dimension.

    Args:
        input: of at least one dimension.
        k: how many, a scalar; no more than that dimension is long.
        sorted: whether the largest is first.
        index_type: the type of the indices.
        name: the name of the operation.

    Returns:
        A named tuple of `values` and their `indices`.
    """
    return call("TopKV2", name, input, k, sorted=sorted, index_type=index_type)


def nth_element(input, n, reverse: bool = False, name: str | None = None) -> Tensor:  # noqa: A002 - TensorFlow's names
    """Returns the element of rank `n` along the last dimension, counted from the smallest, or from the largest with `reverse`."""
    return call("NthElement", name, input, n, reverse=reverse)


def in_top_k(predictions, targets, k, name: str | None = None) -> Tensor:
    """Returns true for each row whose target's prediction is among the `k` largest.

    Args:
        predictions: `float32`, ``[batch, classes]``.
        targets: a class for each row, ``[batch]``.
        k: how many count.
        name: the name of the operation.
    """
    with scope(None, "in_top_k"):
        return call("InTopKV2", name, predictions, targets, k)
