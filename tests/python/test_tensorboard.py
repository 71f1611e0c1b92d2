"""Event files as TensorBoard reads them."""

import numpy as np
import pytest

import flowmill as tf
from flowmill.contrib.tensorboard.plugins import hparams, pr_curve, projector


def multiplexer(directory):
    from tensorboard.backend.event_processing import plugin_event_multiplexer

    found = plugin_event_multiplexer.EventMultiplexer()
    return found.AddRunsFromDirectory(str(directory)).Reload()


def summaries(session_of):
    """Evaluates summaries of every kind in a graph of their own; gives the serialised summaries."""
    with tf.Graph().as_default() as graph:
        fetches = session_of()
        with tf.Session(graph=graph) as session:
            return session.run(fetches)


def every_kind():
    numbers = tf.constant(np.linspace(-2, 2, 100, dtype=np.float32))
    return [
        tf.summary.scalar("loss", 0.25, family="train"),
        tf.summary.histogram("weights", numbers),
        tf.summary.image("picture", tf.constant(np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3)), max_outputs=2),
        tf.summary.audio("sound", tf.sin(tf.range(0.0, 200.0))[None, :, None], 8000.0, max_outputs=1),
        tf.summary.text("words", tf.constant(["# title", "<b>text</b>"])),
        tf.summary.tensor_summary("tensor", tf.constant([[1.0, 2.0]]), summary_metadata=tf.SummaryMetadata(plugin_data={"plugin_name": "mine"})),
        pr_curve.op("curve", tf.constant([True, False, True, False]), tf.constant([0.9, 0.8, 0.3, 0.1]), num_thresholds=5, description="d"),
    ]


@pytest.mark.usefixtures("tf1")
def test_summaries_reach_their_plugins(tmp_path):
    with tf.summary.FileWriter(tmp_path / "run") as writer:
        for step in range(3):
            for summary in summaries(every_kind):
                writer.add_summary(summary, step)
    found = multiplexer(tmp_path)
    content = {plugin: set(found.PluginRunToTagToContent(plugin).get("run", {})) for plugin in
               ("scalars", "histograms", "images", "audio", "text", "mine", "pr_curves")}
    assert content == {
        "scalars": {"train/train/loss"}, "histograms": {"weights"}, "images": {"picture/image/0", "picture/image/1"},
        "audio": {"sound/audio"}, "text": {"words"}, "mine": {"tensor"}, "pr_curves": {"curve/pr_curves"}}
    assert [event.step for event in found.Tensors("run", "curve/pr_curves")] == [0, 1, 2]
    from tensorboard.util import tensor_util

    def value(tag):
        return tensor_util.make_ndarray(found.Tensors("run", tag)[0].tensor_proto)
    np.testing.assert_array_equal(value("curve/pr_curves")[0], [2, 2, 1, 1, 0])
    assert value("train/train/loss").item() == 0.25
    assert value("words").tolist() == [b"# title", b"<b>text</b>"]
    assert value("weights")[:, 2].sum() == 100
    width, height, image = value("picture/image/1")
    assert (width, height) == (b"8", b"8") and image.startswith(b"\x89PNG")


def test_curves_are_tensorboards(tf1):
    from tensorboard.plugins.pr_curve import summary as theirs

    random = np.random.default_rng(3)
    labels, predictions, weights = random.random(50) < 0.4, random.random(50).astype(np.float32), random.random(50).astype(np.float32)

    def message(summary):
        return tf1.Summary.FromString(summary if isinstance(summary, bytes) else summary.SerializeToString())

    def run(module, build):
        with module.Graph().as_default() as graph:
            fetches = build(module)
            with module.Session(graph=graph) as session:
                session.run(module.local_variables_initializer())
                if isinstance(fetches, tuple):
                    session.run(fetches[1])
                    session.run(fetches[1])
                    fetches = fetches[0]
                return message(session.run(fetches))

    def same(ours, expected):
        a, b = ours.value[0], expected.value[0]
        assert (a.tag, a.metadata) == (b.tag, b.metadata)
        np.testing.assert_allclose(tf1.make_ndarray(a.tensor), tf1.make_ndarray(b.tensor), rtol=1e-5, atol=1e-6)
    same(message(pr_curve.pb("p", labels, predictions, 7, weights, description="d")), message(theirs.pb("p", labels, predictions, 7, weights, description="d")))
    for name in ("op", "streaming_op"):
        def build(module, name=name):
            plugin = pr_curve if module is tf else theirs
            return getattr(plugin, name)("s", module.constant(labels), module.constant(predictions), num_thresholds=11, weights=module.constant(weights),
                                         display_name="shown")
        same(run(tf, build), run(tf1, build))
    rows = [np.float32([3, 2, 1]) for _ in range(6)]
    same(run(tf, lambda _: pr_curve.raw_data_op("r", *rows, num_thresholds=3)), run(tf1, lambda _: theirs.raw_data_op("r", *rows, num_thresholds=3)))


