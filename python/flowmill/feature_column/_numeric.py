"""Columns of numbers."""

from __future__ import annotations

import collections

import numpy as np

import flowmill as tf
from flowmill import nest
from flowmill._internal.apply import call
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, float32
from flowmill.feature_column._base import (
    CategoricalColumn, DenseColumn, IdWeightPair, SequenceDenseColumn, TensorSequenceLengthPair, check_key, lengths_of,
)


class NumericColumn(DenseColumn, collections.namedtuple("NumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn"))):
    """The numbers of a dense feature, as `float32`."""

    @property
    def name(self) -> str:
        return self.key

    @property
    def parents(self) -> list:
        return [self.key]

    @property
    def parse_example_spec(self) -> dict:
        return {self.key: tf.FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transform_feature(self, transformation_cache, state_manager):
        tensor = transformation_cache.get(self.key, state_manager)
        if isinstance(tensor, tf.SparseTensor):
            raise ValueError(f"The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. key: {self.key}")
        return tf.cast(tensor if self.normalizer_fn is None else self.normalizer_fn(tensor), tf.float32)

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape(self.shape)

    def get_dense_tensor(self, transformation_cache, state_manager):
        return transformation_cache.get(self, state_manager)


class BucketizedColumn(DenseColumn, CategoricalColumn, collections.namedtuple("BucketizedColumn", ("source_column", "boundaries"))):
    """The ranges that the numbers of another column are in."""

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parents(self) -> list:
        return [self.source_column]

    @property
    def parse_example_spec(self) -> dict:
        return self.source_column.parse_example_spec

    def transform_feature(self, transformation_cache, state_manager):
        return call("Bucketize", None, transformation_cache.get(self.source_column, state_manager), boundaries=list(self.boundaries))

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape((*self.source_column.shape, len(self.boundaries) + 1))

    def get_dense_tensor(self, transformation_cache, state_manager):
        return tf.one_hot(tf.cast(transformation_cache.get(self, state_manager), tf.int64), len(self.boundaries) + 1, 1.0, 0.0)

    @property
    def num_buckets(self) -> int:
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def get_sparse_tensors(self, transformation_cache, state_manager) -> IdWeightPair:
        buckets = transformation_cache.get(self, state_manager)
        batch, width = tf.shape(buckets)[0], self.source_column.shape[0]
        rows = tf.reshape(tf.tile(tf.expand_dims(tf.range(0, batch), 1), [1, width]), (-1,))
        columns = tf.tile(tf.range(0, width), [batch])
        # Each number of an example has categories of its own.
        ids = tf.reshape(buckets, (-1,)) + (len(self.boundaries) + 1) * columns
        indices = tf.cast(tf.transpose(tf.stack((rows, columns))), tf.int64)
        return IdWeightPair(tf.SparseTensor(indices, ids, tf.cast(tf.stack([batch, width]), tf.int64)), None)


class SequenceNumericColumn(SequenceDenseColumn, collections.namedtuple("SequenceNumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn"))):
    """The numbers of each step of a sparse feature."""

    @property
    def name(self) -> str:
        return self.key

    @property
    def parents(self) -> list:
        return [self.key]

    @property
    def parse_example_spec(self) -> dict:
        return {self.key: tf.VarLenFeature(self.dtype)}

    def transform_feature(self, transformation_cache, state_manager):
        tensor = transformation_cache.get(self.key, state_manager)
        return tensor if self.normalizer_fn is None else self.normalizer_fn(tensor)

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the numbers of a step."""
        return TensorShape(self.shape)

    def get_sequence_dense_tensor(self, transformation_cache, state_manager) -> TensorSequenceLengthPair:
        sparse = transformation_cache.get(self, state_manager)
        dense = tf.sparse_tensor_to_dense(sparse, default_value=self.default_value)
        dense = tf.reshape(dense, tf.concat([tf.shape(dense)[:1], [-1], self.variable_shape.as_list()], 0))
        return TensorSequenceLengthPair(dense, lengths_of(sparse, self.variable_shape.num_elements() if sparse.shape.ndims == 2 else 1))


def numeric_column(key: str, shape=(1,), default_value=None, dtype: DType = float32, normalizer_fn=None) -> NumericColumn:
    """Returns a column of numbers.

    Args:
        key: the name of the feature, which is also that of the column.
        shape: the shape of the numbers of an example, a number for a vector.
        default_value: what examples without the feature have: a number, or numbers in the shape; None if all examples have it.
        dtype: the type of the feature, of numbers.
        normalizer_fn: what to apply to the tensor of the feature, if not None.

    Raises:
        TypeError: for a shape that is not of integers, a default of another type, or a normaliser that cannot be called.
        ValueError: for sizes below 1, or a default of another shape.
    """
    shape = checked_shape(shape, key)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    default_value = _checked_default(shape, default_value, dtype, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    check_key(key)
    return NumericColumn(key, shape, default_value, dtype, normalizer_fn)


def bucketized_column(source_column, boundaries) -> BucketizedColumn:
    """Returns a column of the ranges that numbers are in.

    Args:
        source_column: a :func:`numeric_column` of vectors.
        boundaries: where ranges begin, in ascending order; the first range has no beginning, the last one no end.

    Raises:
        ValueError: for another column, or boundaries that are empty or not in order.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, (list, tuple)) or any(a >= b for a, b in zip(boundaries, boundaries[1:])):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))


def sequence_numeric_column(key: str, shape=(1,), default_value=0.0, dtype: DType = float32, normalizer_fn=None) -> SequenceNumericColumn:
    """Returns a column of the numbers of each step of a sequence.

    Args:
        key: the name of the feature.
        shape: the shape of the numbers of a step.
        default_value: what steps have that an example does not have.
        dtype: the type of the feature, of numbers.
        normalizer_fn: what to apply to the sparse tensor of the feature, if not None.

    Raises:
        TypeError: for a shape that is not of integers, or a normaliser that cannot be called.
        ValueError: for sizes below 1, or another type.
    """
    shape = checked_shape(shape, key)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, shape, default_value, dtype, normalizer_fn)


def checked_shape(shape, key: str) -> tuple[int, ...]:
    """Returns the shape of the numbers of an example.

    Raises:
        TypeError: if a size is no integer.
        ValueError: if a size is below 1.
    """
    shape = tuple(shape) if nest.is_nested(shape) else (shape,)
    for size in shape:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return shape


def _checked_default(shape: tuple[int, ...], value, dtype: DType, key: str):
    """Returns a default as nested tuples in the shape."""
    if value is None:
        return None

    def filled(sizes):
        return (filled(sizes[1:]),) * sizes[0] if sizes else value
    if isinstance(value, int) or isinstance(value, float) and dtype.is_floating:
        return filled(shape)
    value = value.tolist() if callable(getattr(value, "tolist", None)) else value
    if nest.is_nested(value):
        if _shape_of(value) != shape:
            raise ValueError(f"The shape of default_value must be equal to given shape. default_value: {value}, shape: {shape}, key: {key}")
        kinds = set(map(type, nest.flatten(value)))
        if kinds <= {int, bool} or dtype.is_floating and kinds <= {int, bool, float}:
            return _as_tuples(value)
    raise TypeError(f"default_value must be compatible with dtype. default_value: {value}, dtype: {dtype}, key: {key}")


def _shape_of(value) -> tuple[int, ...] | None:
    """Returns the shape of nested lists; None if they have none."""
    try:
        return np.shape(value)
    except ValueError:
        return None


def _as_tuples(value):
    return tuple(map(_as_tuples, value)) if nest.is_nested(value) else value
