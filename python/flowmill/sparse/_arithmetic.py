"""Sums, products, extrema of sparse tensors."""

from __future__ import annotations

import numpy as np
from typing import Any

from flowmill._internal.apply import call, graph_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.sparse_tensor import SparseTensor, SparseTensorValue, as_sparse
from flowmill._internal.tensor import Tensor


def _renamed(new, new_name: str, old, old_name: str):
    """Returns the value of an argument that has two names."""
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old if new is None else new


def add(a, b, threshold=None, thresh=None) -> Any:
    """Returns the sum of two tensors, one of which or both are sparse.

    Args:
        a: a tensor or a SparseTensor.
        b: another one, of the same shape.
        threshold: sums of two sparse tensors whose absolute values are below this are left out; 0 if it is None.
        thresh: as `threshold`, its name of old.

    Returns:
        A SparseTensor if both are sparse, a tensor otherwise.

    Raises:
        TypeError: if neither is sparse.
    """
    threshold = _renamed(threshold, "threshold", thresh, "thresh")
    sparse = SparseTensor, SparseTensorValue
    if not isinstance(a, sparse) and not isinstance(b, sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, sparse) and isinstance(b, sparse):
        a, b = as_sparse(a), as_sparse(b)
        real = a.values.dtype.real_dtype.base_dtype
        threshold = convert_to_tensor(0 if threshold is None else threshold, real, "threshold")
        found = call("SparseAdd", None, a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, threshold)
        a.shape.assert_is_compatible_with(b.shape)
        static = a.shape.merge_with(b.shape)
        return SparseTensor(found[0], found[1], static.as_list() if static.is_fully_defined() else found[2])
    if isinstance(b, sparse):
        a, b = b, a
    a = as_sparse(a)
    return call("SparseTensorDenseAdd", None, a.indices, a.values, a.dense_shape, b)


def matmul(sp_a, b, adjoint_a: bool = False, adjoint_b: bool = False, name=None) -> Tensor:
    """Returns the product of a sparse and a dense matrix, in either order.

    Args:
        sp_a: the first, sparse; or dense if `b` is sparse.
        b: the second.
        adjoint_a: takes the first one's adjoint.
        adjoint_b: takes the second one's adjoint.
        name: the name of the operations.

    Returns:
        A dense matrix.
    """
    if isinstance(b, (SparseTensor, SparseTensorValue)):
        # a b = (bᴴ aᴴ)ᴴ
        product = matmul(b, sp_a, adjoint_a=not adjoint_b, adjoint_b=not adjoint_a)
        with get_default_graph().name_scope("transpose") as scope:
            return call("ConjugateTranspose" if product.dtype.is_complex else "Transpose", scope, product, [1, 0])
    sp_a = as_sparse(sp_a)
    with graph_of((sp_a.indices, b)).name_scope(name or "SparseTensorDenseMatMul"):
        b = convert_to_tensor(b, name="b")
        return call("SparseTensorDenseMatMul", None, sp_a.indices, sp_a.values, sp_a.dense_shape, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


sparse_dense_matmul = matmul


def _axes(axis, sp_input: SparseTensor):
    """Returns the dimensions to reduce: all of them if none are given."""
    if axis is not None:
        return axis
    rank = sp_input.dense_shape.shape.as_list()[0] if sp_input.dense_shape.shape.rank == 1 else None
    if rank is not None:
        return convert_to_tensor(np.arange(rank, dtype=np.int32))
    return call("Range", None, 0, call("Rank", None, sp_input.dense_shape), 1)


def _reduced(op: str, sp_input, axis, keepdims, reduction_axes, keep_dims):
    sp_input = as_sparse(sp_input)
    keep = bool(_renamed(keepdims, "keepdims", keep_dims, "keep_dims"))
    axis = _renamed(axis, "axis", reduction_axes, "reduction_axes")
    return call(op, None, sp_input.indices, sp_input.values, sp_input.dense_shape, _axes(axis, sp_input), keep_dims=keep)


def reduce_sum(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None) -> Tensor:
    """Sums along dimensions, all of them if `axis` is None; with `keepdims` these stay, with size 1."""
    return _reduced("SparseReduceSum", sp_input, axis, keepdims, reduction_axes, keep_dims)


def reduce_max(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None) -> Tensor:
    """Largest elements along dimensions, all of them if `axis` is None; 0 if there are none. With `keepdims` these stay, with size 1."""
    return _reduced("SparseReduceMax", sp_input, axis, keepdims, reduction_axes, keep_dims)


def reduce_sum_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None) -> SparseTensor:
    """Like :func:`reduce_sum`, but returns a SparseTensor."""
    return SparseTensor(*_reduced("SparseReduceSumSparse", sp_input, axis, keepdims, reduction_axes, keep_dims))


def reduce_max_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None) -> SparseTensor:
    """Like :func:`reduce_max`, but returns a SparseTensor."""
    return SparseTensor(*_reduced("SparseReduceMaxSparse", sp_input, axis, keepdims, reduction_axes, keep_dims))


def softmax(sp_input, name=None) -> SparseTensor:
    """Softmax along the last dimension of the elements that are there."""
    with get_default_graph().name_scope(name or "SparseSoftmax"):
        values = call("SparseSoftmax", None, sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


def _extremum(op: str, sp_a: SparseTensor, sp_b: SparseTensor, name) -> SparseTensor:
    with get_default_graph().name_scope(name or op) as scope:
        indices, values = call(op, scope, sp_a.indices, sp_a.values, sp_a.dense_shape, sp_b.indices, sp_b.values, sp_b.dense_shape)
    return SparseTensor(indices, values, sp_a.dense_shape)


def maximum(sp_a, sp_b, name=None) -> SparseTensor:
    """Returns the larger elements of two sparse tensors of the same shape; those that are not there count as 0."""
    return _extremum("SparseSparseMaximum", as_sparse(sp_a), as_sparse(sp_b), name)


def minimum(sp_a, sp_b, name=None) -> SparseTensor:
    """Returns the smaller elements of two sparse tensors of the same shape; those that are not there count as 0."""
    return _extremum("SparseSparseMinimum", as_sparse(sp_a), as_sparse(sp_b), name)


def _segment(op: str, data, indices, segment_ids, name, num_segments, sparse_gradient: bool) -> Tensor:
    if num_segments is None:
        return call(op, name, data, indices, segment_ids, sparse_gradient=sparse_gradient)
    return call(op + "WithNumSegments", name, data, indices, segment_ids, num_segments, sparse_gradient=sparse_gradient)


def segment_sum(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient: bool = False) -> Tensor:
    """Sums of rows of `data`: those at `indices`, added where `segment_ids`, which grow, are equal.

    Args:
        data: the rows.
        indices: which of them to take.
        segment_ids: the row of the result for each of them.
        name: the name of the operation.
        num_segments: the number of rows of the result.
        sparse_gradient: lets the gradient be IndexedSlices.
    """
    return _segment("SparseSegmentSum", data, indices, segment_ids, name, num_segments, sparse_gradient)


def segment_mean(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient: bool = False) -> Tensor:
    """Like :func:`segment_sum`, divided by the number of rows."""
    return _segment("SparseSegmentMean", data, indices, segment_ids, name, num_segments, sparse_gradient)


def segment_sqrt_n(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient: bool = False) -> Tensor:
    """Like :func:`segment_sum`, divided by the root of the number of rows."""
    return _segment("SparseSegmentSqrtN", data, indices, segment_ids, name, num_segments, sparse_gradient)
