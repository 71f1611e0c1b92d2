"""`flowmill.view`, `Graph.summary` and what notebooks show, without a browser."""

import base64
import gzip
import json
import pathlib
import re

import numpy as np
import pytest

import flowmill as tf
from flowmill.python.framework.function import Defun


def block(page: str, name: str):
    """Returns a block of a page's data."""
    packed = re.search(f'id="{name}">([^<]*)</script>', page).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.name_scope("net"):
            for i in range(2):
                with tf.name_scope(f"layer_{i}"):
                    w = tf.constant(np.full([4, 4], 0.5, np.float32), name="w")
                    x = tf.nn.relu(tf.matmul(x, w, name="product"), name="relu")
        tf.identity(x, name="y")
    return graph


def test_a_page_is_one_file_that_loads_nothing(graph, tmp_path):
    page = tf.view(graph, title="a title")
    page.save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text == page.html and "<title>a title</title>" in text
    assert not re.search(r"(src|href)=", text) and "http" not in re.sub(r"http-equiv", "", text)
    contents = block(text, "contents")
    assert [view["name"] for view in contents["views"]] == ["graph"]
    assert contents["views"][0]["num_nodes"] == 8


def test_the_default_graph_is_shown():
    with tf.Graph().as_default():
        tf.constant(1.0, name="only")
        assert block(tf.view().html, "v0c0")[0]["names"] == ["only"]


def test_graphs_are_messages_bytes_and_files(graph, data):
    message = graph.as_graph_def()
    pages = [tf.view(source, title="t").html for source in (graph, message, message.SerializeToString())]
    assert pages[0] == pages[1] == pages[2]
    page = tf.view(data / "models" / "bert_small.pb")
    assert page.title == "bert_small.pb" and block(page.html, "contents")["views"][0]["num_nodes"] > 100
    with pytest.raises(TypeError, match="but got 'int'"):
        tf.view(3)


def test_a_step_is_shown_before_and_after_passes(graph):
    page = tf.view(graph, fetches="y:0", feeds=["x:0"]).html
    views = block(page, "contents")["views"]
    assert [view["name"] for view in views] == ["graph", "step before passes", "step after passes"]
    before, after = views[1:]
    assert after["num_nodes"] < before["num_nodes"]
    assert ["remove_identities", 1] in after["pass_report"]
    root = block(page, "v1c0")[0]
    changes = dict(zip(root["names"], zip(root["changes"], (before["passes"][p - 1] if p else None for p in root["passes"]))))
    assert changes["y"] == (3, "remove_identities")


def test_a_session_shows_a_part_per_device(graph):
    with graph.as_default(), tf.device("/CPU:1"):
        z = tf.nn.relu(graph.get_tensor_by_name("y:0"), name="z")
    with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        views = block(tf.view(session, fetches=z, feeds=["x"]).html, "contents")["views"]
    assert [view["name"] for view in views[2:]] == ["step on CPU:0, after passes", "step on CPU:1, after passes"]
    assert views[3]["devices"] == ["/job:localhost/replica:0/task:0/device:CPU:1"]


def test_run_metadata_has_times_and_memory(graph):
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph) as session:
        session.run("y:0", {"x:0": np.ones([2, 4])}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    view = block(tf.view(graph, run_metadata=metadata).html, "contents")["views"][0]
    assert view["is_measured"] and view["max_nanoseconds"] > 0
    assert " time " in graph.summary(run_metadata=metadata).splitlines()[0]
    with pytest.raises(tf.errors.DataLossError):
        tf.view(graph, run_metadata=b"\xff\xff")
    with pytest.raises(tf.errors.NotFoundError):
        tf.view(graph, run_metadata=tf.RunMetadata())


def test_an_inlined_call_has_the_time_of_its_nodes():
    @Defun(tf.float32)
    def layers(x):
        return tf.nn.relu(tf.matmul(x, x, name="product"), name="relu")

    metadata = tf.RunMetadata()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [64, 64], name="x")
        called = layers(x)
        with tf.Session() as session:
            session.run(called, {x: np.ones([64, 64])}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    stats = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
    inlined = sum(node.op_end_rel_nanos - node.op_start_rel_nanos for node in stats if node.node_name.startswith(f"{called.op.name}/"))
    root = block(tf.view(graph, run_metadata=metadata).html, "v0c0")[0]
    assert root["times"][root["names"].index(called.op.name)] == inlined > 0


def test_a_summary_is_a_tree_of_scopes(graph):
    lines = graph.summary(max_depth=3).splitlines()
    assert lines[0].split() == ["scope", "nodes", "weights", "work", "ops"]
    assert [line.split()[0] for line in lines[1:]] == ["graph", "net/", "layer_0/", "layer_1/"]
    assert lines[2].split()[1:4] == ["6", "128", "B"]
    nodes = graph.summary(max_depth=3, nodes=True)
    assert "    product" in nodes and "MatMul" in nodes
    assert "… 1 more child" in graph.summary(max_depth=3, max_children=1)


def test_ops_that_nobody_defines_are_shown(graph, tmp_path):
    definition = graph.as_graph_def()
    product = next(node for node in definition.node if node.name == "net/layer_0/product")
    product.op = "CustomProduct"
    path = tmp_path / "custom.pb"
    path.write_bytes(definition.SerializeToString())
    for source in (definition, path):
        page = tf.view(source).html
        assert "CustomProduct" in block(page, "contents")["views"][0]["ops"]
    with pytest.raises(tf.errors.NotFoundError, match="CustomProduct"):
        tf.import_graph_def(definition, name="")


def test_notebooks_show_graphs_tensors_and_sessions(graph):
    html = graph._repr_html_()
    assert html.count("<details") == html.count("</details>") >= 3 and "layer_0" in html
    tensor = graph.get_tensor_by_name("x:0")._repr_html_()
    assert "x:0" in tensor and "float32" in tensor and "(?, 4)" in tensor
    with tf.Session(graph=graph) as session:
        session.run("y:0", {"x:0": np.ones([2, 4])})
        session.run("net/layer_0/relu:0", {"x:0": np.ones([2, 4])})
        shown = session._repr_html_()
        assert "device:CPU:0" in shown and "2 of at most 1024" in shown and "dropped" not in shown
    assert "closed" in session._repr_html_()


def test_a_page_in_a_notebook_is_a_frame(graph, monkeypatch):
    page = tf.view(graph)
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=\"&lt;!DOCTYPE html&gt;") and 'sandbox="allow-scripts"' in shown
    monkeypatch.setattr("flowmill._internal.view.MAX_NOTEBOOK_BYTES", 1000)
    assert "<iframe" not in page._repr_html_() and ".show()" in page._repr_html_()


def test_show_opens_a_file(graph, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = pathlib.Path(tf.view(graph).show())
    assert opened == [path.as_uri()] and path.read_text().startswith("<!DOCTYPE html>")
    path.unlink()
