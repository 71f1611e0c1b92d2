"""Queues that pad and that sort, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same


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
