"""Distributions of real numbers."""

from __future__ import annotations

import math

import numpy as np

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill.distributions._distribution import (
    FULLY_REPARAMETERIZED, ScalarDistribution, another_seed, identified, positive,
)
from flowmill.distributions._divergences import RegisterKL


class _LocationScale(ScalarDistribution):
    """A distribution that is shifted by `loc` and stretched by `scale`."""

    def __init__(self, loc, scale, validate_args: bool, allow_nan_stats: bool, name: str, more: dict | None = None):
        parameters = {**(more or {}), "loc": loc, "scale": scale, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            tensors = {key: self._checked(identified(key, value), positive) for key, value in (more or {}).items()}
            loc = tensors["loc"] = identified("loc", loc)
            tensors["scale"] = self._checked(identified("scale", scale), positive)
            tf.assert_same_float_dtype(list(tensors.values()))
        super().__init__(tensors, dtype=loc.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope)

    @classmethod
    def _parameter_names(cls):
        return "loc", "scale"

    @property
    def loc(self) -> Tensor:
        """The location parameter."""
        return self._tensors["loc"]

    @property
    def scale(self) -> Tensor:
        """The scale parameter."""
        return self._tensors["scale"]

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def _everywhere(self, value) -> Tensor:
        """Returns a value for each distribution of the batch."""
        return value * tf.ones(self.batch_shape_tensor(), self.dtype)


class Normal(_LocationScale):
    """The normal distribution.

    Args:
        loc: the mean.
        scale: the standard deviation.
        validate_args: whether to check that the scale is positive.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.

    Raises:
        TypeError: for parameters of several types.
    """

    def __init__(self, loc, scale, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Normal"):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return tf.random_normal(self._sample_shape(n), mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed) * self.scale + self.loc

    def _log_prob(self, x):
        return -0.5 * tf.square(self._z(x)) - (0.5 * math.log(2.0 * math.pi) + tf.log(self.scale))

    def _log_cdf(self, x):
        return _log_normal_cdf(self._z(x))

    def _cdf(self, x):
        return _normal_cdf(self._z(x))

    def _log_survival_function(self, x):
        return _log_normal_cdf(-self._z(x))

    def _survival_function(self, x):
        return _normal_cdf(-self._z(x))

    def _quantile(self, p):
        return tf.math.ndtri(p) * self.scale + self.loc

    def _entropy(self):
        return 0.5 * math.log(2.0 * math.pi * math.e) + tf.log(self.scale * tf.ones_like(self.loc))

    def _mean(self):
        return self.loc * tf.ones_like(self.scale)

    def _stddev(self):
        return self.scale * tf.ones_like(self.loc)

    def _mode(self):
        return self._mean()


def _normal_cdf(x: Tensor) -> Tensor:
    """Returns the probability of standard normal numbers up to `x`, as exact in the tails as in the middle."""
    half_root = 0.5 * math.sqrt(2.0)
    w = x * half_root
    z = tf.abs(w)
    near = 1.0 + tf.erf(w)
    far = tf.where_v2(w > 0.0, 2.0 - tf.erfc(z), tf.erfc(z))
    return 0.5 * tf.where_v2(z < half_root, near, far)


# Below the first bound the logarithm is that of a series, above the second it is minus the probability of the rest.
_LOG_BOUNDS = {"float32": (-10.0, 5.0), "float64": (-20.0, 8.0)}
_TERMS = 3


def _log_normal_cdf(x: Tensor) -> Tensor:
    """Returns the logarithm of :func:`_normal_cdf`, finite however small that is."""
    lower, upper = _LOG_BOUNDS.get(x.dtype.name, _LOG_BOUNDS["float32"])
    middle = tf.log(_normal_cdf(tf.maximum(x, lower)))
    small = tf.minimum(x, lower)
    series, sign, factor = 1.0, -1.0, 1.0
    for i in range(1, _TERMS + 1):
        factor *= 2 * i - 1
        series = series + sign * factor / small ** (2.0 * i)
        sign = -sign
    tail = -0.5 * tf.square(small) - tf.log(-small) - 0.5 * math.log(2.0 * math.pi) + tf.log(series)
    return tf.where_v2(x > upper, -_normal_cdf(-x), tf.where_v2(x > lower, middle, tail))


class Uniform(ScalarDistribution):
    """Equally likely numbers from `low` to below `high`.

    Args:
        low: the least number.
        high: the bound above.
        validate_args: whether to check that `high` is greater.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, low=0.0, high=1.0, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Uniform"):
        parameters = {"low": low, "high": high, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}
        self._validate_args = validate_args
        with tf.name_scope(name) as scope:
            self._low = identified("low", low)
            high = tf.convert_to_tensor(high, name="high")
            self._high = identified("high", self._checked(
                high, lambda high: tf.assert_less(self._low, high, message="uniform not defined when low >= high.")))
            tf.assert_same_float_dtype([self._low, self._high])
        super().__init__({"low": self._low, "high": self._high}, dtype=self._low.dtype, reparameterization_type=FULLY_REPARAMETERIZED,
                         validate_args=validate_args, allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope)

    @classmethod
    def _parameter_names(cls):
        return "low", "high"

    @property
    def low(self) -> Tensor:
        """The least number."""
        return self._low

    @property
    def high(self) -> Tensor:
        """The bound above."""
        return self._high

    def range(self, name: str = "range") -> Tensor:
        """``high - low``."""
        with self._scope(name):
            return self._high - self._low

    def _sample_n(self, n, seed=None):
        return self._low + self.range() * tf.random_uniform(self._sample_shape(n), dtype=self.dtype, seed=seed)

    def _prob(self, x):
        x = x * tf.ones(self.batch_shape_tensor(), x.dtype)
        inside = tf.where_v2(tf.logical_or(x < self._low, x >= self._high), tf.zeros_like(x), tf.ones_like(x) / self.range())
        return tf.where_v2(tf.is_nan(x), x, inside)

    def _cdf(self, x):
        x = x * tf.ones(self.batch_shape_tensor(), x.dtype)
        between = tf.where_v2(x >= self._high, tf.ones_like(x), (x - self._low) / self.range())
        return tf.where_v2(x < self._low, tf.zeros_like(x), between)

    def _entropy(self):
        return tf.log(self.range())

    def _mean(self):
        return (self._low + self._high) / 2.0

    def _variance(self):
        return tf.square(self.range()) / 12.0

    def _stddev(self):
        return self.range() / math.sqrt(12.0)


class Laplace(_LocationScale):
    """The double exponential distribution.

    Args:
        loc: the mean.
        scale: how wide it is.
        validate_args: whether to check that the scale is positive.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, loc, scale, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Laplace"):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        kind = self.dtype.as_numpy_dtype
        numbers = tf.random_uniform(self._sample_shape(n), minval=np.nextafter(kind(-1.0), kind(0.0)), maxval=1.0, dtype=self.dtype, seed=seed)
        return self.loc - self.scale * tf.sign(numbers) * tf.log1p(-tf.abs(numbers))

    def _log_prob(self, x):
        return -tf.abs(self._z(x)) - (math.log(2.0) + tf.log(self.scale))

    def _log_cdf(self, x):
        return _log_laplace_cdf(self._z(x))

    def _log_survival_function(self, x):
        return _log_laplace_cdf(-self._z(x))

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 + 0.5 * tf.sign(z) * (1.0 - tf.exp(-tf.abs(z)))

    def _entropy(self):
        return math.log(2.0) + 1.0 + tf.log(self.scale + tf.zeros_like(self.loc))

    def _mean(self):
        return self.loc + tf.zeros_like(self.scale)

    def _stddev(self):
        return math.sqrt(2.0) * self.scale + tf.zeros_like(self.loc)

    def _mode(self):
        return self._mean()


def _log_laplace_cdf(z: Tensor) -> Tensor:
    lower = -math.log(2.0) + tf.minimum(z, 0.0)
    return tf.where_v2(z <= 0.0, lower, tf.log1p(-0.5 * tf.exp(-tf.abs(z))))


class StudentT(_LocationScale):
    """Student's t-distribution, shifted and stretched.

    Args:
        df: the degrees of freedom.
        loc: where it is.
        scale: how wide it is; not its standard deviation.
        validate_args: whether to check that `df` and the scale are positive.
        allow_nan_stats: as of :class:`Distribution`.
        name: the name of its scope.
    """

    def __init__(self, df, loc, scale, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "StudentT"):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, {"df": df})

    @classmethod
    def _parameter_names(cls):
        return "df", "loc", "scale"

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._tensors["df"]

    def _sample_n(self, n, seed=None):
        normal = tf.random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        df = self.df * tf.ones(self.batch_shape_tensor(), self.dtype)
        gamma = tf.random_gamma([n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=another_seed(seed, "student_t"))
        return normal * tf.rsqrt(gamma / df) * self.scale + self.loc

    def _log_normalization(self):
        return (tf.log(tf.abs(self.scale)) + 0.5 * tf.log(self.df) + 0.5 * math.log(math.pi) + tf.lgamma(0.5 * self.df)
                - tf.lgamma(0.5 * (self.df + 1.0)))

    def _log_prob(self, x):
        return -0.5 * (self.df + 1.0) * tf.log1p(tf.square(self._z(x)) / self.df) - self._log_normalization()

    def _cdf(self, x):
        z = (x - self.loc) / tf.abs(self.scale)
        tail = 0.5 * tf.betainc(0.5 * self.df, tf.constant(0.5, self.dtype) * tf.ones_like(self.df), self.df / (tf.square(z) + self.df))
        return tf.where_v2(z < 0.0, tail, 1.0 - tail)

    def _entropy(self):
        df = self._everywhere(self.df)
        beta = tf.lgamma(0.5 * df) + math.lgamma(0.5) - tf.lgamma(0.5 * (df + 1.0))
        return (tf.log(tf.abs(self.scale)) + 0.5 * tf.log(df) + beta
                + 0.5 * (df + 1.0) * (tf.digamma(0.5 * (df + 1.0)) - tf.digamma(0.5 * df)))

    def _mean(self):
        return self._or_nan(self._everywhere(self.df) > 1.0, self._everywhere(self.loc), "mean not defined for components of df <= 1")

    def _variance(self):
        df = self._everywhere(self.df)
        finite = tf.square(self._everywhere(self.scale)) * tf.where_v2(df > 2.0, df, 3.0) / (tf.where_v2(df > 2.0, df, 3.0) - 2.0)
        found = tf.where_v2(df > 2.0, finite, tf.constant(math.inf, self.dtype))
        return self._or_nan(df > 1.0, found, "variance not defined for components of df <= 1")

    def _mode(self):
        return tf.identity(self.loc)


@RegisterKL(Normal, Normal)
def _normal_from_normal(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with tf.name_scope(name or "kl_normal_normal"):
        ratio = tf.square(a.scale) / tf.square(b.scale)
        return tf.square(a.loc - b.loc) / (2.0 * tf.square(b.scale)) + 0.5 * (ratio - 1.0 - tf.log(ratio))
