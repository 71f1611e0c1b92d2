"""Normal numbers between bounds: those that one thread of TensorFlow draws under the same seeds, and its errors."""

import numpy as np
import pytest

import flowmill
from compare import compare


def function(tf):
    """The function of a module, which is not among the public ones."""
    if tf is flowmill:
        from flowmill.python.ops import random_ops
    else:
        from tensorflow.python.ops import random_ops
    return random_ops.parameterized_truncated_normal


def drawn(tf, steps=2, **arguments):
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1)) as session:
        tf.set_random_seed(3)
        numbers = function(tf)(seed=8, **arguments)
        return [session.run(numbers) for _ in range(steps)]


@pytest.mark.parametrize("dtype, rtol", [("float16", 2e-3), ("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("arguments", [
    {"shape": [250]}, {"shape": [30, 9], "minvals": -0.1, "maxvals": 0.2}, {"shape": [4, 60], "minvals": 3.0, "maxvals": np.inf},
    {"shape": [4, 60], "minvals": -np.inf, "maxvals": -3.0}, {"shape": [4, 60], "minvals": [-1.0, 0.0, 4.0, -9.0], "maxvals": [0.5, 0.1, 5.0, 9.0]},
    {"shape": [3, 2, 5], "means": [1.0, -2.0, 0.0], "stddevs": [2.0, 0.5, 1.0], "minvals": [-2.0]}, {"shape": [0, 4]}, {"shape": [4, 0], "means": [0.0] * 4},
], ids=str)
def test_numbers_are_those_of_tensorflow(tf1, arguments, dtype, rtol):
    for mine, other in zip(drawn(flowmill, dtype=dtype, **arguments), drawn(tf1, dtype=dtype, **arguments)):
        assert mine.dtype == other.dtype and mine.shape == other.shape
        np.testing.assert_allclose(mine.astype(np.float64), other.astype(np.float64), rtol=rtol, atol=rtol)


def test_nodes(tf1):
    compare(tf1, lambda tf: function(tf)([4, 2], means=[1.0] * 4, seed=5, name="named"), values=False)
    compare(tf1, lambda tf: function(tf)(tf.constant([4]), dtype=tf.float64), values=False)


@pytest.mark.parametrize("change", [
    {"shape": []}, {"shape": [[2]]}, {"means": [[1.0]]}, {"stddevs": [1.0, 2.0, 3.0]}, {"stdevs": -1.0}, {"minvals": 3.0}, {"minvals": -np.inf, "maxvals": np.inf},
])
def test_bad_arguments(tf1, change):
    codes = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            given = {"shape": [2, 3], "means": 0.0, "stdevs": 1.0, "minvals": -1.0, "maxvals": 1.0} | change
            given["stdevs"] = given.pop("stddevs", given["stdevs"])
            inputs = {name: tf.placeholder(tf.int32 if name == "shape" else tf.float32) for name in given}
            numbers = tf.raw_ops.ParameterizedTruncatedNormal(**inputs, seed=1, seed2=2)
            with pytest.raises(tf.errors.OpError) as raised:
                session.run(numbers, {inputs[name]: value for name, value in given.items()})
            codes.append(raised.value.error_code)
    assert codes[0] == codes[1]
