"""Functions that work element by element: on flat values, once all arguments have the same rows."""

from __future__ import annotations

from collections.abc import Callable

import flowmill as tf
from flowmill._internal import operators
from flowmill._internal.tensor import Tensor
from flowmill.ragged import _layout, _partition
from flowmill.ragged._tensor import RaggedTensor, is_ragged, to_ragged


def operated(name: str, x: RaggedTensor, *others) -> RaggedTensor:
    """Returns the result of one of Python's operators."""
    function = operators.operators()[name]
    if not others:
        return x.with_flat_values(function(x.flat_values))
    return applied(function, x, *others)


def of_values(function: Callable, x) -> RaggedTensor:
    """Returns a function's results for the flat values of a ragged tensor."""
    x = to_ragged(x)
    return x.with_flat_values(function(x.flat_values))


def applied(function: Callable, x, y):
    """Returns a function of two tensors, at least one of which is ragged; they are broadcast together. A check, which returns no tensor, is returned as it is.

    Raises:
        ValueError: if a rank is not known, or the shapes cannot be broadcast.
    """
    x, y = _converted(x, y)
    if _is_same_kind(x, y):
        like, y = same_rows([x, y])
        made = function(like.flat_values, y.flat_values)
    elif _depth(x) >= _depth(y):
        like = _with_rank(x, y.shape.rank)
        made = function(like.flat_values, _along(y, like))
    else:
        like = _with_rank(y, x.shape.rank)
        made = function(_along(x, like), like.flat_values)
    return like.with_flat_values(made) if isinstance(made, Tensor) else made


def values_along(x, like: RaggedTensor) -> Tensor:
    """Returns the elements of a tensor for each of the flat values of a ragged one that has at least its dimensions."""
    return same_rows([x, like])[0].flat_values if _is_same_kind(x, like) else _along(x, like)


def _depth(x) -> tuple[int, int]:
    if x.shape.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    return (x.ragged_rank if isinstance(x, RaggedTensor) else 0), x.shape.rank


def _is_same_kind(x, y) -> bool:
    """Returns true if both tensors are ragged in the same dimensions, none of which is known to have size 1 in one of them only."""
    if not isinstance(x, RaggedTensor) or not isinstance(y, RaggedTensor) or _depth(x) != _depth(y):
        return False
    outer = x.ragged_rank + 1
    return all((a == 1) == (b == 1) for a, b in zip(x.shape.as_list()[1:outer], y.shape.as_list()[1:outer]))


def _with_rank(x: RaggedTensor, rank: int) -> RaggedTensor:
    while x.shape.rank < rank:
        x = _layout.expanded(x, 0)
    return x


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
            raise ValueError(f"All ragged inputs must have the same ragged_rank. Inputs have ragged ranks {first.ragged_rank} and {other.ragged_rank}.")
        for a, b in zip(first.nested_row_splits, other.nested_row_splits):
            if a is not b:
                checks += [tf.assert_equal(a, b, message="Inputs must have identical ragged splits: their row partitions have incompatible values")]
    checks = [c for c in checks if c is not None]
    if not checks:
        return all_of
    with tf.control_dependencies(checks):
        return [first.with_flat_values(tf.identity(first.flat_values)), *others]


def _along(value: Tensor | RaggedTensor, like: RaggedTensor) -> Tensor:
    """Returns the elements of a tensor for each of the flat values of a ragged one; dimensions of size 1 are repeated."""
    flat = like.flat_values
    if flat.shape.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    if value.shape.rank < flat.shape.rank:  # elements alone are broadcast
        return value
    dtype = like.row_splits.dtype
    value = value.with_row_splits_dtype(dtype) if isinstance(value, RaggedTensor) else value
    while value.shape.rank < like.shape.rank:
        value = _layout.expanded(value, 0)
    checks = []
    rows = value.nrows() if isinstance(value, RaggedTensor) else _partition.size(value, dtype)
    place = _positions(tf.range(like.nrows()), rows, value.shape.as_list()[0], like.nrows()[tf.newaxis], checks)
    for splits in like.nested_row_splits:
        lengths, known = _partition.lengths_of(splits), value.shape.as_list()[1]
        rowids, within = _partition.rowids_of(splits), _partition.positions_in(splits)
        if isinstance(value, RaggedTensor):
            sizes, starts = tf.gather(value.row_lengths(), place), tf.gather(value.row_starts(), tf.gather(place, rowids))
            checks.append(_fits(known, sizes, lengths))
            place = starts + tf.minimum(within, tf.gather(sizes, rowids) - 1)
            value = value.values
        else:
            shape = tf.shape(value, out_type=dtype)
            within = _positions(within, shape[1], known, lengths, checks)
            place = tf.gather(place, rowids) * shape[1] + within
            value = tf.reshape(value, tf.concat([[-1], shape[2:]], 0))
    if isinstance(value, RaggedTensor):
        raise ValueError(f"Unable to broadcast: a tensor is ragged where the RaggedTensor of shape {like.shape} has elements")
    with tf.control_dependencies([c for c in checks if c is not None]):
        return tf.gather(value, place)


def _positions(places: Tensor, size: Tensor, known: int | None, lengths: Tensor, checks: list) -> Tensor:
    """Returns places along a dimension of one size for all rows, which are all 0 if that is 1."""
    checks.append(_fits(known, size, lengths))
    return tf.zeros_like(places) if known == 1 else tf.minimum(places, size - 1)


def _fits(known: int | None, size: Tensor, lengths: Tensor):
    """Checks that sizes are 1, or the lengths of rows."""
    if known == 1:
        return None
    fits = tf.reduce_all(tf.logical_or(tf.equal(size, 1), tf.equal(lengths, size)))
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
