"""Scopes of the default graph, by the functions at the top level."""

import flowmill
import pytest
from compare import compare, same_error


def test_name_scopes(tf1):
    def build(tf):
        x = tf.constant(1.0, name="x")
        with tf.name_scope("a") as a:
            one = tf.negative(x)
            with tf.name_scope(None, "b", [x, None]):
                two = tf.negative(one)
            with tf.name_scope("c", "other", values=[x]) as c:
                three = tf.negative(two, name=c)
            with tf.name_scope(a):
                four = tf.negative(three)
            with tf.name_scope(""):
                five = tf.negative(four)
        assert (a, c) == ("a/", "a/c/")
        with tf.op_scope([x], "a", "default") as again:
            assert again == "a_1/"
            return tf.negative(five)

    compare(tf1, build)


def test_a_name_scope_is_entered_again(tf1):
    def build(tf):
        scope = tf.name_scope("s")
        assert scope.name == "s"
        with scope:
            one = tf.constant(1)
        with scope:
            return one, tf.constant(2)

    compare(tf1, build)


def test_the_graph_of_values_becomes_the_default():
    tf = flowmill
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(1.0)
    with tf.Graph().as_default(), tf.name_scope(None, "in", [x]):
        assert tf.constant(2.0).graph is other


def test_dependencies_devices_and_colocation(tf1):
    def build(tf):
        x = tf.constant(1.0, name="x")
        with tf.control_dependencies([x]), tf.device("/cpu:0"):
            y = tf.constant(2.0, name="y")
        with tf.colocate_with(x):
            z = tf.constant(3.0, name="z")
        with tf.container("here"), tf.device(lambda op: "/job:localhost"):
            w = tf.Variable(1.0, name="w")
        assert z.op.colocation_groups() == [b"loc:@x"] and w.op.get_attr("container") == b"here"
        assert (y.op.device, w.op.device) == ("/device:CPU:0", "/job:localhost")
        return x, y, z

    compare(tf1, build)


@pytest.mark.parametrize("make", [
    lambda tf: tf.name_scope("a", 5), lambda tf: tf.name_scope(None, None, [tf.constant(1)]).__enter__(), lambda tf: tf.name_scope("a b").__enter__(),
])
def test_errors(tf1, make):
    same_error(tf1, make)
