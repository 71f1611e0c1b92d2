"""Embeddings of ragged ids."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.tensor import Tensor
from flowmill.ragged import _elementwise
from flowmill.ragged._tensor import RaggedTensor, to_ragged


def embedding_lookup(params, ids, partition_strategy: str = "mod", name: str | None = None, validate_indices: bool = True,
                     max_norm: float | None = None) -> RaggedTensor:
    """Returns the row of `params` for each id.

    Raises:
        ValueError: if there are no params, or the ids have another type than int32 and int64.
    """
    if params is None:
        raise ValueError("params must be specified.")
    if isinstance(params, (list, tuple)) and not params:
        raise ValueError("params should not be empty.")
    ids = to_ragged(ids)
    if ids.dtype.base_dtype not in (tf.int32, tf.int64):
        raise ValueError(f"The values contained by the inputs have type {ids.dtype} and cannot be processed. All values should be indices, either of type "
                         "`int32` or `int64`.")
    with op_scope(name, "embedding_lookup_ragged"):
        return _elementwise.of_values(lambda values: tf.nn.embedding_lookup(params, values, partition_strategy, None, validate_indices, max_norm), ids)


def embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy: str = "mod", name: str | None = None, combiner: str | None = None,
                            max_norm: float | None = None, allow_fast_lookup: bool = False) -> Tensor:
    """Returns the rows of `params` combined for each row of ragged ids.

    Raises:
        TypeError: if the weights are not ragged.
    """
    return tf.nn.embedding_lookup_sparse(params, *_sparse(sp_ids, sp_weights), partition_strategy, name, combiner, max_norm, allow_fast_lookup)


def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None, combiner: str = "mean", default_id=None, name: str | None = None,
                                 partition_strategy: str = "div", max_norm: float | None = None, allow_fast_lookup: bool = False) -> Tensor:
    """Like :func:`embedding_lookup_sparse`, without invalid ids and weights; rows without any have the row of `default_id`, or zeros.

    Raises:
        TypeError: if the weights are not ragged.
    """
    return tf.nn.safe_embedding_lookup_sparse(embedding_weights, *_sparse(sparse_ids, sparse_weights), combiner, default_id, name, partition_strategy,
                                              max_norm, allow_fast_lookup)


def _sparse(ids, weights) -> tuple:
    ids = to_ragged(ids)
    if weights is None:
        return ids.to_sparse(), None
    weights = to_ragged(weights) if not isinstance(weights, Tensor) else weights
    if not isinstance(weights, RaggedTensor):
        raise TypeError(f"sp_ids must be of the same type as sp_weights, received {type(ids).__name__} for sp_ids and {type(weights).__name__} for sp_weights.")
    ids.values.shape.assert_is_compatible_with(weights.values.shape)
    return ids.to_sparse(), weights.to_sparse()
