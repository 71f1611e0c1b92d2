"""Loops, conditionals, stacks and gradients over four CPU devices, with TensorFlow as the oracle; steps over devices that fail, time out or are cancelled."""

import os
import resource
import threading

import numpy as np
import pytest

import flowmill

NUM_DEVICES = 4
# Steps that fail, that time out for each number of threads, and that are cancelled: 1,000 with FLOWMILL_LONG=1.
NUM_FAILURES, NUM_TIMEOUTS, NUM_CANCELLATIONS = (400, 225, 150) if os.environ.get("FLOWMILL_LONG") == "1" else (40, 10, 5)


def flatten(values):
    return [leaf for value in values for leaf in flatten(value)] if isinstance(values, (list, tuple)) else [values]


def config(tf, threads=2):
    return tf.ConfigProto(
        device_count={"CPU": NUM_DEVICES}, intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads, allow_soft_placement=True
    )


def on(tf, i):
    return tf.device(f"/device:CPU:{i % NUM_DEVICES}")


def body_on_four_devices(tf, x):
    def body(i, v):
        with on(tf, 0):
            a = v * 1.01
        with on(tf, 1):
            b = a + 1.0
        with on(tf, 2):
            c = tf.tanh(b)
        with on(tf, 3):
            return i + 1, c - 0.5 * v

    return tf.while_loop(lambda i, v: i < 9, body, [tf.constant(0), x])


def loop_in_conditional(tf, x):
    def loop():
        with on(tf, 1):
            return body_on_four_devices(tf, x)[1]

    def other():
        with on(tf, 2):
            return -x

    with on(tf, 3):
        return [tf.cond(tf.reduce_sum(x) > 0.0, loop, other), tf.cond(tf.reduce_sum(x) < 0.0, loop, other)]


def nested_loops(tf, x):
    def outer(i, v):
        def inner(j, w):
            with on(tf, 2):
                return j + 1, w * 0.9 + tf.cast(i, tf.float32)

        with on(tf, 1):
            _, w = tf.while_loop(lambda j, w: j < i, inner, [tf.constant(0), v])
        with on(tf, 3):
            return i + 1, w + 1.0

    return tf.while_loop(lambda i, v: i < 4, outer, [tf.constant(0), x])


def conditional_in_loop(tf, x):
    def body(i, v):
        def double():
            with on(tf, 1):
                return v * 2.0

        def halve():
            with on(tf, 2):
                return v / 2.0

        with on(tf, 3):
            return i + 1, tf.cond(tf.equal(i % 2, 0), double, halve) + 1.0

    return tf.while_loop(lambda i, v: i < 7, body, [tf.constant(0), x])


def tensor_array(tf, x):
    array = tf.TensorArray(tf.float32, size=5)

    def body(i, v, array):
        with on(tf, 1):
            w = tf.tanh(v + 1.0)
        with on(tf, 2):
            u = w * 3.0
        return i + 1, u, array.write(i, u)

    _, _, array = tf.while_loop(lambda i, *_: i < 5, body, [tf.constant(0), x, array])
    return array.stack()


def invariants(tf, x):
    with on(tf, 3):
        scale = tf.exp(x)

    def body(i, v):
        with on(tf, 1):
            a = v * scale
        with on(tf, 2):
            return i + 1, tf.sin(a + scale)

    return tf.while_loop(lambda i, v: i < 5, body, [tf.constant(0), x], parallel_iterations=1)


PROGRAMS = [body_on_four_devices, loop_in_conditional, nested_loops, conditional_in_loop, tensor_array, invariants]
X = np.array([0.25, -0.5, 1.5], np.float32)


def run(tf, program, threads=2):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        results = program(tf, x)
        total = sum(tf.reduce_sum(tf.cast(r, tf.float32)) for r in (results if isinstance(results, (list, tuple)) else [results]))
        gradient = tf.gradients(total, x)
        colocated = tf.gradients(total, x, colocate_gradients_with_ops=True)
        with tf.Session(config=config(tf, threads)) as session:
            return session.run([results, gradient, colocated], {x: X}, options=tf.RunOptions(timeout_in_ms=60_000))


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_gradients_are_those_of_tensorflow(tf1, control_flow, program):
    expected = run(tf1, program)
    for threads in (1, 2, 8):
        got = run(flowmill, program, threads)
        for ours, theirs in zip(flatten(got), flatten(expected)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, err_msg=f"{threads} threads")


