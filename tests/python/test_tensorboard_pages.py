"""TensorBoard's own pages, in a real browser, on event files of Flowmill. `test_tensorboard.py` reads them with TensorBoard's package alone."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

import flowmill as tf
from flowmill.contrib.tensorboard.plugins import hparams, pr_curve, projector

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

#: TensorBoard draws its pages with scripts of megabytes.
PATIENCE = {"timeout": 60_000}


def write_run(directory, rate):
    """Trains for some steps, and writes what each page of TensorBoard shows."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 16], name="x")
        with tf.name_scope("layer"):
            weights = tf.Variable(np.linspace(-1, 1, 64, dtype=np.float32).reshape(16, 4), name="weights")
            y = tf.nn.relu(tf.matmul(x, weights, name="product"), name="activation")
        loss = tf.reduce_mean(tf.square(y - 1.0), name="mean_error")
        tf.Variable(np.random.default_rng(0).normal(size=[20, 5]).astype(np.float32), name="words")
        train = tf.train.GradientDescentOptimizer(rate).minimize(loss)
        tf.summary.scalar("loss", loss)
        tf.summary.histogram("spread", weights)
        tf.summary.image("picture", tf.constant(np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3)), max_outputs=2)
        tf.summary.audio("sound", tf.sin(tf.range(0.0, 800.0))[None, :, None], 8000.0, max_outputs=1)
        tf.summary.text("remarks", tf.constant(["# a title", "some <b>markup</b>"]))
        pr_curve.op("curve", tf.constant([True, False, True, False]), tf.constant([0.9, 0.8, 0.3, 0.1]), num_thresholds=5)
        merged = tf.summary.merge_all()
        config = tf.ConfigProto(graph_options={"optimizer_options": {"opt_level": -1}})
        with tf.Session(config=config) as session, tf.summary.FileWriter(directory, graph) as writer:
            session.run(tf.global_variables_initializer())
            for step in range(3):
                metadata = tf.RunMetadata()
                batch = np.random.default_rng(step).random([32, 16])
                summary, _ = session.run([merged, train], {x: batch}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
                writer.add_summary(summary, step)
            writer.add_run_metadata(metadata, "the last step", 2)
            tf.train.Saver().save(session, str(directory / "model.ckpt"))
            shown = projector.ProjectorConfig()
            shown.embeddings.add(tensor_name="words", metadata_path="words.tsv")
            (directory / "words.tsv").write_text("\n".join(f"word {i}" for i in range(20)))
            projector.visualize_embeddings(writer, shown)
            writer.add_summary(hparams.session_start_pb({"rate": rate}, start_time_secs=2.0))
            writer.add_summary(hparams.session_end_pb(hparams.STATUS_SUCCESS, 3.0))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a TensorBoard that shows two runs."""
    pytest.importorskip("tensorboard")
    directory = tmp_path_factory.mktemp("logs")
    with tf.summary.FileWriter(directory) as writer:
        infos = [hparams.HParamInfo(name="rate", type=hparams.DATA_TYPE_FLOAT64, domain_interval={"min_value": 0.01, "max_value": 1.0})]
        writer.add_summary(hparams.experiment_pb(infos, [hparams.MetricInfo(name={"tag": "loss"})], time_created_secs=1.0))
    for name, rate in [("slow", 0.125), ("fast", 0.5)]:
        (directory / name).mkdir()
        write_run(directory / name, rate)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # In a process of its own, because its threads outlive the tests.
    options = [f"--logdir={directory}", f"--port={port}", "--host=127.0.0.1", "--load_fast=false", "--reload_interval=1"]
    server = subprocess.Popen([sys.executable, "-m", "tensorboard.main", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/"
    try:
        deadline = time.monotonic() + 180
        while True:
            assert server.poll() is None and time.monotonic() < deadline, "TensorBoard does not answer"
            with contextlib.suppress(OSError), urllib.request.urlopen(url):
                break
            time.sleep(0.2)
        yield url
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def open_tab(address, browser):
    """Opens a page of TensorBoard by the name of its plugin."""
    contexts = []

    def open_it(plugin):
        contexts.append(browser.new_context(viewport={"width": 1400, "height": 900}))
        page = contexts[-1].new_page()
        page.goto(f"{address}#{plugin}")
        return page

    yield open_it
    for context in contexts:
        context.close()


def test_the_graph_has_compute_times_and_opens(open_tab):
    page = open_tab("graphs")
    layer = page.locator("g.node[data-name='layer']")
    expect(layer).to_have_count(1, **PATIENCE)
    names = set(page.locator("g.node").evaluate_all("(nodes) => nodes.map((node) => node.dataset.name)"))
    assert {"x", "layer", "mean_error", "gradients"} <= names
    layer.locator(".nodeshape").first.dblclick(force=True)
    expect(page.locator("g.node[data-name='layer/product']")).to_have_count(1, **PATIENCE)
    controls = page.locator("tf-graph-controls")
    controls.locator(".tags-row paper-menu-button").click()
    controls.locator("paper-item").get_by_text("the last step", exact=True).click()
    # Without run metadata they are disabled.
    for colouring in ("Compute time", "Memory"):
        expect(controls.get_by_role("radio", name=colouring)).to_be_enabled(**PATIENCE)


def test_scalars_have_the_values_of_both_runs(open_tab):
    page = open_tab("scalars")
    card = page.locator("tf-scalar-card")
    expect(card.get_by_text("loss", exact=True).first).to_be_visible(**PATIENCE)
    for run in ("slow", "fast"):
        expect(page.get_by_text(run, exact=True).first).to_be_visible()


def test_images_and_sounds_are_decoded(open_tab):
    page = open_tab("images")
    expect(page.locator("tf-image-loader img")).to_have_count(4, **PATIENCE)
    page.wait_for_function("""() => { const find = (root) => [...root.querySelectorAll('*')].flatMap((e) => [...(e.localName === 'img' ? [e] : []), ...(e.shadowRoot ? find(e.shadowRoot) : [])]);
        return find(document).filter((image) => image.complete && image.naturalWidth === 8 && image.naturalHeight === 8).length === 4; }""")
    page = open_tab("audio")
    expect(page.locator("tf-audio-loader audio")).to_have_count(2, **PATIENCE)
    sound = page.locator("tf-audio-loader audio").first.element_handle()
    page.wait_for_function("(sound) => Math.abs(sound.duration - 0.1) < 0.01", arg=sound)


def test_distributions_and_histograms_are_drawn(open_tab):
    page = open_tab("distributions")
    expect(page.locator("tf-distribution-loader path.area").first).to_be_attached(**PATIENCE)
    page = open_tab("histograms")
    # One outline per step and run.
    expect(page.locator("tf-histogram-loader .histogram")).to_have_count(6, **PATIENCE)


def test_texts_are_markdown(open_tab):
    page = open_tab("text")
    title = page.locator("tf-text-loader h1").get_by_text("a title").first
    expect(title).to_be_visible(**PATIENCE)
    expect(page.locator("tf-text-loader").get_by_text("some <b>markup</b>").first).to_be_visible()


def test_precision_is_drawn_over_recall(open_tab):
    page = open_tab("pr_curves")
    card = page.locator("tf-pr-curve-card")
    expect(card.get_by_text("curve", exact=True).first).to_be_visible(**PATIENCE)
    expect(card.get_by_text("step 2").first).to_be_visible(**PATIENCE)


def test_hyperparameters_are_a_table(open_tab):
    page = open_tab("hparams")
    table = page.locator("tf-hparams-table-view")
    for cell in ("0.12500", "0.50000", "slow", "fast"):
        expect(table.get_by_text(cell, exact=True).first).to_be_visible(**PATIENCE)


def test_embeddings_reach_the_projector(address, browser, chromium):
    # WebGL on the host makes other pages slow.
    args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with browser.browser_type.launch(executable_path=chromium, args=args) as with_webgl:
        check_projector(with_webgl.new_page(), address)


def check_projector(page, address):
    page.goto(f"{address}#projector")
    if not page.evaluate("Boolean(document.createElement('canvas').getContext('webgl2'))"):
        pytest.skip("the browser has no WebGL, which the projector needs")
    frame = page.frame_locator("iframe").frame_locator("iframe")
    expect(frame.get_by_text("Points: 20").first).to_be_visible(**PATIENCE)
    expect(frame.get_by_text("Dimension: 5").first).to_be_visible()
