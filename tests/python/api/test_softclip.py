"""`nn.softclip`, an op that TensorFlow does not have, against its formula and finite differences."""

import numpy as np
import pytest

import flowmill as tf

VALUES = np.array([-np.inf, -300, -2, -0.5, 0, 0.25, 0.5, 1, 3, 1e30, np.inf, np.nan])


def expected(x, sharpness=1.0):
    with np.errstate(invalid="ignore"):
        difference = np.logaddexp(0, sharpness * x) - np.logaddexp(0, sharpness * (x - 1))
    return np.where(x > 1e6, 1.0, difference / sharpness)


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 1e-6), ("float16", 1e-3), ("bfloat16", 1e-2)])
@pytest.mark.parametrize("sharpness", [0.5, 1.0, 20.0])
def test_values(dtype, tolerance, sharpness):
    with tf.Graph().as_default():
        found = tf.nn.softclip(tf.cast(VALUES, dtype), sharpness)
        assert found.dtype == dtype and found.shape == (12,) and found.op.type == "Flowmill>Softclip"
        np.testing.assert_allclose(run(found).astype("float64"), expected(VALUES, sharpness), rtol=0, atol=tolerance)


def test_an_empty_tensor_and_an_unknown_batch():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        assert tf.nn.softclip(x).shape.as_list() == [None, 3]
        assert run(tf.nn.softclip(x), {x: np.zeros((0, 3))}).shape == (0, 3)


def test_the_gradient_is_the_slope():
    points = np.linspace(-3, 4, 29)
    with tf.Graph().as_default():
        x = tf.constant(points)
        slope = run(tf.gradients(tf.nn.softclip(x, 3.0), x)[0])
    step = 1e-5
    np.testing.assert_allclose(slope, (expected(points + step, 3.0) - expected(points - step, 3.0)) / (2 * step), atol=1e-8)


def test_the_op_has_a_function_and_survives_a_graph_def():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.Flowmill_Softclip(features=[0.5], name="y")
        definition = graph.as_graph_def().SerializeToString()
    assert "Flowmill_Softclip" in dir(tf.raw_ops)
    with tf.Graph().as_default():
        loaded = tf.GraphDef.FromString(definition)
        (y,) = tf.import_graph_def(loaded, return_elements=["y:0"], name="")
        np.testing.assert_allclose(run(y), expected(np.array([0.5])), rtol=1e-6)


@pytest.mark.parametrize("sharpness", [0.0, -1.0, np.inf, np.nan])
def test_a_sharpness_that_is_not_positive_is_refused(sharpness):
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match="sharpness must be positive and finite"):
            run(tf.nn.softclip(1.0, sharpness))
