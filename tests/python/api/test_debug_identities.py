"""Identities that debuggers insert into graphs: the values and errors of TensorFlow."""

import numpy as np
import pytest

import flowmill
from compare import compare


@pytest.mark.parametrize("op", ["DebugIdentity", "DebugIdentityV2", "DebugGradientIdentity"])
def test_identities_of_debuggers(tf1, op):
    name = {"tensor_name": "x:0"} if op == "DebugIdentity" else {}
    compare(tf1, lambda tf: [getattr(tf.raw_ops, op)(input=tf.constant(value), **name) for value in ([1.5, 2.0], "text", True, np.zeros([0, 2]))])


@pytest.mark.parametrize("op", ["DebugIdentityV2", "DebugGradientIdentity"])
def test_gradients_pass_identities_of_debuggers(op):
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        x = flowmill.constant([1.0, 2.0])
        assert session.run(flowmill.gradients(getattr(flowmill.raw_ops, op)(input=x) * 3.0, x))[0].tolist() == [3, 3]


def test_urls_of_debuggers_are_refused():
    with flowmill.Graph().as_default(), flowmill.Session() as session, pytest.raises(flowmill.errors.UnimplementedError, match="debug_urls"):
        session.run(flowmill.raw_ops.DebugIdentityV2(input=1.0, debug_urls=["file:///tmp/x"]))
