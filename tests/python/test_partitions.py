"""The cut of graphs over several CPU devices: the tensors that are sent in a step, as its trace shows, and the graphs of the parts."""

import re

import numpy as np
import pytest

import flowmill as tf

NUM_DEVICES = 4


def sent(build):
    """Runs what `build` returns, fed with ones, and returns the value and the number of sends of each device."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        y = build(x)
        metadata = tf.RunMetadata()
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": NUM_DEVICES})) as session:
            value = session.run(y, {x: [1, 1]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    labels = [node.timeline_label or node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
    return value, sum(bool(re.search(r"\b_(Host)?Send\b", label)) for label in labels)


def test_a_trace_shows_what_is_sent():
    def there_and_back(x):
        with tf.device("/cpu:1"):
            return tf.exp(x)

    value, num_sent = sent(there_and_back)
    np.testing.assert_allclose(value, np.exp([1, 1]), rtol=1e-6)
    assert num_sent == 2


def test_constants_are_folded_onto_the_device_of_their_consumer():
    def program(x):
        with tf.device("/cpu:1"):
            a = tf.constant([2.0, 3.0])
        with tf.device("/cpu:2"):
            b = tf.exp(a)
        with tf.device("/cpu:3"):
            c = tf.square(b)
        return x + c

    value, num_sent = sent(program)
    np.testing.assert_allclose(value, 1 + np.exp([2.0, 3.0]) ** 2, rtol=1e-6)
    assert num_sent == 0


def test_passes_neither_fuse_nor_merge_nodes_of_different_devices():
    def program(x):
        with tf.device("/cpu:1"):
            a = tf.tanh(x) + 1.0
        with tf.device("/cpu:2"):
            b = tf.tanh(x) + 1.0
        with tf.device("/cpu:3"):
            return a * b

    value, num_sent = sent(program)
    np.testing.assert_allclose(value, (np.tanh([1, 1]) + 1) ** 2, rtol=1e-6)
    assert num_sent == 5, "x to both devices, their results to CPU:3, the product to CPU:0"


def test_an_invariant_of_a_loop_is_sent_once():
    def program(x):
        with tf.device("/cpu:1"):
            scale = tf.exp(x)

        def body(i, v):
            with tf.device("/cpu:2"):
                return i + 1, v + scale

        with tf.device("/cpu:2"):
            return tf.while_loop(lambda i, v: i < 10, body, [tf.constant(0), tf.zeros([2])])[1]

    value, num_sent = sent(program)
    np.testing.assert_allclose(value, 10 * np.exp([1, 1]), rtol=1e-5)
    assert num_sent == 3, "x to CPU:1, the invariant to CPU:2, the result to CPU:0"


def on(i):
    return tf.device(f"/device:CPU:{i}")


def straight(x):
    with on(1):
        a = tf.exp(x)
    with on(2):
        b = tf.tanh(x) + a
    with on(1):
        c = a * b
    with on(3):
        with tf.control_dependencies([b]):
            return [tf.identity(c) - x, tf.reduce_sum(b)]


def conditional(x):
    def taken():
        with on(1):
            return x * 2.0

    def other():
        with on(2):
            return tf.exp(x)

    with on(3):
        return [tf.cond(tf.reduce_sum(x) > 0.0, taken, other), tf.cond(tf.reduce_sum(x) < 0.0, taken, other)]


def loop(x):
    def body(i, v):
        with on(1):
            a = tf.sin(v)
        with on(2):
            return i + 1, a * 1.5 + v

    return list(tf.while_loop(lambda i, v: i < 6, body, [tf.constant(0), x]))


def nested_loops(x):
    def outer(i, v):
        def inner(j, w):
            with on(2):
                return j + 1, w * 0.5 + tf.cast(i, tf.float32)

        with on(1):
            return i + 1, tf.while_loop(lambda j, w: j < i, inner, [tf.constant(0), v])[1] + 1.0

    return list(tf.while_loop(lambda i, v: i < 4, outer, [tf.constant(0), x]))


X = np.array([0.5, -0.25], np.float32)


def whole_and_parts(program):
    """Runs a program over several devices. Returns its values and the graphs of its parts."""
    with tf.Graph().as_default():
        fetches = program(tf.placeholder(tf.float32, [2], name="x"))
        metadata, options = tf.RunMetadata(), tf.RunOptions(output_partition_graphs=True)
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": NUM_DEVICES})) as session:
            values = session.run(fetches, {"x:0": X}, options, metadata)
    parts = list(metadata.partition_graphs)
    assert len(parts) > 1
    return values, parts


def imported(*parts):
    """Returns a graph of these parts, for a session with one device. The arguments of the step become placeholders, and its results identities."""
    graph_def = tf.GraphDef()
    results = {}
    for part in parts:
        for node in part.node:
            copy = graph_def.node.add()
            copy.CopyFrom(node)
            copy.device = ""
            # Only the runtime makes names that begin with an underscore, for arguments.
            copy.name = node.name.removeprefix("_")
            copy.input[:] = [re.sub(r"^(\^?)_", r"\1", name) for name in node.input]
            if node.op == "_Arg":
                copy.op = "Placeholder"
                copy.attr["dtype"].CopyFrom(node.attr["T"])
                del copy.attr["T"], copy.attr["index"]
            elif node.op == "_Retval":
                results[node.attr["index"].i] = copy.input[0]
                graph_def.node.remove(copy)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    return graph, [results[i] if ":" in results[i] else f"{results[i]}:0" for i in sorted(results)]


def arguments(graph):
    return {op.outputs[0]: X for op in graph.get_operations() if op.type == "Placeholder"}


@pytest.mark.parametrize("program", [straight, conditional, loop, nested_loops])
def test_the_parts_together_compute_the_values_of_the_whole_graph(program):
    values, parts = whole_and_parts(program)
    graph, results = imported(*parts)
    sends = [op for op in graph.get_operations() if op.type in ("_Send", "_HostSend")]
    with tf.Session(graph=graph) as session:
        got = session.run([results, sends], arguments(graph))[0]
    for ours, expected in zip(got, values, strict=True):
        np.testing.assert_array_equal(ours, expected)


def exchanged(graphs):
    """Runs each part by itself, its receives fed, until all sends are known. Returns the values of the sends by their names."""
    name = lambda op: op.get_attr("tensor_name")
    known, before = {}, -1
    while len(known) > before:
        before = len(known)
        for graph in graphs:
            operations = graph.get_operations()
            receives = {name(op): op.outputs[0] for op in operations if op.type == "_Recv"}
            feeds = {receives[key]: value for key, value in known.items() if key in receives} | arguments(graph)
            with tf.Session(graph=graph) as session:
                for send in (op for op in operations if op.type == "_Send" and name(op) not in known):
                    needed, stack = set(), [send.inputs[0].op, *send.control_inputs]
                    while stack:
                        op = stack.pop()
                        if op not in needed:
                            needed.add(op)
                            stack += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
                    if all(name(op) in known for op in needed if op.type == "_Recv"):
                        known[name(send)] = session.run(send.inputs[0], feeds)
    return known


def test_each_part_runs_alone():
    def program(x):
        # A loop on one device, between parts.
        with on(1):
            _, v = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) + x), [tf.constant(0), tf.exp(x)])
        with on(2):
            return [*straight(v), v * 2.0]

    values, parts = whole_and_parts(program)
    graphs, results = zip(*(imported(part) for part in parts), strict=True)
    known = exchanged(graphs)
    sends = {op.get_attr("tensor_name") for graph in graphs for op in graph.get_operations() if op.type == "_Send"}
    assert known.keys() == sends and len(sends) > 4
    graph, fetches = next((graph, fetches) for graph, fetches in zip(graphs, results) if fetches)
    feeds = {op.outputs[0]: known[op.get_attr("tensor_name")] for op in graph.get_operations() if op.type == "_Recv"}
    with tf.Session(graph=graph) as session:
        for got, expected in zip(session.run(fetches, feeds | arguments(graph)), values, strict=True):
            np.testing.assert_array_equal(got, expected)
