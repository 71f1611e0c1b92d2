"""Functions of Python that graphs call: TensorFlow's values and errors."""

import gc
import threading

import numpy as np
import pytest
from compare import compare, same_error

import flowmill

X = np.array([1.0, 2.0], np.float32)


def placeholder(tf, name="x", dtype="float32", shape=(2,)):
    return tf.raw_ops.Placeholder(dtype=tf.as_dtype(dtype), shape=list(shape), name=name)


@pytest.mark.parametrize("function, types", [
    (lambda x: x * 2, "float32"), (lambda x: [x * 2, np.int64(3)], ["float32", "int64"]), (lambda x: np.array(["a", "bc"]), "string"),
    (lambda x: np.array([b"a", b"\xff"], object), "string"), (lambda x: b"text", "string"), (lambda x: (x > 1.5), "bool"), (lambda x: [], []),
    (lambda x: x.T[::-1], "float32"), (lambda x: [np.zeros((0, 3))], ["float64"]),
])
@pytest.mark.parametrize("stateful", [True, False])
def test_py_func(tf1, function, types, stateful):
    def build(tf):
        kinds = [tf.as_dtype(t) for t in types] if isinstance(types, list) else tf.as_dtype(types)
        out = tf.py_func(function, [placeholder(tf)], kinds, stateful=stateful, name="call")
        if types == []:
            with tf.get_default_graph().control_dependencies([out] if not isinstance(out, list) else out):
                return tf.constant(1)
        return out
    compare(tf1, build, {"x": X}, nodes=stateful or types != [])  # what has neither outputs nor state, TensorFlow does not give


def test_arguments_of_all_types(tf1):
    seen = []

    def build(tf):
        return tf.numpy_function(lambda *a: seen.append([np.asarray(x) for x in a]) or a[0], [placeholder(tf), "text", 3, [True], np.zeros((2, 0))], tf.float32)
    compare(tf1, build, {"x": X})
    for theirs, ours in zip(*seen):
        assert theirs.dtype.kind == ours.dtype.kind and theirs.shape == ours.shape
        np.testing.assert_array_equal(theirs, ours)


@pytest.mark.parametrize("function, error, match", [
    (lambda x: 1 / 0, "UnknownError", "ZeroDivisionError: division by zero"),
    (lambda x: int("a"), "InvalidArgumentError", "ValueError: invalid literal"),
    (lambda x: next(iter(())), "OutOfRangeError", "StopIteration"),
    (lambda x: (_ for _ in ()).throw(NotImplementedError("no")), "UnimplementedError", "NotImplementedError: no"),
    (lambda x: x.astype(np.float64), "InvalidArgumentError", "0-th value returned by pyfunc_"),
    (lambda x: [x, x], "InvalidArgumentError", "returns 2 values, but expects to see 1 values."),
])
def test_errors_of_the_function(tf1, function, error, match):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
            out = tf.py_func(function, [placeholder(tf)], tf.float32)
            with pytest.raises(getattr(tf.errors, error), match=match):
                session.run(out, {"x:0": X})


def test_what_cannot_be_called(tf1):
    same_error(tf1, lambda tf: tf.py_func(3, [tf.constant(1.0)], tf.float32), "Expected func to be callable.")


def test_many_threads_call():
    with flowmill.Graph().as_default() as graph:
        calls, x = [], placeholder(flowmill)
        out = flowmill.add_n([flowmill.py_func(lambda x, i=i: (calls.append(i), x + np.float32(i))[1], [x], flowmill.float32)
                              for i in range(20)])
        with flowmill.Session(graph=graph) as session:
            found = []
            threads = [threading.Thread(target=lambda: found.append(session.run(out, {"x:0": X}))) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert len(calls) == 160 and len(found) == 8
    for value in found:
        np.testing.assert_allclose(value, X * 20 + 190)


def test_a_function_lives_as_long_as_its_graph():
    class Function:
        def __call__(self, x):
            return x

    import weakref

    function = Function()
    alive = weakref.ref(function)
    with flowmill.Graph().as_default() as graph:
        out = flowmill.py_func(function, [placeholder(flowmill)], flowmill.float32)
    del function
    gc.collect()
    with flowmill.Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run(out, {"x:0": X}), X)
    del graph, out, session
    gc.collect()
    assert alive() is None


@pytest.mark.usefixtures("control_flow")
def test_in_a_loop():
    with flowmill.Graph().as_default() as graph:
        _, out = flowmill.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, flowmill.reshape(flowmill.py_func(np.sqrt, [x], flowmill.float32), [2])),
                                     [0, placeholder(flowmill)])
        with flowmill.Session(graph=graph) as session:
            np.testing.assert_allclose(session.run(out, {"x:0": X}), X ** 0.125, rtol=1e-6)


def _huber(tf, y, d):
    return y**2 if abs(y.numpy()) <= d else 2 * d * (tf.abs(y) - d / 2)


def _piecewise(tf, x):
    return tf.exp(x) if x > 0.0 else -x * 2.0


