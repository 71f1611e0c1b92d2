"""Convolutions and pooling with dilation, by moving what is apart into the batch and back (`SpaceToBatchND`), and pairs of convolutions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_util import constant_value
from flowmill.nn._convolution import batched, conv1d, conv2d, conv2d_transpose, depthwise_conv2d_native
from flowmill.nn._pooling import avg_pool, avg_pool3d, max_pool, max_pool3d
from flowmill.nn._scope import scope
from flowmill.nn._window import padding_of, sizes


def with_space_to_batch(input, dilation_rate, padding, op: Callable, filter_shape=None, spatial_dims=None,  # noqa: A002
                        data_format: str | None = None) -> Tensor:
    """`op` with dilation, of an `op` without.

    Args:
        input: a tensor of at least as many dimensions as the last of `spatial_dims` says.
        dilation_rate: a positive distance for each spatial dimension; of known length.
        padding: ``"SAME"`` or ``"VALID"``, or a list of pairs.
        op: called as ``op(input, number of spatial dimensions, padding)``.
        filter_shape: the sizes of the window, needed for ``"SAME"``.
        spatial_dims: which dimensions to dilate; by default those after the batch, or after the channels if `data_format` says so.
        data_format: ``"NC..."`` for channels after the batch.

    Raises:
        ValueError: for distances below 1, dimensions that do not ascend or that there are not.
    """
    input = convert_to_tensor(input, name="input")  # noqa: A001
    return dilated(input, dilation_rate, padding, op, filter_shape, spatial_dims, data_format)


def dilated(value: Tensor, dilation_rate, padding, op: Callable, filter_shape=None, spatial_dims=None, data_format: str | None = None,
            batch_dims: int = 1, filters: Tensor | None = None) -> Tensor:
    """Like :func:`with_space_to_batch`, with more batch dimensions. `filters` say the number of channels if the ops do not."""
    rate = convert_to_tensor(dilation_rate, tf.int32, name="dilation_rate")
    if rate.shape.rank not in (None, 1):
        raise ValueError(f"`dilation_rate.shape.rank` must be 1. Received: dilation_rate={rate} of rank {rate.shape.rank}")
    if not rate.shape.is_fully_defined():
        raise ValueError(f"`dilation_rate.shape` must be fully defined. Received: dilation_rate={rate} with shape {rate.shape}")
    count = rate.shape.as_list()[0]
    channels_first = data_format is not None and data_format.startswith("NC")
    dims = _spatial_dims(value, spatial_dims, count, batch_dims + channels_first, channels_first)
    known = constant_value(rate)
    if known is not None:
        if np.any(known < 1):
            raise ValueError(f"`dilation_rate` must be positive. Received: dilation_rate={known}")
        if np.all(known == 1):
            return op(value, count, padding)
    base = _base_paddings(padding, filter_shape, count, rate if known is None else known, channels_first)
    spatial = [value.shape.as_list()[i] for i in dims] if value.shape.rank is not None else [None]
    if None in spatial:
        shape = tf.shape(value)
        spatial = tf.stack([shape[i] for i in dims])
    paddings, crops = tf.required_space_to_batch_paddings(input_shape=spatial, base_paddings=base, block_shape=rate)
    block = _filled(rate, 1, dims)
    paddings, crops = _filled(paddings, 0, dims), _filled(crops, 0, dims)
    result = op(call("SpaceToBatchND", None, value, block, paddings), count, "VALID")
    result = call("BatchToSpaceND", None, result, block, crops)
    if channels_first and filters is not None and result.shape.rank is not None and not result.shape.as_list()[1]:
        shape = result.shape.as_list()
        shape[1] = filters.shape.as_list()[-1]
        result.set_shape(shape)
    return result


def _spatial_dims(value: Tensor, spatial_dims, count: int, start: int, channels_first: bool) -> list[int]:
    given = list(range(start, start + count)) if spatial_dims is None else list(spatial_dims)
    found = sorted({int(d) for d in given})
    if found != given or any(d < 1 for d in found):
        raise ValueError(f"`spatial_dims` must be a monotonically increasing sequence of positive integers. Received: spatial_dims={given}")
    wanted = found[-1] if channels_first else found[-1] + 1
    if value.shape.rank is not None and value.shape.rank < wanted:
        raise ValueError(f"`input.shape.rank` must be at least {wanted}. Received: input.shape={value.shape} with rank {value.shape.rank}")
    return found


def _base_paddings(padding, filter_shape, count: int, rate, channels_first: bool):
    """Returns the padding before and after each spatial dimension, ``[count, 2]``."""
    kind, explicit = padding_of(padding, count + 2) if isinstance(padding, (list, tuple)) else (padding, [])
    if kind == "VALID":
        return np.zeros([count, 2], np.int32)
    if kind == "EXPLICIT":
        pairs = np.array(explicit).reshape([count + 2, 2])
        return pairs[2:] if channels_first else pairs[1:-1]
    if kind != "SAME":
        raise ValueError(f"`padding` must be one of 'SAME' or 'VALID'. Received: padding={padding}")
    if filter_shape is None:
        raise ValueError(f"`filter_shape` must be specified for `padding='SAME'`. Received: filter_shape={filter_shape} and padding={padding}")
    shape = convert_to_tensor(filter_shape, name="filter_shape")
    known = constant_value(shape)
    extra = ((shape if known is None else known)[:count] - 1) * rate
    start = extra // 2
    end = extra - start
    return tf.stack([[start[i], end[i]] for i in range(count)])


def _filled(of: Tensor, fill: int, dims: list[int]):
    """Extends values of some dimensions to all from the first on: `fill` for those between."""
    inner = of.shape.as_list()[1:]
    known = constant_value(of)
    source = of if known is None else known
    parts, previous, i = [], 0, 0
    while i < len(dims):
        start = i
        if dims[start] > 1:
            parts.append(np.full([dims[start] - 1 - previous, *inner], fill, dtype=of.dtype.as_numpy_dtype))
        while i + 1 < len(dims) and dims[i + 1] == dims[i] + 1:
            i += 1
        parts.append(source[start:i + 1])
        previous = dims[i]
        i += 1
    return np.concatenate(parts) if known is not None else tf.concat(parts, 0)


def convolution(input, filter=None, padding=None, strides=None, dilation_rate=None, name: str | None = None,  # noqa: A002
                data_format: str | None = None, filters=None, dilations=None) -> Tensor:
    """Returns a convolution of one, two or three spatial dimensions, with strides or dilation.

    Args:
        input: ``[batch, spatial..., channels]``, or channels after the batch if `data_format` begins with ``"NC"``.
        filter: ``[spatial..., channels, channels of the result]``.
        padding: ``"SAME"`` or ``"VALID"``.
        strides: a number for each spatial dimension.
        dilation_rate: a number for each spatial dimension, 1 if `strides` are more than 1.
        name: the name of the scope.
        data_format: such as ``"NWC"``, ``"NHWC"``, ``"NCHW"``.
        filters: `filter` by its new name.
        dilations: `dilation_rate` by its new name.

    Raises:
        ValueError: if ranks are not known or do not fit.
    """
    filter = one_of("filter", filter, "filters", filters)  # noqa: A001
    rates = one_of("dilation_rate", dilation_rate, "dilations", dilations)
    if not hasattr(filter, "dtype") or isinstance(filter, np.ndarray):
        with scope(None, "convolution_internal", [filter, input]):
            filter = convert_to_tensor(filter, name="filters")  # noqa: A001
    if not isinstance(input, Tensor):
        with scope(None, "convolution_internal", [filter, input]):
            input = convert_to_tensor(input, name="input")  # noqa: A001
    filter_rank, rank = filter.shape.rank, input.shape.rank
    if not filter_rank and not rank:
        raise ValueError(f"When `num_spatial_dims` is not set, one of `input.shape.rank` or `filters.shape.rank` must be known. Received: "
                         f"input.shape={input.shape} of rank {rank} and filters.shape={filter.shape} of rank {filter_rank}")
    count = (filter_rank or rank) - 2
    if count not in (1, 2, 3):
        raise ValueError(f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={count}.")
    batch_dims = rank - count - 1 if rank else 1
    channels = batch_dims if data_format is not None and data_format.startswith("NC") else batch_dims + count
    rates = sizes(rates, count, channels, "dilations")
    strides = sizes(strides, count, channels, "strides")
    with scope(name or None, "convolution", [input, filter]) as whole:
        if all(r == 1 for r in rates):
            return _plain(count, input, filter, strides, rates, padding, data_format, whole)
        inner = slice(2, None) if channels == 1 else slice(1, -1)
        return _atrous(count, input, filter, strides[inner], rates[inner], padding, data_format, batch_dims, whole)


def _plain(count: int, value, filters, strides, rates, padding, data_format, name) -> Tensor:
    if count == 1:
        return conv1d(value, filters, strides, padding=padding, data_format=data_format, dilations=rates, name=name)
    op = "Conv2D" if count == 2 else "Conv3D"
    attrs = {"strides": strides, "padding": padding, "data_format": data_format, "dilations": rates}
    if (value.shape.rank or 0) <= count + 2:
        return call(op, name, value, filters, **attrs)
    return batched(value, lambda flat: call(op, None, flat, filters, **attrs), count + 1, name)


def _atrous(count: int, value: Tensor, filters, strides, rates, padding, data_format, batch_dims: int, name: str) -> Tensor:
    if batch_dims < 1:
        raise ValueError(f"Batch dims should be >= 1, but found {batch_dims}.")
    strides, rates = _strides_and_rates(count, strides, rates)
    first = data_format is not None and data_format.startswith("NC")
    channels = value.shape.as_list()[batch_dims if first else batch_dims + count] if value.shape.rank is not None else None
    taken = filters.shape.as_list()[count] if filters.shape.rank is not None else None
    if channels is not None and taken and channels % taken:
        raise ValueError(f"The number of input channels is not divisible by the corresponding number of output filters. Received: "
                         f"input.shape={value.shape} with {channels} channels and filters.shape={filters.shape} with {taken} output filters.")
    start = batch_dims + first

    def op(converted, _, padding):
        if count == 1:
            return conv1d(converted, filters, int(strides[0]), padding=padding, data_format=data_format or "NWC", name=name)
        plain = [1, 1, *map(int, strides)] if first else [1, *map(int, strides), 1]
        return _plain(count, converted, filters, plain, None, padding, data_format, name)

    return dilated(value, rates, padding, op, filters.shape, range(start, start + count), data_format, batch_dims, filters)


def _strides_and_rates(count: int, strides, rates):
    """Returns both as arrays, checked."""
    found = []
    for name, values in (("dilation_rate", rates), ("strides", strides)):
        values = [1] * count if values is None else values
        if len(values) != count:
            raise ValueError(f"`len({name})` should be {count}. Received: {name}={values} of length {len(values)}")
        values = np.array(values, dtype=np.int32)
        if np.any(values < 1):
            raise ValueError(f"all values of `{name}` must be positive. Received: {name}={values}")
        found.append(values)
    rates, strides = found
    if np.any(strides > 1) and np.any(rates > 1):
        raise ValueError("`strides > 1` not supported in conjunction with `dilation_rate > 1`. "
                         f"Received: strides={strides} and dilation_rate={rates}")
    return strides, rates


def atrous_conv2d(value, filters, rate, padding, name: str | None = None) -> Tensor:
    """Returns a convolution of images with dilation.

    Args:
        value: ``[batch, height, width, channels]``.
        filters: ``[height, width, channels, channels of the result]``.
        rate: the distance of what is multiplied.
        padding: ``"SAME"`` or ``"VALID"``.
        name: the name of the scope.
    """
    return convolution(value, filters, padding, dilation_rate=np.broadcast_to(rate, (2,)), name=name)


def atrous_conv2d_transpose(value, filters, output_shape, rate: int, padding: str, name: str | None = None) -> Tensor:
    """Returns the transpose of :func:`atrous_conv2d`: its gradient by the input.

    Args:
        value: ``[batch, height, width, channels]``.
        filters: ``[height, width, channels of the result, channels]``.
        output_shape: the shape of the result, four numbers or a tensor.
        rate: the distance of what is multiplied, a number.
        padding: ``"SAME"`` or ``"VALID"``.
        name: the name of the scope.

    Raises:
        ValueError: if shapes do not fit, or `rate` is below 1.
    """
    with scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]):
        value = convert_to_tensor(value, name="value")
        filters = convert_to_tensor(filters, name="filters")
        if not value.shape[3].is_compatible_with(filters.shape[3]):
            raise ValueError(f"`value` channel count must be compatible with `filters` input channel count. Received: value.shape={value.shape} "
                             f"with channel count {value.shape[3]} and filters.shape={filters.shape} with input channel count {filters.shape[3]}.")
        if rate < 1:
            raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
        if rate == 1:
            return conv2d_transpose(value, filters, output_shape, strides=[1, 1, 1, 1], padding=padding)
        shape = convert_to_tensor(output_shape, name="output_shape")
        if not shape.shape.is_compatible_with(TensorShape([4])):
            raise ValueError(f"`output_shape` must have shape (4,). Received: output_shape={shape.shape}")
        if isinstance(output_shape, (list, tuple, np.ndarray)):
            output_shape = list(output_shape)
            if not filters.shape[2].is_compatible_with(output_shape[3]):
                raise ValueError(f"`output_shape` channel count must be compatible with `filters` output channel count. Received: "
                                 f"output_shape={output_shape} and filters.shape={filters.shape}.")
        height, width = _extra(filters, rate, padding)
        (top, bottom), (left, right) = height, width
        in_height = output_shape[1] + top + bottom
        in_width = output_shape[2] + left + right
        more_bottom = (rate - in_height % rate) % rate
        more_right = (rate - in_width % rate) % rate
        value = tf.space_to_batch(value, [[0, more_bottom], [0, more_right]], block_size=rate)
        input_sizes = [rate * rate * output_shape[0], (in_height + more_bottom) // rate, (in_width + more_right) // rate, output_shape[3]]
        value = call("Conv2DBackpropInput", None, input_sizes, filters, value, strides=[1, 1, 1, 1], padding="VALID", data_format="NHWC")
        return tf.batch_to_space(value, [[top, bottom + more_bottom], [left, right + more_right]], block_size=rate)


def _extra(filters: Tensor, rate: int, padding: str):
    """Returns the padding that "SAME" adds before and after height and width."""
    if padding == "VALID":
        return (0, 0), (0, 0)
    if padding != "SAME":
        raise ValueError(f"`padding` must be either 'VALID' or 'SAME'. Received: padding={padding}")
    shape = filters.shape.as_list() if filters.shape.is_fully_defined() else tf.shape(filters)
    height, width = shape[0], shape[1]
    height_up = height + (height - 1) * (rate - 1)
    width_up = width + (width - 1) * (rate - 1)
    height, width = height_up - 1, width_up - 1
    top = height // 2
    bottom = height - top
    left = width // 2
    return (top, bottom), (left, width - left)


def depthwise_conv2d(input, filter, strides, padding, rate=None, name: str | None = None, data_format: str | None = None,  # noqa: A002
                     dilations=None) -> Tensor:
    """Returns a convolution of each channel by itself, with strides or dilation.

    Args:
        input: ``[batch, height, width, channels]``, or channels after the batch for ``"NCHW"``.
        filter: ``[height, width, channels, multiplier]``; the result has ``channels * multiplier`` channels.
        strides: four numbers.
        padding: ``"SAME"`` or ``"VALID"``.
        rate: two distances, 1 if `strides` are more than 1.
        name: the name of the scope.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: `rate` by its new name.
    """
    rate = one_of("rate", rate, "dilations", dilations)
    with scope(name, "depthwise", [input, filter]) as whole:
        input = convert_to_tensor(input, name="tensor_in")  # noqa: A001
        filter = convert_to_tensor(filter, name="filter_in")  # noqa: A001
        return with_space_to_batch(
            input, [1, 1] if rate is None else rate, padding, filter_shape=tf.shape(filter), data_format=data_format,
            op=lambda value, _, padding: depthwise_conv2d_native(value, filter, strides, padding, data_format=data_format, name=whole))


def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name: str | None = None,  # noqa: A002
                     data_format: str | None = None, dilations=None) -> Tensor:
    """Returns a convolution of each channel by itself and then one of size 1 that mixes channels.

    Args:
        input: ``[batch, height, width, channels]``, or channels after the batch for ``"NCHW"``.
        depthwise_filter: ``[height, width, channels, multiplier]``.
        pointwise_filter: ``[1, 1, channels * multiplier, channels of the result]``.
        strides: of the first one, four numbers.
        padding: of the first one, ``"SAME"`` or ``"VALID"``.
        rate: two distances, of the first one.
        name: the name of the scope.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: `rate` by its new name.
    """
    rate = one_of("rate", rate, "dilations", dilations)
    with scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as whole:
        input = convert_to_tensor(input, name="tensor_in")  # noqa: A001
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        shape = pointwise_filter.shape.with_rank(4)
        shape[0].assert_is_compatible_with(1)
        shape[1].assert_is_compatible_with(1)
        depthwise = with_space_to_batch(
            input, [1, 1] if rate is None else rate, padding, filter_shape=tf.shape(depthwise_filter), data_format=data_format,
            op=lambda value, _, padding: depthwise_conv2d_native(
                value, depthwise_filter, strides, padding, data_format=data_format, name="depthwise"))
        return conv2d(depthwise, pointwise_filter, [1, 1, 1, 1], padding="VALID", data_format=data_format, name=whole)


def pool(input, window_shape, pooling_type: str, padding: str, dilation_rate=None, strides=None, name: str | None = None,  # noqa: A002
         data_format: str | None = None, dilations=None) -> Tensor:
    """Pooling over windows of one, two or three spatial dimensions, with strides or dilation.

    Args:
        input: ``[batch, spatial..., channels]``, or channels after the batch if `data_format` begins with ``"NC"``.
        window_shape: a size for each spatial dimension.
        pooling_type: ``"AVG"`` or ``"MAX"``.
        padding: ``"SAME"`` or ``"VALID"``.
        dilation_rate: a number for each spatial dimension.
        strides: a number for each spatial dimension, no more than the window's sizes.
        name: the name of the scope.
        data_format: such as ``"NWC"``, ``"NHWC"``, ``"NCHW"``.
        dilations: `dilation_rate` by its new name.

    Raises:
        ValueError: for what there is not: another kind, ``"SAME"`` with dilation.
    """
    rates = one_of("dilation_rate", dilation_rate, "dilations", dilations)
    count = len(window_shape)
    with scope(name, f"{pooling_type.lower()}_pool", [input]) as whole:
        input = convert_to_tensor(input, name="input")  # noqa: A001
        if count not in (1, 2, 3):
            raise ValueError(f"`len(window_shape)` must be 1, 2, or 3. Received: window_shape={window_shape} of length {count}")
        input.shape.with_rank(count + 2)
        strides, rates = _strides_and_rates(count, strides, rates)
        if padding == "SAME" and np.any(rates > 1):
            raise ValueError("pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
                             f"Received: padding={padding} and dilation_rate={rates}")
        if np.any(strides > np.array(window_shape)):
            raise ValueError(f"`strides` > `window_shape` not supported due to inconsistency between CPU and GPU implementations. "
                             f"Received: strides={strides} and window_shape={window_shape}")
        functions = {"MAX": (max_pool, max_pool, max_pool3d), "AVG": (avg_pool, avg_pool, avg_pool3d)}.get(pooling_type)
        if functions is None:
            raise ValueError(f"{count}-D {pooling_type} pooling is not supported.")
        first = data_format is not None and data_format.startswith("NC")
        window, steps = ([1, 1, *s] if first else [1, *s, 1] for s in (list(window_shape), [int(s) for s in strides]))
        start = 2 if first else 1
        if count == 1:
            if data_format not in (None, "NWC", "NCW"):
                raise ValueError(f"data_format must be either 'NWC' or 'NCW'. Received: data_format={data_format}")
            window, steps = [1, *window], [1, *steps]
        op_format = {None: "NHWC", "NWC": "NHWC", "NCW": "NCHW"}[data_format] if count == 1 else data_format

        def op(value, _, padding):
            if count == 1:
                value = tf.expand_dims(value, start)
            result = functions[count - 1](value, window, steps, padding, name=whole, data_format=op_format)
            return tf.squeeze(result, [start]) if count == 1 else result

        return with_space_to_batch(input, rates, padding, op, window_shape, range(start, start + count))
