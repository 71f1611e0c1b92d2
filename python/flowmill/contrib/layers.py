"""The few names of ``tf.contrib.layers`` that are there."""

from __future__ import annotations

from collections.abc import Callable

import flowmill as tf
from flowmill._internal import lazy as _lazy
from flowmill._internal.init_ops import Initializer
from flowmill.contrib import _advice

_NAMES = _lazy.table("flowmill", {"layers": "flatten"})
__all__ = [
    "l1_regularizer", "l2_regularizer", "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d", *_NAMES,
]

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES, otherwise=_advice.refuser("layers"))


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype="float32") -> Initializer:
    """Glorot's initializer, uniform or normal."""
    return tf.variance_scaling_initializer(1.0, "fan_avg", "uniform" if uniform else "truncated_normal", seed=seed, dtype=dtype)


def variance_scaling_initializer(factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None,
                                 dtype="float32") -> Initializer:
    """He's initializer, or with other arguments Glorot's.

    Args:
        factor: of the variance.
        mode: ``"FAN_IN"``, ``"FAN_OUT"`` or ``"FAN_AVG"``: what divides it.
        uniform: whether the distribution is uniform rather than normal.
        seed: of the random numbers.
        dtype: the type.
    """
    return tf.variance_scaling_initializer(factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed=seed, dtype=dtype)


xavier_initializer_conv2d = xavier_initializer


def _regularizer(scale, scope: str | None, default: str, loss: Callable) -> Callable:
    """Returns a function of weights: `scale` times their loss, None if `scale` is 0."""
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or scale < 0:
        raise ValueError(f"scale must be a number that is not negative: {scale}")
    factor = float(scale)

    def regularized(weights):
        if factor == 0.0:
            return None
        with tf.name_scope(scope, default, [weights]) as name:
            return tf.multiply(tf.convert_to_tensor(factor, dtype=weights.dtype.base_dtype, name="scale"), loss(weights), name=name)

    return regularized


def l2_regularizer(scale: float, scope: str | None = None) -> Callable:
    """Returns a regularizer: `scale` times half the sum of the squares.

    Raises:
        ValueError: if `scale` is no number or negative.
    """
    return _regularizer(scale, scope, "l2_regularizer", tf.nn.l2_loss)


def l1_regularizer(scale: float, scope: str | None = None) -> Callable:
    """Returns a regularizer: `scale` times the sum of the absolute values.

    Raises:
        ValueError: if `scale` is no number or negative.
    """
    return _regularizer(scale, scope, "l1_regularizer", lambda weights: tf.reduce_sum(tf.abs(weights)))
