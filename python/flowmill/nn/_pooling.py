"""Pooling, dilation and erosion. Windows and strides are numbers, or lists of 1, n or n + 2 of them for n spatial dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import int64
from flowmill.nn._scope import scope
from flowmill.nn._window import channels_at, padding_of, rank_of, sizes

if TYPE_CHECKING:
    from flowmill.raw_ops import _FractionalAvgPool, _FractionalMaxPool, _MaxPoolWithArgmax


def _pool2d(op: str, value, ksize, strides, padding, data_format: str | None, name: str) -> Tensor:
    data_format = data_format or "NHWC"
    channels = channels_at(data_format, 2)
    attrs = {"ksize": sizes(ksize, 2, channels, "ksize"), "strides": sizes(strides, 2, channels, "strides"), "data_format": data_format}
    if op == "MaxPool":
        attrs["padding"], attrs["explicit_paddings"] = padding_of(padding)
        if 0 in attrs["ksize"]:
            raise ValueError(f"`ksize` cannot be zero. Received: ksize={attrs['ksize']}")
    else:
        attrs["padding"] = padding
    return call(op, name, value, **attrs)


def max_pool(value, ksize, strides, padding, data_format: str | None = "NHWC", name: str | None = None, input=None) -> Tensor:  # noqa: A002
    """Returns the largest element of each window of images.

    Args:
        value: ``[batch, height, width, channels]``, or channels after the batch for ``"NCHW"``.
        ksize: the window's sizes.
        strides: how far to move.
        padding: ``"SAME"``, ``"VALID"``, or a list of pairs.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        name: the name of the operation.
        input: `value` by its new name.
    """
    value = one_of("value", value, "input", input)
    with scope(name, "MaxPool", [value]) as whole:
        return _pool2d("MaxPool", value, ksize, strides, padding, data_format, whole)


def avg_pool(value, ksize, strides, padding: str, data_format: str | None = "NHWC", name: str | None = None, input=None) -> Tensor:  # noqa: A002
    """The mean of each window of images; padding does not count. Arguments are as for :func:`max_pool`."""
    with scope(name, "AvgPool", [value]) as whole:
        return _pool2d("AvgPool", one_of("value", value, "input", input), ksize, strides, padding, data_format, whole)


def max_pool2d(input, ksize, strides, padding, data_format: str | None = "NHWC", name: str | None = None) -> Tensor:  # noqa: A002
    """Like :func:`max_pool`."""
    with scope(name, "MaxPool2d", [input]) as whole:
        return _pool2d("MaxPool", input, ksize, strides, padding, data_format, whole)


def avg_pool2d(value, ksize, strides, padding: str, data_format: str | None = "NHWC", name: str | None = None, input=None) -> Tensor:  # noqa: A002
    """Like :func:`avg_pool`."""
    return avg_pool(value, ksize, strides, padding, data_format, name, input)


def _pool1d(op: str, value, ksize, strides, padding, data_format: str | None, name: str) -> Tensor:
    data_format = data_format or "NWC"
    first = data_format.startswith("NC")
    channels, at = (1, 2) if first else (2, 1)
    attrs = {"ksize": [1, *sizes(ksize, 1, channels, "ksize")], "strides": [1, *sizes(strides, 1, channels, "strides")],
             "data_format": "NCHW" if first else "NHWC"}
    if op == "MaxPool":
        padding, explicit = padding_of(padding, 3)
        attrs["explicit_paddings"] = [0, 0, *explicit] if explicit else []
    value = tf.expand_dims(value, at)
    return tf.squeeze(call(op, name, value, padding=padding, **attrs), at)


def max_pool1d(input, ksize, strides, padding, data_format: str | None = "NWC", name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the largest element of each window of sequences, ``[batch, width, channels]`` (``"NCW"``: channels after the batch)."""
    with scope(name, "MaxPool1d", [input]) as whole:
        return _pool1d("MaxPool", input, ksize, strides, padding, data_format, whole)


def avg_pool1d(input, ksize, strides, padding: str, data_format: str | None = "NWC", name: str | None = None) -> Tensor:  # noqa: A002
    """The mean of each window of sequences, ``[batch, width, channels]`` (``"NCW"``: channels after the batch)."""
    with scope(name, "AvgPool1D", [input]) as whole:
        return _pool1d("AvgPool", input, ksize, strides, padding, data_format, whole)


def _pool3d(op: str, value, ksize, strides, padding: str, data_format: str | None, name: str) -> Tensor:
    data_format = data_format or "NDHWC"
    channels = channels_at(data_format, 3)
    return call(op, name, value, ksize=sizes(ksize, 3, channels, "ksize"), strides=sizes(strides, 3, channels, "strides"), padding=padding,
                data_format=data_format)


