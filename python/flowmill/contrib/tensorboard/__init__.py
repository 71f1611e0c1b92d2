"""Summaries and files that TensorBoard's plugins read."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy

_NAMES = _lazy.modules(__name__, "plugins")
__all__ = sorted(_NAMES)

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)
