"""Convolutions, one op each.

Strides and dilations are numbers, or lists of 1, n or n + 2 of them for n spatial dimensions.
"""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.nn._scope import scope
from flowmill.nn._window import channels_at, padding_of, rank_of, sizes


def batched(value, op, inner_rank: int, name: str | None) -> Tensor:
    """`op` of a tensor whose leading dimensions are one while it runs.

    Args:
        value: a tensor.
        op: a function of a tensor of ``inner_rank + 1`` dimensions.
        inner_rank: the number of dimensions that stay as they are.
        name: the name of the scope.
    """
    with scope(name, "squeeze_batch_dims", [value]):
        value = convert_to_tensor(value, name="input")
        shape = value.shape
        inner = shape[-inner_rank:]
        inner = inner.as_list() if inner.is_fully_defined() else tf.shape(value)[-inner_rank:]
        batch = shape[:-inner_rank]
        batch = batch if batch.is_fully_defined() else tf.shape(value)[:-inner_rank]
        flat = tf.reshape(value, [-1, *inner] if isinstance(inner, list) else tf.concat(([-1], inner), axis=-1))
        result = op(flat)
        result_inner = result.shape[-inner_rank:]
        result_inner = result_inner if result_inner.is_fully_defined() else tf.shape(result)[-inner_rank:]
        found = tf.reshape(result, tf.concat((batch, result_inner), axis=-1))
        found.set_shape(shape[:-inner_rank].concatenate(found.shape[-inner_rank:]))
        return found


def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu: bool = True, data_format: str | None = "NHWC",  # noqa: A002
           dilations=(1, 1, 1, 1), name: str | None = None, filters=None) -> Tensor:
    """Returns a convolution of images.

    Args:
        input: ``[batch, height, width, channels]``, or ``[batch, channels, height, width]`` for ``"NCHW"``; there may be more batch dimensions.
        filter: ``[height, width, channels, channels of the result]``.
        strides: how far to move along each dimension.
        padding: ``"SAME"``, ``"VALID"``, or a list of pairs of sizes, one for each dimension.
        use_cudnn_on_gpu: has no effect.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: the distance of what is multiplied along each dimension.
        name: the name of the operation.
        filters: `filter` by its new name.

    Raises:
        ValueError: if lengths, shapes or padding do not fit.
    """
    filter = one_of("filter", filter, "filters", filters)  # noqa: A001
    padding, explicit = padding_of(padding)
    data_format = data_format or "NHWC"
    channels = channels_at(data_format, 2)
    attrs = {"strides": sizes(strides, 2, channels, "strides"), "padding": padding, "use_cudnn_on_gpu": use_cudnn_on_gpu,
             "explicit_paddings": explicit, "data_format": data_format, "dilations": sizes(dilations, 2, channels, "dilations")}
    if (rank_of(input) or 4) < 5:
        return call("Conv2D", name, input, filter, **attrs)
    return batched(input, lambda flat: call("Conv2D", None, flat, filter, **attrs), 3, name)


def conv3d(input, filter=None, strides=None, padding=None, data_format: str = "NDHWC", dilations=(1, 1, 1, 1, 1),  # noqa: A002
           name: str | None = None, filters=None) -> Tensor:
    """Returns a convolution of volumes, ``[batch, depth, height, width, channels]`` (``"NCDHW"``: channels after the batch).

    Args:
        input: the volumes.
        filter: ``[depth, height, width, channels, channels of the result]``.
        strides: five numbers, of which the first and that of the channels are 1.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NDHWC"`` or ``"NCDHW"``.
        dilations: five numbers.
        name: the name of the operation.
        filters: `filter` by its new name.
    """
    filter = one_of("filter", filter, "filters", filters)  # noqa: A001
    return call("Conv3D", name, input, filter, strides=strides, padding=padding, data_format=data_format, dilations=dilations)


def _spatial1d(data_format: str | None) -> tuple[str, int, int]:
    """Returns the two-dimensional format that a one-dimensional one becomes, where the new dimension is counted from the end, where the channels are."""
    if data_format in (None, "NHWC", "NWC"):
        return "NHWC", -3, 2
    if data_format in ("NCHW", "NCW"):
        return "NCHW", -2, 1
    raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")


