"""A program ends with its own status, whatever its daemon threads do in steps."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time
import numpy as np
import flowmill as tf

VALUE = np.ones((64, 64), np.float32)
x = tf.placeholder(tf.float32, [64, 64])
started = threading.Semaphore(0)


def generate():
    while True:
        yield VALUE


def failing(a):
    raise ValueError("always")


def slow(a):
    time.sleep(0.001)
    return a


class Loud(np.ndarray):
    def __array_finalize__(self, other):
        sum(range(100))


KINDS = {
    "py_func": lambda: tf.py_func(lambda a: a + 1, [x], tf.float32),
    "failing": lambda: tf.py_func(failing, [x], tf.float32),
    "sleeping": lambda: tf.py_func(slow, [x], tf.float32),
    "subclass": lambda: tf.py_func(lambda a: a.view(Loud) + 1, [x], tf.float32),
    "py_function": lambda: tf.py_function(lambda a: tf.square(a), [x], tf.float32),
    "generator": lambda: tf.data.make_one_shot_iterator(tf.data.Dataset.from_generator(generate, tf.float32, [64, 64])).get_next(),
    "kernel": lambda: tf.matmul(x, x),
    "cheap": lambda: x + 1,
    "waiting": lambda: tf.FIFOQueue(1, [tf.float32], [[]]).dequeue(),
    "refused": lambda: x[:1],
}


def work():
    fed = VALUE[:1] if kind == "refused" else VALUE
    while True:
        try:
            started.release()
            session.run(fetched, {x: fed})
        except (tf.errors.OpError, ValueError):
            pass


kind = sys.argv[1]
fetched = KINDS[kind]()
session = tf.Session()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
for _ in range(4 if kind == "waiting" else 40):
    started.acquire()
print("last line")
sys.exit(7)
"""

KINDS = ["py_func", "failing", "sleeping", "subclass", "py_function", "generator", "kernel", "cheap", "waiting", "refused"]
PROGRAMS_AT_ONCE = 5


@pytest.mark.parametrize("kind", KINDS)
def test_daemon_threads_do_not_change_the_status(kind):
    programs = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(PROGRAMS_AT_ONCE)
    ]
    ended = [(*program.communicate(timeout=60), program.returncode) for program in programs]
    assert ended == [("last line\n", "", 7)] * PROGRAMS_AT_ONCE


STEP_AFTER_THE_EXIT_FUNCTIONS = """
import atexit, sys, threading

functions, register = [], atexit.register
atexit.register = lambda f, *args, **kwargs: functions.append(f) or register(f, *args, **kwargs)
import flowmill as tf

called = threading.Event()
y = tf.py_func(lambda: called.set() or 1.0, [], tf.float64)
session = tf.Session()
session.run(y)
called.clear()
for f in functions:
    f()
threading.Thread(target=session.run, args=(y,), daemon=True).start()
was_called = called.wait(0.2)
print("last line")
sys.exit(8 if was_called else 7)
"""


def test_a_step_that_begins_at_the_end_of_the_interpreter_does_not_keep_it():
    program = [sys.executable, "-c", STEP_AFTER_THE_EXIT_FUNCTIONS]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("last line\n", "", 7)
