"""Values kept within bounds, tensors within norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import identity, ones_like, rank, size, stack, where
from flowmill._internal.convert import constant, convert_to_tensor, convert_to_tensor_or_indexed_slices
from flowmill._internal.dispatch import elementwise
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import float32
from flowmill.math import cast, maximum, minimum, range as range_, reduce_sum, rsqrt, sqrt


def _values(t):
    """Returns the tensor of a norm: the tensor itself, or the values of IndexedSlices."""
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")


def _like(t, values):
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


@elementwise
def clip_by_value(t, clip_value_min, clip_value_max, name: str | None = None) -> Tensor:
    """Returns a tensor, or IndexedSlices, with what is out of bounds set to the bound.

    Args:
        t: the tensor.
        clip_value_min: the lower bound, a scalar or something that is broadcast to the shape.
        clip_value_max: the upper bound.
        name: the name of the operation.

    Raises:
        ValueError: if a bound has more dimensions or sizes than the tensor.
    """
    with op_scope(name, "clip_by_value", t, clip_value_min, clip_value_max) as scope:
        values = _values(t)
        below = minimum(values, clip_value_max)
        values.shape.assert_is_compatible_with(below.shape)
        clipped = call("Maximum", scope, below, clip_value_min)
        values.shape.assert_is_compatible_with(clipped.shape)
        return _like(t, clipped)


def clip_by_norm(t, clip_norm, axes=None, name: str | None = None) -> Tensor | IndexedSlices:
    """Returns a tensor, or IndexedSlices, made smaller if its Euclidean norm is larger than a bound.

    Args:
        t: the tensor.
        clip_norm: the bound; a negative one counts as zero.
        axes: the dimensions that a norm is of; all if it is None.
        name: the name of the operation.
    """
    with op_scope(name, "clip_by_norm", t, clip_norm) as scope:
        values = _values(t)
        clip_norm = max(clip_norm, 0) if np.isscalar(clip_norm) else cast(maximum(clip_norm, 0), values.dtype)
        squares = reduce_sum(values * values, axes, keepdims=True)
        # The gradient of a root at 0 is infinite: the root of 1 replaces that of 0.
        positive = squares > 0
        norm = where(positive, sqrt(where(positive, squares, ones_like(squares))), squares)
        scaled = values * clip_norm
        values.shape.assert_is_compatible_with(scaled.shape)
        clipped = identity(scaled / maximum(norm, clip_norm), scope)
        return _like(t, clipped)


def clip_by_average_norm(t, clip_norm, name: str | None = None) -> Tensor:
    """Returns a tensor made smaller if its Euclidean norm, divided by the number of its elements, is larger than a bound."""
    with op_scope(name, "clip_by_average_norm", t, clip_norm) as scope:
        t = convert_to_tensor(t, name="t")
        count = cast(size(t), float32)
        inverse = rsqrt(reduce_sum(t * t, range_(rank(t))))
        return identity(t * clip_norm * minimum(inverse * count, constant(1.0) / clip_norm), scope)


def global_norm(t_list, name: str | None = None) -> Tensor:
    """Returns the Euclidean norm of the elements of several tensors together.

    Args:
        t_list: tensors, IndexedSlices, and None, which does not count.
        name: the name of the scope.

    Raises:
        TypeError: if it is no list.
    """
    t_list = _sequence(t_list)
    with op_scope(name, "global_norm", t_list):
        halves = []
        for i, t in enumerate(t_list):
            if t is None:
                continue
            values = t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t, name=f"t_{i}")
            with values.graph.colocate_with(values):
                halves.append(call("L2Loss", None, values))
        total = reduce_sum(stack(halves))
        return sqrt(total * constant(2.0, total.dtype), name="global_norm")


def _sequence(t_list) -> list:
    if isinstance(t_list, (Tensor, str, dict)) or not hasattr(t_list, "__iter__"):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return list(t_list)


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name: str | None = None) -> tuple[list[Any], Tensor]:
    """Tensors made smaller by one factor if their norm together is larger than a bound.

    Args:
        t_list: tensors, IndexedSlices, and None, which stays.
        clip_norm: the bound, a scalar.
        use_norm: the norm, if it is known already.
        name: the name of the scope.

    Returns:
        A list of the tensors, and the norm before.

    Raises:
        TypeError: if `t_list` is no list.
    """
    t_list = _sequence(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with op_scope(name, "clip_by_global_norm", t_list, clip_norm) as scope:
        # A norm that is not finite makes the factor, and so all results, not a number.
        factor = clip_norm * minimum(1.0 / use_norm, constant(1.0, use_norm.dtype) / clip_norm)
        factor = factor + (use_norm - use_norm)
        clipped = []
        for i, t in enumerate(t_list):
            if t is None:
                clipped.append(None)
                continue
            t = convert_to_tensor_or_indexed_slices(t, name=f"t_{i}")
            values = _values(t)
            with values.graph.colocate_with(values):
                clipped.append(_like(t, identity(values * cast(factor, values.dtype.base_dtype), f"{scope}_{i}")))
        return clipped, use_norm
