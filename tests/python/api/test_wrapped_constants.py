"""Integers that a type does not hold: constants of the remainder, as in TensorFlow."""

import numpy as np
import pytest

import flowmill

VALUES = {
    "negative": (-1, "uint8"), "large": (300, "uint8"), "list": ([0, -1, 256], "uint8"), "int32": (2**31, "int32"), "far": (-(2**40), "int32"),
    "int64": ([2**63, -1], "int64"), "uint64": (-1, "uint64"), "float": (2**70, "float32"), "scalars": ([np.int64(300)], "int8"),
    "array": (np.array([300, -1]), "uint8"), "nested": ([[1, 2], [-3, 70000]], "uint16"),
}


@pytest.mark.parametrize("value, dtype", VALUES.values(), ids=VALUES.keys())
def test_constants_wrap(tf1, value, dtype):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            found.append(session.run(tf.constant(value, dtype)))
    assert found[0].dtype == found[1].dtype == np.dtype(dtype)
    np.testing.assert_array_equal(*found)


def test_inputs_of_operations_wrap(tf1):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant([1, 2], tf.uint8)
            found.append(session.run([tf.pad(x, [[1, 1]], constant_values=-123), x + 255]))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
