"""``tf.linalg.experimental``: equations that are solved step by step."""

from __future__ import annotations

from flowmill.linalg._conjugate_gradient import conjugate_gradient

__all__ = ["conjugate_gradient"]
