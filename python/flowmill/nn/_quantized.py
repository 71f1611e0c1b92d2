"""Convolution, pools and activations of quantised integers. Each tensor comes with the range that its integers represent, as does each result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowmill._internal.apply import call
from flowmill.dtypes import as_dtype, qint32, quint8

if TYPE_CHECKING:
    from flowmill.raw_ops import _QuantizedAvgPool, _QuantizedConv2D, _QuantizedMaxPool, _QuantizedReluX


def quantized_avg_pool(input, min_input, max_input, ksize, strides, padding: str, name: str | None = None) -> _QuantizedAvgPool:  # noqa: A002
    """The mean of each window of images, rounded towards zero.

    Args:
        input: integers of type `quint8` or `qint8`, ``[batch, height, width, channels]``.
        min_input: the number that the least integer represents.
        max_input: the number that the greatest integer represents.
        ksize: the window's sizes, four numbers.
        strides: how far to move, four numbers.
        padding: ``"SAME"`` or ``"VALID"``.
        name: the name of the operation.
    """
    return call("QuantizedAvgPool", name, input, min_input, max_input, ksize=ksize, strides=strides, padding=padding)


def quantized_max_pool(input, min_input, max_input, ksize, strides, padding: str, name: str | None = None) -> _QuantizedMaxPool:  # noqa: A002
    """Returns the largest element of each window of images. Arguments are as for :func:`quantized_avg_pool`."""
    return call("QuantizedMaxPool", name, input, min_input, max_input, ksize=ksize, strides=strides, padding=padding)


def quantized_conv2d(input, filter, min_input, max_input, min_filter, max_filter, strides, padding: str, out_type=qint32,  # noqa: A002
                     dilations=(1, 1, 1, 1), name: str | None = None) -> _QuantizedConv2D:
    """Convolution of quantised images with a quantised filter.

    Args:
        input: images of type `quint8`, ``[batch, height, width, in_channels]``.
        filter: ``[height, width, in_channels, out_channels]``, `quint8` or `qint8`.
        min_input: the number that the least integer of the images represents.
        max_input: the number that the greatest integer of the images represents.
        min_filter: the number that the least integer of the filter represents.
        max_filter: the number that the greatest integer of the filter represents.
        strides: how far to move, four numbers, of which the middle ones are equal.
        padding: ``"SAME"`` or ``"VALID"``.
        out_type: the type of the sums, `qint32`.
        dilations: four ones.
        name: the name of the operation.
    """
    return call("QuantizedConv2D", name, input, filter, min_input, max_input, min_filter, max_filter, strides=strides, padding=padding,
                out_type=as_dtype(out_type), dilations=list(dilations))


def quantized_relu_x(features, max_value, min_features, max_features, out_type=quint8, name: str | None = None) -> _QuantizedReluX:
    """``min(max(features, 0), max_value)``.

    Args:
        features: integers of type `quint8` or `qint32`.
        max_value: the bound, a number.
        min_features: the number that the least integer represents.
        max_features: the number that the greatest integer represents.
        out_type: the type of `features`.
        name: the name of the operation.
    """
    return call("QuantizedReluX", name, features, max_value, min_features, max_features, out_type=as_dtype(out_type))
