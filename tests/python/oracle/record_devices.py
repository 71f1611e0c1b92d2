"""Records runs of TensorFlow over several CPU devices, for `test_recorded_runs.py`: graphs, feeds, results or errors, and the device of each node.

    python record_devices.py OUT.zip

The format is that of `replay.py`. Each run also has `config`, the fields of the session's `ConfigProto`, and `devices`, {node: number of its CPU}, as TensorFlow's
partition graphs have them.
"""

import random
import re
import sys

import graphgen
import numpy as np
from recording import Recording

NUM_DEVICES = 4
NUM_RANDOM_PROGRAMS = 10


def on(tf, i):
    return tf.device(f"/device:CPU:{i}")


def pipeline(tf):
    x = tf.placeholder(tf.float32, [3], name="x")
    for i in range(NUM_DEVICES):
        with on(tf, i):
            x = tf.tanh(x) + float(i)
    return [({"x:0": np.array(v, np.float32)}, [x.name], []) for v in ([0.5, -1.0, 2.0], [0.0, np.nan, np.inf])]


def variables(tf):
    with on(tf, 1):
        v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=False)
    with on(tf, 2):
        w = tf.get_variable("w", initializer=tf.constant([3.0, 4.0]), use_resource=True)
    with on(tf, 3):
        step = tf.group(tf.assign_add(v, w * 2.0), name="step")
    init = tf.global_variables_initializer().name
    total = (v + w).name
    return [({}, [total], []), ({}, [], [init]), ({}, [total], []), ({}, [], [step.name]), ({}, [total], []), ({}, [], [step.name]), ({}, [total], [])]


def branches(tf):
    x = tf.placeholder(tf.float32, [], name="x")

    def positive():
        with on(tf, 1):
            return tf.sqrt(x)

    def negative():
        with on(tf, 2):
            return x * x

    with on(tf, 3):
        y = tf.cond(x > 0.0, positive, negative)
    gradient = tf.gradients(y, x)[0]
    return [({"x:0": np.float32(v)}, [y.name, gradient.name], []) for v in (4.0, -3.0)]


def loop(tf):
    x = tf.placeholder(tf.float32, [2], name="x")

    def body(i, v):
        with on(tf, 1):
            a = tf.sin(v)
        with on(tf, 2):
            return i + 1, a * 1.5 + v

    n = tf.placeholder(tf.int32, [], name="n")
    i, v = tf.while_loop(lambda i, v: i < n, body, [tf.constant(0), x])
    gradient = tf.gradients(tf.reduce_sum(v), x)[0]
    return [({"x:0": np.array([0.3, -0.7], np.float32), "n:0": np.int32(k)}, [i.name, v.name, gradient.name], []) for k in (0, 1, 7)]


def nested_loops(tf):
    def outer(i, v):
        def inner(j, w):
            with on(tf, 2):
                return j + 1, w * 0.5 + tf.cast(i, tf.float32)

        with on(tf, 1):
            return i + 1, tf.while_loop(lambda j, w: j < i, inner, [tf.constant(0), v])[1] + 1.0

    with on(tf, 3):
        x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.while_loop(lambda i, v: i < 4, outer, [tf.constant(0), x])[1]
    return [({"x:0": np.array([1.0, -2.0], np.float32)}, [v.name], [])]


def queues(tf):
    with on(tf, 1):
        queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
        enqueue = queue.enqueue(tf.placeholder(tf.int32, [], name="x")).name
        close = queue.close().name
    with on(tf, 2):
        doubled = (queue.dequeue() * 2).name
    return [({"x:0": np.int32(5)}, [], [enqueue]), ({}, [doubled], []), ({"x:0": np.int32(6)}, [], [enqueue]), ({}, [], [close]), ({}, [doubled], []),
            ({}, [doubled], [])]


def failures(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    with on(tf, 1):
        checked = tf.check_numerics(x, "on another device")
    with on(tf, 2):
        y = tf.reshape(checked, [2, 2])
    return [({"x:0": np.array(v, np.float32)}, [y.name], []) for v in ([1, 2, 3, 4], [1, 2, 3], [1, 2, 3, np.inf])]


def colocation(tf):
    with on(tf, 1):
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer(), use_resource=False)
    with tf.colocate_with(v.op), on(tf, 2):
        y = tf.identity(v, name="y")
    return [({}, [], [tf.global_variables_initializer().name]), ({}, [y.name], [])]


def without_device(tf):
    with on(tf, 7):
        y = tf.negative(tf.constant([1.0]))
    return [({}, [y.name], [])]


PROGRAMS = [pipeline, variables, branches, loop, nested_loops, queues, failures, colocation, without_device]


def random_program(seed):
    def build(tf):
        feeds, fetches = graphgen.build(tf, seed)
        return [(feeds, fetches, [])]

    build.__name__ = f"random_program_{seed}"
    return build


def scattered(graph_def, seed):
    """Requests a random device for each node of an imported program."""
    chosen = random.Random(seed)
    for node in graph_def.node:
        node.attr.pop("_class", None)
        shares_resource = any(kind in node.op for kind in ("TensorArray", "Stack", "Variable"))
        node.device = "" if shares_resource else f"/device:CPU:{chosen.randrange(NUM_DEVICES)}"
    return graph_def


def main(out):
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    recording = Recording()

    def record(name, graph, steps, is_soft):
        graph_def = graph.as_graph_def()
        key = recording.graph(graph_def.SerializeToString())
        names = {node.name for node in graph_def.node}
        fields = {"device_count": {"CPU": NUM_DEVICES}, "allow_soft_placement": is_soft}
        config = tf.ConfigProto(**fields)
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
        with tf.Session(graph=graph, config=config) as session:
            for feeds, fetches, targets in steps:
                run = {"test": name, "session": name, "graph": key, "config": fields, "fetches": fetches, "targets": targets}
                run["feeds"] = {tensor: recording.value(value) for tensor, value in feeds.items()}
                metadata = tf.RunMetadata()
                try:
                    values = session.run(fetches + targets, feeds, tf.RunOptions(output_partition_graphs=True, timeout_in_ms=20_000), metadata)
                    run["results"] = [recording.value(value) for value in values[: len(fetches)]]
                    nodes = [node for part in metadata.partition_graphs for node in part.node if node.name in names]
                    run["devices"] = {node.name: int(re.search(r"CPU:(\d+)$", node.device).group(1)) for node in nodes if node.device}
                except tf.errors.OpError as error:
                    run["error"] = [type(error).__name__, ""]
                recording.runs.append(run)

    for build in PROGRAMS:
        with tf.Graph().as_default() as graph:
            record(build.__name__, graph, build(tf), is_soft=False)
    for seed in range(NUM_RANDOM_PROGRAMS):
        with tf.Graph().as_default() as graph:
            steps = random_program(seed)(tf)
        with tf.Graph().as_default() as placed:
            tf.import_graph_def(scattered(graph.as_graph_def(), seed), name="")
        record(f"random_program_{seed}", placed, steps, is_soft=True)
    recording.write(out)


if __name__ == "__main__":
    main(sys.argv[1])
