"""The classes of feature columns, and the cache in which they find the tensors that they are made of."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from typing import Any

import flowmill as tf
from flowmill._internal.sparse_tensor import convert_to_tensor_or_sparse_tensor
from flowmill._internal.tensor_shape import TensorShape

IdWeightPair = collections.namedtuple("IdWeightPair", ["id_tensor", "weight_tensor"])
TensorSequenceLengthPair = collections.namedtuple("TensorSequenceLengthPair", ["dense_tensor", "sequence_length"])


class FeatureColumn:
    """A column of a model's input: it says which features it is made of, and how.

    A kind of column defines `name`, `parse_example_spec`, `parents` and `transform_feature`. The methods that begin with an underscore are those of
    before columns were given a state manager: they take the variables from the scope.
    """

    _is_v2_column = True

    def __init_subclass__(cls, **options) -> None:
        """Documents what a kind of column defines as the class that declares it does."""
        super().__init_subclass__(**options)
        for name, member in vars(cls).items():
            if not name.startswith("_") and not member.__doc__:
                member.__doc__ = next((vars(base)[name].__doc__ for base in cls.__mro__[1:] if name in vars(base)), None)

    @property
    def name(self) -> str:
        """The name, which no other column of a model has."""
        raise NotImplementedError(f"{type(self).__name__}.name")

    @property
    def parents(self) -> list:
        """The columns and the names of features that it is made of."""
        raise NotImplementedError(f"{type(self).__name__}.parents")

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of an `Example` that it needs, by their names."""
        raise NotImplementedError(f"{type(self).__name__}.parse_example_spec")

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager) -> Any:
        """Returns the tensors of the column, which the cache keeps."""
        raise NotImplementedError(f"{type(self).__name__}.transform_feature")

    def create_state(self, state_manager) -> None:
        """Makes the variables of the column: none."""

    @property
    def _var_scope_name(self) -> str:
        return re.sub(r"[^A-Za-z0-9_.\-]", "_", self.name)

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    def _transform_feature(self, inputs):
        return self.transform_feature(inputs, None)

    def __lt__(self, other):
        return str(self) < str(other)

    def __gt__(self, other):
        return str(self) > str(other)


class DenseColumn(FeatureColumn):
    """A column whose tensor has a row of numbers for each example."""

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the numbers of an example."""
        raise NotImplementedError(f"{type(self).__name__}.variable_shape")

    def get_dense_tensor(self, transformation_cache: FeatureTransformationCache, state_manager) -> Any:
        """Returns the tensor, of shape ``[batch] + variable_shape``."""
        raise NotImplementedError(f"{type(self).__name__}.get_dense_tensor")

    @property
    def _variable_shape(self) -> TensorShape:
        return self.variable_shape

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable: bool = True):
        return self.get_dense_tensor(inputs, ScopeVariables(weight_collections, trainable))


class SequenceDenseColumn(FeatureColumn):
    """A column whose tensor has a row of numbers for each step of each example."""

    TensorSequenceLengthPair = TensorSequenceLengthPair

    def get_sequence_dense_tensor(self, transformation_cache: FeatureTransformationCache, state_manager) -> TensorSequenceLengthPair:
        """Returns the tensor, of shape ``[batch, steps, ...]``, and the number of steps of each example."""
        raise NotImplementedError(f"{type(self).__name__}.get_sequence_dense_tensor")

    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable: bool = True):
        return self.get_sequence_dense_tensor(inputs, ScopeVariables(weight_collections, trainable))


class CategoricalColumn(FeatureColumn):
    """A column of the numbers of categories."""

    IdWeightPair = IdWeightPair

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        raise NotImplementedError(f"{type(self).__name__}.num_buckets")

    def get_sparse_tensors(self, transformation_cache: FeatureTransformationCache, state_manager) -> IdWeightPair:
        """Returns the sparse tensors of the categories of each example and of their weights, None for weights of one."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)

    @property
    def _num_buckets(self) -> int:
        return self.num_buckets

    def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        return self.get_sparse_tensors(inputs, None)


