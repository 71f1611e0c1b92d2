"""Sessions with several CPU devices, compared with TensorFlow."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import flowmill


def config(tf, num_cpus=4, **options):
    return tf.ConfigProto(device_count={"CPU": num_cpus}, **options)


def test_a_graph_runs_over_several_cpus(tf1):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
            x = tf.placeholder(tf.float32, [3])
            y = x
            for i in range(8):
                with tf.device(f"/cpu:{i % 4}"):
                    y = y * 2.0 + float(i)
            with tf.control_dependencies([y]), tf.device("/cpu:3"):
                z = tf.constant("after")
            return session.run([y, z], {x: [1, 2, 3]})

    np.testing.assert_equal(program(flowmill), program(tf1))


@pytest.mark.parametrize("num_cpus", [1, 3])
def test_each_cpu_is_listed(tf1, num_cpus):
    def names(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf, num_cpus)) as session:
            return [(d.name, d.device_type) for d in session.list_devices()]

    assert names(flowmill) == names(tf1)
    assert len(names(flowmill)) == num_cpus


def placed(tf, session, fetches, feeds=None):
    """Runs a step and returns its values, and the device of each node of the program."""
    metadata = tf.RunMetadata()
    values = session.run(fetches, feeds, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    moves = {"_Send", "_Recv", "_HostSend", "_HostRecv", "_Arg", "_Retval"}
    return values, {node.name: node.device for graph in metadata.partition_graphs for node in graph.node if node.op not in moves}


def check_placed(tf1, program, *nodes, num_cpus=4):
    """Compares the values and the devices of the nodes whose names begin with one of `nodes`: TensorFlow's optimizer renames others."""
    def run(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf, num_cpus)) as session:
            values, devices = program(tf, session)
            return values, {name: device for name, device in devices.items() if name in nodes}

    actual, expected = run(flowmill), run(tf1)
    np.testing.assert_equal(actual[0], expected[0])
    assert actual[1] == expected[1]
    assert set(actual[1]) == set(nodes)


def test_partition_graphs_are_those_of_the_devices(tf1):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
            x = tf.placeholder(tf.float32, [3], name="x")
            with tf.device("/cpu:1"):
                y = tf.multiply(x, 2.0, name="y")
            with tf.device("/cpu:2"):
                z = tf.add(y, 1.0, name="z")
            metadata = tf.RunMetadata()
            session.run([y, z], {x: [1, 2, 3]}, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
            graphs = [graph.node for graph in metadata.partition_graphs]
            devices = sorted({node.device for node in nodes}.pop() for nodes in graphs)
            transfers = sorted((node.attr["send_device"].s, node.attr["recv_device"].s) for nodes in graphs for node in nodes if node.op == "_Send")
            return devices, transfers, {node.name: node.device for nodes in graphs for node in nodes if node.name in ("y", "z")}

    assert program(flowmill) == program(tf1)


def test_a_session_with_one_device_has_one_partition_graph():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        x = flowmill.placeholder(flowmill.float32, name="x")
        y = flowmill.negative(x, name="y")
        metadata = flowmill.RunMetadata()
        step = session.make_callable(y, [x], accept_options=True)
        for options in (flowmill.RunOptions(output_partition_graphs=True), flowmill.RunOptions()):
            assert step(2.0, options=options, run_metadata=metadata) == -2.0
            assert len(metadata.partition_graphs) == int(options.output_partition_graphs)
        session.run(y, {x: 1.0}, options=flowmill.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    (graph,) = metadata.partition_graphs
    assert ("y", "Neg") in [(node.name, node.op) for node in graph.node]
    assert {node.device for node in graph.node} == {"/job:localhost/replica:0/task:0/device:CPU:0"}


def test_statistics_are_of_the_devices(tf1):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
            x = tf.placeholder(tf.float32, [3], name="x")
            with tf.device("/cpu:1"):
                y = tf.multiply(x, 2.0, name="y")
            metadata = tf.RunMetadata()
            session.run(y, {x: [1, 2, 3]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
            return {device.device: "y" in [node.node_name for node in device.node_stats] for device in metadata.step_stats.dev_stats}

    assert program(flowmill) == program(tf1)


LOGGING = """
import sys
if sys.argv[1] == "tf":
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
else:
    import flowmill as tf
with tf.device("/cpu:1"):
    x = tf.constant([1.0, 2.0], name="x")
p = tf.placeholder(tf.float32, name="p")
y = tf.negative(x, name="y") + p
with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, log_device_placement=True)) as session:
    session.run(y, {p: 2.0})
    session.run(y + 1.0, {p: 2.0})
"""


def test_placements_are_logged():
    def logged(module, level):
        """Returns the lines of standard output, and the messages of standard error without TensorFlow's source positions."""
        env = os.environ | {"TF_CPP_MIN_LOG_LEVEL": level}
        run = subprocess.run([sys.executable, "-c", LOGGING, module], capture_output=True, text=True, check=True, env=env)
        printed = sorted(set(line for line in run.stdout.splitlines() if "device:CPU" in line))
        messages = re.findall(r"^(?:I.*?\] |INFO: )(Device mapping.*|.*device:CPU.*)$", run.stderr, re.MULTILINE)
        return printed, sorted(set(messages))

    for level in ("0", "1"):
        assert logged("flowmill", level) == logged("tf", level)
    printed, messages = logged("flowmill", "0")
    assert "x: (Const): /job:localhost/replica:0/task:0/device:CPU:1" in printed
    assert "Device mapping: no known devices." in messages and set(printed) < set(messages)


def test_filters_do_not_change_the_devices_of_a_local_session(tf1):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf, device_filters=["/device:CPU:1"])) as session:
            return len(session.list_devices()), session.run(tf.constant(3.0))

    assert program(flowmill) == program(tf1)


@pytest.mark.parametrize("num_cpus", [0, -1])
def test_a_session_needs_a_cpu(tf1, num_cpus):
    for tf in (flowmill, tf1):
        with pytest.raises(tf.errors.NotFoundError, match="No CPU devices are available in this process"):
            tf.Session(graph=tf.Graph(), config=config(tf, num_cpus))


@pytest.mark.parametrize("device", ["/cpu:7", "/job:worker/cpu:0", "/device:FOO:0"])
def test_devices_that_do_not_exist_are_refused(tf1, device):
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session(config=config(tf, 2)) as session:
            with tf.device(device):
                x = tf.constant(1.0, name="x")
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Cannot assign a device for operation x: .* but available devices are \[ "
                                                                     r"/job:localhost/replica:0/task:0/device:CPU:0, .*device:CPU:1 \]. Make sure "
                                                                     r"the device specification refers to a valid device"):
                session.run(x)


def test_soft_placement_replaces_devices_that_do_not_exist(tf1):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf, 2, allow_soft_placement=True)) as session:
            x = tf.placeholder(tf.float32, [2])
            values = []
            for i, device in enumerate(["/cpu:7", "/gpu:0", "/device:FOO:3", "/cpu:1"]):
                with tf.device(device):
                    values.append(tf.negative(x, name=f"n{i}"))
            return placed(tf, session, values, {x: [1, 2]})

    actual, expected = program(flowmill), program(tf1)
    np.testing.assert_equal(actual[0], expected[0])
    names = [f"n{i}" for i in range(4)]
    assert [actual[1].get(n) for n in names] == [expected[1].get(n) for n in names]
    assert actual[1]["n3"].endswith("CPU:1")
