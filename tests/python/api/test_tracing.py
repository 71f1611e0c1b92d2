"""Functions of Python that become graph functions, or that gradients, rows and modules are made of."""

import gc
import weakref

import numpy as np
import pytest
from compare import compare, same_error

import flowmill

X = np.array([1.0, 2.0], np.float32)


def placeholder(tf, name="x", shape=(2,)):
    return tf.placeholder(tf.float32, list(shape), name=name)


def called_functions(tf):
    x = placeholder(tf)
    v = tf.get_variable("v", initializer=np.float32([3, 4]), use_resource=True)

    @tf.function
    def scaled(a, b=2.0, k=3):
        return {"r": a * b * v, "s": [a + k, None]}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def squared(a):
        return tf.reduce_sum(a * a)
    first, second = scaled(x), scaled(x, k=4)
    looped = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * scaled(a)["r"]), [0, x])
    wrapped = tf.wrap_function(lambda t: t * 2.0, [tf.TensorSpec([2], tf.float32)])
    found = [first["r"], first["s"][0], second["s"], scaled(x, tf.constant(5.0)), squared(x), looped, wrapped(x)]
    return found, tf.gradients([first["r"], squared(x), looped[1]], [x, v])


@pytest.mark.usefixtures("control_flow")
def test_calls(tf1):
    # Gradients call functions in TensorFlow, and are copies of bodies here.
    compare(tf1, called_functions, {"x": X}, nodes=False, initialize=True)
    calls = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            called_functions(tf)
            calls.append([(o.name, o.type, [i.name for i in o.inputs][:1]) for o in graph.get_operations()
                          if "PartitionedCall" in o.type and "gradients" not in o.name])
    assert calls[0] == calls[1]


def test_functions_are_traced_once_for_each_kind_of_arguments(tf1):
    for tf in (tf1, flowmill):
        traced = []
        f = tf.function(lambda x, k: (traced.append((x.shape.as_list(), k)), x + k)[1])  # noqa: B023 - called in this iteration alone
        with tf.Graph().as_default():
            for arguments in ((tf.constant([1.0]), 2.0), (tf.constant([3.0]), 2.0), (tf.constant([3.0]), 3.0), (tf.constant([[3.0]]), 3.0)):
                f(*arguments)
            assert traced == [([1], 2.0), ([1], 3.0), ([1, 1], 3.0)]
            concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32), 1.0)
            assert concrete.outputs[0].shape.as_list() == [None] and len(concrete.inputs) == 1


def test_methods_are_functions(tf1):
    def build(tf):
        class Scale:
            def __init__(self, by):
                self.by = by

            @tf.function
            def once(self, x):
                return x * self.by

            @tf.function
            def twice(self, x):
                return self.once(self.once(x))
        by_two, by_three = Scale(2.0), Scale(3.0)
        return by_two.twice(placeholder(tf)), by_three.twice(placeholder(tf, "y"))
    compare(tf1, build, {"x": X, "y": X}, nodes=False)


def test_functions_do_not_keep_graphs():
    @flowmill.function
    def f(x):
        return x * 2.0
    with flowmill.Graph().as_default() as graph:
        f(flowmill.constant(1.0))
    graph = weakref.ref(graph)
    gc.collect()
    assert graph() is None


@pytest.mark.parametrize("build", [
    lambda tf: tf.function(lambda x: x, input_signature=[tf.TensorSpec([2], tf.float32)])(tf.constant([1.0])),
    lambda tf: tf.function(lambda x: x, input_signature=[tf.TensorSpec([2], tf.float32)])(tf.constant([1.0, 2.0]), 3),
    lambda tf: tf.function(lambda x: object())(tf.constant(1.0)),
])
def test_wrong_calls(tf1, build):
    same_error(tf1, build)


@pytest.mark.usefixtures("control_flow")
def test_rows_by_functions_of_any_results(tf1):
    def build(tf):
        x, y = placeholder(tf, shape=(3, 2)), placeholder(tf, "y", (1, 2))
        return (tf.vectorized_map(lambda r: {"sum": tf.reduce_sum(r), "many": (r * 2.0, tf.cast(r, tf.int32))}, x),
                tf.vectorized_map(lambda p: p[0] * p[1], (x, y)))
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    compare(tf1, build, {"x": rows, "y": rows[:1]}, nodes=False)


