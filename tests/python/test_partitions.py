"""The cut of graphs over several CPU devices: the tensors that are sent in a step, as its trace shows."""

import re

import numpy as np

import flowmill as tf

NUM_DEVICES = 4


def sent(build):
    """Runs what `build` returns, fed with ones, and returns the value and the number of sends of each device."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        y = build(x)
        metadata = tf.RunMetadata()
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": NUM_DEVICES})) as session:
            value = session.run(y, {x: [1, 1]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    labels = [node.timeline_label or node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
    return value, sum(bool(re.search(r"\b_(Host)?Send\b", label)) for label in labels)


def test_a_trace_shows_what_is_sent():
    def there_and_back(x):
        with tf.device("/cpu:1"):
            return tf.exp(x)

    value, num_sent = sent(there_and_back)
    np.testing.assert_allclose(value, np.exp([1, 1]), rtol=1e-6)
    assert num_sent == 2


def test_constants_are_folded_onto_the_device_of_their_consumer():
    def program(x):
        with tf.device("/cpu:1"):
            a = tf.constant([2.0, 3.0])
        with tf.device("/cpu:2"):
            b = tf.exp(a)
        with tf.device("/cpu:3"):
            c = tf.square(b)
        return x + c

    value, num_sent = sent(program)
    np.testing.assert_allclose(value, 1 + np.exp([2.0, 3.0]) ** 2, rtol=1e-6)
    assert num_sent == 0


def test_passes_neither_fuse_nor_merge_nodes_of_different_devices():
    def program(x):
        with tf.device("/cpu:1"):
            a = tf.tanh(x) + 1.0
        with tf.device("/cpu:2"):
            b = tf.tanh(x) + 1.0
        with tf.device("/cpu:3"):
            return a * b

    value, num_sent = sent(program)
    np.testing.assert_allclose(value, (np.tanh([1, 1]) + 1) ** 2, rtol=1e-6)
    assert num_sent == 5, "x to both devices, their results to CPU:3, the product to CPU:0"


def test_an_invariant_of_a_loop_is_sent_once():
    def program(x):
        with tf.device("/cpu:1"):
            scale = tf.exp(x)

        def body(i, v):
            with tf.device("/cpu:2"):
                return i + 1, v + scale

        with tf.device("/cpu:2"):
            return tf.while_loop(lambda i, v: i < 10, body, [tf.constant(0), tf.zeros([2])])[1]

    value, num_sent = sent(program)
    np.testing.assert_allclose(value, 10 * np.exp([1, 1]), rtol=1e-5)
    assert num_sent == 3, "x to CPU:1, the invariant to CPU:2, the result to CPU:0"
