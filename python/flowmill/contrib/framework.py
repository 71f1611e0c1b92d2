"""The few names of ``tf.contrib.framework`` that are there."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill.contrib import _advice

_NAMES = _lazy.modules("flowmill", "nest") | _lazy.table("flowmill", {"train": "get_or_create_global_step list_variables load_variable"})
__all__ = sorted(_NAMES)

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES, otherwise=_advice.refuser("framework"))
