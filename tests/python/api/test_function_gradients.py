"""Gradients of calls, conditionals and loops by functions: of gradients too, and of what is random."""

import numpy as np
import pytest
from api.test_functions import exported, functional, placeholder  # noqa: F401 - a fixture
from compare import compare, run

import flowmill
from flowmill.python.framework.function import Defun

X = np.array([0.3, -0.7, 0.5], np.float32)


def _loop(tf, x):
    return tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(v * x) + v), [0, x])[1]


def _array(tf, x):
    def step(i, v, array):
        return i + 1, tf.sin(v) * x[0], array.write(i, tf.reduce_sum(v * x))
    _, v, array = tf.while_loop(lambda i, *_: i < 3, step, [0, x, tf.TensorArray("float32", 3, element_shape=())])
    return tf.reduce_prod(array.stack()) * v


def _nested(tf, x):
    def inner(i, v):
        return tf.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, tf.sin(u) + u * x), [0, v])[1]

    def step(i, v):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner(i, v) * x, lambda: tf.exp(v) * 0.1)
    return tf.while_loop(lambda i, v: i < 4, step, [0, x])[1]


def _rows(tf, x):
    table = tf.reshape(tf.concat([x, x * x], 0), [3, 2])
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * tf.gather(table, [i, 0, i]) + v), [0, tf.ones([3, 2]) * x[2]])[1]


PROGRAMS = {
    "cond": lambda tf, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(x) * x, lambda: x) + tf.cond(x[0] < 0.0, lambda: x, lambda: tf.exp(x) * x[1]),
    "a branch without": lambda tf, x: tf.cond(x[0] > 0.0, lambda: tf.zeros([3]), lambda: x * x) * x + tf.cond(x[0] < 0.0, lambda: x[:1], lambda: x * x * x),
    "nested cond": lambda tf, x: tf.cond(x[0] > 0.0, lambda: tf.cond(x[1] > 0.0, lambda: x, lambda: tf.exp(x * x)), lambda: -x),
    "switch_case": lambda tf, x: tf.switch_case(tf.cast(x[0] * 4.0, tf.int32), [lambda: x, lambda: tf.sin(x) * x, lambda: -x]),
    "loop": _loop,
    "an array": _array,
    "nested": _nested,
    "rows": _rows,
    "none": lambda tf, x: tf.while_loop(lambda i, v: i < 0, lambda i, v: (i + 1, tf.sin(v) * v), [0, x])[1],
}


@pytest.mark.parametrize("program, order", [*((p, order) for p in PROGRAMS for order in (1, 2)), ("cond", 3), ("loop", 3)])
def test_gradients_equal_tensorflows(functional, program, order):  # noqa: F811
    def build(tf):
        x = placeholder(tf, shape=(3,))
        found = [PROGRAMS[program](tf, x)]
        for _ in range(order):
            found.append(tf.gradients(tf.reduce_sum(tf.square(found[-1])), x)[0])
        return found
    ours = compare(functional, build, {"x": X}, nodes=False, rtol=1e-4, atol=1e-5)
    for got, want in zip(exported(functional, build, {"x:0": X}), ours):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_the_gradient_of_a_call(tf1):
    """TensorFlow has none: SymbolicGradient has no gradient."""
    def build(tf):
        def f(a, b):
            return tf.sin(a * b) * a

        x = placeholder(tf, shape=(3,))
        y = (Defun("float32", "float32")(f) if tf is flowmill else f)(x, x * 2.0)
        first = tf.gradients(y, x)[0]
        return tf.identity(y), first, tf.gradients(tf.square(first), x)[0]
    ours, theirs = (run(tf, build, {"x": X})[2] for tf in (flowmill, tf1))
    for got, want in zip(ours, theirs):
        np.testing.assert_allclose(got, want, rtol=1e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_a_loop_whose_shapes_change(functional, order):  # noqa: F811
    """TensorFlow takes the shape that goes in for the one that comes out; so it runs the iterations one after another."""
    def step(tf, x, v):
        return tf.concat([v, tf.square(v[:1]) * x[1]], 0)

    def build(tf):
        v = x = placeholder(tf, shape=(3,))
        if tf is flowmill:
            shapes = [tf.TensorShape([]), tf.TensorShape([None])]
            v = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, step(tf, x, v)), [0, x], shape_invariants=shapes)[1]
        else:
            for _ in range(3):
                v = step(tf, x, v)
        for _ in range(order):
            v = tf.gradients(tf.reduce_sum(tf.square(v)), x)[0]
        return [v]
    ours, theirs = (run(tf, build, {"x": X})[2] for tf in (flowmill, functional))
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)


def _dropout(tf, x):
    return x * tf.cast(tf.random_uniform([3]) > 0.5, tf.float32) * tf.random_uniform([3], 1.0, 2.0)


RANDOM = {
    "cond": lambda tf, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: _dropout(tf, x), lambda: x),
    "switch_case": lambda tf, x: tf.switch_case(tf.constant(1), [lambda: x, lambda: _dropout(tf, x), lambda: -x]),
    "loop": lambda tf, x: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, _dropout(tf, v) + v), [0, x])[1],
    "cond in a loop": lambda tf, x: tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, tf.cond(i > 0, lambda: _dropout(tf, v) + v, lambda: v * 2.0)), [0, x])[1],
    "call": lambda tf, x: Defun(tf.float32)(lambda a: _dropout(tf, a))(x),
}


