"""TensorFlow's ``contrib.lookup``: tables from words to numbers and back, from files and from tensors."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype
from flowmill.lookup._initializers import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from flowmill.lookup._tables import FastHashSpec, HasherSpec, IdTableWithHashBuckets, StaticHashTable


def _with_buckets(table: StaticHashTable, num_oov_buckets: int, hasher_spec: HasherSpec, key_dtype):
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype) if num_oov_buckets else table


def index_table_from_file(vocabulary_file=None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
                          hasher_spec: HasherSpec = FastHashSpec, key_dtype=tf.string, name: str | None = None,
                          key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
                          delimiter: str = "\t"):
    """Returns a table from a file's lines to their numbers.

    Args:
        vocabulary_file: the file.
        num_oov_buckets: how many numbers there are for other words.
        vocab_size: the number of lines, if it is known.
        default_value: the number of other words, if there are no buckets.
        hasher_spec: how other words are spread.
        key_dtype: the type of keys: strings or integers.
        name: the name of the operations.
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
    """Returns a table from the elements of a vector to their places. Arguments are as for :func:`index_table_from_file`.

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
    """Returns a table from the numbers of a file's lines to them. Arguments are as for :func:`index_table_from_file`.

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
    """Returns a table from places to the elements of a vector of strings.

    Raises:
        ValueError: if there is no vector.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with get_default_graph().name_scope(name or "index_to_string"):
        values = convert_to_tensor(vocabulary_list, tf.string)
        keys = tf.cast(tf.range(tf.size(values)), tf.int64)
        return StaticHashTable(KeyValueTensorInitializer(keys, values, name="table_init"), default_value)
