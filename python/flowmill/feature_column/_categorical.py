"""Columns of categories."""

from __future__ import annotations

import collections

import numpy as np

import flowmill as tf
from flowmill._internal.sparse_tensor import convert_to_tensor_or_sparse_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import DType, as_dtype, float32, string
from flowmill.feature_column._base import (
    CategoricalColumn, FeatureColumn, IdWeightPair, check_compatible, check_key, check_string_or_int, sparse_without,
)
from flowmill.lookup._index import index_table_from_file, index_table_from_tensor


class _KeyedColumn(CategoricalColumn):
    """A column of the categories of one sparse feature; dense features become sparse."""

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
        return self._categories(sparse_without(transformation_cache.get(self.key, state_manager)), state_manager)

    def _categories(self, tensor: tf.SparseTensor, state_manager) -> tf.SparseTensor:
        """Returns the numbers of the categories of the elements."""
        raise NotImplementedError(type(self).__name__)


class HashedCategoricalColumn(_KeyedColumn, collections.namedtuple("HashedCategoricalColumn", ("key", "hash_bucket_size", "dtype"))):
    """Categories by hashes of a feature's elements."""

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def _categories(self, tensor, state_manager):
        check_compatible(self.key, self.dtype, tensor.dtype)
        values = tensor.values if self.dtype is string else tf.as_string(tensor.values)
        return tf.SparseTensor(tensor.indices, tf.string_to_hash_bucket_fast(values, self.hash_bucket_size, name="lookup"), tensor.dense_shape)


class _VocabularyColumn(_KeyedColumn):
    """Categories by a table of the elements that a feature may have."""

    def _categories(self, tensor, state_manager):
        check_compatible(self.key, self.dtype, tensor.dtype)
        if tensor.dtype.is_integer:
            tensor = tf.cast(tensor, tf.int64)
        name = f"{self.key}_lookup"
        if state_manager is not None and state_manager.has_resource(self, name):
            return state_manager.get_resource(self, name).lookup(tensor)
        with tf.init_scope():
            table = self._table(tf.int64 if tensor.dtype.is_integer else self.dtype, name)
        if state_manager is not None:
            state_manager.add_resource(self, name, table)
        return table.lookup(tensor)

    def _table(self, key_dtype: DType, name: str):
        """Returns the table of the categories."""
        raise NotImplementedError(type(self).__name__)


class VocabularyFileCategoricalColumn(_VocabularyColumn, collections.namedtuple("VocabularyFileCategoricalColumn", (
        "key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value", "file_format"), defaults=(None,))):
    """Categories by the lines of a file, or by the records of a compressed one."""

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def _table(self, key_dtype, name):
        if self.file_format != "tfrecord_gzip":
            return index_table_from_file(self.vocabulary_file, self.num_oov_buckets, self.vocabulary_size, self.default_value, key_dtype=key_dtype, name=name)
        records = tf.data.TFRecordDataset(self.vocabulary_file, "GZIP")
        if key_dtype is not string:
            records = records.map(lambda record: tf.string_to_number(record, key_dtype))
        return tf.data.experimental.index_table_from_dataset(records, self.num_oov_buckets, self.vocabulary_size, self.default_value, key_dtype=key_dtype, name=name)


class VocabularyListCategoricalColumn(_VocabularyColumn, collections.namedtuple("VocabularyListCategoricalColumn", (
        "key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"))):
    """Categories by a list of elements."""

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _table(self, key_dtype, name):
        return index_table_from_tensor(self.vocabulary_list, self.num_oov_buckets, self.default_value, dtype=key_dtype, name=name)


class IdentityCategoricalColumn(_KeyedColumn, collections.namedtuple("IdentityCategoricalColumn", ("key", "number_buckets", "default_value"))):
    """Categories that a feature has as their numbers."""

    @property
    def num_buckets(self) -> int:
        return self.number_buckets

    @property
    def parse_example_spec(self) -> dict:
        return {self.key: tf.VarLenFeature(tf.int64)}

    def _categories(self, tensor, state_manager):
        if not tensor.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {tensor.dtype}")
        values = tf.cast(tensor.values, tf.int64, name="values")
        if self.default_value is not None:
            count, zero = tf.cast(self.num_buckets, tf.int64, name="num_buckets"), tf.cast(0, tf.int64, name="zero")
            default = tf.fill(tf.shape(values), tf.cast(self.default_value, tf.int64), name="default_values")
            values = tf.where_v2(tf.logical_or(values < zero, values >= count, name="out_of_range"), default, values)
        return tf.SparseTensor(tensor.indices, values, tensor.dense_shape)


