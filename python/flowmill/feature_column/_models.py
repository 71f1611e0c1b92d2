"""The functions that take columns: layers of a model's input, and the parsing of examples."""

from __future__ import annotations

from typing import Any

import flowmill as tf
from flowmill._internal.variables import PartitionedVariable
from flowmill.feature_column._base import CategoricalColumn, DenseColumn, FeatureColumn, FeatureTransformationCache, ScopeVariables, normalized


def input_layer(features, feature_columns, weight_collections=None, trainable: bool = True, cols_to_vars: dict | None = None,
                cols_to_output_tensors: dict | None = None) -> tf.Tensor:
    """Returns the numbers of dense columns side by side, in the order of the columns' names: a matrix with a row for each example.

    Args:
        features: tensors, dense or sparse, by the names of features.
        feature_columns: the columns.
        weight_collections: the collections that variables are added to, besides those of global and model variables.
        trainable: whether variables are trainable.
        cols_to_vars: receives the variables of each column, if not None.
        cols_to_output_tensors: receives the tensor of each column, if not None.

    Raises:
        ValueError: for columns that are not dense, no columns, or batches of different sizes.
    """
    columns = normalized(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError("Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an embedding_column or indicator_column. "
                             f"Given: {column}")
    collections = _collections(weight_collections)
    with tf.variable_scope(None, default_name="input_layer", values=features.values()):
        cache, tensors = FeatureTransformationCache(features), []
        columns = sorted(columns, key=lambda column: column.name)
        for column in columns:
            with tf.variable_scope(None, default_name=column._var_scope_name) as scope:
                tensor = column._get_dense_tensor(cache, collections, trainable)
                tensors.append(_flat(tensor, column))
                if cols_to_vars is not None:
                    cols_to_vars[column] = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=scope.name)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = tensors[-1]
        _check_batches(tensors, columns)
        return tf.concat(tensors, 1)


def linear_model(features, feature_columns, units: int = 1, sparse_combiner: str = "sum", weight_collections=None, trainable: bool = True,
                 cols_to_vars: dict | None = None) -> tf.Tensor:
    """Returns weighted sums of columns plus a bias: a matrix with a row for each example.

    Args:
        features: tensors, dense or sparse, by the names of features.
        feature_columns: the columns, dense ones and ones of categories.
        units: the number of sums of an example.
        sparse_combiner: how the weights of several categories of a column become one: ``"sum"``, ``"mean"``, ``"sqrtn"``.
        weight_collections: the collections that variables are added to, besides those of global and model variables.
        trainable: whether variables are trainable.
        cols_to_vars: receives the variables of each column, and those of ``"bias"``, if not None.

    Raises:
        ValueError: for other columns, no columns, or batches of different sizes.
    """
    columns = normalized(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(f"Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. Given: {column}")
    collections = _collections(weight_collections)
    with tf.variable_scope(None, "linear_model"):
        cache, sums = FeatureTransformationCache(features), []
        columns = sorted(columns, key=lambda column: column.name)
        for column in columns:
            with tf.variable_scope(None, default_name=column._var_scope_name) as scope:
                sums.append(_weighted_sum(column, cache, units, sparse_combiner, collections, trainable))
                if cols_to_vars is not None:
                    cols_to_vars[column] = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=scope.name)
        _check_batches(sums, columns)
        bias = _weights("bias_weights", [units], collections, trainable)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = list(bias) if isinstance(bias, PartitionedVariable) else [bias]
        return tf.nn.bias_add(tf.add_n(sums, name="weighted_sum_no_bias"), tf.convert_to_tensor(bias), name="weighted_sum")


def _weighted_sum(column, cache: FeatureTransformationCache, units: int, combiner: str, collections: list, trainable: bool) -> tf.Tensor:
    if not isinstance(column, CategoricalColumn):
        tensor = _flat(column._get_dense_tensor(cache, collections, trainable), column)
        return tf.matmul(tensor, tf.convert_to_tensor(_weights("weights", [column._variable_shape.num_elements(), units], collections, trainable)), name="weighted_sum")
    weights = _weights("weights", (column._num_buckets, units), collections, trainable)
    pair = column.get_sparse_tensors(cache, ScopeVariables(collections, trainable))
    ids, factors = (None if t is None else tf.sparse_reshape(t, [tf.shape(t)[0], -1]) for t in pair)
    return tf.nn.safe_embedding_lookup_sparse(weights, ids, factors, combiner, name="weighted_sum")


def _weights(name: str, shape, collections: list, trainable: bool):
    return tf.get_variable(name, shape, initializer=tf.zeros_initializer(), trainable=trainable, collections=collections)


def _collections(given) -> list:
    always = [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES]
    return list(given or []) + [name for name in always if name not in (given or [])]


def _flat(tensor, column: DenseColumn) -> tf.Tensor:
    return tf.reshape(tensor, (tf.shape(tensor)[0], column._variable_shape.num_elements()))


def _check_batches(tensors: list, columns: list[FeatureColumn]) -> None:
    """Raises ValueError if the sizes of batches are known to differ."""
    known = [(tensor.shape.as_list()[0], column) for tensor, column in zip(tensors, columns) if tensor.shape.as_list()[0] is not None]
    for size, column in known:
        if size != known[0][0]:
            raise ValueError("Batch size (first dimension) of each feature must be same. Batch size of columns "
                             f"({known[0][1].name}, {column.name}): ({known[0][0]}, {size})")


def make_parse_example_spec(feature_columns) -> dict[str, Any]:
    """Returns the features that columns need, for :func:`flowmill.io.parse_example`.

    Raises:
        ValueError: for something else than columns, or columns that need one feature in different ways.
    """
    found: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be _FeatureColumn instances. Given: {column}")
        for key, value in column._parse_example_spec.items():
            if found.setdefault(key, value) != value:
                raise ValueError(f"feature_columns contain different parse_spec for key {key}. Given {value} and {found[key]}")
    return found
