"""Signatures of SavedModels whose tensors are references, are shared, are sparse, or are not there; and what loading a model runs and refuses."""

import shutil

import numpy as np
import pytest

import flowmill as tf


@pytest.fixture(scope="module")
def model(tf1, tmp_path_factory):
    """A model of TensorFlow's with signatures of every kind."""
    from tensorflow.core.protobuf import meta_graph_pb2

    path = tmp_path_factory.mktemp("signatures") / "model"
    with tf1.Graph().as_default(), tf1.Session() as sess:
        x = tf1.placeholder(tf1.float32, [None], name="x")
        tf1.get_variable("counter", initializer=np.int32(3), use_resource=False)
        sparse = tf1.sparse_placeholder(tf1.float32, [None, 3], name="s")
        info, signature = tf1.saved_model.build_tensor_info, tf1.saved_model.build_signature_def
        reference = meta_graph_pb2.TensorInfo(name="counter:0", dtype=103)
        composite = meta_graph_pb2.TensorInfo()
        composite.composite_tensor.components.add().CopyFrom(info(sparse.values))
        composite.composite_tensor.components.add().CopyFrom(info(sparse.indices))
        shared = info(tf1.identity(x * 2))
        ready = tf1.get_variable("ready", initializer=False, collections=[tf1.GraphKeys.LOCAL_VARIABLES], use_resource=False)
        sess.run(tf1.global_variables_initializer())
        builder = tf1.saved_model.builder.SavedModelBuilder(str(path))
        builder.add_meta_graph_and_variables(sess, ["serve", "cpu"], {
            "reference": signature({"count": reference}, {"count": reference}),
            "read": signature({}, {"count": reference, "ready": info(tf1.identity(ready))}),
            "shared": signature({"a": info(x), "b": info(x)}, {"y": shared, "z": shared}),
            "passed": signature({"a": info(x)}, {"same": info(x)}),
            "sparse": signature({"s": info(sparse)}, {"dense": info(tf1.sparse.to_dense(sparse)), "twice": info(tf1.SparseTensor(sparse.indices, sparse.values * 2.0, sparse.dense_shape))}),
            "composite": signature({"s": info(sparse)}, {"parts": composite}),
            "empty": signature({}, {}),
            "no_outputs": signature({"a": info(x)}, {}),
        }, main_op=ready.assign(True).op)
        builder.save()
    return path


@pytest.fixture(scope="module")
def signatures(model):
    return tf.saved_model.load(str(model)).signatures


def test_references(signatures):
    assert signatures["read"]() == {"count": 3, "ready": True}
    assert signatures["reference"].inputs["count"].dtype == tf.int32
    assert signatures["reference"](count=np.int32(7)) == {"count": 7}


def test_inputs_of_one_tensor(signatures):
    one, two = np.float32([1]), np.float32([2])
    for inputs in ({"a": one}, {"b": one}, {"a": one, "b": one.copy()}):
        got = signatures["shared"](**inputs)
        assert got["y"].tolist() == got["z"].tolist() == [2.0]
    with pytest.raises(ValueError, match="'a' and 'b'.*different values"):
        signatures["shared"](a=one, b=two)
    with pytest.raises(TypeError, match="needs the input 'a'"):
        signatures["shared"]()


def test_outputs_that_are_inputs(signatures):
    assert signatures["passed"](a=[1.0, 2.0])["same"].tolist() == [1.0, 2.0]


def test_sparse_and_composite_tensors(signatures):
    value = tf.SparseTensorValue(np.int64([[0, 1], [1, 2]]), np.float32([5, 6]), np.int64([2, 3]))
    got = signatures["sparse"](s=value)
    np.testing.assert_array_equal(got["dense"], [[0, 5, 0], [0, 0, 6]])
    assert isinstance(got["twice"], tf.SparseTensorValue) and got["twice"].values.tolist() == [10, 12]
    assert sorted(signatures["sparse"].inputs) == ["s.dense_shape", "s.indices", "s.values"]
    parts = {"s.indices": value.indices, "s.values": value.values, "s.dense_shape": value.dense_shape}
    np.testing.assert_array_equal(signatures["sparse"](**parts)["dense"], got["dense"])
    values, indices = signatures["composite"](s=value)["parts"]
    assert values.tolist() == [5, 6] and indices.tolist() == value.indices.tolist()
    with pytest.raises(TypeError, match="needs the input 's.dense_shape'; it takes s"):
        signatures["sparse"](**{"s.indices": value.indices, "s.values": value.values})


def test_empty_signatures(signatures):
    assert signatures["empty"]() == {}
    assert signatures["no_outputs"](a=[1.0]) == {}


def test_tags_that_do_not_match(tf1, model):
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as sess:
            for tags in (["serve"], [], ["cpu", "serve", "gpu"]):
                with pytest.raises(RuntimeError, match="tags.*serve"):
                    module.saved_model.loader.load(sess, tags, str(model))
            assert module.saved_model.loader.load(sess, ["cpu", "serve"], str(model)).signature_def


@pytest.mark.parametrize("missing, kind", [("saved_model.pb", OSError), ("variables", ValueError)])
def test_models_without_some_of_their_files(tf1, model, tmp_path, missing, kind):
    shutil.copytree(model, tmp_path / "copy")
    path = tmp_path / "copy" / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as sess, pytest.raises(kind):
            module.saved_model.loader.load(sess, ["serve", "cpu"], str(tmp_path / "copy"))
    with pytest.raises(tf.errors.NotFoundError, match="copy"):
        tf.saved_model.load(str(tmp_path / "copy"))


def test_models_without_variables(tf1, tmp_path):
    with tf1.Graph().as_default(), tf1.Session() as sess:
        x = tf1.placeholder(tf1.float32, name="x")
        tf1.saved_model.simple_save(sess, str(tmp_path / "model"), {"x": x}, {"y": x + 1.0})
    assert tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"](x=1.0) == {"y": 2.0}


def test_nodes_inside_of_conditionals_and_loops_are_fetched_after_an_import(tf1, tmp_path):
    with tf1.Graph().as_default():
        tf1.disable_control_flow_v2()
        x = tf1.placeholder(tf1.float32, [], name="x")
        tf1.cond(x > 0, lambda: tf1.add(tf1.constant(5.0, name="five"), x, name="sum"), lambda: tf1.constant(-1.0, name="minus"), name="c")
        tf1.while_loop(lambda i: i < 3, lambda i: i + tf1.constant(1, name="one"), [tf1.constant(0)], name="w")
        tf1.train.export_meta_graph(str(tmp_path / "m.meta"))
    results = []
    for module in (tf1, tf):
        with module.Graph().as_default() as graph, module.Session() as sess:
            module.train.import_meta_graph(str(tmp_path / "m.meta"))
            names = ["c/sum:0", "c/five:0", "c/Merge:0"]
            assert all(graph.is_fetchable(t) and graph.is_feedable(t) for t in map(graph.get_tensor_by_name, [*names, "w/one:0"]))
            results.append([sess.run(names, {"x:0": 2.0}), sess.run("c/Merge:0", {"x:0": 2.0, "c/sum:0": 9.0})])
    assert results[0] == results[1]
