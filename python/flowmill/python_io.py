"""Record files, by the names of TensorFlow's first releases; :mod:`flowmill.io` has them too."""

from __future__ import annotations

from flowmill.io._records import TFRecordCompressionType, TFRecordOptions, TFRecordWriter, tf_record_iterator

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]
