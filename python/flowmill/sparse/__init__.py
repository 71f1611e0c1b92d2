"""Sparse tensors: ``tf.sparse``. At the top level most names begin with ``sparse_``."""

from __future__ import annotations

from flowmill._internal.accumulators import SparseConditionalAccumulator
from flowmill.sparse._arithmetic import (
    add, matmul, maximum, minimum, reduce_max, reduce_max_sparse, reduce_sum, reduce_sum_sparse, segment_mean, segment_sqrt_n, segment_sum, softmax,
    sparse_dense_matmul,
)
from flowmill.sparse._counts import bincount
from flowmill.sparse._dense import (
    eye, from_dense, mask, merge, placeholder, to_dense, to_indicator,
)
# These are names of the top level, which are looked up here.
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill.sparse._dense import deserialize_many_sparse as deserialize_many_sparse
from flowmill.sparse._dense import edit_distance as edit_distance
from flowmill.sparse._dense import serialize_many_sparse as serialize_many_sparse
from flowmill.sparse._dense import serialize_sparse as serialize_sparse
from flowmill.sparse._dense import sparse_to_dense as sparse_to_dense
from flowmill.sparse._layout import (
    concat, cross, cross_hashed, expand_dims, fill_empty_rows, reorder, reset_shape, reshape, retain, slice, split, transpose,
)

__all__ = [
    "SparseConditionalAccumulator", "SparseTensor", "add", "bincount", "concat", "cross", "cross_hashed", "expand_dims", "eye", "fill_empty_rows", "from_dense", "mask", "matmul", "maximum",
    "merge", "minimum", "placeholder", "reduce_max", "reduce_max_sparse", "reduce_sum", "reduce_sum_sparse", "reorder", "reset_shape", "reshape",
    "retain", "segment_mean", "segment_sqrt_n", "segment_sum", "slice", "softmax", "sparse_dense_matmul", "split", "to_dense", "to_indicator",
    "transpose",
]