def test_gradients_that_pass_or_compute_again(tf1):
    def build(tf):
        x = placeholder(tf)
        passed = tf.grad_pass_through(lambda a: tf.round(a) * 3.0)(x)

        @tf.recompute_grad
        def layer(a, b):
            with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
                w = tf.get_variable("w", initializer=np.float32([2.0, 5.0]), use_resource=True)
            return tf.exp(a * w) + b
        y = layer(x, x * 2.0)
        return passed, tf.gradients(passed, x), y, tf.gradients(y, [x, *tf.trainable_variables()])
    compare(tf1, build, {"x": X}, nodes=False, initialize=True)
    with flowmill.Graph().as_default() as graph:
        build(flowmill)
        assert sum(o.type == "Exp" for o in graph.get_operations()) == 2


def test_tapes(tf1):
    def build(tf):
        x, c = placeholder(tf), placeholder(tf, "c")
        v = tf.get_variable("v", initializer=np.float32([3, 4]), use_resource=True)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x * v * c
            inner = {"s": tf.reduce_sum(y)}
        found = tape.gradient(y, {"x": x, "v": v}), tape.gradient(inner, [x, v]), tape.gradient(y, x, output_gradients=tf.constant([2.0, 3.0]))
        assert tape.gradient(y, c) is None and [w.name for w in tape.watched_variables()] == ["v:0"]
        return found, tape.jacobian(y, x)
    compare(tf1, build, {"x": X, "c": X}, nodes=False, initialize=True)

    def twice(tf):
        x = tf.constant(1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.gradient(y, x)
        tape.gradient(y, x)
    same_error(tf1, twice, "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")


def test_functions_of_python_that_ask_for_values(tf1):
    def build(tf):
        x, s = placeholder(tf), tf.constant(["a", "b"])
        y = tf.py_function(lambda a: a.numpy() * 2.0, [x], tf.float32)
        z = tf.py_function(lambda a, b: [len(a.numpy()), b.numpy()[0] + b"!"], [x, s], [tf.int32, tf.string], name="both")
        none = tf.py_function(lambda a: None, [x], [])
        with tf.control_dependencies([none]):
            return tf.identity(y), z
    compare(tf1, build, {"x": X})


def test_modules(tf1):
    for tf in (tf1, flowmill):
        class Dense(tf.Module):
            def __init__(self, size, name=None, tf=tf):
                super().__init__(name=name)
                with self.name_scope:
                    self.w = tf.Variable(tf.ones([2, size]), name="w")
                    self.b = tf.Variable(tf.zeros([size]), trainable=False, name="b")

            @tf.Module.with_name_scope
            def __call__(self, x, tf=tf):
                return tf.add(tf.matmul(x, self.w), self.b, name="out")

        class DenseNet(tf.Module):
            def __init__(self, Dense=Dense):
                super().__init__()
                self.layers = [Dense(3), Dense(2, name="last")]
                self.other = {"a": self.layers[0]}
        with tf.Graph().as_default():
            net = DenseNet()
            assert net.name == "dense_net" and [m.name for m in net.submodules] == ["dense", "last"]
            assert [v.name for v in net.variables] == ["dense/b:0", "dense/w:0", "last/b:0", "last/w:0"]
            assert [v.name for v in net.trainable_variables] == ["dense/w:0", "last/w:0"]
            assert net.layers[0](tf.ones([1, 2])).name == "dense/out:0"
    same_error(tf1, lambda tf: tf.Module(name="no name"), "is not a valid module name.")


def test_a_tape_has_zeros_for_what_is_not_watched():
    with flowmill.Graph().as_default():
        x, y = flowmill.constant([1.0, 2.0]), flowmill.constant([[3.0], [4.0]])
        with flowmill.GradientTape() as tape:
            tape.watch(x)
            z = flowmill.reduce_sum(x * x) + flowmill.reduce_sum(y)
        found = tape.gradient(z, [x, y], unconnected_gradients=flowmill.UnconnectedGradients.ZERO)
        with flowmill.Session() as session:
            dx, dy = session.run(found)
    assert dx.tolist() == [2.0, 4.0] and dy.tolist() == [[0.0], [0.0]]
