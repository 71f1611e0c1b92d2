"""Operations, operators, slices, conversions, scopes: what any program is made of."""

import numpy as np
import pytest
from compare import compare, same_error

import flowmill


def placeholder(tf, name="x", dtype="float32", shape=(2, 3)):
    return tf.raw_ops.Placeholder(dtype=tf.as_dtype(dtype), shape=None if shape is None else list(shape), name=name)


X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


@pytest.mark.parametrize("operator", [
    lambda x, y: x + y, lambda x, y: x - 1.5, lambda x, y: 2 * x, lambda x, y: 1 - x, lambda x, y: x / 4, lambda x, y: 3.0 / (x + 7), lambda x, y: x // 2,
    lambda x, y: x % 2, lambda x, y: (x + 5) ** 2, lambda x, y: -x, lambda x, y: abs(x), lambda x, y: x < y, lambda x, y: x <= 0.0, lambda x, y: x > 1,
    lambda x, y: x >= y, lambda x, y: ~(x > 0.0), lambda x, y: (x > 0.0) & (y > 0.0), lambda x, y: (x > 0.0) | (y < 0.0), lambda x, y: (x > 0.0) ^ (y < 2.0),
    lambda x, y: x + [1, 2, 3], lambda x, y: np.float32([1, 2, 3]) * x, lambda x, y: [[1.0], [2.0]] - x, lambda x, y: x + [y[0, 0], 1.0, 2.0],
])
def test_operators(tf1, operator):
    compare(tf1, lambda tf: operator(placeholder(tf), placeholder(tf, "y")), {"x": X, "y": X[::-1] * 0.5})


@pytest.mark.parametrize("operator", [
    lambda x: x / 2, lambda x: x // 2, lambda x: x % 3, lambda x: x & 3, lambda x: x | 1, lambda x: x ^ 5, lambda x: ~x, lambda x: 7 - x, lambda x: x * x, lambda x: x < 2,
])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_operators_of_integers(tf1, operator, dtype):
    compare(tf1, lambda tf: operator(placeholder(tf, dtype=dtype)), {"x": np.arange(6).reshape(2, 3)})


@pytest.mark.parametrize("index", [
    lambda x: x[0], lambda x: x[-1, 1], lambda x: x[:, 1:], lambda x: x[..., 0], lambda x: x[None], lambda x: x[:, None, ::2], lambda x: x[::-1],
    lambda x: x[1, ..., None], lambda x: x[1:2, -2:], lambda x: x[:], lambda x: x[...], lambda x: x[:-1, ..., :2],
])
def test_slices(tf1, index):
    compare(tf1, lambda tf: index(placeholder(tf)), {"x": X})
    compare(tf1, lambda tf: index(placeholder(tf, shape=(None, 3))), {"x": X})


def test_slices_by_tensors(tf1):
    def build(tf):
        x, i = placeholder(tf), placeholder(tf, "i", "int32", ())
        return x[i], x[i:], x[0, i], x[:, i:2]
    compare(tf1, build, {"x": X, "i": 1})


@pytest.mark.parametrize("value", [
    1, 1.5, True, "a", b"a", 2**40, 1j, [1, 2], [1.5, 2], [[1], [2]], [True], ["a", "bc"], np.float64(1.5), np.arange(3), np.float32([1]), np.array(["a", "b"]),
    [np.float32(1), 2.0], (1, 2), [], [[]], np.int8([1]), np.array([2**40]),
])
def test_constants(tf1, value):
    compare(tf1, lambda tf: tf.constant(value))


def test_constants_with_types_and_shapes(tf1):
    compare(tf1, lambda tf: [tf.constant(1, tf.float64), tf.constant([1, 2], "int64", [2, 1]), tf.constant(0.0, shape=[2, 3]), tf.constant(np.arange(3), tf.float32)])
    compare(tf1, lambda tf: tf.convert_to_tensor([tf.constant(1.0), 2.0, [3.0][0]]))
    compare(tf1, lambda tf: tf.convert_to_tensor([[tf.constant(1), 2], [3, 4]], name="packed_too"))


def test_what_cannot_be_a_constant(tf1):
    same_error(tf1, lambda tf: tf.constant(1.5, tf.int32))
    same_error(tf1, lambda tf: tf.constant(None))
    same_error(tf1, lambda tf: tf.constant([[1, 2], [3]]))
    same_error(tf1, lambda tf: tf.constant("a", tf.float32))
    same_error(tf1, lambda tf: tf.constant(tf.float32))


