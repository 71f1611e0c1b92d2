"""Places in tensors: gathered, scattered, chosen by conditions and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowmill._internal.apply import call, op_scope
from flowmill._internal.array._creation import ones, rank, reshape, shape, shape_internal, zeros
from flowmill._internal.array._layout import concat, expand_dims, squeeze, stack, tile, transpose
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.dispatch import by_rows
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import as_dtype, bool as bool_, float32, int32

if TYPE_CHECKING:
    from flowmill.raw_ops import _ListDiff, _Unique, _UniqueWithCounts


@by_rows("_places.gather")
def gather(params, indices, validate_indices=None, name: str | None = None, axis=None, batch_dims: int = 0) -> Tensor:
    """Parts of a tensor along a dimension.

    Args:
        params: the tensor, or a variable.
        indices: which parts, integers of any shape; that shape replaces the dimension.
        validate_indices: not used: indices out of range are errors.
        name: the name of the operation.
        axis: the dimension, that after the first `batch_dims` by default.
        batch_dims: how many leading dimensions `params` and `indices` have in common.
    """
    if axis is None:
        axis = batch_dims
    if isinstance(axis, Tensor) or axis != 0 or batch_dims:
        return call("GatherV2", name, params, indices, axis, batch_dims=batch_dims)
    sparse_read = getattr(params, "sparse_read", None)
    if sparse_read is not None:
        return sparse_read(indices, name=name)
    return call("GatherV2", name, params, indices, axis)


@by_rows("_places.gather_nd")
def gather_nd(params, indices, name: str | None = None, batch_dims: int = 0, bad_indices_policy: str = "") -> Tensor:
    """Parts of a tensor, each by several indices: those along the first dimensions, in the last dimension of `indices`.

    Args:
        params: the tensor, or a variable.
        indices: integers of shape ``[..., k]``, where `k` is at most the rank of `params`.
        name: the name of the operation.
        batch_dims: how many leading dimensions `params` and `indices` have in common.
        bad_indices_policy: what happens for indices out of range: an error (``""`` or ``"ERROR"``), or zeros (``"IGNORE"``).
    """
    if not batch_dims:
        read = getattr(params, "gather_nd", None)
        if read is not None and bad_indices_policy in ("", "DEFAULT"):
            return read(indices, name=name)
        return call("GatherNd", name, params, indices, bad_indices_policy=bad_indices_policy or None)
    with op_scope(name, "BatchGatherND", params, indices):
        indices = convert_to_tensor(indices, name="indices")
        return _batched_gather_nd(convert_to_tensor(params, name="params"), indices, batch_dims)


def _batched_gather_nd(params: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    if batch_dims < 0:
        raise ValueError("tf.gather_nd does not allow negative batch_dims.")
    if indices.shape.rank is not None and batch_dims >= indices.shape.rank:
        raise ValueError(f"batch_dims = {batch_dims} must be less than rank(`indices`) = {indices.shape.rank}")
    from flowmill.math import cast, range as range_  # cycle: math imports this package

    # The places within the batch come before the indices.
    found_shape = shape(indices)
    before = found_shape[:batch_dims]
    batch = [cast(range_(before[i]), indices.dtype) for i in range(batch_dims)]
    parts = [indices]
    for i in reversed(range(batch_dims)):
        known = [1] * i + [-1]
        if indices.shape.rank is None:
            places_shape = concat([known, ones(reshape(rank(indices) - (i + 1), [1]), int32)], 0)
        else:
            places_shape = known + [1] * (indices.shape.rank - i - 1)
        places = reshape(batch[i], places_shape)
        one = constant([1], int32)
        repeats = concat([before[:i], one, found_shape[i + 1:-1], one], 0)
        parts.insert(0, tile(places, repeats))
    return call("GatherNd", None, params, concat(parts, -1))


@by_rows("_places.batch_gather")
def batch_gather(params, indices, name: str | None = None) -> Tensor:
    """Parts of each tensor of a batch along the last dimension of `indices`.

    Raises:
        ValueError: if the rank of `indices` is not known.
    """
    with op_scope(name, "BatchGather", params, indices):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if indices.shape.rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if not indices.shape.rank:
            raise ValueError("batch_gather needs indices of rank 1 or more, got a scalar")
        return _gathered_by_batch(params, indices, indices.shape.rank - 1)


def _gathered_by_batch(params: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    """Returns ``params[i..., indices[i..., j]]``: one gather from a tensor in which the batch's dimensions and the next one are one dimension."""
    from flowmill.math import reduce_prod  # cycle: math imports this package

    kind = indices.dtype.base_dtype
    index_sizes, sizes = shape(indices), shape(params)
    distance = ones((), kind)
    own_sizes = call("Cast", None, sizes, DstT=kind)
    places = indices
    for axis in range(batch_dims - 1, -1, -1):
        count = own_sizes[axis]
        distance = distance * own_sizes[axis + 1]
        starts = call("Range", None, zeros((), kind), count, ones((), kind)) * distance
        places = places + reshape(starts, stack([1] * axis + [count] + [1] * (indices.shape.rank - 1 - axis)))
    flat_places = reshape(places, [-1])
    rest = sizes[batch_dims + 1:]
    rows = reduce_prod(sizes[:batch_dims + 1], [0])
    found = gather(reshape(params, concat([[rows], rest], 0)), flat_places)
    result = reshape(found, concat([index_sizes, rest], 0))
    if params.shape.rank is not None:
        batch = indices.shape[:batch_dims].merge_with(params.shape[:batch_dims])
        result.set_shape(batch.concatenate(indices.shape[batch_dims:]).concatenate(params.shape[batch_dims + 1:]))
    return result


