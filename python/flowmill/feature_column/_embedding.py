"""Columns of categories made dense: rows of a table of variables, or counts."""

from __future__ import annotations

import collections
import math

import flowmill as tf
from flowmill._internal.init_ops import truncated_normal_initializer
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variables import PartitionedVariable
from flowmill.feature_column._base import CategoricalColumn, DenseColumn, SequenceDenseColumn, TensorSequenceLengthPair, lengths_of
from flowmill.feature_column._categorical import SequenceCategoricalColumn, unwrapped


class _OfCategories(DenseColumn, SequenceDenseColumn):
    """A dense column of the categories of another column, which is of sequences or not."""

    @property
    def parents(self) -> list:
        return [self.categorical_column]

    @property
    def parse_example_spec(self) -> dict:
        return self.categorical_column.parse_example_spec

    def get_dense_tensor(self, transformation_cache, state_manager):
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(
                f"In {self._kind}: {self.name}. categorical_column must not be of type SequenceCategoricalColumn. Suggested fix A: If you wish to use "
                "DenseFeatures, use a non-sequence categorical_column_with_*. Suggested fix B: If you wish to create sequence input, use SequenceFeatures instead "
                f"of DenseFeatures. Given (type {type(self.categorical_column)}): {self.categorical_column}")
        return self._dense(transformation_cache, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache, state_manager) -> TensorSequenceLengthPair:
        if not isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(
                f"In {self._kind}: {self.name}. categorical_column must be of type SequenceCategoricalColumn to use SequenceFeatures. Suggested fix: Use one of "
                f"sequence_categorical_column_with_*. Given (type {type(self.categorical_column)}): {self.categorical_column}")
        dense = self._dense(transformation_cache, state_manager)
        ids, _ = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return TensorSequenceLengthPair(dense, lengths_of(ids))

    def _dense(self, transformation_cache, state_manager):
        raise NotImplementedError(type(self).__name__)


class EmbeddingColumn(_OfCategories, collections.namedtuple("EmbeddingColumn", (
        "categorical_column", "dimension", "combiner", "initializer", "ckpt_to_load_from", "tensor_name_in_ckpt", "max_norm", "trainable",
        "use_safe_embedding_lookup"), defaults=(True,))):
    """Rows of a variable for the categories, combined to one for each example."""

    _kind = "embedding_column"

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    def transform_feature(self, transformation_cache, state_manager):
        return transformation_cache.get(self.categorical_column, state_manager)

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([self.dimension])

    def create_state(self, state_manager):
        return state_manager.create_variable(self, "embedding_weights", (self.categorical_column.num_buckets, self.dimension), tf.float32, self.trainable, True,
                                             self.initializer)

    def _dense(self, transformation_cache, state_manager):
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return self._looked_up(pair, state_manager.get_variable(self, "embedding_weights"))

    def _looked_up(self, pair, weights):
        if self.ckpt_to_load_from is not None:
            whole = weights._get_variable_list() if isinstance(weights, PartitionedVariable) else weights
            tf.train.init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: whole})
        rank = pair.id_tensor.shape.rank
        is_plain = not self.use_safe_embedding_lookup and rank is not None and rank <= 2
        lookup = tf.nn.embedding_lookup_sparse if is_plain else tf.nn.safe_embedding_lookup_sparse
        return lookup(weights, pair.id_tensor, pair.weight_tensor, combiner=self.combiner, name=f"{self.name}_weights", max_norm=self.max_norm)


class SharedEmbeddingColumn(EmbeddingColumn):
    """Rows of a variable that several columns share: the only one in a collection of the graph.

    The first column that needs the variable makes it.
    """

    def __new__(cls, shared_embedding_collection_name: str, *fields):
        made = super().__new__(cls, *fields)
        made.shared_embedding_collection_name = shared_embedding_collection_name
        return made

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _var_scope_name(self) -> str:
        return self.shared_embedding_collection_name

    def _dense(self, transformation_cache, state_manager):
        with tf.name_scope(None, default_name=self.name):
            pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
            return self._looked_up(pair, self._shared_variable(state_manager))

    def _shared_variable(self, state_manager):
        shape = (self.categorical_column.num_buckets, self.dimension)
        found = tf.get_collection(self.shared_embedding_collection_name)
        fixes = ("Suggested fix A: Choose a unique name for this collection. Suggested fix B: Do not add any variables to this collection. The feature_column "
                 "library already adds a variable under the hood.")
        if len(found) > 1:
            raise ValueError(f"Collection {found} can only contain one variable. {fixes}")
        if not found:
            made = state_manager.get_variable(self, "embedding_weights")
            tf.add_to_collection(self.shared_embedding_collection_name, made)
            return made
        if found[0].get_shape() != shape:
            raise ValueError(f"Shared embedding collection {self.shared_embedding_collection_name} contains variable {found[0].name} of unexpected shape "
                             f"{found[0].get_shape()}. Expected shape is {shape}. {fixes}")
        return found[0]


