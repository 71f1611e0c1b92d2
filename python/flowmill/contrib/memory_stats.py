"""The names of ``tf.contrib.memory_stats``: ``with tf.device("/gpu:0"): peak = tf.contrib.memory_stats.MaxBytesInUse()``."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill.contrib import _advice

_NAMES = _lazy.table("flowmill", {"_internal.memory_stats": "BytesInUse BytesLimit MaxBytesInUse"})
__all__ = sorted(_NAMES)

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES, otherwise=_advice.refuser("memory_stats"))