def max_pool3d(input, ksize, strides, padding: str, data_format: str | None = "NDHWC", name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the largest element of each window of volumes, ``[batch, depth, height, width, channels]`` (``"NCDHW"``: channels after the batch)."""
    with scope(name, "MaxPool3D", [input]) as whole:
        return _pool3d("MaxPool3D", input, ksize, strides, padding, data_format, whole)


def avg_pool3d(input, ksize, strides, padding: str, data_format: str | None = "NDHWC", name: str | None = None) -> Tensor:  # noqa: A002
    """The mean of each window of volumes, ``[batch, depth, height, width, channels]`` (``"NCDHW"``: channels after the batch)."""
    with scope(name, "AvgPool3D", [input]) as whole:
        return _pool3d("AvgPool3D", input, ksize, strides, padding, data_format, whole)


def max_pool_v2(input, ksize, strides, padding, data_format: str | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the largest element of each window, of one to three spatial dimensions by the rank of `input`.

    Raises:
        ValueError: for another rank.
    """
    return _by_rank((max_pool1d, max_pool2d, max_pool3d), input, ksize, strides, padding, data_format, name)


def avg_pool_v2(input, ksize, strides, padding: str, data_format: str | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """The mean of each window, of one to three spatial dimensions by the rank of `input`.

    Raises:
        ValueError: for another rank.
    """
    return _by_rank((avg_pool1d, avg_pool2d, avg_pool3d), input, ksize, strides, padding, data_format, name)


def _by_rank(functions, value, ksize, strides, padding, data_format: str | None, name: str | None) -> Tensor:
    rank = rank_of(value)
    if rank is None:
        if data_format is None:
            raise ValueError("`input` must have a static shape or `data_format` must be given. "
                             f"Received: input.shape={value.shape} and data_format=None")
        rank = len(data_format)
    if not 3 <= rank <= 5:
        raise ValueError(f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={value.shape} of rank {rank}.")
    return functions[rank - 3](value, ksize, strides, padding, data_format, name)


def max_pool_with_argmax(input, ksize, strides, padding: str, data_format: str = "NHWC", Targmax=None, name: str | None = None,  # noqa: A002, N803
                         output_dtype=None, include_batch_in_index: bool = False) -> _MaxPoolWithArgmax:
    """Returns the largest element of each window of images and its place.

    Returns:
        A named tuple of `output` and `argmax`, of type `Targmax` (`output_dtype` by its new name, ``int64`` by default): indices into the
        flattened image, or into the flattened batch with `include_batch_in_index`.
    """
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other  than 'NHWC' are not supported. Received: data_format={data_format}")
    kind = one_of("Targmax", Targmax, "output_dtype", output_dtype) or int64
    return call("MaxPoolWithArgmax", name, input, ksize=ksize, strides=strides, padding=padding, Targmax=kind,
                include_batch_in_index=include_batch_in_index)


def fractional_max_pool(value, pooling_ratio, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False,
                        seed: int = 0, seed2: int = 0, name: str | None = None) -> _FractionalMaxPool:
    """Returns the largest element of windows of random sizes. Returns a named tuple of the result and where windows begin."""
    return call("FractionalMaxPool", name, value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
                deterministic=deterministic, seed=seed, seed2=seed2)


def fractional_avg_pool(value, pooling_ratio, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False,
                        seed: int = 0, seed2: int = 0, name: str | None = None) -> _FractionalAvgPool:
    """The mean of windows of random sizes. Returns a named tuple of the result and where windows begin."""
    return call("FractionalAvgPool", name, value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
                deterministic=deterministic, seed=seed, seed2=seed2)


def dilation2d(input, filter=None, strides=None, rates=None, padding=None, name: str | None = None, filters=None,  # noqa: A002
               dilations=None) -> Tensor:
    """Returns the largest sum of an element and the filter's, over each window.

    Args:
        input: ``[batch, height, width, channels]``.
        filter: ``[height, width, channels]``.
        strides: four numbers.
        rates: the distance of what is added, four numbers.
        padding: ``"SAME"`` or ``"VALID"``.
        name: the name of the operation.
        filters: `filter` by its new name.
        dilations: `rates` by its new name.
    """
    filter = one_of("filter", filter, "filters", filters)  # noqa: A001
    return call("Dilation2D", name, input, filter, strides=strides, rates=one_of("rates", rates, "dilations", dilations), padding=padding)


def erosion2d(value, kernel, strides, rates, padding: str, name: str | None = None) -> Tensor:
    """Returns the smallest difference of an element and the kernel's, over each window. Arguments are as for :func:`dilation2d`."""
    with scope(name, "erosion2d", [value, kernel]) as whole:
        return tf.negative(dilation2d(tf.negative(value), tf.reverse_v2(kernel, [0, 1]), strides, rates, padding, name=whole))
