# Made by python/make_stubs from the code.

import collections
from typing import Any
from flowmill._internal.tensor_shape import TensorShape
from flowmill.feature_column._base import DenseColumn, SequenceDenseColumn, TensorSequenceLengthPair

class _OfCategories(DenseColumn, SequenceDenseColumn):
    @property
    def parents(self) -> list: ...
    @property
    def parse_example_spec(self) -> dict: ...
    def get_dense_tensor(self, transformation_cache, state_manager) -> Any: ...
    def get_sequence_dense_tensor(self, transformation_cache, state_manager) -> TensorSequenceLengthPair: ...
class EmbeddingColumn(_OfCategories, collections.namedtuple('EmbeddingColumn', ('categorical_column', 'dimension', 'combiner', 'initializer', 'ckpt_to_load_from', 'tensor_name_in_ckpt', 'max_norm', 'trainable', 'use_safe_embedding_lookup'), defaults=(True,))):
    @property
    def name(self) -> str: ...
    def transform_feature(self, transformation_cache, state_manager) -> Any: ...
    @property
    def variable_shape(self) -> TensorShape: ...
    def create_state(self, state_manager) -> Any: ...
class SharedEmbeddingColumn(EmbeddingColumn):
    def __new__(cls, shared_embedding_collection_name: str, *fields) -> Any: ...
    __eq__: Any
    __hash__: Any
    @property
    def name(self) -> str: ...
class IndicatorColumn(_OfCategories, collections.namedtuple('IndicatorColumn', ('categorical_column',))):
    @property
    def name(self) -> str: ...
    @property
    def variable_shape(self) -> TensorShape: ...
    def transform_feature(self, transformation_cache, state_manager) -> Any: ...
def embedding_column(
    categorical_column,
    dimension: int,
    combiner: str = 'mean',
    initializer=None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn: ...
def shared_embedding_columns(
    categorical_columns,
    dimension: int,
    combiner: str = 'mean',
    initializer=None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[SharedEmbeddingColumn]: ...
def indicator_column(categorical_column) -> IndicatorColumn: ...
