"""Steps that get their feeds one after another: what is asserted holds for TensorFlow and here."""

import numpy as np
import pytest

import flowmill


@pytest.fixture(params=["tensorflow", "flowmill"])
def tf(request, tf1):
    return tf1 if request.param == "tensorflow" else flowmill


def chain(tf):
    a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
    r1 = tf.add(a, b)
    return a, b, c, r1, tf.multiply(r1, c)


def test_feeds_come_one_after_another(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b, c, r1, r2 = chain(tf)
        handle = sess.partial_run_setup([r1, r2], [a, b, c])
        first = sess.partial_run(handle, r1, {a: 1, b: 2})
        assert first == 3
        assert sess.partial_run(handle, {"r": [r2]}, {c: first * 17}) == {"r": [153]}


def test_several_at_once(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b, c, r1, r2 = chain(tf)
        handles = [sess.partial_run_setup([r1, r2], [a, b, c]) for _ in range(20)]
        for i, handle in enumerate(handles):
            assert sess.partial_run(handle, r1, {a: i, b: 1}) == i + 1
        for i, handle in enumerate(handles):
            assert sess.partial_run(handle, r2, {c: 2}) == 2 * (i + 1)


def test_what_was_computed_is_not_computed_again(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(0.0, use_resource=False)
        x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        added = tf.assign_add(v, x)
        with tf.control_dependencies([added]):
            result = y * 10.0
        drawn = tf.random_uniform([3])
        shifted = drawn + y
        sess.run(tf.global_variables_initializer())
        handle = sess.partial_run_setup([added, drawn, shifted, result], [x, y])
        assert sess.partial_run(handle, added, {x: 5}) == 5
        before = sess.partial_run(handle, drawn)
        after, found = sess.partial_run(handle, [shifted, result], {y: 1})
        np.testing.assert_array_equal(after, before + np.float32(1))
        assert found == 10 and sess.run(v) == 5


def test_operations_are_fetched():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(0.0, use_resource=True)
        x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        add = tf.assign_add(v, x).op
        sess.run(tf.global_variables_initializer())
        handle = sess.partial_run_setup([add, y + 1.0, "add:0"], [x, y])
        assert sess.partial_run(handle, {"op": add}, {x: 5}) == {"op": None}
        assert sess.run(v) == 5
        assert sess.partial_run(handle, "add:0", {y: 1}) == 2
        assert sess.run(v) == 5


def test_only_fetches(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        one, two = tf.constant(1), tf.constant(2)
        handle = sess.partial_run_setup([one, two])
        assert sess.partial_run(handle, one) == 1
        assert sess.partial_run(handle, two) == 2


def test_what_is_refused(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b, c, r1, r2 = chain(tf)
        other = tf.constant(1.0)
        handle = sess.partial_run_setup([r1, r2], [a, b, c])
        with pytest.raises(tf.errors.InvalidArgumentError, match="can't be computed from the feeds"):
            sess.partial_run(handle, r1, {a: 1})
        handle = sess.partial_run_setup([r1, r2], [a, b, c])
        assert sess.partial_run(handle, r1, {a: 1, b: 2}) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="has already been fed"):
            sess.partial_run(handle, r2, {a: 1, c: 1})
        handle = sess.partial_run_setup([r1, r2], [a, b])
        with pytest.raises(tf.errors.InvalidArgumentError, match="was not specified in partial_run_setup"):
            sess.partial_run(handle, other, {a: 1})
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            sess.partial_run_setup([], [a])


def test_errors_of_the_step():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
        quotient = tf.floordiv(a, b)
        for _ in range(2):
            handle = sess.partial_run_setup([quotient, a + 1], [a, b])
            with pytest.raises(tf.errors.InvalidArgumentError, match="ivision by zero"):
                sess.partial_run(handle, quotient, {a: 1, b: 0})
            with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup' before"):
                sess.partial_run(handle, quotient)
        handle = sess.partial_run_setup([quotient], [a, b])
        assert sess.partial_run(handle, quotient, {a: 7, b: 2}) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup' before"):
            sess.partial_run(handle, quotient)


def test_the_graph_does_not_grow_with_every_run():
    tf = flowmill
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        a, b, c, r1, r2 = chain(tf)
        sizes = []
        for i in range(4):
            handle = sess.partial_run_setup([r1, r2], [a, b, c])
            sess.partial_run(handle, r1, {a: i, b: 2})
            assert sess.partial_run(handle, r2, {c: 3}) == 3 * (i + 2)
            sizes.append(graph.version)
        assert len(set(sizes)) == 1
        graph.finalize()
        with pytest.raises(RuntimeError, match="Graph is finalized"):
            sess.partial_run_setup([r1], [a, b])


@pytest.mark.parametrize("threads", [0, 1])
def test_costly_steps(threads):
    tf = flowmill
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x, y = tf.placeholder(tf.float32, [300, 300]), tf.placeholder(tf.float32, [300, 300])
        first = tf.matmul(x, x)
        second = tf.matmul(first, y)
        handle = sess.partial_run_setup([first, second], [x, y])
        ones = np.ones([300, 300], np.float32)
        assert sess.run(tf.reduce_sum(tf.matmul(tf.ones([300, 300]), tf.ones([300, 300])))) == 300.0**3
        assert sess.partial_run(handle, first, {x: ones})[0, 0] == 300
        assert sess.run(tf.reduce_sum(tf.matmul(tf.ones([300, 300]), tf.ones([300, 300])))) == 300.0**3
        assert sess.partial_run(handle, second, {y: ones})[0, 0] == 90000


def test_a_session_closes_though_a_step_waits():
    tf = flowmill
    with tf.Graph().as_default():
        a, b, c, r1, r2 = chain(tf)
        sess = tf.Session()
        handle = sess.partial_run_setup([r1, r2], [a, b, c])
        worker = sess._partial_runs[handle]._thread
        sess.close()
        worker.join(20)
        assert not worker.is_alive()
        with pytest.raises(RuntimeError, match="closed Session"):
            sess.partial_run(handle, r1, {a: 1, b: 2})
