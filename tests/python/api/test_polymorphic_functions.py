"""`tf.function` as programs of version 1 use it: signatures, structures, captured tensors and variables, concrete functions."""

import collections
import functools

import numpy as np
import pytest

from compare import compare, same_error

import flowmill

Pair = collections.namedtuple("Pair", "a b")


def _scalar(tf):
    return tf.TensorSpec([], tf.float32)


def _vector(tf):
    return tf.TensorSpec([2], tf.float32)


def _variable(tf, use_resource=True):
    return tf.get_variable("v", [], initializer=tf.ones_initializer(), use_resource=use_resource)


def _concrete(tf, function, *args, **kwargs):
    return tf.function(function).get_concrete_function(*args, **kwargs)


def _nested_result(tf):
    found = tf.function(lambda x: {"a": x, "b": (x + 1, Pair(x + 2, x + 3)), "c": None})(tf.constant(1.0))
    assert found["c"] is None
    return [found["a"], found["b"][0], found["b"][1].a, found["b"][1].b]


def _traced_once(tf):
    function = tf.function(lambda x: x + 1)
    results = [function(tf.constant(1.0)), function(tf.constant(2.0))]
    assert function.experimental_get_tracing_count() == 1
    return results


def _described(tf):
    variable = _variable(tf)
    concrete = _concrete(tf, lambda x: {"sum": x + variable}, _vector(tf))
    assert concrete.output_shapes["sum"].as_list() == [2]
    assert concrete.output_dtypes["sum"] == tf.float32
    assert len(concrete.variables) == len(concrete.trainable_variables) == 1
    assert len(concrete.inputs) == 2
    return concrete(tf.constant([1.0, 2.0]))["sum"]


CASES = {
    "signature, lists as arguments": lambda tf: tf.function(lambda x, y: x + y, input_signature=[_vector(tf), _scalar(tf)])([1.0, 2.0], 3.0),
    "signature, a tuple": lambda tf: tf.function(lambda x: x * 2, input_signature=(_vector(tf),))(tf.constant([1.0, 2.0])),
    "signature, nested": lambda tf: tf.function(lambda d: d["a"] + d["b"][0], input_signature=[{"a": _scalar(tf), "b": [_scalar(tf)]}])(
        {"a": tf.constant(1.0), "b": [2.0]}),
    "signature, keywords": lambda tf: tf.function(lambda x, y: x - y, input_signature=[_scalar(tf), _scalar(tf)])(y=tf.constant(1.0), x=tf.constant(5.0)),
    "nested result": _nested_result,
    "captured tensor": lambda tf: (lambda c: tf.function(lambda x: x + c)(tf.constant(1.0)))(tf.constant(5.0)),
    "captured variable": lambda tf: (lambda v: tf.function(lambda x: x + v)(tf.constant(1.0)))(_variable(tf)),
    "captured reference variable": lambda tf: (lambda v: tf.function(lambda x: x + v)(tf.constant(1.0)))(_variable(tf, False)),
    "assigned variable": lambda tf: (lambda v: tf.function(lambda x: v.assign_add(x))(tf.constant(1.0)))(_variable(tf)),
    "concrete": lambda tf: _concrete(tf, lambda x: x * 3, _vector(tf))(tf.constant([1.0, 2.0])),
    "concrete, keywords": lambda tf: _concrete(tf, lambda x, y=2.0: x * y, x=_vector(tf))(x=tf.constant([1.0, 2.0])),
    "concrete, a number": lambda tf: _concrete(tf, lambda x, n: x * n, _vector(tf), 3)(tf.constant([1.0, 2.0])),
    "concrete of a signature": lambda tf: tf.function(lambda x: x * 3, input_signature=[_vector(tf)]).get_concrete_function()(tf.constant([1.0, 2.0])),
    "concrete, described": _described,
    "default argument": lambda tf: tf.function(lambda x, y=2.0: x * y)(tf.constant(1.0)),
    "any keywords": lambda tf: tf.function(lambda x, **k: x * k["y"])(tf.constant(1.0), y=tf.constant(4.0)),
    "any arguments": lambda tf: tf.function(lambda *a: tf.add_n(a))(tf.constant(1.0), tf.constant(4.0)),
    "structures": lambda tf: tf.function(lambda d, l: d["x"] * l[1])({"x": tf.constant(2.0)}, [tf.constant(1.0), tf.constant(4.0)]),
    "array": lambda tf: tf.function(lambda x: x + 1)(np.array([1.0, 2.0], np.float32)),
    "sparse tensor": lambda tf: tf.sparse.to_dense(tf.function(lambda s: s)(tf.SparseTensor([[0]], [1.0], [2]))),
    "function in a function": lambda tf: (lambda g: tf.function(lambda x: g(x) + 1)(tf.constant(1.0)))(tf.function(lambda x: x * 2)),
    "gradient": lambda tf: (lambda x: tf.gradients(tf.function(lambda a: a * a * a)(x), x))(tf.constant(2.0)),
    "gradient inside": lambda tf: tf.function(lambda a: tf.gradients(a * a, a)[0])(tf.constant(2.0)),
    "gradient of a captured tensor": lambda tf: (lambda c: tf.gradients(tf.function(lambda a: a * c)(tf.constant(2.0)), c))(tf.constant(3.0)),
    "values that are built in": lambda tf: (lambda f: [f(tf.constant(1.0), True), f(tf.constant(1.0), False)])(
        tf.function(lambda x, up: x + 1 if up else x - 1)),
    "partial": lambda tf: tf.function(functools.partial(lambda a, b: a - b, 1.0))(tf.constant(3.0)),
    "wrap_function": lambda tf: tf.wrap_function(lambda x: x + 1, [_scalar(tf)])(tf.constant(1.0)),
    "constant result": lambda tf: [tf.function(lambda x: 3.0)(tf.constant(1.0)), tf.function(lambda x: np.array([1, 2]))(tf.constant(1.0))],
    "tracing count": _traced_once,
}