class IndicatorColumn(_OfCategories, collections.namedtuple("IndicatorColumn", ("categorical_column",))):
    """A number for each category: how often an example has it, or the sum of its weights."""

    _kind = "indicator_column"

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(self, transformation_cache, state_manager):
        ids, weights = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        size = self.variable_shape.as_list()[-1]
        if weights is not None:
            weighted = tf.sparse_merge(ids, weights, int(size))
            # Categories out of range do not count.
            weighted = tf.sparse_slice(weighted, [0, 0], weighted.dense_shape)
            return tf.scatter_nd(weighted.indices, weighted.values, weighted.dense_shape)
        dense = tf.sparse_tensor_to_dense(ids, default_value=-1)
        return tf.reduce_sum(tf.one_hot(dense, size, 1.0, 0.0), axis=[-2])

    def _dense(self, transformation_cache, state_manager):
        return transformation_cache.get(self, state_manager)


def _initializer_of(dimension: int, initializer, ckpt_to_load_from, tensor_name_in_ckpt, what: str):
    """Returns the initialiser of a variable of embeddings, after a check of the arguments."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified.{what}")
    return truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(dimension)) if initializer is None else initializer


def embedding_column(categorical_column, dimension: int, combiner: str = "mean", initializer=None, ckpt_to_load_from: str | None = None,
                     tensor_name_in_ckpt: str | None = None, max_norm: float | None = None, trainable: bool = True,
                     use_safe_embedding_lookup: bool = True) -> EmbeddingColumn:
    """Returns a dense column of rows of a variable for categories.

    Args:
        categorical_column: the column of categories.
        dimension: the size of rows.
        combiner: how rows become one: ``"mean"``, ``"sqrtn"``, ``"sum"``.
        initializer: the initialiser of the variable, a truncated normal distribution if it is None.
        ckpt_to_load_from: the checkpoint that the variable is read from, if not None.
        tensor_name_in_ckpt: the variable's name there.
        max_norm: the greatest norm of rows, if not None.
        trainable: whether the variable is trainable.
        use_safe_embedding_lookup: allows examples without categories, and invalid ones.

    Raises:
        ValueError: for a size below 1, an initialiser that cannot be called, or only one of a checkpoint and a name there.
    """
    what = f" Embedding of column_name: {getattr(categorical_column, 'name', categorical_column)}"
    initializer = _initializer_of(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, what)
    return EmbeddingColumn(categorical_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, use_safe_embedding_lookup)


def shared_embedding_columns(categorical_columns, dimension: int, combiner: str = "mean", initializer=None, shared_embedding_collection_name: str | None = None,
                             ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None, max_norm: float | None = None, trainable: bool = True,
                             use_safe_embedding_lookup: bool = True) -> list[SharedEmbeddingColumn]:
    """Returns a dense column for each of some columns of categories; they share a variable.

    Args:
        categorical_columns: the columns, of one kind and as many categories each.
        dimension: the size of rows.
        combiner: how rows become one: ``"mean"``, ``"sqrtn"``, ``"sum"``.
        initializer: the initialiser of the variable, a truncated normal distribution if it is None.
        shared_embedding_collection_name: the collection that the variable is in, made of the names of the columns if it is None.
        ckpt_to_load_from: the checkpoint that the variable is read from, if not None.
        tensor_name_in_ckpt: the variable's name there.
        max_norm: the greatest norm of rows, if not None.
        trainable: whether the variable is trainable.
        use_safe_embedding_lookup: allows examples without categories, and invalid ones.

    Raises:
        ValueError: for columns that cannot share, and as :func:`embedding_column`.
    """
    initializer = _initializer_of(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, "")
    first, *others = ordered = sorted(categorical_columns, key=lambda column: column.name)
    if not isinstance(first, CategoricalColumn):
        raise ValueError(f"All categorical_columns must be subclasses of _CategoricalColumn. Given: {first}, of type: {type(first)}")
    inner, count = unwrapped(first), first.num_buckets
    for column in map(unwrapped, others):
        if not isinstance(column, type(inner)):
            raise ValueError("To use shared_embedding_column, all categorical_columns must have the same type, or be weighted_categorical_column or sequence column "
                             f"of the same type. Given column: {inner} of type: {type(inner)} does not match given column: {column} of type: {type(column)}")
        if column.num_buckets != count:
            raise ValueError("To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given column: "
                             f"{inner} with buckets: {count} does  not match column: {column} with buckets: {column.num_buckets}")
    name = shared_embedding_collection_name or "_".join(column.name for column in ordered) + "_shared_embedding"
    return [SharedEmbeddingColumn(name, column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable,
                                  use_safe_embedding_lookup) for column in categorical_columns]


def indicator_column(categorical_column) -> IndicatorColumn:
    """Returns a dense column with a number for each category.

    Raises:
        ValueError: for another column than one of categories.
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(f"Unsupported input type. Input must be a CategoricalColumn. Given: {categorical_column}")
    return IndicatorColumn(categorical_column)
