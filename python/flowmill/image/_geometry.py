"""Flips, turns, crops and margins."""

from __future__ import annotations

from typing import Any

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.control_flow import with_dependencies
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_util import constant_value
from flowmill.image._checks import as_batch, asserted, batch_for_size, by_rank, checked, checks_of, is_tensor, known, sizes
from flowmill.nn._scope import scope


def _shape_of_flipped(image: Tensor, result: Tensor) -> Tensor:
    result.set_shape([None, None, None] if image.shape.rank is None else image.shape)
    return result


def _flip(image, at: int, name: str) -> Tensor:
    with scope(None, name, [image]):
        image = checked(image)
        return by_rank(image, lambda: _shape_of_flipped(image, tf.reverse(image, [at])), lambda: tf.reverse(image, [at + 1]))


def flip_left_right(image) -> Tensor:
    """Returns an image, or each of a batch, with left and right exchanged.

    Raises:
        ValueError: for another number of dimensions than three or four.
    """
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image) -> Tensor:
    """Returns an image, or each of a batch, upside down.

    Raises:
        ValueError: for another number of dimensions than three or four.
    """
    return _flip(image, 0, "flip_up_down")


def _random_flip(image, at: int, seed: int | None, name: str) -> Tensor:
    with scope(None, name, [image]) as whole:
        image = checked(image)

        def of_image():
            flips = tf.less(tf.random_uniform(shape=[], minval=0, maxval=1.0, seed=seed), 0.5)
            return _shape_of_flipped(image, tf.cond(flips, lambda: tf.reverse(image, [at]), lambda: image, name=whole))

        def of_batch():
            size = tf.shape(image)[0]
            drawn = tf.random_uniform(shape=[size], minval=0, maxval=1.0, seed=seed)
            flips = tf.cast(tf.round(tf.reshape(drawn, [size, 1, 1, 1])), image.dtype)
            flipped = tf.reverse(image, [at + 1])
            return flips * flipped + (1 - flips) * image

        return by_rank(image, of_image, of_batch)


def random_flip_left_right(image, seed: int | None = None) -> Tensor:
    """:func:`flip_left_right` or not, with equal probability, for each image of a batch by itself."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image, seed: int | None = None) -> Tensor:
    """:func:`flip_up_down` or not, with equal probability, for each image of a batch by itself."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def rot90(image, k=1, name: str | None = None) -> Tensor:
    """Returns an image, or each of a batch, turned by 90 degrees against the clock `k` times."""
    with scope(name, "rot90", [image, k]) as whole:
        image = checked(image)
        k = convert_to_tensor(k, dtype=tf.int32, name="k")
        k.shape.assert_has_rank(0)
        k = k % 4

        def turned(at: int):
            order = [1, 0, 2] if at == 0 else [0, 2, 1, 3]
            cases = [
                (tf.equal(k, 1), lambda: tf.transpose(tf.reverse_v2(image, [at + 1]), order)),
                (tf.equal(k, 2), lambda: tf.reverse_v2(image, [at, at + 1])),
                (tf.equal(k, 3), lambda: tf.reverse_v2(tf.transpose(image, order), [at + 1])),
            ]
            result = tf.case(cases, default=lambda: image, exclusive=True, name=whole)
            if at == 0:
                result.set_shape([None, None, image.shape[2].value if image.shape.rank is not None else None])
            else:
                shape = result.shape
                result.set_shape([shape[0].value, None, None, shape[3].value] if shape.rank is not None else [None] * 4)
            return result

        return by_rank(image, lambda: turned(0), lambda: turned(1))


def transpose(image, name: str | None = None) -> Tensor:
    """Returns an image, or each of a batch, with height and width exchanged."""
    with scope(name, "transpose", [image]):
        image = checked(image)
        return by_rank(image, lambda: tf.transpose(image, [1, 0, 2], name=name), lambda: tf.transpose(image, [0, 2, 1, 3], name=name))


