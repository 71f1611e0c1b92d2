"""The seeds of random operations."""

from __future__ import annotations

import threading
import weakref

from flowmill._internal.graph import Graph, get_default_graph

DEFAULT_GRAPH_SEED = 87654321
_MAX_SEED = 2**31 - 1

# How many operations without a seed of their own a graph with a seed has. Many threads may add to one graph.
_counts: weakref.WeakKeyDictionary[Graph, int] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Returns the two seeds of a random operation: that of the graph and its own. Without either both are None, and values differ from run to run.

    Operations without a seed of their own in a graph with one get 0, 1, 2, …, so that equal programs give equal values.
    """
    graph = get_default_graph()
    seed = graph.seed
    if seed is None:
        if op_seed is None:
            return None, None
        seed = DEFAULT_GRAPH_SEED
    elif op_seed is None:
        with _lock:
            op_seed = _counts.get(graph, 0)
            _counts[graph] = op_seed + 1
    seeds = seed % _MAX_SEED, op_seed % _MAX_SEED
    # The kernels take two zeros for no seed.
    return (0, _MAX_SEED) if seeds == (0, 0) else seeds


def set_random_seed(seed: int | None) -> None:
    """The seed of the default graph."""
    get_default_graph().seed = seed
