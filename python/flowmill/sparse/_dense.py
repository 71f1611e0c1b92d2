"""Sparse tensors from dense ones and back, from feeds, from and to strings."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.sparse_tensor import SparseTensor, SparseTensorValue, as_sparse
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.sparse._layout import reorder


def placeholder(dtype, shape=None, name=None) -> SparseTensor:
    """Returns a sparse tensor that has to be fed: with a :class:`flowmill.SparseTensorValue` or a tuple of indices, values and shape.

    Args:
        dtype: the type of the elements.
        shape: what is known of its shape: a list with None for sizes that are not, or a tensor.
        name: the name of the operations; ``name/shape``, ``name/values`` and ``name/indices`` they are.
    """
    def called(part: str):
        return None if name is None else f"{name}/{part}"

    known = None
    if shape is None:
        rank = None
        dense_shape = call("Placeholder", called("shape"), dtype=tf.int64, shape=TensorShape([None]))
    elif isinstance(shape, Tensor):
        rank = shape.shape.as_list()[0]
        dense_shape = shape
    else:
        known = TensorShape([None if isinstance(d, int) and d == -1 else d for d in shape])
        rank = known.rank
        sizes = np.array([-1 if d is None else d for d in known.as_list()], np.int64)
        default = tf.constant(sizes, name=called("shape_default") or "Const")
        dense_shape = call("PlaceholderWithDefault", called("shape"), default, shape=TensorShape([rank]))
    values = call("Placeholder", called("values"), dtype=dtype, shape=TensorShape([None]))
    indices = call("Placeholder", called("indices"), dtype=tf.int64, shape=TensorShape([None, rank]))
    made = SparseTensor(indices, values, dense_shape)
    if known is not None:
        made._known = known
    return made


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0, validate_indices: bool = True, name=None) -> Tensor:
    """Returns a tensor with some values at some places and another one everywhere else.

    Args:
        sparse_indices: the places: a matrix with one in each row, a vector, or a scalar.
        output_shape: the shape of the whole.
        sparse_values: the values, or one for all places.
        default_value: the value elsewhere.
        validate_indices: refuses places that repeat or are not in order.
        name: the name of the operation.
    """
    return call("SparseToDense", name, sparse_indices, output_shape, sparse_values, default_value, validate_indices=validate_indices)


def to_dense(sp_input, default_value=None, validate_indices: bool = True, name=None) -> Tensor:
    """Returns a sparse tensor as a dense one.

    Args:
        sp_input: the sparse tensor.
        default_value: the value of places without an element; None means 0 or ``""``.
        validate_indices: refuses places that repeat or are not in order.
        name: the name of the operation.
    """
    sp_input = as_sparse(sp_input)
    if default_value is None:
        default_value = tf.zeros([], sp_input.dtype.base_dtype)
    return sparse_to_dense(sp_input.indices, sp_input.dense_shape, sp_input.values, default_value, validate_indices, name)


def to_indicator(sp_input, vocab_size, name=None) -> Tensor:
    """Truth values of shape ``[..., vocab_size]``: true where the elements of `sp_input`, along its last dimension, say."""
    sp_input = as_sparse(sp_input)
    with get_default_graph().name_scope(name or "SparseToIndicator") as scope:
        true = tf.fill(tf.expand_dims(tf.shape(sp_input.indices)[0], 0), True)
        made = _merged([sp_input], SparseTensor(sp_input.indices, true, sp_input.dense_shape), [vocab_size], False)
        return to_dense(made, False, validate_indices=False, name=scope)


def merge(sp_ids, sp_values, vocab_size, name=None, already_sorted: bool = False) -> SparseTensor:
    """Values at places that ids say: the last dimension of `sp_values` is replaced by the ids.

    Args:
        sp_ids: a SparseTensor of ids, or a list of them for several dimensions.
        sp_values: the values, at the same places.
        vocab_size: the size of the new dimension, or a list of them.
        name: the name of the operations.
        already_sorted: whether the ids of each row grow, so that nothing has to be sorted.

    Raises:
        TypeError, ValueError: for arguments of the wrong kind, or of different lengths.
    """
    if isinstance(sp_ids, (SparseTensor, SparseTensorValue)) or not isinstance(sp_ids, (list, tuple)):
        sp_ids = [as_sparse(sp_ids)]
        if isinstance(vocab_size, (list, tuple)):
            raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}")
        vocab_size = [vocab_size]
    elif not isinstance(vocab_size, (list, tuple)):
        raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}")
    if len(sp_ids) != len(vocab_size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with get_default_graph().name_scope(name or "SparseMerge"):
        return _merged([as_sparse(i) for i in sp_ids], as_sparse(sp_values), vocab_size, already_sorted)


def _merged(sp_ids: list[SparseTensor], sp_values: SparseTensor, vocab_size, already_sorted: bool) -> SparseTensor:
    columns = []
    for ids in sp_ids:
        values = ids.values if ids.values.dtype is tf.int64 else tf.cast(ids.values, tf.int64)
        columns.append(tf.expand_dims(values, 1))
    sizes = [tf.cast(v, tf.int64) for v in vocab_size]
    indices = tf.concat([sp_ids[0].indices[:, :-1], *columns], 1)
    shape = tf.concat([sp_ids[0].dense_shape[:-1], sizes], 0)
    made = SparseTensor(indices, sp_values.values, shape)
    if already_sorted:
        return made
    ordered = reorder(made)
    return SparseTensor(ordered.indices, ordered.values, shape)


def from_dense(tensor, name=None) -> SparseTensor:
    """Returns the elements of a tensor that are not zero, as a SparseTensor."""
    with get_default_graph().name_scope(name or "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        indices = tf.where_v2(tf.not_equal(tensor, tf.zeros_like(tensor)))
        return SparseTensor(indices, tf.gather_nd(tensor, indices), tf.shape(tensor, out_type=tf.int64))


def eye(num_rows, num_columns=None, dtype=tf.float32, name=None) -> SparseTensor:
    """Returns a matrix with ones on its diagonal; square if `num_columns` is None."""
    with get_default_graph().name_scope(name or "eye"):
        num_rows = convert_to_tensor(num_rows, tf.int64, "num_rows")
        num_columns = num_rows if num_columns is None else convert_to_tensor(num_columns, tf.int64, "num_columns")
        diagonal = tf.minimum(num_rows, num_columns)
        places = tf.range(diagonal, dtype=tf.int64)
        return SparseTensor(tf.stack([places, places], axis=1), tf.ones(diagonal, dtype=dtype), [num_rows, num_columns])


def mask(a, mask_indices, name=None) -> IndexedSlices:
    """IndexedSlices without the slices at `mask_indices`."""
    with get_default_graph().name_scope(name or "sparse_mask") as scope:
        indices, places = call("ListDiff", None, a.indices, mask_indices, out_idx=tf.int32)
        return IndexedSlices(tf.gather(a.values, places, name=scope), indices, a.dense_shape)


def serialize_sparse(sp_input, name=None, out_type=tf.string) -> Tensor:
    """Returns a sparse tensor as three strings: indices, values and shape."""
    sp_input = as_sparse(sp_input)
    return call("SerializeSparse", name, sp_input.indices, sp_input.values, sp_input.dense_shape, out_type=out_type)


def serialize_many_sparse(sp_input, name=None, out_type=tf.string) -> Tensor:
    """Returns the parts of a sparse tensor along its first dimension, each as three strings."""
    sp_input = as_sparse(sp_input)
    return call("SerializeManySparse", name, sp_input.indices, sp_input.values, sp_input.dense_shape, out_type=out_type)


def deserialize_many_sparse(serialized_sparse, dtype, rank: int | None = None, name=None) -> SparseTensor:
    """Sparse tensors that :func:`serialize_sparse` has written, of the same rank, along a new first dimension."""
    indices, values, shape = call("DeserializeManySparse", name, serialized_sparse, dtype=dtype)
    indices.set_shape([None, None if rank is None else rank + 1])
    shape.set_shape([None if rank is None else rank + 1])
    return SparseTensor(indices, values, shape)


def edit_distance(hypothesis, truth, normalize: bool = True, name: str | None = "edit_distance") -> Tensor:
    """Levenshtein's distance between the rows of two sparse tensors of one type.

    Args:
        hypothesis: the sequences, a SparseTensor.
        truth: the sequences they are compared with.
        normalize: divides by the lengths of `truth`.
        name: the name of the operation.

    Returns:
        float32, in the larger of both shapes without the last dimension.

    Raises:
        TypeError: if one is no SparseTensor.
    """
    for operand, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not isinstance(operand, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{what} must be a SparseTensor.")
    hypothesis, truth = as_sparse(hypothesis), as_sparse(truth)
    return call("EditDistance", name, hypothesis.indices, hypothesis.values, hypothesis.dense_shape, truth.indices, truth.values,
                truth.dense_shape, normalize=normalize)
