"""Random programs whose ops lie on random devices: CPU:0 to CPU:3. Their values are those of the same program on one device.

Eight seeds by default, three hundred with FLOWMILL_LONG=1. Odd seeds are frames (Switch, Merge, Enter, Exit, NextIteration), even ones functions
(While, If), which are lowered. With two threads, receives are scheduled, too. A failure names its seed.
"""

import os
import random

import graphgen
import numpy as np
import pytest

import flowmill as tf

SEEDS = range(300) if os.environ.get("FLOWMILL_LONG") == "1" else range(8)
NUM_DEVICES = 4


@pytest.fixture
def control_flow():
    """Puts the module back to frames afterwards."""
    yield
    tf.disable_control_flow_v2()


def program(seed):
    """Returns program `seed` as a GraphDef, its feeds and its fetches."""
    (tf.disable_control_flow_v2 if seed % 2 else tf.enable_control_flow_v2)()
    with tf.Graph().as_default() as graph:
        feeds, fetches = graphgen.build(tf, seed)
    return graph.as_graph_def(), feeds, fetches


def scatter(graph_def, seed):
    """Requests a random device for every node. Nodes that share a resource are on one device; no other colocation is requested."""
    chosen = random.Random(seed)
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    for node in nodes:
        node.attr.pop("_class", None)
        shares_resource = any(kind in node.op for kind in ("TensorArray", "Stack", "Variable"))
        node.device = "" if shares_resource else f"/device:CPU:{chosen.randrange(NUM_DEVICES)}"


def run(graph_def, feeds, fetches, **options):
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    config = tf.ConfigProto(**options)
    with tf.Session(graph=graph, config=config) as session:
        return session.run(fetches, feeds, options=tf.RunOptions(timeout_in_ms=60_000))


@pytest.mark.parametrize("seed", SEEDS)
def test_scattered_program_gives_the_values_of_one_device(control_flow, seed):
    graph_def, feeds, fetches = program(seed)
    expected = run(graph_def, feeds, fetches)
    scatter(graph_def, seed)
    for threads in (1, 2, 8):
        # The nodes of a loop's control flow are in one group, of which only soft placement overrides requests.
        options = dict(device_count={"CPU": NUM_DEVICES}, allow_soft_placement=True, intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
        graph_options = tf.GraphOptions(enable_recv_scheduling=threads == 2)
        values = run(graph_def, feeds, fetches, graph_options=graph_options, **options)
        for name, got, want in zip(fetches, values, expected):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=f"program {seed}, {name}, {threads} threads")
