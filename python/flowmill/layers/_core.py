"""Products, dropout, and flat tensors."""

from __future__ import annotations

import math

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.layers._base import InputSpec, Layer, function_of, smart_cond
from flowmill.layers._sizes import data_format_of


class Dense(Layer):
    """``activation(inputs @ kernel + bias)``, with variables ``kernel`` ``[width, units]`` and ``bias`` ``[units]``.

    Args:
        units: the width of the output.
        activation: a function of the output, or None.
        use_bias: whether there is a bias.
        kernel_initializer: what the kernel begins with, the scope's initializer if it is None.
        bias_initializer: what the bias begins with, zeros if it is None.
        kernel_regularizer: a function from the kernel to a loss.
        bias_regularizer: a function from the bias to a loss.
        activity_regularizer: a function from the output to a loss.
        kernel_constraint: a function from the kernel to what it shall be after each update.
        bias_constraint: the same for the bias.
        trainable: whether its variables are trained.
        name: the name of its variable scope.
    """

    def __init__(self, units: int, activation=None, use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None,
                 trainable: bool = True, name: str | None = None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        if self.units < 0:
            raise ValueError(f"Received an invalid value for `units`, expected a positive integer. Received: units={units}")
        self.activation = function_of(activation, "activation")
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)
        self.bias = None

    def build(self, input_shape) -> None:
        """Makes kernel and bias.

        Raises:
            ValueError: if the width of the input is not known.
        """
        if self._dtype is not None and not (self._dtype.is_floating or self._dtype.is_complex):
            raise TypeError(f"A Dense layer can only be built with a floating-point dtype. Received: dtype={self._dtype}")
        shape = TensorShape(input_shape)
        width = shape.as_list()[-1] if shape.rank else None
        if width is None:
            raise ValueError(f"The last dimension of the inputs to a Dense layer should be defined. Found None. Full input shape received: {shape}")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: width})
        self.kernel = self.add_weight("kernel", [width, self.units], initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
                                      constraint=self.kernel_constraint, trainable=True)
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.units], initializer=self.bias_initializer or "zeros", regularizer=self.bias_regularizer,
                                        constraint=self.bias_constraint, trainable=True)
        self.built = True

    def call(self, inputs) -> Tensor:
        """Returns the product, of tensors of any rank from two on."""
        if inputs.dtype.base_dtype is not self._dtype.base_dtype:
            inputs = tf.cast(inputs, self._dtype)
        rank = inputs.shape.rank
        if rank in (2, None):
            outputs = tf.matmul(inputs, self.kernel)
        else:
            outputs = tf.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        if self.use_bias:
            outputs = tf.nn.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape) -> TensorShape:
        """Returns the input's shape with `units` as its last size."""
        shape = TensorShape(input_shape).with_rank_at_least(2)
        if shape[-1].value is None:
            raise ValueError("The last dimension of the input shape of a Dense layer should be defined. Found None. "
                             f"Received: input_shape={input_shape}")
        return shape[:-1].concatenate([self.units])


def dense(inputs, units: int, activation=None, use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros", kernel_regularizer=None,
          bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable: bool = True,
          name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Makes a :class:`Dense` layer and calls it; with `reuse`, with the variables that there are."""
    layer = Dense(units, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                  kernel_constraint, bias_constraint, trainable, name, _scope=name, _reuse=reuse)
    return layer(inputs)


class Dropout(Layer):
    """Sets elements to zero at random in training, and scales the others up.

    Args:
        rate: the probability that an element becomes zero, a number or a scalar.
        noise_shape: for which elements to draw anew, a shape that can be broadcast to the input's; None is as long as the input.
        seed: of the random numbers, with the graph's seed.
        name: the name of its scope.
    """

    def __init__(self, rate=0.5, noise_shape=None, seed: int | None = None, name: str | None = None, **kwargs):
        super().__init__(name=name, **kwargs)
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ValueError(f"Invalid value {rate} received for `rate`, expected a value between 0 and 1.")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def _noise_shape(self, inputs):
        if self.noise_shape is None or isinstance(self.noise_shape, tf.Tensor):
            return self.noise_shape
        shape = tf.shape(inputs)
        return tf.convert_to_tensor([shape[i] if size is None else size for i, size in enumerate(self.noise_shape)])

    def call(self, inputs, training=False) -> Tensor:
        """Returns the input as it is, or with zeros if `training` is true: a boolean or a boolean scalar."""
        return smart_cond(
            training, lambda: tf.nn.dropout(inputs, noise_shape=self._noise_shape(inputs), seed=self.seed, rate=self.rate),
            lambda: tf.identity(inputs))

    def compute_output_shape(self, input_shape) -> TensorShape:
        """Returns the shape of the input."""
        return TensorShape(input_shape)


def dropout(inputs, rate=0.5, noise_shape=None, seed: int | None = None, training=False, name: str | None = None) -> Tensor:
    """Makes a :class:`Dropout` layer and calls it."""
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name)(inputs, training=training)


class Flatten(Layer):
    """Everything but the batch as one dimension.

    Args:
        data_format: with ``"channels_first"``, channels are moved to the end before.
        name: the name of its scope.
    """

    def __init__(self, data_format: str | None = "channels_last", name: str | None = None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.data_format = data_format_of(data_format or "channels_last")
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs) -> Tensor:
        """Returns the input, ``[batch, elements]``."""
        rank = inputs.shape.rank
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = tf.transpose(inputs, [0, *range(2, rank), 1])
        if rank == 1:
            return tf.expand_dims(inputs, axis=1)
        sizes = inputs.shape.as_list()
        if None not in sizes[1:]:
            shape = tf.constant([-1, math.prod(sizes[1:])])
        elif sizes[0] is not None:
            shape = tf.constant([sizes[0], -1])
        else:
            shape = [tf.shape(inputs)[0], -1]
        return tf.reshape(inputs, shape)

    def compute_output_shape(self, input_shape) -> TensorShape:
        """Returns the batch and the product of the other sizes."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0] if sizes else 1, None if None in sizes[1:] else math.prod(sizes[1:])])


def flatten(inputs, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """Makes a :class:`Flatten` layer and calls it."""
    return Flatten(data_format, name=name)(inputs)
