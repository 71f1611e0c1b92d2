"""Graphs with ops that cannot run: they load, are written back as they were, and run as far as no step needs the ops."""

import json
import subprocess
import sys

import numpy as np
import pytest

import flowmill as tf
from flowmill import _core
from flowmill._internal import protos


def graph_with(tf1, build):
    with tf1.Graph().as_default() as graph:
        build()
    return graph.as_graph_def()


def rnn(tf1):
    """A graph where `y` needs no kernel that is missing, and `bad` does."""
    def build():
        x = tf1.placeholder(tf1.float32, [2, 3, 4], name="x")
        tf1.identity(x * 2.0, name="y")
        state = tf1.zeros([1, 3, 4])
        tf1.raw_ops.CudnnRNN(input=x, input_h=state, input_c=state, params=tf1.zeros([100]), name="rnn")
        tf1.identity(tf1.get_default_graph().get_tensor_by_name("rnn:0"), name="bad")
    return graph_with(tf1, build)


def test_a_graph_runs_as_far_as_it_can(tf1):
    graph_def = rnn(tf1)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        assert graph.get_tensor_by_name("rnn:0").dtype == tf.float32 and len(graph.get_operation_by_name("rnn").outputs) == 4
        assert sess.run("y:0", {"x:0": np.ones((2, 3, 4))}).sum() == 48
        with pytest.raises(tf.errors.NotFoundError, match=r"CudnnRNN \(rnn\).*other fetches, or feeds") as raised:
            sess.run("bad:0", {"x:0": np.ones((2, 3, 4))})
        assert raised.value.node_name == "rnn" and raised.value.op_type == "CudnnRNN"
        assert sess.run("bad:0", {"rnn:0": [1.0]}).tolist() == [1.0]
        assert graph.as_graph_def().SerializeToString(deterministic=True) == graph_def.SerializeToString(deterministic=True)


def test_every_op_of_tensorflow_is_known(tf1):
    from tensorflow.python.framework import op_def_registry

    missing, wrong = [], []
    for name in dir(tf1.raw_ops):
        theirs = op_def_registry.get(name)
        if theirs is None:
            continue
        ours = _core.op_def(name)
        if ours is None:
            missing.append(name)
            continue
        ours = protos.get("OpDef").FromString(ours)
        if [(a.name, a.type, a.type_attr) for a in ours.input_arg] != [(a.name, a.type, a.type_attr) for a in theirs.input_arg] or (
                [(a.name, a.type, a.default_value.SerializeToString()) for a in ours.attr]
                != [(a.name, a.type, a.default_value.SerializeToString()) for a in theirs.attr]):
            wrong.append(name)
    assert missing == []
    assert wrong == []


def test_raw_ops_list_what_can_run():
    names = dir(tf.raw_ops)
    assert "MatMul" in names and "CudnnRNN" not in names
    with tf.Graph().as_default() as graph:
        tf.raw_ops.CudnnRNNParamsSize(num_layers=1, num_units=2, input_size=3, T=tf.float32, S=tf.int32, name="size")
        assert graph.get_operation_by_name("size").outputs[0].dtype == tf.int32
    with pytest.raises(AttributeError, match="NoSuchOp"):
        tf.raw_ops.NoSuchOp


def custom_meta_graph(with_definition):
    meta = protos.get("MetaGraphDef")()
    x = meta.graph_def.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = 1
    custom = meta.graph_def.node.add(name="custom", op="MyRuntime", input=["x"])
    custom.attr["T"].type = 1
    meta.graph_def.node.add(name="y", op="Identity", input=["x"]).attr["T"].type = 1
    meta.graph_def.versions.producer = 27
    if with_definition:
        op = meta.meta_info_def.stripped_op_list.op.add(name="MyRuntime")
        op.input_arg.add(name="x", type_attr="T")
        op.output_arg.add(name="out", type_attr="T")
        op.attr.add(name="T", type="type")
        op.attr.add(name="mode", type="string").default_value.s = b"fast"
    return meta


