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


@pytest.mark.parametrize("options", [{}, {"strides": [1, 2, 2, 1], "padding": "VALID"}, {"dilations": [1, 2, 2, 1]}], ids=str)
def test_convolutions_are_those_of_tensorflow(tf1, options):
    random = np.random.default_rng(3)
    images, filters = (random.normal(0, 1, shape).astype(np.float16) for shape in ([3, 17, 19, 6], [3, 5, 6, 10]))

    def run(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            fed = [tf.placeholder(tf.float16, x.shape) for x in (images, filters)]
            convolution = tf.nn.conv2d(*fed, **{"strides": [1, 1, 1, 1], "padding": "SAME", **options})
            return session.run(convolution, dict(zip(fed, (images, filters)))), session.run(tf.reshape(convolution[:0], [-1]), dict(zip(fed, (images, filters))))

    (mine, none), (theirs, _) = run(flowmill), run(tf1)
    assert mine.dtype == np.float16 and none.size == 0
    np.testing.assert_allclose(mine.astype(np.float32), theirs.astype(np.float32), rtol=2e-2, atol=5e-2)


SPECIAL = [0.0, -0.0, 6e-8, -6e-8, 6.1e-5, 65504.0, -65504.0, np.inf, -np.inf, np.nan, 1.0, -2.5, 6.0, 7.0, 1 / 3]


@pytest.mark.parametrize("count", [17, 256, 257, 1000])
@pytest.mark.parametrize("function", [*FUNCTIONS.values(), lambda tf, x: tf.minimum(tf.nn.relu6(x), tf.nn.elu(x))], ids=[*FUNCTIONS, "activations"])
def test_a_result_does_not_depend_on_the_elements_beside_it(function, count):
    random = np.random.default_rng(count)
    values = (random.normal(0, 1, count) * 10.0 ** random.integers(-6, 4, count)).astype(np.float16)
    values[: len(SPECIAL)] = SPECIAL
    values = random.permutation(values)
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        x = flowmill.placeholder(flowmill.float16, [None])
        y = function(flowmill, x)
        together = session.run(y, {x: values})
        alone = np.array([session.run(y, {x: values[i : i + 1]})[0] for i in range(min(count, 100))])
    np.testing.assert_array_equal(together[:100], alone)
    is_number = ~np.isnan(alone)
    np.testing.assert_array_equal(np.signbit(together[:100][is_number]), np.signbit(alone[is_number]))
