"""Calls, branches and loops whose bodies are functions: put into the graph that calls them, and called as functions."""

import itertools

import numpy as np
import pytest

import flowmill as tf

# Lowered or called; with programs or by the token machine; threads.
WAYS = [
    *(dict(lower=lower, strands=fused, loops=fused, intra_op_threads=t, inter_op_threads=t)
      for lower, fused, t in itertools.product([True, False], [True, False], [1, 2])),
    dict(optimize=False),
    dict(disabled_passes=["prune", "remove_identities", "fold_constants"]),
    dict(parallel_iterations=1),
]


@pytest.fixture
def v2(tf1):
    """TensorFlow 1 with functional control flow."""
    tf1.enable_control_flow_v2()
    tf1.enable_resource_variables()
    yield tf1
    tf1.disable_resource_variables()
    tf1.disable_control_flow_v2()


def imported(tf1_graph):
    with tf.Graph().as_default() as own:
        tf.import_graph_def(tf1_graph.as_graph_def().SerializeToString(), name="")
    return own


def check(tf1, graph, fetches, feeds=({},), init=None, expected=None):
    """Runs a step for each of `feeds`, one after the other in a session, in every way there is, and compares with `expected`.

    That is what TensorFlow gives by default. Effects in branches and bodies need it said: TensorFlow orders them only in a `tf.function`.
    """
    def steps(session):
        if init:
            session.run(init)
        return [session.run(fetches, feed) for feed in feeds]

    plain = tf1.ConfigProto()
    plain.graph_options.rewrite_options.disable_meta_optimizer = True
    if expected is None:
        with tf1.Session(graph=graph, config=plain) as session:
            expected = steps(session)
    own = imported(graph)
    for way in WAYS:
        with tf.Session(graph=own, config=tf.SessionOptions(**way)) as session:
            for step, (got, want) in enumerate(zip(steps(session), expected)):
                for name, g, w in zip(fetches, got, want):
                    np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6, err_msg=f"{name}, step {step}, {way}")


def variable(tf1, value, name="v"):
    v = tf1.get_variable(name, initializer=np.float32(value))
    return v, v.initializer.name


def test_effects_of_a_body_come_in_order(v2):
    graph = v2.Graph()
    with graph.as_default():
        n = v2.placeholder(v2.int32, [], "n")
        v, init = variable(v2, 1.0)

        def body(i, seen):
            before = v.read_value()
            with v2.control_dependencies([before]):
                grown = v.assign(before * 2.0 + v2.cast(i, v2.float32))
            with v2.control_dependencies([grown]):
                return i + 1, seen * 3.0 + v.read_value()

        _, seen = v2.while_loop(lambda i, _: i < n, body, [0, 0.0])
        with v2.control_dependencies([seen]):
            v2.identity(v.read_value(), "after")
        v2.identity(seen, "seen")
    expected, value = [], 1.0
    for n in (5, 0, 3):
        seen = 0.0
        for i in range(n):
            value = value * 2 + i
            seen = seen * 3 + value
        expected.append((seen, value))
    check(v2, graph, ["seen:0", "after:0"], [{"n:0": 5}, {"n:0": 0}, {"n:0": 3}], init, expected)


def test_effects_happen_though_no_result_is_taken(v2):
    graph = v2.Graph()
    with graph.as_default():
        p = v2.placeholder(v2.bool, [], "p")
        v, init = variable(v2, 1.0)
        cond = v2.cond(p, lambda: v.assign_add(10.0).op, lambda: v.assign_sub(1.0).op)
        with v2.control_dependencies([cond]):
            loop = v2.while_loop(lambda i: i < 4, lambda i: (v2.group(v.assign_add(100.0)), i + 1)[1:], [v2.constant(0)])
        with v2.control_dependencies(loop if isinstance(loop, (list, tuple)) else [loop]):
            v2.identity(v.read_value(), "after")
    check(v2, graph, ["after:0"], [{"p:0": True}, {"p:0": False}, {"p:0": True}], init, [[411.0], [810.0], [1220.0]])


def test_a_condition_that_only_reads_a_variable(v2):
    graph = v2.Graph()
    with graph.as_default():
        v, init = variable(v2, 0.0)

        def body(i):
            with v2.control_dependencies([v.assign_add(1.5)]):
                return i + 1

        loop = v2.while_loop(lambda _: v.read_value() < 10.0, body, [v2.constant(0)])
        v2.identity(loop, "count")
    check(v2, graph, ["count:0"], [{}, {}], init, [[7], [0]])


