"""``tf.contrib`` is not there, but for a few small names: others raise an error that says what takes their place."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill.contrib._advice import missing

_NAMES = _lazy.modules(__name__, "framework layers memory_stats rnn tensorboard")
__all__ = sorted(_NAMES)

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES, otherwise=missing)
