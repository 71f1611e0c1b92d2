"""Functions that work element by element: on flat values, once all arguments have the same rows."""

from __future__ import annotations

from collections.abc import Callable

import flowmill as tf
from flowmill._internal import operators
from flowmill._internal.tensor import Tensor
from flowmill.ragged import _partition
from flowmill.ragged._tensor import RaggedTensor, is_ragged, to_ragged


def operated(name: str, x: RaggedTensor, *others) -> RaggedTensor:
    """Returns the result of one of Python's operators."""
    function = operators.operators()[name]
    if not others:
        return x.with_flat_values(function(x.flat_values))
    return applied(function, x, *others)


def applied(function: Callable, x, y) -> RaggedTensor:
    """Returns a function of two tensors, at least one of which is ragged; they are broadcast together.

    Raises:
        ValueError: if both are ragged in different numbers of dimensions.
    """
    x, y = _converted(x, y)
    if not isinstance(x, RaggedTensor):
        return y.with_flat_values(function(_along(x, y), y.flat_values))
    if not isinstance(y, RaggedTensor):
        return x.with_flat_values(function(x.flat_values, _along(y, x)))
    x, y = same_rows([x, y])
    return x.with_flat_values(function(x.flat_values, y.flat_values))


def _converted(x, y) -> tuple:
    if is_ragged(x):
        x = to_ragged(x)
        return x, to_ragged(y, None if is_ragged(y) or isinstance(y, Tensor) else x.dtype)
    y = to_ragged(y)
    return to_ragged(x, None if isinstance(x, Tensor) else y.dtype), y


def same_rows(all_of: list[RaggedTensor]) -> list[RaggedTensor]:
    """Returns the ragged tensors; the first depends on a check that all have the same rows, which every step runs.

    Raises:
        ValueError: if they are ragged in different numbers of dimensions.
    """
    first, *others = all_of
    if any(r.row_splits.dtype is not first.row_splits.dtype for r in others):
        first, *others = all_of = [r.with_row_splits_dtype(tf.int64) for r in all_of]
    checks = []
    for other in others:
        if other.ragged_rank != first.ragged_rank:
            raise ValueError(f"Inputs must have identical ragged splits: their ragged ranks are {first.ragged_rank} and {other.ragged_rank}.")
        for a, b in zip(first.nested_row_splits, other.nested_row_splits):
            if a is not b:
                checks += [tf.assert_equal(a, b, message="Inputs must have identical ragged splits")]
    checks = [c for c in checks if c is not None]
    if not checks:
        return all_of
    with tf.control_dependencies(checks):
        return [first.with_flat_values(tf.identity(first.flat_values)), *others]


def _along(dense: Tensor, ragged: RaggedTensor) -> Tensor:
    """Returns a tensor's elements for each of the flat values of a ragged one."""
    flat = ragged.flat_values
    if dense.shape.rank is None or flat.shape.rank is None:
        raise ValueError("Broadcasting with a RaggedTensor needs tensors of known rank.")
    rank, outer = ragged.ragged_rank + flat.shape.rank, ragged.ragged_rank + 1
    if dense.shape.rank < flat.shape.rank:  # elements alone are broadcast
        return dense
    if dense.shape.rank > rank:
        raise ValueError(f"Cannot broadcast a tensor of shape {dense.shape} to the RaggedTensor's shape {ragged.shape}.")
    dtype = ragged.row_splits.dtype
    sizes = tf.shape(dense, out_type=dtype)
    before = rank - dense.shape.rank
    sizes = tf.concat([tf.ones([before], dtype), sizes], 0)
    known = [1] * before + dense.shape.as_list()
    dense = tf.reshape(dense, sizes)
    places = [tf.range(ragged.nrows())]
    checks = [_fits(known[0], sizes[0], ragged.nrows()[tf.newaxis])]
    for axis, splits in enumerate(ragged.nested_row_splits, 1):
        rowids = _partition.rowids_of(splits)
        places = [tf.gather(place, rowids) for place in places] + [_partition.positions_in(splits)]
        checks.append(_fits(known[axis], sizes[axis], _partition.lengths_of(splits)))
    places = [tf.minimum(place, sizes[axis] - 1) for axis, place in enumerate(places)]
    with tf.control_dependencies([c for c in checks if c is not None]):
        return tf.gather_nd(dense, tf.stack(places[:outer], axis=1))


def _fits(known: int | None, size: Tensor, lengths: Tensor):
    """Checks that a size is 1, or the length of every row."""
    if known == 1:
        return None
    fits = tf.logical_or(tf.equal(size, 1), tf.reduce_all(tf.equal(lengths, size)))
    return tf.Assert(fits, ["Unable to broadcast: dimension size mismatch in dimension", size, lengths])


def map_values(op: Callable, args: tuple, kwargs: dict) -> RaggedTensor | Tensor:
    """Calls a function with the flat values of ragged arguments, also within lists."""
    found: list[RaggedTensor] = []

    def collected(value):
        if is_ragged(value):
            found.append(to_ragged(value))
        elif isinstance(value, (list, tuple)):
            for part in value:
                collected(part)

    for value in (*args, *kwargs.values()):
        collected(value)
    if not found:
        return op(*args, **kwargs)
    rows = iter(same_rows(found))
    like = None

    def replaced(value):
        nonlocal like
        if is_ragged(value):
            taken = next(rows)
            like = taken if like is None else like
            return taken.flat_values
        return type(value)(map(replaced, value)) if type(value) in (list, tuple) else value

    made = op(*(replaced(a) for a in args), **{k: replaced(v) for k, v in kwargs.items()})
    made = to_ragged(made)
    if made.shape.rank == 0 or (made.shape.rank and not made.shape[:1].is_compatible_with(like.flat_values.shape[:1])):
        raise ValueError("tf.ragged.map_flat_values requires that the output of `op` have the same outer-dimension size as flat_values of any ragged "
                         f"inputs. (output shape: {made.shape}; expected outer dimension size: {like.flat_values.shape[:1]})")
    return like.with_flat_values(made)