def test_branches_and_loops_in_each_other(v2):
    graph = v2.Graph()
    with graph.as_default():
        x = v2.placeholder(v2.float32, [], "x")
        n = v2.placeholder(v2.int32, [], "n")

        def inner(y):
            return v2.while_loop(lambda j, _: j < 3, lambda j, z: (j + 1, v2.cond(z > 4.0, lambda: z - x, lambda: z * 1.5)), [0, y])[1]

        def body(i, y, invariant):
            y = v2.cond(v2.equal(i % 2, 0), lambda: inner(y + invariant), lambda: y - 1.0)
            y = v2.switch_case(i % 4, [lambda: y, lambda: y + 1.0, lambda: inner(y)], default=lambda: -y)
            return i + 1, y, invariant

        result = v2.while_loop(lambda i, *_: i < n, body, [0, x, x * 2.0])
        v2.identity(result[1], "y")
        v2.identity(result[2], "invariant")
    check(v2, graph, ["y:0", "invariant:0"], [{"x:0": v, "n:0": n} for v, n in [(0.5, 9), (-2.0, 4), (3.0, 0)]])


def test_a_fed_output_of_a_loop_and_of_a_call(v2):
    graph = v2.Graph()
    with graph.as_default():
        i, a = v2.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a + v2.cast(i, v2.float32)), [0, v2.constant(1.0)])
        twice = v2.function(lambda b: (b * 2.0, b + 1.0))
        double, more = twice(a)
        v2.identity(double + 10.0 * more + 100.0 * v2.cast(i, v2.float32), "y")
    check(v2, graph, ["y:0", a.name, more.name], [{}, {a.name: 7.0}, {more.name: 3.0}, {a.name: 7.0, double.name: 1.0}])


def test_gradients_of_loops_and_branches(v2):
    graph = v2.Graph()
    with graph.as_default():
        x = v2.placeholder(v2.float32, [3], "x")

        def body(i, y):
            return i + 1, v2.cond(v2.reduce_sum(y) > 1.0, lambda: v2.sin(y) * x, lambda: y * y + x)

        _, y = v2.while_loop(lambda i, _: i < 6, body, [0, x])
        gradient, = v2.gradients(y, x)
        v2.identity(y, "y")
        v2.identity(gradient, "gradient")
    check(v2, graph, ["y:0", "gradient:0"], [{"x:0": [0.1, 0.5, -0.3]}, {"x:0": [1.0, 2.0, 0.2]}])


def test_lists_of_tensors_that_a_loop_fills(v2):
    graph = v2.Graph()
    with graph.as_default():
        x = v2.placeholder(v2.float32, [None, 2], "x")
        n = v2.shape(x)[0]
        array = v2.TensorArray(v2.float32, size=n, element_shape=[2]).unstack(x)
        out = v2.TensorArray(v2.float32, size=n, element_shape=[2])
        _, state, out = v2.while_loop(
            lambda i, *_: i < n,
            lambda i, s, o: (i + 1, v2.tanh(s + array.read(i)), o.write(i, s * 2.0)), [0, v2.zeros([2]), out])
        v2.identity(state, "state")
        v2.identity(out.stack(), "out")
        v2.identity(v2.gradients(v2.reduce_sum(state), x)[0], "gradient")
    check(v2, graph, ["state:0", "out:0", "gradient:0"], [{"x:0": np.arange(8, dtype=np.float32).reshape(4, 2)}, {"x:0": np.zeros((0, 2), np.float32)}])


FACTORIAL = """
node { name: "n" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "shape" value { shape { } } } }
node { name: "y" op: "Factorial" input: "n" }
library {
  function {
    signature { name: "Factorial" input_arg { name: "n" type: DT_INT32 } output_arg { name: "r" type: DT_INT32 } }
    node_def { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
    node_def { name: "is_zero" op: "Equal" input: "n" input: "zero:output:0" attr { key: "T" value { type: DT_INT32 } } }
    node_def { name: "branch" op: "StatelessIf" input: "is_zero:z:0" input: "n"
      attr { key: "Tcond" value { type: DT_BOOL } } attr { key: "Tin" value { list { type: DT_INT32 } } }
      attr { key: "Tout" value { list { type: DT_INT32 } } }
      attr { key: "then_branch" value { func { name: "One" } } } attr { key: "else_branch" value { func { name: "More" } } } }
    ret { key: "r" value: "branch:output:0" }
  }
  function {
    signature { name: "One" input_arg { name: "n" type: DT_INT32 } output_arg { name: "r" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
    ret { key: "r" value: "one:output:0" }
  }
  function {
    signature { name: "More" input_arg { name: "n" type: DT_INT32 } output_arg { name: "r" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
    node_def { name: "less" op: "Sub" input: "n" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    node_def { name: "rest" op: "Factorial" input: "less:z:0" }
    node_def { name: "product" op: "Mul" input: "n" input: "rest:r:0" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "r" value: "product:z:0" }
  }
}
versions { producer: 1882 }
"""