@pytest.mark.parametrize("build", CASES.values(), ids=CASES)
def test_the_same_values(tf1, build):
    compare(tf1, build, nodes=False, initialize=True)


ERRORS = {
    "shape": lambda tf: tf.function(lambda x: x, input_signature=[_vector(tf)])(tf.constant([1.0])),
    "type": lambda tf: tf.function(lambda x: x, input_signature=[_vector(tf)])(tf.constant([1, 2])),
    "number of arguments": lambda tf: tf.function(lambda x, y: x)(tf.constant(1.0)),
    "number of specs": lambda tf: tf.function(lambda x, y: x, input_signature=[_vector(tf)])(tf.constant([1.0, 2.0])),
    "signature that is no list": lambda tf: tf.function(lambda x: x, input_signature=_vector(tf)),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS)
def test_errors(tf1, build):
    same_error(tf1, build)


@pytest.mark.parametrize("kind", ["plain", "cond", "while_loop", "switch_case", "nested"])
def test_effects_happen_in_the_order_of_the_program(tf1, kind):
    def build(tf):
        v = tf.Variable(1.0, use_resource=True)

        def change():
            with tf.control_dependencies([v.assign(v.read_value() * 2.0).op]):
                return tf.constant(0)
        changes = {
            "plain": change, "cond": lambda: tf.cond(v.read_value() > 0.0, change, lambda: tf.constant(0)),
            "while_loop": lambda: tf.while_loop(lambda i: i < 2, lambda i: i + 1 + change(), [tf.constant(0)]),
            "switch_case": lambda: tf.switch_case(tf.constant(0), [change, lambda: tf.constant(0)]), "nested": lambda: tf.function(change)()}

        @tf.function
        def body():
            v.assign(5.0)
            before = v.read_value()
            changes[kind]()
            between = v.read_value()
            v.assign_add(1.0)
            return before, between, v.read_value()
        with tf.control_dependencies([v.initializer]):
            return body()
    compare(tf1, build, nodes=False)


def test_reads_wait_for_writes_and_not_for_reads(tf1):
    def edges(tf, branch):
        with tf.Graph().as_default():
            v = tf.Variable(1.0, use_resource=True)

            @tf.function
            def body():
                tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float32, name="first")
                tf.switch_case(tf.constant(0), [lambda: branch(tf, v), lambda: tf.constant(0.0)], name="branches")
                tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float32, name="second")
                tf.raw_ops.AssignVariableOp(resource=v.handle, value=2.0, name="write")
            graph = body.get_concrete_function().graph
            return {op.name: sorted(c.name for c in op.control_inputs) for op in graph.get_operations() if op.name in ("first", "branches", "second", "write")}

    def reads(tf, v):
        return tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float32)

    def writes(tf, v):
        tf.raw_ops.AssignVariableOp(resource=v.handle, value=3.0)
        return tf.constant(0.0)
    for branch in (reads, writes):
        assert edges(flowmill, branch) == edges(tf1, branch)
