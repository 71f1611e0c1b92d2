"""TensorFlow-1 graphs without TensorFlow: ``import flowmill as tf``.

Protocol buffer messages (``tf.GraphDef``, ``tf.ConfigProto``, ...) and submodules are loaded when they are first used.
"""

from __future__ import annotations

import importlib

from flowmill import _operators, errors
from flowmill._core import VERSION as __version__
from flowmill._names import MODULES as _MODULES, NAMES as _NAMES
from flowmill.dtypes import (
    DType, as_dtype, bfloat16, bool, complex64, complex128, double, float16, float32, float64, half, int4, int8, int16, int32, int64, qint8,
    qint16, qint32, quint8, quint16, resource, string, uint4, uint8, uint16, uint32, uint64, variant,
)
from flowmill.graph import Graph, get_default_graph, reset_default_graph
from flowmill.importer import import_graph_def
from flowmill.session import InteractiveSession, Session, SessionOptions, get_default_session
from flowmill.tensor import Operation, Tensor
from flowmill.tensor_shape import Dimension, TensorShape, dimension_value

_operators.install()

_MESSAGES = frozenset((
    "AttrValue", "ConfigProto", "Event", "FunctionDef", "FunctionDefLibrary", "GPUOptions", "GraphDef", "GraphOptions",
    "MetaGraphDef", "NameAttrList", "NodeDef", "OpDef", "OpList", "OptimizerOptions", "RunMetadata", "RunOptions", "SavedModel",
    "SignatureDef", "StepStats", "Summary", "TensorInfo", "TensorProto", "TensorShapeProto", "VersionDef",
))

__all__ = [
    "DType", "Dimension", "Graph", "InteractiveSession", "Operation", "Session", "SessionOptions", "Tensor", "TensorShape", "as_dtype", "bfloat16",
    "bool", "complex128", "complex64", "dimension_value", "double", "errors", "float16", "float32", "float64", "get_default_graph",
    "get_default_session", "half", "import_graph_def", "int16", "int32", "int4", "int64", "int8", "qint16", "qint32", "qint8", "quint16",
    "quint8", "reset_default_graph", "resource", "string", "uint16", "uint32", "uint4", "uint64", "uint8", "variant", *sorted(_MESSAGES | _MODULES | _NAMES.keys()),
]


def __getattr__(name: str):
    if name in _MESSAGES:
        from flowmill import _protos

        found = _protos.get(name)
    elif name in _NAMES:
        module, inner = _NAMES[name]
        found = getattr(importlib.import_module(f"{__name__}.{module}"), inner)
    elif name in _MODULES:
        found = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__():
    return sorted(_MESSAGES.union(_MODULES, _NAMES, globals()))