def central_crop(image, central_fraction) -> Tensor:
    """Returns the middle of an image, or of each of a batch.

    Args:
        image: an image or a batch.
        central_fraction: how much of height and width, a number or a scalar in ``(0, 1]``.

    Raises:
        ValueError: for a number out of range, or another number of dimensions.
    """
    with scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        static = None if is_tensor(central_fraction) else float(central_fraction)
        if is_tensor(central_fraction):
            found = constant_value(central_fraction)
            static = None if found is None else float(found)
        if static is not None:
            if not 0.0 < static <= 1.0:
                raise ValueError("central_fraction must be within (0, 1]")
            if static == 1.0:
                return image
        else:
            within = tf.logical_or(central_fraction > 0.0, central_fraction <= 1.0)
            image = with_dependencies(asserted(within, "central_fraction must be within (0, 1]"), image)
        checked(image)
        rank = image.shape.rank
        if rank not in (3, 4):
            raise ValueError(f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {rank}.")
        batch = [] if rank == 3 else [image.shape[0].value]
        height, width, depth = image.shape.as_list()[-3:]
        whole = [size if size is not None else tf.shape(image)[rank - 3 + i] for i, size in enumerate((height, width))]
        starts = [_margin(size, central_fraction, static) for size in whole]
        lengths = [size - start * 2 for size, start in zip(whole, starts)]
        begin = tf.stack([*([0] if batch else []), *starts, 0])
        size = tf.stack([*([-1] if batch else []), *lengths, -1])
        image = tf.slice(image, begin, size)
        image.set_shape([*batch, *known(*lengths), depth])
        return image


def _margin(size, fraction, static: float | None):
    """Returns the size that is removed on either side."""
    if static is None or is_tensor(size):
        whole = tf.cast(size, tf.float64)
        return tf.cast((whole - whole * tf.cast(fraction, tf.float64)) / 2, tf.int32)
    return int((float(size) - float(size) * static) / 2)


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width) -> Tensor:
    """Returns an image, or each of a batch, with zeros around.

    Args:
        image: an image or a batch.
        offset_height: rows of zeros above.
        offset_width: columns of zeros on the left.
        target_height: the height of the result.
        target_width: the width of the result.

    Raises:
        ValueError: if it does not fit.
    """
    with scope(None, "pad_to_bounding_box", [image]):
        image, is_batch = as_batch(convert_to_tensor(image, name="image"))
        batch, height, width, depth = sizes(image, 4)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks = checks_of(image)
        checks += asserted(offset_height >= 0, "offset_height must be >= 0")
        checks += asserted(offset_width >= 0, "offset_width must be >= 0")
        checks += asserted(right >= 0, "width must be <= target - offset")
        checks += asserted(below >= 0, "height must be <= target - offset")
        image = with_dependencies(checks, image)
        paddings = tf.reshape(tf.stack([0, 0, offset_height, below, offset_width, right, 0, 0]), [4, 2])
        padded = tf.pad(image, paddings)
        padded.set_shape(known(batch, target_height, target_width, depth))
        return padded if is_batch else tf.squeeze(padded, axis=[0])


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width) -> Tensor:
    """Returns a part of an image, or of each of a batch.

    Args:
        image: an image or a batch.
        offset_height: the first row.
        offset_width: the first column.
        target_height: the number of rows.
        target_width: the number of columns.

    Raises:
        ValueError: if the image is not that large.
    """
    with scope(None, "crop_to_bounding_box", [image]):
        image, is_batch = as_batch(convert_to_tensor(image, name="image"))
        checks = checks_of(image)
        batch, height, width, depth = sizes(image, 4)
        checks += asserted(offset_width >= 0, "offset_width must be >= 0.")
        checks += asserted(offset_height >= 0, "offset_height must be >= 0.")
        checks += asserted(target_width > 0, "target_width must be > 0.")
        checks += asserted(target_height > 0, "target_height must be > 0.")
        checks += asserted(width >= target_width + offset_width, "width must be >= target + offset.")
        checks += asserted(height >= target_height + offset_height, "height must be >= target + offset.")
        image = with_dependencies(checks, image)
        begin = tf.stack([0, offset_height, offset_width, 0])
        cropped = tf.slice(image, begin, tf.stack([tf.shape(image)[0], target_height, target_width, tf.shape(image)[3]]))
        cropped.set_shape(known(batch, target_height, target_width, depth))
        return cropped if is_batch else tf.squeeze(cropped, axis=[0])


