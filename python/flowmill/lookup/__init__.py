"""Tables in a graph: from keys to values, from words to numbers and back.

The functions ``index_table_from_…`` and ``index_to_string_table_from_…`` are those of TensorFlow's ``contrib.lookup``.
"""

from __future__ import annotations

from flowmill.lookup import experimental
from flowmill.lookup._index import (
    index_table_from_file, index_table_from_tensor, index_to_string_table_from_file, index_to_string_table_from_tensor,
)
from flowmill.lookup._initializers import (
    KeyValueTensorInitializer, TextFileIndex, TextFileInitializer, initialize_all_tables, tables_initializer,
)
from flowmill.lookup._tables import FastHashSpec, HasherSpec, IdTableWithHashBuckets, StaticHashTable, StaticVocabularyTable, StrongHashSpec

HashTable = StaticHashTable

__all__ = [
    "FastHashSpec", "HashTable", "HasherSpec", "IdTableWithHashBuckets", "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "StrongHashSpec", "TextFileIndex",
    "TextFileInitializer", "experimental", "index_table_from_file", "index_table_from_tensor", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor", "initialize_all_tables", "tables_initializer",
]