class Leaks:
    """Fails at the end of the block if the process has more memory or threads than after :meth:`warm`."""

    def __enter__(self):
        return self

    def warm(self):
        self.before = self.used()

    @staticmethod
    def used():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(os.listdir("/proc/self/task"))

    def __exit__(self, kind, *_):
        if kind is None:
            (memory, threads), (memory_before, threads_before) = self.used(), self.before
            assert memory - memory_before < 30 << 10, "steps leave tensors behind"
            assert threads <= threads_before, "steps leave threads behind"


@pytest.fixture
def failing_loop():
    """A loop over four devices that fails in the iteration that is fed, with a megabyte on the way, and its session."""
    tf = flowmill
    with tf.Graph().as_default():
        at = tf.placeholder(tf.int32, [], name="at")

        def body(i, v):
            with on(tf, 1):
                a = v + 1.0
            with on(tf, 2):
                check = tf.Assert(tf.not_equal(i, at), ["failed in iteration", i])
                with tf.control_dependencies([check]):
                    b = tf.identity(a)
            with on(tf, 3):
                return i + 1, b * 0.5

        i, v = tf.while_loop(lambda i, v: i < 20, body, [tf.constant(0), tf.zeros([1 << 18])])
        with tf.Session(config=config(tf)) as session:
            yield session, at, [i, tf.reduce_sum(v)]


def test_a_failure_in_a_loop_ends_the_step_on_all_devices(failing_loop):
    session, at, fetches = failing_loop
    with Leaks() as leaks:
        for k in range(NUM_FAILURES):
            with pytest.raises(flowmill.errors.InvalidArgumentError, match="failed in iteration"):
                session.run(fetches, {at: k % 20})
            if k == 20:
                leaks.warm()
    assert session.run(fetches, {at: 100})[0] == 20, "the session goes on"


def endless_loop(tf):
    """A loop over four devices without an end, with a megabyte on the way."""
    def body(v, w):
        with on(tf, 1):
            a, b = v + 1.0, w * 0.5
        with on(tf, 2):
            return tf.sin(a), b + 1.0

    with on(tf, 3):
        v, w = tf.while_loop(lambda v, w: v < 10.0, body, [tf.constant(0.0), tf.zeros([1 << 18])])
        return v, tf.reduce_sum(w)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_over_devices_times_out(threads):
    tf = flowmill
    with tf.Graph().as_default(), tf.Session(config=config(tf, threads)) as session:
        loop = endless_loop(tf)
        with Leaks() as leaks:
            for k in range(NUM_TIMEOUTS):
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(loop, options=tf.RunOptions(timeout_in_ms=20))
                if k == 5:
                    leaks.warm()


def test_a_timeout_names_the_tensors_that_are_waited_for():
    tf = flowmill
    with tf.Graph().as_default():
        with on(tf, 1):
            late = tf.identity(tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue(), name="late")
        with on(tf, 2):
            result = late + 1.0
        with tf.Session(config=config(tf)) as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match=r"while waiting for .*late:0 from .*CPU:1 to .*CPU:2"):
                session.run(result, options=tf.RunOptions(timeout_in_ms=100))


def test_closing_the_session_ends_a_loop_over_devices():
    tf = flowmill
    with Leaks() as leaks:
        for k in range(NUM_CANCELLATIONS):
            with tf.Graph().as_default():
                session, loop = tf.Session(config=config(tf)), endless_loop(tf)
            closer = threading.Timer(0.05, session.close)
            closer.start()
            with pytest.raises(tf.errors.CancelledError):
                session.run(loop)
            closer.join()
            if k == 3:
                leaks.warm()


@pytest.mark.parametrize("swap_memory", [True, False])
def test_stacks_follow_the_values_they_keep_and_swap_memory_as_in_tensorflow(tf1, swap_memory):
    def stacks(tf):
        tf.disable_control_flow_v2()
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [3], name="x")

            def body(i, v):
                with on(tf, 2):
                    return i + 1, tf.tanh(v * 2.0, name="value")

            _, v = tf.while_loop(lambda i, v: i < 3, body, [tf.constant(0), x], swap_memory=swap_memory)
            tf.gradients(v, x)
        nodes = graph.as_graph_def().node
        kept = sorted(c.decode() for node in nodes if node.op == "StackV2" for c in node.attr["_class"].list.s)
        return kept, [node.attr["swap_memory"].b for node in nodes if node.op == "StackPushV2"]

    kept, swaps = stacks(flowmill)
    assert (kept, swaps) == stacks(tf1)
    assert "loc:@while/value" in kept and all(swap == swap_memory for swap in swaps)