def test_custom_ops_load_with_their_definition(tmp_path):
    meta = custom_meta_graph(True)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.train.import_meta_graph(meta)
        assert graph.get_tensor_by_name("custom:0").dtype == tf.float32
        assert sess.run("y:0", {"x:0": 3.0}) == 3.0
        with pytest.raises(tf.errors.NotFoundError, match="MyRuntime"):
            sess.run("custom:0", {"x:0": 3.0})
        exported = graph.as_graph_def()
        assert [n.op for n in exported.node] == ["Placeholder", "MyRuntime", "Identity"] and not exported.library.function
    model = protos.get("SavedModel")(saved_model_schema_version=1)
    model.meta_graphs.add().CopyFrom(meta)
    signature = model.meta_graphs[0].signature_def["f"]
    signature.inputs["x"].name, signature.outputs["y"].name = "x:0", "y:0"
    signature.inputs["x"].dtype = signature.outputs["y"].dtype = 1
    model.meta_graphs[0].meta_info_def.tags.append("serve")
    (tmp_path / "saved_model.pb").write_bytes(model.SerializeToString())
    assert tf.saved_model.load(str(tmp_path)).signatures["f"](x=2.0) == {"y": 2.0}


def test_custom_ops_without_a_definition_are_refused():
    with tf.Graph().as_default(), pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'MyRuntime': custom"):
        tf.train.import_meta_graph(custom_meta_graph(False))


def inspected(path):
    report = [subprocess.run([sys.executable, "-m", "flowmill", "inspect", str(path), *options], capture_output=True, text=True, check=True).stdout
              for options in (["--json"], [])]
    return json.loads(report[0])["graphs"][0], report[1]


def test_inspect_says_what_matters(tf1, tmp_path):
    def build():
        x = tf1.placeholder(tf1.float32, [2, 3, 4], name="x")
        size = tf1.raw_ops.CudnnRNNParamsSize(num_layers=1, num_units=2, input_size=3, T=tf1.float32, S=tf1.int32)
        kept = tf1.raw_ops.Shape(input=tf1.raw_ops.Reshape(tensor=size, shape=[1]))  # known without the value
        state = tf1.zeros([1, 3, 4])
        unused = tf1.raw_ops.CudnnRNN(input=x, input_h=state, input_c=state, params=tf1.zeros([100]))
        decoded = tf1.raw_ops.CudnnRNNV2(input=x, input_h=state, input_c=state, params=tf1.zeros([100]))
        return x, tf1.identity(kept), unused, decoded.output

    with tf1.Graph().as_default() as graph, tf1.Session() as sess:
        x, kept, _, decoded = build()
        info = tf1.saved_model.build_tensor_info
        builder = tf1.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(sess, ["serve"], {
            "good": tf1.saved_model.build_signature_def({"x": info(x)}, {"size": info(kept)}),
            "bad": tf1.saved_model.build_signature_def({"x": info(x)}, {"y": info(decoded)})})
        builder.save()
        (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    found, text = inspected(tmp_path / "model")
    assert list(found["unsupported"]) == ["CudnnRNNV2"] and list(found["not_needed"]) == ["CudnnRNN"]
    assert list(found["folded"]) == ["CudnnRNNParamsSize"] and found["unknown"] == {}
    assert "UNSUPPORTED CudnnRNNV2" in text and "not needed CudnnRNN:" in text and "folded away CudnnRNNParamsSize" in text
    found, _ = inspected(tmp_path / "graph.pb")
    assert sorted(found["unsupported"]) == ["CudnnRNN", "CudnnRNNV2"]
    graph_def = custom_meta_graph(False).graph_def
    (tmp_path / "custom.pb").write_bytes(graph_def.SerializeToString())
    found, text = inspected(tmp_path / "custom.pb")
    assert list(found["unknown"]) == ["MyRuntime"] and "UNKNOWN MyRuntime" in text
