"""Convolutions."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.layers._base import InputSpec, Layer, function_of
from flowmill.layers._sizes import data_format_of, op_format, padding_of, sizes, transposed_length, window_length
from flowmill.nn._convolution import batched


class _Conv(Layer):
    """A convolution of some spatial dimensions, with variables ``kernel`` and ``bias``. Arguments are as for
    :func:`conv2d`.
    """

    _rank: int

    def __init__(self, filters: int, kernel_size, strides=1, padding: str = "valid", data_format: str = "channels_last", dilation_rate=1,
                 activation=None, use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros", kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable: bool = True,
                 name: str | None = None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        if filters is not None and filters <= 0:
            raise ValueError(f"Invalid value for argument `filters`. Expected a strictly positive value. Received filters={filters}.")
        self.filters = int(filters)
        self.kernel_size = sizes(kernel_size, self._rank, "kernel_size")
        self.strides = sizes(strides, self._rank, "strides")
        self.padding = padding_of(padding)
        if self.padding == "causal" and self._rank != 1:
            raise ValueError("Causal padding is only supported for `Conv1D`and `SeparableConv1D`.")
        self.data_format = data_format_of(data_format)
        self.dilation_rate = sizes(dilation_rate, self._rank, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(f"`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: strides={self.strides} and "
                             f"dilation_rate={self.dilation_rate}")
        self.activation = function_of(activation, "activation")
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=self._rank + 2)
        self.bias = None

    @property
    def _first(self) -> bool:
        return self.data_format == "channels_first"

    def _channels(self, shape: TensorShape) -> int:
        """Returns the number of channels of the input.

        Raises:
            ValueError: if it is not known.
        """
        at = shape.rank - self._rank - 1 if self._first else -1
        found = shape.as_list()[at]
        if found is None:
            raise ValueError(f"The channel dimension of the inputs should be defined. The input_shape received is {shape}, where axis {at} (0-based) "
                             "is the channel dimension, which found to be `None`.")
        return found

    def _spec(self, channels: int, exact: bool = False) -> InputSpec:
        axes = {-1 - self._rank if self._first else -1: channels}
        return InputSpec(ndim=self._rank + 2, axes=axes) if exact else InputSpec(min_ndim=self._rank + 2, axes=axes)

    def _add_kernel(self, shape) -> None:
        self.kernel = self.add_weight("kernel", shape, initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
                                      constraint=self.kernel_constraint, trainable=True)

    def _add_bias(self) -> None:
        if self.use_bias:
            self.bias = self.add_weight("bias", (self.filters,), initializer=self.bias_initializer or "zeros", regularizer=self.bias_regularizer,
                                        constraint=self.bias_constraint, trainable=True)

    def build(self, input_shape) -> None:
        """Makes kernel and bias.

        Raises:
            ValueError: if the number of channels is not known, or the output would be empty.
        """
        shape = TensorShape(input_shape)
        channels = self._channels(shape)
        self.compute_output_shape(shape)
        self._add_kernel((*self.kernel_size, channels, self.filters))
        self._add_bias()
        self.input_spec = self._spec(channels)
        self.built = True

    def call(self, inputs):
        """Returns the convolution."""
        shape = inputs.shape
        padding = self.padding.upper()
        if padding == "CAUSAL":
            inputs, padding = self._behind(inputs), "VALID"
        outputs = tf.nn.convolution(inputs, self.kernel, padding, strides=list(self.strides), dilation_rate=list(self.dilation_rate),
                                    data_format=op_format(self.data_format, self._rank + 2), name=type(self).__name__)
        if self.use_bias:
            outputs = self._biased(outputs)
        if shape.rank:
            outputs.set_shape(self.compute_output_shape(shape))
        return outputs if self.activation is None else self.activation(outputs)

    def _biased(self, outputs):
        if self._rank == 1 and self._first:
            return outputs + tf.reshape(self.bias, (1, self.filters, 1))
        data_format = op_format(self.data_format, self._rank + 2)
        if outputs.shape.rank is not None and outputs.shape.rank > self._rank + 2:
            return batched(outputs, lambda o: tf.nn.bias_add(o, self.bias, data_format=data_format), self._rank + 1, None)
        return tf.nn.bias_add(outputs, self.bias, data_format=data_format)

    def _behind(self, inputs):
        """Returns the input with zeros before it, so that nothing depends on what comes later."""
        before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        return tf.pad(inputs, [[0, 0], [0, 0], [before, 0]] if self._first else [[0, 0], [before, 0], [0, 0]])

    def compute_output_shape(self, input_shape) -> TensorShape:
        """Returns the batch, as many elements as windows fit, and `filters`.

        Raises:
            ValueError: if nothing fits.
        """
        shape = TensorShape(input_shape).as_list()
        batch = len(shape) - self._rank - 1
        spatial = shape[batch + 1:] if self._first else shape[batch:-1]
        lengths = [window_length(length, self.kernel_size[i], self.padding, self.strides[i], self.dilation_rate[i])
                   for i, length in enumerate(spatial)]
        if any(length is not None and length <= 0 for length in lengths):
            raise ValueError(f"One of the dimensions in the output is <= 0 due to downsampling in {self.name}. Consider increasing the input size. "
                             f"Received input shape {shape} which would produce output shape with a zero or negative value in a dimension.")
        return TensorShape([*shape[:batch], self.filters, *lengths] if self._first else [*shape[:batch], *lengths, self.filters])


class Conv1D(_Conv):
    """A convolution of sequences, ``[batch, width, channels]``. Arguments are as for :func:`conv1d`."""

    _rank = 1


class Conv2D(_Conv):
    """A convolution of images, ``[batch, height, width, channels]``. Arguments are as for :func:`conv2d`."""

    _rank = 2


class Conv3D(_Conv):
    """A convolution of volumes, ``[batch, depth, height, width, channels]``. Arguments are as for :func:`conv3d`."""

    _rank = 3


class _ConvTranspose(_Conv):
    """The transpose of a convolution: its kernel has the output's channels before the input's."""

    def __init__(self, filters: int, kernel_size, strides=1, padding: str = "valid", data_format: str = "channels_last", activation=None,
                 use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None,
                 activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable: bool = True, name: str | None = None,
                 **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer, bias_initializer,
                         kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name, **kwargs)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def build(self, input_shape) -> None:
        """Makes kernel and bias.

        Raises:
            ValueError: if the number of channels is not known.
        """
        shape = TensorShape(input_shape)
        if shape.rank != self._rank + 2:
            raise ValueError(f"Inputs should have rank {self._rank + 2}. Received input_shape={shape}.")
        channels = self._channels(shape)
        self.input_spec = self._spec(channels, exact=True)
        self._add_kernel((*self.kernel_size, self.filters, channels))
        self._add_bias()
        self.built = True

    def call(self, inputs):
        """Returns the transpose of the convolution."""
        shape = tf.shape(inputs)
        batch = shape[0]
        start = 2 if self._first else 1
        known = inputs.shape.as_list() if inputs.shape.rank is not None and self._rank == 2 else [None] * (self._rank + 2)
        lengths = [known[start + i] if known[start + i] is not None else shape[start + i] for i in range(self._rank)]
        lengths = [transposed_length(length, self.kernel_size[i], self.padding, self.strides[i]) for i, length in enumerate(lengths)]
        output_shape = tf.stack((batch, self.filters, *lengths) if self._first else (batch, *lengths, self.filters))
        if self._rank == 2:
            outputs = self._of_images(inputs, output_shape)
        else:
            steps = (1, 1, *self.strides) if self._first else (1, *self.strides, 1)
            outputs = tf.nn.conv3d_transpose(inputs, self.kernel, output_shape, steps, self.padding.upper(), op_format(self.data_format, 5))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        if self.use_bias:
            outputs = tf.nn.bias_add(outputs, self.bias, data_format=op_format(self.data_format, 4))
        return outputs if self.activation is None else self.activation(outputs)

    def _of_images(self, inputs, output_shape):
        """The op has no kernel for channels after the batch: they are moved to the end and back. Nobody takes the batch's size that
        TensorFlow's layer takes from the shape; it is there for the names of what comes after."""
        if self._first:
            inputs = tf.transpose(inputs, (0, 2, 3, 1))
            output_shape = tf.stack([output_shape[i] for i in (0, 2, 3, 1)])
        else:
            output_shape[0]
        outputs = tf.nn.conv2d_transpose(inputs, self.kernel, output_shape, (1, *self.strides, 1), self.padding.upper())
        return tf.transpose(outputs, (0, 3, 1, 2)) if self._first else outputs

    def compute_output_shape(self, input_shape) -> TensorShape:
        """Returns the batch, the lengths that windows could come of, and `filters`."""
        found = TensorShape(input_shape).as_list()
        start = 2 if self._first else 1
        found[1 if self._first else -1] = self.filters
        for i in range(self._rank):
            found[start + i] = transposed_length(found[start + i], self.kernel_size[i], self.padding, self.strides[i])
        return TensorShape(found)


