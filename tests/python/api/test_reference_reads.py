"""Reads of reference variables in the steps that update them, where TensorFlow's value does not depend on timing."""

import numpy as np
import pytest

import flowmill

READS = {
    "the variable": lambda tf, v: v, "identity": lambda tf, v: tf.identity(v), "value": lambda tf, v: v.value(),
    "read_value": lambda tf, v: v.read_value(), "a chain": lambda tf, v: tf.stop_gradient(tf.identity(tf.identity(v))),
    "a tuple": lambda tf, v: tf.tuple([v])[0],
}
UPDATES = {
    "assign": lambda tf, v, five: tf.assign(v, five), "assign_add": lambda tf, v, five: tf.assign_add(v, five),
    "assign_sub": lambda tf, v, five: tf.assign_sub(v, five),
    "gradient_descent": lambda tf, v, five: tf.raw_ops.ApplyGradientDescent(var=v._ref() if hasattr(v, "_ref") else v, alpha=tf.cast(1, v.dtype.base_dtype), delta=five),
}
KINDS = [("int32", []), ("int64", []), ("float32", []), ("float32", [4]), ("float32", [10000])]


def value_of(tf, build, run):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        fetches, feeds = build(tf)
        session.run(tf.global_variables_initializer())
        return run(session, fetches, feeds)


def run(session, fetches, feeds):
    return session.run(fetches, feeds)


def call(session, fetches, feeds):
    return session.make_callable(fetches, list(feeds))(*feeds.values())


def variable(tf, dtype, shape):
    dtype = tf.as_dtype(dtype)
    return tf.Variable(tf.ones(shape, dtype), use_resource=False, name="v"), tf.fill(shape, tf.constant(5, dtype))


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("dtype, shape", KINDS)
@pytest.mark.parametrize("runner", [run, call])
def test_a_fetch_shows_the_update(tf1, runner, dtype, shape, update, read):
    if update == "gradient_descent" and dtype != "float32":
        pytest.skip("a kernel of floating-point numbers")

    def build(tf):
        v, five = variable(tf, dtype, shape)
        return [READS[read](tf, v), UPDATES[update](tf, v, five)], {}
    np.testing.assert_array_equal(value_of(flowmill, build, runner)[0], value_of(tf1, build, runner)[0])


@pytest.mark.parametrize("dtype, shape", KINDS)
def test_a_read_before_the_update_shows_it_too(tf1, dtype, shape):
    def build(tf):
        v, five = variable(tf, dtype, shape)
        before = tf.identity(v)
        computed = v + tf.cast(1, v.dtype.base_dtype)
        with tf.control_dependencies([before, computed]):
            update = tf.assign(v, five)
        return [before, computed, update], {}
    for ours, theirs in zip(value_of(flowmill, build, run), value_of(tf1, build, run)):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("update", ["assign", "assign_add"])
@pytest.mark.parametrize("dtype, shape", KINDS)
def test_what_runs_after_an_update_sees_it(tf1, dtype, shape, update):
    def build(tf):
        v, five = variable(tf, dtype, shape)
        early = v * tf.cast(3, v.dtype.base_dtype)
        with tf.control_dependencies([early]):
            updated = UPDATES[update](tf, v, five)
        with tf.control_dependencies([updated]):
            after = [v + tf.cast(1, v.dtype.base_dtype), tf.identity(v) * early, tf.reduce_sum(v), v.read_value()]
            chained = tf.identity(v)
        return [early, *after, chained + tf.cast(1, v.dtype.base_dtype)], {}
    for ours, theirs in zip(value_of(flowmill, build, run), value_of(tf1, build, run)):
        np.testing.assert_array_equal(ours, theirs)


CPUS = [(0, 0), (0, 1), (1, 0), (1, 2)]


def updated_on(tf, cpu):
    """Returns a variable on a CPU, and what adds one to it there."""
    with tf.device(f"/cpu:{cpu}"):
        v = tf.Variable(0.0, use_resource=False, name="v")

    def update():
        with tf.device(f"/cpu:{cpu}"):
            return tf.assign_add(v, 1.0)

    return v, update


