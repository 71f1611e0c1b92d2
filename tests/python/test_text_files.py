"""Graphs, MetaGraphs, SavedModels and checkpoints' states as text, as both modules write them, and files that hold none of these."""

import numpy as np
import pytest

import flowmill as tf


@pytest.fixture(scope="module")
def written(tf1, tmp_path_factory):
    """What TensorFlow writes as text: a graph, a MetaGraph and a SavedModel with an asset."""
    path = tmp_path_factory.mktemp("text")
    (path / "words.txt").write_text("a\nb\n")
    with tf1.Graph().as_default() as graph, tf1.Session() as sess:
        x = tf1.placeholder(tf1.float32, [None, 2], name="x")
        v = tf1.get_variable("v", initializer=np.float32([[1, np.inf], [-0.5, 3]]))
        asset = tf1.constant(str(path / "words.txt"))
        tf1.add_to_collection(tf1.GraphKeys.ASSET_FILEPATHS, asset)
        table = tf1.lookup.StaticVocabularyTable(
            tf1.lookup.TextFileInitializer(asset, tf1.string, tf1.lookup.TextFileIndex.WHOLE_LINE, tf1.int64, tf1.lookup.TextFileIndex.LINE_NUMBER), 1)
        word = tf1.placeholder(tf1.string, [None], name="word")
        number = table.lookup(word)
        y = tf1.identity(tf1.where(tf1.is_inf(x @ v), x, x @ v) + tf1.constant([[1.5, float("nan")]]), name="y")
        bytes_ = tf1.constant(b"\x00\xff'\"\n", name="bytes")
        sess.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
        tf1.train.export_meta_graph(str(path / "meta.pbtxt"), as_text=True)
        tf1.train.Saver().save(sess, str(path / "c"), write_meta_graph=False)
        builder = tf1.saved_model.builder.SavedModelBuilder(str(path / "model"))
        info = tf1.saved_model.build_tensor_info
        builder.add_meta_graph_and_variables(
            sess, ["serve"], {"serving_default": tf1.saved_model.build_signature_def(
                {"x": info(x), "word": info(word)}, {"y": info(y), "number": info(number), "bytes": info(bytes_)})},
            assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS), main_op=tf1.tables_initializer())
        builder.save(as_text=True)
        rows, graph_def = np.float32([[1, 2], [0, 4]]), graph.as_graph_def()
        tf1.io.write_graph(graph_def, str(path), "graph.pbtxt", as_text=True)
        expected = sess.run([y, number, bytes_], {x: rows, word: ["b", "q"]})
    return path, rows, expected, graph_def


def test_saved_models(written):
    path, rows, (y, number, text), _ = written
    assert not (path / "model" / "saved_model.pb").exists()
    got = tf.saved_model.load(str(path / "model")).signatures["serving_default"](x=rows, word=["b", "q"])
    np.testing.assert_array_equal(got["y"], y)
    assert got["number"].tolist() == number.tolist() and got["bytes"] == text
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.loader.load(sess, ["serve"], str(path / "model"))
        np.testing.assert_array_equal(sess.run("y:0", {"x:0": rows}), y)


def test_graphs_by_path_and_as_bytes(written):
    path, _, _, graph_def = written
    (path / "named.pb").write_bytes((path / "graph.pbtxt").read_bytes())
    for source in (path / "graph.pbtxt", str(path / "named.pb"), (path / "graph.pbtxt").read_bytes()):
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(source, name="")
            assert [op.name for op in graph.get_operations()] == [n.name for n in graph_def.node]
            assert graph.as_graph_def().SerializeToString(deterministic=True) == graph_def.SerializeToString(deterministic=True)


def test_meta_graphs_and_states(written):
    path, rows, (y, _, _), _ = written
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(str(path / "meta.pbtxt"))
        saver.restore(sess, tf.train.latest_checkpoint(str(path)))
        np.testing.assert_array_equal(sess.run("y:0", {"x:0": rows}), y)


def test_what_is_written_as_text_is_read(tf1, tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.io.write_graph(graph, str(tmp_path), "graph.pbtxt")
        builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(sess, ["serve"], {"f": tf.saved_model.predict_signature_def({"x": x}, {"x": x})})
        builder.save(as_text=True)
    with tf1.Graph().as_default(), tf1.Session() as sess:
        assert "f" in tf1.saved_model.loader.load(sess, ["serve"], str(tmp_path / "model")).signature_def
    assert tf.saved_model.load(str(tmp_path / "model")).signatures["f"](x=3.0) == {"x": 3.0}


def test_mistakes_have_a_place(tmp_path):
    (tmp_path / "graph.pbtxt").write_text('node {\n  name: "x"\n  opp: "NoOp"\n}')
    with tf.Graph().as_default(), pytest.raises(tf.errors.DataLossError, match=r"graph.pbtxt.*line 3, column 3.*'opp'"):
        tf.import_graph_def(tmp_path / "graph.pbtxt")
    with pytest.raises(OSError, match="line 1, column 1"):
        tf.train.import_meta_graph(str(tmp_path / "graph.pbtxt"))
    (tmp_path / "checkpoint").write_text("model_checkpoint_path: 3")
    with pytest.raises(tf.errors.InvalidArgumentError, match="line 1, column 24"):
        tf.train.latest_checkpoint(str(tmp_path))


@pytest.mark.parametrize("contents, kind", [
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n", "Git LFS pointer"), (b"<!DOCTYPE html><html>", "HTML page"),
    (b"PK\x03\x04 archive/data.pkl", "PyTorch"), (b"\x89HDF\r\n\x1a\n\x00", "HDF5"), (b"", "empty")])
def test_files_of_other_kinds_are_named(tmp_path, contents, kind):
    path = tmp_path / "saved_model.pb"
    path.write_bytes(contents)
    with tf.Graph().as_default() as graph:
        for read in (lambda: tf.import_graph_def(path), lambda: tf.saved_model.load(str(tmp_path)), lambda: tf.train.import_meta_graph(str(path))):
            with pytest.raises((tf.errors.DataLossError, OSError), match=kind):
                read()
        assert not graph.get_operations()
