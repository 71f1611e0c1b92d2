"""Measures of the difference between images, and of the changes within an image."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.image._color import convert_image_dtype
from flowmill.nn._scope import scope


def total_variation(images, name: str | None = None) -> Tensor:
    """Returns the sum of how much neighbours differ, a scalar or one for each image of a batch.

    Raises:
        ValueError: for another number of dimensions than three or four.
    """
    with scope(name, "total_variation"):
        rank = images.shape.rank
        if rank == 3:
            down = images[1:, :, :] - images[:-1, :, :]
            right = images[:, 1:, :] - images[:, :-1, :]
            axis = None
        elif rank == 4:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            right = images[:, :, 1:, :] - images[:, :, :-1, :]
            axis = [1, 2, 3]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        return tf.reduce_sum(tf.abs(down), axis=axis) + tf.reduce_sum(tf.abs(right), axis=axis)


def image_gradients(image) -> tuple[Tensor, Tensor]:
    """Returns the differences of each element of a batch to those below and on the right; 0 at the ends.

    Returns:
        Two batches: downwards and to the right.

    Raises:
        ValueError: for another number of dimensions than four.
    """
    if image.shape.rank != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    shape = tf.shape(image)
    batch, height, width, depth = tf.unstack(shape)
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    right = image[:, :, 1:, :] - image[:, :, :-1, :]
    zeros_shape = tf.stack([batch, 1, width, depth])
    down = tf.reshape(tf.concat([down, tf.zeros(zeros_shape, image.dtype)], 1), shape)
    zeros_shape = tf.stack([batch, height, 1, depth])
    right = tf.reshape(tf.concat([right, tf.zeros(zeros_shape, image.dtype)], 2), shape)
    return down, right


def sobel_edges(image) -> Tensor:
    """Sobel's derivatives of a batch, ``[batch, height, width, channels, 2]``: downwards and to the right."""
    known, shape = image.shape, tf.shape(image)
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]])
    kernels = np.transpose(kernels, (1, 2, 0))[:, :, None, :]
    filters = tf.tile(tf.constant(kernels, dtype=image.dtype), [1, 1, shape[-1], 1], name="sobel_filters")
    padded = tf.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = tf.nn.depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
    edges = tf.reshape(edges, shape=tf.concat([shape, [2]], 0))
    edges.set_shape(known.concatenate([2]))
    return edges


def _comparable(a: Tensor, b: Tensor):
    """Returns the shapes of two images or batches, and what checks that they fit.

    Raises:
        ValueError: if static shapes say that they do not.
    """
    first, second = a.shape.with_rank_at_least(3), b.shape.with_rank_at_least(3)
    if first.rank is not None and second.rank is not None:
        first[-3:].assert_is_compatible_with(second[-3:])
        for one, other in zip(reversed(first.as_list()[:-3]), reversed(second.as_list()[:-3])):
            if 1 not in (one, other) and None not in (one, other) and one != other:
                raise ValueError(f"Two images are not compatible: {first} and {second}")
    first, second = tf.shape_n([a, b])
    checks = [
        tf.Assert(tf.greater_equal(tf.size(first), 3), [first, second], summarize=10),
        tf.Assert(tf.reduce_all(tf.equal(first[-3:], second[-3:])), [first, second], summarize=10),
    ]
    return first, second, checks


def psnr(a, b, max_val, name: str | None = None) -> Tensor:
    """Returns the peak signal-to-noise ratio of images in decibels.

    Args:
        a: an image or a batch.
        b: of the same shape.
        max_val: the difference between the largest and the least value there can be.
        name: the name of the scope.

    Returns:
        `float32`: a scalar or one for each image.
    """
    with scope(name, "PSNR", [a, b]):
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        most = convert_image_dtype(tf.cast(max_val, a.dtype), tf.float32)
        a = convert_image_dtype(a, tf.float32)
        b = convert_image_dtype(b, tf.float32)
        error = tf.reduce_mean(tf.squared_difference(a, b), [-3, -2, -1])
        signal = 20 * tf.log(most) / tf.log(10.0)
        ratio = tf.subtract(signal, np.float32(10 / np.log(10)) * tf.log(error), name="psnr")
        _, _, checks = _comparable(a, b)
        with tf.control_dependencies(checks):
            return tf.identity(ratio)


def _gaussian(size: Tensor, sigma: Tensor) -> Tensor:
    """Returns a Gaussian window, ``[size, size, 1, 1]``."""
    size = convert_to_tensor(size, tf.int32)
    sigma = convert_to_tensor(sigma)
    places = tf.cast(tf.range(size), sigma.dtype)
    places -= tf.cast(size - 1, sigma.dtype) / 2.0
    exponent = tf.square(places)
    exponent *= -0.5 / tf.square(sigma)
    exponent = tf.reshape(exponent, shape=[1, -1]) + tf.reshape(exponent, shape=[-1, 1])
    window = tf.nn.softmax(tf.reshape(exponent, shape=[1, -1]))
    return tf.reshape(window, shape=[size, size, 1, 1])


