"""Staging areas: the same nodes, values and errors as TensorFlow's, and calls that wait."""

import threading

import numpy as np
import pytest

import flowmill
from compare import compare, same_error
from flowmill.python.ops import data_flow_ops


def area(tf, *args, **kwargs):
    """A staging area of a module."""
    if tf is flowmill:
        return data_flow_ops.StagingArea(*args, **kwargs)
    from tensorflow.python.ops import data_flow_ops as theirs
    return theirs.StagingArea(*args, **kwargs)


def test_tuples_leave_in_order(tf1):
    def build(tf):
        stage = area(tf, [tf.float32, tf.int32], shapes=[[2], []], shared_name="tuples")
        puts = []
        for i in range(3):
            with tf.control_dependencies(puts):
                puts.append(stage.put([tf.constant([i, 2.0 * i], tf.float32), tf.constant(i)]))
        with tf.control_dependencies(puts):
            seen = stage.peek(2)
        with tf.control_dependencies(seen):
            size = stage.size()
        with tf.control_dependencies([size]):
            first = stage.get()
        with tf.control_dependencies(first):
            second = stage.get()
        with tf.control_dependencies(second):
            cleared = stage.clear()
        with tf.control_dependencies([cleared]):
            return [*seen, size, *first, *second, stage.size(name="left")]
    compare(tf1, build)


def test_tuples_with_names(tf1):
    def build(tf):
        stage = area(tf, [tf.float32, tf.string], names=["x", "s"], capacity=2)
        put = stage.put({"s": tf.constant("a"), "x": tf.constant([1.5])})
        with tf.control_dependencies([put]):
            return stage.get()
    compare(tf1, build)
    for wrong in ({"y": 1}, [1]):
        same_error(tf1, lambda tf, w=wrong: area(tf, [tf.int32], names=["x"]).put(w))
    same_error(tf1, lambda tf: area(tf, [tf.int32]).put([tf.constant(1.0)]), "Datatypes do not match")
    same_error(tf1, lambda tf: area(tf, [tf.int32], shapes=[[2]]).put([tf.constant([1])]))
    same_error(tf1, lambda tf: area(tf, [tf.int32], shapes=[[2], []]), "same length")
    same_error(tf1, lambda tf: area(tf, [tf.int32], shared_name=3), "must be a string")


@pytest.mark.parametrize("bound", [{"capacity": 1}, {"memory_limit": 10}])
def test_a_full_area_waits_for_room(bound):
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        stage = area(flowmill, [flowmill.float32], **bound)
        value = flowmill.placeholder(flowmill.float32, [2])
        put, get, size = stage.put(value), stage.get(), stage.size()
        session.run(put, {value: [1, 2]})
        waiting = threading.Thread(target=lambda: session.run(put, {value: [3, 4]}))
        waiting.start()
        assert session.run(size) == 1
        assert session.run(get)[0].tolist() == [1, 2]
        assert session.run(get)[0].tolist() == [3, 4]
        waiting.join()


def test_an_empty_area_waits_until_the_step_ends():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        stage = area(flowmill, [flowmill.float32])
        for waiting in (stage.get(), stage.peek(0)):
            with pytest.raises(flowmill.errors.DeadlineExceededError):
                session.run(waiting, options=flowmill.RunOptions(timeout_in_ms=50))
        get, put, found = stage.get(), stage.put(flowmill.constant(2.5)), []
        getter = threading.Thread(target=lambda: found.append(session.run(get)))
        getter.start()
        session.run(put)
        getter.join()
        assert found[0] == [2.5]


def test_bad_uses_of_areas():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        ops = flowmill.raw_ops
        with pytest.raises(flowmill.errors.ResourceExhaustedError, match="memory limit of '4'"):
            session.run(ops.Stage(values=[np.zeros(5, "f")], memory_limit=4))
        session.run(ops.Stage(values=[1, 2], shared_name="two"))
        with pytest.raises(flowmill.errors.InvalidArgumentError, match="2 vs. 1"):
            session.run(ops.Unstage(dtypes=[flowmill.int32], shared_name="two"))
        with pytest.raises(flowmill.errors.InvalidArgumentError, match="scalar"):
            session.run(ops.StagePeek(index=[0], dtypes=[flowmill.int32], shared_name="two"))