class WeightedCategoricalColumn(CategoricalColumn, collections.namedtuple("WeightedCategoricalColumn", ("categorical_column", "weight_feature_key", "dtype"))):
    """The categories of another column, with weights of a feature."""

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parents(self) -> list:
        return [self.categorical_column, self.weight_feature_key]

    @property
    def parse_example_spec(self) -> dict:
        features = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in features:
            raise ValueError(f"Parse config {features[self.weight_feature_key]} already exists for {self.weight_feature_key}.")
        return features | {self.weight_feature_key: tf.VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform_feature(self, transformation_cache, state_manager):
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        if weights is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        weights = convert_to_tensor_or_sparse_tensor(weights)
        if self.dtype is not weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        if not isinstance(weights, tf.SparseTensor):
            weights = sparse_without(weights, 0.0)
        if not weights.dtype.is_floating:
            weights = tf.cast(weights, tf.float32)
        return sparse_without(transformation_cache.get(self.categorical_column, state_manager)), weights

    def get_sparse_tensors(self, transformation_cache, state_manager) -> IdWeightPair:
        return IdWeightPair(*transformation_cache.get(self, state_manager))


class CrossedColumn(CategoricalColumn, collections.namedtuple("CrossedColumn", ("keys", "hash_bucket_size", "hash_key"))):
    """Categories by hashes of all combinations of the elements of features and columns."""

    @property
    def name(self) -> str:
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self._leaves()))

    @property
    def parents(self) -> list:
        return list(self.keys)

    @property
    def parse_example_spec(self) -> dict:
        features = {}
        for key in self.keys:
            features.update({key: tf.VarLenFeature(string)} if isinstance(key, str) else key.parse_example_spec)
        return features

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform_feature(self, transformation_cache, state_manager):
        tensors = []
        for key in self._leaves():
            if isinstance(key, str):
                tensors.append(transformation_cache.get(key, state_manager))
                continue
            ids, weights = key.get_sparse_tensors(transformation_cache, state_manager)
            if weights is not None:
                raise ValueError(f"crossed_column does not support weight_tensor, but the given column populates weight_tensor. Given column: {key.name}")
            tensors.append(ids)
        return tf.sparse.cross_hashed(tensors, self.hash_bucket_size, self.hash_key)

    def _leaves(self) -> list:
        """Returns the names of features and the columns, those of crossed columns among them."""
        return [leaf for key in self.keys for leaf in (key._leaves() if isinstance(key, CrossedColumn) else [key])]


class SequenceCategoricalColumn(CategoricalColumn, collections.namedtuple("SequenceCategoricalColumn", ("categorical_column",))):
    """The categories of another column, those of each step of a sequence by themselves."""

    @property
    def name(self) -> str:
        return self.categorical_column.name

    @property
    def parents(self) -> list:
        return [self.categorical_column]

    @property
    def parse_example_spec(self) -> dict:
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform_feature(self, transformation_cache, state_manager):
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(self, transformation_cache, state_manager) -> IdWeightPair:
        ids, weights = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        sizes = tf.shape(ids)
        shape = [sizes[0], sizes[1], tf.reduce_prod(sizes[2:])]
        return IdWeightPair(tf.sparse_reshape(ids, shape), None if weights is None else tf.sparse_reshape(weights, shape))


def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: DType = string) -> HashedCategoricalColumn:
    """Returns a column of categories by hashes.

    Args:
        key: the name of the feature, which is also that of the column.
        hash_bucket_size: the number of categories.
        dtype: the type of the feature: strings or integers.

    Raises:
        ValueError: for less than one category, or another type.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    check_key(key)
    check_string_or_int(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


def categorical_column_with_vocabulary_file(key: str, vocabulary_file: str, vocabulary_size: int | None = None, num_oov_buckets: int = 0, default_value=None,
                                            dtype: DType = string) -> VocabularyFileCategoricalColumn:
    """Returns a column of categories by the lines of a file.

    Args:
        key: the name of the feature, which is also that of the column.
        vocabulary_file: the file, with an element a line; a compressed file of records if its name ends in ``tfrecord.gz``.
        vocabulary_size: how many lines count, all if it is None.
        num_oov_buckets: how many more categories there are, by hashes, for elements that are not in the file.
        default_value: the category of elements that are not in the file, -1 if it is None and there are no more categories.
        dtype: the type of the feature: strings or integers.

    Raises:
        ValueError: if there is no such file, or for arguments that do not fit together.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    file_format = "tfrecord_gzip" if vocabulary_file.endswith("tfrecord.gz") else None
    if vocabulary_size is None:
        if not tf.gfile.Exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        if file_format is None:
            with tf.gfile.GFile(vocabulary_file, "rb") as file:
                vocabulary_size = sum(1 for _ in file)
        else:
            vocabulary_size = tf.data.TFRecordDataset(vocabulary_file, "GZIP").reduce(0, lambda count, _: count + 1)
        tf.logging.info("vocabulary_size = %s in %s is inferred from the number of elements in the vocabulary_file %s.", vocabulary_size, key, vocabulary_file)
    if not isinstance(vocabulary_size, Tensor) and vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_others(key, num_oov_buckets, default_value is not None)
    check_string_or_int(dtype, f"column_name: {key}")
    check_key(key)
    return VocabularyFileCategoricalColumn(key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, dtype, -1 if default_value is None else default_value, file_format)


