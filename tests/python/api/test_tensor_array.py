"""Arrays of tensors: the same nodes as TensorFlow, the same values and errors."""

import numpy as np
import pytest
from compare import compare, same_error

import flowmill

X = np.arange(6, dtype=np.float32).reshape(3, 2)


def placeholder(tf, name="x", dtype="float32", shape=(3, 2)):
    return tf.raw_ops.Placeholder(dtype=tf.as_dtype(dtype), shape=None if shape is None else list(shape), name=name)


def array(tf, **options):
    return tf.TensorArray(tf.float32, **{"size": 3, "clear_after_read": False, **options})


def repeated(tf, x):
    _, out = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x[i] * 2.0)), [0, array(tf)])
    return out.stack()


PROGRAMS = {
    "write, read": lambda tf, x: array(tf).write(0, x).write(2, x + 1.0).read(2),
    "names": lambda tf, x: array(tf, name="store", tensor_array_name="one").write(0, x, name="put").read(0, name="get"),
    "stack": lambda tf, x: array(tf).write(0, x).write(1, x).write(2, x).stack(),
    "unstack, gather": lambda tf, x: array(tf).unstack(x).gather([2, 0], name="some"),
    "unstack, read": lambda tf, x: [array(tf, size=0, dynamic_size=True).unstack(x).read(i) for i in range(3)],
    "scatter, stack": lambda tf, x: array(tf).scatter([2, 0, 1], x, name="put").stack(name="all"),
    "split, concat": lambda tf, x: array(tf, size=2, infer_shape=False).split(x, [1, 2]).concat(),
    "split evenly, concat": lambda tf, x: array(tf).split(x, [1, 1, 1]).concat(name="all"),
    "sizes": lambda tf, x: [array(tf).size(), array(tf, dynamic_size=True).write(4, x).size()],
    "identity": lambda tf, x: array(tf).write(1, x).identity().read(1),
    "element shape": lambda tf, x: array(tf, element_shape=tf.TensorShape([None, 2])).write(0, x).read(0),
    "no colocation": lambda tf, x: array(tf, colocate_with_first_write_call=False).unstack(x).stack(),
    "integers": lambda tf, x: tf.TensorArray("int64", 2).unstack([[1, 2], [3, 4]]).stack() if tf is flowmill else tf.TensorArray("int64", 2).unstack(
        [[1, 2], [3, 4]]).stack(),
    "in a loop": repeated,
    "in a cond": lambda tf, x: (lambda a: tf.cond(x[0, 0] < 1.0, lambda: a.write(0, x), lambda: a.write(0, -x)))(array(tf)).read(0),
    "gradient array": lambda tf, x: array(tf).unstack(x).grad("mine").write(1, x[0]).read(1),
}

FRAMES_ONLY = {
    "gradient array": "lists have no gradient arrays",
    "split, concat": "more is known of the shape than in TensorFlow",
}


@pytest.mark.parametrize("shape", [(3, 2), (None, 2)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(tf1, control_flow, program, shape):
    if control_flow == "functions" and program in FRAMES_ONLY:
        pytest.skip(FRAMES_ONLY[program])
    compare(tf1, lambda tf: PROGRAMS[program](tf, placeholder(tf, shape=shape)), {"x": X}, ordered=False)


@pytest.mark.usefixtures("control_flow")
def test_closing(tf1):
    def build(tf):
        a = array(tf).unstack(placeholder(tf))
        value = a.stack()
        with tf.get_default_graph().control_dependencies([value]):
            closed = a.close()
        with tf.get_default_graph().control_dependencies([closed]):
            return tf.constant(1)
    compare(tf1, build, {"x": X}, ordered=False)


GRADIENTS = {
    "stack": lambda tf, x: array(tf).unstack(x).stack(),
    "reads": lambda tf, x: (lambda a: a.read(0) * a.read(2))(array(tf).unstack(x)),
    "writes": lambda tf, x: array(tf).write(0, x[0]).write(1, x[1] * x[2]).write(2, x[0]).stack(),
    "split, concat": lambda tf, x: array(tf, size=2, infer_shape=False).split(x * x, [1, 2]).concat(),
    "gather, scatter": lambda tf, x: array(tf).scatter([1, 0, 2], x).gather([0, 0, 2]) * x,
    "in a loop": repeated,
}


@pytest.mark.parametrize("program", GRADIENTS)
@pytest.mark.usefixtures("control_flow")
def test_gradients(tf1, program):
    def build(tf):
        x = placeholder(tf)
        y = GRADIENTS[program](tf, x)
        return tf.gradients(y * y, x)
    compare(tf1, build, {"x": X}, nodes=False)  # gradients name their nodes otherwise


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.TensorArray(tf.float32), "must be provided if handle is not provided."),
    (lambda tf: tf.TensorArray(tf.float32, handle=1), "Expected `handle` to be a Tensor"),
    (lambda tf: tf.TensorArray(tf.float32, handle=tf.constant("a"), size=1), "Cannot provide both"),
    (lambda tf: tf.TensorArray(tf.float32, handle=tf.constant("a"), tensor_array_name="a"), "Cannot provide both `handle` and `tensor_array_name`"),
    (lambda tf: tf.TensorArray(tf.float32, handle=tf.constant("a"), element_shape=[1]), "Cannot provide both `handle` and `element_shape`"),
    (lambda tf: tf.TensorArray(tf.float32, handle=tf.constant("a"), dynamic_size=True), "Cannot provide both `handle` and `dynamic_size`"),
    (lambda tf: array(tf).write(0, [1.0]).write(1, [1.0, 2.0]), "Inconsistent shapes: saw (2,) but expected (1,)"),
    (lambda tf: array(tf, element_shape=[2]).unstack([[1.0]]), "Inconsistent shapes: saw (1,) but expected (2,)"),
])
def test_errors(tf1, build, match):
    same_error(tf1, build, match)


def test_reading_twice_what_is_cleared_fails():
    with flowmill.Graph().as_default() as graph:
        a = flowmill.TensorArray(flowmill.float32, 2).unstack([1.0, 2.0])
        first = a.read(0)
        with graph.control_dependencies([first]):
            second = a.read(0)
        with flowmill.Session(graph=graph) as session, pytest.raises(flowmill.errors.InvalidArgumentError, match="it was cleared after a previous read"):
            session.run(second)