def test_types_that_do_not_match(tf1):
    same_error(tf1, lambda tf: tf.constant(1.0) + tf.constant(1), "type int32 that does not match type float32 of argument 'x'")
    same_error(tf1, lambda tf: tf.constant([1.0, 2.0]) + tf.constant([1.0, 2.0, 3.0]), "Dimensions must be equal, but are 2 and 3")
    same_error(tf1, lambda tf: tf.raw_ops.MatMul(a=[[True]], b=[[True]]))


@pytest.mark.usefixtures("control_flow")
def test_gradients_and_conditionals(tf1):
    def build(tf):
        x = placeholder(tf)
        y = tf.cond(x[0, 0] > 0.0, lambda: x * 2.0, lambda: x * x)
        return [y, *tf.gradients(y, x)]
    compare(tf1, build, {"x": X}, nodes=False)
    compare(tf1, build, {"x": -X}, nodes=False)


def test_scopes(tf1):
    def build(tf):
        graph = tf.get_default_graph()
        with graph.name_scope("a") as scope:
            x = tf.constant(1.0, name="x")
            with graph.name_scope("b"):
                y = x + 1.0
        with graph.name_scope("a"):
            z = y * 2.0
        with graph.name_scope(scope):
            w = z - 1.0
        with graph.device("/job:worker"), graph.device("/gpu:1"), graph.control_dependencies([w, x]):
            v = tf.constant(2.0)
            u = v + w
        with graph.colocate_with(x):
            t = u + 1.0
        return x, y, z, w, v, u, t
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            build(tf)
            graph = graph.as_graph_def()
        described = [(n.name, n.op, list(n.input), n.device, [bytes(s) for s in n.attr["_class"].list.s]) for n in graph.node]
        if tf is tf1:
            expected = described
    assert described == expected


def test_operations_know_the_line_that_made_them():
    with flowmill.Graph().as_default():
        x = flowmill.constant(1.0) + 2.0
    file, _, function, text = x.op.traceback[-1]
    assert (file, function) == (__file__, "test_operations_know_the_line_that_made_them") and "flowmill.constant(1.0) + 2.0" in text
    # The constant that was made along with it was made there too.
    assert x.op.inputs[1].op.type == "Const" and x.op.inputs[1].op.traceback == x.op.traceback


def test_constants_made_along_have_the_surroundings_of_what_takes_them(tf1):
    def build(tf):
        x = placeholder(tf)
        asked = []
        graph = tf.get_default_graph()
        with graph.device(lambda op: asked.append((op.name, op.type)) or ("/cpu:1" if op.type == "Const" else "/cpu:0")):
            y = tf.reduce_sum(x * 2.0, [0])
            tf.random_uniform([2], 1.0, 2.0)
        with graph.gradient_override_map({"Mul": "Mine"}), graph.control_dependencies([y]):
            tf.multiply(3.0, x)
        assert asked == [(op.name, op.type) for op in graph.get_operations() if op.device]
        return asked, [(op.name, op.device, [c.name for c in op.control_inputs], "_gradient_op_type" in op.node_def.attr) for op in graph.get_operations()]
    with flowmill.Graph().as_default(), tf1.Graph().as_default():
        assert build(flowmill) == build(tf1)


def test_constants_before_and_after_arguments_that_take_operations(tf1):
    compare(tf1, lambda tf: tf.slice(placeholder(tf), [placeholder(tf, "i", "int32", ()), 0], [1, 2]), {"x": X, "i": 1})
    compare(tf1, lambda tf: tf.strided_slice(placeholder(tf), [0, 0], [placeholder(tf, "i", "int32", ()), 2], [1, 1]), {"x": X, "i": 1})
    compare(tf1, lambda tf: tf.random_uniform([2], tf.Variable(1.0), 2.0), initialize=True, values=False)
    compare(tf1, lambda tf: tf.random_normal([placeholder(tf, "i", "int32", ()), 2], 1.0, tf.Variable(0.0)), {"i": 1}, initialize=True, values=False)


def test_a_finalized_graph_takes_nothing(tf1):
    def build(tf):
        tf.get_default_graph().finalize()
        tf.constant(1.0)
    same_error(tf1, build, "Graph is finalized and cannot be modified.")
