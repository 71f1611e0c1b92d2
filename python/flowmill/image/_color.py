"""Types, colours, brightness and contrast."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.control_flow import with_dependencies
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import elementwise
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import DType, as_dtype
from flowmill.image._checks import asserted, checked, is_tensor
from flowmill.nn._scope import scope


def _largest(dtype: DType) -> int:
    return int(np.iinfo(dtype.as_numpy_dtype).max)


@elementwise
def convert_image_dtype(image, dtype, saturate: bool = False, name: str | None = None) -> Tensor:
    """Returns an image of another type: integers go up to their largest, floating-point numbers to 1.

    Args:
        image: an image or a batch.
        dtype: the type.
        saturate: whether what is out of range becomes the nearest number of the type.
        name: the name of the operation.

    Raises:
        AttributeError: for types of other kinds.
    """
    image = convert_to_tensor(image, name="image")
    dtype, own = as_dtype(dtype).base_dtype, image.dtype.base_dtype
    if not dtype.is_floating and not dtype.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if not own.is_floating and not own.is_integer:
        raise AttributeError("image dtype must be either floating point or integer")
    if dtype is own:
        return tf.identity(image, name=name)
    cast = tf.saturate_cast if saturate else tf.cast
    with scope(name, "convert_image", [image]) as whole:
        if own.is_integer and dtype.is_integer:
            most, new_most = _largest(own), _largest(dtype)
            if most > new_most:
                # One more than the largest is a power of two, as is their quotient.
                return cast(tf.floordiv(image, (most + 1) // (new_most + 1)), dtype, name=whole)
            return tf.multiply(cast(image, dtype), (new_most + 1) // (most + 1), name=whole)
        if own.is_floating and dtype.is_floating:
            return tf.cast(image, dtype, name=whole)
        if own.is_integer:
            return tf.multiply(tf.cast(image, dtype), 1.0 / _largest(own), name=whole)
        return cast(tf.multiply(image, _largest(dtype) + 0.5), dtype, name=whole)


def _floating(image: Tensor) -> Tensor:
    """Returns the image as floating-point numbers: itself, or `float32`."""
    return image if image.dtype.base_dtype in (tf.float16, tf.float32) else convert_image_dtype(image, tf.float32)


@elementwise
def adjust_brightness(image, delta) -> Tensor:
    """Returns an image with `delta`, between −1 and 1, added to each element."""
    with scope(None, "adjust_brightness", [image, delta]) as whole:
        image = convert_to_tensor(image, name="image")
        floating = _floating(image)
        adjusted = tf.add(floating, tf.cast(delta, floating.dtype), name=whole)
        return convert_image_dtype(adjusted, image.dtype, saturate=True)


def adjust_contrast(images, contrast_factor) -> Tensor:
    """Images whose distances from the mean of each channel are `contrast_factor` times as large."""
    with scope(None, "adjust_contrast", [images, contrast_factor]) as whole:
        images = convert_to_tensor(images, name="images")
        adjusted = call("AdjustContrastv2", whole, _floating(images), contrast_factor)
        return convert_image_dtype(adjusted, images.dtype, saturate=True)


@elementwise
def adjust_gamma(image, gamma=1, gain=1) -> Tensor:
    """``gain * image ** gamma``.

    Raises:
        ValueError: if `gamma` is negative.
    """
    with scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        floating = _floating(image)
        checks = asserted(gamma >= 0, "Gamma should be a non-negative real number.")
        if checks:
            gamma = with_dependencies(checks, gamma)
        return convert_image_dtype(gain * floating**gamma, image.dtype, saturate=True)


def adjust_hue(image, delta, name: str | None = None) -> Tensor:
    """RGB images with hues turned by `delta`, from −1 to 1."""
    with scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        return convert_image_dtype(call("AdjustHue", None, _floating(image), delta), image.dtype)


def adjust_saturation(image, saturation_factor, name: str | None = None) -> Tensor:
    """RGB images with saturations times `saturation_factor`."""
    with scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        return convert_image_dtype(call("AdjustSaturation", None, _floating(image), saturation_factor), image.dtype)


def adjust_jpeg_quality(image, jpeg_quality, dct_method: str = "", name: str | None = None) -> Tensor:
    """Returns an image as it is once it was a JPEG file of a quality from 0 to 100."""
    with scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        channels = image.shape.as_list()[-1]
        dtype = image.dtype
        image = convert_image_dtype(image, tf.uint8, saturate=True)
        if not is_tensor(jpeg_quality):
            jpeg_quality = convert_to_tensor(jpeg_quality, dtype=tf.int32)
        image = call("EncodeJpegVariableQuality", None, image, jpeg_quality)
        image = call("DecodeJpeg", None, image, channels=channels, dct_method=dct_method)
        return convert_image_dtype(image, dtype, saturate=True)


def _range(lower, upper) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


@elementwise
def random_brightness(image, max_delta: float, seed: int | None = None) -> Tensor:
    """:func:`adjust_brightness` by a random number from ``[-max_delta, max_delta)``.

    Raises:
        ValueError: if `max_delta` is negative.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, tf.random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """:func:`adjust_contrast` by a random factor from ``[lower, upper)``.

    Raises:
        ValueError: if there is no such factor, or a negative one.
    """
    _range(lower, upper)
    return adjust_contrast(image, tf.random_uniform([], lower, upper, seed=seed))


