"""Checks of values, types and shapes: the same nodes, shapes and values as TensorFlow's."""

import sys

import numpy as np
import pytest

import flowmill
from compare import compare, same_error
from inputs import FEEDS, taking_inputs

CASES = {
    "Assert": lambda tf, v: tf.Assert(v.b[0, 0], ["a", v.i]),
    "Print": lambda tf, v: tf.Print(v.x, [v.x], "m"),
    "assert_equal": lambda tf, v: tf.assert_equal(1, 1),
    "assert_equal 2": lambda tf, v: tf.assert_equal([1, 2], [1, 2]),
    "assert_greater": lambda tf, v: tf.assert_greater(v.i, -1),
    "assert_greater_equal": lambda tf, v: tf.assert_greater_equal(v.i, 0),
    "assert_less_equal": lambda tf, v: tf.assert_less_equal(v.i, 3),
    "assert_none_equal": lambda tf, v: tf.assert_none_equal(v.i, 3),
    "assert_non_negative": lambda tf, v: tf.assert_non_negative(v.i),
    "assert_rank": lambda tf, v: tf.assert_rank(v.x, 2),
    "assert_rank 2": lambda tf, v: tf.assert_rank(v.u, 2),
    "assert_rank 3": lambda tf, v: tf.assert_rank(v.u, v.i[1] + 1),
    "assert_rank_at_least": lambda tf, v: tf.assert_rank_at_least(v.x, 1),
    "assert_rank_at_least 2": lambda tf, v: tf.assert_rank_at_least(v.u, 1),
    "assert_rank_in": lambda tf, v: tf.assert_rank_in(v.x, [1, 2]),
    "assert_rank_in 2": lambda tf, v: tf.assert_rank_in(v.u, [1, 2]),
    "assert_integer": lambda tf, v: tf.assert_integer(v.i),
    "assert_type": lambda tf, v: tf.assert_type(v.x, tf.float32),
    "assert_scalar": lambda tf, v: tf.assert_scalar(v.s),
    "assert_proper_iterable": lambda tf, v: tf.assert_proper_iterable([v.x]),
    "verify_tensor_all_finite": lambda tf, v: tf.verify_tensor_all_finite(v.x, "m"),
    "assert_all_finite": lambda tf, v: tf.debugging.assert_all_finite(x=v.x, message="m"),
    "check_numerics": lambda tf, v: tf.check_numerics(v.x, "m"),
    "assert_shapes": lambda tf, v: tf.debugging.assert_shapes([(v.x, ("N", "Q")), (v.m, ("Q", "Q"))]),
    "assert_shapes 2": lambda tf, v: tf.debugging.assert_shapes([(v.x, (..., 3))]),
    "add_check_numerics_ops": lambda tf, v: tf.add_check_numerics_ops(),
    "is_finite": lambda tf, v: tf.debugging.is_finite(v.x),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_nodes_and_values(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS)


# What control flow brings in is made before what takes it, not after.
WITH_CONTROL_FLOW = {
    "Assert": lambda tf, v: tf.Assert(v.b[0, 0], [v.x]),
    "Assert 2": lambda tf, v: tf.Assert(True, [v.x]),
    "assert_equal": lambda tf, v: tf.assert_equal(v.x, v.x + 0.0),
    "assert_equal 2": lambda tf, v: tf.assert_equal(v.p, v.p + 0.0, message="msg"),
    "assert_less": lambda tf, v: tf.assert_less(v.i, 3, data=["d", v.x], summarize=2),
    "assert_positive": lambda tf, v: tf.assert_positive(v.x + 1.0),
    "assert_negative": lambda tf, v: tf.assert_negative(v.x - 2.0),
    "assert_non_positive": lambda tf, v: tf.assert_non_positive(v.x - 2.0),
    "assert_near": lambda tf, v: tf.assert_near(v.x, v.x + 0.0),
    "assert_near 2": lambda tf, v: tf.assert_near(v.x, v.x + 0.5, rtol=0.1, atol=v.s),
    "is_non_decreasing": lambda tf, v: tf.is_non_decreasing(v.x),
    "is_strictly_increasing": lambda tf, v: tf.is_strictly_increasing(v.i),
}


@pytest.mark.parametrize("case", WITH_CONTROL_FLOW.values(), ids=WITH_CONTROL_FLOW.keys())
@pytest.mark.usefixtures("control_flow")
def test_the_same_with_control_flow(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS, ordered=False)


# Calls that fail, and what both modules say.
ERRORS = {
    "assert_equal": (lambda tf, v: tf.assert_equal([1, 2], [1, 3]), "== y did not hold element-wise:\nx (assert_equal_1/x:0) = \n[1 2]\ny"),
    "assert_less": (lambda tf, v: tf.assert_less([1, 2], [0, 5], message="mm"), "mm\nCondition x < y did not hold element-wise:"),
    "assert_none_equal": (lambda tf, v: tf.assert_none_equal([1, 2], [3, 2]), "Condition x != y did not hold element-wise:"),
    "assert_positive": (lambda tf, v: tf.assert_positive([-1]), "Condition x > 0 did not hold element-wise:"),
    "assert_shapes scalar": (lambda tf, v: tf.debugging.assert_shapes([(tf.constant([2, 2]), ())]), "dimension 0 must have size 1.  Received size 2"),
    "assert_near": (lambda tf, v: tf.assert_near(v.i, 1), "not inexact"),
    "assert_rank": (lambda tf, v: tf.assert_rank(v.x, 3, message="mm"), "mm.  Tensor x:0 must have rank 3.  Received rank 2, shape (2, 3)"),
    "assert_rank vector": (lambda tf, v: tf.assert_rank(v.x, [3]), "Rank must be a scalar."),
    "assert_rank_at_least": (lambda tf, v: tf.assert_rank_at_least(v.x, 3), "Tensor x:0 must have rank at least 3.  Received rank 2, shape (2, 3)"),
    "assert_rank_in": (lambda tf, v: tf.assert_rank_in(v.x, [1, 3]), "Tensor x:0 must have rank in (1, 3).  Received rank 2, shape (2, 3)"),
    "assert_integer": (lambda tf, v: tf.assert_integer(v.x, "mm"), 'mm.  Expected "x" to be integer type.  Found: x:0 of dtype'),
    "assert_type": (lambda tf, v: tf.assert_type(v.x, tf.int32), "x:0 must be of type tf.int32; got tf.float32"),
    "assert_scalar": (lambda tf, v: tf.assert_scalar(v.x), "Expected scalar shape for x:0, saw shape: (2, 3)."),
    "assert_proper_iterable": (lambda tf, v: tf.assert_proper_iterable(v.x), 'Expected argument "values" to be a "proper" iterable.'),
    "assert_same_float_dtype": (lambda tf, v: tf.assert_same_float_dtype([v.x, v.i]), "must be of the same type"),
    "assert_same_float_dtype given": (lambda tf, v: tf.assert_same_float_dtype([v.x], tf.float64), "must be of the same type"),
    "assert_same_float_dtype integer": (lambda tf, v: tf.assert_same_float_dtype([v.i]), "Expected floating point type, got"),
    "assert_shapes": (lambda tf, v: tf.debugging.assert_shapes([(v.x, ("N", "N"))]), "Specified by tensor x:0 dimension 0.  Tensor x:0"),
    "assert_shapes number": (lambda tf, v: tf.debugging.assert_shapes([(v.x, ("N", 4))]), "Specified explicitly.  Tensor x:0 dimension 1"),
    "assert_shapes rank": (lambda tf, v: tf.debugging.assert_shapes([(v.x, ("N",))]), "Tensor x:0 must have rank in (0, 1).  Received rank 2"),
    "assert_shapes ellipsis": (lambda tf, v: tf.debugging.assert_shapes([(v.x, ("N", ...))]), "is only allowed as the first entry"),
    "print stream": (lambda tf, v: tf.print("a", output_stream="stdout"), "Unsupported output stream"),
}


@pytest.mark.parametrize("case, message", ERRORS.values(), ids=ERRORS.keys())
def test_the_same_errors(tf1, case, message):
    same_error(tf1, taking_inputs(case), message)


def test_what_is_printed(capfd):
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        x = flowmill.constant([1.0, 2.0])
        session.run(flowmill.print("x is", x, {"b": [1, x]}, sep="|", output_stream=sys.stdout))
        session.run(flowmill.Print(x, [x], "seen: ", summarize=1))
    out, err = capfd.readouterr()
    assert out == "x is|[1 2]|{'b': [1, [1 2]]}\n"
    assert err == "seen: [1...]\n"


@pytest.fixture
def checks(tf1):
    """Checks of all operations in both modules."""
    modules = (tf1, flowmill)
    for tf in modules:
        tf.debugging.enable_check_numerics()
    yield
    for tf in modules:
        tf.debugging.disable_check_numerics()


_CHECKED = {
    "an operation": (lambda tf, x: tf.log(x) * 2.0, [0.0, 1.0], 'output 0 of graph op "Log" (# of outputs: 1)'),
    "a difference": (lambda tf, x: (x - x) / (x - x), [2.0, 1.0], 'output 0 of graph op "RealDiv" (# of outputs: 1)'),
    "one of several": (lambda tf, x: tf.split(tf.sqrt(x), 2), [-1.0, 1.0], 'output 0 of graph op "Sqrt" (# of outputs: 1)'),
    "a loop's body": (lambda tf, x: tf.while_loop(lambda v: tf.reduce_sum(v) > -9.0, lambda v: tf.log(v), [x]), [3.0, 4.0], 'of graph op "Log"'),
    "a branch": (lambda tf, x: tf.cond(x[0] > 0.0, lambda: tf.log(x), lambda: x), [1.0, 0.0], 'of graph op "Log"'),
    "a gradient": (lambda tf, x: tf.gradients(tf.sqrt(x), x), [1.0, 0.0], 'of graph op "SqrtGrad"'),
    "a variable": (lambda tf, x: tf.Variable([1.0, 2.0], use_resource=True).assign(tf.exp(x)), [1e3, 0.0], 'of graph op "Exp"'),
}


@pytest.mark.parametrize("name", _CHECKED)
def test_every_operation_is_checked(tf1, checks, name):
    build, value, match = _CHECKED[name]
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [2], name="x")
            y = build(tf, x)
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(y, {x: value})
            message = raised.value.message
            assert "!!! Detected Infinity or NaN in " in message and match in message and "<dtype: 'float32'>" in message, message
            assert " : Tensor had " in message and "test_debugging.py" in message


