"""Functions that wait for another node of their step hold no thread, so that the step ends with any number of threads."""

import os
import subprocess
import sys

import pytest

# A program ends within some seconds; a step that never ends would keep its process for ever.
LIMIT = 60

# In each step one value comes out of a queue in a function, and others go into it in another function.
PROGRAM = """
import sys
import numpy as np
module, threads, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if module == "flowmill":
    import flowmill as tf
    from flowmill.python.framework.function import Defun
else:
    import tensorflow.compat.v1 as tf
    from tensorflow.python.framework.function import Defun
    tf.disable_eager_execution()
tf.enable_control_flow_v2()

if how == "calls":
    config = tf.SessionOptions(lower=False, inter_op_threads=threads, intra_op_threads=threads)
else:
    level = {"L0": tf.OptimizerOptions.L0, "L1": tf.OptimizerOptions.L1}[how]
    options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=level))
    config = tf.ConfigProto(graph_options=options, inter_op_parallelism_threads=threads, intra_op_parallelism_threads=threads)

def queue():
    return tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="q")

@Defun(noinline=True)
def take():
    return queue().dequeue()

@Defun(tf.float32, noinline=True)
def put(x):
    with tf.control_dependencies([queue().enqueue(x)]):
        return tf.identity(x)

@Defun(noinline=True)
def take_deeper():
    return take() + 0.0

def taken():
    return tf.reshape(take(), [])

def put_three():
    return tf.add_n([put(tf.constant(float(k))) for k in (1, 2, 2)])

def first_take():
    value = take()
    return value, put(tf.constant(5.0))

def first_put():
    value = put(tf.constant(5.0))
    return take(), value

def nested():
    return take_deeper(), put(tf.constant(5.0))

def a_body():
    return tf.while_loop(lambda x: x < 5.0, lambda x: x + taken(), [tf.constant(0.0)]), put_three()

def a_condition():
    return tf.while_loop(lambda x: taken() < 3.0, lambda x: x + 1.0, [tf.constant(5.0)]), put(tf.constant(5.0))

def a_branch():
    x = tf.constant(5.0)
    return tf.cond(tf.placeholder_with_default(True, []), taken, lambda: x), put(x)

def a_case():
    x = tf.constant(5.0)
    return tf.switch_case(tf.placeholder_with_default(1, []), [lambda: x, taken]), put(x)

def a_python_function():
    # It blocks its thread, but not what it waits for: that is computed before.
    import threading
    event = threading.Event()
    waits = tf.py_func(lambda: (event.wait(30), np.float32(5))[1], [], tf.float32)
    if threads == 1:
        event.set()
    return waits, tf.py_func(lambda x: (event.set(), x)[1], [tf.constant(5.0)], tf.float32)

for build in [globals()[name] for name in sys.argv[4:]]:
    with tf.Graph().as_default():
        results = build()
        with tf.Session(config=config) as sess:
            for _ in range(3):
                values = [float(v) for v in sess.run(results)]
                assert values == [5.0, 5.0], (build, values)
    print(build.__name__, flush=True)
"""

STEPS = ["first_take", "first_put", "nested", "a_body", "a_condition", "a_branch", "a_case", "a_python_function"]


def names_of_ended_steps(*args):
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run([sys.executable, "-c", PROGRAM, *args], capture_output=True, text=True, timeout=LIMIT, env=env, check=False)
    except subprocess.TimeoutExpired as e:
        pytest.fail(f"a step does not end; before it: {(e.stdout or b'').decode()}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("threads", ["1", "2", "16"])
@pytest.mark.parametrize("how", ["L0", "L1", "calls"])
def test_a_function_waits_for_another_node_of_its_step(how, threads):
    assert names_of_ended_steps("flowmill", threads, how, *STEPS) == STEPS


def test_tensorflow_ends_too():
    assert names_of_ended_steps("tensorflow", "2", "L0", "first_take") == ["first_take"]