def scatter_nd(indices, updates, shape, name: str | None = None, bad_indices_policy: str = "") -> Tensor:
    """Zeros of a shape with `updates` added in the places `indices`."""
    return call("ScatterNd", name, indices, updates, shape, bad_indices_policy=bad_indices_policy or None)


def _tensor_scatter(op: str, doc: str):
    def function(tensor, indices, updates, name: str | None = None, bad_indices_policy: str = "") -> Tensor:
        return call(op, name, tensor, indices, updates, bad_indices_policy=bad_indices_policy or None)
    function.__doc__ = f"""A tensor with `updates` {doc} in the places `indices`, integers of shape ``[..., k]`` as :func:`gather_nd` takes them."""
    function.__module__ = __name__
    return function


tensor_scatter_nd_update = tensor_scatter_update = _tensor_scatter("TensorScatterUpdate", "put")
tensor_scatter_nd_add = tensor_scatter_add = _tensor_scatter("TensorScatterAdd", "added")
tensor_scatter_nd_sub = tensor_scatter_sub = _tensor_scatter("TensorScatterSub", "subtracted")
tensor_scatter_nd_max = _tensor_scatter("TensorScatterMax", "put where they are larger")
tensor_scatter_nd_min = _tensor_scatter("TensorScatterMin", "put where they are smaller")


@by_rows("_places.where")
def where(condition, x=None, y=None, name: str | None = None) -> Tensor:
    """Elements of `x` where a condition holds, of `y` elsewhere; without those the places where it holds.

    Args:
        condition: truth values, of the shape of `x`; a vector chooses whole rows.
        x: what to take where the condition is true.
        y: what to take where it is false, of the same shape and type.
        name: the name of the operation.

    Returns:
        A tensor like `x`; or places as `int64` of shape ``[n, rank of the condition]``.

    Raises:
        ValueError: if only one of `x` and `y` is given.
    """
    return _where("Select", condition, x, y, name)


@by_rows("_places.where_v2")
def where_v2(condition, x=None, y=None, name: str | None = None) -> Tensor:
    """Like :func:`where`, but condition, `x` and `y` are broadcast together."""
    return _where("SelectV2", condition, x, y, name)


def _where(op: str, condition, x, y, name: str | None) -> Tensor:
    if x is None and y is None:
        with op_scope(name, "Where", condition) as scope:
            return call("Where", scope, convert_to_tensor(condition, name="condition", preferred_dtype=bool_))
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return call(op, name, condition, x, y)


def boolean_mask(tensor, mask, name: str | None = "boolean_mask", axis=None) -> Tensor:
    """Returns the parts of a tensor for which a mask is true.

    Args:
        tensor: the tensor.
        mask: truth values in the shape of some dimensions of `tensor`, which become one; its rank must be known.
        name: the name of the scope.
        axis: the first of those dimensions, 0 by default.

    Raises:
        ValueError: if the mask is a scalar, has no known rank, or a shape that does not fit.
    """
    with op_scope(name, "boolean_mask", tensor, mask):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        mask_shape, tensor_shape = mask.shape, tensor.shape
        if mask_shape.rank == 0:
            raise ValueError("mask cannot be scalar.")
        if mask_shape.rank is None:
            raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is ok, but "
                             "shape=None is not.")
        axis = 0 if axis is None else axis
        from flowmill._internal.tensor_util import constant_value  # start-up: most programs ask for no values of constants

        known_axis = constant_value(axis) if isinstance(axis, Tensor) else axis
        if known_axis is not None:
            axis = int(known_axis)
            tensor_shape[axis:axis + mask_shape.rank].assert_is_compatible_with(mask_shape)
        count = mask_shape.rank
        from flowmill.math import reduce_prod  # cycle: math imports this package

        leading = reduce_prod(shape(tensor)[axis:axis + count], [0])
        whole = concat([shape(tensor)[:axis], [leading], shape(tensor)[axis + count:]], 0)
        tensor = reshape(tensor, whole)
        if known_axis is not None and tensor_shape.rank is not None:
            first = tensor_shape[axis:axis + count].num_elements()
            tensor.set_shape(TensorShape([*tensor_shape[:axis].as_list(), first, *tensor_shape[axis + count:].as_list()]))
        places = squeeze(where(reshape(mask, [-1])), axis=[1])
        return gather(tensor, places, axis=axis)


