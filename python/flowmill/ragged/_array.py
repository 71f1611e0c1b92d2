"""Functions of :mod:`flowmill` that rearrange tensors, for ragged tensors."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.arguments import one_of
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype
from flowmill.ragged import _layout, _partition
from flowmill.ragged._tensor import RaggedTensor, _axis, to_ragged


def size(input, name: str | None = None, out_type=None) -> Tensor:  # noqa: A002
    """Returns the number of elements."""
    return tf.size(to_ragged(input).flat_values, name, out_type)


def rank(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the number of dimensions."""
    with op_scope(name, "RaggedRank"):
        ragged = to_ragged(input)
        return ragged.ragged_rank + tf.rank(ragged.flat_values)


def expand_dims(input, axis=None, name: str | None = None, dim=None) -> RaggedTensor:  # noqa: A002
    """Returns a ragged tensor with a dimension of size 1 put in.

    Raises:
        ValueError: if no axis is given, or there is none of that number.
    """
    axis = one_of("dim", dim, "axis", axis)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    with op_scope(name, "RaggedExpandDims"):
        return _layout.expanded(to_ragged(input), axis)


def concat(values, axis, name: str | None = None) -> RaggedTensor:
    """Returns tensors, some of them ragged, one after another along a dimension."""
    with op_scope(name, "RaggedConcat"):
        return _layout.concat(list(values) if isinstance(values, (list, tuple)) else [values], axis)


def stack(values, axis: int = 0, name: str | None = None) -> Tensor | RaggedTensor:
    """Returns tensors, some of them ragged, side by side along a new dimension."""
    with op_scope(name, "RaggedStack"):
        return _layout.stacked(list(values) if isinstance(values, (list, tuple)) else [values], axis)


def squeeze(input, axis=None, name: str | None = None, squeeze_dims=None) -> Tensor | RaggedTensor:  # noqa: A002
    """Returns a ragged tensor without some dimensions of size 1, which each step checks.

    Raises:
        ValueError: if no axis is given, or there is none of that number.
        TypeError: for an axis that is no integer.
    """
    axis = one_of("squeeze_dims", squeeze_dims, "axis", axis)
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    axes = [axis] if isinstance(axis, int) else axis
    if not isinstance(axes, (list, tuple)) or not all(isinstance(a, int) for a in axes):
        raise TypeError("Axis must be a list or tuple of integers.")
    with op_scope(name, "RaggedSqueeze"):
        value = to_ragged(input)
        known = value.shape.rank
        axes = [_axis(a, known, f"axis[{i}]") for i, a in enumerate(axes)]
        for a in sorted(axes, reverse=True):
            value = _squeezed(value, a, a)
        return value


def _squeezed(value, axis: int, named: int):
    if not isinstance(value, RaggedTensor):
        return tf.squeeze(value, [axis])
    if axis > 1:
        return value.with_values(_squeezed(value.values, axis - 1, named))
    fits = tf.equal(value.nrows(), 1) if axis == 0 else tf.reduce_all(tf.equal(value.row_lengths(), 1))
    with tf.control_dependencies([tf.Assert(fits, [f"the given axis (axis = {named}) is not squeezable!"])]):
        inner = value.values
        return inner.with_flat_values(tf.identity(inner.flat_values)) if isinstance(inner, RaggedTensor) else tf.identity(inner)


def tile(input, multiples, name: str | None = None) -> RaggedTensor:  # noqa: A002
    """Returns a ragged tensor repeated along each dimension."""
    with op_scope(name, "RaggedTile"):
        value = to_ragged(input)
        multiples = tf.cast(_partition.numbers(multiples, "multiples"), value.row_splits.dtype)
        multiples.shape.assert_has_rank(1)
        return _tiled(value, multiples)


def _tiled(value, multiples: Tensor):
    if not isinstance(value, RaggedTensor):
        return tf.tile(value, multiples)
    known = tf.get_static_value(multiples)
    inner = _tiled(value.values, tf.concat([tf.ones([1], multiples.dtype), multiples[2:]], 0))
    splits = value.row_splits
    if known is None or known[1] != 1:
        starts, limits = tf.repeat(splits[:-1], multiples[1]), tf.repeat(splits[1:], multiples[1])
        inner, splits = _layout.gather(inner, _partition.ranges(starts, limits)[1]), splits * multiples[1]
    made = RaggedTensor(inner, splits)
    return made if known is not None and known[0] == 1 else _layout.gather(made, tf.tile(tf.range(made.nrows()), multiples[:1]))


def reverse(tensor, axis, name: str | None = None) -> RaggedTensor:
    """Returns a ragged tensor with some dimensions in the opposite order.

    Raises:
        TypeError: if the dimensions are not known.
    """
    axes = tf.get_static_value(axis) if isinstance(axis, Tensor) else axis
    if axes is None or not isinstance(axis, Tensor) and not (isinstance(axis, (list, tuple)) and all(isinstance(a, int) for a in axis)):
        raise TypeError("`axis` must be a list of int or a constant tensor when reversing axes in a ragged tensor")
    with op_scope(name, "Reverse"):
        value = to_ragged(tensor)
        axes = [_axis(int(a), value.shape.rank, f"axis[{i}]") for i, a in enumerate(axes)]
        keys = [slice(None, None, -1) if a in axes else slice(None) for a in range(max(axes, default=-1) + 1)]
        return value[tuple(keys)]


