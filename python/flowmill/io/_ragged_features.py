"""Ragged tensors of the features that ops read: values in rows as other features say."""

from __future__ import annotations

from typing import Any

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.io._features import RaggedFeature
from flowmill.ragged import RaggedTensor


def ragged_feature(key: str, feature: RaggedFeature, found: dict[str, Any]) -> Any:
    """Makes a ragged feature of the features read by name: a tensor for one example, a RaggedTensor for several examples and for sequences."""
    values = found[key if feature.value_key is None else feature.value_key]
    if not isinstance(values, RaggedTensor):
        for partition in reversed(feature.partitions):
            values = _in_rows(values, partition, found, feature)
        return values
    # Of several sequences, examples and steps are one dimension meanwhile.
    outer_splits = values.row_splits if values.ragged_rank > 1 else None
    if outer_splits is not None:
        values = values.values
    for partition in reversed(feature.partitions):
        values = _in_rows_of_batch(values, partition, found, key, feature, outer_splits)
    return values if outer_splits is None else RaggedTensor.from_row_splits(values, outer_splits, validate=feature.validate)


_ROWS = {
    RaggedFeature.RowSplits: RaggedTensor.from_row_splits,
    RaggedFeature.RowLengths: RaggedTensor.from_row_lengths,
    RaggedFeature.RowStarts: RaggedTensor.from_row_starts,
    RaggedFeature.RowLimits: RaggedTensor.from_row_limits,
    RaggedFeature.ValueRowIds: RaggedTensor.from_value_rowids,
}


def _in_rows(values, partition, found: dict[str, Any], feature: RaggedFeature):
    if not isinstance(partition, RaggedFeature.UniformRowLength):
        of = tf.cast(found[partition.key], feature.row_splits_dtype)
        return _ROWS[type(partition)](values, of, validate=feature.validate)
    if isinstance(values, RaggedTensor):
        return RaggedTensor.from_uniform_row_length(
            values, convert_to_tensor(partition.length, feature.row_splits_dtype), validate=feature.validate)
    return _reshaped(values, partition.length)


def _reshaped(values: Tensor, length: int) -> Tensor:
    return tf.reshape(values, tf.concat([[-1, length], tf.shape(values)[1:]], axis=0))


def _in_rows_of_batch(batch: RaggedTensor, partition, found: dict[str, Any], key: str, feature: RaggedFeature, outer_splits: Tensor | None):
    """Divides each element of a batch into rows, as the same element of the partition's feature says."""
    validate = feature.validate
    if isinstance(partition, RaggedFeature.UniformRowLength):
        if batch.ragged_rank > 1:
            length = convert_to_tensor(partition.length, batch.row_splits.dtype)
            rows = RaggedTensor.from_uniform_row_length(batch.values, length, validate=validate)
            return RaggedTensor.from_row_splits(rows, batch.row_splits // length, validate=validate)
        rows = _reshaped(batch.values, partition.length)
        return RaggedTensor.from_row_splits(rows, batch.row_splits // partition.length, validate=validate)

    of = found[partition.key]
    if of.values.dtype != batch.row_splits.dtype:
        of = tf.cast(of, batch.row_splits.dtype)
    checks = []
    if outer_splits is not None:
        if validate:
            message = f"Feature {key}: values and partitions are not aligned"
            checks.append(tf.debugging.assert_equal(outer_splits, of.row_splits, message=message))
        of = of.values

    def within_batch(places: Tensor) -> Tensor:
        """Places within elements as places among all values."""
        return places + tf.repeat(batch.row_starts(), of.row_lengths())

    kind = type(partition)
    with tf.control_dependencies(checks):
        if kind is RaggedFeature.RowSplits:
            of, kind = of[:, 1:], RaggedFeature.RowLimits
        if kind is RaggedFeature.RowLengths:
            return of.with_values(RaggedTensor.from_row_lengths(batch.values, of.values, validate=validate))
        if kind is not RaggedFeature.ValueRowIds:
            return of.with_values(_ROWS[kind](batch.values, within_batch(of.values), validate=validate))
        num_rows = tf.maximum(tf.reduce_max(of + 1, axis=1), 0)
        row_ids = of.values + tf.repeat(tf.cumsum(num_rows, exclusive=True), of.row_lengths())
        rows = RaggedTensor.from_value_rowids(batch.values, row_ids, validate=validate)
        return RaggedTensor.from_row_lengths(rows, num_rows, validate=validate)
