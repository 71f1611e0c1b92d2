"""Gradients against differences: the check itself, and TensorFlow's."""

import numpy as np
import pytest

import flowmill


def both_ways(tf, build, shape, y_shape, value=None, dtype="float64", **options):
    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(dtype, shape)
        return tf.test.compute_gradient(x, shape, build(tf, x), y_shape, value, **options)


PLACE = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
CASES = {
    "square": (lambda tf, x: tf.square(x), [2, 3]),
    "product": (lambda tf, x: tf.matmul(x, tf.constant([[1.0], [2.0], [3.0]], tf.float64)), [2, 1]),
    "gathered": (lambda tf, x: tf.gather(x, [1, 1, 0]) * 2.0, [3, 3]),
    "sum": (lambda tf, x: tf.reduce_sum(tf.sin(x)), []),
}


@pytest.mark.parametrize("name", CASES)
def test_matrices_are_tensorflows(tf1, name):
    build, y_shape = CASES[name]
    theirs, ours = (both_ways(tf, build, [2, 3], y_shape, PLACE) for tf in (tf1, flowmill))
    for mine, other in zip(ours, theirs):
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9)


def test_errors_are_small_or_large():
    with flowmill.Graph().as_default(), flowmill.Session():
        x = flowmill.placeholder(flowmill.float64, [3])
        z = flowmill.placeholder(flowmill.float64, [3])
        y = flowmill.exp(x) * z
        assert flowmill.test.compute_gradient_error(x, [3], y, [3], extra_feed_dict={z: [1.0, 2.0, 3.0]}) < 1e-4
        assert flowmill.test.compute_gradient_error([x, z], [[3], [3]], y, [3], x_init_value=[np.ones(3), np.ones(3)]) < 1e-4
        wrong = flowmill.stop_gradient(y) + x
        assert flowmill.test.compute_gradient_error(x, [3], wrong, [3], extra_feed_dict={z: [1.0, 2.0, 3.0]}) > 0.5
        dx, dz = flowmill.test.compute_gradient([x, z], [[3], [3]], x * 2.0, [3])
        np.testing.assert_array_equal(dz[0], np.zeros((3, 3)))
        np.testing.assert_allclose(dx[0], 2 * np.eye(3))
        with pytest.raises(ValueError, match="has no gradients"):
            flowmill.test.compute_gradient(x, [3], flowmill.cast(x, flowmill.int32), [3])


def test_complex_numbers(tf1):
    value = np.array([1 + 2j, -0.5 + 1j])
    theirs, ours = (both_ways(tf, lambda tf, x: x * x * 0.5, [2], [2], value, "complex128") for tf in (tf1, flowmill))
    assert ours[0].shape == (4, 4)
    for mine, other in zip(ours, theirs):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9)
