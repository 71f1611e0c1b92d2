"""Ops that change rows of a tensor, join rows, or belong to the first graphs."""

import numpy as np
import pytest

import flowmill as tf
from oracles import assert_same, fed


def changed(tf1, op, x, rows, v):
    """As `fed`, of a copy of `x`: TensorFlow changes what was fed."""
    def build(m):
        ones = m.placeholder(x.dtype, name="x") * m.constant(1, x.dtype)
        return [getattr(m.raw_ops, op)(x=ones, i=m.placeholder(m.int32, name="i"), v=m.placeholder(v.dtype, name="v"))]

    return assert_same(tf1, build, {"x:0": x, "i:0": np.int32(rows), "v:0": v})


@pytest.mark.parametrize("op", ["InplaceUpdate", "InplaceAdd", "InplaceSub"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "complex64", "float16"])
def test_rows(tf1, op, dtype):
    x, v = np.arange(12).reshape(4, 3).astype(dtype), (10 * np.arange(1, 7)).reshape(2, 3).astype(dtype)
    for rows in ([0, 2], [-1, 5], [1, 1]):
        assert changed(tf1, op, x, rows, v) is None
    assert changed(tf1, op, x[:0], [0, 2], v) is None
    for rows, change in ((1, v), ([0], v), ([0, 1], v[:, :2]), ([0, 1], v[0])):
        assert changed(tf1, op, x, rows, change) is not None


def test_updates_leave_the_input_alone():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y = tf.raw_ops.InplaceAdd(x=x, i=[0], v=[5.0])
        before, after = session.run([x + 0.0, y], {x: [1.0, 2.0]})
    np.testing.assert_array_equal(before, [1, 2])
    np.testing.assert_array_equal(after, [6, 2])


def test_strings_and_bools(tf1):
    assert fed(tf1, "InplaceUpdate", {"x": np.array([[b"a"], [b"b"]], object), "i": np.int32([1]), "v": np.array([[b"c"]], object)}) is None
    assert fed(tf1, "InplaceUpdate", {"x": np.array([True, False]), "i": np.int32([1]), "v": np.array([True])}) is None


def test_parallel_concat(tf1):
    def build(module):
        rows = [module.constant(np.float32([[i, i + 1, i + 2]])) for i in range(3)]
        return module.raw_ops.ParallelConcat(values=rows, shape=[3, 3])

    results = []
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as session:
            results.append(session.run(build(module)))
    np.testing.assert_array_equal(results[1], results[0])


def test_buckets_of_boosted_trees():
    """TensorFlow declares the op but has no kernel any more: the values are those of its definition."""
    with tf.Graph().as_default(), tf.Session() as session:
        values = [tf.constant([-1.0, 0.0, 0.5, 3.0, 9.0]), tf.constant([1.0, 2.0, 3.0, np.inf, -np.inf])]
        found = session.run(tf.raw_ops.BoostedTreesBucketize(float_values=values, bucket_boundaries=[[0.0, 1.0, 4.0], [2.0]]))
    np.testing.assert_array_equal(found, [[0, 0, 1, 2, 2], [0, 0, 0, 0, 0]])


@pytest.mark.parametrize("scales", [False, True])
def test_batch_norm_of_the_first_graphs(tf1, scales):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 4, 5)).astype(np.float32)
    m, beta, gamma = rng.normal(size=(3, 5)).astype(np.float32)
    v = rng.uniform(0.5, 2, 5).astype(np.float32)
    graph_def = tf1.GraphDef()
    graph_def.versions.producer = 8
    names = []
    for name, value in (("t", x), ("m", m), ("v", v), ("beta", beta), ("gamma", gamma)):
        node = graph_def.node.add(name=name, op="Const")
        node.attr["dtype"].type = tf1.float32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf1.make_tensor_proto(value))
        names.append(name)
    node = graph_def.node.add(name="y", op="BatchNormWithGlobalNormalization", input=names)
    node.attr["T"].type = tf1.float32.as_datatype_enum
    node.attr["variance_epsilon"].f = 0.01
    node.attr["scale_after_normalization"].b = scales
    results = []
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as session:
            module.import_graph_def(graph_def if module is tf1 else graph_def.SerializeToString(), name="")
            results.append(session.run("y:0"))
    np.testing.assert_allclose(results[1], results[0], 1e-5, 1e-5)
