"""Input pipelines: ``tf.data``.

A dataset is kept in Python, and so are its iterators: `get_next` adds an operation that calls into them (`py_func`). So a graph with an iterator
runs in the process that built it alone, and all sessions share an iterator's place. Functions given to `map` and its kin are traced once, into graphs
of their own, and cannot take tensors from outside. Hints about threads and buffers (`num_parallel_calls`, `prefetch`) are accepted and change
nothing in what comes out.
"""

from __future__ import annotations

from flowmill.data import experimental
from flowmill.data._dataset import (
    Dataset, FixedLengthRecordDataset, TextLineDataset, TFRecordDataset, get_output_classes, get_output_shapes, get_output_types,
)
from flowmill.data._iterator import Iterator, NumpyIterator, make_initializable_iterator, make_one_shot_iterator
from flowmill.data._options import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Options, ThreadingOptions
from flowmill.data._specs import DatasetSpec

__all__ = [
    "AUTOTUNE", "Dataset", "DatasetSpec", "FixedLengthRecordDataset", "INFINITE_CARDINALITY", "Iterator", "NumpyIterator", "Options", "TFRecordDataset",
    "TextLineDataset", "ThreadingOptions", "UNKNOWN_CARDINALITY", "experimental", "get_output_classes", "get_output_shapes", "get_output_types",
    "make_initializable_iterator", "make_one_shot_iterator",
]

AUTOTUNE = experimental.AUTOTUNE