def maximum(x, y) -> Any:
    """Returns the larger of two sizes."""
    return tf.maximum(x, y) if is_tensor(x) or is_tensor(y) else max(x, y)


def _minimum(x, y):
    return tf.minimum(x, y) if is_tensor(x) or is_tensor(y) else min(x, y)


def _equal(x, y):
    return tf.equal(x, y) if is_tensor(x) or is_tensor(y) else x == y


def resize_image_with_crop_or_pad(image, target_height, target_width) -> Tensor:
    """Returns an image, or each of a batch, cropped around the middle or with zeros around, to a size.

    Args:
        image: an image or a batch.
        target_height: the height of the result.
        target_width: the width of the result.

    Raises:
        ValueError: for sizes that are not positive, or another number of dimensions.
    """
    with scope(None, "resize_image_with_crop_or_pad", [image]):
        image, is_batch, checks = batch_for_size(image, target_height, target_width)
        if is_tensor(target_height):
            target_height = with_dependencies(checks, target_height)
        if is_tensor(target_width):
            target_width = with_dependencies(checks, target_width)
        _, height, width, _ = sizes(image, 4)
        more_width = target_width - width
        crop_left, pad_left = maximum(-more_width // 2, 0), maximum(more_width // 2, 0)
        more_height = target_height - height
        crop_top, pad_top = maximum(-more_height // 2, 0), maximum(more_height // 2, 0)
        cropped = crop_to_bounding_box(image, crop_top, crop_left, _minimum(target_height, height), _minimum(target_width, width))
        resized = pad_to_bounding_box(cropped, pad_top, pad_left, target_height, target_width)
        if resized.shape.rank is None:
            raise ValueError("resized contains no shape.")
        _, height, width, _ = sizes(resized, 4)
        checks = asserted(_equal(height, target_height), "resized height is not correct.")
        checks += asserted(_equal(width, target_width), "resized width is not correct.")
        resized = with_dependencies(checks, resized)
        return resized if is_batch else tf.squeeze(resized, axis=[0])


def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding: str | None = None, name: str | None = None,
                          sizes=None) -> Tensor:
    """Patches of images along the channels.

    Args:
        images: a batch.
        ksizes: the sizes of patches, ``[1, height, width, 1]`` (`sizes` by its new name).
        strides: how far patches are apart, ``[1, rows, columns, 1]``.
        rates: how far elements of a patch are apart, ``[1, rows, columns, 1]``.
        padding: ``"SAME"`` or ``"VALID"``.
        name: the name of the operation.
        sizes: `ksizes` by its new name.
    """
    return call("ExtractImagePatches", name, images, ksizes=one_of("ksizes", ksizes, "sizes", sizes), strides=strides, rates=rates, padding=padding)


def extract_patches(images, sizes, strides, rates, padding: str, name: str | None = None) -> Tensor:
    """:func:`extract_image_patches` by its new name."""
    return call("ExtractImagePatches", name, images, ksizes=sizes, strides=strides, rates=rates, padding=padding)


def extract_glimpse(input, size, offsets, centered: bool = True, normalized: bool = True, uniform_noise: bool = True,  # noqa: A002
                    name: str | None = None) -> Tensor:
    """Returns a window of each image, with noise where it is outside of the image.

    Args:
        input: a batch.
        size: ``[height, width]`` of the windows.
        offsets: the middle of each window, ``[batch, 2]``.
        centered: whether offsets count from the middle.
        normalized: whether they go from −1 to 1 (from 0 to 1 if not centered).
        uniform_noise: whether noise is uniform rather than normal.
        name: the name of the operation.
    """
    return call("ExtractGlimpse", name, input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise)
