"""Critical sections: the same nodes, one holder of the lock at a time."""

import threading
import time

import numpy as np
import pytest

import flowmill
from compare import compare, same_error


def counter(tf, value=0):
    return tf.get_variable("v", initializer=np.int32(value), use_resource=True)


@pytest.mark.parametrize("build", [
    lambda tf: tf.CriticalSection().execute(lambda: tf.constant(3)),
    lambda tf: tf.CriticalSection(name="lock").execute(lambda: [tf.constant(3), {"a": tf.constant(2.0)}], name="run"),
    lambda tf: tf.CriticalSection(shared_name="both").execute(lambda: tf.identity(tf.constant(3) + 1)),
    lambda tf: tf.CriticalSection(shared_name="").execute(lambda: (tf.constant(3), tf.constant(4))),
    lambda tf: (lambda x, cs: [cs.execute(lambda: x + 1), cs.execute(lambda: x * 2)])(tf.constant(4), tf.CriticalSection()),
])
def test_graphs(tf1, build):
    compare(tf1, build)


def test_operations(tf1):
    def build(tf):
        v = counter(tf)
        with tf.control_dependencies([v.initializer]):
            added, number = tf.CriticalSection().execute(lambda: (v.assign_add(2, read_value=False), tf.constant(3)))
        with tf.control_dependencies([added]):
            return v.read_value(), number
    assert compare(tf1, build) == [2, 3]


def test_what_the_function_takes_is_there_before_the_lock_is(tf1):
    def build(tf):
        v, cs = counter(tf), tf.CriticalSection()
        slow = tf.constant(2) * 3
        with tf.control_dependencies([v.initializer]):
            return cs.execute(lambda: v.assign_add(slow, read_value=True))
    found = compare(tf1, build)
    assert found == [6]


def increments(tf, cs, v):
    def body():
        value = v.read_value()
        with tf.control_dependencies([value]):
            waited = tf.py_func(lambda x: (time.sleep(0.001), x)[1], [value], tf.int32)
            waited.set_shape([])
        with tf.control_dependencies([v.assign(waited + 1)]):
            return tf.identity(waited)
    return cs.execute(body)


def test_executions_of_one_step_do_not_overlap():
    tf = flowmill
    with tf.Graph().as_default():
        v, cs = counter(tf), tf.CriticalSection()
        found = [increments(tf, cs, v) for _ in range(20)]
        for threads in (1, 2, 4):
            with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=threads, intra_op_parallelism_threads=threads)) as session:
                session.run(v.initializer)
                assert sorted(session.run(found)) == list(range(20))
                assert session.run(v) == 20


def test_steps_do_not_overlap():
    tf = flowmill
    with tf.Graph().as_default():
        v, cs = counter(tf), tf.CriticalSection()
        # Two places, one lock.
        found = [increments(tf, section, v) for section in (cs, tf.CriticalSection(shared_name=cs.name + "/"))]
        with tf.Session() as session:
            session.run(v.initializer)
            seen = []
            threads = [threading.Thread(target=lambda at=at: seen.extend(int(session.run(found[at % 2])) for _ in range(10))) for at in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(seen) == list(range(60))


def test_a_loop_enters_again_and_again(tf1):
    def build(tf):
        v, cs = counter(tf), tf.CriticalSection()
        with tf.control_dependencies([v.initializer]):
            start = tf.constant(0)
        return tf.while_loop(lambda i: i < 5, lambda i: cs.execute(lambda: v.assign_add(1) * 0 + i + 1), [start])
    compare(tf1, build, nodes=False)


def test_an_error_inside_lets_go_of_the_lock():
    tf = flowmill
    with tf.Graph().as_default():
        cs, x = tf.CriticalSection(), tf.placeholder(tf.float32, [])
        checked = cs.execute(lambda: tf.check_numerics(x, "no number"))
        with tf.Session() as session:
            for _ in range(3):
                with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
                    session.run(checked, {x: np.nan})
                assert session.run(checked, {x: 1}) == 1


def test_a_step_that_waits_can_run_out_of_time():
    tf = flowmill
    with tf.Graph().as_default():
        cs = tf.CriticalSection()
        queue = tf.FIFOQueue(1, tf.int32, [[]])
        blocked, other = cs.execute(queue.dequeue), cs.execute(lambda: tf.constant(5))
        enqueue = queue.enqueue(7)
        with tf.Session() as session:
            seen = []
            thread = threading.Thread(target=lambda: seen.append(session.run(blocked)))
            thread.start()
            deadline = time.time() + 20
            while time.time() < deadline:
                try:
                    session.run(other, options=tf.RunOptions(timeout_in_ms=50))
                except tf.errors.DeadlineExceededError:
                    break
            else:
                raise AssertionError("the lock is not held")
            session.run(enqueue)
            thread.join()
            assert seen == [7] and session.run(other) == 5


def test_sections_inside_of_each_other(tf1):
    def same_section(tf):
        cs = tf.CriticalSection()
        cs.execute(lambda: cs.execute(lambda: tf.constant(1)))
    same_error(tf1, same_section, "Attempting to lock a CriticalSection")

    def same_name(tf):
        one, two = tf.CriticalSection(shared_name="x"), tf.CriticalSection(shared_name="x")
        one.execute(lambda: two.execute(lambda: tf.constant(1)))
    same_error(tf1, same_name, "Attempting to lock a CriticalSection")
    compare(tf1, lambda tf: tf.CriticalSection(name="a").execute(lambda: tf.CriticalSection(name="b").execute(lambda: tf.constant(1))))


def test_resources_of_two_sections(tf1):
    def both(tf, first=True, second=True):
        v = counter(tf)
        one = tf.CriticalSection().execute(lambda: v.read_value() + 1, exclusive_resource_access=first)
        return one, tf.CriticalSection().execute(lambda: v.read_value() + 2, exclusive_resource_access=second)
    same_error(tf1, both, "requested exclusive resource access of this resource")
    same_error(tf1, lambda tf: both(tf, False), "requested exclusive resource access of this resource")
    compare(tf1, lambda tf: both(tf, False, False), initialize=True)


def test_definitions_are_not_supported(tf1):
    same_error(tf1, lambda tf: tf.CriticalSection(critical_section_def="x"), "`critical_section_def` is not supported")
    same_error(tf1, lambda tf: tf.CriticalSection(critical_section_def="x", name="y"), "mutually exclusive")


def test_name_and_collections(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            cs = tf.CriticalSection(name="lock")
            assert cs.name == "lock"
            cs.execute(lambda: tf.constant(1))
            assert tf.get_collection("critical_sections") == [cs]
            assert [e.op.type for e in tf.get_collection("critical_section_executions")] == ["MutexLock"]
