# Made by python/make_stubs from the code.

from flowmill._internal.memory_stats import BytesInUse as BytesInUse
from flowmill._internal.memory_stats import BytesLimit as BytesLimit
from flowmill._internal.memory_stats import MaxBytesInUse as MaxBytesInUse

__all__ = [
    "BytesInUse",
    "BytesLimit",
    "MaxBytesInUse",
]
