"""Loops as functions and their gradients on a GPU: the elements of their tensor lists stay in the GPU's memory."""

import numpy as np
import pytest

import flowmill as tf

ROWS, LENGTH = 6, 2000
ELEMENT_BYTES = 4 * LENGTH


def _while(x):
    def body(i, state, rows):
        return i + 1, tf.tanh(state * 0.5 + x[i]), rows.write(i, state * state)

    rows = tf.TensorArray(tf.float32, size=ROWS, element_shape=[LENGTH])
    _, state, rows = tf.while_loop(lambda i, *_: i < ROWS, body, [tf.constant(0), x[0] * 0.0, rows])
    return tf.reduce_sum(rows.stack(), 0) + state


def _map_fn(x):
    return tf.reduce_sum(tf.map_fn(lambda row: tf.sin(row) * row, x), 0)


def _scan(x):
    return tf.reduce_sum(tf.square(tf.scan(lambda state, row: state * 0.5 + tf.cos(row), x)), 0)


def _foldl(x):
    return tf.foldl(lambda state, row: tf.tanh(state + row * row), x)


def _run(loop, device, x):
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, [ROWS, LENGTH])
        with tf.device(device):
            y = tf.reduce_sum(loop(fed))
            slope = tf.reduce_sum(tf.square(tf.gradients(y, fed)[0]))
    with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"GPU": 1})) as session:
        return session.run([y, slope], {fed: x})


@pytest.mark.parametrize("loop", [_while, _map_fn, _scan, _foldl], ids=lambda loop: loop.__name__[1:])
def test_elements_stay_on_the_gpu(control_flow, num_gpus, stub, tolerance, loop):
    tf.enable_control_flow_v2()
    x = np.random.RandomState(3).uniform(-1, 1, [ROWS, LENGTH]).astype(np.float32)
    expected = _run(loop, "/device:CPU:0", x)
    before = stub.stub_cuda_copied_bytes(0) if stub else 0
    np.testing.assert_allclose(_run(loop, "/device:GPU:0", x), expected, **tolerance)
    if stub:
        copied = stub.stub_cuda_copied_bytes(0) - before - x.nbytes
        assert copied < ELEMENT_BYTES, f"{copied} bytes besides the input were copied, and an element has {ELEMENT_BYTES}"
