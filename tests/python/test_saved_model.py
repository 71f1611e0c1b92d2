"""SavedModels that TensorFlow makes here, of both versions of the format, and checkpoints."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import flowmill as tf


def made_by_tensorflow(path, code):
    """Runs code with TensorFlow's version 2 API in a process of its own; `out` is where it writes."""
    # A file, not an argument: TensorFlow reads the source of functions with control flow.
    script = path.parent / "make.py"
    prelude = "import os, sys; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\nimport numpy as np, tensorflow as tf\nout = sys.argv[1]\n"
    script.write_text(prelude + textwrap.dedent(code))
    # Keras 3 makes these, not the one for version 1.
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "0"}
    done = subprocess.run([sys.executable, str(script), str(path)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return path


@pytest.fixture(scope="module")
def version_1(tf1, tmp_path_factory):
    """y = w * x + b; `word` looks a string up in a table that is read from an asset."""
    root = tmp_path_factory.mktemp("v1")
    words = root / "words.txt"
    words.write_text("a\nb\nc\n")
    with tf1.Graph().as_default(), tf1.Session() as sess:
        x = tf1.placeholder(tf1.float32, [None], name="x")
        w = tf1.get_variable("w", initializer=3.0, use_resource=False)
        b = tf1.get_variable("b", initializer=np.float32(1), use_resource=True)
        y = tf1.identity(w * x + b, name="y")
        word = tf1.placeholder(tf1.string, [None], name="word")
        asset = tf1.constant(str(words), name="words")
        tf1.add_to_collection(tf1.GraphKeys.ASSET_FILEPATHS, asset)
        table = tf1.lookup.StaticVocabularyTable(
            tf1.lookup.TextFileInitializer(asset, tf1.string, tf1.lookup.TextFileIndex.WHOLE_LINE, tf1.int64, tf1.lookup.TextFileIndex.LINE_NUMBER), 1)
        number = table.lookup(word)
        tf1.add_to_collection("numbers", number)
        sess.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
        info = tf1.saved_model.build_tensor_info
        builder = tf1.saved_model.builder.SavedModelBuilder(str(root / "model"))
        builder.add_meta_graph_and_variables(
            sess, ["serve"],
            {"serving_default": tf1.saved_model.build_signature_def({"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict"),
             "number": tf1.saved_model.build_signature_def({"word": info(word)}, {"number": info(number)}, "look up")},
            assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS), main_op=tf1.tables_initializer())
        builder.add_meta_graph(["serve", "gpu"])
        builder.save()
    words.unlink()  # the model has a copy
    return root / "model"


def test_loading_into_a_session(version_1):
    with tf.Graph().as_default() as g, tf.Session() as sess:
        meta_graph = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], version_1)
        signature = meta_graph.signature_def["serving_default"]
        y = sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: [1, 2]})
        np.testing.assert_array_equal(y, [4, 7])
        number, = g.get_collection("numbers")
        assert sess.run(number, {"word:0": ["c", "a", "none"]}).tolist() == [2, 0, 3]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], str(version_1), import_scope="here")
        np.testing.assert_array_equal(sess.run("here/y:0", {"here/x:0": [1]}), [4])


def test_a_model_by_its_signatures(version_1):
    with pytest.raises(tf.errors.NotFoundError, match="serve"):
        tf.saved_model.load(version_1, ["train"])
    model = tf.saved_model.load(version_1)  # has two graphs: the one for serving
    assert sorted(model.signatures) == ["number", "serving_default"]
    predict = model.signatures["serving_default"]
    assert predict.inputs["x"].dtype is tf.float32 and predict.inputs["x"].shape.as_list() == [None]
    assert predict.method_name == tf.saved_model.PREDICT_METHOD_NAME
    np.testing.assert_array_equal(predict(x=[2.0])["y"], [7])
    assert model.signatures["number"](word=["b"])["number"].tolist() == [1]
    assert model.meta_graph_def.meta_info_def.tags == ["serve"]
    with pytest.raises(TypeError, match="needs the input 'x'"):
        predict()
    with pytest.raises(TypeError, match="no input 'z'"):
        predict(x=[1.0], z=2)
    with pytest.raises(KeyError):
        model.signatures["none"]


