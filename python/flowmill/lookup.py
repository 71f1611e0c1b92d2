"""Tables in a graph: from keys to values, from words to numbers and back.

The functions ``index_table_from_…`` and ``index_to_string_table_from_…`` are those of TensorFlow's ``contrib.lookup``.
"""

from __future__ import annotations

import collections
import os
import uuid

import flowmill as tf
from flowmill._apply import call, op_scope
from flowmill._convert import convert_to_tensor
from flowmill.compat import as_str_any
from flowmill.dtypes import DType, as_dtype
from flowmill.graph import get_default_graph
from flowmill.graph_keys import GraphKeys
from flowmill.sparse_tensor import SparseTensor
from flowmill.tensor import Operation, Tensor

__all__ = [
    "FastHashSpec", "HashTable", "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "StrongHashSpec", "TextFileIndex",
    "TextFileInitializer", "experimental", "index_table_from_file", "index_table_from_tensor", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor", "initialize_all_tables", "tables_initializer",
]


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that fills all tables of the graph."""
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return tf.group(*initializers, name=name) if initializers else tf.no_op(name=name)


def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """As :func:`tables_initializer`."""
    return tables_initializer(name)


class TextFileIndex:
    """What of a line is a key or a value, where it is not a column's number."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class KeyValueTensorInitializer:
    """Fills a table with keys and values from tensors.

    Args:
        keys: the keys, a vector.
        values: the values, as many.
        key_dtype: the keys' type, where they are no tensor yet.
        value_dtype: the values' type, where they are no tensor yet.
        name: what to call the operations.
    """

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name: str | None = None):
        self._keys = convert_to_tensor(keys, key_dtype, "keys")
        self._values = convert_to_tensor(values, value_dtype, "values")
        self._name = name or "key_value_init"
        self._shared_name = f"hash_table_{uuid.uuid4()}"

    @property
    def key_dtype(self) -> DType:
        """The keys' type."""
        return self._keys.dtype

    @property
    def value_dtype(self) -> DType:
        """The values' type."""
        return self._values.dtype

    def initialize(self, table) -> Operation:
        """The operation that fills `table`."""
        _check_types(table, self.key_dtype, self.value_dtype)
        with get_default_graph().name_scope(self._name):
            made = call("LookupTableImportV2", None, table.resource_handle, self._keys, self._values)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


def _check_types(table, key_dtype: DType, value_dtype: DType) -> None:
    for what, wanted, found in (("key", table.key_dtype, key_dtype), ("value", table.value_dtype, value_dtype)):
        if wanted.base_dtype is not found.base_dtype:
            raise TypeError(f"Invalid {what} dtype for table, expected {wanted} but got {found}.")


class TextFileInitializer:
    """Fills a table from the lines of a file.

    Args:
        filename: the file; an asset where the graph is saved as a SavedModel.
        key_dtype: the keys' type.
        key_index: the column of the keys, or one of :class:`TextFileIndex`.
        value_dtype: the values' type.
        value_index: the column of the values, or one of :class:`TextFileIndex`.
        vocab_size: the number of lines, where it is known.
        delimiter: what stands between columns.
        name: what to call the operations.
        value_index_offset: what to add to the number of a line.

    Raises:
        ValueError: for a column or a type that cannot be.
    """

    def __init__(self, filename, key_dtype, key_index: int, value_dtype, value_index: int, vocab_size: int | None = None, delimiter: str = "\t",
                 name: str | None = None, value_index_offset: int = 0):
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        for what, index, dtype in (("key", key_index, self._key_dtype), ("value", value_index, self._value_dtype)):
            if index < -2:
                raise ValueError(f"`{what}_index` should be >= -2, received: {index}.")
            if index == TextFileIndex.LINE_NUMBER and dtype is not tf.int64:
                raise ValueError(f"`{what}_dtype` must be int64 if `{what}_index` is {TextFileIndex.LINE_NUMBER}, received: {dtype}")
            if index == TextFileIndex.WHOLE_LINE and not (dtype is tf.string or dtype.is_integer):
                raise ValueError(f"`{what}_dtype` should be either integer or string for `{what}_index` {TextFileIndex.WHOLE_LINE}, received: {dtype}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._key_index, self._value_index, self._vocab_size = key_index, value_index, vocab_size
        self._delimiter, self._offset = delimiter, value_index_offset
        self._name = name or "text_file_init"
        path = filename.name if isinstance(filename, Tensor) else as_str_any(os.fspath(filename))
        parts = [path, *([] if vocab_size is None else [vocab_size]), key_index, value_index, *([value_index_offset] if value_index_offset else [])]
        self._shared_name = "hash_table_" + "_".join(map(str, parts))
        self._filename = convert_to_tensor(filename if isinstance(filename, Tensor) else os.fspath(filename), tf.string, "asset_path")
        get_default_graph().add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)

    @property
    def key_dtype(self) -> DType:
        """The keys' type."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The values' type."""
        return self._value_dtype

    def initialize(self, table) -> Operation:
        """The operation that fills `table`."""
        _check_types(table, self.key_dtype, self.value_dtype)
        with get_default_graph().name_scope(self._name):
            made = call("InitializeTableFromTextFileV2", None, table.resource_handle, self._filename, key_index=self._key_index,
                        value_index=self._value_index, vocab_size=-1 if self._vocab_size is None else self._vocab_size, delimiter=self._delimiter,
                        offset=self._offset)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


