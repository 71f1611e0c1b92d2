"""Gradients by variables that loops, conditionals in loops and functions' bodies read: TensorFlow's values."""

import numpy as np
import pytest

import flowmill

VALUES = [3.0, 0.5, -1.0]


def conditional_in_loop(tf, v):
    def body(i, x):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: x * v, lambda: x + 1.0)

    return tf.while_loop(lambda i, x: i < 4, body, [0, tf.ones([3])])[1]


def conditionals_in_conditional(tf, v):
    def body(i, x):
        inner = lambda: tf.cond(tf.equal(i % 2, 0), lambda: x * v, lambda: x + tf.gather(v, [0, 1, 1]))
        return i + 1, tf.cond(i < 2, inner, lambda: x + 1.0)

    return tf.while_loop(lambda i, x: i < 4, body, [0, tf.ones([3])])[1]


def conditional_in_loops(tf, v):
    def inner(i):
        return lambda j, x: (j + 1, tf.cond(tf.equal(i + j, 2), lambda: x * v, lambda: x + tf.gather(v, [j, 1, 1])))

    return tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, tf.while_loop(lambda j, x: j < 2, inner(i), [0, x])[1]), [0, tf.ones([3])])[1]


def row_in_loop(tf, v):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * tf.gather(v, i)), [0, 1.0])[1]


def rows_everywhere(tf, v):
    first = tf.gather(v, 0)
    product = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * tf.gather(v, i) * first), [0, 1.0])[1]
    return product + tf.reduce_sum(v)


def loop_in_conditional(tf, v):
    looped = lambda: tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * tf.gather(v, [0, 1, 0])), [0, tf.ones([3])])[1]
    return tf.cond(v[0] > 1, looped, lambda: tf.identity(v))


PROGRAMS = [conditional_in_loop, conditionals_in_conditional, conditional_in_loops, row_in_loop, rows_everywhere, loop_in_conditional]


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradient_by_a_variable(tf1, program, use_resource):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", initializer=VALUES, use_resource=use_resource)
            y = program(tf, v)
            gradient = tf.convert_to_tensor(tf.gradients(y, v)[0])
            session.run(tf.global_variables_initializer())
            found.append(session.run([y, gradient]))
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


FUNCTIONS = {
    "variable": lambda tf, v: tf.function(lambda x: tf.gradients(x * v, v)[0])(tf.constant(2.0)),
    "twice": lambda tf, v: tf.function(lambda x: tf.gradients(tf.gradients(x * v * v * v, v)[0], v)[0])(tf.constant(2.0)),
    "what follows from it outside": lambda tf, v: (lambda z: tf.function(lambda x: tf.gradients(x * v * z, [v, z]))(tf.constant(2.0)))(v * v),
    "rows": lambda tf, v: tf.function(lambda x: tf.convert_to_tensor(tf.gradients(x * tf.gather(v, [0, 0]), v)[0]))(tf.constant(2.0)),
    "of what is outside": lambda tf, v: (lambda z: tf.function(lambda: tf.gradients(z, v)[0])())(v * v),
    "custom, with a tensor outside": lambda tf, v: (lambda z: tf.function(lambda x: tf.gradients(x * z, v)[0])(tf.constant(2.0)))(cubed(tf, v)),
}


def cubed(tf, v):
    scale = tf.constant(3.0)
    return tf.custom_gradient(lambda a: (a * a * a, lambda dy: dy * scale * a * a))(v + 1.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_in_a_function_by_a_captured_variable(tf1, name):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", initializer=VALUES, use_resource=True)
            result = FUNCTIONS[name](tf, v)
            session.run(tf.global_variables_initializer())
            found.append(session.run(result))
    for ours, theirs in zip(*(f if isinstance(f, list) else [f] for f in found), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