def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu: bool | None = None, data_format: str | None = None,
           name: str | None = None, input=None, dilations=None) -> Tensor:  # noqa: A002
    """Returns a convolution of sequences, as one of images of height 1.

    Args:
        value: ``[batch, width, channels]``, or ``[batch, channels, width]`` for ``"NCW"``.
        filters: ``[width, channels, channels of the result]``.
        stride: how far to move.
        padding: ``"SAME"`` or ``"VALID"``.
        use_cudnn_on_gpu: has no effect.
        data_format: ``"NWC"`` or ``"NCW"``.
        name: the name of the scope.
        input: `value` by its new name.
        dilations: the distance of what is multiplied.
    """
    value = one_of("value", value, "input", input)
    with scope(name, "conv1d", [value, filters]) as whole:
        data_format, at, channels = _spatial1d(data_format)
        attrs = {"strides": [1, *sizes(stride, 1, channels, "stride")], "padding": padding, "use_cudnn_on_gpu": use_cudnn_on_gpu,
                 "data_format": data_format, "dilations": [1, *sizes(dilations, 1, channels, "dilations")]}
        value = tf.expand_dims(value, at)
        filters = tf.expand_dims(filters, 0)
        if (value.shape.rank or 4) < 5:
            result = call("Conv2D", whole, value, filters, **attrs)
        else:
            result = batched(value, lambda flat: call("Conv2D", None, flat, filters, **attrs), 3, whole)
        return tf.squeeze(result, [at])


def conv1d_transpose(input, filters, output_shape, strides, padding: str = "SAME", data_format: str | None = "NWC", dilations=None,  # noqa: A002
                     name: str | None = None) -> Tensor:
    """Returns the transpose of :func:`conv1d`: its gradient by the input.

    Args:
        input: ``[batch, width, channels]``.
        filters: ``[width, channels of the result, channels]``.
        output_shape: the shape of the result.
        strides: how far the convolution would move.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NWC"`` or ``"NCW"``.
        dilations: the distance of what is multiplied.
        name: the name of the scope.
    """
    with scope(name, "conv1d_transpose", [input, filters, output_shape]) as whole:
        if data_format not in (None, "NWC", "NCW"):
            raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")
        first = data_format == "NCW"
        at, channels = (2, 1) if first else (1, 2)
        strides = [1, *sizes(strides, 1, channels, "stride")]
        dilations = [1, *sizes(dilations, 1, channels, "dilations")]
        input = tf.expand_dims(input, at)  # noqa: A001
        filters = tf.expand_dims(filters, 0)
        output_shape = output_shape if isinstance(output_shape, Tensor) else list(output_shape)
        output_shape = tf.concat([output_shape[:at], [1], output_shape[at:]], 0)
        result = call("Conv2DBackpropInput", whole, output_shape, filters, input, strides=strides, padding=padding,
                      data_format="NCHW" if first else "NHWC", dilations=dilations)
        return tf.squeeze(result, at)


def conv(input, filter, strides, padding, explicit_paddings=None, data_format: str = "CHANNELS_LAST", dilations=None, batch_dims: int = 1,  # noqa: A002
         groups: int = 1, name: str | None = None) -> Tensor:
    """Returns a convolution as one op for all ranks. It runs for two and three spatial dimensions.

    Args:
        input: ``[batch …, spatial …, channels]``, or the channels in front of the spatial dimensions.
        filter: ``[spatial …, channels / groups, results]``.
        strides: a number for each dimension of the input.
        padding: ``"SAME"``, ``"VALID"`` or ``"EXPLICIT"``.
        explicit_paddings: two numbers for each dimension of the input, if `padding` is ``"EXPLICIT"``.
        data_format: ``"CHANNELS_LAST"`` or ``"CHANNELS_FIRST"``.
        dilations: a number for each dimension of the input; 1 if it is None.
        batch_dims: how many dimensions are in front.
        groups: into how many parts the channels are divided.
        name: the name of the operation.
    """
    return call("Conv", name, input, filter, strides=strides, padding=padding, explicit_paddings=explicit_paddings or [], data_format=data_format,
                dilations=dilations or [], batch_dims=batch_dims, groups=groups)


