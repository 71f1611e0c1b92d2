"""Distributions of classes and counts."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill.distributions._distribution import NOT_REPARAMETERIZED, ScalarDistribution, another_seed, positive
from flowmill.distributions._divergences import RegisterKL
from flowmill.distributions._simplex import VectorDistribution, shares_and_logits
from flowmill.dtypes import as_dtype


class Bernoulli(ScalarDistribution):
    """Ones with a probability, zeros otherwise.

    Args:
        logits: the logarithms of the odds of ones.
        probs: their probabilities; one of the two is given.
        dtype: the type of samples.
        validate_args: whether to check probabilities and values.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.

    Raises:
        ValueError: if not exactly one of logits and probabilities is given.
    """

    def __init__(self, logits=None, probs=None, dtype=tf.int32, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Bernoulli"):
        parameters = {"logits": logits, "probs": probs, "dtype": dtype, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            self._logits, self._probs = shares_and_logits(logits, probs, False, self._checked)
        super().__init__({"logits": self._logits}, dtype=as_dtype(dtype), reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope)

    @classmethod
    def _parameter_names(cls):
        return ("logits",)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds of ones."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of ones."""
        return self._probs

    def _sample_n(self, n, seed=None):
        numbers = tf.random_uniform(self._sample_shape(n), seed=seed, dtype=self._probs.dtype)
        return tf.cast(tf.less(numbers, self._probs), self.dtype)

    def _log_prob(self, event):
        event = self._checked(event, tf.debugging.assert_non_negative, lambda e: tf.assert_less_equal(e, tf.cast(1, e.dtype)))
        event = tf.cast(event, self._logits.dtype)
        logits = self._logits
        if event.shape != logits.shape or not event.shape.is_fully_defined():
            logits, event = tf.ones_like(event) * logits, tf.ones_like(logits) * event
        return -tf.nn.sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self):
        return -self._logits * (tf.sigmoid(self._logits) - 1.0) + tf.nn.softplus(-self._logits)

    def _mean(self):
        return tf.identity(self._probs)

    def _variance(self):
        return self._mean() * (1.0 - self._probs)

    def _mode(self):
        return tf.cast(self._probs > 0.5, self.dtype)


class _OfClasses(VectorDistribution):
    """Classes with probabilities of their own."""

    _logits: Tensor
    _probs: Tensor

    @property
    def logits(self) -> Tensor:
        """The logarithms of what is proportional to probabilities, ``[..., classes]``."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities, ``[..., classes]``."""
        return self._probs


