"""Versions: of this package, and of the graphs it writes and reads."""

from __future__ import annotations

from flowmill._core import VERSION
from flowmill._internal.graph import Graph

__all__ = ["COMPILER_VERSION", "GIT_VERSION", "GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER", "GRAPH_DEF_VERSION_MIN_PRODUCER", "VERSION"]

# How libraries of TensorFlow's would have to be compiled to be loaded; there is no C++ here, and they are not.
CXX11_ABI_FLAG = 0
CXX_VERSION = 0
MONOLITHIC_BUILD = 1

# Nothing of the build is recorded.
GIT_VERSION = "unknown"
COMPILER_VERSION = "rustc"
GRAPH_DEF_VERSION: int  # what the core writes, which is asked when it is needed
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def __getattr__(name: str):
    if name == "GRAPH_DEF_VERSION":
        return Graph().graph_def_versions.producer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
