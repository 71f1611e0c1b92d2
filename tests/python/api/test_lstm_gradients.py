"""Gradients of LSTM cells and of LSTM layers over time: the same values as TensorFlow's."""

import numpy as np
import pytest

import flowmill
from compare import compare

CELLS, INPUTS, BATCH, TIME = 4, 3, 2, 5


def lstm_arguments(tf, dtype):
    shapes = {"cs_prev": [BATCH, CELLS], "h_prev": [BATCH, CELLS], "w": [INPUTS + CELLS, 4 * CELLS], "wci": [CELLS], "wcf": [CELLS], "wco": [CELLS],
              "b": [4 * CELLS]}
    random = np.random.RandomState(2)
    return {name: tf.constant(random.uniform(-1, 1, shape), getattr(tf, dtype)) for name, shape in shapes.items()}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("peephole", [False, True])
@pytest.mark.parametrize("steps", [TIME, 3])
@pytest.mark.parametrize("op", ["BlockLSTM", "BlockLSTMV2"])
def test_gradients_of_an_lstm_over_time(tf1, dtype, peephole, steps, op):
    """TensorFlow's gradient of the second version uses the op of the first, whose gates have another order."""
    def build(tf):
        arguments = lstm_arguments(tf, dtype)
        x = tf.constant(np.random.RandomState(3).uniform(-1, 1, (TIME, BATCH, INPUTS)), getattr(tf, dtype))
        arguments = {"seq_len_max": tf.constant(steps, tf.int64), "x": x, "use_peephole": peephole, **arguments}
        outputs = getattr(tf.raw_ops, op)(**arguments)
        names = ["x", "cs_prev", "h_prev", "w", *(["wci", "wcf", "wco"] if peephole else []), "b"]
        if op == "BlockLSTM" or tf is flowmill:
            grads = tf.gradients(tf.square(outputs.h[:steps]) + outputs.cs[:steps], [arguments[name] for name in names])
        else:
            is_within = tf.cast(tf.range(TIME) < steps, x.dtype)[:, None, None]
            outputs = {name: getattr(outputs, name) for name in ("i", "cs", "f", "o", "ci", "co", "h")}
            found = tf.raw_ops.BlockLSTMGradV2(cs_grad=is_within + tf.zeros_like(outputs["cs"]), h_grad=2 * is_within * outputs["h"], **arguments, **outputs)
            grads = [getattr(found, f"{name}_grad") for name in names]
        return [tf.cast(g, tf.float32) for g in grads]
    tolerance = 1e-5 if dtype == "float32" else 3e-2
    compare(tf1, build, nodes=False, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("peephole", [False, True])
def test_a_step_of_an_lstm_backwards(tf1, peephole):
    def build(tf):
        arguments = lstm_arguments(tf, "float32")
        x = tf.constant(np.random.RandomState(3).uniform(-1, 1, (BATCH, INPUTS)), tf.float32)
        outputs = tf.raw_ops.LSTMBlockCell(x=x, use_peephole=peephole, **arguments)
        more = {name: getattr(outputs, name) for name in ("i", "cs", "f", "o", "ci", "co")}
        found = tf.raw_ops.LSTMBlockCellGrad(x=x, use_peephole=peephole, cs_grad=tf.ones([BATCH, CELLS]), h_grad=outputs.h, **arguments, **more)
        return list(found if peephole else found[:2])
    compare(tf1, build)
