"""Isotonic regression: the values, segments and gradients of TensorFlow."""

import numpy as np
import pytest

import flowmill
from compare import compare

OUTPUTS = {"float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "float64": "float64", "int8": "float32", "int16": "float32",
           "int32": "float64", "int64": "float64"}


@pytest.mark.parametrize("dtype", OUTPUTS)
@pytest.mark.parametrize("shape", [[1], [9], [3, 7], [2, 3, 5], [0, 4], [4, 0]])
def test_values_and_segments(tf1, dtype, shape):
    values = np.random.RandomState(1).randint(-9, 9, shape)

    def build(tf):
        output, segments = tf.raw_ops.IsotonicRegression(input=tf.cast(tf.constant(values), dtype), output_dtype=OUTPUTS[dtype])
        return tf.cast(output, tf.float64), segments
    compare(tf1, build)


def test_gradients(tf1):
    values = np.random.RandomState(1).randint(-9, 9, [4, 6]).astype(np.float32)
    weights = np.random.RandomState(2).randint(-9, 9, [4, 6]).astype(np.float32)

    def build(tf):
        x = tf.constant(values)
        output = tf.raw_ops.IsotonicRegression(input=x, output_dtype=tf.float32)[0]
        return tf.gradients(output, x, weights)
    compare(tf1, build, nodes=False)


def test_other_types_have_no_kernel(tf1):
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            output = tf.raw_ops.IsotonicRegression(input=tf.constant([1.0, 2.0]), output_dtype=tf.float64)[0]
            with pytest.raises((tf.errors.NotFoundError, tf.errors.InvalidArgumentError)):
                session.run(output)
