"""Convolutions in groups that are written as parts of the channels, beside the same parts computed one by one."""

import numpy as np
import pytest

import flowmill as tf

GROUPS = 4


def parts(x, depth, way):
    if way == "split":
        return tf.split(x, GROUPS, axis=-1)
    if way == "sizes":
        return tf.split(x, [depth] * GROUPS, axis=3)
    if way == "slices":
        return [x[..., i * depth : (i + 1) * depth] for i in range(GROUPS)]
    return [tf.slice(x, [0, 0, 0, i * depth], [-1, -1, -1, depth]) for i in range(GROUPS)]


@pytest.mark.parametrize("way", ["split", "sizes", "slices", "slices of sizes"])
@pytest.mark.parametrize(
    ("window", "strides", "padding", "depth", "outputs"),
    [(3, 2, "SAME", 16, 16), (3, 1, "SAME", 4, 6), (5, 1, "VALID", 8, 8), (1, 1, "SAME", 3, 5), (3, 2, "VALID", 32, 24)],
)
def test_parts_of_the_channels_are_groups(way, window, strides, padding, depth, outputs):
    rng = np.random.default_rng(window + depth)
    image = rng.standard_normal((2, 19, 17, GROUPS * depth)).astype(np.float32)
    filters = rng.standard_normal((GROUPS, window, window, depth, outputs)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 19, 17, GROUPS * depth])
        convolved = [
            tf.nn.conv2d(part, f, [1, strides, strides, 1], padding)
            for part, f in zip(parts(x, depth, way), filters, strict=True)
        ]
        joined = tf.nn.relu(tf.nn.bias_add(tf.concat(convolved, 3), np.arange(GROUPS * outputs, dtype=np.float32)))
        got = session.run(joined, {x: image})
        one_by_one = np.concatenate(session.run(convolved, {x: image}), axis=3)
    expected = np.maximum(one_by_one + np.arange(GROUPS * outputs, dtype=np.float32), 0)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_filters_that_are_variables_train():
    rng = np.random.default_rng(0)
    image = rng.standard_normal((2, 8, 8, 8)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8, 8, 8])
        filters = [tf.Variable(rng.standard_normal((3, 3, 2, 2)).astype(np.float32)) for _ in range(GROUPS)]
        convolved = [tf.nn.conv2d(part, f, [1, 1, 1, 1], "SAME") for part, f in zip(tf.split(x, GROUPS, 3), filters, strict=True)]
        loss = tf.reduce_mean(tf.square(tf.concat(convolved, 3)))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            one_by_one = np.concatenate(session.run(convolved, {x: image}), axis=3)
            np.testing.assert_allclose(session.run(loss, {x: image}), np.mean(np.square(one_by_one)), rtol=1e-5)
            session.run(step, {x: image})
        assert session.run(loss, {x: image}) < np.mean(np.square(one_by_one))
