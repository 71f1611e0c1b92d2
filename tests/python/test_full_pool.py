"""A step that waits for a thread of its pool ends at its deadline, by Ctrl-C and with its session, and does nothing afterwards."""

import subprocess
import sys

import pytest

# A step that hears of nothing would keep its process for ever.
LIMIT = 60

PROGRAM = """
import os, signal, sys, threading
import numpy as np
import flowmill as tf

# A shell that starts a job in the background has it ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
let_go, inside, ran = threading.Event(), threading.Semaphore(0), []
def wait():
    inside.release()
    let_go.wait()
    return np.float32(1)
waits = tf.py_func(wait, [], tf.float32)
x, other = tf.placeholder(tf.float32, [512, 512]), tf.placeholder(tf.float32, [])
y = tf.matmul(x, x) + tf.py_func(lambda: (ran.append(1), np.float32(0))[1], [], tf.float32) + other
value = np.ones((512, 512), "f")
config = tf.ConfigProto(inter_op_parallelism_threads=2, intra_op_parallelism_threads=2)
full, sess = tf.Session(config=config), tf.Session(config=config)
holders = [threading.Thread(target=lambda: full.run(waits), daemon=True) for _ in range(2)]
[h.start() for h in holders]
[inside.acquire() for _ in holders]

def expect(error, f):
    try:
        f()
    except error:
        return
    raise AssertionError(f"{error} is missing")

def run(**options):
    sess.run(y, {x: value, other: 1.0}, **options)

def soon(f):
    # Not before the step waits; it would notice at any time.
    timer = threading.Timer(0.2, f)
    timer.start()

callable_ = sess.make_callable(y, [x, other], accept_options=True)
late = tf.RunOptions(timeout_in_ms=50)
how = sys.argv[1]
if how == "deadline":
    expect(tf.errors.DeadlineExceededError, lambda: run(options=late))
    expect(tf.errors.DeadlineExceededError, lambda: callable_(value, 1.0, options=late))
elif how == "session's deadline":
    config.operation_timeout_in_ms = 50
    sess = tf.Session(config=config)
    expect(tf.errors.DeadlineExceededError, run)
    handle = sess.partial_run_setup([y], [x, other])
    expect(tf.errors.DeadlineExceededError, lambda: sess.partial_run(handle, y, {x: value, other: 1.0}))
elif how == "signal":
    # Wherever the interrupt finds the thread once the timer runs, on a slow machine, it is expected.
    interrupt = lambda: soon(lambda: os.kill(os.getpid(), signal.SIGINT))
    expect(KeyboardInterrupt, lambda: (interrupt(), run()))
    expect(KeyboardInterrupt, lambda: (interrupt(), callable_(value, 1.0)))
elif how == "close":
    soon(sess.close)
    expect(tf.errors.CancelledError, run)
elif how == "close, another thread":
    ended = []
    thread = threading.Thread(target=lambda: (expect(tf.errors.CancelledError, run), ended.append(1)))
    thread.start()
    soon(sess.close)
    thread.join()
    assert ended
let_go.set()
[h.join() for h in holders]
# The pool's threads are free again: they would run what they still had to.
tf.Session(config=config).run(tf.matmul(x, x), {x: value})
assert not ran
print("ended")
"""


@pytest.mark.parametrize("how", ["deadline", "session's deadline", "signal", "close", "close, another thread"])
def test_a_step_that_waits_for_a_thread_ends(how):
    try:
        done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail("the step does not end")
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
