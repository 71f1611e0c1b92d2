"""Many threads add to one graph while a session runs it."""

import _thread
import operator
import threading
import time

import flowmill as tf

THREADS, OPS = 16, 625


def test_threads_add_to_one_graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], "x")
        y = x + 1.0
    before, done, sums, failures = len(graph.get_operations()), threading.Event(), [], []

    def add(number):
        try:
            with graph.as_default(), tf.name_scope("shared"):
                value = x
                for _ in range(OPS // 2):
                    value = value + 1.0
                sums.append(value)
        except Exception as error:  # shown by the assertion below
            failures.append(error)

    def run():
        try:
            with tf.Session(graph=graph) as session:
                while not done.is_set():
                    assert session.run(y, {x: 1.0}) == 2.0
        except Exception as error:  # the same
            failures.append(error)

    runner = threading.Thread(target=run)
    adders = [threading.Thread(target=add, args=(n,)) for n in range(THREADS)]
    for thread in (runner, *adders):
        thread.start()
    for thread in adders:
        thread.join()
    done.set()
    runner.join()
    assert not failures
    operations = graph.get_operations()
    # Each addition makes a constant and a sum.
    assert len(operations) - before == THREADS * (OPS // 2) * 2
    assert len({op.name for op in operations}) == len(operations)
    with tf.Session(graph=graph) as session:
        assert session.run(sums, {x: 0.5}) == [OPS // 2 + 0.5] * THREADS


def test_an_operator_is_all_that_a_thread_runs():
    """There is no frame of the program then."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, name="x")
    _thread.start_new_thread(operator.add, (x, 1.0))
    deadline = time.monotonic() + 30
    while len(graph.get_operations()) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [op.name for op in graph.get_operations()] == ["x", "add/y", "add"]
    assert graph.get_operation_by_name("add").traceback == []
