"""Other Python threads run while a step does."""

import sys
import threading
import time

import numpy as np

import flowmill as tf
from nodes import const, counting_loop, graph, placeholder


def test_a_step_releases_the_gil():
    g = graph(const("start", 0, np.int32), placeholder("limit", tf.int32, []), *counting_loop())
    with tf.Session(graph=g, config=tf.SessionOptions(intra_op_threads=1, inter_op_threads=1)) as sess:
        running, counts = threading.Event(), []

        def step():
            running.set()
            try:
                sess.run("loop/exit:0", {"limit:0": 2**31 - 1}, options=tf.RunOptions(timeout_in_ms=1000))
            except tf.errors.DeadlineExceededError:
                counts.append(time.monotonic())

        thread = threading.Thread(target=step)
        # A thread that waited for the GIL to be taken from the step would get none of these steps done before it ends.
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-3)
        try:
            thread.start()
            running.wait()
            ticks = []
            while thread.is_alive():
                ticks.append(time.monotonic())
                time.sleep(0.01)
        finally:
            sys.setswitchinterval(before)
        thread.join()
    assert len(counts) == 1
    in_step = [t for t in ticks if t < counts[0]]
    assert len(in_step) > 20