_DIFFERENTIATED = {
    "a sum": lambda tf, x: tf.py_function(lambda a: tf.reduce_sum(a * a * 3.0), [x], tf.float32),
    "several arguments": lambda tf, x: tf.py_function(lambda a, b: tf.matmul(a[None], b[:, None])[0, 0] / 2.0, [x, tf.sin(x)], tf.float32),
    "several results": lambda tf, x: tf.add_n([tf.reduce_sum(y) for y in tf.py_function(lambda a: [a * 2.0, tf.square(a), 7.0], [x], [tf.float32] * 3)]),
    "a choice by a value": lambda tf, x: tf.py_function(lambda a: _huber(tf, a, 1.0), [x[0]], tf.float32) * x[1],
    "another choice": lambda tf, x: tf.py_function(lambda a: _piecewise(tf, a), [x[1]], tf.float32),
    "a constant": lambda tf, x: tf.py_function(lambda a: tf.constant(a.numpy()) * a, [x], tf.float32),
    "among other operations": lambda tf, x: tf.square(tf.py_function(lambda a: tf.reduce_prod(tf.sqrt(a * a)), [x * 2.0], tf.float32)),
}


@pytest.mark.parametrize("name", _DIFFERENTIATED)
def test_gradients_of_functions_of_python(tf1, name):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [2], name="x")
            y = _DIFFERENTIATED[name](tf, x)
            (grad,) = tf.gradients(y, x)
            found.append([session.run([y, grad], {x: value}) for value in ([0.5, -2.0], [-3.0, 0.25])])
            assert tf is tf1 or grad.shape.as_list() == [2]
    for mine, other in zip(found[1], found[0]):
        for a, b in zip(mine, other):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_training_through_a_function_of_python():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=tf.constant([2.0, -1.0]))
        loss = tf.py_function(lambda v: tf.reduce_sum(tf.square(v - 1.0)), [w], tf.float32)
        loss.set_shape([])
        step = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        np.testing.assert_allclose(session.run(w), [1.125, 0.75])


def test_arguments_that_have_no_gradient():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        x, n = tf.constant([1.0, 2.0]), tf.constant(3)
        y = tf.py_function(lambda a, k: tf.pow(a, tf.cast(k, tf.float32)), [x, n], tf.float32)
        dx, dn = tf.gradients(y, [x, n])
        assert dn is None
        np.testing.assert_allclose(session.run(dx), [3.0, 12.0])


def test_mistakes_in_gradients_of_functions():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        y = tf.py_function(lambda a: tf.square(a).numpy() if hasattr(a, "_tensor") else a, [x], tf.float32)
        grad = tf.gradients(y, x)
        with pytest.raises(tf.errors.OpError, match="numpy"):
            session.run(grad)


def ragged(tf, name="lengths"):
    return tf.RaggedTensor.from_row_lengths(tf.range(6.0), tf.constant([3, 1, 2], tf.int64, name=name))


@pytest.mark.parametrize("function", [lambda x: x + x, lambda x: [x * 2.0], lambda x: (x,)])
def test_ragged_arguments_and_results(tf1, function):
    def build(tf):
        x = ragged(tf)
        with tf.name_scope("called"):
            y, = tf.py_function(function, [x], [tf.RaggedTensorSpec([3, None], tf.float32)])
        assert isinstance(y, tf.RaggedTensor) and y.row_splits.shape.as_list() == [4]
        return [y.flat_values, y.row_splits, tf.py_function(tf.reduce_sum, [x], tf.float32)]
    compare(tf1, build, {}, nodes=False)


@pytest.mark.parametrize("result, declared", [("ragged", "tensor"), ("tensor", "ragged")])
def test_results_that_do_not_match_their_specs(tf1, result, declared):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
            x = ragged(tf) if result == "ragged" else tf.constant([[1.0]])
            spec = tf.float32 if declared == "tensor" else tf.RaggedTensorSpec([None, None], tf.float32)
            out, = tf.py_function(lambda v: v, [x], [spec])
            with pytest.raises(tf.errors.InvalidArgumentError, match="py_function: func=.* returned .* which did not match Tout=.*"):
                session.run(out)


@pytest.mark.parametrize("value, error, match", [
    (np.zeros((), np.void), "InternalError", "Unsupported numpy data type"), ({"a": 1}, "InternalError", "Unsupported object type")])
def test_results_that_are_no_tensors(tf1, value, error, match):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
            out = tf.py_func(lambda: value, [], tf.float32)
            with pytest.raises(getattr(tf.errors, error), match=match):
                session.run(out)


@pytest.mark.parametrize("kind", ["py_function", "numpy_function"])
def test_decorators(tf1, kind):
    def build(tf):
        @getattr(tf, kind)(Tout=tf.float32)
        def plus(a, b):
            return a + b
        return plus(placeholder(tf), 2.0)
    compare(tf1, build, {"x": X}, nodes=False)
    same_error(tf1, lambda tf: getattr(tf, kind)(lambda a: a, [1.0]), "Missing required argument: 'Tout'")
