"""Types of 8 bits and less, and optional values: ``tf.experimental``. Kernels move such elements and cast them, but do not compute with them."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill.dtypes import as_dtype as _as_dtype

float8_e5m2, float8_e4m3fn = _as_dtype("float8_e5m2"), _as_dtype("float8_e4m3fn")
float8_e4m3fnuz, float8_e4m3b11fnuz, float8_e5m2fnuz = _as_dtype("float8_e4m3fnuz"), _as_dtype("float8_e4m3b11fnuz"), _as_dtype("float8_e5m2fnuz")
int2, int4, uint2, uint4 = _as_dtype("int2"), _as_dtype("int4"), _as_dtype("uint2"), _as_dtype("uint4")

__getattr__, __dir__ = _lazy.attach(__name__, _lazy.table("flowmill", {"data._specs": "Optional"}))
