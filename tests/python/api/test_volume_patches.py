"""Patches of volumes and convolutions by the general op: the same nodes, values and gradients as TensorFlow's."""

import numpy as np
import pytest

import flowmill
from compare import compare, run, same

RANDOM = np.random.RandomState(11)
VOLUME = RANDOM.rand(2, 4, 5, 6, 3)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bfloat16", "uint64"])
def test_patches_of_volumes(tf1, padding, dtype):
    def build(tf):
        volume = tf.cast(tf.constant(VOLUME * 100), getattr(tf, dtype))
        return tf.cast(tf.extract_volume_patches(volume, [1, 2, 3, 2, 1], [1, 1, 2, 1, 1], padding, name="patches"), tf.float64)
    compare(tf1, build)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_gradients_of_patches_of_volumes(tf1, padding):
    def build(tf):
        volume = tf.constant(VOLUME)
        return tf.gradients(tf.extract_volume_patches(volume, [1, 2, 3, 2, 1], [1, 1, 2, 1, 1], padding) ** 2, volume)
    compare(tf1, build, nodes=False)


def test_a_convolution_by_its_general_op(tf1):
    x, w = RANDOM.rand(1, 4, 4, 2).astype("f"), RANDOM.rand(2, 2, 2, 3).astype("f")
    compare(tf1, lambda tf: tf.conv(x, w, [1, 1, 1, 1], "SAME", name="c"))
    compare(tf1, lambda tf: tf.conv(VOLUME.astype("f"), np.ones((2, 2, 2, 3, 4), "f"), [1, 1, 2, 1, 1], "VALID"), rtol=1e-4)
    same(run(flowmill, lambda tf: tf.conv(x, w, [1, 2, 2, 1], "EXPLICIT", [0, 0, 1, 0, 0, 1, 0, 0]))[2][0].shape, (1, 2, 2, 3))
