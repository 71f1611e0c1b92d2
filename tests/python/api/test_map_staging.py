"""Staging areas with keys: the same nodes, values and errors as TensorFlow's, and calls that wait."""

import threading

import numpy as np
import pytest

import flowmill
from compare import compare, same_error
from flowmill.python.ops import data_flow_ops


def area(tf, *args, **kwargs):
    """A staging area with keys of a module."""
    if tf is flowmill:
        return data_flow_ops.MapStagingArea(*args, **kwargs)
    from tensorflow.python.ops import data_flow_ops as theirs
    return theirs.MapStagingArea(*args, **kwargs)


def key(tf, number):
    return tf.constant(number, tf.int64)


def in_order(tf, *makers):
    """Calls functions that add operations, each of which waits for those of the one before; returns their results."""
    results, before = [], []
    for make in makers:
        with tf.control_dependencies(before):
            results.append(make())
        before = [t if hasattr(t, "op") else t for t in flat(results[-1])]
    return [t for t in flat(results) if hasattr(t, "op")]


def flat(found):
    if isinstance(found, dict):
        return flat(list(found.values()))
    return [t for part in found for t in flat(part)] if isinstance(found, (list, tuple)) else [found]


@pytest.mark.parametrize("ordered", [False, True])
def test_tuples_leave_by_keys(tf1, ordered):
    def build(tf):
        stage = area(tf, [tf.float32, tf.int32], shapes=[[2], []], ordered=ordered, shared_name="tuples")

        def put(number):
            return lambda: stage.put(key(tf, number), [tf.constant([number, 2.0]), tf.constant(number)], [0, 1])
        return in_order(tf, put(5), put(3), put(9), stage.size, lambda: stage.peek(key(tf, 5)), lambda: stage.peek(key(tf, 9), [1]),
                        lambda: stage.get(key(tf, 9)), lambda: stage.get(key(tf, 5)), lambda: stage.get(), stage.size, put(1), stage.clear,
                        stage.size, stage.incomplete_size)
    compare(tf1, build)


def test_the_least_key_leaves_first(tf1):
    def build(tf):
        stage = area(tf, [tf.int32], ordered=True)

        def put(number):
            return lambda: stage.put(key(tf, number), [tf.constant(number)], [0])
        return in_order(tf, put(7), put(-2), put(4), stage.get, stage.get, stage.get)
    compare(tf1, build)


def test_components_come_and_leave_one_by_one(tf1):
    def build(tf):
        stage = area(tf, [tf.int32, tf.float32, tf.string], names=["i", "f", "s"])
        first = {"i": tf.constant(1), "s": tf.constant("a")}
        return in_order(tf, lambda: stage.put(key(tf, 4), first), stage.incomplete_size, stage.size, lambda: stage.put(key(tf, 4), {"f": tf.constant(2.5)}),
                        stage.incomplete_size, stage.size, lambda: stage.peek(key(tf, 4), ["i", "s"]), lambda: stage.get(key(tf, 4), ["f"]),
                        lambda: stage.size(name="sized"), lambda: stage.get(key(tf, 4), ["i", "s"], name="got"), lambda: stage.size())
    compare(tf1, build)


def test_a_key_that_is_there_keeps_its_tuple(tf1):
    def build(tf):
        stage = area(tf, [tf.int32])
        puts = [lambda value=value: stage.put(key(tf, 1), [tf.constant(value)], [0]) for value in (10, 20)]
        return in_order(tf, *puts, stage.size, lambda: stage.get(key(tf, 1)), stage.size)
    compare(tf1, build)


@pytest.mark.parametrize("use", [
    lambda tf, stage: stage.put(key(tf, 1), {"y": tf.constant(1)}), lambda tf, stage: stage.put(key(tf, 1), [tf.constant(1)], [0]),
    lambda tf, stage: stage.put(key(tf, 1), {"x": tf.constant(1.0)}), lambda tf, stage: stage.get(key(tf, 1), []),
    lambda tf, stage: stage.get(key(tf, 1), 0), lambda tf, stage: stage.get(key(tf, 1), ["y"]), lambda tf, stage: stage.peek(key(tf, 1), ["x", 0]),
])
def test_bad_arguments(tf1, use):
    same_error(tf1, lambda tf: use(tf, area(tf, [tf.int32], names=["x"])))


