"""A process that is forked has none of its parent's threads, and computes all the same."""

import subprocess
import sys

import pytest

LIMIT = 60

# What a process uses is used again in a process that it forks.
PROGRAM = """
import os, sys, threading
import numpy as np
import flowmill as tf

def threads():
    return {t: open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")}

before = set(threads())

def constants():
    big = np.ones((1000, 1000), np.float32)
    for build in (lambda: tf.ones([1500, 1000]) * 0.1, lambda: tf.exp(tf.constant(big)), lambda: tf.transpose(tf.constant(big)),
                  lambda: tf.cast(tf.constant(big.astype("i4")), tf.float32), lambda: tf.reduce_sum(tf.constant(big), 0),
                  lambda: tf.matmul(tf.constant(big[:300]), tf.constant(big)), lambda: tf.one_hot(tf.constant(np.arange(1000) % 10), 1000)):
        with tf.Graph().as_default():
            result = tf.reduce_sum(build())
            with tf.Session() as sess:
                sess.run(result)

graph = tf.Graph()
with graph.as_default():
    x = tf.placeholder(tf.float32, [300, 300])
    many = tf.add_n([tf.matmul(x, x * float(k)) for k in range(6)])
    loop = tf.while_loop(lambda i, a: i < 10, lambda i, a: (i + 1, tf.matmul(a, a) * 1e-3), [tf.constant(0), x])[1]
    python = tf.py_func(lambda a: a.sum(), [x], tf.float32)
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[300, 300]])
    dequeued, enqueue = tf.matmul(queue.dequeue(), x), queue.enqueue(x)
config = tf.ConfigProto(inter_op_parallelism_threads=2, intra_op_parallelism_threads=2)
sess = tf.Session(graph=graph, config=config)
value = np.ones((300, 300), "f")

def steps(sess):
    for fetch in (many, loop, python):
        sess.run(fetch, {x: value})
    # A step whose kernel ends on another step's thread, and one that its deadline ends.
    waits = threading.Thread(target=lambda: sess.run(dequeued, {x: value}))
    waits.start()
    sess.run(enqueue, {x: value})
    waits.join()
    try:
        sess.run(dequeued, {x: value}, options=tf.RunOptions(timeout_in_ms=20))
    except tf.errors.DeadlineExceededError:
        pass

def everything():
    constants()
    steps(sess)
    steps(tf.Session(graph=graph, config=config))

def in_child(f):
    pid = os.fork()
    if pid == 0:
        try:
            f()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1]

kind = sys.argv[1]
if kind == "names":
    everything()
    print(sorted({name.split("-")[0] for t, name in threads().items() if t not in before}))
elif kind == "twice":
    everything()
    print(in_child(everything))
elif kind == "grandchild":
    everything()
    print(in_child(lambda: (everything(), os._exit(in_child(everything)))))
elif kind == "waiting":
    steps(sess)
    # Threads of Python and of the pool wait while the process forks; what waits in a child must not know them.
    waiting = [threading.Thread(target=lambda: sess.run(dequeued, {x: value})) for _ in range(8)]
    for thread in waiting:
        thread.start()
    print(max(in_child(lambda: steps(tf.Session(graph=graph, config=config))) for _ in range(10)))
    for _ in waiting:
        sess.run(enqueue, {x: value})
    for thread in waiting:
        thread.join()
elif kind == "feeds":
    # Threads of the pool drop fed arrays while the process forks. Each child first drops what Python kept for its parent's other threads.
    with tf.Graph().as_default() as fed:
        xs = [tf.placeholder(tf.float32, [100, 100]) for _ in range(8)]
        ys = [x[0, 0] + 1.0 for x in xs]
    own, stop, array = tf.Session(graph=fed, config=config), threading.Event(), np.ones((100, 100), "f")
    def feed():
        with tf.Graph().as_default():
            tf.constant(1)
        while not stop.is_set():
            own.run(ys, {x: array for x in xs})
    feeding = [threading.Thread(target=feed) for _ in range(3)]
    for thread in feeding:
        thread.start()
    print(max(in_child(lambda: None) for _ in range(300)))
    stop.set()
    for thread in feeding:
        thread.join()
elif kind == "pool":
    steps(sess)
    def child():
        steps(sess)
        # Its own pool, of the same size.
        assert sum(name.startswith("flowmill-") and name[9:].isdigit() for name in threads().values()) == 2
    print(in_child(child))
"""


def output(kind):
    try:
        done = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail("a process that was forked does not end")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the names of threads in /proc")
@pytest.mark.parametrize("kind, expected", [("names", "['flowmill']"), ("twice", "0"), ("grandchild", "0"), ("waiting", "0"), ("feeds", "0"), ("pool", "0")])
def test_no_thread_is_missing_after_a_fork(kind, expected):
    assert output(kind) == expected
