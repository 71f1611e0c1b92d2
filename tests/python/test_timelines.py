"""Timelines of steps: traces, pages, and what statistics say."""

import json

import numpy as np
import pytest

import flowmill as tf
from flowmill.python.client import timeline


def traced(build, feeds=None, device_count=None, optimize=False):
    """Runs a step with a trace; gives its `RunMetadata`."""
    metadata = tf.RunMetadata()
    config = tf.ConfigProto(device_count=device_count or {}, intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)
    if not optimize:
        config.graph_options.optimizer_options.opt_level = -1
    with tf.Graph().as_default():
        fetches = build()
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            session.run(fetches, feeds, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    return metadata


def slices(trace):
    return [event for event in json.loads(trace)["traceEvents"] if event["ph"] == "X" and event["cat"] == "Op"]


def layers():
    x = tf.constant(np.ones([8, 16], np.float32), name="x") + 0.0
    with tf.name_scope("layer"):
        y = tf.nn.relu(tf.matmul(x, tf.ones([16, 4]), name="product"), name="activation")
    return tf.reduce_sum(y, name="sum")


def assert_nested(events):
    rows = {}
    for event in events:
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for row in rows.values():
        open_until = []
        for start, end in sorted(row, key=lambda times: (times[0], -times[1])):
            # The times of a double since 1970 have steps of a quarter of a microsecond.
            while open_until and open_until[-1] <= start + 0.5:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 0.5
            open_until.append(end)


def test_statistics_name_inputs_and_outputs():
    stats = traced(layers).step_stats
    nodes = {node.node_name: node for device in stats.dev_stats for node in device.node_stats}
    assert nodes["layer/activation"].timeline_label == "layer/activation = Relu(layer/product)"
    output = nodes["layer/product"].output[0].tensor_description
    assert [d.size for d in output.shape.dim] == [8, 4] and output.allocation_description.requested_bytes == 128
    assert output.allocation_description.allocator_name == "cpu" and output.allocation_description.ptr


def test_traces_have_tensorflows_form():
    step_stats = traced(layers).step_stats
    trace = timeline.Timeline(step_stats).generate_chrome_trace_format()
    events = slices(trace)
    by_name = {event["args"]["name"]: event for event in events}
    product = by_name["layer/product"]
    assert (product["name"], product["args"]["op"], product["args"]["input0"]) == ("MatMul", "MatMul", "add")
    assert by_name["sum"]["ts"] >= product["ts"] > 1e15, "microseconds since the Unix epoch"
    names = {event["args"]["name"] for event in json.loads(trace)["traceEvents"] if event["name"] == "process_name"}
    assert "/job:localhost/replica:0/task:0/device:CPU:0 Compute" in names
    assert_nested(json.loads(trace)["traceEvents"])
    plain = timeline.Timeline(step_stats).generate_chrome_trace_format(show_dataflow=False, show_memory=False)
    assert not {"s", "t", "N", "O", "D"} & {event["ph"] for event in json.loads(plain)["traceEvents"]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="op_time"):
        timeline.Timeline(step_stats).generate_chrome_trace_format(op_time="never")


def test_memory_over_time():
    analysis = timeline.Timeline(traced(layers).step_stats).analyze_step_stats()
    maximum = analysis.allocator_maximums["cpu"]
    assert maximum.num_bytes >= 8 * 16 * 4 and maximum.timestamp > 0 and "add" in maximum.tensors
    phases = [event["ph"] for event in json.loads(analysis.chrome_trace.format_to_string(pretty=True))["traceEvents"]]
    assert phases.count("N") == phases.count("O") == phases.count("D") > 0 and phases.count("C") > 0


def test_iterations_of_loops():
    def build():
        return tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.sin(x, name="wave")), [0, tf.ones([4])])
    for frames in (True, False):
        (tf.disable_control_flow_v2 if frames else tf.enable_control_flow_v2)()
        try:
            stats = traced(build).step_stats
        finally:
            tf.disable_control_flow_v2()
        waves = [event["args"] for event in slices(timeline.Timeline(stats).generate_chrome_trace_format()) if event["name"] == "Sin"]
        assert len(waves) == 3
        if frames:
            assert [wave["iteration"] for wave in waves] == ["0", "1", "2"] and waves[0]["frame"]


def test_copies_between_devices_have_arrows():
    def build():
        with tf.device("/cpu:0"):
            x = tf.Variable(np.ones([4, 4], np.float32), name="v") + 1.0
        with tf.device("/cpu:1"):
            return tf.matmul(x, x)
    events = json.loads(timeline.Timeline(traced(build, device_count={"CPU": 2}).step_stats).generate_chrome_trace_format())["traceEvents"]
    copies = [event for event in events if event.get("cat") == "Copy"]
    # To the second device, and the result back.
    assert [event["ph"] for event in copies] == ["s", "t"] * 2 and copies[0]["pid"] != copies[1]["pid"]
    receives = [event["args"] for event in events if event["name"] == "_Recv"]
    assert [(receive["bytes"], receive["from"][-5:], receive["to"][-5:]) for receive in receives] == [(64, "CPU:1", "CPU:0"), (64, "CPU:0", "CPU:1")]


def test_the_critical_path():
    def build():
        long = tf.constant(np.ones([200, 200], np.float32)) + 0.0
        for i in range(8):
            long = tf.matmul(long, long, name=f"long{i}")
        return tf.add(long[0, 0], tf.negative(tf.ones([]), name="short"), name="end")
    names, running, waiting = timeline.Timeline(traced(build).step_stats).critical_path()
    assert {f"long{i}" for i in range(8)} < set(names) and "short" not in names and "end" in names
    assert running > 0 and waiting >= 0


def test_what_is_no_step():
    empty = timeline.Timeline(tf.RunMetadata().step_stats)
    assert json.loads(empty.generate_chrome_trace_format())["traceEvents"] == []
    assert empty.critical_path() == ([], 0.0, 0.0) and empty.analyze_step_stats().allocator_maximums == {}
    assert "<canvas" in empty.generate_html("nothing")


def test_profiler_hooks_write_traces(tmp_path):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        more = tf.assign_add(step, 1)
        hooks = [tf.train.StopAtStepHook(last_step=4), tf.train.ProfilerHook(save_steps=1, output_dir=str(tmp_path), show_memory=True)]
        with tf.train.MonitoredSession(hooks=hooks) as session:
            while not session.should_stop():
                session.run(more)
    files = sorted(tmp_path.glob("timeline-*.json"))
    assert len(files) >= 2 and any(event["name"] == "AssignAdd" for event in slices(files[-1].read_text()))
