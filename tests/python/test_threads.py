"""One session, many threads."""

import threading

import numpy as np
import pytest

import flowmill as tf
from nodes import binary, const, counting_loop, graph, graph_def, node, placeholder


@pytest.mark.parametrize("options", [{}, {"strands": False, "loops": False, "inter_op_threads": 4}])
def test_steps_at_once(options):
    g = graph(
        const("start", 0, np.int32), placeholder("limit", tf.int32, []), *counting_loop(), placeholder("x", shape=[None]), binary("y", "Mul", "x", "x"))
    wrong = []

    def work(k):
        for i in range(100):
            x = np.arange(k + i % 7, dtype=np.float32)
            count, square = sess.run(["loop/exit:0", "y:0"], {"limit:0": i, "x:0": x})
            if count != i or not np.array_equal(square, x * x):
                wrong.append((k, i))
            if sess.run("y:0", {"x:0": [k]}) != [k * k]:
                wrong.append((k, i))

    with tf.Session(graph=g, config=tf.SessionOptions(**options)) as sess:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_a_graph_grows_while_steps_run():
    g = graph(const("c0", 0.0))
    wrong, stop = [], threading.Event()

    def run():
        while not stop.is_set():
            if sess.run("c0:0") != 0.0:
                wrong.append(0)

    with tf.Session(graph=g) as sess:
        threads = [threading.Thread(target=run) for _ in range(3)]
        for t in threads:
            t.start()
        for i in range(1, 50):
            with g.as_default():
                tf.import_graph_def(graph_def(const(f"c{i}", float(i))), name="")
            if sess.run(f"c{i}:0") != float(i):
                wrong.append(i)
        stop.set()
        for t in threads:
            t.join()
    assert not wrong


def test_racing_additions_to_a_variable():
    g = graph(
        node("v", "VarHandleOp", dtype=tf.int32, shape=tf.TensorShape([]), shared_name="v"), const("zero", 0, np.int32), const("one", 1, np.int32),
        node("init", "AssignVariableOp", "v", "zero", dtype=tf.int32), node("grow", "AssignAddVariableOp", "v", "one", dtype=tf.int32),
        node("read", "ReadVariableOp", "v", dtype=tf.int32))
    with tf.Session(graph=g) as sess:
        sess.run("init")
        threads = [threading.Thread(target=lambda: [sess.run("grow") for _ in range(200)]) for _ in range(5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert sess.run("read:0") == 1000


def test_default_graphs_are_a_threads_own():
    g, seen = tf.Graph(), []
    with g.as_default():
        thread = threading.Thread(target=lambda: seen.append(tf.get_default_graph()))
        thread.start()
        thread.join()
        assert tf.get_default_graph() is g
    assert seen[0] is not g