def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME", data_format: str | None = "NHWC",  # noqa: A002
                     name: str | None = None, input=None, filters=None, dilations=None) -> Tensor:  # noqa: A002
    """Returns the transpose of :func:`conv2d` ("deconvolution"): its gradient by the input.

    Args:
        value: ``[batch, height, width, channels]``, or channels after the batch for ``"NCHW"``.
        filter: ``[height, width, channels of the result, channels]``.
        output_shape: the shape of the result, four numbers or a tensor.
        strides: how far the convolution would move.
        padding: ``"SAME"``, ``"VALID"``, or a list of pairs.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        name: the name of the operation.
        input: `value` by its new name.
        filters: `filter` by its new name.
        dilations: the distance of what is multiplied.
    """
    value = one_of("value", value, "input", input)
    filter = one_of("filter", filter, "filters", filters)  # noqa: A001
    with scope(name, "conv2d_transpose", [value, filter, output_shape]) as whole:
        data_format = data_format or "NHWC"
        channels = channels_at(data_format, 2)
        strides = sizes(strides, 2, channels, "strides")
        dilations = sizes(dilations, 2, channels, "dilations")
        padding, explicit = padding_of(padding)
        return call("Conv2DBackpropInput", whole, output_shape, filter, value, strides=strides, padding=padding, explicit_paddings=explicit,
                    data_format=data_format, dilations=dilations)


def conv3d_transpose(value=None, filter=None, output_shape=None, strides=None, padding: str = "SAME", data_format: str | None = "NDHWC",  # noqa: A002
                     name: str | None = None, input=None, filters=None, dilations=None) -> Tensor:  # noqa: A002
    """Returns the transpose of :func:`conv3d`: its gradient by the input. Arguments are as for :func:`conv2d_transpose`, with five dimensions."""
    filter = one_of("filter", filter, "filters", filters)  # noqa: A001
    value = one_of("value", value, "input", input)
    with scope(name, "conv3d_transpose", [value, filter, output_shape]) as whole:
        data_format = data_format or "NDHWC"
        channels = channels_at(data_format, 3)
        strides = sizes(strides, 3, channels, "strides")
        dilations = sizes(dilations, 3, channels, "dilations")
        return call("Conv3DBackpropInputV2", whole, output_shape, filter, value, strides=strides, padding=padding, data_format=data_format,
                    dilations=dilations)


def conv_transpose(input, filters, output_shape, strides, padding: str = "SAME", data_format: str | None = None, dilations=None,  # noqa: A002
                   name: str | None = None) -> Tensor:
    """Returns the transpose of a convolution of one, two or three spatial dimensions, by the length of `output_shape`.

    Raises:
        ValueError: for another length.
    """
    with scope(name, "conv_transpose", [input, filters, output_shape]) as whole:
        if isinstance(output_shape, Tensor):
            length = output_shape.shape.as_list()[0]
        elif hasattr(output_shape, "__len__"):
            length = len(output_shape)
        else:
            raise ValueError(f"`output_shape` must be a tensor or sized collection. Received: output_shape={output_shape}")
        if not 3 <= length <= 5:
            raise ValueError(f"`output_shape` must be of length 3, 4 or 5. Received: output_shape={output_shape} of length {length}.")
        function = (conv1d_transpose, conv2d_transpose, conv3d_transpose)[length - 3]
        arguments = (input, filters, output_shape, strides)
        return function(*arguments, padding=padding, data_format=data_format, dilations=dilations, name=whole)


def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None, use_cudnn_on_gpu: bool = True,  # noqa: A002
                          data_format: str = "NHWC", dilations=(1, 1, 1, 1), name: str | None = None, filters=None) -> Tensor:
    """Returns the gradient of :func:`conv2d` by its input, of shape `input_sizes`."""
    filter = one_of("filter", filter, "filters", filters)  # noqa: A001
    padding, explicit = padding_of(padding)
    return call("Conv2DBackpropInput", name, input_sizes, filter, out_backprop, strides=strides, padding=padding,
                use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format, dilations=dilations)