def read_in_a_loop(tf, read, cpus):
    v, update = updated_on(tf, cpus[0])

    def body(i, x):
        with tf.control_dependencies([x]):
            updated = update()
        with tf.control_dependencies([updated]), tf.device(f"/cpu:{cpus[1]}"):
            return i + 1, x * 10.0 + read(tf, v)

    return tf.while_loop(lambda i, x: i < 4, body, [0, 0.0], parallel_iterations=1)[1]


def read_in_a_nested_loop(tf, read, cpus):
    v, update = updated_on(tf, cpus[0])

    def body(i, x):
        def inner(j, y):
            with tf.control_dependencies([y]):
                updated = update()
            with tf.control_dependencies([updated]), tf.device(f"/cpu:{cpus[1]}"):
                return j + 1, y * 10.0 + read(tf, v)

        return i + 1, tf.while_loop(lambda j, y: j < 2, inner, [0, x], parallel_iterations=1)[1]

    return tf.while_loop(lambda i, x: i < 2, body, [0, 0.0], parallel_iterations=1)[1]


def read_in_a_branch(tf, read, cpus):
    v, update = updated_on(tf, cpus[0])
    with tf.control_dependencies([update()]), tf.device(f"/cpu:{cpus[1]}"):
        return tf.cond(tf.constant(True), lambda: read(tf, v) + 10.0, lambda: 0.0)


def read_in_a_branch_of_a_loop(tf, read, cpus):
    v, update = updated_on(tf, cpus[0])

    def body(i, x):
        with tf.control_dependencies([x]):
            updated = update()
        with tf.control_dependencies([updated]), tf.device(f"/cpu:{cpus[1]}"):
            return i + 1, x * 10.0 + tf.cond(tf.equal(i % 2, 0), lambda: read(tf, v) + 0.0, lambda: 0.0)

    return tf.while_loop(lambda i, x: i < 4, body, [0, 0.0], parallel_iterations=1)[1]


@pytest.mark.parametrize("cpus", CPUS, ids=str)
@pytest.mark.parametrize("program", [read_in_a_loop, read_in_a_nested_loop, read_in_a_branch, read_in_a_branch_of_a_loop])
def test_reads_in_loops_and_branches_see_the_updates_before_them(tf1, program, cpus):
    def values(tf):
        found = []
        for read in (lambda tf, v: tf.identity(v), lambda tf, v: v + 0.0, lambda tf, v: v.read_value()):
            with tf.Graph().as_default():
                result = program(tf, read, cpus)
                with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
                    session.run(tf.global_variables_initializer())
                    found.append(session.run(result))
        return found

    assert values(flowmill) == values(tf1)


def test_the_step_that_a_training_loop_prints(tf1):
    def build(tf):
        step = tf.Variable(0, trainable=False, use_resource=False, name="global_step", dtype=tf.int64)
        w = tf.Variable(2.0, use_resource=False, name="w")
        loss = tf.square(w)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        return [loss, step, train], {}

    def steps(session, fetches, feeds):
        return [session.run(fetches, feeds)[:2] for _ in range(3)]
    ours, theirs = value_of(flowmill, build, steps), value_of(tf1, build, steps)
    assert [s for _, s in ours] == [1, 2, 3]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("read", READS)
def test_resource_variables_show_what_was_read(tf1, read):
    def build(tf):
        v = tf.Variable(1.0, use_resource=True, name="v")
        fetched = READS[read](tf, v)
        with tf.control_dependencies([fetched] if hasattr(fetched, "op") and fetched is not v else []):
            before = tf.identity(v)
        with tf.control_dependencies([before]):
            update = tf.assign(v, 5.0)
        return [before, update.op if hasattr(update, "op") else update], {}
    assert value_of(flowmill, build, run)[0] == value_of(tf1, build, run)[0] == 1


def test_an_uninitialised_variable_is_named(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
            v = tf.Variable(1.0, use_resource=False, name="v")
            for fetch in (v, tf.identity(v), [v, tf.assign_add(v, 1.0)]):
                with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"):
                    session.run(fetch)