def test_no_model(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="Could not find SavedModel"):
        tf.saved_model.load(tmp_path)
    assert not tf.saved_model.maybe_saved_model_directory(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\x0b\xff")
    assert tf.saved_model.maybe_saved_model_directory(tmp_path)
    with pytest.raises(tf.errors.DataLossError):
        tf.saved_model.load(tmp_path)


def test_a_function_with_control_flow(tmp_path):
    path = made_by_tensorflow(tmp_path / "model", """
        class Model(tf.Module):
            def __init__(self):
                self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
                self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["p", "q"], [1.5, 2.5]), -1.0)

            @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.string)])
            def __call__(self, x, n, key):
                i, outs = 0, tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
                while i < n:
                    if tf.reduce_sum(x) > 10:
                        x = x * 0.5
                    else:
                        x = tf.matmul(x, self.w)
                    outs = outs.write(i, tf.reduce_sum(x))
                    i += 1
                return {"x": x, "sums": outs.stack(), "values": self.table.lookup(key), "i": i}

        m = Model()
        x = np.array([[0.5, -1.0], [2.0, 0.25]], np.float32)
        tf.saved_model.save(m, out)
        for n in (0, 1, 7):
            got = m(tf.constant(x), tf.constant(n), tf.constant(["q", "z"]))
            np.savez(out + "/want%d.npz" % n, **{k: v.numpy() for k, v in got.items()})
    """)
    model = tf.saved_model.load(path)
    call = model.signatures["serving_default"]
    assert set(call.inputs) == {"x", "n", "key"} and set(call.outputs) == {"x", "sums", "values", "i"}
    for n in (0, 1, 7):
        got = call(x=[[0.5, -1.0], [2.0, 0.25]], n=n, key=["q", "z"])
        want = np.load(path / f"want{n}.npz")
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=1e-5, err_msg=name)


def test_a_keras_application(tmp_path):
    path = made_by_tensorflow(tmp_path / "model", """
        tf.keras.utils.set_random_seed(5)
        model = tf.keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3), alpha=0.35, classes=10)
        model.export(out, verbose=False)
        x = np.random.RandomState(1).uniform(-1, 1, (2, 96, 96, 3)).astype(np.float32)
        np.savez(out + "/want.npz", x=x, y=model(x, training=False).numpy())
    """)
    want = np.load(path / "want.npz")
    call = tf.saved_model.load(path).signatures["serving_default"]
    (x,), (y,) = call.inputs, call.outputs
    for _ in range(2):
        np.testing.assert_allclose(call(**{x: want["x"]})[y], want["y"], rtol=1e-4, atol=1e-5)


def test_recorded_models(data):
    table = tf.saved_model.load(data / "saved_models" / "v1_table")
    assert table.signatures
    loop = tf.saved_model.load(data / "saved_models" / "v2_table_loop")
    assert loop.signatures


def test_checkpoints(tf1, tmp_path):
    with tf1.Graph().as_default(), tf1.Session() as sess:
        a = tf1.get_variable("a", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
        b = tf1.get_variable("b", initializer=np.int64(7))
        sess.run([a.initializer, b.initializer])
        saver = tf1.train.Saver([a, b])
        saver.save(sess, str(tmp_path / "ckpt"), global_step=1)
        newest = saver.save(sess, str(tmp_path / "ckpt"), global_step=2)
    assert tf.train.latest_checkpoint(tmp_path) == newest == str(tmp_path / "ckpt-2")
    assert tf.train.latest_checkpoint(tmp_path / "none") is None
    assert len(tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths) == 2
    assert tf.train.checkpoint_exists(newest) and not tf.train.checkpoint_exists(newest + "9")
    reader = tf.train.load_checkpoint(tmp_path)
    assert reader.get_variable_to_shape_map() == {"a": [2, 3], "b": []}
    assert reader.get_variable_to_dtype_map() == {"a": tf.float32, "b": tf.int64}
    assert reader.has_tensor("a") and not reader.has_tensor("c")
    np.testing.assert_array_equal(reader.get_tensor("a"), np.arange(6).reshape(2, 3))
    assert tf.train.load_variable(newest, "b") == 7 and tf.train.list_variables(newest) == [("a", [2, 3]), ("b", [])]
    assert b"a (DT_FLOAT) [2,3]" in tf.train.NewCheckpointReader(newest).debug_string()
    with pytest.raises(tf.errors.NotFoundError):
        reader.get_tensor("c")
