"""Rows of tables by their ids; a table may be cut into parts."""

from __future__ import annotations

import contextlib

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor, convert_to_tensor_or_indexed_slices
from flowmill._internal.dispatch import by_rows
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variables import PartitionedVariable
from flowmill.nn._scope import scope


def _parts(params) -> list:
    """Returns a table's parts: a list, a partitioned variable, or one tensor.

    Raises:
        ValueError: if there is none.
    """
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)):
        if not params:
            raise ValueError("Length of params is currently 0. Need at least one param.")
        return list(params)
    if isinstance(params, PartitionedVariable):
        return list(params)
    return [params]


def _is_resource(part) -> bool:
    return isinstance(getattr(part, "handle", None), Tensor)


@contextlib.contextmanager
def _colocated(part):
    graph = part.graph
    with graph.colocate_with(part.handle if _is_resource(part) else part):
        yield


def _clipped(rows: Tensor, ids, max_norm):
    if max_norm is None:
        return rows
    ids_rank, rank = convert_to_tensor(ids).shape.rank, rows.shape.rank
    if ids_rank and rank:
        axes = list(range(ids_rank, rank))
    else:
        axes = tf.range(ids_rank or tf.rank(ids), rank or tf.rank(rows))
    return tf.clip_by_norm(rows, max_norm, axes=axes)


@by_rows("_embedding.embedding_lookup")
def embedding_lookup(params, ids, partition_strategy: str = "mod", name: str | None = None, validate_indices: bool = True,
                     max_norm=None) -> Tensor:
    """Rows of a table.

    Args:
        params: a table ``[rows, ...]``, or a list of its parts, or a partitioned variable.
        ids: indices of rows, of any shape.
        partition_strategy: which part a row of several parts is in: ``"mod"``: number ``id % parts``; ``"div"``: the first has the first rows.
        name: the name of the scope.
        validate_indices: not used: indices are always checked.
        max_norm: what the norm of a row is cut down to, or None.

    Returns:
        A tensor of shape ``ids.shape + [...]``.

    Raises:
        ValueError: without params, or for another strategy.
    """
    parts = _parts(params)
    with scope(name, "embedding_lookup", [*parts, ids]) as whole:
        if not any(_is_resource(p) for p in parts):
            parts = [convert_to_tensor_or_indexed_slices(p, name=f"params_{i}") for i, p in enumerate(parts)]
        ids = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            with _colocated(parts[0]):
                rows = _clipped(tf.gather(parts[0], ids, name=whole), ids, max_norm)
            return tf.identity(rows)
        flat = tf.reshape(ids, [-1])
        places = tf.range(tf.size(flat, out_type=tf.int32))
        part_of, inner = _assigned(parts, flat, partition_strategy)
        part_of = tf.cast(part_of, tf.int32)
        inner = tf.dynamic_partition(inner, part_of, len(parts))
        places = tf.dynamic_partition(places, part_of, len(parts))
        found = []
        for part, part_ids in zip(parts, inner):
            with part.graph.device(None), _colocated(part):
                found.append(tf.gather(part, part_ids))
        rows = _reshaped(call("ParallelDynamicStitch", whole, places, found), parts, ids)
        return _clipped(rows, ids, max_norm)