class _Table:
    """What all tables have: types, a handle, functions that ask it."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype, self._value_dtype = as_dtype(key_dtype).base_dtype, as_dtype(value_dtype).base_dtype

    @property
    def key_dtype(self) -> DType:
        """The keys' type."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The values' type."""
        return self._value_dtype

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self._name

    @property
    def resource_handle(self) -> Tensor:
        """The tensor that stands for it."""
        return self._handle

    def __getitem__(self, keys):
        return self.lookup(keys)

    def _checked(self, keys) -> Tensor:
        if keys.dtype.base_dtype is not self._key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype}, received: {keys.dtype}")
        return keys


    def _found(self, keys: Tensor, default) -> Tensor:
        """The operation that looks keys up. What it gives has their shape, and that of the values behind it."""
        found = call("LookupTableFindV2", None, self._handle, keys, default)
        found.set_shape(keys.shape.concatenate(self._default_value.shape))
        return found


class StaticHashTable(_Table):
    """A table that never changes once it is filled.

    Args:
        initializer: what fills it, which ``tf.tables_initializer()`` runs.
        default_value: the value of a key that it does not hold.
        name: what to call it.
    """

    def __init__(self, initializer, default_value, name: str | None = None, experimental_is_anonymous: bool = False):
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert_to_tensor(default_value, self._value_dtype)
        self._default_value.shape.assert_is_compatible_with([])
        shared_name = getattr(initializer, "_shared_name", None) or f"hash_table_{uuid.uuid4()}"
        self._handle = call("HashTableV2", name or "hash_table", shared_name=shared_name, key_dtype=self._key_dtype, value_dtype=self._value_dtype)
        self._name = self._handle.op.name.split("/")[-1]
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
        """The values of keys: a tensor, or a SparseTensor for one.

        Raises:
            TypeError: where the keys are of another type.
        """
        if isinstance(keys, SparseTensor):
            with op_scope(name, f"{self._name}_Lookup", self._handle):
                values = self._found(self._checked(keys).values, self._default_value)
            return SparseTensor(keys.indices, values, keys.dense_shape)
        keys = self._checked(convert_to_tensor(keys, self._key_dtype if not hasattr(keys, "dtype") else None, "keys"))
        with op_scope(name, f"{self._name}_Lookup", self._handle):
            return self._found(keys, self._default_value)

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys, int64."""
        with op_scope(name, f"{self._name}_Size", self._handle):
            return call("LookupTableSizeV2", None, self._handle)

    def export(self, name: str | None = None):
        """All keys and their values, in some order."""
        with op_scope(name, f"{self._name}_Export", self._handle):
            return call("LookupTableExportV2", None, self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype)


HashTable = StaticHashTable


class HasherSpec(collections.namedtuple("HasherSpec", "hasher key")):
    """How keys outside of a vocabulary are spread over buckets."""


# The quick hash.
FastHashSpec = HasherSpec("fasthash", None)


def StrongHashSpec(key) -> HasherSpec:
    """The hash that cannot be foreseen without `key`, two integers.

    Raises:
        ValueError: for another key.
    """
    if len(key) != 2 or not all(isinstance(part, int) for part in key):
        raise ValueError(f"Expected a list of 2 integers for `key`, got {key}.")
    return HasherSpec("stronghash", key)


class StaticVocabularyTable(_Table):
    """Words to numbers, with some numbers besides for words that are not in the vocabulary.

    Args:
        initializer: what fills the table, with int64 values; None for no vocabulary.
        num_oov_buckets: how many numbers there are for other words, after those of the vocabulary.
        lookup_key_dtype: the type of keys, where there is no initializer or it differs.
        name: what to call the operations.

    Raises:
        ValueError: where `num_oov_buckets` is not positive.
        TypeError: where types do not fit.
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
        """The tensor that stands for the vocabulary's table, None where there is none."""
        return None if self._table is None else self._table.resource_handle

    def size(self, name: str | None = None) -> Tensor:
        """The number of numbers that it gives, int64."""
        with op_scope(name, f"{self._name}_Size"):
            known = tf.constant(0, tf.int64) if self._table is None else self._table.size()
            return known + self._num_oov_buckets

    def lookup(self, keys, name: str | None = None):
        """The numbers of keys: a tensor, or a SparseTensor for one.

        Raises:
            TypeError: where the keys are of another type.
        """
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
    """As :class:`StaticVocabularyTable`, around a table there is."""

    def __init__(self, table: StaticHashTable | None, num_oov_buckets: int, hasher_spec: HasherSpec = FastHashSpec, name: str | None = None,
                 key_dtype=None):
        self._hasher = hasher_spec
        self._set(table, num_oov_buckets, key_dtype or (tf.string if table is None else None), name)


