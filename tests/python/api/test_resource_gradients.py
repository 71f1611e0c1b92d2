"""Gradients by resource variables that branches read."""

import numpy as np
import pytest

import flowmill


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.usefixtures("control_flow")
def test_a_variable_that_both_branches_read(tf1, taken):
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            v = tf.get_variable("v", initializer=np.float32([2, 3]), use_resource=True)
            p = tf.placeholder(tf.bool, [], "p")
            y = tf.cond(p, lambda: v * v, lambda: v * 5.0)
            z = tf.cond(p, lambda: v * v, lambda: tf.constant([1.0, 1.0]))
            grads = [tf.gradients(y, v)[0], tf.gradients(z, v)[0]]
            with tf.Session(graph=graph) as session:
                session.run(tf.global_variables_initializer())
                results.append(session.run(grads, {p: taken}))
    np.testing.assert_allclose(*results)
