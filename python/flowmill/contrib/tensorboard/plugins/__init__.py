"""Summaries and files of TensorBoard's plugins, with the names that the package ``tensorboard`` has for them."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy

_NAMES = _lazy.modules(__name__, "hparams pr_curve projector")
__all__ = sorted(_NAMES)

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)