def _with_buckets(table: StaticHashTable, num_oov_buckets: int, hasher_spec: HasherSpec, key_dtype):
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype) if num_oov_buckets else table


def index_table_from_file(vocabulary_file=None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
                          hasher_spec: HasherSpec = FastHashSpec, key_dtype=tf.string, name: str | None = None,
                          key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
                          delimiter: str = "\t"):
    """A table from a file's lines to their numbers.

    Args:
        vocabulary_file: the file.
        num_oov_buckets: how many numbers there are for other words.
        vocab_size: the number of lines, where it is known.
        default_value: the number of other words, where there are no buckets.
        hasher_spec: how other words are spread.
        key_dtype: the type of keys: strings or integers.
        name: what to call the operations.
        key_column_index, value_column_index, delimiter: as for :class:`TextFileInitializer`.

    Raises:
        ValueError: for a missing file or numbers that are not possible.
        TypeError: for keys of another type.
    """
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    _check_sizes(num_oov_buckets, vocab_size)
    key_dtype = as_dtype(key_dtype)
    if not (key_dtype.is_integer or key_dtype is tf.string):
        raise TypeError("Dtype for `keys` should be either integer or string.")
    with get_default_graph().name_scope(name or "string_to_index"), get_default_graph().name_scope("hash_table"):
        init = TextFileInitializer(vocabulary_file, tf.int64 if key_dtype.is_integer else key_dtype, key_column_index, tf.int64, value_column_index,
                                   vocab_size, delimiter, "table_init")
        return _with_buckets(StaticHashTable(init, default_value), num_oov_buckets, hasher_spec, key_dtype)


def _check_sizes(num_oov_buckets: int, vocab_size: int | None) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")


def index_table_from_tensor(vocabulary_list, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: HasherSpec = FastHashSpec,
                            dtype=tf.string, name: str | None = None):
    """A table from the elements of a vector to their places. Arguments are as for :func:`index_table_from_file`.

    Raises:
        ValueError, TypeError: as there.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    _check_sizes(num_oov_buckets, None)
    dtype = as_dtype(dtype)
    with get_default_graph().name_scope(name or "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            raise ValueError(f"Invalid `dtype`: Expected {'integer' if keys.dtype.is_integer else 'non-integer'}, got {dtype}.")
        if not (dtype.is_integer or dtype is tf.string):
            raise TypeError("Dtype for `keys` should be either integer or string.")
        values = tf.cast(tf.range(tf.size(keys)), tf.int64)
        with get_default_graph().name_scope("hash_table"):
            init = KeyValueTensorInitializer(tf.cast(keys, tf.int64) if keys.dtype.is_integer else keys, values, name="table_init")
            return _with_buckets(StaticHashTable(init, default_value), num_oov_buckets, hasher_spec, dtype)


def index_to_string_table_from_file(vocabulary_file, vocab_size: int | None = None, default_value: str = "UNK", name: str | None = None,
                                    key_column_index: int = TextFileIndex.LINE_NUMBER, value_column_index: int = TextFileIndex.WHOLE_LINE,
                                    delimiter: str = "\t") -> StaticHashTable:
    """A table from the numbers of a file's lines to them. Arguments are as for :func:`index_table_from_file`.

    Raises:
        ValueError: for a missing file or a size that is not possible.
    """
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    _check_sizes(0, vocab_size)
    with get_default_graph().name_scope(name or "index_to_string"):
        init = TextFileInitializer(vocabulary_file, tf.int64, key_column_index, tf.string, value_column_index, vocab_size, delimiter, "table_init")
        return StaticHashTable(init, default_value)


def index_to_string_table_from_tensor(vocabulary_list, default_value: str = "UNK", name: str | None = None) -> StaticHashTable:
    """A table from places to the elements of a vector of strings.

    Raises:
        ValueError: where there is no vector.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with get_default_graph().name_scope(name or "index_to_string"):
        values = convert_to_tensor(vocabulary_list, tf.string)
        keys = tf.cast(tf.range(tf.size(values)), tf.int64)
        return StaticHashTable(KeyValueTensorInitializer(keys, values, name="table_init"), default_value)


