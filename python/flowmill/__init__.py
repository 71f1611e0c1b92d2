"""TensorFlow-1 graphs without TensorFlow: ``import flowmill as tf``.

Protocol buffer messages (``tf.GraphDef``, ``tf.ConfigProto``, ...) and submodules are loaded when they are first used.
"""

from __future__ import annotations

from flowmill import errors
from flowmill._core import VERSION as __version__
from flowmill._internal import lazy as _lazy, operators as _operators
from flowmill._internal.graph import Graph, get_default_graph, reset_default_graph
from flowmill._internal.importer import import_graph_def
from flowmill._internal.names import NAMES as _NAMES
from flowmill._internal.session import InteractiveSession, Session, get_default_session
from flowmill._internal.session_options import SessionOptions
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import Dimension, TensorShape, dimension_value
from flowmill.dtypes import (
    DType, as_dtype, bfloat16, bool, complex64, complex128, double, float16, float32, float64, half, int4, int8, int16, int32, int64, qint8,
    qint16, qint32, quint8, quint16, resource, string, uint4, uint8, uint16, uint32, uint64, variant,
)

_operators.install()

_LAZY = _lazy.messages(
    "AttrValue ConfigProto Event FunctionDef FunctionDefLibrary GPUOptions GraphDef GraphOptions HistogramProto LogMessage MetaGraphDef "
    "NameAttrList NodeDef OpDef OpList OptimizerOptions RunMetadata RunOptions SavedModel SessionLog SignatureDef StepStats Summary "
    "SummaryMetadata TensorInfo TensorProto TensorShapeProto VersionDef"
) | _NAMES

__all__ = [
    "DType", "Dimension", "Graph", "InteractiveSession", "Operation", "Session", "SessionOptions", "Tensor", "TensorShape", "as_dtype", "bfloat16",
    "bool", "complex128", "complex64", "dimension_value", "double", "errors", "float16", "float32", "float64", "get_default_graph",
    "get_default_session", "half", "import_graph_def", "int16", "int32", "int4", "int64", "int8", "qint16", "qint32", "qint8", "quint16",
    "quint8", "reset_default_graph", "resource", "string", "uint16", "uint32", "uint4", "uint64", "uint8", "variant", "__version__", *sorted(_LAZY),
]

__getattr__, __dir__ = _lazy.attach(__name__, _LAZY)