@pytest.mark.usefixtures("tf1")
def test_hyperparameters(tmp_path):
    from tensorboard.plugins.hparams import metadata

    infos = [hparams.HParamInfo(name="rate", type=hparams.DATA_TYPE_FLOAT64, domain_interval={"min_value": 0.1, "max_value": 1.0})]
    metrics = [hparams.MetricInfo(name={"tag": "loss"})]
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(hparams.experiment_pb(infos, metrics, user="me", time_created_secs=1.0))
    with tf.summary.FileWriter(tmp_path / "a") as writer:
        values = {"rate": 0.5, "deep": True, "optimizer": "adam", "sizes": [1, 2]}
        writer.add_summary(hparams.session_start_pb(values, group_name="g", start_time_secs=2.0))
        writer.add_summary(hparams.session_end_pb(hparams.STATUS_SUCCESS, 3.0))
    found = multiplexer(tmp_path).PluginRunToTagToContent("hparams")
    experiment = metadata.parse_experiment_plugin_data(found["."]["_hparams_/experiment"])
    assert [info.name for info in experiment.hparam_infos] == ["rate"] and experiment.metric_infos[0].name.tag == "loss"
    start = metadata.parse_session_start_info_plugin_data(found["a"]["_hparams_/session_start_info"])
    assert {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()} == {**values, "sizes": "[1, 2]"}
    assert metadata.parse_session_end_info_plugin_data(found["a"]["_hparams_/session_end_info"]).end_time_secs == 3.0
    with pytest.raises(TypeError, match="which is not supported"):
        hparams.session_start_pb({"a": object()})


@pytest.mark.usefixtures("tf1")
def test_the_projectors_configuration(tmp_path):
    from google.protobuf import text_format
    from tensorboard.plugins.projector import projector_config_pb2

    config = projector.ProjectorConfig()
    config.embeddings.add(tensor_name="words:0", metadata_path="words.tsv", sprite={"image_path": "s.png", "single_image_dim": [8, 8]})
    with tf.summary.FileWriter(tmp_path) as writer:
        projector.visualize_embeddings(writer, config)
    read = text_format.Parse((tmp_path / "projector_config.pbtxt").read_text(), projector_config_pb2.ProjectorConfig())
    assert read.embeddings[0].tensor_name == "words:0" and list(read.embeddings[0].sprite.single_image_dim) == [8, 8]
    with pytest.raises(ValueError, match="logdir"):
        projector.visualize_embeddings(None, config)


@pytest.mark.usefixtures("tf1")
def test_the_graph_with_run_metadata(tmp_path):
    """TensorBoard colours nodes by time and memory, and shows shapes on edges, from these fields."""
    from tensorboard.compat.proto import config_pb2

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 16], name="x")
        with tf.name_scope("layer"):
            y = tf.nn.relu(tf.matmul(x, tf.ones([16, 4]), name="product"), name="activation")
        metadata = tf.RunMetadata()
        with tf.Session(graph=graph, config=tf.ConfigProto(graph_options={"optimizer_options": {"opt_level": -1}})) as session:
            session.run(y, {x: np.ones([2, 16])}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    with tf.summary.FileWriter(tmp_path, graph) as writer:
        writer.add_run_metadata(metadata, "step 1", 1)
    found = multiplexer(tmp_path)
    assert {node.name for node in found.Graph(".").node} == {op.name for op in graph.get_operations()}
    assert set(found.PluginRunToTagToContent("graph_tagged_run_metadata")["."]) == {"step 1"}
    event, = found.Tensors(".", "step 1")
    read = config_pb2.RunMetadata.FromString(event.tensor_proto.string_val[0])
    nodes = {node.node_name: node for device in read.step_stats.dev_stats for node in device.node_stats}
    last = nodes["layer/activation"]
    assert last.all_start_micros > 0 and last.all_end_rel_nanos > 0
    assert sum(memory.total_bytes for memory in last.memory) == 2 * 4 * 4
    assert [d.size for d in last.output[0].tensor_description.shape.dim] == [2, 4] and last.output[0].tensor_description.dtype == 1
    assert "layer/product" in last.timeline_label