@pytest.mark.parametrize("where", RANDOM)
def test_random_numbers_are_those_that_the_gradient_is_of(functional, where):  # noqa: F811
    def build(tf):
        x = placeholder(tf, shape=(3,))
        y = RANDOM[where](tf, x)
        return y, tf.gradients(y, x)[0]

    x = np.array([0.5, 1.0, 2.0], np.float32)
    with flowmill.Graph().as_default() as graph:
        y, dx = build(flowmill)
        with flowmill.Session(graph=graph) as session:
            for _ in range(5):
                value, gradient = session.run([y, dx], {"x:0": x})
                np.testing.assert_allclose(value, x * gradient, rtol=1e-5)
    value, gradient = exported(functional, build, {"x:0": x})
    np.testing.assert_allclose(value, x * gradient, rtol=1e-5)


@pytest.mark.parametrize("kind", ["cond", "loop"])
def test_custom_gradients_in_functions(functional, kind):  # noqa: F811
    """Their functions take tensors of the body that they were made in."""
    def build(tf):
        @tf.custom_gradient
        def f(v):
            y = tf.exp(v)
            return y * v, lambda dy: dy * y * 10.0

        x = placeholder(tf, shape=(3,))
        if kind == "cond":
            out = tf.cond(x[0] > 0.0, lambda: f(x * 2.0), lambda: x)
        else:
            out = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, f(v * 0.1) + x), [0, x])[1]
        return out, tf.gradients(out, x)[0]
    compare(functional, build, {"x": X}, nodes=False)


def test_variables_in_functions(functional):  # noqa: F811
    def build(tf):
        v = tf.get_variable("v", initializer=tf.constant([[0.5, 1.0], [2.0, 3.0]]), use_resource=True)
        x = placeholder(tf, shape=(2,))
        y = tf.cond(x[0] > 0.0, lambda: tf.gather(v, [0, 1, 0]) * x, lambda: tf.ones([3, 2]))
        z = tf.while_loop(lambda i, u: i < 3, lambda i, u: (i + 1, tf.tanh(tf.linalg.matvec(v, u)) * x), [0, x])[1]
        found = [tf.convert_to_tensor(g) for g in (tf.gradients(y, v)[0], tf.gradients(z, v)[0], tf.gradients(z, x)[0])]
        return [y, z, *found, tf.gradients(tf.square(found[2]), x)[0]]
    ours, theirs = (run(tf, build, {"x": X[[0, 2]]}, initialize=True)[2] for tf in (flowmill, functional))
    for got, want in zip(ours, theirs):
        np.testing.assert_allclose(got, want, rtol=1e-4)


def test_a_session_that_ran_before_the_gradient_was_made():
    with flowmill.Graph().as_default() as graph:
        flowmill.enable_control_flow_v2()
        try:
            x = flowmill.constant([0.5, 1.0])
            y = _loop(flowmill, x)
        finally:
            flowmill.disable_control_flow_v2()
        with flowmill.Session(graph=graph) as session:
            before = session.run(y)
            num_outputs = len(y.op.inputs[0].op.outputs)
            dx = flowmill.gradients(y, x)[0]
            assert len(y.op.inputs[0].op.outputs) > num_outputs
            after, gradient = session.run([y, dx])
    np.testing.assert_array_equal(before, after)
    assert gradient.shape == (2,)


@pytest.mark.parametrize("program, order", [
    (p, order) for p in PROGRAMS for order in (1, 2) if p != "switch_case" and (p, order) != ("an array", 2)])
def test_functions_with_loops_of_frames_have_gradients(functional, program, order):  # noqa: F811
    """TensorFlow's SymbolicGradient gives zeros of such a function: it computes the same without one. Gradients of TensorArrays have none."""
    def build(tf):
        x = placeholder(tf, shape=(3,))
        f = Defun("float32")(lambda x: PROGRAMS[program](tf, x)) if tf is flowmill else lambda x: PROGRAMS[program](tf, x)
        if tf is flowmill:
            tf.disable_control_flow_v2()
        y = f(x)
        if tf is flowmill:
            assert "Switch" in {n.op for g in tf.get_default_graph().as_graph_def().library.function for n in g.node_def}
        for _ in range(order):
            y = tf.gradients(tf.reduce_sum(tf.square(y)), x)[0]
        return [y]

    ours, theirs = (run(tf, build, {"x": X})[2] for tf in (flowmill, functional))
    for got, want in zip(ours, theirs):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


OUTSIDE = {
    "an operation": lambda tf, x: _dropout(tf, x),
    "a call": lambda tf, x: tf.function(lambda x: _dropout(tf, x) * x)(x),
    "cond": lambda tf, x: tf.cond(x[0] > 0.0, lambda: tf.sin(x) * x, lambda: x),
    "loop": lambda tf, x: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])[1],
    "a loop in a call": lambda tf, x: tf.function(lambda x: _loop(tf, x))(x),
}


@pytest.mark.parametrize("where", OUTSIDE)
def test_gradients_in_a_body_go_on_through_what_it_captures(functional, where):  # noqa: F811
    """What lies outside runs once: its random numbers are those of the gradient."""
    def build(tf):
        tf.set_random_seed(3)
        x = placeholder(tf, shape=(3,))
        y = OUTSIDE[where](tf, x)

        @tf.function
        def f(a):
            z = tf.reduce_sum(a * y)
            return z, tf.gradients(z, [x])[0]
        return [*f(tf.constant(2.0)), tf.gradients(2.0 * y, x)[0]]

    ours, theirs = (run(tf, build, {"x": X})[2] for tf in (flowmill, functional))
    np.testing.assert_allclose(ours[1], ours[2], rtol=1e-5)
    if "dropout" not in OUTSIDE[where].__code__.co_names:
        for got, want in zip(ours, theirs):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