def random_hue(image, max_delta: float, seed: int | None = None) -> Tensor:
    """:func:`adjust_hue` by a random number from ``[-max_delta, max_delta)``.

    Raises:
        ValueError: if `max_delta` is not in ``[0, 0.5]``.
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, tf.random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """:func:`adjust_saturation` by a random factor from ``[lower, upper)``.

    Raises:
        ValueError: if there is no such factor, or a negative one.
    """
    _range(lower, upper)
    return adjust_saturation(image, tf.random_uniform([], lower, upper, seed=seed))


def random_jpeg_quality(image, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None) -> Tensor:
    """:func:`adjust_jpeg_quality` by a random quality from ``[min_jpeg_quality, max_jpeg_quality)``.

    Raises:
        ValueError: if they are not from 0 to 100, or the first is not less.
    """
    if min_jpeg_quality < 0 or max_jpeg_quality < 0 or min_jpeg_quality > 100 or max_jpeg_quality > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return adjust_jpeg_quality(image, tf.random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=tf.int32))


def per_image_standardization(image) -> Tensor:
    """Each image with mean 0 and variance 1, as `float32`; the deviation counts as one over the root of the number of elements at least."""
    with scope(None, "per_image_standardization", [image]) as whole:
        image = tf.cast(checked(image), tf.float32)
        count = tf.reduce_prod(tf.shape(image)[-3:])
        mean = tf.reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        deviation = tf.math.reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        least = tf.rsqrt(tf.cast(count, tf.float32))
        deviation = tf.maximum(deviation, least)
        image -= mean
        return tf.divide(image, deviation, name=whole)


def rgb_to_grayscale(images, name: str | None = None) -> Tensor:
    """Returns the brightness of RGB images, with one channel and the type of `images`."""
    with scope(name, "rgb_to_grayscale", [images]) as whole:
        images = convert_to_tensor(images, name="images")
        floating = convert_image_dtype(images, tf.float32)
        gray = tf.tensordot(floating, [0.2989, 0.587, 0.114], [-1, -1])
        return convert_image_dtype(tf.expand_dims(gray, -1), images.dtype, name=whole)


def grayscale_to_rgb(images, name: str | None = None) -> Tensor:
    """Images of one channel with three equal ones.

    Raises:
        ValueError: if there is another number of channels.
    """
    with scope(name, "grayscale_to_rgb", [images]) as whole:
        images = convert_to_tensor(images)
        images = with_dependencies(_grayscale_checks(images), images)
        rank = tf.expand_dims(tf.rank(images) - 1, 0)
        multiples = tf.concat([tf.ones(rank, dtype=tf.int32), tf.expand_dims(3, 0)], 0)
        rgb = tf.tile(images, multiples, name=whole)
        rgb.set_shape(images.shape[:-1].concatenate([3]) if images.shape.rank is not None else None)
        return rgb


def _grayscale_checks(image: Tensor) -> list:
    shape = image.shape
    if shape.rank is not None and shape.rank < 2:
        raise ValueError(f"A grayscale image (shape {shape}) must be at least two-dimensional.")
    if shape.is_fully_defined():
        if shape.as_list()[-1] != 1:
            raise ValueError("Last dimension of a grayscale image should be size 1.")
        return []
    return [
        tf.assert_equal(tf.shape(image)[-1], 1, message="Last dimension of a grayscale image should be size 1."),
        tf.assert_greater_equal(tf.rank(image), 3, message="A grayscale image must be at least two-dimensional."),
    ]


def rgb_to_hsv(images, name: str | None = None) -> Tensor:
    """Hue, saturation and value of RGB images, all from 0 to 1."""
    return call("RGBToHSV", name, images)


def hsv_to_rgb(images, name: str | None = None) -> Tensor:
    """RGB images of hue, saturation and value."""
    return call("HSVToRGB", name, images)


# Columns are what comes out: NTSC's Y, I and Q; PAL's Y, U and V (ITU-R BT.470).
_RGB_TO_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_YIQ_TO_RGB = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_RGB_TO_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_YUV_TO_RGB = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _mixed(images, kernel) -> Tensor:
    images = convert_to_tensor(images, name="images")
    with images.graph.as_default():
        kernel = convert_to_tensor(kernel, dtype=images.dtype, name="kernel")
        return tf.tensordot(images, kernel, axes=[[images.shape.rank - 1], [0]])


def rgb_to_yiq(images) -> Tensor:
    """NTSC's brightness and two colour channels of RGB images."""
    return _mixed(images, _RGB_TO_YIQ)


def yiq_to_rgb(images) -> Tensor:
    """RGB images of NTSC's channels."""
    return _mixed(images, _YIQ_TO_RGB)


def rgb_to_yuv(images) -> Tensor:
    """PAL's brightness and two colour channels of RGB images."""
    return _mixed(images, _RGB_TO_YUV)


def yuv_to_rgb(images) -> Tensor:
    """RGB images of PAL's channels."""
    return _mixed(images, _YUV_TO_RGB)
