"""Kullback-Leibler divergences, by the classes of both distributions."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import flowmill as tf
from flowmill._internal.tensor import Tensor

# Functions by the classes of two distributions.
_registered: dict[tuple[type, type], Callable] = {}


class RegisterKL:
    """A decorator for the function ``f(a, b, name=None)`` that gives the divergence of distributions of two classes, and of their subclasses."""

    def __init__(self, dist_cls_a: type, dist_cls_b: type):
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Callable) -> Callable:
        """Registers it.

        Raises:
            TypeError: if it cannot be called.
            ValueError: if the classes have one.
        """
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _registered:
            raise ValueError(f"KL({self._key[0].__name__} || {self._key[1].__name__}) has already been registered to: {_registered[self._key]}")
        _registered[self._key] = kl_fn
        return kl_fn


def kl_divergence(distribution_a, distribution_b, allow_nan_stats: bool = True, name: str | None = None) -> Tensor:
    """Returns the information that is lost if `distribution_b` is used in place of `distribution_a`, in nats.

    Args:
        distribution_a: the true distribution.
        distribution_b: the other one.
        allow_nan_stats: whether the divergence may be NaN; otherwise that fails the step.
        name: the name of the scope.

    Raises:
        NotImplementedError: if nobody registered a function for the two.
    """
    kinds = [inspect.getmro(type(d)) for d in (distribution_a, distribution_b)]
    # The nearest pair of base classes.
    pairs = sorted(((i + j, i, a, b) for i, a in enumerate(kinds[0]) for j, b in enumerate(kinds[1]) if (a, b) in _registered), key=lambda p: p[:2])
    if not pairs:
        raise NotImplementedError(
            f"No KL(distribution_a || distribution_b) registered for distribution_a type {type(distribution_a).__name__} and distribution_b type "
            f"{type(distribution_b).__name__}")
    function = _registered[pairs[0][2:]]
    with tf.name_scope("KullbackLeibler"):
        found = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return found
        found = tf.identity(found, name="kl")
        check = tf.Assert(tf.logical_not(tf.reduce_any(tf.is_nan(found))), [
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values (and was called with "
            "allow_nan_stats=False). Values:", found])
        with tf.control_dependencies([check]):
            return tf.identity(found, name="checked_kl")
