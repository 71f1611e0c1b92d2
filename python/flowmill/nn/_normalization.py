"""Moments, and what is normalised with them."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.nn._scope import scope


def local_response_normalization(input, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5,  # noqa: A002
                                 name: str | None = None) -> Tensor:
    """Each element over ``(bias + alpha * sum of squares) ** beta`` of the channels that are at most `depth_radius` away.

    Args:
        input: ``[batch, height, width, channels]``.
        depth_radius: how many channels on either side count.
        bias: what is added to the sum.
        alpha: its factor.
        beta: the exponent.
        name: the name of the operation.
    """
    return call("LRN", name, input, depth_radius=depth_radius, bias=float(bias), alpha=float(alpha), beta=float(beta))


def l2_normalize(x, axis=None, epsilon: float = 1e-12, name: str | None = None, dim=None) -> Tensor:
    """`x` over its Euclidean norm.

    Args:
        x: a tensor.
        axis: the dimension or dimensions that the norm is over, all if it is None.
        epsilon: what the square of the norm is at least.
        name: the name of the scope.
        dim: `axis` by its old name.
    """
    axis = one_of("dim", dim, "axis", axis)
    with scope(name, "l2_normalize", [x]) as whole:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            real = tf.square(tf.real(x))
            imag = tf.square(tf.imag(x))
            total = tf.real(tf.reduce_sum(real + imag, axis, keepdims=True))
            inverse = tf.rsqrt(tf.maximum(total, epsilon))
            real = tf.multiply(tf.real(x), inverse)
            imag = tf.multiply(tf.imag(x), inverse)
            return tf.complex(real, imag, name=whole)
        total = tf.reduce_sum(tf.square(x), axis, keepdims=True)
        return tf.multiply(x, tf.rsqrt(tf.maximum(total, epsilon)), name=whole)


def sufficient_statistics(x, axes, shift=None, keep_dims: bool | None = None, name: str | None = None,
                          keepdims: bool | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Returns the statistics from which mean and variance can be computed, for data that come in parts.

    Args:
        x: a tensor.
        axes: the dimensions to sum over, a list of numbers.
        shift: something near the mean that is taken off for accuracy, or None.
        keep_dims: whether those dimensions stay, of length 1.
        name: the name of the scope.
        keepdims: `keep_dims` by its new name.

    Returns:
        The number of elements summed, the sum, the sum of squares, and the shift.
    """
    axes = list(set(axes))
    keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
    with scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        sizes = [x.shape.as_list()[d] for d in axes] if x.shape.rank is not None else [None]
        if None not in sizes:
            counts = 1
            for size in sizes:
                counts *= size
            counts = tf.constant(counts, dtype=x.dtype)
        else:
            rank = tf.rank(x)
            positive = [axis + rank if axis < 0 else axis for axis in axes]
            counts = tf.reduce_prod(tf.gather(tf.cast(tf.shape(x), x.dtype), positive), name="count")
        if shift is not None:
            shift = convert_to_tensor(shift, name="shift")
            first, second = tf.subtract(x, shift), tf.squared_difference(x, shift)
        else:
            first, second = x, tf.square(x)
        first = tf.reduce_sum(first, axes, keepdims=keep, name="mean_ss")
        second = tf.reduce_sum(second, axes, keepdims=keep, name="var_ss")
    return counts, first, second, shift


