"""The base class of distributions: samples, probabilities and moments, computed from those that a subclass defines."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import flowmill as tf
from flowmill._internal.array import broadcast_dynamic_shape, broadcast_static_shape
from flowmill._internal.control_flow import with_dependencies
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_util import constant_value
from flowmill.distributions._divergences import kl_divergence
from flowmill.dtypes import DType


class ReparameterizationType:
    """Tells whether gradients flow from samples to parameters."""

    def __init__(self, rep_type: str):
        self._rep_type = rep_type

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return f"<Reparameterization Type: {self._rep_type}>"


# A sample is a function of the parameters and of numbers that do not depend on them; or it is not.
FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


def another_seed(seed: int | None, salt: str) -> int | None:
    """Returns a seed for a second source of numbers; None for none."""
    return None if seed is None else int(hashlib.md5(f"{seed}{salt}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


class Distribution:
    """A distribution of tensors. Subclasses define ``_sample_n``, ``_log_prob`` and related ones; what is not defined follows from the others if it can.

    Args:
        dtype: the type of samples.
        reparameterization_type: whether gradients go through samples.
        validate_args: whether to check parameters and values when the graph runs.
        allow_nan_stats: whether moments that do not exist are NaN; otherwise they fail the step.
        parameters: what it was made with.
        graph_parents: tensors it depends on.
        name: the name of its scope.
    """

    def __init__(self, dtype, reparameterization_type, validate_args, allow_nan_stats, parameters=None, graph_parents=None, name=None) -> None:
        for i, tensor in enumerate(graph_parents or []):
            if not tf.is_tensor(tensor):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {tensor}.")
        if not name or not name.endswith("/"):
            with tf.name_scope(name or type(self).__name__) as scope:
                name = scope
        self._dtype, self._reparameterization_type = dtype, reparameterization_type
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats
        self._parameters, self._graph_parents, self._name = dict(parameters or {}), list(graph_parents or []), name

    # What is known of it

    @property
    def name(self) -> str:
        """Its scope, with a slash at the end."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        return dict(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Tells whether gradients flow through samples."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """True if moments that do not exist are NaN."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """True if parameters and values are checked."""
        return self._validate_args

    @classmethod
    def param_shapes(cls, sample_shape, name: str = "DistributionParamShapes") -> dict[str, Tensor]:
        """Returns the shapes that parameters need for samples of a shape: for those distributions whose samples have the shape of their parameters."""
        with tf.name_scope(name):
            names = cls._parameter_names()
            return {n: convert_to_tensor(sample_shape, tf.int32) for n in names}

    @classmethod
    def param_static_shapes(cls, sample_shape) -> dict[str, TensorShape]:
        """Like :meth:`param_shapes`, for a shape that is known.

        Raises:
            ValueError: if it is not.
        """
        shape = sample_shape
        if tf.is_tensor(shape):
            shape = constant_value(shape)
            if shape is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or constant Tensor")
        return {n: TensorShape(shape) for n in cls._parameter_names()}

    @classmethod
    def _parameter_names(cls) -> tuple[str, ...]:
        raise NotImplementedError("_param_shapes not implemented")

    def copy(self, **override_parameters_kwargs) -> Distribution:
        """One like this with other parameters."""
        return type(self)(**{**self._parameters, **override_parameters_kwargs})

    # Shapes

    def _batch_shape_tensor(self) -> Tensor:
        raise NotImplementedError("batch_shape_tensor is not implemented")

    def _batch_shape(self) -> TensorShape:
        return TensorShape(None)

    def _event_shape_tensor(self) -> Tensor:
        return tf.constant([], tf.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the shape of the batch of distributions, a vector."""
        with self._scope(name):
            shape = self.batch_shape
            return tf.constant(shape.as_list(), tf.int32, name="batch_shape") if shape.is_fully_defined() else self._batch_shape_tensor()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the batch."""
        return TensorShape(self._batch_shape())

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Returns the shape of one sample of one distribution, a vector."""
        with self._scope(name):
            shape = self.event_shape
            return tf.constant(shape.as_list(), tf.int32, name="event_shape") if shape.is_fully_defined() else self._event_shape_tensor()

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of one sample of one distribution."""
        return TensorShape(self._event_shape())

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Returns true if samples of one distribution are scalars, a boolean tensor."""
        with self._scope(name):
            return tf.convert_to_tensor(self.event_shape.rank == 0, name="is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Returns true if it is one distribution rather than a batch, a boolean tensor."""
        with self._scope(name):
            shape = self.batch_shape
            if shape.rank is not None:
                return tf.convert_to_tensor(shape.rank == 0, name="is_scalar_batch")
            return tf.equal(tf.size(self._batch_shape_tensor()), 0)

    # Samples

    def _sample_n(self, n, seed: int | None = None) -> Tensor:
        raise NotImplementedError("sample_n is not implemented")

    def sample(self, sample_shape=(), seed: int | None = None, name: str = "sample") -> Tensor:
        """Samples of the shape ``sample_shape + batch_shape + event_shape``."""
        with self._scope(name):
            shape = tf.convert_to_tensor(sample_shape, tf.int32, name="sample_shape") if not isinstance(sample_shape, TensorShape) else tf.constant(
                sample_shape.as_list(), tf.int32)
            known = constant_value(shape)
            if shape.shape.rank == 0:
                shape = tf.reshape(shape, [1])
            n = tf.reduce_prod(shape)
            samples = self._sample_n(n, seed)
            whole = tf.reshape(samples, tf.concat([shape, tf.shape(samples)[1:]], 0))
            front = TensorShape([None] * (shape.shape.as_list()[0] or 0)) if known is None and shape.shape.is_fully_defined() else TensorShape(
                None) if known is None else TensorShape(known.reshape(-1).tolist())
            whole.set_shape(front.concatenate(self.batch_shape).concatenate(self.event_shape))
            return whole

    # Probabilities

    def log_prob(self, value, name: str = "log_prob") -> Tensor:
        """Returns the logarithm of the density or probability of a value."""
        return self._of_value(name, value, self._log_prob, lambda v: tf.log(self._prob(v)))

    def prob(self, value, name: str = "prob") -> Tensor:
        """Returns the density or probability of a value."""
        return self._of_value(name, value, self._prob, lambda v: tf.exp(self._log_prob(v)))

    def log_cdf(self, value, name: str = "log_cdf") -> Tensor:
        """Returns the logarithm of :meth:`cdf`."""
        return self._of_value(name, value, self._log_cdf, lambda v: tf.log(self._cdf(v)))

    def cdf(self, value, name: str = "cdf") -> Tensor:
        """Returns the probability of samples that are not greater than a value."""
        return self._of_value(name, value, self._cdf, lambda v: tf.exp(self._log_cdf(v)))

    def log_survival_function(self, value, name: str = "log_survival_function") -> Tensor:
        """Returns the logarithm of :meth:`survival_function`."""
        return self._of_value(name, value, self._log_survival_function, lambda v: tf.log1p(-self.cdf(v)))

    def survival_function(self, value, name: str = "survival_function") -> Tensor:
        """Returns the probability of samples that are greater than a value."""
        return self._of_value(name, value, self._survival_function, lambda v: 1.0 - self.cdf(v))

    def quantile(self, value, name: str = "quantile") -> Tensor:
        """Returns the value whose :meth:`cdf` is given."""
        return self._of_value(name, value, self._quantile)

    def _log_prob(self, value: Tensor) -> Tensor:
        raise NotImplementedError(f"prob is not implemented: {type(self).__name__}")

    _prob = _log_cdf = _cdf = _log_survival_function = _survival_function = _quantile = _log_prob

    # Moments

    def entropy(self, name: str = "entropy") -> Tensor:
        """Returns the entropy, in nats."""
        return self._moment(name, self._entropy)

    def mean(self, name: str = "mean") -> Tensor:
        """The mean."""
        return self._moment(name, self._mean)

    def mode(self, name: str = "mode") -> Tensor:
        """Returns the likeliest value."""
        return self._moment(name, self._mode)

    def variance(self, name: str = "variance") -> Tensor:
        """Returns the variance, of each element by itself."""
        return self._moment(name, self._variance, lambda: tf.square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Tensor:
        """Returns the square root of the variance."""
        return self._moment(name, self._stddev, lambda: tf.sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> Tensor:
        """Returns the covariances of the elements of vectors."""
        return self._moment(name, self._covariance)

    def _entropy(self) -> Tensor:
        raise NotImplementedError(f"moment is not implemented: {type(self).__name__}")

    _mean = _mode = _variance = _stddev = _covariance = _entropy

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """Returns the entropy and the divergence of another distribution from this."""
        with self._scope(name):
            return kl_divergence(self, other) + self.entropy()

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """Returns the Kullback-Leibler divergence of another distribution from this."""
        with self._scope(name):
            return kl_divergence(self, other, self._allow_nan_stats)

    # For subclasses

    @contextlib.contextmanager
    def _scope(self, name: str) -> Iterator[None]:
        with tf.name_scope(self._name), tf.name_scope(name):
            yield

    def _of_value(self, name: str, value, defined: Callable, otherwise: Callable | None = None) -> Tensor:
        with self._scope(name):
            value = convert_to_tensor(value, name="value", preferred_dtype=self._dtype)
            return self._first(name, lambda: defined(value), otherwise and (lambda: otherwise(value)))

    def _moment(self, name: str, defined: Callable, otherwise: Callable | None = None) -> Tensor:
        with self._scope(name):
            return self._first(name, defined, otherwise)

    def _first(self, name: str, *ways: Callable | None) -> Tensor:
        for way in ways:
            try:
                if way is not None:
                    return way()
            except NotImplementedError:
                pass
        raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")

    def _checked(self, tensor: Tensor, *assertions: Callable[[Tensor], Any]) -> Tensor:
        """A parameter or value once assertions hold, if they are to be checked."""
        return with_dependencies([a(tensor) for a in assertions], tensor) if self._validate_args and assertions else tensor

    def _or_nan(self, defined: Tensor, value: Tensor, message: str) -> Tensor:
        """Returns a moment if it is defined; elsewhere NaN, or a failure if that is not allowed."""
        if self._allow_nan_stats:
            return tf.where_v2(defined, value, tf.constant(float("nan"), value.dtype))
        return with_dependencies([tf.Assert(tf.reduce_all(defined), [message])], value)

    def __str__(self):
        parts = [f'"{self._name}"']
        if self.batch_shape.rank is not None:
            parts.append(f"batch_shape={self.batch_shape}")
        if self.event_shape.rank is not None:
            parts.append(f"event_shape={self.event_shape}")
        return f"tfp.distributions.{type(self).__name__}({', '.join(parts)}, dtype={self._dtype.name})"

    def __repr__(self):
        return (f"<tfp.distributions.{type(self).__name__} '{self._name}' batch_shape={self.batch_shape} event_shape={self.event_shape} "
                f"dtype={self._dtype.name}>")


class ScalarDistribution(Distribution):
    """A distribution of scalars whose parameters have the shape of the batch together.

    Args:
        tensors: the parameters, by name.
        options: of :class:`Distribution`.
    """

    def __init__(self, tensors: dict[str, Tensor], **options):
        self._tensors = tensors
        super().__init__(graph_parents=list(tensors.values()), **options)

    def _batch_shape_tensor(self) -> Tensor:
        shape = None
        for tensor in self._tensors.values():
            shape = tf.shape(tensor) if shape is None else broadcast_dynamic_shape(shape, tf.shape(tensor))
        return shape

    def _batch_shape(self) -> TensorShape:
        shape = TensorShape([])
        for tensor in self._tensors.values():
            shape = broadcast_static_shape(shape, tensor.shape)
        return shape

    def _sample_shape(self, n) -> Tensor:
        """Returns the shape of `n` samples."""
        return tf.concat([[n], self.batch_shape_tensor()], 0)


def identified(name: str, value) -> Tensor:
    """Returns a parameter as a tensor of its own in the graph."""
    return tf.identity(value, name=name)


def positive(tensor: Tensor):
    """Returns the assertion that a tensor is positive."""
    return tf.assert_positive(tensor)