class Categorical(_OfClasses):
    """Classes, by number.

    Args:
        logits: ``[..., classes]``, the logarithms of what is proportional to probabilities.
        probs: the probabilities; one of the two is given.
        dtype: the type of samples.
        validate_args: whether to check probabilities.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.

    Raises:
        ValueError: if not exactly one of logits and probabilities is given.
    """

    def __init__(self, logits=None, probs=None, dtype=tf.int32, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Categorical"):
        parameters = {"logits": logits, "probs": probs, "dtype": dtype, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            self._logits, self._probs = shares_and_logits(logits, probs, True, self._checked)
            self._vector = self._logits
            known = self._logits.shape.with_rank_at_least(1).as_list()[-1] if self._logits.shape.rank is not None else None
            self._event_size = tf.constant(known, name="event_size") if known is not None else tf.shape(self._logits)[-1]
        super().__init__(dtype=as_dtype(dtype), reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, parameters=parameters, graph_parents=[self._logits, self._probs], name=scope)

    @property
    def event_size(self) -> Tensor:
        """The number of classes."""
        return self._event_size

    def _event_shape_tensor(self):
        return tf.constant([], tf.int32)

    def _event_shape(self):
        return tf.TensorShape([])

    def _sample_n(self, n, seed=None):
        logits = self._logits if self._logits.shape.rank == 2 else tf.reshape(self._logits, [-1, self._event_size])
        kind = tf.int64 if self.dtype.size > 4 else tf.int32
        draws = tf.multinomial(logits, n, seed=seed, output_dtype=kind)
        draws = tf.reshape(tf.transpose(draws), tf.concat([[n], self.batch_shape_tensor()], 0))
        return tf.cast(draws, self.dtype)

    def _together(self, k: Tensor) -> tuple[Tensor, Tensor]:
        """Values and logits in the shape of both."""
        if self._logits.shape.is_fully_defined() and k.shape == self._logits.shape[:-1]:
            return k, self._logits
        logits = self._logits * tf.ones_like(tf.expand_dims(k, -1), self._logits.dtype)
        k = k * tf.ones(tf.shape(logits)[:-1], k.dtype)
        return k, logits

    def _cdf(self, k):
        k = self._checked(tf.convert_to_tensor(k), tf.debugging.assert_non_negative)
        k, logits = self._together(k)
        below = tf.sequence_mask(tf.cast(k, tf.int64), self._event_size, dtype=logits.dtype)
        return tf.reduce_sum(tf.nn.softmax(logits) * below, axis=-1)

    def _log_prob(self, k):
        k, logits = self._together(self._checked(tf.convert_to_tensor(k), tf.debugging.assert_non_negative))
        if not k.dtype.is_integer:
            k = tf.cast(k, tf.int32)
        return -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _entropy(self):
        return -tf.reduce_sum(tf.nn.log_softmax(self._logits) * self._probs, axis=-1)

    def _mode(self):
        return tf.cast(tf.argmax(self._logits, axis=-1), self.dtype)


def _log_combinations(n: Tensor, counts: Tensor) -> Tensor:
    """Returns the logarithm of the number of orders that `n` things have of which there are `counts` of each kind."""
    return tf.lgamma(n + 1.0) - tf.reduce_sum(tf.lgamma(counts + 1.0), axis=-1)


class _Counts(VectorDistribution):
    """The base class of distributions of how often each class occurs in a number of draws."""

    _total_count: Tensor

    @property
    def total_count(self) -> Tensor:
        """The number of draws."""
        return self._total_count

    def _counts(self, counts: Tensor) -> Tensor:
        return self._checked(counts, tf.debugging.assert_non_negative, lambda c: tf.assert_equal(
            self._total_count, tf.reduce_sum(c, -1), message="counts must sum to `self.total_count`"))


class Multinomial(_Counts, _OfClasses):
    """The distribution of how often each class occurs in a number of draws.

    Args:
        total_count: the number of draws, floating.
        logits: ``[..., classes]``, the logarithms of what is proportional to probabilities.
        probs: the probabilities; one of the two is given.
        validate_args: whether to check counts and probabilities.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, total_count, logits=None, probs=None, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Multinomial"):
        parameters = {"total_count": total_count, "logits": logits, "probs": probs, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats,
                      "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            self._total_count = self._checked(tf.convert_to_tensor(total_count, name="total_count"), tf.debugging.assert_non_negative)
            self._logits, self._probs = shares_and_logits(logits, probs, True, self._checked)
            self._means = self._total_count[..., tf.newaxis] * self._probs
            self._vector = self._means
        super().__init__(dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, parameters=parameters, graph_parents=[self._total_count, self._logits, self._probs], name=scope)

    def _sample_n(self, n, seed=None):
        draws = tf.cast(self._total_count, tf.int32)
        k = self.event_shape_tensor()[0]
        draws = tf.reshape(tf.ones_like(self._means[..., 0], tf.int32) * draws, [-1])
        logits = tf.reshape(tf.ones_like(self._means) * self._logits, [-1, k])

        def one(parts):
            of_one, count = parts
            drawn = tf.reshape(tf.multinomial(of_one[tf.newaxis], count * n, seed=seed), [n, -1])
            return tf.reduce_sum(tf.one_hot(drawn, depth=k), axis=-2)
        x = tf.transpose(tf.map_fn(one, [logits, draws], dtype=self.dtype), [1, 0, 2])
        return tf.reshape(x, tf.concat([[n], self.batch_shape_tensor(), [k]], 0))

    def _log_prob(self, counts):
        counts = self._counts(counts)
        return tf.reduce_sum(counts * tf.nn.log_softmax(self._logits), -1) + _log_combinations(self._total_count, counts)

    def _mean(self):
        return tf.identity(self._means)

    def _covariance(self):
        p = self._probs * tf.ones_like(self._total_count)[..., tf.newaxis]
        return tf.linalg.set_diag(-tf.matmul(self._means[..., tf.newaxis], p[..., tf.newaxis, :]), self._variance())

    def _variance(self):
        p = self._probs * tf.ones_like(self._total_count)[..., tf.newaxis]
        return self._means - self._means * p


class DirichletMultinomial(_Counts):
    """The distribution of how often each class occurs in a number of draws, with probabilities that are drawn first.

    Args:
        total_count: the number of draws, floating.
        concentration: of the :class:`Dirichlet` distribution of probabilities, ``[..., classes]``.
        validate_args: whether to check counts and the concentration.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, total_count, concentration, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "DirichletMultinomial"):
        parameters = {"total_count": total_count, "concentration": concentration, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats,
                      "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            self._total_count = self._checked(tf.convert_to_tensor(total_count, name="total_count"), tf.debugging.assert_non_negative)
            self._vector = self._concentration = self._checked(tf.convert_to_tensor(concentration, name="concentration"), positive)
            self._total_concentration = tf.reduce_sum(self._concentration, -1)
        super().__init__(dtype=self._concentration.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, parameters=parameters, graph_parents=[self._total_count, self._concentration], name=scope)

    @property
    def concentration(self) -> Tensor:
        """The concentration of the distribution of probabilities."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """Its sum for each distribution."""
        return self._total_concentration

    def _batch_shape_tensor(self):
        return tf.shape(self._total_concentration)

    def _sample_n(self, n, seed=None):
        if self._total_count.shape.rank != 0:
            raise NotImplementedError("Sample only supported for scalar number of draws.")
        draws, k = tf.cast(self._total_count, tf.int32), self.event_shape_tensor()[0]
        logits = tf.reshape(tf.log(tf.random_gamma([n], self._concentration, dtype=self.dtype, seed=seed)), [-1, k])
        drawn = tf.multinomial(logits, draws, seed=another_seed(seed, "dirichlet_multinomial"))
        counts = tf.reduce_sum(tf.one_hot(drawn, depth=k), -2)
        return tf.cast(tf.reshape(counts, tf.concat([[n], self.batch_shape_tensor(), [k]], 0)), self.dtype)

    def _log_prob(self, counts):
        counts = self._counts(counts)
        return tf.lbeta(self._concentration + counts) - tf.lbeta(self._concentration) + _log_combinations(self._total_count, counts)

    def _mean(self):
        return self._total_count[..., tf.newaxis] * (self._concentration / self._total_concentration[..., tf.newaxis])

    def _covariance(self):
        x = self._variance_scale() * self._mean()
        return tf.linalg.set_diag(-tf.matmul(x[..., tf.newaxis], x[..., tf.newaxis, :]), self._variance())

    def _variance(self):
        scale, x = self._variance_scale(), self._variance_scale() * self._mean()
        return x * (self._total_count[..., tf.newaxis] * scale - x)

    def _variance_scale(self):
        c0 = self._total_concentration[..., tf.newaxis]
        return tf.sqrt((1.0 + c0 / self._total_count[..., tf.newaxis]) / (1.0 + c0))


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli_from_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with tf.name_scope(name or "kl_bernoulli_bernoulli"):
        zero, one = (tf.nn.softplus(s * b.logits) - tf.nn.softplus(s * a.logits) for s in (1.0, -1.0))
        return tf.sigmoid(a.logits) * one + tf.sigmoid(-a.logits) * zero


@RegisterKL(Categorical, Categorical)
def _categorical_from_categorical(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    with tf.name_scope(name or "kl_categorical_categorical"):
        return tf.reduce_sum(tf.nn.softmax(a.logits) * (tf.nn.log_softmax(a.logits) - tf.nn.log_softmax(b.logits)), axis=-1)
