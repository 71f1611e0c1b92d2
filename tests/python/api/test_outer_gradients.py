"""Gradients in functions' bodies through loops of frames around them, and of handles that come out of branches: the values are TensorFlow's."""

import flowmill
import pytest
from compare import compare, run, same, same_error


def looped(tf, x, w=None):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x if w is None else a * w + x), [0, x])[1]


def nested(tf, x):
    def inner(a):
        return tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, tf.sin(b) * x), [0, a])[1]

    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, inner(a) + a), [0, x])[1]


def branching(tf, x):
    return tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.cond(a > 3.0, lambda: a * 0.5, lambda: a * x)), [0, x])[1]


def summing(tf, x):
    steps = tf.constant([1.0, 2.0, 3.0])
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.gather(steps, i) * tf.reduce_sum(x)), [0, x])[1]


LOOPS = {"plain": looped, "nested": nested, "branching": branching, "summing": summing, "of another": lambda tf, x: looped(tf, x, x * x)}


def in_function(tf, y, x):
    @tf.function
    def slope():
        return tf.gradients(y * y, x)[0]

    return slope()


def in_branch_of_functions(tf, y, x):
    tf.enable_control_flow_v2()
    try:
        return tf.cond(x > 0.0, lambda: tf.gradients(y * y, x)[0], lambda: x)
    finally:
        tf.disable_control_flow_v2()


def twice(tf, y, x):
    @tf.function
    def slopes():
        return tf.gradients(y * y, x)[0] + tf.gradients(tf.exp(y * 0.1), x)[0]

    return slopes() + tf.gradients(y, x)[0]


@pytest.mark.parametrize("asked", [in_function, in_branch_of_functions, twice])
@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS.keys())
def test_gradients_in_bodies_through_loops_outside(tf1, loop, asked):
    def build(tf):
        x = tf.constant(1.25)
        return asked(tf, loop(tf, x), x)

    compare(tf1, build, nodes=False)


def test_gradients_in_bodies_by_variables_through_loops_outside(tf1):
    def build(tf):
        v = tf.get_variable("v", initializer=1.5, use_resource=True)
        return in_function(tf, looped(tf, v.read_value()), v)

    compare(tf1, build, nodes=False, initialize=True)


def test_the_loop_draws_its_numbers_once(tf1):
    def build(tf):
        x = tf.constant(2.0)
        drawn = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * tf.random_uniform([]) * x), [0, tf.constant(1.0)])[1]
        # The value is drawn · x³: its slope is 3 / x of it.
        return in_function(tf, tf.sqrt(drawn), x) / drawn

    (ours,) = compare(tf1, build, nodes=False)
    assert ours == pytest.approx(1.5, rel=1e-5)


def test_a_body_that_runs_again_finds_no_more_values(tf1):
    def build(tf):
        x = tf.constant(2.0)
        z = looped(tf, x)
        tf.enable_control_flow_v2()
        try:
            y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + tf.gradients(z * a, x)[0]), [0, x])[1]
        finally:
            tf.disable_control_flow_v2()
        with tf.Session() as session:
            session.run(y)

    same_error(tf1, build, "is empty when calling Pop()")


def handle_of(tf, kind, chosen, a, b):
    if kind == "cond":
        return tf.cond(chosen, lambda: a.handle, lambda: b.handle)
    if kind == "identity":
        return tf.cond(chosen, lambda: tf.identity(a.handle), lambda: tf.identity(b.handle))
    if kind == "same":
        return tf.cond(chosen, lambda: a.handle, lambda: a.handle)
    if kind == "nested":
        return tf.cond(chosen, lambda: tf.cond(chosen, lambda: a.handle, lambda: b.handle), lambda: b.handle)
    if kind == "case":
        return tf.switch_case(tf.cast(chosen, tf.int32), [lambda: a.handle, lambda: b.handle])
    return tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, h), [0, a.handle])[1]


def variables(tf, first, second):
    a = tf.get_variable("a", initializer=first, use_resource=True)
    return a, tf.get_variable("b", initializer=second, use_resource=True), tf.placeholder_with_default(True, [], "chosen")


def compare_values(tf1, build, feeds):
    """As :func:`compare` where more is known of static shapes than in TensorFlow."""
    theirs, ours = (run(tf, build, feeds, initialize=True)[2] for tf in (tf1, flowmill))
    for mine, other in zip(ours, theirs, strict=True):
        same(mine, other)


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("kind", ["cond", "identity", "same", "nested", "case", "while"])
def test_handles_that_come_out_of_branches(tf1, control_flow, kind, chosen):
    def build(tf):
        a, b, choice = variables(tf, 2.0, 3.0)
        handle = handle_of(tf, kind, choice, a, b)
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        y = read * read
        return [g for g in tf.gradients(y, [a, b, handle]) if g is not None]

    compare_values(tf1, build, {"chosen": chosen})


@pytest.mark.parametrize("chosen", [True, False])
def test_rows_of_handles_that_come_out_of_branches(tf1, control_flow, chosen):
    def build(tf):
        a, b, choice = variables(tf, [2.0, 3.0], [4.0, 5.0])
        row = tf.raw_ops.ResourceGather(resource=handle_of(tf, "cond", choice, a, b), indices=[1], dtype=tf.float32)
        return [tf.convert_to_tensor(g) for g in tf.gradients(row * row, [a, b])]

    compare_values(tf1, build, {"chosen": chosen})


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("kind", ["cond", "nested", "case"])
def test_handles_that_come_out_of_branches_in_functions(tf1, kind, chosen):
    def build(tf):
        a, b, choice = variables(tf, 2.0, 3.0)

        @tf.function
        def scaled(x):
            return tf.raw_ops.ReadVariableOp(resource=handle_of(tf, kind, choice, a, b), dtype=tf.float32) * x

        return tf.gradients(scaled(tf.constant(5.0)), [a, b])

    compare_values(tf1, build, {"chosen": chosen})


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("kind", ["handle", "read"])
def test_branches_of_frames_in_defined_functions(kind, chosen):
    """TensorFlow fails where such a gradient runs."""
    from flowmill.python.framework.function import Defun

    tf = flowmill

    with tf.Graph().as_default(), tf.Session() as session:
        a, b, choice = variables(tf, 2.0, 3.0)

        @Defun(tf.float32)
        def scaled(x):
            if kind == "read":
                return tf.cond(choice, lambda: a * x, lambda: b * x)
            return tf.raw_ops.ReadVariableOp(resource=handle_of(tf, "cond", choice, a, b), dtype=tf.float32) * x

        grads = tf.gradients(scaled(tf.constant(5.0)), [a, b])
        session.run(tf.global_variables_initializer())
        assert session.run(grads, {choice: chosen}) == ([5.0, 0.0] if chosen else [0.0, 5.0])


def test_gradients_through_outer_operations_are_named_as_in_tensorflow(tf1):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default():
            v = tf.constant(3.0, name="v")
            w = tf.square(v, name="w")
            body = tf.function(lambda: tf.gradients(w * 2.0, v)[0]).get_concrete_function().graph
            found.append([op.name for op in body.get_operations() if op.name.startswith("gradients/") and op.type != "Placeholder"])
    assert found[0] == found[1]
    assert "gradients/w_grad/Mul" in found[0]
