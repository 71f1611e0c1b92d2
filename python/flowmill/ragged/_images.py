"""Images of different sizes."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_util import constant_value_as_shape
from flowmill.image import ResizeMethod
from flowmill.ragged._tensor import RaggedTensor, to_ragged


def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners: bool = False, preserve_aspect_ratio: bool = False,
                  name: str | None = None) -> Tensor:
    """Returns each of a ragged batch of images in one size.

    Raises:
        ValueError: if the batch has another rank than 4.
    """
    images = to_ragged(images)
    if images.shape.rank != 4:
        raise ValueError("tf.image.resize: images.shape.rank must be 4 if images is ragged.")
    with op_scope(name, "RaggedResizeImages"):
        size = tf.convert_to_tensor(size, tf.int32, "size")
        channels = images.shape[-1:]
        spec = tf.TensorSpec(constant_value_as_shape(size).with_rank(2).concatenate(channels), tf.float32)

        def resized(image):
            dense = image.to_tensor() if isinstance(image, RaggedTensor) else image
            return tf.image.resize_images(dense, size, method, align_corners, preserve_aspect_ratio)

        def of_none():
            return tf.zeros(tf.concat([[0], size, tf.shape(images.flat_values)[-1:]], 0))

        def of_all():
            return tf.map_fn(resized, images, fn_output_signature=spec)
        count = images.shape.as_list()[0]
        return tf.cond(tf.equal(images.nrows(), 0), of_none, of_all) if count is None else of_all() if count else of_none()