def _by_channel(a: Tensor, b: Tensor, max_val, filter_size, filter_sigma, k1: float, k2: float, return_index_map: bool = False):
    """Returns the similarity of each channel, and its part that contrast and structure have."""
    size = tf.constant(filter_size, dtype=tf.int32)
    sigma = tf.constant(filter_sigma, dtype=a.dtype)
    first, second = tf.shape_n([a, b])
    checks = [
        tf.Assert(tf.reduce_all(tf.greater_equal(first[-3:-1], size)), [first, size], summarize=8),
        tf.Assert(tf.reduce_all(tf.greater_equal(second[-3:-1], size)), [second, size], summarize=8),
    ]
    with tf.control_dependencies(checks):
        a = tf.identity(a)
    kernel = tf.tile(_gaussian(size, sigma), multiples=[1, 1, first[-1], 1])

    def smoothed(x):
        shape = tf.shape(x)
        flat = tf.reshape(x, shape=tf.concat([[-1], shape[-3:]], 0))
        y = tf.nn.depthwise_conv2d(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
        return tf.reshape(y, tf.concat([shape[:-3], tf.shape(y)[1:]], 0))

    luminance, structure = _parts(a, b, smoothed, max_val, k1, k2)
    if return_index_map:
        return luminance * structure, structure
    axes = tf.constant([-3, -2], dtype=tf.int32)
    similarity = tf.reduce_mean(luminance * structure, axes)
    return similarity, tf.reduce_mean(structure, axes)


def _parts(x: Tensor, y: Tensor, smoothed, max_val, k1: float, k2: float):
    """Returns the two factors of the similarity (Wang et al., 2004)."""
    c1 = (k1 * max_val) ** 2
    c2 = (k2 * max_val) ** 2
    mean_x = smoothed(x)
    mean_y = smoothed(y)
    product = mean_x * mean_y * 2.0
    squares = tf.square(mean_x) + tf.square(mean_y)
    luminance = (product + c1) / (squares + c1)
    mixed = smoothed(x * y) * 2.0
    second = smoothed(tf.square(x) + tf.square(y))
    c2 *= 1.0
    structure = (mixed - product + c2) / (second - squares + c2)
    return luminance, structure


def ssim(img1, img2, max_val, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
         return_index_map: bool = False) -> Tensor:
    """Returns the structural similarity of images, up to 1.

    Args:
        img1: an image or a batch, at least `filter_size` high and wide.
        img2: of the same shape.
        max_val: the difference between the largest and the least value there can be.
        filter_size: the size of the Gaussian window.
        filter_sigma: its deviation.
        k1: what keeps the first factor from 0 over 0.
        k2: what keeps the second factor from it.
        return_index_map: gives the similarity around each place instead of its mean.

    Returns:
        `float32`: a scalar or one for each image.
    """
    with scope(None, "SSIM", [img1, img2]):
        img1 = convert_to_tensor(img1, name="img1")
        img2 = convert_to_tensor(img2, name="img2")
        _, _, checks = _comparable(img1, img2)
        with tf.control_dependencies(checks):
            img1 = tf.identity(img1)
        most = convert_image_dtype(tf.cast(max_val, img1.dtype), tf.float32)
        img1 = convert_image_dtype(img1, tf.float32)
        img2 = convert_image_dtype(img2, tf.float32)
        similarity, _ = _by_channel(img1, img2, most, filter_size, filter_sigma, k1, k2, return_index_map)
        return tf.reduce_mean(similarity, [-1])


# The exponents of the five scales (Wang et al., 2003).
_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim_multiscale(img1, img2, max_val, power_factors=_SCALES, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01,
                    k2: float = 0.03) -> Tensor:
    """Returns the structural similarity of images at several scales, each half as large as the last.

    Args:
        img1: an image or a batch.
        img2: of the same shape.
        max_val: the difference between the largest and the least value there can be.
        power_factors: the exponent of each scale.
        filter_size: the size of the Gaussian window.
        filter_sigma: its deviation.
        k1: as for :func:`ssim`.
        k2: as for :func:`ssim`.

    Returns:
        `float32`: a scalar or one for each image.
    """
    with scope(None, "MS-SSIM", [img1, img2]):
        img1 = convert_to_tensor(img1, name="img1")
        img2 = convert_to_tensor(img2, name="img2")
        first, second, checks = _comparable(img1, img2)
        with tf.control_dependencies(checks):
            img1 = tf.identity(img1)
        most = convert_image_dtype(tf.cast(max_val, img1.dtype), tf.float32)
        images = [convert_image_dtype(img1, tf.float32), convert_image_dtype(img2, tf.float32)]
        heads, tails = [s[:-3] for s in (first, second)], [s[-3:] for s in (first, second)]
        halves = tf.constant([2, 2, 1], dtype=tf.int32)
        found, similarity = [], None
        for scale in range(len(power_factors)):
            with scope(None, f"Scale{scale}"):
                if scale:
                    images, tails = _halved(images, heads, tails, halves)
                similarity, structure = _by_channel(*images, most, filter_size, filter_sigma, k1, k2)
                found.append(tf.nn.relu(structure))
        found.pop()
        factors = tf.stack([*found, tf.nn.relu(similarity)], axis=-1)
        product = tf.reduce_prod(tf.pow(factors, power_factors), [-1])
        return tf.reduce_mean(product, [-1])


def _halved(images, heads, tails, halves: Tensor):
    """Images of half the size, odd ones made even by repeating the last row or column."""
    flat = [tf.reshape(x, tf.concat([[-1], tail], 0)) for x, tail in zip(images, tails)]
    odd = tails[0] % halves

    def padded():
        padding = tf.pad(tf.expand_dims(odd, -1), [[1, 0], [1, 0]])
        return [tf.pad(x, padding, mode="SYMMETRIC") for x in flat]

    even = tf.cond(tf.reduce_any(tf.not_equal(odd, 0)), padded, lambda: flat)
    smaller = [tf.nn.avg_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID") for x in even]
    tails = [shape[1:] for shape in tf.shape_n(smaller)]
    return [tf.reshape(x, tf.concat([head, tail], 0)) for x, head, tail in zip(smaller, heads, tails)], tails
