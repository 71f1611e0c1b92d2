"""Queues that pad and that sort, against TensorFlow."""

import threading

import numpy as np
import pytest

from oracles import assert_same

import flowmill


def chained(m, queue, elements):
    """Enqueues one element after the other."""
    done = []
    for element in elements:
        with m.control_dependencies(done):
            done = [queue.enqueue(element)]
    return m.control_dependencies(done)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "string"])
def test_batches_are_padded(tf1, dtype):
    rows = [[[1, 2], [3, 4]], [[5, 6, 7]], np.zeros([0, 1]), [[8], [9], [10]]]

    def build(m):
        queue = m.PaddingFIFOQueue(10, [dtype, "int32"], [[None, None], []])
        values = [np.asarray(row).astype(str).astype(object) if dtype == "string" else np.asarray(row, dtype) for row in rows]
        with chained(m, queue, [(m.constant(value, dtype), i) for i, value in enumerate(values)]):
            first = queue.dequeue_many(3)
        with m.control_dependencies(first):
            return [*first, *queue.dequeue()]
    assert assert_same(tf1, build) is None


def test_padded_queues_are_checked(tf1):
    def build(m):
        queue = m.PaddingFIFOQueue(10, ["float32"], [[None, 2]])
        with m.control_dependencies([queue.enqueue(m.placeholder("float32", name="x"))]):
            return [queue.dequeue_many(1)]
    for shape, error in (([3, 2], None), ([3, 3], "InvalidArgumentError"), ([2], "InvalidArgumentError")):
        assert assert_same(tf1, build, {"x:0": np.ones(shape, np.float32)}) == error


def test_the_least_priority_leaves_first(tf1):
    def build(m):
        queue = m.PriorityQueue(10, ["string", "float32"], [[], [2]])
        elements = [(m.constant(p, "int64"), text, [p, 1.0]) for p, text in ((5, "e"), (-2, "a"), (3, "c"), (9, "f"), (0, "b"), (4, "d"))]
        with chained(m, queue, elements):
            first = queue.dequeue()
        with m.control_dependencies(first):
            batch = queue.dequeue_many(4)
        with m.control_dependencies(batch):
            return [*first, *batch, *queue.dequeue()]
    assert assert_same(tf1, build) is None


def test_priorities_are_scalars(tf1):
    def build(m):
        queue = m.PriorityQueue(10, ["float32"], [[]])
        with m.control_dependencies([queue.enqueue((m.placeholder("int64", name="p"), 1.0))]):
            return queue.dequeue()
    assert assert_same(tf1, build, {"p:0": np.int64(3)}) is None
    assert assert_same(tf1, build, {"p:0": np.int64([3])}) == "InvalidArgumentError"


@pytest.mark.parametrize("parts, up_to", [(1, False), (3, False), (3, True)])
def test_a_batch_of_priorities_waits_until_all_of_it_is_there(parts, up_to):
    """The elements come one after the other, the least priority last, while the batch waits."""
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        queue = flowmill.PriorityQueue(20, ["int32"], [[]])
        priorities = np.arange(12, dtype=np.int64)[::-1].reshape(-1, parts)
        puts = [queue.enqueue_many((rows, rows.astype(np.int32))) for rows in priorities]
        batch = (queue.dequeue_up_to if up_to else queue.dequeue_many)(12)
        found = []
        waiting = threading.Thread(target=lambda: found.extend(session.run(batch)))
        waiting.start()
        for put in puts:
            session.run(put)
        waiting.join()
        assert [values.tolist() for values in found] == [list(range(12))] * 2


def test_a_batch_of_more_priorities_than_fit_takes_them_as_they_come():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        queue = flowmill.PriorityQueue(2, ["int32"], [[]])
        with flowmill.control_dependencies([queue.enqueue_many(([3, 2], [3, 2]))]):
            puts = [queue.enqueue_many(([1, 0], [1, 0]))]
        assert sorted(session.run([queue.dequeue_many(4), puts])[0][1]) == [0, 1, 2, 3]