def _assigned(parts: list, flat: Tensor, strategy: str):
    """Returns the part that each id is in, and its row there."""
    count = len(parts)
    if strategy == "mod":
        return flat % count, flat // count
    if strategy != "div":
        raise ValueError(f"Unrecognized partition strategy: {strategy}.Must be one of either `mod` or `div`.")
    rows = [p.shape.as_list()[0] if p.shape.rank is not None else None for p in parts]
    if None not in rows and sum(rows):
        total = tf.constant(sum(rows), flat.dtype)
    else:
        sizes = []
        for part, size in zip(parts, rows):
            if size is None:
                with _colocated(part):
                    size = tf.shape(part)[0]
            sizes.append(size)
        total = tf.reduce_sum(tf.cast(tf.stack(sizes), flat.dtype))
    each = total // count
    extras = total % count
    part_of = tf.maximum(flat // (each + 1), (flat - extras) // each)
    # The first `extras` parts have one row more.
    inner = tf.where(part_of < extras, flat % (each + 1), (flat - extras) % each)
    return part_of, inner


def _reshaped(rows: Tensor, parts: list, ids: Tensor) -> Tensor:
    """Rows of flat ids as those of ids."""
    element = parts[0].shape[1:]
    for part in parts[1:]:
        element = element.merge_with(part.shape[1:])
    if element.is_fully_defined():
        inner = element
    else:
        with _colocated(parts[0]):
            shape = tf.shape(parts[0])
        inner = shape[1:]
    rows = tf.reshape(rows, tf.concat([tf.shape(ids), inner], 0))
    rows.set_shape(ids.shape.concatenate(element))
    return rows


_COMBINERS = {"sum": "SparseSegmentSum", "mean": "SparseSegmentMean", "sqrtn": "SparseSegmentSqrtN"}


@by_rows("_embedding.embedding_lookup_sparse")
def embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy: str = "mod", name: str | None = None,
                            combiner: str | None = None, max_norm=None, allow_fast_lookup: bool = False) -> Tensor:
    """Rows of a table put together, for each row of a sparse matrix of ids.

    Args:
        params: as for :func:`embedding_lookup`.
        sp_ids: a SparseTensor of ids, ``[n, ...]``; each of its n rows has some.
        sp_weights: a SparseTensor of factors of the same form, or None for ones.
        partition_strategy: as for :func:`embedding_lookup`.
        name: the name of the scope.
        combiner: ``"sum"``, ``"mean"`` (over the sum of the weights), ``"sqrtn"`` (over the root of the sum of their squares).
        max_norm: what the norm of a row is cut down to, or None.
        allow_fast_lookup: leaves out that each id is looked up once.

    Raises:
        ValueError: for another combiner.
        TypeError: if ids or weights are no SparseTensor.
    """
    combiner = combiner or "mean"
    if combiner not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    parts = _parts(params)
    if not isinstance(sp_ids, tf.SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if sp_weights is not None:
        if not isinstance(sp_weights, tf.SparseTensor):
            raise TypeError(f"sp_weights must be either None or SparseTensor,got {type(sp_weights)}")
        sp_ids.values.shape.assert_is_compatible_with(sp_weights.values.shape)
        sp_ids.indices.shape.assert_is_compatible_with(sp_weights.indices.shape)
    with scope(name, "embedding_lookup_sparse", [*parts, sp_ids.values]) as whole:
        segments = sp_ids.indices[:, 0]
        ids = sp_ids.values
        if len(parts) == 1 and not hasattr(parts[0], "graph"):
            parts = [convert_to_tensor(parts[0], name="params")]
        direct = len(parts) == 1 and max_norm is None and (allow_fast_lookup or sp_weights is None) and parts[0].device == segments.device
        if direct:
            index, rows = ids, parts[0]
        else:
            ids, index = tf.unique(ids)
            rows = embedding_lookup(parts, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            return _segments(combiner, rows, index, segments, whole, direct and not allow_fast_lookup)
        return _weighted(combiner, rows, index, segments, sp_weights.values, whole)


def _segments(combiner: str, rows, index, segments: Tensor, name: str, sparse_gradient: bool) -> Tensor:
    if segments.dtype.base_dtype not in (tf.int32, tf.int64):
        segments = tf.cast(segments, tf.int32)
    return call(_COMBINERS[combiner], name, rows, index, segments, sparse_gradient=sparse_gradient)


def _weighted(combiner: str, rows, index, segments: Tensor, weights: Tensor, name: str) -> Tensor:
    if segments.dtype.base_dtype is not tf.int32:
        segments = tf.cast(segments, tf.int32)
    rows = tf.gather(rows, index)
    dtype = rows.dtype
    if dtype.base_dtype in (tf.float16, tf.bfloat16):
        rows = tf.cast(rows, tf.float32)
    if weights.dtype.base_dtype is not rows.dtype.base_dtype:
        weights = tf.cast(weights, rows.dtype)
    ones_shape = tf.expand_dims(tf.rank(rows) - 1, 0)
    shape = tf.shape(weights)
    ones = tf.ones(ones_shape, dtype=shape.dtype)
    known = weights.shape
    weights = tf.reshape(weights, tf.concat([shape, ones], 0))
    if rows.shape.rank is not None:
        weights.set_shape(known.concatenate([1] * (rows.shape.rank - 1)))
    rows *= weights
    if combiner == "sum":
        rows = tf.segment_sum(rows, segments, name=name)
    else:
        rows = tf.segment_sum(rows, segments)
        if combiner == "mean":
            norm = tf.segment_sum(weights, segments)
        else:
            norm = tf.sqrt(tf.segment_sum(tf.pow(weights, 2), segments))
        rows = tf.div_no_nan(rows, norm, name=name)
    return rows if rows.dtype.base_dtype is dtype.base_dtype else tf.cast(rows, dtype)


@by_rows("_embedding.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None, combiner: str = "mean", default_id=None,
                                 name: str | None = None, partition_strategy: str = "div", max_norm=None,
                                 allow_fast_lookup: bool = False) -> Tensor:
    """:func:`embedding_lookup_sparse` where ids below 0 and weights that are not above 0 do not count, and rows without ids are allowed.

    Args:
        embedding_weights: as for :func:`embedding_lookup`.
        sparse_ids: a SparseTensor of ids, ``[..., ids]``.
        sparse_weights: a SparseTensor of factors of the same form, or None for ones.
        combiner: as for :func:`embedding_lookup_sparse`.
        default_id: the id of rows without ids; None for zeros as result.
        name: the name of the scope.
        partition_strategy: as for :func:`embedding_lookup`.
        max_norm: what the norm of a row is cut down to, or None.
        allow_fast_lookup: leaves out that each id is looked up once.

    Raises:
        ValueError: without weights of the table.
    """
    if embedding_weights is None or isinstance(embedding_weights, (list, tuple)) and not embedding_weights:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    parts = [p if _is_resource(p) and dtype in (None, p.dtype) else convert_to_tensor(p, dtype) for p in _parts(embedding_weights)]
    with scope(name, "embedding_lookup", [*parts, sparse_ids.values]) as whole:
        shape = sparse_ids.dense_shape
        known_rank = shape.shape.as_list()[0] if shape.shape.rank is not None else None
        rank = tf.size(shape) if known_rank is None else known_rank
        sparse_ids = tf.sparse_reshape(
            sparse_ids, [tf.reduce_prod(tf.slice(shape, [0], [rank - 1])), tf.gather(shape, rank - 1)])
        if sparse_weights is not None:
            sparse_weights = tf.SparseTensor(sparse_ids.indices, sparse_weights.values, sparse_ids.dense_shape)
        sparse_ids, sparse_weights = _valid(sparse_ids, sparse_weights, combiner)
        sparse_ids, is_empty = tf.sparse_fill_empty_rows(sparse_ids, default_id or 0)
        if sparse_weights is not None:
            sparse_weights, _ = tf.sparse_fill_empty_rows(sparse_weights, 1.0)
        result = embedding_lookup_sparse(
            parts, sparse_ids, sparse_weights, combiner=combiner, partition_strategy=partition_strategy,
            name=None if default_id is None else whole, max_norm=max_norm, allow_fast_lookup=allow_fast_lookup)
        if default_id is None:
            is_empty = tf.tile(tf.reshape(is_empty, [-1, 1]), tf.stack([1, tf.shape(result)[1]]))
            result = tf.where(is_empty, tf.zeros_like(result), result, name=whole)
        outer = tf.slice(tf.cast(shape, tf.int32), [0], [rank - 1])
        final = tf.reshape(result, tf.concat([outer, tf.slice(tf.shape(result), [1], [-1])], 0))
        final.set_shape(TensorShape(None if known_rank is None else [None] * (known_rank - 1)).concatenate(result.shape[1:]))
        return final


def _valid(sparse_ids, sparse_weights, combiner: str):
    """Ids that are not negative, and with a combiner that divides, weights above 0."""
    valid = tf.greater_equal(sparse_ids.values, 0)
    if sparse_weights is not None:
        valid = tf.logical_and(valid, tf.ones_like(sparse_weights.values, dtype=tf.bool))
    sparse_ids = tf.sparse_retain(sparse_ids, valid)
    if sparse_weights is not None:
        sparse_weights = tf.sparse_retain(sparse_weights, valid)
        if combiner != "sum":
            positive = tf.greater(sparse_weights.values, 0)
            sparse_ids, sparse_weights = tf.sparse_retain(sparse_ids, positive), tf.sparse_retain(sparse_weights, positive)
    return sparse_ids, sparse_weights
