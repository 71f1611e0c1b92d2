"""Measures how long steps take to prepare: passes, plans, packed weights. ``python benches/preparation.py [MODEL.pb …]``.

Without files, the graphs are chains of residual blocks with instance norms, of about 1,000, 10,000 and 100,000 nodes. A time is the least of three sessions: that
of the first step, less that of the second one.
"""

import pathlib
import sys
import time

import flowmill as tf
import numpy as np


def chain(blocks):
    """Returns a graph of residual blocks and its output."""
    with tf.Graph().as_default() as graph:
        image = output = tf.placeholder(tf.float32, [None, 8, 8, 8])
        weights, scale = tf.constant(np.full((3, 3, 8, 8), 1 / 72, np.float32)), tf.constant(np.ones(8, np.float32))
        for _ in range(blocks):
            inner = tf.nn.bias_add(tf.nn.conv2d(output, weights, [1, 1, 1, 1], "SAME"), scale)
            mean = tf.reduce_mean(inner, [1, 2], keepdims=True)
            variance = tf.reduce_mean(tf.squared_difference(inner, mean), [1, 2], keepdims=True)
            output = tf.nn.relu((inner - mean) * tf.rsqrt(variance + 1e-3) * scale) + output
    return graph, image, output


def model(path):
    """Returns a frozen graph, its placeholders and its last tensor."""
    definition = tf.GraphDef()
    definition.ParseFromString(pathlib.Path(path).read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    operations = graph.get_operations()
    inputs = [op.outputs[0] for op in operations if op.type == "Placeholder"]
    return graph, inputs, [op for op in operations if op.outputs][-1].outputs[0]


def seconds(graph, inputs, output):
    feeds = [np.zeros([d or 1 for d in tensor.shape.as_list()], tensor.dtype.as_numpy_dtype) for tensor in inputs]
    least = float("inf")
    for _ in range(3):
        with tf.Session(graph=graph) as session:
            begin = time.perf_counter()
            step = session.make_callable(output, inputs)
            step(*feeds)
            first = time.perf_counter()
            step(*feeds)
            least = min(least, 2 * first - begin - time.perf_counter())
    return least


def main():
    print("| graph | nodes | preparation, ms | µs per node |\n|---|---|---|---|")
    graphs = {pathlib.Path(path).stem: (lambda path=path: model(path)) for path in sys.argv[1:]}
    for name, make in (graphs or {f"{blocks} blocks": (lambda blocks=blocks: chain(blocks)) for blocks in (67, 670, 6700)}).items():
        graph, inputs, output = make()
        taken, nodes = seconds(graph, inputs if isinstance(inputs, list) else [inputs], output), len(graph.get_operations())
        print(f"| {name} | {nodes:,} | {taken * 1e3:.1f} | {taken * 1e6 / nodes:.1f} |", flush=True)


if __name__ == "__main__":
    main()
