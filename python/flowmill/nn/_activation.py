"""Activations, biases, and softmax along any dimension."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import apply_op, call
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import by_rows, elementwise
from flowmill._internal.gradients_impl import RegisterGradient
from flowmill._internal.tensor import Tensor
from flowmill.errors import InvalidArgumentError
from flowmill.nn._scope import scope


@elementwise
def relu(features, name: str | None = None) -> Tensor:
    """``max(features, 0)``."""
    return call("Relu", name, features)


@elementwise
def relu6(features, name: str | None = None) -> Tensor:
    """``min(max(features, 0), 6)``."""
    return call("Relu6", name, features)


@elementwise
def elu(features, name: str | None = None) -> Tensor:
    """``exp(features) - 1`` below 0, `features` above."""
    return call("Elu", name, features)


@elementwise
def selu(features, name: str | None = None) -> Tensor:
    """Returns the scaled exponential linear unit, which keeps mean 0 and variance 1 from layer to layer."""
    return call("Selu", name, features)


@elementwise
def softplus(features, name: str | None = None) -> Tensor:
    """``log(exp(features) + 1)``."""
    return call("Softplus", name, features)


@elementwise
def softsign(features, name: str | None = None) -> Tensor:
    """``features / (abs(features) + 1)``."""
    return call("Softsign", name, features)


def softclip(features, sharpness=1.0, name: str | None = None) -> Tensor:
    """Returns `features` clipped to [0, 1] without corners: ``(softplus(p x) - softplus(p (x - 1))) / p`` for the `sharpness` p. TensorFlow has no such op."""
    return call("Flowmill>Softclip", name, features, sharpness=float(sharpness))


@elementwise
def leaky_relu(features, alpha=0.2, name: str | None = None) -> Tensor:
    """`features` above 0, `alpha` times them below. Integers become `float32`."""
    with scope(name, "LeakyRelu", [features]) as whole:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = tf.cast(features, tf.float32)
        return call("LeakyRelu", whole, features, alpha=float(alpha))


def crelu(features, name: str | None = None, axis: int = -1) -> Tensor:
    """Concatenates `relu(features)` and `relu(-features)` along `axis`, which doubles in length."""
    with scope(name, "CRelu", [features]) as whole:
        features = convert_to_tensor(features, name="features")
        both = tf.concat([features, -features], axis, name=whole)
        return call("Relu", None, both)


@elementwise
def swish(features, beta=1.0) -> Tensor:
    """``features * sigmoid(beta * features)``; gradients compute the sigmoid anew, so that it need not be kept."""
    features = convert_to_tensor(features, name="features")
    with features.graph.as_default():
        beta = tf.cast(convert_to_tensor(beta, name="beta"), features.dtype)
        product = features * tf.sigmoid(beta * features)
        call("Identity", None, product)
        with features.graph.gradient_override_map({"IdentityN": "FlowmillSwish"}):
            return call("IdentityN", None, [product, features, beta])[0]


@RegisterGradient("FlowmillSwish")
def _swish_gradient(op, grad, *_):
    _, features, beta = op.inputs
    with op.graph.control_dependencies([grad]):
        sigmoid = tf.sigmoid(beta * features)
    by_features = sigmoid * (1.0 + beta * features * (1.0 - sigmoid))
    by_beta = tf.reduce_sum(grad * tf.square(features) * sigmoid * (1.0 - sigmoid))
    return None, grad * by_features, by_beta


def l2_loss(t, name: str | None = None) -> Tensor:
    """Half the sum of the squares, a scalar."""
    return call("L2Loss", name, t)


def bias_add(value, bias, data_format: str | None = None, name: str | None = None) -> Tensor:
    """Returns a vector added along the channels.

    Args:
        value: of at least two dimensions.
        bias: of as many elements as there are channels.
        data_format: ``"N...C"`` with channels last, the default, or ``"NC..."``.
        name: the name of the operation.

    Raises:
        ValueError: for another `data_format`.
    """
    with scope(name, "BiasAdd", [value, bias]) as whole:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`. Received: data_format={data_format}")
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return call("BiasAdd", whole, value, bias, data_format=data_format)


def xw_plus_b(x, weights, biases, name: str | None = None) -> Tensor:
    """``matmul(x, weights) + biases``."""
    with scope(name, "xw_plus_b", [x, weights, biases]) as whole:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return bias_add(tf.matmul(x, weights), biases, name=whole)


def relu_layer(x, weights, biases, name: str | None = None) -> Tensor:
    """``relu(matmul(x, weights) + biases)``."""
    with scope(name, "relu_layer", [x, weights, biases]) as whole:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return relu(bias_add(tf.matmul(x, weights), biases), name=whole)


@by_rows("_math.softmax")
def softmax(logits, axis=None, name: str | None = None, dim=None) -> Tensor:
    """``exp(logits) / reduce_sum(exp(logits), axis)``.

    Args:
        logits: of a floating-point type, at least one dimension.
        axis: the dimension whose elements add to 1, the last one if it is None.
        name: the name of the operation.
        dim: `axis` by its old name.

    Raises:
        InvalidArgumentError: if there is no such dimension.
    """
    return _along("Softmax", logits, one_of("dim", dim, "axis", axis), name)


@elementwise
def log_softmax(logits, axis=None, name: str | None = None, dim=None) -> Tensor:
    """Returns the logarithm of :func:`softmax`, without overflow."""
    return _along("LogSoftmax", logits, one_of("dim", dim, "axis", axis), name)


def _along(op: str, inputs, axis, name: str | None) -> Tensor:
    """Returns an op of the last dimension along any: transposed there and back."""
    axis = -1 if axis is None else axis
    inputs = convert_to_tensor(inputs)
    shape = inputs.shape
    if not isinstance(axis, Tensor) and (axis == -1 or shape.rank is not None and axis == shape.rank - 1):
        return call(op, name, inputs)
    known = axis
    if isinstance(axis, Tensor):
        from flowmill._internal.tensor_util import constant_value  # start-up: most programs ask for no values of constants

        known = constant_value(axis)
    if shape.rank is None:
        raise ValueError("The rank of `logits` must be known for another `axis` than the last.")
    if known is not None and not -shape.rank <= known < shape.rank:
        raise InvalidArgumentError(
            None, None, f"`dim` must be in the range [{-shape.rank}, {shape.rank}) where {shape.rank} is the number of dimensions in the input. "
                        f"Received: dim={known}")
    with inputs.graph.as_default():
        ndims = tf.rank(inputs)
        if isinstance(axis, Tensor):
            axis = tf.where(tf.less(axis, 0), axis + ndims, axis)
        elif axis < 0:
            axis += ndims
        rank = tf.rank(inputs)
        axis = axis % shape.rank

        def swapped(tensor, name=None):
            last = tf.subtract(rank, 1)
            order = tf.concat([tf.range(axis), [last], tf.range(axis + 1, last), [axis]], 0)
            return tf.transpose(tensor, order, name=name)

        result = swapped(apply_op(op, None, [swapped(inputs)])._outputs[0], name)
        result.set_shape(shape)
        return result


def zero_fraction(value, name: str | None = None) -> Tensor:
    """Returns the part of the elements that is zero, a `float32` scalar."""
    with scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        size = tf.size(value, out_type=tf.int64)
        nonzero = tf.cond(
            size <= 2**31 - 1, lambda: tf.cast(_count_nonzero(value, tf.int32), tf.int64), lambda: _count_nonzero(value, tf.int64))
        with scope(None, "counts_to_fraction"):
            fraction = tf.cast(size - nonzero, tf.float32) / tf.cast(size, tf.float32)
        return tf.identity(fraction, "fraction")


def _count_nonzero(value: Tensor, dtype) -> Tensor:
    with scope(None, "count_nonzero"):
        zero = tf.zeros([], value.dtype)
        return tf.reduce_sum(tf.cast(tf.not_equal(value, zero), dtype), name="nonzero_count")