def test_a_recursive_function(tf1):
    from google.protobuf import text_format

    with tf.Graph().as_default() as own:
        tf.import_graph_def(text_format.Parse(FACTORIAL, tf1.GraphDef()).SerializeToString(), name="")
    for way in WAYS:
        with tf.Session(graph=own, config=tf.SessionOptions(**way)) as session:
            assert [session.run("y:0", {"n:0": n}) for n in (0, 1, 5, 10)] == [1, 1, 120, 3628800], way
            with pytest.raises(tf.errors.ResourceExhaustedError, match="function calls nest deeper than 200"):
                session.run("y:0", {"n:0": -1})


def test_an_error_names_the_caller_and_the_node_of_the_function(v2):
    graph = v2.Graph()
    with graph.as_default():
        n = v2.placeholder(v2.int32, [], "n")

        def body(i):
            with v2.control_dependencies([v2.debugging.Assert(i < 3, ["too far", i], name="limit")]):
                return i + 1

        v2.while_loop(lambda i: i < n, body, [v2.constant(0)], name="count")
        loop = [op for op in graph.get_operations() if op.type in ("While", "StatelessWhile")][0]
    own = imported(graph)
    for way in WAYS:
        with tf.Session(graph=own, config=tf.SessionOptions(**way)) as session:
            assert session.run(loop.outputs[1].name if len(loop.outputs) > 1 else loop.outputs[0].name, {"n:0": 2}) is not None
            with pytest.raises(tf.errors.InvalidArgumentError, match="too far") as caught:
                session.run(loop.name, {"n:0": 5})
            if way.get("lower", True) and way.get("optimize", True):
                assert f"{loop.name}/body/" in str(caught.value) and "limit" in str(caught.value)


def test_costly_iterations_that_may_overlap_give_their_values(v2):
    graph = v2.Graph()
    with graph.as_default():
        n = v2.placeholder(v2.int32, [], "n")
        x = v2.placeholder(v2.float32, [None, None], "x")

        def body(i, total):
            # Nothing of it needs the iteration before, but the sum.
            return i + 1, total + v2.reduce_sum(v2.matmul(x, x) * v2.cast(i, v2.float32))

        _, total = v2.while_loop(lambda i, _: i < n, body, [0, 0.0], parallel_iterations=4)
        v2.identity(total, "total")
    check(v2, graph, ["total:0"], [{"n:0": 6, "x:0": np.eye(64, dtype=np.float32)}])


def test_a_dead_call_has_no_effect(tf1):
    tf1.disable_control_flow_v2()
    tf1.enable_resource_variables()
    graph = tf1.Graph()
    with graph.as_default():
        p = tf1.placeholder(tf1.bool, [], "p")
        v, init = variable(tf1, 1.0)

        @tf1.function
        def add_one():
            v.assign_add(1.0)
            return tf1.constant(5.0)

        y = tf1.cond(p, add_one, lambda: 2.0)
        with tf1.control_dependencies([y]):
            tf1.identity(v.read_value(), "after")
        tf1.identity(y, "y")
    tf1.disable_resource_variables()
    check(tf1, graph, ["y:0", "after:0"], [{"p:0": False}, {"p:0": True}, {"p:0": False}], init)


def test_a_call_in_a_v1_loop_runs_in_each_iteration(tf1):
    tf1.disable_control_flow_v2()
    graph = tf1.Graph()
    with graph.as_default():
        half = tf1.function(lambda a: (a * 0.5 + 1.0, tf1.constant(3.0)))
        _, y = tf1.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, sum(half(a))), [0, tf1.placeholder(tf1.float32, [], "x")])
        tf1.identity(y, "y")
    check(tf1, graph, ["y:0"], [{"x:0": 1.0}, {"x:0": -3.0}])
