"""Files that are overwritten, cut short or removed while what was loaded from them runs. In processes of their own: a mapped file would end them."""

import subprocess
import sys

import numpy as np
import pytest

import flowmill as tf

MODEL = """
import numpy as np, os, sys, flowmill as tf
directory = sys.argv[1]
rows = np.ones((1, 1000), np.float32)

def cut(name):
    with open(os.path.join(directory, name), "r+b") as file:
        file.truncate(100)
"""
GRAPH = MODEL + """
with tf.Graph().as_default() as graph:
    tf.import_graph_def(os.path.join(directory, "graph.pb"), name="")
session = tf.Session(graph=graph)
if sys.argv[2] == "after a run":
    session.run("y:0", {"x:0": rows})
cut("graph.pb")
print(session.run("y:0", {"x:0": rows}).sum())
"""
SAVED_MODEL = MODEL + """
model = tf.saved_model.load(os.path.join(directory, "model"))
for name in ("saved_model.pb", "variables/variables.data-00000-of-00001", "variables/variables.index"):
    cut("model/" + name)
print(model.signatures["serving_default"](x=rows)["y"].sum())
assert model.meta_graph_def.signature_def
"""
CHECKPOINT = MODEL + """
reader = tf.train.load_checkpoint(os.path.join(directory, "model/variables/variables"))
first = reader.get_tensor("v")
cut("model/variables/variables.data-00000-of-00001")
try:
    reader.get_tensor("u")
except tf.errors.DataLossError as error:
    assert "ends before byte" in str(error)
print((first @ first[:, :1]).sum())
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A graph with a constant of 4 MB and a SavedModel with a variable of as much."""
    path = tmp_path_factory.mktemp("files")
    ones = np.ones((1000, 1000), np.float32)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.matmul(tf.placeholder(tf.float32, [None, 1000], name="x"), tf.constant(ones), name="y")
        (path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 1000])
        v, u = tf.get_variable("v", initializer=ones), tf.get_variable("u", initializer=ones)
        y = tf.matmul(x, tf.constant(ones)) @ v + tf.reduce_sum(u)
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(path / "model"), {"x": x}, {"y": y})
    return path


@pytest.mark.parametrize("program, when, expected", [
    (GRAPH, "after a run", 1e6), (GRAPH, "before", 1e6), (SAVED_MODEL, "", 2e9), (CHECKPOINT, "", 1e6)])
def test_what_was_loaded_stays(directory, tmp_path, program, when, expected):
    import shutil

    shutil.copytree(directory, tmp_path / "copy")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "copy"), when], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert float(done.stdout) == expected


def test_files_are_mapped_on_request(directory):
    rows = np.ones((1, 1000), np.float32)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(directory / "graph.pb", name="", map_file=True)
        assert sess.run("y:0", {"x:0": rows}).sum() == 1e6
        with open("/proc/self/maps") as maps:
            assert str(directory / "graph.pb") in maps.read()
    assert graph.get_operations()
    model = tf.saved_model.load(str(directory / "model"), map_file=True)
    assert model.signatures["serving_default"](x=rows)["y"].sum() == 2e9


def test_no_file_is_mapped_unasked(directory):
    with tf.Graph().as_default():
        tf.import_graph_def(directory / "graph.pb", name="again")
    model = tf.saved_model.load(str(directory / "model"))
    reader = tf.train.load_checkpoint(str(directory / "model" / "variables" / "variables"))
    assert reader.get_tensor("v").shape == (1000, 1000) and model.signatures
    with open("/proc/self/maps") as maps:
        mapped = maps.read()
    assert str(directory / "model" / "variables") not in mapped
