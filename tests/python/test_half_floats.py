"""Functions of 16-bit floats beside TensorFlow, in all orders of magnitude: kernels compute them in float32 and round once."""

import numpy as np
import pytest

import flowmill

FUNCTIONS = {
    "sum": lambda tf, x: x + x * x,
    "quotient": lambda tf, x: x / (x + x - x * x),
    "greatest": lambda tf, x: tf.maximum(x, x * x),
    "rectified": lambda tf, x: tf.nn.relu(x),
    "exponential": lambda tf, x: tf.exp(x),
    "tangent": lambda tf, x: tf.tanh(x),
    "root": lambda tf, x: tf.sqrt(x),
    "logarithm": lambda tf, x: tf.math.log1p(tf.abs(x)),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_results_are_those_of_tensorflow(tf1, dtype, function):
    random = np.random.default_rng(1)
    x = np.concatenate([random.normal(0, 3, 3000), 10.0 ** random.uniform(-8, 5, 3000), [np.inf, -np.inf, np.nan, 0, -0.0, 65504, 65519, 65520, 6e-8, 2e-8]])

    def run(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(tf.float32, [None])
            return session.run(tf.cast(function(tf, tf.cast(fed, getattr(tf, dtype))), tf.float32), {fed: x})

    np.testing.assert_allclose(run(flowmill), run(tf1), rtol=2e-3 if dtype == "float16" else 1e-2, atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"range_given": True}, {"round_mode": "HALF_UP"}, {"num_bits": 4, "signed_input": False}, {"axis": 1}], ids=str)
def test_quantized_values_are_those_of_tensorflow(tf1, options):
    x = np.random.default_rng(2).normal(0, 3, (50, 7, 9)).astype(np.float32)
    limits = np.float32([3] * 7) if "axis" in options else np.float32(3)

    def run(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(tf.float32, x.shape)
            return session.run(tf.raw_ops.QuantizeAndDequantizeV2(input=fed, input_min=-limits, input_max=limits, **{"range_given": False, **options}), {fed: x})

    np.testing.assert_array_equal(run(flowmill), run(tf1))
