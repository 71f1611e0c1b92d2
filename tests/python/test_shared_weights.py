"""Nodes that share a constant: kernels pack it once for all of them, and must not take a form that was packed for another use."""
import flowmill as tf
import numpy as np
import pytest


def values(*shape):
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("is_shared", [True, False])
def test_products_of_one_matrix(is_shared):
    matrix, x = values(32, 32), values(3, 32)
    constant, fed = tf.constant(matrix), tf.placeholder(tf.float32, [3, 32])
    one = lambda: constant if is_shared else tf.constant(matrix)  # noqa: E731
    products = [
        tf.matmul(fed, one()), tf.matmul(fed, one(), transpose_b=True), tf.matmul(tf.nn.relu(fed), one()) + 1.0,
        tf.nn.conv2d(fed[None, None], tf.reshape(one(), [1, 1, 32, 32]), [1, 1, 1, 1], "SAME"),
        tf.matmul(tf.reshape(fed, [6, 16]), tf.reshape(one(), [16, 64])),
    ]
    expected = [x @ matrix, x @ matrix.T, np.maximum(x, 0) @ matrix + 1, (x @ matrix)[None, None], x.reshape(6, 16) @ matrix.reshape(16, 64)]
    with tf.Session() as session:
        for _ in range(3):
            for found, wanted in zip(session.run(products, {fed: x}), expected):
                np.testing.assert_array_equal(found, wanted)


def test_convolutions_of_one_filter():
    """Other strides, sizes and numbers of groups ask for other forms of a filter; the values are exact in all of them."""
    filters = values(3, 3, 16, 32)
    shared = tf.constant(filters)
    image = tf.placeholder(tf.float32, [None, None, None, None])
    for_all = [tf.nn.conv2d(image, shared, [1, s, s, 1], p) for s, p in ((1, "SAME"), (2, "SAME"), (1, "VALID"))]
    alone = [tf.nn.conv2d(image, tf.constant(filters), [1, s, s, 1], p) for s, p in ((1, "SAME"), (2, "SAME"), (1, "VALID"))]
    with tf.Session() as session:
        for shape in [(1, 12, 12, 16), (1, 12, 12, 32), (2, 5, 9, 16), (1, 40, 40, 16), (1, 12, 12, 48), (1, 12, 12, 16)]:
            feed = {image: values(*shape)}
            if shape[-1] == 48:
                with pytest.raises(tf.errors.InvalidArgumentError, match="evenly divisible"):
                    session.run(for_all, feed)
                continue
            for found, wanted in zip(session.run(for_all, feed), [session.run(each, feed) for each in alone]):
                np.testing.assert_array_equal(found, wanted)