def normalize_moments(counts, mean_ss, variance_ss, shift, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Mean and variance from :func:`sufficient_statistics`."""
    with scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = tf.reciprocal(counts, name="divisor")
        if shift is not None:
            shifted = tf.multiply(mean_ss, divisor, name="shifted_mean")
            mean = tf.add(shifted, shift, name="mean")
        else:
            mean = shifted = tf.multiply(mean_ss, divisor, name="mean")
        variance = tf.subtract(tf.multiply(variance_ss, divisor), tf.square(shifted), name="variance")
    return mean, variance


def moments(x, axes, shift=None, name: str | None = None, keep_dims: bool | None = None, keepdims: bool | None = None) -> tuple[Tensor, Tensor]:
    """Mean and variance. `float16` is summed as `float32`.

    Args:
        x: a tensor.
        axes: the dimensions to compute them over, a list of numbers.
        shift: not used.
        name: the name of the scope.
        keep_dims: whether those dimensions stay, of length 1.
        keepdims: `keep_dims` by its new name.

    Returns:
        Both, as tensors.
    """
    keep = one_of("keep_dims", keep_dims, "keepdims", keepdims)
    with scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x, name="x")
        half = x.dtype.base_dtype is tf.float16
        y = tf.cast(x, tf.float32) if half else x
        mean = tf.reduce_mean(y, axes, keepdims=True, name="mean")
        variance = tf.reduce_mean(tf.squared_difference(y, tf.stop_gradient(mean)), axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = tf.squeeze(mean, axes), tf.squeeze(variance, axes)
        return (tf.cast(mean, tf.float16), tf.cast(variance, tf.float16)) if half else (mean, variance)


def weighted_moments(x, axes, frequency_weights, name: str | None = None, keep_dims: bool | None = None,
                     keepdims: bool | None = None) -> tuple[Tensor, Tensor]:
    """Mean and variance where elements count by weights.

    Args:
        x: a tensor.
        axes: the dimensions to compute them over, a list of numbers.
        frequency_weights: how much each element counts, of a shape that can be broadcast to that of `x`.
        name: the name of the scope.
        keep_dims: whether those dimensions stay, of length 1.
        keepdims: `keep_dims` by its new name.

    Returns:
        Both, as tensors; 0 where the weights are.
    """
    keep = one_of("keep_dims", keep_dims, "keepdims", keepdims)
    with scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        half = x.dtype.base_dtype is tf.float16
        if half:
            x = tf.cast(x, tf.float32)
        if weights.dtype.base_dtype is not x.dtype.base_dtype:
            weights = tf.cast(weights, x.dtype)
        total = tf.reduce_sum(weights * x, axes, name="weighted_input_sum", keepdims=True)
        of_weights = tf.reduce_sum(weights + tf.zeros_like(x), axes, name="sum_of_weights", keepdims=True)
        mean = tf.div_no_nan(total, of_weights)
        squares = tf.reduce_sum(weights * tf.squared_difference(x, mean), axes, name="weighted_distsq", keepdims=True)
        variance = tf.div_no_nan(squares, of_weights)
        if not keep:
            mean, variance = tf.squeeze(mean, axis=axes), tf.squeeze(variance, axis=axes)
        return (tf.cast(mean, tf.float16), tf.cast(variance, tf.float16)) if half else (mean, variance)


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon: float, name: str | None = None) -> Tensor:
    """``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``.

    Args:
        x: a tensor.
        mean: of a shape that can be broadcast to that of `x`, as the next three are.
        variance: the variance.
        offset: what is added, or None.
        scale: a factor, or None.
        variance_epsilon: a small number that keeps the root from 0.
        name: the name of the scope.
    """
    with scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        inverse = tf.rsqrt(variance + variance_epsilon)
        if scale is not None:
            inverse *= scale
        scaled = x * tf.cast(inverse, x.dtype)
        return scaled + tf.cast(-mean * inverse if offset is None else offset - mean * inverse, x.dtype)


def batch_norm_with_global_normalization(t=None, m=None, v=None, beta=None, gamma=None, variance_epsilon: float | None = None,
                                         scale_after_normalization: bool | None = None, name: str | None = None, input=None,  # noqa: A002
                                         mean=None, variance=None) -> Tensor:
    """:func:`batch_normalization` by its old arguments; `gamma` counts with `scale_after_normalization` only."""
    return batch_normalization(one_of("t", t, "input", input), one_of("m", m, "mean", mean), one_of("v", v, "variance", variance), beta,
                               gamma if scale_after_normalization else None, variance_epsilon, name)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon: float = 0.001, data_format: str = "NHWC", is_training: bool = True,
                     name: str | None = None, exponential_avg_factor: float | None = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation as one op.

    Args:
        x: ``[batch, height, width, channels]``, or channels after the batch for ``"NCHW"``.
        scale: a factor for each channel.
        offset: what is added to each channel.
        mean: the mean of each channel where `is_training` is false or for the moving average.
        variance: the same of the variance.
        epsilon: a small number that is added to the variance.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        is_training: whether mean and variance are those of `x`.
        name: the name of the operation.
        exponential_avg_factor: how much those of `x` count in the moving averages; None for 1.

    Returns:
        The result, and mean and variance (moved on by `x` in training).

    Raises:
        ValueError: if mean and variance are needed and not given.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError("Both `mean` and `variance` must be a 1D tensor when `is_training` is False or `exponential_avg_factor` != 1.0. "
                         f"Received: `mean` {mean!r} and `variance` {variance!r}")
    x = convert_to_tensor(x, name="input")
    with x.graph.as_default():
        scale = convert_to_tensor(scale, name="scale")
        offset = convert_to_tensor(offset, name="offset")
        mean = tf.constant([]) if mean is None else mean
        variance = tf.constant([]) if variance is None else variance
        found = call("FusedBatchNormV3", name, x, scale, offset, mean, variance, epsilon=epsilon,
                     exponential_avg_factor=exponential_avg_factor, data_format=data_format, is_training=is_training)
    return tuple(found[:3])
