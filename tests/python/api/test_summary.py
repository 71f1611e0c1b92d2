"""Summaries and event files, coordinators and queue runners."""

import glob
import threading
import time

import numpy as np
import pytest
from compare import same_error

import flowmill


def built_alike(tf1, build):
    """Checks that both modules build the same nodes; gives our graph and what to fetch of it."""
    described = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            built = build(tf)
            fetches = [t for t in (built if isinstance(built, list) else [built]) if t is not None]
            described.append([(o.name, o.type, [t.name for t in o.inputs]) for o in graph.get_operations()])
    assert described[0] == described[1]
    return graph, fetches


def same_nodes(tf1, build):
    """The values of what both modules build in the same way."""
    graph, fetches = built_alike(tf1, build)
    with flowmill.Session(graph=graph) as session:
        return session.run(fetches)


def test_summaries(tf1):
    def build(tf):
        x, y = tf.constant(1.5), tf.constant([1.0, 2.0, 2.0, -3.0])
        tf.summary.scalar("a", x)
        tf.summary.scalar("a", x)
        tf.summary.histogram("h h", y)
        with tf.name_scope("n"):
            tf.summary.scalar("b", x)
            tf.summary.scalar("c", x, family="fam")
        tf.summary.text("t", tf.constant("hello"))
        tf.summary.scalar("elsewhere", x, collections=["mine"])
        return [tf.summary.merge_all(), tf.summary.merge_all("mine", name="other"), tf.summary.merge_all("none")]

    values = same_nodes(tf1, build)
    summary = flowmill.Summary.FromString(values[0].item() if hasattr(values[0], "item") else values[0])
    assert [v.tag for v in summary.value] == ["a", "a_1", "h_h", "n/b", "fam/n/fam/c", "t"]
    assert summary.value[0].simple_value == 1.5 and summary.value[2].histo.num == 4


def test_images(tf1):
    def build(tf):
        return tf.summary.image("i", tf.constant(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)), max_outputs=2)

    graph, fetches = built_alike(tf1, build)
    with flowmill.Session(graph=graph) as session:
        summary = flowmill.Summary.FromString(session.run(fetches)[0])
    assert [(value.tag, value.image.height, value.image.colorspace) for value in summary.value] == [("i/image/0", 4, 3)]


def test_text_is_of_strings(tf1):
    same_error(tf1, lambda tf: tf.summary.text("t", tf.constant(1)), "to have dtype string")


def test_descriptions_of_summaries(tf1):
    for tf in (tf1, flowmill):
        node = tf.NodeDef(op="TensorSummary")
        for text, hint in ((b"{}", ""), (b'{"typeHint": "curve"}', "curve")):
            node.attr["description"].s = text
            described = tf.summary.get_summary_description(node)
            assert isinstance(described, tf.summary.SummaryDescription) and described.type_hint == hint
        node.op = "TensorSummaryV2"
        with pytest.raises(ValueError, match="Can't get_summary_description on TensorSummaryV2"):
            tf.summary.get_summary_description(node)


def test_summaries_of_version_2_are_those_of_a_collection(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            tf.summary.scalar("ours", 1.0)
            assert tf.summary.all_v2_summary_ops() == []
            op = tf.no_op()
            tf.add_to_collection("_SUMMARY_V2", op)
            assert tf.summary.all_v2_summary_ops() == [op]


def test_event_files_are_read_by_tensorflow(tf1, tmp_path):
    tf = flowmill
    with tf.Graph().as_default() as graph:
        x = tf.identity(tf.placeholder(tf.float32, [], name="x"))
        with tf.Session() as session, tf.summary.FileWriter(str(tmp_path), graph, filename_suffix=".mine") as writer:
            for step in range(3):
                loss = tf.Summary.Value(tag="loss", simple_value=session.run(x, {"x:0": step * 0.5}))
                words = tf.Summary.Value(tag="words", metadata={"plugin_data": {"plugin_name": "text"}})
                writer.add_summary(tf.Summary(value=[loss, words]).SerializeToString(), step)
            metadata = tf.RunMetadata()
            session.run(x, {"x:0": 0.0}, tf.RunOptions(trace_level=3), metadata)
            writer.add_run_metadata(metadata, "run", 3)
            with pytest.raises(ValueError, match="The provided tag was already used"):
                writer.add_run_metadata(metadata, "run", 4)
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="own", simple_value=2.0)]), global_step=np.int64(7))
    file, = glob.glob(str(tmp_path / "events.out.tfevents.*.mine"))
    events = list(tf1.train.summary_iterator(file))
    assert events[0].file_version == "brain.Event:2"
    assert [n.name for n in tf1.GraphDef.FromString(events[1].graph_def).node] == [op.name for op in graph.get_operations()]
    assert events[2].HasField("meta_graph_def")
    scalars = [(e.step, v.simple_value) for e in events for v in e.summary.value if v.tag == "loss"]
    assert scalars == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert [v.HasField("metadata") for e in events for v in e.summary.value if v.tag == "words"] == [True, False, False]
    assert events[-1].step == 7 and events[-2].tagged_run_metadata.tag == "run"
    ours = list(tf.train.summary_iterator(file))
    assert [e.step for e in ours] == [e.step for e in events]


