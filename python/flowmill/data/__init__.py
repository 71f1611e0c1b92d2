"""Input pipelines: ``tf.data``.

A dataset is an operation of the graph, and so is what each method makes of it; functions given to `map` and related ones are functions of the graph's
library. An iterator is a resource of a session: an `IteratorGetNext` of the graph takes elements out of it. So a graph with datasets can be written to
a file and run elsewhere, here or in TensorFlow.
"""

from __future__ import annotations

from flowmill.data import experimental
from flowmill.data._dataset import Dataset, get_output_classes, get_output_shapes, get_output_types
from flowmill.data._iterator import Iterator, NumpyIterator, make_initializable_iterator, make_one_shot_iterator
from flowmill.data._options import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Options, ThreadingOptions
from flowmill.data._readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from flowmill.data._specs import DatasetSpec

__all__ = [
    "AUTOTUNE", "Dataset", "DatasetSpec", "FixedLengthRecordDataset", "INFINITE_CARDINALITY", "Iterator", "NumpyIterator", "Options", "TFRecordDataset",
    "TextLineDataset", "ThreadingOptions", "UNKNOWN_CARDINALITY", "experimental", "get_output_classes", "get_output_shapes", "get_output_types",
    "make_initializable_iterator", "make_one_shot_iterator",
]

# Stands for a number that the pipeline chooses while it runs.
AUTOTUNE = -1
