"""Graphs of early producers, whose versions change what shapes mean; TensorFlow is the oracle."""

import numpy as np
import pytest

import flowmill as tf


def placeholder_graph(tf1, producer, axes=None):
    """A graph of a placeholder with a scalar's shape, and of a sum over `axes`; `producer` None leaves the versions out."""
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, [], name="x")
        tf1.identity(x, name="y")
        data = tf1.placeholder(tf1.float32, [None, 3, 2], name="data")
        if axes is not None:
            tf1.reduce_sum(data, tf1.placeholder(tf1.int32, name="axes"), name="sum")
    graph_def = graph.as_graph_def()
    graph_def.versions.Clear()
    if producer is None:
        graph_def.ClearField("versions")
    else:
        graph_def.versions.producer = producer
    for node in graph_def.node:
        if node.name == "axes" and axes is not None:
            node.op = "Const"
            node.attr.clear()
            node.attr["dtype"].type = 3
            node.attr["value"].tensor.CopyFrom(tf1.make_tensor_proto(axes))
    return graph_def


def imported(module, graph_def):
    with module.Graph().as_default() as graph:
        module.import_graph_def(graph_def, name="")
    return graph


@pytest.mark.parametrize("producer", [None, 0, 1, 20, 21, 22, 23, 24, 27, 2474])
def test_a_scalar_placeholder_may_have_any_shape(tf1, producer):
    graph_def = placeholder_graph(tf1, producer)
    shapes, results = [], []
    for module in (tf1, tf):
        graph = imported(module, graph_def)
        shapes.append([str(graph.get_tensor_by_name(name).shape) for name in ("x:0", "y:0")])
        with module.Session(graph=graph) as sess:
            try:
                results.append(sess.run("y:0", {"x:0": np.ones((2, 784), np.float32)}).shape)
            except ValueError as error:
                results.append(str(error))
    assert shapes[0] == shapes[1]
    assert results[0] == results[1]
    assert (results[0] == (2, 784)) == ((producer or 0) <= 21)


@pytest.mark.parametrize("producer", [None, 20])
@pytest.mark.parametrize("axes", [[[0, 1]], [[0], [1]], [1]])
def test_axes_of_reductions_may_be_matrices(tf1, producer, axes):
    graph_def = placeholder_graph(tf1, producer, axes)
    results = []
    for module in (tf1, tf):
        graph = imported(module, graph_def)
        with module.Session(graph=graph) as sess:
            results.append((str(graph.get_tensor_by_name("sum:0").shape), sess.run("sum:0", {"data:0": np.ones((4, 3, 2), np.float32)}).tolist()))
    assert results[0] == results[1]


def test_the_version_of_a_graph_is_the_least_of_its_parts(tf1):
    graph_def = placeholder_graph(tf1, 21)
    shapes = []
    for module in (tf1, tf):
        with module.Graph().as_default() as graph:
            module.constant(1)
            module.import_graph_def(graph_def, name="")
            late = module.placeholder(module.float32, [], name="late")
            shapes.append((str(graph.get_tensor_by_name("x:0").shape), str(late.shape), graph.graph_def_versions.producer))
    assert shapes[0] == shapes[1] == ("<unknown>", "<unknown>", 21)


@pytest.mark.parametrize("op, producer", [("BatchNormWithGlobalNormalization", 8), ("BatchNormWithGlobalNormalization", 9), ("AdjustContrast", 1),
                                          ("AdjustContrast", 2), ("PlaceholderV2", 22), ("PlaceholderV2", 23)])
def test_ops_that_were_removed(tf1, op, producer):
    graph_def = tf1.GraphDef()
    graph_def.versions.producer = producer
    inputs = {"BatchNormWithGlobalNormalization": "tmvbg", "AdjustContrast": "abcd", "PlaceholderV2": ""}[op]
    for name in inputs:
        node = graph_def.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = 1
    node = graph_def.node.add(name="n", op=op, input=list(inputs))
    if op == "PlaceholderV2":
        node.attr["dtype"].type = 1
        node.attr["shape"].shape.dim.add(size=2)
    else:
        node.attr["T"].type = 1
    if op.startswith("Batch"):
        node.attr["variance_epsilon"].f = 0.1
        node.attr["scale_after_normalization"].b = True
    outcomes = []
    for module in (tf1, tf):
        try:
            imported(module, graph_def)
            outcomes.append("loads")
        except (ValueError, module.errors.OpError) as error:
            outcomes.append("is refused" if f"not available in GraphDef version {producer}. It has been removed in version" in str(error) else str(error))
    assert outcomes[0] == outcomes[1]
