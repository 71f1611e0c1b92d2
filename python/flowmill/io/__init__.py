"""Reading and writing: record files, examples, files in a graph."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill.io import gfile
from flowmill.io._coding import (
    decode_base64, decode_compressed, decode_csv, decode_json_example, decode_raw, encode_base64, matching_files, parse_tensor, read_file,
    serialize_tensor, write_file,
)
from flowmill.io._features import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, SparseFeature, VarLenFeature
from flowmill.io._messages import decode_proto, encode_proto
from flowmill.io._parsing import parse_example, parse_sequence_example, parse_single_example, parse_single_sequence_example
from flowmill.io._records import TFRecordCompressionType, TFRecordOptions, TFRecordWriter, tf_record_iterator
from flowmill.io._write_graph import write_graph

# Names of other modules that are also reached as ``tf.io.name``.
_NAMES = _lazy.table("flowmill", {
    "image": "decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png decode_webp encode_jpeg encode_png extract_jpeg_shape is_jpeg",
    "queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "sparse": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
    "train.inputs": "match_filenames_once",
})

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "SparseFeature", "TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter",
    "VarLenFeature", "decode_base64", "decode_compressed", "decode_csv", "decode_json_example", "decode_proto", "decode_raw", "encode_base64",
    "encode_proto", "gfile", "matching_files", "parse_example", "parse_sequence_example", "parse_single_example", "parse_single_sequence_example", "parse_tensor", "read_file",
    "serialize_tensor", "tf_record_iterator", "write_file", "write_graph", *_NAMES,
]

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)
