"""Dropout."""

from __future__ import annotations

import numbers
from collections.abc import Callable

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import elementwise
from flowmill._internal.random_seed import get_seed
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.nn._scope import scope


@elementwise
def dropout(x, keep_prob=None, noise_shape=None, seed: int | None = None, name: str | None = None, rate=None) -> Tensor:
    """Sets elements to zero at random and scales the others up, so that the sum stays what it is on average.

    Args:
        x: of a floating-point type.
        keep_prob: the probability that an element stays; 1 less `rate`.
        noise_shape: for which elements to draw anew, a shape that can be broadcast to that of `x`; None and −1 are as long as `x`.
        seed: of the random numbers, with the graph's seed.
        name: the name of the scope.
        rate: the probability that an element becomes zero, a number or a scalar, in ``[0, 1)``.

    Raises:
        ValueError: if neither or both are given, or `rate` is out of range.
    """
    try:
        from_keep_prob = None if keep_prob is None else 1.0 - keep_prob
    except TypeError:
        raise ValueError(f"`keep_prob` must be a floating point number or Tensor. Received: keep_prob={keep_prob}") from None
    rate = one_of("keep_prob", from_keep_prob, "rate", rate)
    if rate is None:
        raise ValueError(f"`rate` must be provided. Received: rate={rate}")
    if isinstance(rate, numbers.Real) and rate == 0:
        # TensorFlow draws the op's seed although it makes no random numbers, so that seeds of later ops do not depend on the rate.
        get_seed(seed)
    return _dropped(x, rate, lambda shape, dtype: tf.random_uniform(shape, seed=seed, dtype=dtype), noise_shape, name, "dropout")


@elementwise
def stateless_dropout(x, rate, seed, rng_alg: str | None = None, noise_shape=None, name: str | None = None) -> Tensor:
    """Like :func:`dropout`, with random numbers that follow from `seed` alone.

    Args:
        x: of a floating-point type.
        rate: the probability that an element becomes zero, a number or a scalar, in ``[0, 1)``.
        seed: two integers.
        rng_alg: the algorithm of the random numbers, ``"auto_select"`` if it is None.
        noise_shape: as of :func:`dropout`.
        name: the name of the scope.

    Raises:
        ValueError: if `rate` is out of range.
    """
    def uniform(shape, dtype):
        return tf.random.stateless_uniform(shape, seed=seed, dtype=dtype, alg=rng_alg or "auto_select")
    return _dropped(x, rate, uniform, noise_shape, name, "stateless_dropout")


@elementwise
def general_dropout(x, rate, uniform_sampler: Callable, noise_shape=None, name: str | None = None) -> Tensor:
    """Like :func:`dropout`, with the random numbers of ``uniform_sampler(shape, dtype=dtype)``, which lie in ``[0, 1)``."""
    return _dropped(x, rate, lambda shape, dtype: uniform_sampler(shape=shape, dtype=dtype), noise_shape, name, "general_dropout")


def _dropped(x, rate, uniform_sampler: Callable, noise_shape, name: str | None, default_name: str) -> Tensor:
    """Returns `x` with elements dropped where the sampler's numbers are less than `rate`."""
    with scope(name, default_name, [x]):
        is_number = isinstance(rate, numbers.Real)
        if is_number and not 0 <= rate < 1:
            raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}")
        if is_number and rate == 0:
            return x
        scaled, rate = _scaled(x, rate, is_number)
        kept = uniform_sampler(_noise_shape(x, noise_shape), x.dtype) >= rate
        zero = tf.constant(0, dtype=x.dtype)
        result = call("SelectV2", None, kept, scaled, zero)
        result.set_shape(x.shape)
        return result


def _scaled(x: Tensor, rate, is_number: bool):
    """`x` over the part that is kept, and `rate` as it is compared."""
    if is_number:
        return call("Mul", "Mul", x, convert_to_tensor(1 / (1 - rate), dtype=x.dtype)), rate
    if not isinstance(rate, Tensor):
        rate = convert_to_tensor(rate, dtype=x.dtype)
    rate.shape.assert_has_rank(0)
    if rate.dtype.base_dtype is not x.dtype.base_dtype:
        raise ValueError(f"`x.dtype` must be compatible with `rate.dtype`. Received: x.dtype={x.dtype} and rate.dtype={rate.dtype}")
    one = tf.constant(1, dtype=x.dtype)
    return call("RealDiv", None, x, call("Sub", None, one, rate)), rate


def _noise_shape(x: Tensor, noise_shape):
    if noise_shape is None:
        return tf.shape(x)
    try:
        wanted = TensorShape(noise_shape)
    except (TypeError, ValueError, AttributeError):
        return noise_shape
    if x.shape.rank is None or x.shape.rank != wanted.rank:
        return noise_shape
    return TensorShape([own if size is None else size for own, size in zip(x.shape.as_list(), wanted.as_list())])
