"""Seeds of datasets, as tensors."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.random_seed import get_seed
from flowmill._internal.tensor import Tensor
from flowmill.data._base import INT64


def seeds_of(seed) -> tuple[Tensor, Tensor]:
    """Returns the two seeds of a dataset, int64 scalars; two zeros mean none.

    Args:
        seed: the seed that the user gave, an integer, a tensor or None; see :func:`flowmill.random_seed.get_seed`.
    """
    first, second = get_seed(seed)
    first = constant(0, INT64, name="seed") if first is None else convert_to_tensor(first, INT64, "seed")
    if second is None:
        return first, constant(0, INT64, name="seed2")
    with get_default_graph().name_scope("seed2") as scope:
        second = convert_to_tensor(second, INT64)
        both_zero = tf.logical_and(tf.equal(first, 0), tf.equal(second, 0))
        return first, tf.where_v2(both_zero, constant(2**31 - 1, INT64), second, name=scope)
