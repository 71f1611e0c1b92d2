"""Serialised examples taken apart: `Example` and `SequenceExample` messages."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import flowmill as tf
from flowmill._internal.apply import apply_op, op_scope
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, as_dtype, int64, string
from flowmill.io._features import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, SparseFeature, VarLenFeature
from flowmill.io._ragged_features import ragged_feature
from flowmill.ragged import RaggedTensor
from flowmill.sparse._dense import merge


class _Wanted:
    """Features sorted into what the ops take.

    Attributes:
        sparse: the type of each sparse feature.
        dense: type, shape and default of each dense feature.
        ragged: the types of each ragged feature's values and row splits.
        missing_allowed: whether a sequence's dense feature may lack.
    """

    def __init__(self, features: dict[str, Any], kinds: tuple):
        self.sparse: dict[str, DType] = {}
        self.dense: dict[str, tuple[DType, TensorShape, Any]] = {}
        self.ragged: dict[str, tuple[DType, DType]] = {}
        self.missing_allowed: dict[str, bool] = {}
        for key in sorted(features or {}):
            feature = features[key]
            if not isinstance(feature, kinds):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
            self._add(key, feature)
        self._check_keys()

    def _check_keys(self) -> None:
        for kind, keys, others_kind, others in (
                ("Dense", self.dense, "sparse", self.sparse), ("Dense", self.dense, "ragged", self.ragged),
                ("Ragged", self.ragged, "sparse", self.sparse)):
            both = set(keys) & set(others)
            if both:
                raise ValueError(f"{kind} and {others_kind} keys must not intersect; keys of both: {sorted(both)}")

    def _add(self, key: str, feature) -> None:
        if isinstance(feature, VarLenFeature):
            if not feature.dtype:
                raise ValueError(f"Missing type for feature {key}. Received feature={feature}")
            self._add_sparse(key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            for attribute in ("index_key", "value_key"):
                if not getattr(feature, attribute):
                    raise ValueError(f"Missing {attribute} for SparseFeature {feature}")
            for index_key in _index_keys(feature):
                self._add_sparse(index_key, int64)
            self._add_sparse(feature.value_key, feature.dtype)
        elif isinstance(feature, RaggedFeature):
            self._add_ragged(key if feature.value_key is None else feature.value_key, feature.dtype, feature.row_splits_dtype)
            for partition in feature.partitions:
                if not isinstance(partition, RaggedFeature.UniformRowLength):
                    self._add_ragged(partition.key, int64, feature.row_splits_dtype)
        else:
            self._add_dense(key, feature)

    def _add_sparse(self, key: str, dtype) -> None:
        dtype = as_dtype(dtype)
        if self.sparse.setdefault(key, dtype) is not dtype:
            raise ValueError(f"Conflicting type {dtype} vs {self.sparse[key]} for feature {key}.")

    def _add_ragged(self, key: str, dtype: DType, splits: DType) -> None:
        known_dtype, known_splits = self.ragged.setdefault(key, (dtype, splits))
        if known_dtype is not dtype:
            raise ValueError(f"Conflicting type {known_dtype} vs {dtype} for feature {key}.")
        if known_splits is not splits:
            raise ValueError(f"Conflicting partition type {known_splits} vs {splits} for feature {key}.")

    def _add_dense(self, key: str, feature) -> None:
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
        shape = TensorShape(feature.shape)
        if isinstance(feature, FixedLenSequenceFeature):
            self.missing_allowed[key] = bool(feature.allow_missing)
            self.dense[key] = as_dtype(feature.dtype), shape, feature.default_value
            return
        if shape.rank and shape.as_list()[0] is None:
            raise ValueError(
                f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature. Received feature={feature}.")
        if not shape.is_fully_defined():
            raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {shape}.")
        self.dense[key] = as_dtype(feature.dtype), shape, feature.default_value

    def with_sequences_as_dense(self) -> _Wanted:
        """Makes features of any length dense ones with an unknown first size, as examples have them."""
        for key, allowed in self.missing_allowed.items():
            if not allowed:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            dtype, shape, default = self.dense[key]
            self.dense[key] = dtype, TensorShape([None]).concatenate(shape), default
        return self

    def defaults(self) -> list[Tensor]:
        """Returns a tensor for each dense feature; one without elements if there is no default."""
        return [_default(key, *described) for key, described in self.dense.items()]


def _index_keys(feature: SparseFeature) -> list[str]:
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def _default(key: str, dtype: DType, shape: TensorShape, value) -> Tensor:
    has_any_length = bool(shape.rank) and shape.as_list()[0] is None
    if value is None:
        if not has_any_length:
            return constant([], dtype)
        return convert_to_tensor("" if dtype is string else 0, dtype)
    name = ("padding_" if has_any_length else "key_") + re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
    return tf.reshape(convert_to_tensor(value, dtype, name), [] if has_any_length else shape)


def _checked(features, kinds) -> _Wanted:
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    return _Wanted(features, kinds)


def parse_example(serialized, features, name: str | None = None, example_names=None) -> dict[str, Any]:
    """Examples as tensors by the names of their features.

    Args:
        serialized: the messages, a vector of strings.
        features: what they hold: `FixedLenFeature`, `VarLenFeature`, `SparseFeature`, `FixedLenSequenceFeature` or `RaggedFeature` by name.
        name: the name of the operations.
        example_names: a name for each example, for messages of errors.

    Returns:
        Tensors whose first dimension is that of the batch, SparseTensors for `VarLenFeature` and `SparseFeature`, RaggedTensors for `RaggedFeature`.

    Raises:
        ValueError: for features that do not say enough, or contradict each other.
    """
    kinds = VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature, RaggedFeature
    wanted = _checked(features, kinds).with_sequences_as_dense()
    with op_scope(name, "ParseExample", serialized, example_names):
        serialized = convert_to_tensor(serialized, string, "serialized")
        made = apply_op(
            "ParseExampleV2", name, (
                serialized, [] if example_names is None else example_names, _strings(wanted.sparse), _strings(wanted.dense),
                _strings(wanted.ragged), wanted.defaults()),
            {"num_sparse": len(wanted.sparse), "sparse_types": list(wanted.sparse.values()), "Tdense": [d[0] for d in wanted.dense.values()],
             "dense_shapes": [d[1] for d in wanted.dense.values()], "ragged_value_types": [r[0] for r in wanted.ragged.values()],
             "ragged_split_types": [r[1] for r in wanted.ragged.values()]})
        found = _by_name(wanted, iter(made.outputs), serialized.shape.rank == 0)
    return _with_composite_features(features, found)


def _strings(values):
    return np.array([v.encode() for v in values], object) if values else np.array([], object)


def _take(outputs: Iterator[Tensor], keys) -> list[Tensor]:
    return list(itertools.islice(outputs, len(keys)))


def _sparse(keys, outputs: Iterator[Tensor]) -> dict[str, Any]:
    indices, values, shapes = _take(outputs, keys), _take(outputs, keys), _take(outputs, keys)
    return {key: SparseTensor(*parts) for key, *parts in zip(keys, indices, values, shapes)}


def _by_name(wanted: _Wanted, outputs: Iterator[Tensor], is_single: bool) -> dict[str, Any]:
    """Examples' features by name, of an op's outputs. Ragged ones of one example are the values alone."""
    found = _sparse(wanted.sparse, outputs)
    found.update(zip(wanted.dense, _take(outputs, wanted.dense)))
    values, splits = _take(outputs, wanted.ragged), _take(outputs, wanted.ragged)
    if is_single:
        found.update(zip(wanted.ragged, values))
    elif values:
        found.update((k, RaggedTensor.from_row_splits(v, s, validate=False)) for k, v, s in zip(wanted.ragged, values, splits))
    return found


def _with_composite_features(features, found: dict[str, Any]) -> dict[str, Any]:
    """Puts values of sparse and ragged features to their places; features that only hold the parts of others go."""
    made = dict(found)
    for key in sorted(features or {}):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            places = [found[index_key] for index_key in _index_keys(feature)]
            sizes = [feature.size] if isinstance(feature.index_key, str) else list(feature.size)
            made[key] = merge(places, found[feature.value_key], sizes, already_sorted=feature.already_sorted)
        elif isinstance(feature, RaggedFeature):
            made[key] = ragged_feature(key, feature, found)
    return {key: value for key, value in made.items() if key in (features or {})}


def parse_single_example(serialized, features, name: str | None = None, example_names=None) -> dict[str, Any]:
    """Like :func:`parse_example`, for one example, a scalar; tensors have no batch dimension.

    Raises:
        ValueError: as there, and if `serialized` is no scalar.
    """
    if not features:
        raise ValueError("Missing features.")
    with op_scope(name, "ParseSingleExample", serialized, example_names):
        serialized = convert_to_tensor(serialized, string, "serialized")
        if serialized.shape.rank not in (None, 0):
            raise ValueError("Input serialized must be a scalar")
        return parse_example(serialized, features, name, example_names)


def parse_sequence_example(serialized, context_features=None, sequence_features=None, example_names=None, name: str | None = None):
    """Sequence examples as two dictionaries of tensors by the names of their features, and a third with the lengths of the sequences.

    Args:
        serialized: the messages, a vector of strings.
        context_features: what each of them holds once: `FixedLenFeature`, `VarLenFeature` or `RaggedFeature` by name.
        sequence_features: what its sequences hold: `FixedLenSequenceFeature`, `VarLenFeature` or `RaggedFeature` by name.
        example_names: a name for each example, for messages of errors.
        name: the name of the operations.

    Raises:
        ValueError: if there are no features, or they do not say enough.
    """
    if not (context_features or sequence_features):
        raise ValueError("Both `context_features` and `sequence_features` arguments are None, but at least one should have values.")
    with op_scope(name, "ParseSequenceExample", serialized, example_names):
        serialized = convert_to_tensor(serialized, string, "serialized")
        return _parse_sequences(serialized, context_features, sequence_features, example_names, name)


def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None, name: str | None = None):
    """Like :func:`parse_sequence_example`, for one example, a scalar; returns the first two dictionaries.

    Raises:
        ValueError: as there.
    """
    if not (context_features or sequence_features):
        raise ValueError("Both context_features and sequence_features are None, but at least one should have values.")
    with op_scope(name, "ParseSingleSequenceExample", serialized, example_name):
        serialized = convert_to_tensor(serialized, string, "serialized")
        return _parse_sequences(serialized, context_features, sequence_features, example_name, name)[:2]


def _parse_sequences(serialized: Tensor, context_features, sequence_features, debug_name, name):
    context = _Wanted(context_features, (VarLenFeature, FixedLenFeature, RaggedFeature))
    lists = _Wanted(sequence_features, (VarLenFeature, FixedLenSequenceFeature, RaggedFeature))
    for key, (_, _, default) in lists.dense.items():
        if default is not None:
            raise ValueError(f"Unsupported default_value for feature {key} of a sequence.")
    with op_scope(name, "ParseSequenceExample", serialized):
        defaults = context.defaults()
        made = apply_op(
            "ParseSequenceExampleV2", name, (
                serialized, _strings(()) if debug_name is None else debug_name, _strings(context.sparse), _strings(context.dense),
                _strings(context.ragged), _strings(lists.sparse), _strings(lists.dense), _strings(lists.ragged),
                np.array([lists.missing_allowed[key] for key in lists.dense], bool), defaults),
            {"Ncontext_sparse": len(context.sparse), "context_sparse_types": list(context.sparse.values()),
             "Tcontext_dense": [d[0] for d in context.dense.values()], "context_dense_shapes": [d[1] for d in context.dense.values()],
             "context_ragged_value_types": [r[0] for r in context.ragged.values()],
             "context_ragged_split_types": [r[1] for r in context.ragged.values()],
             "Nfeature_list_sparse": len(lists.sparse), "feature_list_sparse_types": list(lists.sparse.values()),
             "Nfeature_list_dense": len(lists.dense), "feature_list_dense_types": [d[0] for d in lists.dense.values()],
             "feature_list_dense_shapes": [d[1] for d in lists.dense.values()],
             "feature_list_ragged_value_types": [r[0] for r in lists.ragged.values()],
             "feature_list_ragged_split_types": [r[1] for r in lists.ragged.values()]})
    is_single, outputs = serialized.shape.rank == 0, iter(made.outputs)
    found = _by_name(context, outputs, is_single)
    sequences = _sparse(lists.sparse, outputs)
    sequences.update(zip(lists.dense, _take(outputs, lists.dense)))
    lengths = dict(zip(lists.dense, _take(outputs, lists.dense)))
    values, outer, inner = (_take(outputs, lists.ragged) for _ in range(3))
    if values:
        for key, *parts in zip(lists.ragged, values, outer, inner):
            splits = parts[2:] if is_single else parts[1:]
            sequences[key] = RaggedTensor.from_nested_row_splits(parts[0], splits, validate=False)
    return _with_composite_features(context_features, found), _with_composite_features(sequence_features, sequences), lengths
