"""Effects in branches and loops: in functions, all of them run; with control flow by frames, those that no result needs are pruned."""

import numpy as np
import pytest

import flowmill

NAMES = "abcd"


def _assigns(tf, variables):
    """Returns a function that assigns to some variables, the last of which its result waits for."""
    def branch(x):
        made = [variables[name].assign(x + i, read_value=False) for i, name in enumerate(NAMES)]
        with tf.control_dependencies([made[2]]):
            return x + 10.0
    return branch


def _cond(tf, branch, x):
    return tf.cond(x > 0, lambda: branch(x), lambda: x)


def _nested(tf, branch, x):
    return tf.cond(x > 0, lambda: _cond(tf, branch, x), lambda: x)


def _case(tf, branch, x):
    return tf.switch_case(tf.cast(x, tf.int32), [lambda: x, lambda: branch(x)])


def _while(tf, branch, x):
    return tf.while_loop(lambda y: y < 5.0, lambda y: [branch(y)], [x])


def _while_in_cond(tf, branch, x):
    return tf.cond(x > 0, lambda: _while(tf, branch, x), lambda: x)


def _cond_in_while(tf, branch, x):
    return tf.while_loop(lambda y: y < 5.0, lambda y: [_cond(tf, branch, y)], [x])


def _values(tf, build, around):
    with tf.Graph().as_default(), tf.Session() as session:
        variables = {name: tf.get_variable(name, [], use_resource=True, initializer=tf.constant_initializer(-1.0)) for name in NAMES}
        x = tf.placeholder_with_default(1.0, [])
        result = around(tf, lambda x: build(tf, _assigns(tf, variables), x))(x)
        session.run(tf.global_variables_initializer())
        found = [session.run(result)]
        return found + session.run([variables[name] for name in NAMES])


PROGRAMS = [_cond, _nested, _case, _while, _while_in_cond, _cond_in_while]


@pytest.fixture
def functional(tf1):
    for tf in (tf1, flowmill):
        tf.enable_control_flow_v2()
    yield
    for tf in (tf1, flowmill):
        tf.disable_control_flow_v2()


@pytest.mark.parametrize("build", PROGRAMS)
def test_functions_run_all_effects(tf1, functional, build):
    theirs, ours = (_values(tf, build, lambda tf, f: tf.function(f)) for tf in (tf1, flowmill))
    np.testing.assert_array_equal(ours, theirs)
    assert ours[1:] == [1.0, 2.0, 3.0, 4.0]


# `switch_case` always calls functions.
@pytest.mark.parametrize("build", [build for build in PROGRAMS if build is not _case])
def test_control_flow_by_frames_prunes(tf1, build):
    theirs, ours = (_values(tf, build, lambda tf, f: f) for tf in (tf1, flowmill))
    np.testing.assert_array_equal(ours, theirs)


def test_functions_promise_their_effects(tf1):
    """The `FunctionDef` lists the operations that run, which TensorFlow, too, reads."""
    with flowmill.Graph().as_default() as graph:
        v = flowmill.get_variable("v", [], use_resource=True, initializer=flowmill.zeros_initializer())

        @flowmill.function
        def f(x):
            v.assign(x, read_value=False)
            return x + 1.0

        result, initializer = f(2.0), v.initializer
        message = graph.as_graph_def().SerializeToString()
    with tf1.Graph().as_default(), tf1.Session() as session:
        fetched = tf1.import_graph_def(tf1.GraphDef.FromString(message), return_elements=[result.name, initializer.name, "v/Read/ReadVariableOp:0"], name="")
        session.run(fetched[1])
        assert session.run(fetched[0]) == 3.0
        assert session.run(fetched[2]) == 2.0