def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, use_cudnn_on_gpu: bool = True,  # noqa: A002
                           data_format: str = "NHWC", dilations=(1, 1, 1, 1), name: str | None = None) -> Tensor:
    """Returns the gradient of :func:`conv2d` by its filter, of shape `filter_sizes`."""
    padding, explicit = padding_of(padding)
    return call("Conv2DBackpropFilter", name, input, filter_sizes, out_backprop, strides=strides, padding=padding,
                use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format, dilations=dilations)


def conv2d_backprop_input_v2(input, filter, out_backprop, strides, padding: str, use_cudnn_on_gpu: bool = True,  # noqa: A002
                             explicit_paddings=(), data_format: str = "NHWC", dilations=(1, 1, 1, 1), name: str | None = None) -> Tensor:
    """Returns the gradient of :func:`conv2d` by its input, of which only the shape counts."""
    return call("Conv2DBackpropInputV2", name, input, filter, out_backprop, strides=strides, padding=padding,
                use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit_paddings, data_format=data_format, dilations=dilations)


def conv2d_backprop_filter_v2(input, filter, out_backprop, strides, padding: str, use_cudnn_on_gpu: bool = True,  # noqa: A002
                              explicit_paddings=(), data_format: str = "NHWC", dilations=(1, 1, 1, 1), name: str | None = None) -> Tensor:
    """Returns the gradient of :func:`conv2d` by its filter, of which only the shape counts."""
    return call("Conv2DBackpropFilterV2", name, input, filter, out_backprop, strides=strides, padding=padding,
                use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit_paddings, data_format=data_format, dilations=dilations)


def conv3d_backprop_filter(input, filter_sizes, out_backprop, strides, padding: str, data_format: str = "NDHWC",  # noqa: A002
                           dilations=(1, 1, 1, 1, 1), name: str | None = None) -> Tensor:
    """Returns the gradient of :func:`conv3d` by its filter, of shape `filter_sizes`."""
    return call("Conv3DBackpropFilterV2", name, input, filter_sizes, out_backprop, strides=strides, padding=padding, data_format=data_format,
                dilations=dilations)


def depthwise_conv2d_native(input, filter, strides, padding, data_format: str | None = "NHWC", dilations=(1, 1, 1, 1),  # noqa: A002
                            name: str | None = None) -> Tensor:
    """Returns a convolution of each channel by itself.

    Args:
        input: ``[batch, height, width, channels]``, or channels after the batch for ``"NCHW"``.
        filter: ``[height, width, channels, multiplier]``; the result has ``channels * multiplier`` channels.
        strides: four numbers.
        padding: ``"SAME"``, ``"VALID"``, or a list of pairs.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: four numbers.
        name: the name of the operation.
    """
    padding, explicit = padding_of(padding)
    return call("DepthwiseConv2dNative", name, input, filter, strides=strides, padding=padding, explicit_paddings=explicit,
                data_format=data_format, dilations=dilations)


def depthwise_conv2d_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format: str = "NHWC",  # noqa: A002
                                    dilations=(1, 1, 1, 1), name: str | None = None) -> Tensor:
    """Returns the gradient of :func:`depthwise_conv2d_native` by its input, of shape `input_sizes`."""
    padding, explicit = padding_of(padding)
    return call("DepthwiseConv2dNativeBackpropInput", name, input_sizes, filter, out_backprop, strides=strides, padding=padding,
                explicit_paddings=explicit, data_format=data_format, dilations=dilations)


def depthwise_conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format: str = "NHWC",  # noqa: A002
                                     dilations=(1, 1, 1, 1), name: str | None = None) -> Tensor:
    """Returns the gradient of :func:`depthwise_conv2d_native` by its filter, of shape `filter_sizes`."""
    padding, explicit = padding_of(padding)
    return call("DepthwiseConv2dNativeBackpropFilter", name, input, filter_sizes, out_backprop, strides=strides, padding=padding,
                explicit_paddings=explicit, data_format=data_format, dilations=dilations)
