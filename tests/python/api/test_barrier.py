"""Barriers: components meet by their elements' keys. As TensorFlow's, through `raw_ops`."""

import re
import threading
import time

import numpy as np
import pytest

import flowmill


class Barrier:
    """A barrier of floats, built of `raw_ops`."""

    def __init__(self, tf, types=("float32", "float32"), shapes=((), ()), **more):
        self.tf, self.types = tf, list(types)
        self.handle = tf.raw_ops.Barrier(component_types=self.types, shapes=list(shapes), **more)

    def insert(self, component, keys, values):
        return self.tf.raw_ops.BarrierInsertMany(handle=self.handle, keys=keys, values=values, component_index=component)

    def take(self, count, **more):
        return list(self.tf.raw_ops.BarrierTakeMany(handle=self.handle, num_elements=count, component_types=self.types, **more))

    def close(self, cancel=False):
        return self.tf.raw_ops.BarrierClose(handle=self.handle, cancel_pending_enqueues=cancel)

    def sizes(self):
        return [self.tf.raw_ops.BarrierReadySize(handle=self.handle), self.tf.raw_ops.BarrierIncompleteSize(handle=self.handle)]


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if isinstance(value, str) else np.asarray(value).tolist()


def both(tf1, program):
    """What `program(tf, run)` gives in both; `run` gives values, or an error's class and message."""
    outcomes = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            def run(fetches, feeds=None, session=session, tf=tf):
                try:
                    return plain(session.run(fetches, feeds))
                except tf.errors.OpError as error:
                    return type(error).__name__, error.message
            outcomes.append(program(tf, run))
    theirs, ours = outcomes
    assert len(theirs) == len(ours)
    for their, our in zip(theirs, ours, strict=True):
        if isinstance(their, tuple):
            assert our[0] == their[0], (their, our)
            assert sentences(our[1])[0] in sentences(their[1]), (their, our)
        else:
            assert our == their
    return ours


def sentences(message):
    """An error's lines. TensorFlow numbers resources without a shared name."""
    return re.sub(r"_\d+_Barrier", "Barrier", message).splitlines()


def test_elements_are_ready_when_all_components_are_there(tf1):
    def program(tf, run):
        barrier = Barrier(tf, ("string", "int32"))
        inserts = [(0, ["k1", "k2"], ["a", "b"]), (1, ["k1"], [1]), (0, ["k3"], ["c"]), (1, ["k3"], [3]), (1, ["k2"], [2])]
        out = []
        for component, keys, values in inserts:
            run(barrier.insert(component, keys, values))
            out.append(run(barrier.sizes()))
        return [*out, run(barrier.take(2)), run(barrier.sizes()), run(barrier.take(0)), run(barrier.take(1)), run(barrier.sizes())]
    assert both(tf1, program)[5] == [[-(2**63)] * 2, [b"k1", b"k2"], [[b"a", b"b"], [1, 2]]]


def test_components_have_their_shapes(tf1):
    def program(tf, run):
        barrier = Barrier(tf, ("float32", "int64"), ((2,), (2, 1)))
        fed = tf.placeholder(tf.float32)
        return [
            run(barrier.insert(0, ["a", "b"], [[1.0, 2.0], [3.0, 4.0]])),
            run(barrier.insert(1, ["b", "a"], tf.constant([[[1], [2]], [[3], [4]]], tf.int64))),
            run(barrier.take(2)),
            run(barrier.insert(0, ["c"], [[1.0, 2.0, 3.0]])),
            run(barrier.insert(1, ["c"], tf.constant([[[1], [2]]], tf.int64))),
            run(barrier.insert(0, ["d"], fed), {fed: np.zeros([1, 0])}),
            run(barrier.insert(0, tf.zeros([0], tf.string), fed), {fed: np.zeros([0])}),
            run(barrier.sizes()),
        ]
    both(tf1, program)


def test_a_key_has_each_component_once(tf1):
    def program(tf, run):
        barrier = Barrier(tf)
        return [
            run(barrier.insert(0, ["a"], [1.0])),
            run(barrier.insert(0, ["b", "a"], [1.0, 2.0])),
            run(barrier.sizes()),
            run(barrier.insert(1, ["a"], [3.0])),
            run(barrier.take(1)),
            run(barrier.insert(0, ["a"], [4.0])),
            run(barrier.sizes()),
        ]
    both(tf1, program)