class Conv2DTranspose(_ConvTranspose):
    """The transpose of a convolution of images. Arguments are as for :func:`conv2d_transpose`."""

    _rank = 2


class Conv3DTranspose(_ConvTranspose):
    """The transpose of a convolution of volumes. Arguments are as for :func:`conv3d_transpose`."""

    _rank = 3


class _SeparableConv(_Conv):
    """A convolution of each channel by itself, and then one of size 1 that mixes channels.

    Variables are ``depthwise_kernel``, ``pointwise_kernel`` and ``bias``.
    """

    def __init__(self, filters: int, kernel_size, strides=1, padding: str = "valid", data_format: str = "channels_last", dilation_rate=1,
                 depth_multiplier: int = 1, activation=None, use_bias: bool = True, depthwise_initializer=None, pointwise_initializer=None,
                 bias_initializer="zeros", depthwise_regularizer=None, pointwise_regularizer=None, bias_regularizer=None,
                 activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None, trainable: bool = True,
                 name: str | None = None, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, bias_initializer=bias_initializer,
                         bias_regularizer=bias_regularizer, activity_regularizer=activity_regularizer, bias_constraint=bias_constraint,
                         trainable=trainable, name=name, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer, self.pointwise_initializer = depthwise_initializer, pointwise_initializer
        self.depthwise_regularizer, self.pointwise_regularizer = depthwise_regularizer, pointwise_regularizer
        self.depthwise_constraint, self.pointwise_constraint = depthwise_constraint, pointwise_constraint

    def build(self, input_shape) -> None:
        """Makes both kernels and the bias.

        Raises:
            ValueError: if the number of channels is not known.
        """
        channels = self._channels(TensorShape(input_shape))
        self.input_spec = self._spec(channels, exact=True)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", (*self.kernel_size, channels, self.depth_multiplier), initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer, constraint=self.depthwise_constraint, trainable=True)
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel", (*[1] * self._rank, channels * self.depth_multiplier, self.filters), initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer, constraint=self.pointwise_constraint, trainable=True)
        self._add_bias()
        self.built = True

    def call(self, inputs):
        """Returns both convolutions."""
        padding, rates = self.padding.upper(), self.dilation_rate
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
        steps = self.strides
        at = 2 if self._first else 1
        if self._rank == 1:
            if padding == "CAUSAL":
                inputs, padding = self._behind(inputs), "VALID"
            inputs = tf.expand_dims(inputs, at)
            depthwise, pointwise = tf.expand_dims(depthwise, 0), tf.expand_dims(pointwise, 0)
            steps, rates = steps * 2, (1, *rates)
        data_format = op_format(self.data_format, 4)
        outputs = tf.nn.separable_conv2d(inputs, depthwise, pointwise, (1, 1, *steps) if self._first else (1, *steps, 1), padding, rate=rates,
                                         data_format=data_format)
        if self.use_bias:
            outputs = tf.nn.bias_add(outputs, self.bias, data_format=data_format)
        if self._rank == 1:
            outputs = tf.squeeze(outputs, [at])
        return outputs if self.activation is None else self.activation(outputs)


class SeparableConv1D(_SeparableConv):
    """A convolution of sequences in two steps. Arguments are as for :func:`separable_conv1d`."""

    _rank = 1


class SeparableConv2D(_SeparableConv):
    """A convolution of images in two steps. Arguments are as for :func:`separable_conv2d`."""

    _rank = 2


def conv1d(inputs, filters: int, kernel_size, strides=1, padding: str = "valid", data_format: str = "channels_last", dilation_rate=1,
           activation=None, use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros", kernel_regularizer=None,
           bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable: bool = True,
           name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Makes a convolution of sequences, ``[batch, width, channels]``, and calls it. Arguments are as for :func:`conv2d`."""
    layer = Conv1D(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer, bias_initializer,
                   kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name, _scope=name,
                   _reuse=reuse)
    return layer(inputs)


def conv2d(inputs, filters: int, kernel_size, strides=(1, 1), padding: str = "valid", data_format: str = "channels_last", dilation_rate=(1, 1),
           activation=None, use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros", kernel_regularizer=None,
           bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable: bool = True,
           name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Makes a convolution of images and calls it.

    Args:
        inputs: ``[batch, height, width, channels]``, or channels after the batch for ``"channels_first"``.
        filters: the number of channels of the output.
        kernel_size: the window's sizes, a number or a pair.
        strides: how far to move, a number or a pair.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: the distance of what is multiplied, a number or a pair.
        activation: a function of the output, or None.
        use_bias: whether there is a bias.
        kernel_initializer: what the kernel begins with, the scope's initializer if it is None.
        bias_initializer: what the bias begins with.
        kernel_regularizer: a function from the kernel to a loss.
        bias_regularizer: a function from the bias to a loss.
        activity_regularizer: a function from the output to a loss.
        kernel_constraint: a function from the kernel to what it shall be after each update.
        bias_constraint: the same for the bias.
        trainable: whether its variables are trained.
        name: the name of its variable scope.
        reuse: whether to use the variables that there are.
    """
    layer = Conv2D(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer, bias_initializer,
                   kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name, _scope=name,
                   _reuse=reuse)
    return layer(inputs)


def conv3d(inputs, filters: int, kernel_size, strides=(1, 1, 1), padding: str = "valid", data_format: str = "channels_last",
           dilation_rate=(1, 1, 1), activation=None, use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros",
           kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None,
           trainable: bool = True, name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Makes a convolution of volumes, ``[batch, depth, height, width, channels]``, and calls it. Arguments are as for :func:`conv2d`."""
    layer = Conv3D(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer, bias_initializer,
                   kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name, _scope=name,
                   _reuse=reuse)
    return layer(inputs)


def conv2d_transpose(inputs, filters: int, kernel_size, strides=(1, 1), padding: str = "valid", data_format: str = "channels_last",
                     activation=None, use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros", kernel_regularizer=None,
                     bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable: bool = True,
                     name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Makes the transpose of a convolution of images and calls it. Arguments are as for :func:`conv2d`."""
    layer = Conv2DTranspose(filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer, bias_initializer,
                            kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name,
                            _scope=name, _reuse=reuse)
    return layer(inputs)


def conv3d_transpose(inputs, filters: int, kernel_size, strides=(1, 1, 1), padding: str = "valid", data_format: str = "channels_last",
                     activation=None, use_bias: bool = True, kernel_initializer=None, bias_initializer="zeros", kernel_regularizer=None,
                     bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable: bool = True,
                     name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Makes the transpose of a convolution of volumes and calls it. Arguments are as for :func:`conv2d`."""
    layer = Conv3DTranspose(filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer, bias_initializer,
                            kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name,
                            _scope=name, _reuse=reuse)
    return layer(inputs)


def separable_conv1d(inputs, filters: int, kernel_size, strides=1, padding: str = "valid", data_format: str = "channels_last", dilation_rate=1,
                     depth_multiplier: int = 1, activation=None, use_bias: bool = True, depthwise_initializer=None, pointwise_initializer=None,
                     bias_initializer="zeros", depthwise_regularizer=None, pointwise_regularizer=None, bias_regularizer=None,
                     activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None,
                     trainable: bool = True, name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Makes a convolution of sequences in two steps and calls it. Arguments are as for :func:`separable_conv2d`."""
    layer = SeparableConv1D(filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation, use_bias,
                            depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer, pointwise_regularizer,
                            bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint, bias_constraint, trainable, name,
                            _scope=name, _reuse=reuse)
    return layer(inputs)


def separable_conv2d(inputs, filters: int, kernel_size, strides=(1, 1), padding: str = "valid", data_format: str = "channels_last",
                     dilation_rate=(1, 1), depth_multiplier: int = 1, activation=None, use_bias: bool = True, depthwise_initializer=None,
                     pointwise_initializer=None, bias_initializer="zeros", depthwise_regularizer=None, pointwise_regularizer=None,
                     bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None,
                     bias_constraint=None, trainable: bool = True, name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Makes a convolution of images in two steps and calls it: each channel by itself, ``depth_multiplier`` outputs each, then all mixed.

    Arguments are as for :func:`conv2d`, those of the kernel once for each of the two.
    """
    layer = SeparableConv2D(filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation, use_bias,
                            depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer, pointwise_regularizer,
                            bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint, bias_constraint, trainable, name,
                            _scope=name, _reuse=reuse)
    return layer(inputs)
