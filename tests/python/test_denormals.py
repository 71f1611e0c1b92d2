"""Numbers too small for their exponent are zeros to kernels, as in TensorFlow, and to nobody else."""

import numpy as np
import pytest

import flowmill as tf

TINY = {"float32": [1e-40, -1e-40, 1.2e-38, -2e-38, 1e-30, 0.0, 1.0], "float64": [1e-310, -1e-310, 2.3e-308, -3e-308, 1e-200, 0.0, 1.0]}
FUNCTIONS = {
    "times one": lambda m, x: x * 1,
    "times a half": lambda m, x: x * 0.5,
    "plus": lambda m, x: x + x,
    "square": lambda m, x: m.square(x),
    "is positive": lambda m, x: x > 0,
    "is zero": lambda m, x: m.equal(x, 0),
    "sum": lambda m, x: m.reduce_sum(m.reshape(m.concat([x, x], 0), [-1, 7]), 0),
    "product": lambda m, x: m.matmul(m.reshape(x, [-1, 1]), m.ones([1, 1], x.dtype)),
    "quotient": lambda m, x: x / 2,
    "copy": lambda m, x: m.concat([m.identity(x), m.reshape(x, [-1])], 0),
    "negative": lambda m, x: -x,
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", TINY)
def test_kernels(tf1, dtype, function):
    results = []
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as session:
            x = module.placeholder(dtype, [None])
            y = FUNCTIONS[function](module, x)
            results.append([session.run(y, {x: np.tile(np.array(TINY[dtype], dtype), n)}) for n in (1, 30000)])
    for mine, other in zip(*results[::-1]):
        np.testing.assert_allclose(mine, other, 1e-3, 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_thread(threads):
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [None])
        _, looped = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * 1.0), (0, x))
        constant = tf.constant(1e-40) * 1.0
        for n in (1, 100_000):
            values = session.run([x * 1.0, looped, constant], {x: np.full(n, 1e-40, np.float32)})
            for value in values:
                np.testing.assert_array_equal(value, np.zeros_like(value))


@pytest.mark.parametrize("threads", [1, 2])
def test_callers_code_keeps_them(threads):
    seen = []

    def product(value):
        seen.append(value * np.float32(1))
        return value

    tiny = np.full(3, 1e-40, np.float32)
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [None])
        session.run(tf.py_func(product, [x], tf.float32) * 1.0, {x: tiny})
    assert (tiny * np.float32(1) > 0).all()
    assert (seen[0] > 0).all()
