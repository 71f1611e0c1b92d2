"""Random programs of nested conditionals, loops, TensorArrays and gradients, built and run by TensorFlow, then run here in every way there is.

Fifty seeds by default; with FLOWMILL_LONG=1 all that the oracle was made for. Odd seeds are frames (Switch, Merge, Enter, Exit, NextIteration),
even ones functions (While, If).
"""

import functools
import itertools
import os

import graphgen
import numpy as np
import pytest

import flowmill as tf

SEEDS = range(300 if os.environ.get("FLOWMILL_LONG") == "1" else 50)

# Threads, parallel_iterations, strands and frameless loops, lowering, rewriting.
WAYS = [
    *(dict(intra_op_threads=t, inter_op_threads=t, parallel_iterations=p, strands=fused, loops=fused)
      for t, p, fused in itertools.product([1, 2, 8], [None, 1, 32], [True, False])),
    # Functions that are called, not lowered: matters to even seeds.
    *(dict(intra_op_threads=t, inter_op_threads=t, strands=fused, loops=fused, lower=False) for t, fused in itertools.product([1, 2], [True, False])),
    dict(inter_op_threads=1, intra_op_threads=1, optimize=False),
    dict(inter_op_threads=2, intra_op_threads=2, optimize=False, strands=False, loops=False),
]


def oracle(tf1, graph, fetches, feeds):
    """TensorFlow's values; None where it cannot run the program: it trips over its own rewriting of some functional loops."""
    plain = tf1.ConfigProto()
    plain.graph_options.rewrite_options.disable_meta_optimizer = True
    for config in (None, plain):
        with tf1.Session(graph=graph, config=config) as session:
            try:
                return session.run(fetches, feeds)
            except tf1.errors.OpError:
                pass
    return None


class Doubles:
    """TensorFlow with float64 for float32."""

    def __init__(self, tf1):
        self._tf1, self.float32 = tf1, tf1.float64

    def __getattr__(self, name):
        return getattr(self._tf1, name)


def exact(tf1, seed):
    """The program's values in double precision. Loops and conditionals saturate some programs, whose gradients then are what rounding left of
    1 - tanh(x)²: TensorFlow's float32 tanh is off by up to five units in the last place."""
    graph = tf1.Graph()
    with graph.as_default():
        feeds, fetches = graphgen.build(Doubles(tf1), seed)
    return oracle(tf1, graph, fetches, {name: np.float64(value) for name, value in feeds.items()})


def assert_equal(name, got, want, judge, what):
    """The two are equal, or of floats close, or ours is no farther from the value in double precision than TensorFlow's is."""
    if np.asarray(want).dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want, what)
        return
    if np.allclose(got, want, rtol=1e-4, atol=1e-5):
        return
    best = judge()[name]
    assert np.shape(got) == np.shape(best), what
    farther = np.abs(got - best) > np.abs(want - best) + 1e-5 + 1e-4 * np.abs(best)
    assert not np.any(farther), f"{what}: {got} is neither TensorFlow's {want} nor nearer to {best}"


@pytest.mark.parametrize("seed", SEEDS)
def test_program_gives_what_tensorflow_gives(tf1, seed):
    (tf1.disable_control_flow_v2 if seed % 2 else tf1.enable_control_flow_v2)()
    graph = tf1.Graph()
    with graph.as_default():
        feeds, fetches = graphgen.build(tf1, seed)
    expected = oracle(tf1, graph, fetches, feeds)
    with tf.Graph().as_default() as own:
        tf.import_graph_def(graph.as_graph_def().SerializeToString(), name="")
    judge = functools.cache(lambda: dict(zip(fetches, exact(tf1, seed))))
    for way in WAYS:
        with tf.Session(graph=own, config=tf.SessionOptions(**way)) as session:
            values = session.run(fetches, feeds)
        if expected is None:  # then all ways must at least agree
            expected = values
        for name, got, want in zip(fetches, values, expected):
            assert_equal(name, got, want, judge, f"program {seed}, {name}, {way}")
