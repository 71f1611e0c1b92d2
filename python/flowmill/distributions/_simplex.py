"""Distributions of numbers that are shares of a whole."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill.distributions._distribution import FULLY_REPARAMETERIZED, Distribution, ScalarDistribution, another_seed, identified, positive
from flowmill.distributions._divergences import RegisterKL


class Beta(ScalarDistribution):
    """The beta distribution, of numbers from 0 to 1.

    Args:
        concentration1: alpha.
        concentration0: beta.
        validate_args: whether to check that both are positive, and values.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, concentration1=None, concentration0=None, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Beta"):
        parameters = {"concentration1": concentration1, "concentration0": concentration0, "validate_args": validate_args,
                      "allow_nan_stats": allow_nan_stats, "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            one = self._checked(tf.convert_to_tensor(concentration1, name="concentration1"), positive)
            zero = self._checked(tf.convert_to_tensor(concentration0, name="concentration0"), positive)
            tf.assert_same_float_dtype([one, zero])
            self._total = one + zero
        super().__init__({"concentration1": one, "concentration0": zero}, dtype=self._total.dtype, reparameterization_type=FULLY_REPARAMETERIZED,
                         validate_args=validate_args, allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope)

    @classmethod
    def _parameter_names(cls):
        return "concentration1", "concentration0"

    @property
    def concentration1(self) -> Tensor:
        """Alpha."""
        return self._tensors["concentration1"]

    @property
    def concentration0(self) -> Tensor:
        """Beta."""
        return self._tensors["concentration0"]

    @property
    def total_concentration(self) -> Tensor:
        """Their sum."""
        return self._total

    def _sample_n(self, n, seed=None):
        ones = tf.ones_like(self._total)
        first = tf.random_gamma([n], ones * self.concentration1, dtype=self.dtype, seed=seed)
        second = tf.random_gamma([n], ones * self.concentration0, dtype=self.dtype, seed=another_seed(seed, "beta"))
        return first / (first + second)

    def _value(self, x: Tensor) -> Tensor:
        one = tf.ones([], self.dtype)
        return self._checked(x, positive, lambda x: tf.assert_less(x, one, message="sample must be less than `1`."))

    def _log_prob(self, x):
        x = self._value(x)
        unnormalized = tf.math.xlogy(self.concentration1 - 1.0, x) + (self.concentration0 - 1.0) * tf.log1p(-x)
        return unnormalized - self._log_normalization()

    def _log_normalization(self):
        return tf.lgamma(self.concentration1) + tf.lgamma(self.concentration0) - tf.lgamma(self._total)

    def _cdf(self, x):
        return tf.betainc(self.concentration1, self.concentration0, self._value(x))

    def _entropy(self):
        return (self._log_normalization() - (self.concentration1 - 1.0) * tf.digamma(self.concentration1)
                - (self.concentration0 - 1.0) * tf.digamma(self.concentration0) + (self._total - 2.0) * tf.digamma(self._total))

    def _mean(self):
        return self.concentration1 / self._total

    def _variance(self):
        return self._mean() * (1.0 - self._mean()) / (1.0 + self._total)

    def _mode(self):
        value = (self.concentration1 - 1.0) / (self._total - 2.0)
        defined = tf.logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0)
        return self._or_nan(defined, value, "Mode undefined for concentration <= 1.")


class VectorDistribution(Distribution):
    """A distribution of vectors whose parameter ends with the dimension of the vectors. Subclasses have `_vector`."""

    _vector: Tensor

    def _batch_shape_tensor(self):
        return tf.shape(self._vector)[:-1]

    def _batch_shape(self):
        return self._vector.shape[:-1] if self._vector.shape.rank is not None else self._vector.shape

    def _event_shape_tensor(self):
        return tf.shape(self._vector)[-1:]

    def _event_shape(self):
        return self._vector.shape.with_rank_at_least(1)[-1:]


