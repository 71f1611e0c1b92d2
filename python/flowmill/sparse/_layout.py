"""Sparse tensors in another order, shape or part."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.sparse_tensor import SparseTensor, SparseTensorValue, as_sparse
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_util import constant_value, constant_value_as_shape
from flowmill.sparse._arithmetic import _renamed

# What crosses hash with where nobody gives another key.
HASH_KEY = 0xDECAFCAFFE


def reorder(sp_input, name=None) -> SparseTensor:
    """Returns a sparse tensor with the elements in the order of rows, as the other functions need them."""
    sp_input = as_sparse(sp_input)
    indices, values = call("SparseReorder", name, sp_input.indices, sp_input.values, sp_input.dense_shape)
    shape = sp_input.shape
    ordered = SparseTensor(indices, values, shape if shape.is_fully_defined() else tf.identity(sp_input.dense_shape))
    ordered.set_shape(shape)
    return ordered


def reshape(sp_input, shape, name=None) -> SparseTensor:
    """Returns a sparse tensor with the elements, in the order of rows, in another shape, one size of which may be -1.

    Raises:
        ValueError: if the sizes are known and do not fit, or more than one is -1.
    """
    sp_input = as_sparse(sp_input)
    shape = tf.cast(shape, tf.int64)
    with get_default_graph().name_scope(name or "SparseReshape") as scope:
        indices, new_shape = call("SparseReshape", scope, sp_input.indices, sp_input.dense_shape, shape)
        static = constant_value_as_shape(shape)
        wanted = None if static.rank is None else static.as_list()
        before = sp_input.shape
        if wanted is not None and before.is_fully_defined():
            if wanted.count(None) > 1 and _is_constant(shape):
                raise ValueError("At most one dimension can be inferred (-1). Found: %s" % [-1 if d is None else d for d in wanted])
            if wanted.count(None) <= 1:
                count = int(np.prod(before.as_list(), dtype=np.int64))
                known = int(np.prod([d for d in wanted if d is not None], dtype=np.int64))
                if None in wanted and known:
                    wanted[wanted.index(None)] = count // known
                if None not in wanted:
                    if int(np.prod(wanted, dtype=np.int64)) != count:
                        raise ValueError(f"Cannot reshape a tensor with {count} elements to shape {wanted} ({int(np.prod(wanted))} elements).")
                    new_shape = tf.constant(wanted, tf.int64)
        return SparseTensor(indices, tf.identity(sp_input.values), new_shape)


def _is_constant(tensor: Tensor) -> bool:
    return constant_value(tensor) is not None


def concat(axis, sp_inputs, name=None, expand_nonconcat_dim: bool = False, concat_dim=None, expand_nonconcat_dims=None) -> SparseTensor:
    """Sparse tensors put together along a dimension.

    Args:
        axis: the dimension; counted from the end if negative.
        sp_inputs: the sparse tensors; one alone is given back.
        name: the name of the operation.
        expand_nonconcat_dim: lets the other dimensions differ; the largest size counts.
        concat_dim: as `axis`, its name of old.
        expand_nonconcat_dims: as `expand_nonconcat_dim`.
    """
    expand = bool(_renamed(expand_nonconcat_dims, "expand_nonconcat_dims", expand_nonconcat_dim or None, "expand_nonconcat_dim"))
    axis = _renamed(axis, "axis", concat_dim, "concat_dim")
    if not isinstance(sp_inputs, (list, tuple)):
        raise TypeError("Inputs must be a list or tuple.")
    inputs = [as_sparse(i) for i in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [i.dense_shape for i in inputs]
    if expand:
        largest = tf.reduce_max(tf.concat([tf.reshape(shape, [1, -1]) for shape in shapes], 0), 0)
        shapes = [tf.concat([largest[:axis], shape[-1:] if axis == -1 else shape[axis:axis + 1], [] if axis == -1 else largest[axis + 1:]], 0)
                  for shape in shapes]
    indices, values, dense_shape = call("SparseConcat", name, [i.indices for i in inputs], [i.values for i in inputs], shapes, concat_dim=axis)
    static = _concatenated([i.shape for i in inputs], axis, expand)
    if static is not None:
        dense_shape = tf.constant(static, tf.int64)
    return SparseTensor(indices, values, dense_shape)


def _concatenated(shapes: list[TensorShape], axis: int, expand: bool) -> list[int] | None:
    """Returns the shape of the whole, None if it is not known."""
    if not all(shape.is_fully_defined() for shape in shapes):
        return None
    sizes = np.array([shape.as_list() for shape in shapes])
    static = sizes.max(axis=0)
    if not expand and not all(np.array_equal(np.delete(s, axis), np.delete(sizes[0], axis)) for s in sizes):
        return None
    static[axis] = sizes[:, axis].sum()
    return static.tolist()


class _KeywordRequired:
    def __repr__(self):
        return "KeywordRequired()"


def split(keyword_required=_KeywordRequired(), sp_input=None, num_split=None, axis=None, name=None, split_dim=None) -> list[SparseTensor]:
    """Returns a sparse tensor cut into parts along a dimension; the first ones are larger if it does not come out even.

    Args:
        keyword_required: not to be given: arguments have to be named.
        sp_input: the sparse tensor.
        num_split: the number of parts.
        axis: the dimension.
        name: the name of the operation.
        split_dim: as `axis`, its name of old.

    Raises:
        ValueError: for arguments without names, and if one is missing.
    """
    if not isinstance(keyword_required, _KeywordRequired):
        raise ValueError("Keyword arguments are required for this function.")
    for argument, value in (("sp_input", sp_input), ("num_split", num_split)):
        if value is None:
            raise ValueError(f"{argument} is required")
    axis = _renamed(axis, "axis", split_dim, "split_dim")
    if axis is None:
        raise ValueError("axis is required")
    sp_input = as_sparse(sp_input)
    indices, values, shapes = call("SparseSplit", name, axis, sp_input.indices, sp_input.values, sp_input.dense_shape, num_split=num_split)
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes)]


def slice(sp_input, start, size, name=None) -> SparseTensor:
    """Returns the part of a sparse tensor that begins at `start` and has at most the shape `size`."""
    sp_input = as_sparse(sp_input)
    start, size = convert_to_tensor(start, tf.int64), convert_to_tensor(size, tf.int64)
    with get_default_graph().name_scope(name or "SparseSlice") as scope:
        return SparseTensor(*call("SparseSlice", scope, sp_input.indices, sp_input.values, sp_input.dense_shape, start, size))


def retain(sp_input, to_retain) -> SparseTensor:
    """Only some elements of a sparse tensor: those where the vector `to_retain` is true."""
    sp_input = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    to_retain.shape.with_rank(1).dims[0].assert_is_compatible_with(sp_input.values.shape.with_rank(1).dims[0])
    places = tf.reshape(tf.where(to_retain), [-1])
    return SparseTensor(tf.gather(sp_input.indices, places), tf.gather(sp_input.values, places), tf.identity(sp_input.dense_shape))


def reset_shape(sp_input, new_shape=None) -> SparseTensor:
    """Returns a sparse tensor with another shape: `new_shape`, which must not be smaller, or the smallest that holds all elements.

    Raises:
        ValueError: if the sizes are known and `new_shape` is too small.
    """
    sp_input = as_sparse(sp_input)
    indices, values = tf.identity(sp_input.indices), tf.identity(sp_input.values)
    present = tf.identity(sp_input.dense_shape)
    if new_shape is None:
        largest = tf.reduce_max(indices, axis=0)
        smallest = tf.constant(0, tf.int64)  # of a dimension of a tensor without elements
        return SparseTensor(indices, values, tf.maximum(smallest, tf.add(largest, tf.ones_like(present))))
    wanted = tf.cast(convert_to_tensor(new_shape), tf.int64)
    present.shape.assert_is_compatible_with(wanted.shape)
    static = constant_value_as_shape(wanted)
    before = sp_input.shape
    if static.is_fully_defined() and before.is_fully_defined():
        if any(new < old for new, old in zip(static.as_list(), before.as_list())):
            raise ValueError(
                f"Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape ({static}), sp_input.shape ({before}).")
        return SparseTensor(indices, values, static)
    checked = []
    if not present.shape.is_fully_defined() or not wanted.shape.is_fully_defined():
        checked.append(tf.assert_equal(tf.shape(present), tf.shape(wanted)))
    checked.append(tf.assert_less_equal(present, wanted))
    with get_default_graph().control_dependencies(checked):
        return SparseTensor(indices, values, tf.identity(wanted))


def fill_empty_rows(sp_input, default_value, name=None) -> tuple[SparseTensor, Tensor]:
    """Puts `default_value` into the first column of each empty row; also returns which rows were empty."""
    sp_input = as_sparse(sp_input)
    with get_default_graph().name_scope(name or "SparseFillEmptyRows"):
        default_value = convert_to_tensor(default_value, sp_input.values.dtype.base_dtype)
        found = call("SparseFillEmptyRows", None, sp_input.indices, sp_input.values, sp_input.dense_shape, default_value)
        return SparseTensor(found[0], found[1], sp_input.dense_shape), found[2]


def transpose(sp_input, perm=None, name=None) -> SparseTensor:
    """Returns a sparse tensor with the dimensions in another order: that of `perm`, or the reverse one."""
    with get_default_graph().name_scope(name or "SparseTranspose"):
        if perm is None:
            rank = sp_input.shape.rank
            if rank is not None:
                perm = np.arange(rank - 1, -1, -1)
            else:
                count = call("Rank", None, sp_input.dense_shape) if sp_input.dense_shape.shape.rank != 1 else tf.shape(sp_input.dense_shape)[0]
                perm = (count - 1) - tf.range(0, count, 1)
        indices = tf.transpose(tf.gather(tf.transpose(sp_input.indices), perm))
        order = constant_value(convert_to_tensor(perm))
        before = sp_input.shape
        if order is not None and before.is_fully_defined():
            dense_shape = TensorShape([before.as_list()[i] for i in order.tolist()])
        else:
            dense_shape = tf.gather(sp_input.dense_shape, perm)
        return reorder(SparseTensor(indices, sp_input.values, dense_shape))


def expand_dims(sp_input, axis=None, name=None) -> SparseTensor:
    """Returns a sparse tensor with another dimension of size 1 before `axis`; at the end if it is None or -1.

    Raises:
        TypeError: if `axis` is no integer.
    """
    rank = sp_input.dense_shape.shape.as_list()[0]
    axis = -1 if axis is None else axis
    with get_default_graph().name_scope(name or "expand_dims"):
        if isinstance(axis, (bool, str, float)):
            raise TypeError("axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]")
        axis = convert_to_tensor(axis, name="axis")
        rank = rank if rank is not None else tf.shape(sp_input.dense_shape)[0]
        axis = tf.where_v2(axis >= 0, axis, axis + rank + 1)
        column = tf.zeros([tf.shape(sp_input.indices)[0], 1], tf.int64)
        before, after = tf.slice(sp_input.indices, [0, 0], [-1, axis]), tf.slice(sp_input.indices, [0, axis], [-1, -1])
        indices = tf.concat([before, column, after], 1)
        before, after = tf.slice(sp_input.dense_shape, [0], [axis]), tf.slice(sp_input.dense_shape, [axis], [-1])
        shape = tf.concat([before, convert_to_tensor([1], tf.int64, "new_shape"), after], 0)
        return SparseTensor(indices, sp_input.values, shape)


def _of_type(values: Tensor) -> Tensor:
    """Returns a feature's values as a crossing takes them: strings, or int64."""
    return values if values.dtype.base_dtype is tf.string else tf.cast(values, tf.int64)


