"""Gradients of fake quantisation, colours, pools, optionals, ragged variants and splits: the same values as TensorFlow's."""

import numpy as np
import pytest

from compare import compare

RANDOM = np.random.RandomState(11)
VOLUME = RANDOM.rand(2, 4, 5, 6, 3)


def test_fake_quantization_backwards(tf1):
    x, dy = RANDOM.uniform(-8, 8, (2, 3)).astype("f"), RANDOM.rand(2, 3).astype("f")
    compare(tf1, lambda tf: tf.fake_quant_with_min_max_args_gradient(dy, x, min=-4, max=3.5, num_bits=4, name="g"))
    compare(tf1, lambda tf: tf.fake_quant_with_min_max_args_gradient(dy, x))
    compare(tf1, lambda tf: tf.fake_quant_with_min_max_vars_gradient(dy, x, -4.0, 3.5, narrow_range=True))
    compare(tf1, lambda tf: tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(dy, x, [-4.0, -1.0, 0.0], [1.0, 3.5, 8.0]))


COLOURS = np.concatenate([RANDOM.rand(20, 3), [[0, 0, 0], [1, 1, 1], [.3, .3, .3], [.5, .5, .2], [.2, .5, .5], [.5, .2, .5], [0, .4, 1], [1, 0, 0], [0, 1, 0],
                                               [0, 0, 1], [0, 0, .5]]])


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-4), ("float64", 1e-12)])
def test_gradients_of_hues(tf1, dtype, tolerance):
    weights = np.random.RandomState(3).randn(*COLOURS.shape).astype(dtype)

    def build(tf):
        colours = tf.constant(COLOURS, getattr(tf, dtype))
        return tf.gradients(tf.image.rgb_to_hsv(colours) * weights, colours)
    compare(tf1, build, nodes=False, rtol=tolerance, atol=tolerance)


def test_second_gradients_of_windows_that_are_inputs(tf1):
    def build(tf):
        image = tf.constant(VOLUME[:, 0], tf.float32)
        y = tf.raw_ops.MaxPoolV2(input=image, ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1], padding="SAME")
        grad = tf.gradients(tf.exp(y) * y, image)[0]
        return grad, tf.gradients(tf.sin(grad), image)[0]
    compare(tf1, build, nodes=False, rtol=1e-4)


def test_gradients_of_optionals(tf1):
    def build(tf):
        x, y = tf.constant([[0.5, -1.0]]), tf.constant([1.0, 2.0, 3.0])
        optional = tf.raw_ops.OptionalFromValue(components=[x * x, tf.sin(y)])
        first, second = tf.raw_ops.OptionalGetValue(optional=optional, output_types=[tf.float32, tf.float32], output_shapes=[[1, 2], [None]])
        return tf.gradients([first * first, tf.exp(second)], [x, y]), tf.gradients(first * 3.0, [x, y])
    compare(tf1, build, nodes=False)


@pytest.mark.parametrize("batched", [False, True])
def test_gradients_of_ragged_tensors_in_variants(tf1, batched):
    def build(tf):
        values, splits = tf.constant(VOLUME[0, 0, :, :2], tf.float32), tf.constant([0, 2, 2, 5], tf.int64)
        variant = tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=[splits], rt_dense_values=values * values, batched_input=batched)
        rank = 0 if batched else 1
        found = tf.raw_ops.RaggedTensorFromVariant(encoded_ragged=variant, input_ragged_rank=rank, output_ragged_rank=1, Tvalues=tf.float32)
        return found[-1], tf.gradients(tf.sin(found[-1]), values)
    compare(tf1, build, nodes=False)


@pytest.mark.parametrize("sizes", [1, [3]], ids=["one part", "one size"])
def test_gradients_of_a_split_into_one_part(tf1, sizes):
    def build(tf):
        x = tf.constant(VOLUME[0, 0, :, 0], tf.float32)
        part, = tf.split(x, sizes, 1)
        return tf.gradients(tf.sin(part), x)
    compare(tf1, build, nodes=False)