class FeatureTransformationCache:
    """The tensors of features and columns, each made once.

    Args:
        features: tensors, dense or sparse, by the names of features.
    """

    def __init__(self, features) -> None:
        self._features, self._tensors = dict(features), {}

    def get(self, key, state_manager=None, training=None) -> Any:
        """Returns the tensor of a feature, as a matrix if it is a vector, or the tensors of a column.

        Raises:
            ValueError: if there is no such feature, or it is a scalar.
            TypeError: if `key` is neither a name nor a column.
        """
        if key not in self._tensors:
            self._tensors[key] = self._feature(key) if key in self._features else self._transformed(key, state_manager)
        return self._tensors[key]

    def _transformed(self, column, state_manager):
        if isinstance(column, str):
            raise ValueError(f"Feature {column} is not in features dictionary.")
        if not isinstance(column, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {column}')
        # A program's own column may define the method of before there were state managers.
        is_old = type(column).transform_feature is FeatureColumn.transform_feature
        made = column._transform_feature(self) if is_old else column.transform_feature(self, state_manager)
        if made is None:
            raise ValueError(f"Column {column.name} is not supported.")
        return made

    def _feature(self, key: str):
        tensor = convert_to_tensor_or_sparse_tensor(self._features[key])

        def as_matrix():
            if isinstance(tensor, tf.SparseTensor):
                return tf.sparse_reshape(tensor, [tf.shape(tensor)[0], 1])
            return tf.expand_dims(tensor, -1)
        rank = tensor.get_shape().ndims
        message = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"
        if rank == 0:
            raise ValueError(message)
        if rank is not None:
            return tensor if rank > 1 else as_matrix()
        with tf.control_dependencies([tf.assert_positive(tf.rank(tensor), message=message)]):
            return tf.cond(tf.equal(1, tf.rank(tensor)), as_matrix, lambda: tensor)


class StateManager:
    """The variables and tables of columns, by their names. This class only says which methods one has."""

    def create_variable(self, feature_column, name: str, shape, dtype=None, trainable: bool = True, use_resource: bool = True, initializer=None) -> Any:
        """Makes a variable of a column, and returns it."""
        raise NotImplementedError("StateManager.create_variable")

    def add_variable(self, feature_column, var) -> None:
        """Adds a variable to a column."""
        raise NotImplementedError("StateManager.add_variable")

    def get_variable(self, feature_column, name: str) -> Any:
        """Returns a variable of a column."""
        raise NotImplementedError("StateManager.get_var")

    def add_resource(self, feature_column, name: str, resource) -> None:
        """Adds a table to a column."""
        raise NotImplementedError("StateManager.add_resource")

    def has_resource(self, feature_column, name: str) -> bool:
        """Returns true if a column has a table of a name."""
        raise NotImplementedError("StateManager.has_resource")

    def get_resource(self, feature_column, name: str) -> Any:
        """Returns a table of a column."""
        raise NotImplementedError("StateManager.get_resource")


class ScopeVariables(StateManager):
    """The variables of the current variable scope: columns make theirs when they ask for them.

    Args:
        collections: the collections that the variables are added to, the global variables if it is None.
        trainable: whether variables are trainable if their columns say so.
    """

    def __init__(self, collections=None, trainable: bool | None = True) -> None:
        if collections and tf.GraphKeys.GLOBAL_VARIABLES not in collections:
            collections.append(tf.GraphKeys.GLOBAL_VARIABLES)
        self._collections, self._trainable = collections, True if trainable is None else bool(trainable)

    def create_variable(self, feature_column, name: str, shape, dtype=None, trainable: bool = True, use_resource: bool = True, initializer=None) -> Any:
        """Makes a variable of a column in the current scope, and returns it."""
        return tf.get_variable(name, shape, dtype or tf.float32, initializer, trainable=self._trainable and trainable, collections=self._collections)

    def get_variable(self, feature_column, name: str) -> Any:
        """Makes the variable of a column, and returns it."""
        return feature_column.create_state(self)

    def has_resource(self, feature_column, name: str) -> bool:
        """Returns false: each layer makes its tables."""
        return False

    def add_resource(self, feature_column, name: str, resource) -> None:
        """Does nothing: the graph keeps tables."""


def normalized(columns) -> list[FeatureColumn]:
    """Returns columns as a list.

    Raises:
        ValueError: for anything else than columns, no columns, or two of the same name.
    """
    columns = [columns] if isinstance(columns, FeatureColumn) else list(columns) if isinstance(columns, Iterator) else columns
    if isinstance(columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"Items of feature_columns must be a _FeatureColumn. Given (type {type(column)}): {column}.")
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, FeatureColumn] = {}
    for column in columns:
        if column.name in by_name:
            raise ValueError(f"Duplicate feature column name found for columns: {column} and {by_name[column.name]}. This usually means that these columns refer to "
                             "same base feature. Either one must be discarded or a duplicated but renamed item must be inserted in features dict.")
        by_name[column.name] = column
    return list(columns)


def sparse_without(tensor, ignored=None) -> tf.SparseTensor:
    """Returns a tensor as a sparse one without the elements that mean no value: ``""`` of strings, -1 of integers, 0 of other numbers."""
    tensor = convert_to_tensor_or_sparse_tensor(tensor)
    if isinstance(tensor, tf.SparseTensor):
        return tensor
    with tf.name_scope(None, "to_sparse_input", (tensor, ignored)):
        if ignored is None:
            ignored = "" if tensor.dtype.base_dtype is tf.string else -1 if tensor.dtype.is_integer else tensor.dtype.as_numpy_dtype()
        ignored = tf.cast(ignored, tensor.dtype, name="ignore_value")
        indices = tf.where(tf.not_equal(tensor, ignored), name="indices")
        return tf.SparseTensor(indices, tf.gather_nd(tensor, indices, name="values"), tf.shape(tensor, name="dense_shape", out_type=tf.int64))


def lengths_of(tensor: tf.SparseTensor, num_elements: int = 1):
    """Returns the number of steps of each example of a sparse tensor, each of which has `num_elements` along the second dimension."""
    with tf.name_scope(None, "sequence_length"):
        rows, columns = tensor.indices[:, 0], tensor.indices[:, 1] + 1
        lengths = tf.cast(tf.ceil(tf.segment_max(columns, rows) / num_elements), tf.int64)
        missing = tf.maximum(tensor.dense_shape[0] - tf.shape(lengths, out_type=tf.int64)[0], 0)
        return tf.concat([lengths, tf.zeros(tf.expand_dims(missing, 0), lengths.dtype)], 0)


def check_key(key) -> None:
    """Raises ValueError if the name of a feature is no string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_string_or_int(dtype, prefix: str) -> None:
    """Raises ValueError for types of other elements than strings and integers."""
    if dtype.base_dtype is not tf.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def check_compatible(key: str, dtype, tensor_dtype) -> None:
    """Raises ValueError if a column is of strings and its feature of integers, or the other way round."""
    if dtype.is_integer != tensor_dtype.is_integer:
        raise ValueError(f"Column dtype and SparseTensors dtype must be compatible. key: {key}, column dtype: {dtype}, tensor dtype: {tensor_dtype}")
    check_string_or_int(tensor_dtype, f"column_name: {key} input_tensor")
