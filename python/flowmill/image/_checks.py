"""Shapes of images, static if they are known and checked when the graph runs if they are not."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.control_flow import with_dependencies
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor


def is_tensor(value) -> bool:
    """Returns true if a size is known only when the graph runs."""
    return isinstance(value, Tensor) or hasattr(value, "_as_tensor")


def asserted(condition, message: str) -> list:
    """Returns the operations that check a condition when the graph runs; none if it is a boolean that holds.

    Raises:
        ValueError: if it is a boolean that does not.
    """
    if is_tensor(condition):
        return [tf.Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


def checks_of(image: Tensor) -> list:
    """Returns the operations that check that an image has at least three dimensions, of which the last three are not empty.

    Raises:
        ValueError: if static shapes say that it has not.
    """
    shape = image.shape
    if shape.rank is not None:
        if shape.rank < 3:
            raise ValueError(f"'image' (shape {shape}) must be at least three-dimensional.")
        inner = shape[-3:]
        if 0 in inner.as_list():
            raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {shape}")
        if inner.is_fully_defined():
            return []
    return [
        tf.assert_positive(tf.shape(image)[-3:], ["inner 3 dims of 'image.shape' must be > 0."]),
        tf.assert_greater_equal(tf.rank(image), 3, message="'image' must be at least three-dimensional."),
    ]


def checked(image) -> Tensor:
    """Returns an image, once it is checked."""
    image = convert_to_tensor(image, name="image")
    return with_dependencies(checks_of(image), image)


def sizes(image: Tensor, rank: int) -> list:
    """Returns the sizes of an image: numbers if they are known, scalars if not."""
    if image.shape.is_fully_defined():
        return image.shape.as_list()
    static = image.shape.with_rank(rank).as_list()
    dynamic = tf.unstack(tf.shape(image), rank)
    return [d if s is None else s for s, d in zip(static, dynamic)]


def known(*sizes) -> list:
    """Sizes as static shapes have them."""
    return [None if is_tensor(size) else size for size in sizes]


def as_batch(image: Tensor) -> tuple[Tensor, bool]:
    """Returns an image as a batch of one, and whether it was one.

    Raises:
        ValueError: for another number of dimensions.
    """
    rank = image.shape.rank
    if rank == 4:
        return image, True
    if rank not in (3, None):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    image = tf.expand_dims(image, 0)
    if rank is None:
        image.set_shape([None] * 4)
    return image, False


def batch_for_size(image, target_height, target_width) -> tuple[Tensor, bool, list]:
    """Returns an image as a batch, for a size that is positive: as :func:`as_batch`, and what checks that."""
    image, is_batch = as_batch(convert_to_tensor(image, name="image"))
    checks = checks_of(image)
    checks += asserted(target_width > 0, "target_width must be > 0.")
    checks += asserted(target_height > 0, "target_height must be > 0.")
    return with_dependencies(checks, image), is_batch, checks


def by_rank(image: Tensor, of_image, of_batch):
    """Returns the result of one of two functions, chosen by whether `image` has three dimensions or four.

    Raises:
        ValueError: for another number of dimensions.
    """
    rank = image.shape.rank
    if rank is None:
        return tf.cond(tf.equal(tf.rank(image), 3), of_image, of_batch)
    if rank == 3:
        return of_image()
    if rank == 4:
        return of_batch()
    raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
