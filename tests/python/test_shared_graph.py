"""Threads that build, change, export, differentiate and run one graph: none waits for another that waits for it."""

import subprocess
import sys

PROGRAM = """
import faulthandler, sys, threading
faulthandler.dump_traceback_later(60, exit=True)
import numpy as np
import flowmill as tf

graph = tf.get_default_graph()
x = tf.placeholder(tf.float32, [4, 4])
y = x
for _ in range(20):
    y = tf.sin(y) * 2.0
image = tf.reshape(x, [1, 2, 2, 4])
unknown = tf.reduce_sum(tf.raw_ops.LRNGrad(input_grads=image, input_image=image, output_image=image)) + tf.reduce_sum(y)
called = tf.py_func(lambda a: a + 1.0, [x], tf.float32)
bad_def = graph.as_graph_def()
bad_def.node[0].op = "NoSuchOp"
session = tf.Session()
value = np.ones((4, 4), np.float32)
done, counts, failures = threading.Event(), {}, []


def failing(kinds, function):
    try:
        function()
    except kinds:
        return
    raise AssertionError("no error")


def build(i):
    failing(ValueError, lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])))


def differentiate(i):
    failing(LookupError, lambda: tf.gradients(unknown, [x]))
    assert len(tf.gradients(y, [x])) == 1


def change(i):
    op = tf.identity(x).op
    op._set_attr("_mark", tf.AttrValue(i=i))
    failing(ValueError, lambda: op.get_attr("absent"))
    op._set_device("/device:CPU:0")
    failing(Exception, lambda: graph._core.set_attr(10**8, "a", b""))
    failing(Exception, lambda: graph._core.update_input(op._id, 7, x._key))
    failing(Exception, lambda: graph._core.set_device(10**8, ""))


def export(i):
    assert graph.as_graph_def().node
    failing(Exception, lambda: tf.import_graph_def(bad_def, name="bad"))


def run():
    step = session.make_callable([y, called], [x])
    while not done.is_set():
        step(value)


def prepare():
    while not done.is_set():
        session.run(tf.reduce_sum(y) + 1.0, {x: value})


def guarded(function):
    def work():
        try:
            with graph.as_default():
                function()
        except BaseException as error:
            failures.append(error)
            raise
    return threading.Thread(target=work)


def repeated(function, times):
    return guarded(lambda: [function(i) for i in range(times)])


writers = [repeated(build, 150), repeated(build, 150), repeated(differentiate, 5), repeated(change, 30), repeated(export, 10)]
runners = [guarded(run), guarded(run), guarded(prepare)]
for thread in writers + runners:
    thread.start()
for thread in writers:
    thread.join()
done.set()
for thread in runners:
    thread.join()
assert not failures
print("done")
"""


def test_no_thread_waits_for_another_that_waits_for_it():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
