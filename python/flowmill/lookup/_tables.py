"""Tables that never change once they are filled, and words to numbers."""

from __future__ import annotations

import collections
import uuid
from typing import Any

import flowmill as tf
from flowmill._internal.apply import call, op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import is_ragged, of_values
from flowmill._internal.graph import get_default_graph
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.template import init_scope, outside_of_branches
from flowmill._internal.tensor import Operation, Tensor
from flowmill.dtypes import as_dtype
from flowmill.lookup._initializers import Typed


class Table(Typed):
    """The base class of tables: types, a handle, functions that look up keys."""

    # The number of dimensions of a key.
    _key_rank = 0

    def __init__(self, key_dtype, value_dtype) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype).base_dtype, as_dtype(value_dtype).base_dtype

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self._name

    @property
    def resource_handle(self) -> Tensor:
        """The table's handle."""
        return self._handle

    def __getitem__(self, keys) -> Any:
        return self.lookup(keys)

    def _checked(self, keys) -> Tensor:
        if keys.dtype.base_dtype is not self._key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype}, received: {keys.dtype}")
        return keys

    def _found(self, keys: Tensor, default) -> Tensor:
        """Returns the operation that looks keys up. What it gives has their shape, and that of the values behind it."""
        found = call("LookupTableFindV2", None, self._handle, keys, default)
        if keys.shape.rank is not None:
            found.set_shape(keys.shape[:keys.shape.rank - self._key_rank].concatenate(self._default_value.shape))
        return found


