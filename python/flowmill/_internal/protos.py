"""TensorFlow's messages as protobuf classes, in a descriptor pool of our own.

A pool of our own lets TensorFlow, whose pool holds the same names, be imported in the same process. Nothing of
``google.protobuf`` is imported before the first call of :func:`get`.
"""

from __future__ import annotations

import functools
import os
from typing import Any

_PACKAGES = ("tensorflow", "tensorflow.tfprof", "tensorflow.tensorboard")
_DESCRIPTORS = os.path.join(os.path.dirname(__file__), "descriptors.binpb")


@functools.lru_cache(maxsize=None)
def _pool() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool  # start-up: protobuf is loaded when it is used

    with open(_DESCRIPTORS, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:  # a file comes after those it imports
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@functools.lru_cache(maxsize=None)
def get(name: str) -> Any:
    """Returns the class of a message, or the wrapper of an enum, by its name in package ``tensorflow``, or else in those of the profiler or of TensorBoard
    within it.

    ``get("GraphDef")()`` is an empty message, ``get("DataType").Value("DT_FLOAT")`` is 1. Names of nested messages
    have dots: ``get("AttrValue.ListValue")``.

    Raises:
        ImportError: if the package ``protobuf`` is not installed.
        KeyError: if there is no such name.
    """
    try:
        from google.protobuf import message_factory  # start-up: protobuf is loaded when it is used
        from google.protobuf.internal import enum_type_wrapper  # start-up: protobuf is loaded when it is used
    except ImportError as error:
        raise ImportError(f"tensorflow.{name} needs the package protobuf, version 4.25 or later") from error
    for package in _PACKAGES:
        try:
            return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{package}.{name}"))
        except KeyError:
            pass
    return enum_type_wrapper.EnumTypeWrapper(_pool().FindEnumTypeByName(f"tensorflow.{name}"))


def __getattr__(name: str) -> Any:
    """Returns the messages of :func:`get` as attributes."""
    if not name.startswith("_"):
        try:
            return get(name)
        except KeyError:
            pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