def split(value, num_or_size_splits, axis=0, num: int | None = None, name: str | None = None) -> list:
    """Returns the parts of a ragged tensor along a dimension that is not ragged.

    Raises:
        ValueError: for a ragged dimension, or a number of parts that is not known.
        TypeError: for sizes that are no vector.
    """
    with op_scope(name, "RaggedSplit"):
        value = to_ragged(value)
        if isinstance(num_or_size_splits, int) and num_or_size_splits == 1:
            return [value]
        axis = _axis(axis, value.shape.rank)
        total = _size_along(value, axis)
        if isinstance(num_or_size_splits, int):
            if num_or_size_splits < 1:
                raise ValueError(f"`num_or_size_splits` must be >=1 if it is an `int`. Received {num_or_size_splits}.")
            num, sizes = num_or_size_splits, tf.repeat(total // num_or_size_splits, num_or_size_splits)
        else:
            sizes = tf.convert_to_tensor(num_or_size_splits)
            tf.debugging.assert_integer(sizes, message="`num_or_size_splits` must be an `int` or 1-D list or `Tensor` of integers.")
            num = _number_of_parts(sizes, num_or_size_splits, num)
        ends = _partition.splits_of(sizes)
        ends = _partition.checked(ends, [
            tf.debugging.assert_non_negative(sizes, message="`num_or_size_splits` must be non-negative."),
            tf.debugging.assert_equal(num, tf.shape(sizes)[0], message="`num` is inconsistent with `num_or_size_split.shape[0]`."),
            tf.debugging.assert_equal(tf.cast(total, ends.dtype), ends[-1], message="Cannot exactly split the `axis` dimension of `value` with the given "
                                      "`num_or_size_split`.")])
        return [value[(slice(None),) * axis + (slice(ends[i], ends[i + 1]),)] for i in range(num)]


def _number_of_parts(sizes: Tensor, given, num: int | None) -> int:
    known = None
    if sizes.shape.rank is not None:
        if sizes.shape.rank != 1:
            raise TypeError(f"`num_or_size_splits` must be an `int` or 1-D list or `Tensor`. Received {given}.")
        known = sizes.shape.as_list()[0]
    if known is None:
        if num is None:
            raise ValueError(f"`num` must be specified as an `int` when the size of `num_or_size_split` is statically unknown. Received `num`: {num} "
                             f"and `num_or_size_split`: {given}.")
        return num
    if num is not None and num != known:
        raise ValueError(f"`num` does not match the size of `num_or_size_split`. Received `num`: {num} and size of `num_or_size_split`: {known}.")
    return known


def _size_along(value: RaggedTensor, axis: int) -> Tensor:
    """Returns the size of a dimension that is not ragged."""
    if axis == 0:
        return value.nrows()
    if axis > value.ragged_rank:
        return tf.shape(value.flat_values, out_type=value.row_splits.dtype)[axis - value.ragged_rank]
    known = value.shape.as_list()[axis]
    if known is None:
        raise ValueError(f"Cannot split a ragged dimension. Got `value` with shape {value.shape} and `axis` {axis}.")
    return tf.constant(known, value.row_splits.dtype)


def one_hot(indices, depth, on_value=None, off_value=None, axis: int | None = None, dtype=None, name: str | None = None) -> RaggedTensor:
    """Returns a vector for each of the indices, whose dimension comes after the ragged ones.

    Raises:
        ValueError: if `axis` is one of the ragged dimensions.
    """
    indices = to_ragged(indices)
    if isinstance(axis, int) and axis >= 0:
        if axis <= indices.ragged_rank:
            raise ValueError(f"axis ({axis}) must be greater than indices.ragged_rank ({indices.ragged_rank}).")
        axis -= indices.ragged_rank
    with op_scope(name, "RaggedOneHot"):
        return indices.with_flat_values(tf.one_hot(indices.flat_values, depth, on_value, off_value, axis, dtype))


def bitcast(input, type, name: str | None = None) -> RaggedTensor:  # noqa: A002
    """Returns the bits of the elements as another type.

    Raises:
        ValueError: if elements would have to be joined along a ragged dimension.
    """
    value, wanted = to_ragged(input), as_dtype(type)
    if value.dtype.size < wanted.size and value.flat_values.shape.rank < 2:
        raise ValueError("`input.flat_values` is required to have rank >= 2 when input.dtype.size < type.size. Actual rank: "
                         f"{value.flat_values.shape.rank}")
    with op_scope(name, "Bitcast"):
        return value.with_flat_values(tf.bitcast(value.flat_values, wanted))


def dynamic_partition(data, partitions, num_partitions: int, name: str | None = None) -> list:
    """Returns the rows of each partition.

    Raises:
        TypeError: if the number of partitions is no integer.
    """
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise TypeError("num_partitions must be a non-negative integer")
    made = tf.ragged.stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [made[i] for i in range(num_partitions)]


def assert_type(tensor, tf_type, message: str | None = None, name: str | None = None):
    """Raises an error if the elements have another type, as :func:`flowmill.debugging.assert_type` does."""
    return tf.debugging.assert_type(to_ragged(tensor).flat_values, tf_type, message, name)