class MutableHashTable(_Table):
    """A table that steps change.

    Args:
        key_dtype: the keys' type.
        value_dtype: the values' type.
        default_value: the value of a key that it does not hold; its shape is that of all values.
        name: what to call it.
        checkpoint: not used: checkpoints do not hold tables.
    """

    def __init__(self, key_dtype, value_dtype, default_value, name: str = "MutableHashTable", checkpoint: bool = True,
                 experimental_is_anonymous: bool = False):
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, self._value_dtype)
        shape = self._default_value.shape
        types = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype, "use_node_name_sharing": True}
        if shape.rank == 0:
            self._handle = call("MutableHashTableV2", name, **types)
        else:
            self._handle = call("MutableHashTableOfTensorsV2", name, value_shape=shape, **types)
        self._finish(checkpoint)

    def _finish(self, checkpoint: bool) -> None:
        self._name = self._handle.op.name.split("/")[-1]
        if checkpoint:
            self.export()

    def _of(self, op: str, name: str | None, default: str, *args, **attrs):
        """An operation on the table, on its device."""
        with op_scope(name, f"{self._name}_{default}"), get_default_graph().colocate_with(self._handle):
            return call(op, None, self._handle, *args, **attrs)

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys, int64."""
        return self._of("LookupTableSizeV2", name, "Size")

    def lookup(self, keys, dynamic_default_values=None, name: str | None = None) -> Tensor:
        """The values of keys; `dynamic_default_values` are those of keys that it does not hold, where given.

        Raises:
            TypeError: where the keys are of another type.
        """
        with op_scope(name, f"{self._name}_lookup_table_find"):
            keys = self._checked(convert_to_tensor(keys, None if hasattr(keys, "dtype") else self._key_dtype, "keys"))
            with get_default_graph().colocate_with(self._handle):
                default = self._default_value if dynamic_default_values is None else dynamic_default_values
                return self._found(keys, default)

    def insert(self, keys, values, name: str | None = None) -> Operation:
        """Gives keys values, also those that it holds.

        Raises:
            TypeError: where types differ.
        """
        with op_scope(name, f"{self._name}_lookup_table_insert"):
            keys = self._checked(convert_to_tensor(keys, self._key_dtype, "keys"))
            values = convert_to_tensor(values, self._value_dtype, "values")
            with get_default_graph().colocate_with(self._handle):
                return call("LookupTableInsertV2", None, self._handle, keys, values)

    def remove(self, keys, name: str | None = None) -> Operation:
        """Takes keys out; nothing happens for those that it does not hold.

        Raises:
            TypeError: where the keys are of another type.
        """
        keys = self._checked(convert_to_tensor(keys, None if hasattr(keys, "dtype") else self._key_dtype, "keys"))
        with op_scope(name, f"{self._name}_lookup_table_remove"):
            return call("LookupTableRemoveV2", None, self._handle, keys)

    def export(self, name: str | None = None):
        """All keys and their values, in some order."""
        return self._of("LookupTableExportV2", name, "lookup_table_export_values", Tkeys=self._key_dtype, Tvalues=self._value_dtype)


class DenseHashTable(MutableHashTable):
    """A table that steps change, kept in one piece of memory: quicker, with two keys that it cannot hold.

    Args:
        key_dtype: the keys' type.
        value_dtype: the values' type.
        default_value: the value of a key that it does not hold.
        empty_key: a key that never occurs.
        deleted_key: another one.
        initial_num_buckets: how many places it begins with, a power of two.
        name: what to call it.
        checkpoint: not used: checkpoints do not hold tables.
    """

    def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets: int | None = None,
                 name: str = "MutableDenseHashTable", checkpoint: bool = True, experimental_is_anonymous: bool = False):
        _Table.__init__(self, key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, self._value_dtype, "default_value")
        empty_key = convert_to_tensor(empty_key, self._key_dtype, "empty_key")
        deleted_key = convert_to_tensor(deleted_key, self._key_dtype, "deleted_key")
        self._handle = call("MutableDenseHashTableV2", name, empty_key, deleted_key, value_dtype=self._value_dtype,
                            value_shape=self._default_value.shape, use_node_name_sharing=True, initial_num_buckets=initial_num_buckets)
        self._finish(checkpoint)

    def insert_or_assign(self, keys, values, name: str | None = None) -> Operation:
        """As :meth:`insert`."""
        return self.insert(keys, values, name)

    def erase(self, keys, name: str | None = None) -> Operation:
        """As :meth:`remove`."""
        return self.remove(keys, name)


class experimental:
    """Tables that steps change."""

    MutableHashTable = MutableHashTable
    DenseHashTable = DenseHashTable
