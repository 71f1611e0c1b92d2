"""Lookup tables that datasets fill."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_spec import TensorSpec
from flowmill.data._base import DatasetBase
from flowmill.data._experimental import assert_cardinality
from flowmill.dtypes import as_dtype
from flowmill.lookup._initializers import Typed, _check_types
from flowmill.lookup._tables import FastHashSpec, HasherSpec, IdTableWithHashBuckets, StaticHashTable


def _check(spec) -> None:
    base = "Datasets used to initialize lookup tables must produce elements in the form (key, value), where the keys and values are scalar tensors. "
    if not isinstance(spec, tuple) or len(spec) != 2:
        count = len(spec) if isinstance(spec, (tuple, dict)) else 1
        raise ValueError(f"{base}However, the given dataset produces {count} components instead of two (key, value) components. Full dataset element "
                         f"spec: {spec}.")
    for label, part in zip(("key", "value"), spec):
        if not isinstance(part, TensorSpec):
            raise ValueError(f"{base}However, the given dataset produces non-Tensor {label}s of type {type(part)}.")
        if part.shape.rank not in (None, 0):
            raise ValueError(f"{base}However, the given dataset produces non-scalar {label} Tensors of rank {part.shape.rank}.")


class DatasetInitializer(Typed):
    """Fills a table with the elements of a dataset: pairs of a key and a value.

    Args:
        dataset: the dataset.

    Raises:
        ValueError: for a dataset of other elements.
    """

    def __init__(self, dataset: DatasetBase):
        _check(dataset.element_spec)
        self.dataset = dataset
        self._key_dtype, self._value_dtype = (part.dtype for part in dataset.element_spec)

    def _tensors(self) -> tuple:
        return (self.dataset._variant_tensor,)

    def initialize(self, table) -> Operation:
        """Returns the operation that fills `table`."""
        _check_types(table, self.key_dtype, self.value_dtype)
        made = call("InitializeTableFromDataset", None, table.resource_handle, self.dataset._variant_tensor)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


def table_from_dataset(dataset: DatasetBase | None = None, num_oov_buckets: int = 0, vocab_size=None, default_value=None,
                       hasher_spec: HasherSpec = FastHashSpec, key_dtype=tf.string, name: str | None = None):
    """Returns a table of the pairs of keys and values that a dataset holds.

    Args:
        dataset: the dataset.
        num_oov_buckets: how many values there are for other keys.
        vocab_size: how many elements the dataset has.
        default_value: the value of other keys, if there are no buckets; -1 for None.
        hasher_spec: how other keys are spread.
        key_dtype: the type of keys: strings or integers.
        name: the name of the operations.

    Raises:
        ValueError: for a dataset of other elements, and for numbers that are not possible.
        TypeError: for keys of another type.
    """
    spec = dataset.element_spec  # type: ignore[union-attr]
    _check(spec)
    key_dtype = as_dtype(key_dtype)
    if default_value is None:
        default_value = -1
        if not (spec[1].dtype.is_integer or spec[1].dtype.is_floating):
            raise ValueError("`default_value` must be specified when creating a table from a dataset that produces values of type "
                             f"{spec[1].dtype}.")
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater than or equal to 0, got {num_oov_buckets}.")
    if vocab_size is not None and not isinstance(vocab_size, Tensor) and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    if not key_dtype.is_integer and key_dtype.base_dtype is not tf.string:
        raise TypeError(f"`key_dtype` must be either an integer or string type, but got {key_dtype}")
    if vocab_size is not None:
        size = tf.cast(vocab_size, tf.int64) if isinstance(vocab_size, Tensor) else vocab_size
        dataset = dataset.take(size).apply(assert_cardinality(size))  # type: ignore[union-attr]
    graph = get_default_graph()
    with graph.name_scope(name or "string_to_index"):
        initializer = DatasetInitializer(dataset)  # type: ignore[arg-type]
        with graph.name_scope("hash_table"):
            table = StaticHashTable(initializer, default_value)
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype) if num_oov_buckets else table


def index_table_from_dataset(dataset: DatasetBase | None = None, num_oov_buckets: int = 0, vocab_size=None, default_value=-1,
                             hasher_spec: HasherSpec = FastHashSpec, key_dtype=tf.string, name: str | None = None):
    """Returns a table from the elements of a dataset to their numbers. Arguments are as for :func:`table_from_dataset`."""
    pairs = dataset.enumerate().map(lambda number, key: (key, number))  # type: ignore[union-attr]
    return table_from_dataset(pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name)
