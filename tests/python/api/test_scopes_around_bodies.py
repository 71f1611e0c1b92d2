"""Scopes around and in the bodies of functional loops, branches and functions: devices, colocation and control dependencies that reach into them are TensorFlow's."""

import flowmill
import numpy as np
import pytest
from compare import compare


def loop(tf, inner):
    # Updates of variables in several iterations at once have no order.
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, inner(x)), [tf.constant(0), tf.constant(1.0)], parallel_iterations=1)[1]


def branch(tf, inner):
    x = tf.constant(1.0)
    return tf.cond(tf.constant(True), lambda: inner(x), lambda: tf.constant(2.0))


def function(tf, inner):
    return tf.function(inner, autograph=False)(tf.constant(1.0))


FORMS = [loop, branch, function]


@pytest.fixture
def functional(tf1):
    """Makes loops and branches functions, in both modules."""
    tf1.enable_control_flow_v2()
    flowmill.enable_control_flow_v2()
    yield
    tf1.disable_control_flow_v2()
    flowmill.disable_control_flow_v2()


def in_a_device(tf, form):
    with tf.device("/cpu:1"):
        form(tf, tf.exp)


def in_devices_that_functions_choose(tf, form):
    with tf.device("/job:a"), tf.device(lambda op: "/cpu:2" if op.type == "Exp" else "/cpu:1"):
        form(tf, tf.exp)


def in_a_device_that_the_body_completes(tf, form):
    def inner(x):
        with tf.device("/job:b"):
            return tf.exp(x)

    with tf.device("/cpu:1"):
        form(tf, inner)


def in_a_device_that_the_body_resets(tf, form):
    def inner(x):
        with tf.device(None):
            return tf.exp(x)

    with tf.device("/cpu:1"):
        form(tf, inner)


def outside(tf, device="/cpu:1"):
    with tf.device(device):
        return tf.exp(1.0, name="outside")


def around_colocation(tf, form):
    with tf.colocate_with(outside(tf)):
        form(tf, tf.sin)


def around_colocation_and_a_device(tf, form):
    with tf.colocate_with(outside(tf)), tf.device("/cpu:3"):
        form(tf, tf.sin)


def of_a_node_outside(tf, form, device="/cpu:1"):
    node = outside(tf, device)

    def inner(x):
        with tf.colocate_with(node):
            y = tf.sin(x)
        with tf.colocate_with(y):
            return tf.exp(y)

    form(tf, inner)


def of_a_node_outside_without_device(tf, form):
    of_a_node_outside(tf, form, device=None)


def of_nodes_inside_and_outside(tf, form):
    node = outside(tf)

    def inner(x):
        with tf.device("/cpu:2"):
            z = tf.exp(x, name="z")
        with tf.colocate_with(node), tf.colocate_with(z):
            u = tf.sin(x, name="u")
        with tf.colocate_with(z), tf.colocate_with(node):
            v = tf.sin(x, name="v")
        with tf.colocate_with(z), tf.colocate_with(node, ignore_existing=True):
            w = tf.sin(x, name="w")
        return u + v + w

    form(tf, inner)


def of_a_variable_outside(tf, form):
    with tf.device("/cpu:1"):
        variable = tf.get_variable("v", initializer=1.0, use_resource=True)

    def inner(x):
        with tf.colocate_with(variable):
            y = tf.exp(x)
        with tf.control_dependencies([variable.assign_add(y)]):
            return variable + x

    form(tf, inner)


def of_a_node_two_functions_outside(tf, form):
    node = outside(tf)

    def inner(x):
        with tf.colocate_with(node):
            return tf.sin(x)

    form(tf, lambda x: branch(tf, lambda _: inner(x)))


PROGRAMS = [in_a_device, in_devices_that_functions_choose, in_a_device_that_the_body_completes, in_a_device_that_the_body_resets, around_colocation,
            around_colocation_and_a_device, of_a_node_outside, of_a_node_outside_without_device, of_nodes_inside_and_outside, of_a_variable_outside,
            of_a_node_two_functions_outside]


def described(tf, program, form):
    """Returns the op, the device and the groups of each node of interest in a function."""
    with tf.Graph().as_default() as graph:
        program(tf, form)
    bodies = [[(n.op, n.device, sorted(n.attr["_class"].list.s)) for n in f.node_def if n.op in ("Exp", "Sin", "AssignAddVariableOp")]
              for f in graph.as_graph_def().library.function]
    return sorted(body for body in bodies if body)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_devices_and_groups_in_bodies(tf1, functional, program, form):
    expected = described(tf1, program, form)
    assert expected and described(flowmill, program, form) == expected


def waiting_for_an_update(tf, form, of):
    variable = tf.get_variable("v", initializer=0.0, use_resource=True)

    def inner(x):
        with tf.control_dependencies([of(tf, variable.assign_add(1.0), x)]):
            return x + variable.read_value()

    return form(tf, inner)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", [lambda _, update, x: update, lambda _, update, x: update.op, lambda tf, update, x: tf.group(update, x)],
                         ids=["variable", "operation", "group"])
def test_bodies_wait_for_updates_of_variables(tf1, functional, form, of):
    compare(tf1, lambda tf: waiting_for_an_update(tf, form, of), nodes=False, initialize=True)


@pytest.mark.parametrize("form", FORMS)
def test_calls_wait_for_nodes_outside(tf1, functional, form):
    def program(tf):
        variable = tf.get_variable("v", initializer=0.0, use_resource=True)
        updates = [variable.assign_add(1.0), variable.assign_add(2.0).op, tf.IndexedSlices(tf.identity(variable.assign_add(4.0)), tf.constant([0]))]

        def inner(x):
            with tf.control_dependencies(updates):
                return x + variable.read_value()

        return form(tf, inner)

    values = compare(tf1, program, nodes=False, initialize=True)
    np.testing.assert_allclose(values[0], 22 if form is loop else 8)


@pytest.mark.parametrize("form", FORMS)
def test_bodies_get_values_of_reference_variables(tf1, functional, form):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            variable = tf.get_variable("v", initializer=0.0, use_resource=False)
            with pytest.raises(TypeError):
                form(tf, lambda x: variable.assign_add(x))


def test_inlined_bodies_are_where_the_nodes_outside_are(functional):
    with flowmill.Graph().as_default():
        x = flowmill.placeholder(flowmill.float32, [], name="x")
        with flowmill.device("/cpu:1"):
            node = flowmill.exp(x)

        def body(i, v):
            with flowmill.colocate_with(node):
                return i + 1, flowmill.sin(v)

        result = flowmill.while_loop(lambda i, v: i < 3, body, [0, x])[1]
        metadata = flowmill.RunMetadata()
        with flowmill.Session(config=flowmill.ConfigProto(device_count={"CPU": 2})) as session:
            options = flowmill.RunOptions(output_partition_graphs=True)
            value = session.run(result, {x: 0.5}, options, metadata)
    np.testing.assert_allclose(value, np.sin(np.sin(np.sin(0.5))), rtol=1e-6)
    devices = {node.device[-5:] for part in metadata.partition_graphs for node in part.node if "Sin" in node.op or "lementwise" in node.op}
    assert devices == {"CPU:1"}
