"""Random programs whose ops lie on random devices: two CPUs and up to two GPUs. Their values, gradients included, are those of the CPU alone.

Six seeds by default, three hundred with FLOWMILL_LONG=1. Odd seeds are frames, even ones functions. A failure names its seed.
"""

import os
import random

import graphgen
import numpy as np
import pytest

import flowmill as tf

# Steps of a session, of which the last ones replay recorded work. Delayed work takes too long for several.
STEPS = 1 if os.environ.get("FLOWMILL_STUB_SEED") else 4
SEEDS = range(300) if os.environ.get("FLOWMILL_LONG") == "1" else range(6)


def _scatter(graph_def, devices, seed):
    """Requests a random device for every node. Nodes that share a resource are on one device; no other colocation is requested."""
    chosen = random.Random(seed)
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    for node in nodes:
        node.attr.pop("_class", None)
        shares_resource = not node.op.startswith("TensorList") and any(kind in node.op for kind in ("TensorArray", "Stack", "Variable"))
        node.device = "" if shares_resource else chosen.choice(devices)


def _run(graph_def, feeds, fetches, **options):
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    with tf.Session(graph=graph, config=tf.ConfigProto(**options)) as session:
        return [session.run(fetches, feeds, options=tf.RunOptions(timeout_in_ms=300_000)) for _ in range(STEPS)]


@pytest.mark.parametrize("seed", SEEDS)
def test_scattered_program_gives_the_values_of_the_cpu(control_flow, num_gpus, stub, tolerance, seed):
    if stub and os.environ.get("FLOWMILL_STUB_SEED"):
        stub.stub_cuda_set_asynchronous(seed + 1)
    (tf.disable_control_flow_v2 if seed % 2 else tf.enable_control_flow_v2)()
    with tf.Graph().as_default() as graph:
        feeds, fetches = graphgen.build(tf, seed)
    graph_def = graph.as_graph_def()
    expected = _run(graph_def, feeds, fetches)
    _scatter(graph_def, ["/device:CPU:0", "/device:CPU:1", *(f"/device:GPU:{i % num_gpus}" for i in range(2))], seed)
    for threads in (1, 4):
        steps = _run(graph_def, feeds, fetches, device_count={"CPU": 2, "GPU": num_gpus}, allow_soft_placement=True,
                     intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
        for step, (values, wanted) in enumerate(zip(steps, expected)):
            for name, got, want in zip(fetches, values, wanted):
                np.testing.assert_allclose(got, want, **tolerance, err_msg=f"program {seed}, {name}, {threads} threads, step {step}")
