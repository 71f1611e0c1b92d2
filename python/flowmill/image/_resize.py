"""Other sizes, by interpolation."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import by_rows
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_util import constant_value_as_shape
from flowmill.image._checks import as_batch, batch_for_size, is_tensor, sizes
from flowmill.image._geometry import maximum, pad_to_bounding_box
from flowmill.nn._scope import scope


class ResizeMethod:
    """The methods of interpolation."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_OPS = {ResizeMethod.BILINEAR: "ResizeBilinear", ResizeMethod.NEAREST_NEIGHBOR: "ResizeNearestNeighbor", ResizeMethod.BICUBIC: "ResizeBicubic",
        ResizeMethod.AREA: "ResizeArea", "bilinear": "ResizeBilinear", "nearest": "ResizeNearestNeighbor", "bicubic": "ResizeBicubic",
        "area": "ResizeArea"}


def resize_bilinear(images, size, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False) -> Tensor:
    """Images of another size, by the nearest four elements.

    Args:
        images: a batch.
        size: the new height and width, `int32`.
        align_corners: whether the middles of corner elements stay where they are.
        name: the name of the operation.
        half_pixel_centers: whether coordinates mean the centers of pixels.

    Returns:
        A batch of `float32`.
    """
    return call("ResizeBilinear", name, images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


def resize_nearest_neighbor(images, size, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False) -> Tensor:
    """Images of another size, by the nearest element. Arguments are as for :func:`resize_bilinear`; the type stays."""
    return call("ResizeNearestNeighbor", name, images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


def resize_bicubic(images, size, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False) -> Tensor:
    """Images of another size, by the nearest sixteen elements. Arguments and result are as for :func:`resize_bilinear`."""
    return call("ResizeBicubic", name, images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


def resize_area(images, size, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Images of another size, by means over areas. Arguments and result are as for :func:`resize_bilinear`."""
    return call("ResizeArea", name, images, size, align_corners=align_corners)


@by_rows("_images.resize_images")
def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners: bool = False, preserve_aspect_ratio: bool = False,
                  name: str | None = None) -> Tensor:
    """Returns an image, or each of a batch, of another size.

    Args:
        images: an image or a batch.
        size: the new height and width, `int32`.
        method: one of :class:`ResizeMethod`.
        align_corners: whether the middles of corner elements stay where they are.
        preserve_aspect_ratio: makes it no larger than `size` with the ratio of height and width as it is.
        name: the name of the scope.

    Returns:
        `float32`; of the type of `images` for the nearest neighbour, and if the size does not change.

    Raises:
        ValueError: if shapes do not fit, or for another method.
    """
    with scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        if images.shape.rank is None:
            raise ValueError("'images' contains no shape.")
        if images.shape.rank not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        images, is_batch = as_batch(images)
        _, height, width, _ = images.shape.as_list()
        try:
            size = convert_to_tensor(size, tf.int32, name="size")
        except (TypeError, ValueError):
            raise ValueError("'size' must be a 1-D int32 Tensor") from None
        if not size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        new_height, new_width = _known(size)
        if preserve_aspect_ratio:
            size = _within(images, size)
            new_height, new_width = _known_within(height, width, new_height, new_width)
        if None not in (height, width) and (height, width) == (new_height, new_width):
            return images if is_batch else tf.squeeze(images, axis=[0])
        resized = _resized(images, size, method, align_corners)
        resized.set_shape([None, new_height, new_width, None])
        return resized if is_batch else tf.squeeze(resized, axis=[0])


def _known(size: Tensor) -> tuple[int | None, int | None]:
    """Returns a size as far as it is known while the graph is built."""
    known = constant_value_as_shape(size)
    return tuple(known.as_list()) if known.rank is not None else (None, None)


def _known_within(height, width, most_height, most_width):
    """Returns the result of :func:`_within` if everything is known."""
    if None in (height, width, most_height, most_width):
        return None, None
    factor = min(np.float32(most_height) / np.float32(height), np.float32(most_width) / np.float32(width))
    return int(np.round(factor * np.float32(height))), int(np.round(factor * np.float32(width)))


def _within(images: Tensor, size: Tensor) -> Tensor:
    """Returns the largest size of the images' ratio in a size."""
    _, height, width, _ = sizes(images, 4)
    by_height = tf.cast(size[0], tf.float32) / tf.cast(height, tf.float32)
    by_width = tf.cast(size[1], tf.float32) / tf.cast(width, tf.float32)
    factor = tf.minimum(by_height, by_width)
    height = tf.cast(tf.round(factor * tf.cast(height, tf.float32)), tf.int32)
    width = tf.cast(tf.round(factor * tf.cast(width, tf.float32)), tf.int32)
    return convert_to_tensor([height, width], tf.int32, name="size")


def _resized(images: Tensor, size, method, align_corners: bool) -> Tensor:
    op = _OPS.get(method)
    if op is None:
        raise ValueError("Resize method is not implemented: {}".format(method))
    return call(op, None, images, size, align_corners=align_corners)


def _known_as_fits(image: Tensor, target_height, target_width):
    """Returns the size of the image within the target, if all is known."""
    _, height, width, _ = image.shape.as_list()
    if None in (height, width) or is_tensor(target_height) or is_tensor(target_width):
        return None, None
    height, width = np.float32(height), np.float32(width)
    ratio = max(width / np.float32(target_width), height / np.float32(target_height))
    return int(np.floor(height / ratio)), int(np.floor(width / ratio))


def resize_image_with_pad(image, target_height, target_width, method=ResizeMethod.BILINEAR, align_corners: bool = False) -> Tensor:
    """Returns an image, or each of a batch, as large as fits into a size without another ratio of height and width, and zeros around.

    Args:
        image: an image or a batch.
        target_height: the height of the result.
        target_width: the width of the result.
        method: one of :class:`ResizeMethod`.
        align_corners: whether the middles of corner elements stay where they are.

    Raises:
        ValueError: for sizes that are not positive, or another number of dimensions.
    """
    with scope(None, "resize_image_with_pad", [image]):
        image, is_batch, _ = batch_for_size(image, target_height, target_width)
        _, height, width, _ = sizes(image, 4)
        height, width = tf.cast(height, tf.float32), tf.cast(width, tf.float32)
        whole_height, whole_width = tf.cast(target_height, tf.float32), tf.cast(target_width, tf.float32)
        ratio = maximum(width / whole_width, height / whole_height)
        new_height, new_width = height / ratio, width / ratio
        int_height, int_width = tf.cast(tf.floor(new_height), tf.int32), tf.cast(tf.floor(new_width), tf.int32)
        above, left = (whole_height - new_height) / 2, (whole_width - new_width) / 2
        above, left = tf.floor(above), tf.floor(left)
        above = maximum(0, tf.cast(above, tf.int32))
        left = maximum(0, tf.cast(left, tf.int32))
        resized = resize_images(image, [int_height, int_width], method, align_corners=align_corners)
        resized.set_shape([None, *_known_as_fits(image, target_height, target_width), None])
        padded = pad_to_bounding_box(resized, above, left, target_height, target_width)
        if padded.shape.rank is None:
            raise ValueError("padded contains no shape.")
        sizes(padded, 4)
        return padded if is_batch else tf.squeeze(padded, axis=[0])