class StaticHashTable(Table):
    """A table that never changes once it is filled.

    Args:
        initializer: what fills it, which ``tf.tables_initializer()`` runs.
        default_value: the value of a key that it does not hold.
        name: its name.
    """

    def __init__(self, initializer, default_value, name: str | None = None, experimental_is_anonymous: bool = False):
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert_to_tensor(default_value, self._value_dtype)
        self._default_value.shape.assert_is_compatible_with([])
        shared_name = getattr(initializer, "_shared_name", None) or f"hash_table_{uuid.uuid4()}"
        with init_scope():
            self._handle = call("HashTableV2", name or "hash_table", shared_name=shared_name, key_dtype=self._key_dtype, value_dtype=self._value_dtype)
        self._name = self._handle.op.name.split("/")[-1]
        with outside_of_branches(get_default_graph(), *initializer._tensors()):
            self._initializer = initializer.initialize(self)

    @property
    def initializer(self) -> Operation:
        """The operation that fills it."""
        return self._initializer

    @property
    def default_value(self) -> Tensor:
        """The value of a key that it does not hold."""
        return self._default_value

    def lookup(self, keys, name: str | None = None):
        """Returns the values of keys: a tensor, or a SparseTensor or RaggedTensor for one.

        Raises:
            TypeError: if the keys are of another type.
        """
        if is_ragged(keys):
            return of_values(lambda values: self.lookup(values, name), keys)
        if isinstance(keys, SparseTensor):
            with op_scope(name, f"{self._name}_Lookup", self._handle):
                values = self._found(self._checked(keys).values, self._default_value)
            return SparseTensor(keys.indices, values, keys.dense_shape)
        keys = self._checked(convert_to_tensor(keys, self._key_dtype if not hasattr(keys, "dtype") else None, "keys"))
        with op_scope(name, f"{self._name}_Lookup", self._handle):
            return self._found(keys, self._default_value)

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of keys, int64."""
        with op_scope(name, f"{self._name}_Size", self._handle):
            return call("LookupTableSizeV2", None, self._handle)

    def export(self, name: str | None = None):
        """Returns all keys and their values, in some order."""
        with op_scope(name, f"{self._name}_Export", self._handle):
            return call("LookupTableExportV2", None, self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype)


class HasherSpec(collections.namedtuple("HasherSpec", "hasher key")):
    """Chooses the function that spreads keys outside of a vocabulary over buckets."""


# The quick hash.
FastHashSpec = HasherSpec("fasthash", None)


def StrongHashSpec(key) -> HasherSpec:
    """Returns the hash that cannot be foreseen without `key`, two integers.

    Raises:
        ValueError: for another key.
    """
    if len(key) != 2 or not all(isinstance(part, int) for part in key):
        raise ValueError(f"Expected a list of 2 integers for `key`, got {key}.")
    return HasherSpec("stronghash", key)


class StaticVocabularyTable(Table):
    """Words to numbers, with some numbers besides for words that are not in the vocabulary.

    Args:
        initializer: what fills the table, with int64 values; None for no vocabulary.
        num_oov_buckets: how many numbers there are for other words, after those of the vocabulary.
        lookup_key_dtype: the type of keys, if there is no initializer or it differs.
        name: the name of the operations.

    Raises:
        ValueError: if `num_oov_buckets` is not positive.
        TypeError: if types do not fit.
    """

    _hasher = FastHashSpec

    def __init__(self, initializer, num_oov_buckets: int, lookup_key_dtype=None, name: str | None = None, experimental_is_anonymous: bool = False):
        if num_oov_buckets <= 0:
            raise ValueError(f"`num_oov_buckets` must be > 0; use StaticHashTable. Received: num_oov_buckets={num_oov_buckets}.")
        if initializer is not None:
            if initializer.key_dtype.base_dtype not in (tf.int64, tf.string):
                raise TypeError(f"Invalid `key_dtype`, expected one of [tf.int64, tf.string], received {initializer.key_dtype}.")
            if initializer.value_dtype.base_dtype is not tf.int64:
                raise TypeError(f"Invalid `value_dtype`, expected {tf.int64} but got {initializer.value_dtype}.")
            self._set(StaticHashTable(initializer, -1, name), num_oov_buckets, lookup_key_dtype, name)
        else:
            self._set(None, num_oov_buckets, lookup_key_dtype or tf.string, name)

    def _set(self, table: StaticHashTable | None, num_oov_buckets: int, key_dtype, name: str | None) -> None:
        super().__init__(key_dtype or table.key_dtype, tf.int64)
        if table is not None and (table.key_dtype is tf.string) != (self._key_dtype is tf.string):
            raise TypeError(f"Invalid `key_dtype`, expected {self._key_dtype} but got {table.key_dtype}.")
        self._table, self._num_oov_buckets = table, num_oov_buckets
        self._name = (name or "hash_bucket").split("/")[-1] if table is None else table.name

    @property
    def initializer(self) -> Operation:
        """The operation that fills it."""
        return tf.no_op() if self._table is None else self._table.initializer

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of the vocabulary's table, None if there is none."""
        return None if self._table is None else self._table.resource_handle

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of numbers that it gives, int64."""
        with op_scope(name, f"{self._name}_Size"):
            known = tf.constant(0, tf.int64) if self._table is None else self._table.size()
            return known + self._num_oov_buckets

    def lookup(self, keys, name: str | None = None):
        """Returns the numbers of keys: a tensor, or a SparseTensor or RaggedTensor for one.

        Raises:
            TypeError: if the keys are of another type.
        """
        if is_ragged(keys):
            return of_values(lambda values: self.lookup(values, name), keys)
        if isinstance(keys, SparseTensor):
            values = self._checked(keys).values
        else:
            values = self._checked(convert_to_tensor(keys, self._key_dtype if not hasattr(keys, "dtype") else None, "keys"))
        if self._table is not None and self._table.key_dtype is tf.int64:
            values = tf.cast(values, tf.int64)
        with op_scope(name, f"{self._name}_Lookup"):
            words = values if values.dtype is tf.string else tf.as_string(values)
            kind, key = self._hasher
            if kind == "fasthash":
                ids = call("StringToHashBucketFast", "hash_bucket", words, num_buckets=self._num_oov_buckets)
            else:
                ids = call("StringToHashBucketStrong", "hash_bucket", words, num_buckets=self._num_oov_buckets, key=key)
            if self._table is not None:
                known = self._table.lookup(values)
                others = tf.add(ids, self._table.size())
                ids = tf.where_v2(tf.not_equal(known, self._table.default_value), known, others)
        return SparseTensor(keys.indices, ids, keys.dense_shape) if isinstance(keys, SparseTensor) else ids


class IdTableWithHashBuckets(StaticVocabularyTable):
    """Like :class:`StaticVocabularyTable`, around an existing table."""

    def __init__(self, table: StaticHashTable | None, num_oov_buckets: int, hasher_spec: HasherSpec = FastHashSpec, name: str | None = None,
                 key_dtype=None):
        self._hasher = hasher_spec
        self._set(table, num_oov_buckets, key_dtype or (tf.string if table is None else None), name)
