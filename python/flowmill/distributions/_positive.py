"""Distributions of positive numbers."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill.distributions._distribution import FULLY_REPARAMETERIZED, ScalarDistribution, identified, positive
from flowmill.distributions._divergences import RegisterKL


class Gamma(ScalarDistribution):
    """The gamma distribution.

    Args:
        concentration: its shape, alpha.
        rate: one by its scale, beta.
        validate_args: whether to check that both are positive.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, concentration, rate, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Gamma"):
        parameters = {"concentration": concentration, "rate": rate, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            concentration = self._checked(identified("concentration", concentration), positive)
            rate = self._checked(identified("rate", rate), positive)
            tf.assert_same_float_dtype([concentration, rate])
        self._set(concentration, rate, validate_args, allow_nan_stats, parameters, scope)

    def _set(self, concentration: Tensor, rate: Tensor, validate_args: bool, allow_nan_stats: bool, parameters: dict, scope: str) -> None:
        super().__init__({"concentration": concentration, "rate": rate}, dtype=concentration.dtype, reparameterization_type=FULLY_REPARAMETERIZED,
                         validate_args=validate_args, allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope)

    @classmethod
    def _parameter_names(cls):
        return "concentration", "rate"

    @property
    def concentration(self) -> Tensor:
        """Its shape."""
        return self._tensors["concentration"]

    @property
    def rate(self) -> Tensor:
        """One by its scale."""
        return self._tensors["rate"]

    def _sample_n(self, n, seed=None):
        return tf.random_gamma([n], self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        x = self._checked(x, positive)
        return tf.math.xlogy(self.concentration - 1.0, x) - self.rate * x - (tf.lgamma(self.concentration) - self.concentration * tf.log(self.rate))

    def _cdf(self, x):
        return tf.igamma(self.concentration, self.rate * self._checked(x, positive))

    def _entropy(self):
        alpha = self.concentration
        return alpha - tf.log(self.rate) + tf.lgamma(alpha) + (1.0 - alpha) * tf.digamma(alpha)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / tf.square(self.rate)

    def _stddev(self):
        return tf.sqrt(self.concentration) / self.rate

    def _mode(self):
        defined = self.concentration > 1.0
        value = (self.concentration - 1.0) / self.rate
        return self._or_nan(tf.broadcast_to(defined, tf.shape(value)), value, "mode not defined when any concentration <= 1")


class Exponential(Gamma):
    """The exponential distribution.

    Args:
        rate: one by its mean.
        validate_args: whether to check that it is positive.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, rate, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"):
        parameters = {"rate": rate, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            rate = identified("rate", rate)
            self._set(tf.ones([], rate.dtype), self._checked(rate, positive), validate_args, allow_nan_stats, parameters, scope)

    @classmethod
    def _parameter_names(cls):
        return ("rate",)

    def _log_survival_function(self, x):
        return self._log_prob(x) - tf.log(self.rate)

    def _sample_n(self, n, seed=None):
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        numbers = tf.random_uniform(self._sample_shape(n), minval=least, maxval=1.0, seed=seed, dtype=self.dtype)
        return -tf.log(numbers) / self.rate


@RegisterKL(Gamma, Gamma)
def _gamma_from_gamma(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with tf.name_scope(name or "kl_gamma_gamma"):
        return ((a.concentration - b.concentration) * tf.digamma(a.concentration) + tf.lgamma(b.concentration) - tf.lgamma(a.concentration)
                + b.concentration * tf.log(a.rate) - b.concentration * tf.log(b.rate) + a.concentration * (b.rate / a.rate - 1.0))
