"""Reading and writing: record files, examples, files in a graph."""

from __future__ import annotations

from flowmill.io import gfile
from flowmill.io._records import TFRecordCompressionType, TFRecordOptions, TFRecordWriter, tf_record_iterator
from flowmill.io._write_graph import write_graph

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "gfile", "tf_record_iterator", "write_graph"]