def sequence_mask(lengths, maxlen=None, dtype=bool_, name: str | None = None) -> Tensor:
    """Truth values that are true for the first places of each sequence.

    Args:
        lengths: how many places of each, integers of any shape.
        maxlen: the size of the last dimension of the result, the largest length if it is None.
        dtype: the type of the result.
        name: the name of the scope.

    Raises:
        ValueError: if `maxlen` is no scalar.
    """
    from flowmill.math import cast, less, maximum  # cycle: math imports this package

    with op_scope(name, "SequenceMask", lengths, maxlen):
        lengths = convert_to_tensor(lengths)
        kind = lengths.dtype.base_dtype
        if maxlen is None:
            maxlen = call("Max", None, lengths, _all_of(lengths))
            maxlen = maximum(constant(0, kind), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.rank not in (None, 0):
            raise ValueError("Argument `maxlen` must be scalar for sequence_mask, "
                             f"received `maxlen` = {maxlen} with shape '{maxlen.get_shape()}' instead")
        row = call("Range", None, constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        # Lengths are compared as what the row is made of.
        matrix = call("Cast", None, expand_dims(lengths, -1), DstT=maxlen.dtype)
        result = less(row, matrix)
        return result if as_dtype(dtype).base_dtype is bool_ else cast(result, dtype)


def _all_of(tensor: Tensor):
    from flowmill.math import all_axes  # cycle: math imports this package

    return constant([], int32) if tensor.shape.rank == 0 else all_axes(tensor)


@by_rows("_array.one_hot")
def one_hot(indices, depth, on_value=None, off_value=None, axis: int | None = None, dtype=None, name: str | None = None) -> Tensor:
    """Returns a tensor with a new dimension in which one place, given by `indices`, has another value than the rest.

    Args:
        indices: the places; one that is out of range leaves all at `off_value`.
        depth: the size of the new dimension.
        on_value: the value there, 1 by default.
        off_value: the value elsewhere, 0 by default.
        axis: the position of the new dimension, at the end by default.
        dtype: the type of the result, that of the values, or `float32`.
        name: the name of the operation.

    Raises:
        TypeError: if the types of the values and `dtype` differ.
    """
    with op_scope(name, "one_hot", indices, depth, on_value, off_value, axis, dtype) as scope:
        on, off = (None if v is None else convert_to_tensor(v, dtype_hint=dtype) for v in (on_value, off_value))
        given = None if dtype is None else as_dtype(dtype).base_dtype
        for value, which in ((on, "on_value"), (off, "off_value")):
            if given is not None and value is not None and value.dtype.base_dtype is not given:
                raise TypeError(f"dtype {value.dtype.base_dtype} of {which} does not match dtype parameter {given}")
        if on is not None and off is not None and on.dtype.base_dtype is not off.dtype.base_dtype:
            raise TypeError(f"dtype {on.dtype.base_dtype} of on_value does not match dtype {off.dtype.base_dtype} of off_value")
        kind = given or next((v.dtype.base_dtype for v in (on, off) if v is not None), float32)
        if on is None:
            on = convert_to_tensor(1, kind, name="on_value")
        if off is None:
            off = convert_to_tensor(0, kind, name="off_value")
        return call("OneHot", scope, indices, depth, on, off, axis=-1 if axis is None else axis)


def unique(x, out_idx=int32, name: str | None = None) -> _Unique:
    """Returns the elements of a vector without repetition, in the order in which they first appear, and for each element its place among those."""
    return call("Unique", name, x, out_idx=out_idx)


def unique_with_counts(x, out_idx=int32, name: str | None = None) -> _UniqueWithCounts:
    """Like :func:`unique`, but also returns how often each value occurs."""
    return call("UniqueWithCounts", name, x, out_idx=out_idx)


def setdiff1d(x, y, index_dtype=int32, name: str | None = None) -> _ListDiff:
    """Returns the elements of a vector that are not in another one, and their places."""
    return call("ListDiff", name, x, y, out_idx=index_dtype)


@by_rows("_array.dynamic_partition")
def dynamic_partition(data, partitions, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """Returns the parts of a tensor sorted into several tensors.

    Args:
        data: the tensor.
        partitions: for each part along the leading dimensions the number of the tensor it goes to.
        num_partitions: how many tensors there are.
        name: the name of the operation.
    """
    return call("DynamicPartition", name, data, partitions, num_partitions=num_partitions)


def dynamic_stitch(indices, data, name: str | None = None) -> Tensor:
    """Parts of several tensors in one: those of ``data[i]`` in the places ``indices[i]``; if two have one place, the last one counts."""
    return call("DynamicStitch", name, indices, data)


def parallel_dynamic_stitch(indices, data, name: str | None = None) -> Tensor:
    """Like :func:`dynamic_stitch`, but if several values have one place, it is unspecified which of them is used."""
    return call("ParallelDynamicStitch", name, indices, data)


def invert_permutation(x, name: str | None = None) -> Tensor:
    """Returns the permutation that undoes one: ``y[x[i]] == i``."""
    return call("InvertPermutation", name, x)


def unravel_index(indices, dims, name: str | None = None) -> Tensor:
    """Returns the coordinates of places that count the elements of a tensor of shape `dims` in order; shape ``[rank, n]``."""
    return call("UnravelIndex", name, indices, dims)


def searchsorted(sorted_sequence, values, side: str = "left", out_type=int32, name: str | None = None) -> Tensor:
    """Returns the positions at which values would be inserted into sorted sequences.

    Args:
        sorted_sequence: sequences along the last dimension, in rising order.
        values: what to look for, with the same leading dimensions.
        side: ``"left"`` for the first place that keeps the order, ``"right"`` for the last.
        out_type: the type of the places, `int32` or `int64`.
        name: the name of the operation.

    Raises:
        ValueError: for another side.
    """
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'.")
    length, count = shape_internal(sorted_sequence)[-1], shape_internal(values)[-1]
    sequences = reshape(sorted_sequence, [-1, length])
    flat = reshape(values, [-1, count])
    found = call("LowerBound" if side == "left" else "UpperBound", name, sequences, flat, out_type=out_type)
    return reshape(found, shape_internal(values))


def sort(values, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Returns a tensor with its elements in order along a dimension.

    Args:
        values: the tensor.
        axis: the dimension.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.
        name: the name of the scope.
    """
    with op_scope(name, "sort"):
        return _sorted(values, axis, direction, False)


def argsort(values, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None) -> Tensor:
    """Returns the places of a tensor's elements in order along a dimension; equal ones in the order they have.

    Args:
        values: the tensor.
        axis: the dimension.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.
        stable: not used: the order is always stable.
        name: the name of the scope.
    """
    with op_scope(name, "argsort"):
        return _sorted(values, axis, direction, True)


def _sorted(values, axis, direction: str, places: bool) -> Tensor:
    """Sorts with `TopKV2`, which puts the greatest first: keys in rising order are turned round before, and values after."""
    from flowmill._internal.tensor_util import constant_value  # start-up: most programs ask for no values of constants

    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of ['ASCENDING', 'DESCENDING']. Received: direction={direction}")
    axis_tensor = convert_to_tensor(axis, name="axis")
    known = constant_value(axis_tensor)
    if known is None:
        raise ValueError("axis must be a constant scalar")
    if np.ndim(known):
        raise ValueError(f"Argument `axis` must be a scalar. Received: axis={axis}")
    axis = int(known)
    values = convert_to_tensor(values, name="values")
    kind = values.dtype.base_dtype
    ascending = direction == "ASCENDING"
    turn = (lambda v: v) if not ascending else _turning(kind, places)
    keys = turn(values)
    width = shape(keys)[axis]
    order = rank(keys)
    static = values.shape.rank
    moved = axis not in (-1,) and (static is None or axis + 1 != static)
    if moved:
        keys, back = _axis_last(keys, axis, order, static)
    found = call("TopKV2", None, keys, width, sorted=True)
    result = found.indices if places else found.values
    if moved:
        result = transpose(result, back)
    if not places:
        result = turn(result)
    return result


def _turning(kind, places: bool):
    """Returns a function that reverses an order; applied twice it returns the original values."""
    if kind.is_unsigned:
        return lambda v: kind.max - v
    if kind.is_integer:
        # One less than -v, so that the least value becomes the greatest.
        return lambda v: -v - 1
    return lambda v: call("Neg", None, v)


def _axis_last(values: Tensor, axis: int, order: Tensor, static: int | None):
    """Swaps a dimension with the last one; also the permutation that undoes it."""
    if static is not None:
        axis = axis if axis >= 0 else static + axis
        perm = list(range(static))
        perm[axis], perm[-1] = perm[-1], perm[axis]
        return transpose(values, perm), perm
    at = axis if axis >= 0 else order + axis
    from flowmill.math import range as range_  # cycle: math imports this package

    perm = concat([range_(at), [order - 1], range_(at + 1, order - 1), [at]], 0)
    return transpose(values, perm), perm