def test_what_is_checked_computes_the_same(tf1, checks):
    def train(tf):
        tf.set_random_seed(1)
        x = tf.constant(np.linspace(-1.0, 1.0, 12).reshape(4, 3), tf.float32)
        w = tf.get_variable("w", initializer=tf.constant([[0.5], [0.25], [-1.0]]), use_resource=True)
        loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(x, w)) - 1.0))
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, step])[0] for _ in range(3)]

    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            found.append(train(tf))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_checks_end():
    flowmill.debugging.enable_check_numerics()
    with flowmill.Graph().as_default() as graph:
        x = flowmill.placeholder(flowmill.float32, [2], name="x")
        y = flowmill.log(x, name="y")
        assert y.name == "y/CheckNumericsV2:0" and graph.get_tensor_by_name("y:0").op.type == "Log" and y.op.inputs[0].name == "y:0"
        assert "Log" in str(y.op.get_attr("message")) and flowmill.Graph is type(y.graph)
        flowmill.debugging.disable_check_numerics()
        assert flowmill.log(x, name="z").name == "z:0"
        with flowmill.Session() as session:
            assert np.isneginf(session.run("z:0", {x: [0.0, 1.0]})[0])


@pytest.mark.parametrize("shapes", [
    lambda tf, x, y: [(x, "22"), (y, "23")], lambda tf, x, y: [(x, np.array([2, 2])), (y, np.array([2, 3]))],
    lambda tf, x, y: [(x, np.array(["A", "B"])), (y, np.array(["A", "C"]))], lambda tf, x, y: [(x, "2Q"), (y, "*2D")], lambda tf, x, y: [(x, 2)]])
def test_spellings_of_shapes(tf1, shapes):
    texts = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), pytest.raises(ValueError) as error:
            tf.debugging.assert_shapes(shapes(tf, tf.ones([2, 2], name="x"), tf.ones([1, 3], name="y")))
        texts.append(str(error.value))
    assert texts[0].split("shape")[0] == texts[1].split("shape")[0]


def test_printed_sparse_tensors(tf1, capfd):
    texts = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.SparseTensor([[0, 1], [2, 0]], [3.0, 4.0], [3, 2])
            capfd.readouterr()
            session.run(tf.print(x, [x], output_stream=sys.stderr))
            texts.append(capfd.readouterr().err)
    assert texts[0] == texts[1]


def test_positional_arguments_of_raw_ops(tf1):
    same_error(tf1, lambda tf: tf.raw_ops.Add(1.0, y=2.0), "only takes keyword args (possible keys: ['x', 'y', 'name'])")
