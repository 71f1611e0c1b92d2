"""Queues, against TensorFlow's."""

import threading

import numpy as np
import pytest
from compare import _described, compare, same, same_error

import flowmill


def plain(tf):
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], [2]])
    assert queue.name == "fifo_queue" and queue.dtypes == [tf.int32, tf.float32] and [s.as_list() for s in queue.shapes] == [[], [2]]
    puts = [queue.enqueue([1, [1.0, 2.0]]), queue.enqueue_many([[2, 3], [[3.0, 4.0], [5.0, 6.0]]])]
    return puts, [queue.size(), queue.dequeue(), queue.dequeue_many(2)]


def one_component(tf):
    queue = tf.FIFOQueue(10, tf.int32)
    return [queue.enqueue(1), queue.enqueue((tf.constant([2, 3]),))], [queue.dequeue(name="first"), queue.dequeue(), queue.size(name="left")]


def with_names(tf):
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], names=["a", "b"], shapes=[[], []], shared_name="shared", name="q")
    puts = [queue.enqueue({"a": 1, "b": 2.0}), queue.enqueue_many({"a": [2], "b": [3.0]}, name="many")]
    return puts, [queue.dequeue()["b"], queue.dequeue_many(1)["a"]]


def up_to(tf):
    queue = tf.queue.FIFOQueue(10, [tf.int32], shapes=[[]])
    return [queue.enqueue_many([[1, 2, 3]]), queue.close()], [queue.dequeue_up_to(2), queue.dequeue_up_to(2), queue.is_closed()]


def chosen(tf):
    queues = [tf.FIFOQueue(10, [tf.int32], shapes=[[]]) for _ in range(2)]
    return [queues[1].enqueue(5)], [tf.QueueBase.from_list(tf.constant(1), queues).dequeue()]


def test_a_shared_queue_has_the_seeds_that_are_requested(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            queues = [tf.RandomShuffleQueue(10, 5, tf.float32, seed=seed, shared_name="q") for seed in (12, 21, None)]
            session.run(queues[0].size())
            with pytest.raises(tf.errors.InvalidArgumentError, match="random seeds"):
                session.run(queues[1].size())
            session.run(queues[2].size())


@pytest.mark.parametrize("build", [plain, one_component, with_names, up_to, chosen])
def test_queues_give_what_was_put_in(tf1, build):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            puts, takes = build(tf)
            for put in puts:
                sess.run(put)
            shapes = [str(t.get_shape()) for take in takes for t in (take if isinstance(take, list) else [take])]
            found.append((_described(graph), shapes, [sess.run(take) for take in takes]))
    assert found[1][:2] == found[0][:2]
    for mine, other in zip(found[1][2], found[0][2]):
        for a, b in zip(mine, other) if isinstance(other, list) else [(mine, other)]:
            same(a, b)


def test_queues_of_other_kinds(tf1):
    def padding(tf):
        queue = tf.PaddingFIFOQueue(10, [tf.int32], [[None]])
        put = [queue.enqueue([[1]]), queue.enqueue([[2, 3]])]
        with tf.control_dependencies(put):
            return queue.dequeue_many(2)

    def priority(tf):
        queue = tf.PriorityQueue(10, [tf.int32], [[]])
        with tf.control_dependencies([queue.enqueue_many([tf.constant([2, 1], tf.int64), [20, 10]])]):
            return queue.dequeue()

    compare(tf1, priority)
    with flowmill.Graph().as_default() as ours:
        tensor = padding(flowmill)
        assert str(tensor.shape) == "(2, ?)"
    with tf1.Graph().as_default() as theirs:
        padding(tf1)
    assert _described(ours) == _described(theirs)


def test_shuffled_elements_are_all_there():
    with flowmill.Graph().as_default(), flowmill.Session() as sess:
        queue = flowmill.RandomShuffleQueue(100, 0, flowmill.int32, [[]], seed=1)
        sess.run(queue.enqueue_many([list(range(50))]))
        found = sess.run(queue.dequeue_many(50)).tolist()
        assert sorted(found) == list(range(50)) != found
        assert queue.queue_ref.op.get_attr("seed2") == 1
    for tf_seed, wanted in ((None, (0, 0)), (7, (7, 0))):
        with flowmill.Graph().as_default():
            flowmill.set_random_seed(tf_seed)
            op = flowmill.RandomShuffleQueue(100, 0, flowmill.int32).queue_ref.op
            assert (op.get_attr("seed"), op.get_attr("seed2")) == wanted


def test_steps_wait_for_each_other():
    with flowmill.Graph().as_default(), flowmill.Session() as sess:
        queue = flowmill.FIFOQueue(1, flowmill.int32, [[]])
        value = flowmill.placeholder(flowmill.int32, [])
        put, take = queue.enqueue(value), queue.dequeue()
        found = []
        consumer = threading.Thread(target=lambda: found.extend(sess.run(take) for _ in range(5)))
        consumer.start()
        for i in range(5):
            sess.run(put, {value: i})
        consumer.join(20)
        assert found == [0, 1, 2, 3, 4]
        sess.run(queue.close())
        with pytest.raises(flowmill.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            sess.run(take)
        with pytest.raises(flowmill.errors.CancelledError):
            sess.run(put, {value: 1})


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[2]]).enqueue([1]), "Shapes () and (2,) are incompatible"),
    (lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[2], [3]]), "Queue shapes must have the same length as dtypes"),
    (lambda tf: tf.FIFOQueue(10, [tf.int32], names=["a", "b"]), "List of names must have the same length"),
    (lambda tf: tf.FIFOQueue(10, [tf.int32], names=["a"]).enqueue([1]), "You must enqueue a dictionary in a Queue with names"),
    (lambda tf: tf.FIFOQueue(10, [tf.int32]).enqueue({"a": 1}), "Queue must have names to enqueue a dictionary"),
    (lambda tf: tf.FIFOQueue(10, [tf.int32], names=["a"]).enqueue({"b": 1}), "Keys in dictionary to enqueue do not match names of Queue."),
    (lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[]]).enqueue_many(1), "must have rank at least 1"),
    (lambda tf: tf.QueueBase.from_list(0, [1]), "A list of queues expected"),
])
def test_wrong_arguments(tf1, build, match):
    same_error(tf1, build, match)


def test_the_number_of_elements_may_be_a_tensor():
    with flowmill.Graph().as_default(), flowmill.Session() as sess:
        queue = flowmill.FIFOQueue(10, [flowmill.int32], shapes=[[]])
        n = flowmill.placeholder(flowmill.int32, [])
        sess.run(queue.enqueue_many([[1, 2, 3]]))
        assert queue.dequeue_many(n).shape.as_list() == [None]
        assert queue.dequeue_many(flowmill.constant(3)).shape.as_list() == [3]
        np.testing.assert_array_equal(sess.run(queue.dequeue_many(n), {n: 2}), [1, 2])


def test_closed_queues_of_the_first_version(tf1):
    def build(tf):
        queue = tf.raw_ops.FIFOQueue(component_types=[tf.int32])
        before = tf.raw_ops.QueueIsClosed(handle=queue)
        with tf.control_dependencies([before]):
            close = tf.raw_ops.QueueClose(handle=queue)
        with tf.control_dependencies([close]):
            return before, tf.raw_ops.QueueIsClosed(handle=queue)
    compare(tf1, build)