class Dirichlet(VectorDistribution):
    """The Dirichlet distribution, of vectors of shares.

    Args:
        concentration: ``[..., k]``.
        validate_args: whether to check that it is positive, and values.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, concentration, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Dirichlet"):
        parameters = {"concentration": concentration, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            self._vector = self._checked(tf.convert_to_tensor(concentration, name="concentration"), positive, lambda c: tf.assert_rank_at_least(
                c, 1, message="Concentration parameter must have >=1 dimensions."))
            self._total = tf.reduce_sum(self._vector, -1)
        super().__init__(dtype=self._vector.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, parameters=parameters, graph_parents=[self._vector, self._total], name=scope)

    @property
    def concentration(self) -> Tensor:
        """The parameter, ``[..., k]``."""
        return self._vector

    @property
    def total_concentration(self) -> Tensor:
        """Its sum for each distribution."""
        return self._total

    def _sample_n(self, n, seed=None):
        gamma = tf.random_gamma([n], self._vector, dtype=self.dtype, seed=seed)
        return gamma / tf.reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x):
        x = self._checked(x, positive, lambda x: tf.debugging.assert_near(
            tf.ones([], self.dtype), tf.reduce_sum(x, -1), message="sample last-dimension must sum to `1`"))
        return tf.reduce_sum(tf.math.xlogy(self._vector - 1.0, x), -1) - tf.lbeta(self._vector)

    def _entropy(self):
        k = tf.cast(self.event_shape_tensor()[0], self.dtype)
        return (tf.lbeta(self._vector) + (self._total - k) * tf.digamma(self._total)
                - tf.reduce_sum((self._vector - 1.0) * tf.digamma(self._vector), axis=-1))

    def _mean(self):
        return self._vector / self._total[..., tf.newaxis]

    def _covariance(self):
        x = self._variance_scale() * self._mean()
        return tf.linalg.set_diag(-tf.matmul(x[..., tf.newaxis], x[..., tf.newaxis, :]), self._variance())

    def _variance(self):
        scale, mean = self._variance_scale(), self._mean()
        return tf.square(scale) * mean * (1.0 - mean)

    def _variance_scale(self):
        return tf.rsqrt(1.0 + self._total[..., tf.newaxis])

    def _mode(self):
        k = tf.cast(self.event_shape_tensor()[0], self.dtype)
        value = (self._vector - 1.0) / (self._total[..., tf.newaxis] - k)
        defined = tf.reduce_all(self._vector > 1.0, -1, keepdims=True)
        return self._or_nan(defined, value, "Mode undefined when any concentration <= 1")


@RegisterKL(Beta, Beta)
def _beta_from_beta(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    with tf.name_scope(name or "kl_beta_beta"):
        def difference(of):
            return of(b) - of(a)
        found = difference(lambda d: d._log_normalization())
        for part in ("concentration1", "concentration0", "total_concentration"):
            change = tf.digamma(getattr(a, part)) * difference(lambda d, part=part: getattr(d, part))
            found = found + change if part == "total_concentration" else found - change
        return found


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet_from_dirichlet(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with tf.name_scope(name or "kl_dirichlet_dirichlet"):
        digamma = tf.digamma(a.concentration) - tf.digamma(tf.reduce_sum(a.concentration, -1, keepdims=True))
        return tf.reduce_sum((a.concentration - b.concentration) * digamma, -1) - tf.lbeta(a.concentration) + tf.lbeta(b.concentration)


def shares_and_logits(logits, probs, multidimensional: bool, checked) -> tuple[Tensor, Tensor]:
    """Logits and probabilities, given one of them.

    Args:
        logits: the logits, or None.
        probs: the probabilities, or None.
        multidimensional: whether the last dimension is one of classes rather than all are of events.
        checked: called with probabilities and assertions, as :meth:`Distribution._checked`.

    Raises:
        ValueError: if not exactly one is given.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if probs is None:
        logits = identified("logits", logits)
        tf.assert_same_float_dtype([logits])
        return logits, tf.nn.softmax(logits, name="probs") if multidimensional else tf.sigmoid(logits, name="probs")
    probs = identified("probs", probs)
    tf.assert_same_float_dtype([probs])
    one = tf.constant(1.0, probs.dtype)
    if multidimensional:
        probs = checked(probs, tf.debugging.assert_non_negative, lambda p: tf.debugging.assert_near(
            tf.reduce_sum(p, -1), one, message="probs does not sum to 1."))
        return tf.log(probs, name="logits"), probs
    probs = checked(probs, tf.debugging.assert_non_negative, lambda p: tf.assert_less_equal(p, one, message="probs has components greater than 1."))
    return tf.subtract(tf.log(probs), tf.log1p(-1.0 * probs), name="logits"), probs