def _crossed(inputs) -> tuple[list[SparseTensor], list[Tensor]]:
    if not isinstance(inputs, (tuple, list)):
        raise TypeError("Inputs must be a list")
    sparse = [as_sparse(i) for i in inputs if isinstance(i, (SparseTensor, SparseTensorValue))]
    sparse = [SparseTensor(i.indices, _of_type(i.values), i.dense_shape) if i.dtype.base_dtype not in (tf.string, tf.int64) else i for i in sparse]
    dense = [_of_type(convert_to_tensor(i)) for i in inputs if not isinstance(i, (SparseTensor, SparseTensorValue))]
    return sparse, dense


def cross(inputs, name=None, separator=None) -> SparseTensor:
    """Returns all combinations of the values that the features in `inputs` have in each row, as strings with `separator` (``"_X_"``) between them."""
    sparse, dense = _crossed(inputs)
    separator = convert_to_tensor("_X_" if separator is None else separator, tf.string)
    indices, values, shapes = zip(*((s.indices, s.values, s.dense_shape) for s in sparse)) if sparse else ((), (), ())
    return SparseTensor(*call("SparseCrossV2", name, indices, values, shapes, dense, separator))


def cross_hashed(inputs, num_buckets: int = 0, hash_key: int | None = None, name=None) -> SparseTensor:
    """Returns all combinations of the values that the features in `inputs` have in each row, as hashes below `num_buckets` (any for 0)."""
    sparse, dense = _crossed(inputs)
    return SparseTensor(*call(
        "SparseCross", name, [s.indices for s in sparse], [s.values for s in sparse], [s.dense_shape for s in sparse], dense, hashed_output=True,
        num_buckets=num_buckets, hash_key=hash_key or HASH_KEY, out_type=tf.int64, internal_type=tf.int64))