def test_a_closed_writer_is_reopened(tmp_path):
    tf = flowmill
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.close()
    writer.add_summary(tf.Summary(), 1)
    writer.reopen()
    writer.add_summary(tf.Summary(), 2)
    writer.flush()
    steps = [e.step for path in glob.glob(str(tmp_path / "*")) for e in tf.train.summary_iterator(path)]
    assert sorted(steps) == [0, 0, 2] and writer.get_logdir() == str(tmp_path)
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is tf.summary.FileWriterCache.get(str(tmp_path))
    tf.summary.FileWriterCache.clear()


def test_a_coordinator_stops_threads():
    tf = flowmill
    coord = tf.train.Coordinator()
    counts = []

    def count():
        counts.append(1)
        if len(counts) == 3:
            raise ZeroDivisionError("third")

    thread = tf.train.LooperThread.loop(coord, 0.0, count)
    with pytest.raises(ZeroDivisionError, match="third"):
        coord.join([thread])
    assert coord.should_stop() and coord.joined and len(counts) == 3
    coord.clear_stop()
    with coord.stop_on_exception():
        raise tf.errors.OutOfRangeError(None, None, "the end")
    coord.join()
    stuck = threading.Thread(target=time.sleep, args=(1.0,), daemon=True)
    stuck.start()
    coord = tf.train.Coordinator()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="Coordinator stopped with threads still running"):
        coord.join([stuck], stop_grace_period_secs=0.1)


def queued(tf):
    queue = tf.FIFOQueue(3, tf.float32, shapes=[[]], name="q")
    counter = tf.Variable(0, name="counter")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.cast(counter.count_up_to(5), tf.float32))])
    tf.train.add_queue_runner(runner)
    return queue, runner


def test_queue_runners(tf1):
    with flowmill.Graph().as_default(), tf1.Graph().as_default():
        assert str(queued(flowmill)[1].to_proto()) == str(queued(tf1)[1].to_proto())
    tf = flowmill
    with tf.Graph().as_default():
        queue, runner = queued(tf)
        again = tf.train.QueueRunner.from_proto(runner.to_proto())
        assert again.name == "q" and again.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
        element = queue.dequeue()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            assert runner.create_threads(session, coord) == []
            found = []
            with coord.stop_on_exception():
                while True:
                    found.append(session.run(element))
            coord.request_stop()
            coord.join(threads)
            assert found == [0, 1, 2, 3, 4]


def test_a_queue_runner_hands_on_failures():
    tf = flowmill
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(3, tf.float32, shapes=[[]])
        bad = tf.Variable(1.0)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(bad)]))
        with tf.Session() as session:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            with pytest.raises(tf.errors.FailedPreconditionError):
                coord.join(threads)


@pytest.mark.parametrize("shape", [[3, 4], [2, 4, 2], [1, 4, 1]])
@pytest.mark.parametrize("max_outputs", [1, 2])
def test_sounds_are_tensorflow_s(tf1, shape, max_outputs):
    sounds = np.linspace(-1.2, 1.2, np.prod(shape), dtype="f").reshape(shape)

    def written(tf, rate):
        with tf.Graph().as_default(), tf.Session() as session:
            return tf.Summary.FromString(session.run(tf.summary.audio("a", sounds, rate, max_outputs=max_outputs)))

    for rate in (8000.0, 0.25):
        ours, theirs = written(flowmill, rate), written(tf1, rate)
        assert [v.tag for v in ours.value] == [v.tag for v in theirs.value]
        for mine, other in zip(ours.value, theirs.value):
            assert mine.audio.SerializeToString() == other.audio.SerializeToString()
    with pytest.raises(flowmill.errors.InvalidArgumentError, match="sample_rate must be > 0"):
        written(flowmill, 0.0)


@pytest.mark.parametrize("value", [[1.5, 2.0], ["a", "b"], True, np.zeros([0, 2]), [1 + 2j]], ids=str)
def test_summaries_with_the_name_of_a_node(tf1, value):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            summary = tf.Summary.FromString(session.run(tf.raw_ops.TensorSummary(tensor=value, description="d", labels=["l"], name="scope/s")))
            (only,) = summary.value
            found.append((only.node_name, only.tag, tf.make_ndarray(only.tensor).tolist()))
    assert found[0] == found[1]
