"""Random parts of images, chosen by a seed: the values and errors of TensorFlow."""

import numpy as np
import pytest

import flowmill
from compare import compare

BOXES = np.float32([[[0.1, 0.2, 0.6, 0.9], [0.0, 0.0, 0.3, 0.3]]])


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
@pytest.mark.parametrize("seed_dtype", ["int32", "int64"])
def test_parts_of_images_by_a_seed(tf1, dtype, seed_dtype):
    for seed in ([1, 2], [-5, 2**31 - 1], [0, 0]):
        for covered in (0.0, 0.5, 1.0):
            compare(tf1, lambda tf: list(tf.raw_ops.StatelessSampleDistortedBoundingBox(
                image_size=tf.constant([40, 60, 3], dtype), bounding_boxes=BOXES, min_object_covered=covered, seed=tf.constant(seed, seed_dtype))))


def test_the_whole_image_counts_if_there_are_no_boxes(tf1):
    compare(tf1, lambda tf: list(tf.raw_ops.StatelessSampleDistortedBoundingBox(
        image_size=[40, 60, 3], bounding_boxes=np.zeros([1, 0, 4], "f"), min_object_covered=0.2, seed=[3, 4], use_image_if_no_bounding_boxes=True,
        aspect_ratio_range=[0.5, 2.0], area_range=[0.2, 0.7], max_attempts=5)))


@pytest.mark.parametrize("feeds", [
    {"image_size": [40, 60]}, {"bounding_boxes": np.zeros([2, 4], "f")}, {"bounding_boxes": BOXES + 1}, {"min_object_covered": -1.0},
    {"seed": [1, 2, 3]}, {"seed": 1}, {"bounding_boxes": np.zeros([1, 0, 4], "f")},
])
def test_bad_arguments_of_parts_of_images(tf1, feeds):
    codes = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            given = {"image_size": [40, 60, 3], "bounding_boxes": BOXES, "min_object_covered": 0.1, "seed": [1, 2]} | feeds
            inputs = {name: tf.placeholder({"image_size": tf.int32, "seed": tf.int64}.get(name, tf.float32)) for name in given}
            outputs = tf.raw_ops.StatelessSampleDistortedBoundingBox(**inputs)
            with pytest.raises(tf.errors.OpError) as raised:
                session.run(outputs, {inputs[name]: value for name, value in given.items()})
            codes.append(raised.value.error_code)
    assert codes[0] == codes[1]
