"""Random numbers of everything that takes a seed: TensorFlow's, seed for seed, and as many seeds of the graph are used up."""

import numpy as np
import pytest

import flowmill
from compare import same
from seeded import OTHERS, THREADED, WITHOUT_GRAPH_SEED, call_of, functions, of_module
from spellings import difference, outcome

FUNCTIONS = [(module, name) for module, name in functions(flowmill) if name not in OTHERS | THREADED and not name.startswith("stateless")]

# The seed of the graph and that of the operation.
SEEDS = {"graph": (5, None), "operation": (None, 7), "both": (5, 7), "zeros": (0, 0), "large": (2**31 + 4, 2**33 + 1)}


def _flat(found):
    return [leaf for part in found for leaf in _flat(part)] if isinstance(found, (list, tuple)) else [found]


def numbers(tf, module, name, graph_seed, seed):
    """What two steps of one session give: of the function, of the function again, and of a random operation after them."""
    call, function = call_of(module, name), getattr(of_module(tf, module), name)
    with tf.Graph().as_default() as graph:
        if graph_seed is not None:
            tf.set_random_seed(graph_seed)
        made = [_flat(call(tf, function, seed)) for _ in range(2)]
        made.append([tf.random_uniform([3], seed=None if graph_seed is not None else 3)])
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            return [session.run(tensors) for _ in range(2) for tensors in made]


@pytest.mark.parametrize("which", SEEDS)
@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=[".".join(filter(None, f)) for f in FUNCTIONS])
def test_numbers(tf1, module, name, which):
    if not hasattr(of_module(tf1, module), name):
        pytest.skip("not in TensorFlow by this name")
    if name in WITHOUT_GRAPH_SEED and which not in ("operation", "both"):
        pytest.skip("the numbers are those of the system's entropy")
    for theirs, ours in zip(*(numbers(tf, module, name, *SEEDS[which]) for tf in (tf1, flowmill)), strict=True):
        same(tuple(ours), tuple(theirs))


def test_all_functions_are_called():
    assert not [f for f in FUNCTIONS if call_of(*f) is None]


def produced(tf, build, steps):
    """What a queue gives that threads fill."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        made = build(tf)
        after = tf.random_uniform([2])
        with tf.Session(graph=graph) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            found = [session.run(made) for _ in range(steps)] + [session.run(after)]
            coordinator.request_stop()
            session.run(graph.get_collection("closers"))
            coordinator.join(threads, stop_grace_period_secs=20)
        return found


PRODUCERS = {
    "string_input_producer": lambda tf, seed: tf.train.string_input_producer([str(i) for i in range(9)], shuffle=True, seed=seed).dequeue(),
    "range_input_producer": lambda tf, seed: tf.train.range_input_producer(11, shuffle=True, seed=seed).dequeue(),
    "slice_input_producer": lambda tf, seed: tf.train.slice_input_producer([np.arange(8), np.arange(8.0)], shuffle=True, seed=seed),
    "input_producer": lambda tf, seed: tf.train.input_producer(np.arange(10), shuffle=True, seed=seed).dequeue(),
}


@pytest.mark.parametrize("seed", [None, 4])
@pytest.mark.parametrize("name", PRODUCERS)
def test_producers(tf1, name, seed):
    for theirs, ours in zip(*(produced(tf, lambda tf: PRODUCERS[name](tf, seed), 20) for tf in (tf1, flowmill)), strict=True):
        same(tuple(_flat(ours)) if isinstance(ours, list) else ours, tuple(_flat(theirs)) if isinstance(theirs, list) else theirs)


SHUFFLED = {
    "shuffle_batch": lambda tf: tf.train.shuffle_batch([tf.constant(1.0)], 2, 10, 3),
    "shuffle_batch, a seed": lambda tf: tf.train.shuffle_batch([tf.constant(1.0)], 2, 10, 3, seed=4),
    "shuffle_batch, shared": lambda tf: tf.train.shuffle_batch([tf.constant(1.0)], 2, 10, 3, shared_name="shared"),
    "shuffle_batch_join": lambda tf: tf.train.shuffle_batch_join([[tf.constant(1.0)], [tf.constant(2.0)]], 2, 10, 3),
    "maybe_shuffle_batch": lambda tf: tf.train.maybe_shuffle_batch([tf.constant(1.0)], 2, 10, 3, tf.constant(True)),
    "RandomShuffleQueue, shared": lambda tf: tf.RandomShuffleQueue(10, 2, [tf.float32], shared_name="shared"),
    "RandomShuffleQueue, shared, a seed": lambda tf: tf.RandomShuffleQueue(10, 2, [tf.float32], seed=3, shared_name="shared"),
}


@pytest.mark.parametrize("build", SHUFFLED.values(), ids=SHUFFLED)
def test_seeds_of_queues(tf1, build):
    """Which element comes first depends on threads; the attributes do not."""
    def seeded(tf, _):
        tf.set_random_seed(7)
        build(tf)
        tf.random_uniform([2])
    theirs, ours = (outcome(tf, seeded, lambda tf: None) for tf in (tf1, flowmill))
    assert difference(sorted(theirs), sorted(ours)) is None
