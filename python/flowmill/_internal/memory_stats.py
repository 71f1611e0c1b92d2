"""Ops that count the use of a device's memory."""

from __future__ import annotations

from flowmill._internal.apply import call
from flowmill._internal.tensor import Tensor


def BytesInUse() -> Tensor:
    """Returns the bytes that are in use on the device of the op when it runs, an `int64` scalar.

    Running it raises `errors.FailedPreconditionError` on a device that does not count its memory.
    """
    return call("BytesInUse", None)


def BytesLimit() -> Tensor:
    """Returns the bytes that may be used on the device of the op, an `int64` scalar; see `BytesInUse`."""
    return call("BytesLimit", None)


def MaxBytesInUse() -> Tensor:
    """Returns the maximum so far of the bytes in use on the device of the op, an `int64` scalar; see `BytesInUse`."""
    return call("MaxBytesInUse", None)