@pytest.mark.parametrize("use", [
    lambda tf, stage: stage.put(key(tf, 1), [tf.constant(1)]), lambda tf, stage: stage.put(key(tf, 1), [tf.constant(1)], [0, 1]),
    lambda tf, stage: stage.put(key(tf, 1), [tf.constant(1), tf.constant(2)], [0, 0]), lambda tf, stage: stage.get(key(tf, 1), ["x"]),
])
def test_bad_arguments_without_names(tf1, use):
    same_error(tf1, lambda tf: use(tf, area(tf, [tf.int32])))


def stage(tf, indices, values, number=1, **attrs):
    keys = tf.constant(number, tf.int64)
    return tf.raw_ops.MapStage(key=keys, indices=indices, values=values, dtypes=[tf.int32, tf.int32], shared_name="m", **attrs)


def unstage(tf, indices, op="MapUnstage", number=1):
    return getattr(tf.raw_ops, op)(key=tf.constant(number, tf.int64), indices=indices, dtypes=[tf.int32] * max(len(indices), 1), shared_name="m")


@pytest.mark.parametrize("use, match", [
    (lambda tf: stage(tf, np.zeros(0, "i"), [1]), "Indices are empty"),
    (lambda tf: stage(tf, [1, 0], [1, 2]), "Indices are not strictly ordered"),
    (lambda tf: stage(tf, [2], [1]), "Index '2' for key '1' was out of bounds '2'."),
    (lambda tf: stage(tf, [0], [1], number=8), "The tensor for index '0' for key '8' was already initialized '2'."),
    (lambda tf: stage(tf, [0], [1], number=[]), "key must not be empty"),
    (lambda tf: stage(tf, [0], [1], number=[1, 2]), "key must be an int64 scalar, got tensor with shape: "),
    (lambda tf: unstage(tf, [0], number=[1]), "key must be an int64 scalar: "),
    (lambda tf: unstage(tf, [0], "MapPeek", number=[1]), "key must be an int64 scalar: "),
    (lambda tf: unstage(tf, [5], number=7), "Index '5' for key '7' was out of bounds '2'."),
    (lambda tf: unstage(tf, [1], number=7), "Tensor at index '1' for key '7' has already been removed."),
    (lambda tf: unstage(tf, [1, 0], "MapPeek", number=7), "Indices are not strictly ordered"),
])
def test_bad_uses_fail_as_in_tensorflow(tf1, use, match):
    codes = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(stage(tf, [0], [3], number=8))
            session.run(stage(tf, [0, 1], [3, 4], number=7))
            session.run(unstage(tf, [1], number=7))
            with pytest.raises(tf.errors.OpError, match=match) as raised:
                session.run(use(tf))
            codes.append(raised.value.error_code)
    assert codes[0] == codes[1]


def test_more_bytes_than_fit_are_refused(tf1):
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError, match="memory limit of '3'"):
            session.run(stage(tf, [0, 1], [1, 2], memory_limit=3))


@pytest.mark.parametrize("bound", [{"capacity": 1}, {"memory_limit": 10}])
def test_a_full_area_waits_for_room(bound):
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        stage = area(flowmill, [flowmill.float32], **bound)
        number, value = flowmill.placeholder(flowmill.int64, []), flowmill.placeholder(flowmill.float32, [2])
        put, get, peek, size = stage.put(number, [value], [0]), stage.get(number)[1], stage.peek(number), stage.size()
        session.run(put, {number: 1, value: [1, 2]})
        waiting = threading.Thread(target=lambda: session.run(put, {number: 2, value: [3, 4]}))
        waiting.start()
        assert session.run(peek, {number: 1})[0].tolist() == [1, 2]
        assert session.run(size) == 1
        assert session.run(get, {number: 1})[0].tolist() == [1, 2]
        assert session.run(get, {number: 2})[0].tolist() == [3, 4]
        waiting.join()


def test_an_absent_key_waits_until_the_step_ends():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        stage = area(flowmill, [flowmill.float32])
        number = flowmill.placeholder(flowmill.int64, [])
        put, get = stage.put(number, [flowmill.constant(2.5)], [0]), stage.get(number)[1]
        session.run(put, {number: 1})
        for waiting in (get, stage.peek(number)):
            with pytest.raises(flowmill.errors.DeadlineExceededError):
                session.run(waiting, {number: 2}, options=flowmill.RunOptions(timeout_in_ms=50))
        found = []
        getter = threading.Thread(target=lambda: found.append(session.run(get, {number: 2})))
        getter.start()
        session.run(put, {number: 2})
        getter.join()
        assert found[0] == [2.5]
        assert session.run(get, {number: 1}) == [2.5]
