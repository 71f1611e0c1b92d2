"""Batches of nodes, as Python hands them to the core: descriptions that are wrong are errors that say so."""

import pytest

import flowmill as tf
from flowmill import _core

FLOAT, INT32 = tf.float32.as_datatype_enum, tf.int32.as_datatype_enum


def test_inputs_are_earlier_nodes_of_the_batch():
    graph, scope = _core.Graph(), _core.Scope()
    message = tf.AttrValue(type=FLOAT).SerializeToString()
    nodes = (
        ("Const", "two", 2.0, FLOAT), ("VariableV2", "v", (), {"shape": [], "dtype": FLOAT}), ("Assign", "", [1, 0], None, 1),
        ("Identity", "read", ((5, 0),), [("T", message)]))
    ids, types = graph.add_nodes(scope, nodes[:3], "scope")
    assert ids == (2, 3, 4) and types == (100 + FLOAT,)
    assert graph.add_nodes(scope, (("Neg", "minus", ((2, 0),), None),)) == ((5,), (FLOAT,))
    assert graph.add_nodes(scope, nodes[3:]) == ((6,), (FLOAT,))
    assert [graph.node(i)[0] for i in graph.node_ids()] == ["scope/two", "scope/v", "scope", "minus", "read"]
    assert graph.inputs(4) == [(3, 0), (2, 0)] and graph.inputs(6) == [(5, 0)]
    assert b"loc:@scope/v" in graph.node_def(4)
    assert graph.add_nodes(scope, ()) == ((), ())


@pytest.mark.parametrize("nodes, kind, says", [
    ([("NoOp", "n", (), None)], TypeError, "list"),
    (("NoOp",), TypeError, "str"),
    ((("NoOp", "n", ()),), IndexError, "index out of range"),
    ((("NoOp", 3, (), None),), TypeError, "int"),
    ((("Const", "c", "text", INT32),), ValueError, "text"),
    ((("Const", "c", 1, 99),), TypeError, "no type number 99"),
    ((("Neg", "n", (0,), None),), tf.errors.InvalidArgumentError, "node 0 is not among those before 'n'"),
    ((("Neg", "n", ((7, 0),), {"T": FLOAT}),), tf.errors.NotFoundError, "7"),
    ((("NoOp", "n", (), None, 1),), tf.errors.InvalidArgumentError, "node 1 is not among those before 'n'"),
    ((("NoOp", "n", (), {"absent": 1}),), TypeError, "NoOp has no attribute 'absent'"),
    ((("NoOp", "n", (), [("absent", b"\xff")]),), ValueError, "AttrValue"),
    ((("NoSuchOp", "n", (), None),), tf.errors.NotFoundError, "NoSuchOp"),
])
def test_a_wrong_description_is_an_error(nodes, kind, says):
    graph = _core.Graph()
    with pytest.raises(kind, match=says):
        graph.add_nodes(_core.Scope(), nodes)
    assert graph.node_ids() == []
