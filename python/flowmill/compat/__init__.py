"""Strings and numbers as scripts for several versions of Python and TensorFlow want them. ``compat.v1`` is this package itself."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from flowmill._internal import lazy as _lazy
from flowmill._internal.tensor_shape import Dimension, dimension_value

__all__ = [
    "as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types", "dimension_at_index", "dimension_value",
    "forward_compatible", "forward_compatibility_horizon", "integral_types", "path_to_str", "real_types", "v1",
]

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text, encoding: str = "utf-8") -> bytes:
    """Text encoded; bytes as they are.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text, encoding: str = "utf-8") -> str:
    """Bytes decoded; text as it is.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_str(bytes_or_text, encoding: str = "utf-8") -> str:
    """Like :func:`as_text`."""
    return as_text(bytes_or_text, encoding)


def as_str_any(value, encoding: str = "utf-8") -> str:
    """Bytes decoded, anything else as `str` writes it."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path) -> Any:
    """Returns a path as a string; what is no path stays what it is."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def dimension_at_index(shape, index: int) -> Dimension:
    """One dimension of a shape; an unknown one if the rank is unknown."""
    return Dimension(None) if shape.rank is None else shape.dims[index]


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Returns true if programs older than a date need not read the files that are written. Nothing depends on it here: it is always true."""
    return True


class forward_compatibility_horizon:
    """A context that moves the date of :func:`forward_compatible`; without effect."""

    def __init__(self, year: int, month: int, day: int):
        pass

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc_info) -> None:
        return None


def _refuse(name: str):
    raise AttributeError(f"flowmill has no tf.compat.{name}; version 1's names are at the top level and in compat.v1")


__getattr__, __dir__ = _lazy.attach(__name__, _lazy.modules(__name__, "v1"), otherwise=_refuse)