def categorical_column_with_vocabulary_list(key: str, vocabulary_list, dtype: DType | None = None, default_value: int = -1,
                                            num_oov_buckets: int = 0) -> VocabularyListCategoricalColumn:
    """Returns a column of categories by a list.

    Args:
        key: the name of the feature, which is also that of the column.
        vocabulary_list: the elements, strings or integers, all different.
        dtype: the type of the feature, that of the list if it is None.
        default_value: the category of elements that are not in the list.
        num_oov_buckets: how many more categories there are, by hashes, for elements that are not in the list.

    Raises:
        ValueError: for an empty list, equal elements, or arguments that do not fit together.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    own = as_dtype(np.array(vocabulary_list).dtype)
    _check_others(key, num_oov_buckets, default_value != -1)
    check_string_or_int(own, f"column_name: {key} vocabulary")
    if dtype is not None and dtype.is_integer != own.is_integer:
        raise ValueError(f"dtype {dtype} and vocabulary dtype {own} do not match, column_name: {key}")
    dtype = own if dtype is None else dtype
    check_string_or_int(dtype, f"column_name: {key}")
    check_key(key)
    return VocabularyListCategoricalColumn(key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets)


def _check_others(key: str, num_oov_buckets: int | None, has_default: bool) -> None:
    if num_oov_buckets:
        if has_default:
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> IdentityCategoricalColumn:
    """Returns a column of categories whose numbers a feature of integers has.

    Args:
        key: the name of the feature, which is also that of the column.
        num_buckets: the number of categories.
        default_value: the category of numbers out of range; they are errors if it is None.

    Raises:
        ValueError: for less than one category, or a default out of range.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def weighted_categorical_column(categorical_column, weight_feature_key: str, dtype: DType = float32) -> WeightedCategoricalColumn:
    """Returns the categories of a column with weights.

    Args:
        categorical_column: the column.
        weight_feature_key: the name of the feature of the weights.
        dtype: its type, of numbers.

    Raises:
        ValueError: for another type.
    """
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


def crossed_column(keys, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Returns a column of categories by hashes of all combinations of elements.

    Args:
        keys: names of features of strings or integers, and columns of categories that are not hashed, at least two.
        hash_bucket_size: the number of categories.
        hash_key: what the hash depends on.

    Raises:
        ValueError: for less than two keys, less than one category, or other keys.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(f"Unsupported key type. All keys must be either string, or categorical column except HashedCategoricalColumn. Given: {key}")
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError("categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will increase probability of collision. "
                             f"Instead, use the feature name as a string. Given: {key}")
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


def sequence_categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: DType = string) -> SequenceCategoricalColumn:
    """Returns a :func:`categorical_column_with_hash_bucket` of sequences."""
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> SequenceCategoricalColumn:
    """Returns a :func:`categorical_column_with_identity` of sequences."""
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_vocabulary_file(key: str, vocabulary_file: str, vocabulary_size: int | None = None, num_oov_buckets: int = 0,
                                                     default_value=None, dtype: DType = string) -> SequenceCategoricalColumn:
    """Returns a :func:`categorical_column_with_vocabulary_file` of sequences."""
    return SequenceCategoricalColumn(categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype))


def sequence_categorical_column_with_vocabulary_list(key: str, vocabulary_list, dtype: DType | None = None, default_value: int = -1,
                                                     num_oov_buckets: int = 0) -> SequenceCategoricalColumn:
    """Returns a :func:`categorical_column_with_vocabulary_list` of sequences."""
    return SequenceCategoricalColumn(categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets))


def unwrapped(column: FeatureColumn) -> FeatureColumn:
    """Returns the column that weighted and sequence columns are made of."""
    while isinstance(column, (WeightedCategoricalColumn, SequenceCategoricalColumn)):
        column = column.categorical_column
    return column