def test_a_closed_barrier_takes_components_of_known_keys_only(tf1):
    def program(tf, run):
        barrier = Barrier(tf)
        return [
            run(barrier.insert(0, ["a", "b"], [1.0, 2.0])),
            run(barrier.close()),
            run(barrier.insert(0, ["c"], [1.0])),
            run(barrier.insert(1, ["a"], [3.0])),
            run(barrier.take(3)),
            run(barrier.take(3, allow_small_batch=True)),
            run(barrier.take(1, allow_small_batch=True)),
            run(barrier.close()),
            run(barrier.insert(1, ["b"], [4.0])),
            run(barrier.take(1)),
            run(barrier.take(1)),
            run(barrier.insert(1, ["b"], [4.0])),
        ]
    both(tf1, program)


def test_a_close_that_cancels_forgets_what_is_incomplete(tf1):
    def program(tf, run):
        barrier = Barrier(tf)
        return [
            run(barrier.insert(0, ["a", "b"], [1.0, 2.0])),
            run(barrier.insert(1, ["b"], [2.0])),
            run(barrier.close()),
            run(barrier.close(True)),
            run(barrier.sizes()),
            run(barrier.insert(1, ["a"], [4.0])),
            run(barrier.close(True)),
            run(barrier.take(1)),
            run(barrier.take(1)),
        ]
    both(tf1, program)


@pytest.mark.parametrize("of", [
    lambda tf: Barrier(tf, ("float32",), ()).handle,
    lambda tf: Barrier(tf, capacity=3).handle,
    lambda tf: Barrier(tf).insert(2, ["a"], [1.0]),
    lambda tf: Barrier(tf).insert(0, ["a"], [1]),
    lambda tf: Barrier(tf).take([1, 2]),
    lambda tf: Barrier(tf).take(1, timeout_ms=10),
    lambda tf: tf.raw_ops.BarrierTakeMany(handle=Barrier(tf).handle, num_elements=1, component_types=["float32"]).keys,
])
def test_wrong_arguments(tf1, of):
    assert isinstance(both(tf1, lambda tf, run: [run(of(tf))])[0], tuple)


def test_a_shared_barrier_has_one_type(tf1):
    def program(tf, run):
        a = Barrier(tf, ("float32",), ((),), shared_name="q")
        others = [Barrier(tf, ("int32",), ((),), shared_name="q"), Barrier(tf, ("float32",), ((2,),), shared_name="q")]
        same = Barrier(tf, ("float32",), ((),), shared_name="q")
        return [run(a.insert(0, ["a"], [1.0])), *(run(other.handle.op) for other in others), run(same.take(1))]
    both(tf1, program)


def waiting(session, fetches, tf):
    """A thread that runs `fetches`, and the list for what it finds."""
    found = []

    def run():
        try:
            found.append(plain(session.run(fetches)))
        except tf.errors.OpError as error:
            found.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.2)
    assert not found
    return thread, found


def test_takers_wait(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            barrier = Barrier(tf)
            inserts = [barrier.insert(0, ["a", "b", "c"], [1.0, 2.0, 3.0]), barrier.insert(1, ["c"], [6.0]), barrier.insert(1, ["a", "b"], [4.0, 5.0])]
            thread, found = waiting(session, barrier.take(2), tf)
            for insert in inserts:
                session.run(insert)
            thread.join(30)
            # "c" was ready when nothing else was; "a" came first of the others.
            assert found == [[[-(2**63)] * 2, [b"c", b"a"], [[3.0, 1.0], [6.0, 4.0]]]]


def test_a_waiting_taker_ends_with_the_barrier_or_its_step(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            barrier = Barrier(tf)
            take, insert = barrier.take(2), [barrier.insert(0, ["a"], [1.0]), barrier.insert(1, ["a"], [2.0])]
            close, sizes = barrier.close(), barrier.sizes()
            for op in insert:
                session.run(op)
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(take, options=tf.RunOptions(timeout_in_ms=200))
            assert session.run(sizes) == [1, 0], "a step that ends puts back what it has"
            thread, found = waiting(session, take, tf)
            session.run(close)
            thread.join(30)
            assert isinstance(found[0], tf.errors.OutOfRangeError)
            assert "is closed and has insufficient elements (requested 2, current size 1)" in found[0].message
