"""Initial contents of tables: tensors, the lines of a file."""

from __future__ import annotations

import os
import uuid

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.template import outside_of_branches
from flowmill._internal.tensor import Operation, Tensor
from flowmill.compat import as_str_any
from flowmill.dtypes import DType, as_dtype


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Returns an operation that fills all tables of the graph."""
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return tf.group(*initializers, name=name) if initializers else tf.no_op(name=name)


def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """Like :func:`tables_initializer`."""
    return tables_initializer(name)


class Typed:
    """The base class of objects with keys and values of known types."""

    _key_dtype: DType
    _value_dtype: DType

    @property
    def key_dtype(self) -> DType:
        """The keys' type."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The values' type."""
        return self._value_dtype

    def _tensors(self) -> tuple:
        """Returns the tensors that fill a table."""
        return ()


class TextFileIndex:
    """The parts of a line that can be a key or a value, besides a column's number."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class KeyValueTensorInitializer(Typed):
    """Fills a table with keys and values from tensors.

    Args:
        keys: the keys, a vector.
        values: the values, as many.
        key_dtype: the keys' type, if they are no tensor yet.
        value_dtype: the values' type, if they are no tensor yet.
        name: the name of the operations.
    """

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name: str | None = None):
        with outside_of_branches(get_default_graph(), keys, values):
            self._keys = convert_to_tensor(keys, key_dtype, "keys")
            self._values = convert_to_tensor(values, value_dtype, "values")
        self._key_dtype, self._value_dtype = self._keys.dtype, self._values.dtype
        self._name = name or "key_value_init"
        self._shared_name = f"hash_table_{uuid.uuid4()}"

    def _tensors(self) -> tuple:
        return self._keys, self._values

    def initialize(self, table) -> Operation:
        """Returns the operation that fills `table`."""
        _check_types(table, self.key_dtype, self.value_dtype)
        with get_default_graph().name_scope(self._name):
            made = call("LookupTableImportV2", None, table.resource_handle, self._keys, self._values)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


def _check_types(table, key_dtype: DType, value_dtype: DType) -> None:
    for what, wanted, found in (("key", table.key_dtype, key_dtype), ("value", table.value_dtype, value_dtype)):
        if wanted.base_dtype is not found.base_dtype:
            raise TypeError(f"Invalid {what} dtype for table, expected {wanted} but got {found}.")


class TextFileInitializer(Typed):
    """Fills a table from the lines of a file.

    Args:
        filename: the file; an asset if the graph is saved as a SavedModel.
        key_dtype: the keys' type.
        key_index: the column of the keys, or one of :class:`TextFileIndex`.
        value_dtype: the values' type.
        value_index: the column of the values, or one of :class:`TextFileIndex`.
        vocab_size: the number of lines, if it is known.
        delimiter: the delimiter of columns.
        name: the name of the operations.
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

    def _tensors(self) -> tuple:
        return (self._filename,)

    def initialize(self, table) -> Operation:
        """Returns the operation that fills `table`."""
        _check_types(table, self.key_dtype, self.value_dtype)
        with get_default_graph().name_scope(self._name):
            made = call("InitializeTableFromTextFileV2", None, table.resource_handle, self._filename, key_index=self._key_index,
                        value_index=self._value_index, vocab_size=-1 if self._vocab_size is None else self._vocab_size, delimiter=self._delimiter,
                        offset=self._offset)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made
