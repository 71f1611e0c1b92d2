"""Random numbers and their seeds: the same nodes, shapes and values as TensorFlow's."""

import sys
import threading

import pytest

import flowmill
from compare import compare, same_error
from inputs import FEEDS, taking_inputs

CASES = {
    "seeded": lambda tf, v: (tf.set_random_seed(5), tf.random_uniform([2, 3]))[1],
    "seeded 2": lambda tf, v: (tf.set_random_seed(5), tf.random_uniform([2, 3], 1.0, 5.0, seed=7))[1],
    "seeded 3": lambda tf, v: (tf.set_random_seed(5), tf.random_uniform([2], maxval=5, dtype=tf.int32))[1],
    "seeded 4": lambda tf, v: (tf.set_random_seed(5), tf.random_uniform([2], maxval=7, dtype=tf.int64, name="nn"))[1],
    "random_uniform": lambda tf, v: tf.random_uniform([2], 0, 2.0, seed=1),
    "random_uniform 2": lambda tf, v: tf.random_uniform([2], 0.0, 1.0, seed=1),
    "random_uniform 3": lambda tf, v: tf.random_uniform([2], -1, seed=1),
    "random_uniform 4": lambda tf, v: tf.random_uniform(tf.TensorShape([2]), seed=1),
    "random_uniform 5": lambda tf, v: tf.random_uniform([v.i[1], 2], seed=1),
    "random_uniform 6": lambda tf, v: tf.random_uniform([], v.s, 2.0, seed=1),
    "random_uniform 7": lambda tf, v: tf.random_uniform([2], dtype=tf.float64, seed=1),
    "random_normal": lambda tf, v: tf.random_normal([2, 3], seed=1),
    "random_normal 2": lambda tf, v: tf.random_normal([2, 3], 1.0, 2.0, seed=3, name="q"),
    "random_normal 3": lambda tf, v: tf.random_normal([], seed=3),
    "truncated_normal": lambda tf, v: tf.truncated_normal([20], seed=3),
    "random_shuffle": lambda tf, v: tf.random_shuffle(v.p, seed=1),
    "random_gamma": lambda tf, v: tf.random_gamma([2], 1.0, seed=2),
    "random_gamma 2": lambda tf, v: tf.random_gamma([2], v.x + 1.0, v.s, seed=2),
    "random_gamma 3": lambda tf, v: tf.random_gamma([2], 1.0, dtype=tf.float64, seed=1),
    "random_poisson": lambda tf, v: tf.random_poisson(v.s, [2], seed=2),
    "random_poisson 2": lambda tf, v: tf.random_poisson([1.0, 20.0], [2], tf.float64, seed=2),
    "multinomial": lambda tf, v: tf.multinomial(v.x, 3, seed=2),
    "multinomial 2": lambda tf, v: tf.multinomial(v.x, 3, output_dtype=tf.int32, seed=2),
    "categorical": lambda tf, v: tf.random.categorical(v.x, 3, seed=2),
    "random_crop": lambda tf, v: tf.random_crop(v.x, [1, 2], seed=2),
    "stateless_uniform": lambda tf, v: tf.random.stateless_uniform([2], [1, 2]),
    "stateless_uniform 2": lambda tf, v: tf.random.stateless_uniform([2], [1, 2], 1, 5, tf.int32),
    "stateless_normal": lambda tf, v: tf.random.stateless_normal([2], [1, 2]),
    "stateless_truncated_normal": lambda tf, v: tf.random.stateless_truncated_normal([2], [1, 2]),
    "stateless_uniform 3": lambda tf, v: tf.random.stateless_uniform([2], [1, 2], None, None, tf.uint64),
    "stateless_uniform 4": lambda tf, v: tf.random.stateless_uniform([2], v.i, alg="Phi_lox"),
    "stateless_normal 2": lambda tf, v: tf.random.stateless_normal([2, 3], [1, 2], alg=tf.random.Algorithm.PHILOX),
    "stateless_binomial": lambda tf, v: tf.random.stateless_binomial([4, 3], [1, 2], [10.0, 20.0, 90.0], 0.4),
    "stateless_binomial 2": lambda tf, v: tf.random.stateless_binomial([4], v.i, 10, v.s / 2, tf.float64, name="nn"),
    "stateless_gamma": lambda tf, v: tf.random.stateless_gamma([4, 2, 3], [1, 2], v.x + 1.0, v.s),
    "stateless_gamma 2": lambda tf, v: tf.random.stateless_gamma([4], [1, 2], 0.5, dtype=tf.float64),
    "stateless_poisson": lambda tf, v: tf.random.stateless_poisson([4, 2], [1, 2], [1.5, 20.0]),
    "stateless_poisson 2": lambda tf, v: tf.random.stateless_poisson([4], [1, 2], v.s, tf.float32, "nn"),
    "stateless_parameterized_truncated_normal": lambda tf, v: tf.random.stateless_parameterized_truncated_normal([5, 2, 3], [1, 2], v.x),
    "stateless_parameterized_truncated_normal 2": lambda tf, v: tf.random.stateless_parameterized_truncated_normal(
        [5], v.i, 1.0, v.s, -1.0, [2.0] * 5, "nn"),
    "split": lambda tf, v: tf.random.split([1, 2]),
    "split 2": lambda tf, v: tf.random.split(tf.constant([1, 2], tf.int64), 5, "philox"),
    "split 3": lambda tf, v: tf.random.split(v.i, v.i[1] + 2),
    "fold_in": lambda tf, v: tf.random.fold_in([1, 2], 3),
    "fold_in 2": lambda tf, v: tf.random.fold_in([1, 2], tf.constant(3, tf.int64), alg="philox"),
    "create_rng_state": lambda tf, v: [
        tf.random.create_rng_state(1234, "philox"), tf.random.create_rng_state(2**64 + 2**63 + 5, 1), tf.random.create_rng_state(-3, "threefry"),
        tf.random.create_rng_state([5, 2**63], "philox"), tf.random.create_rng_state([1, 2, 3, 4, 5], tf.random.Algorithm.AUTO_SELECT),
        tf.random.create_rng_state(tf.constant([4, 5], tf.int32), 1)],
    "experimental": lambda tf, v: [
        tf.random.experimental.stateless_shuffle(tf.range(20), [1, 2]), tf.random.experimental.stateless_shuffle(v.m, v.i, "philox"),
        tf.random.experimental.index_shuffle(tf.range(9), [5, 9], 8), tf.random.experimental.index_shuffle(3, v.i, 8),
        tf.random.experimental.stateless_split([1, 2], 3), tf.random.experimental.stateless_fold_in([1, 2], 3)],
    "sobol_sample": lambda tf, v: tf.math.sobol_sample(3, 10),
    "sobol_sample 2": lambda tf, v: tf.math.sobol_sample(v.i[1] + 2, 10, skip=7, dtype=tf.float64, name="nn"),
    "stateless_categorical": lambda tf, v: tf.random.stateless_categorical(v.x, 2, [1, 2]),
    "stateless_multinomial": lambda tf, v: tf.random.stateless_multinomial(v.x, 2, [1, 2]),
    "seeded 5": lambda tf, v: (
        tf.set_random_seed(5), tf.random_uniform([2]), tf.random_uniform([2]), tf.random_normal([2]), tf.random_uniform([2], seed=3),
        tf.random_uniform([2]))[1:],
    "seeded 6": lambda tf, v: (tf.set_random_seed(0), tf.random_uniform([2], seed=0))[1],
    "seeded 7": lambda tf, v: (tf.set_random_seed(2 ** 40), tf.random_uniform([2], seed=-3))[1],
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_nodes(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS)


# Calls that fail, and what both modules say.
ERRORS = {
    "vector bound": (lambda tf, v: tf.random_uniform([3], 0, [2, 3, 4], dtype=tf.int32), "must be "),
    "uniform integers": (lambda tf, v: tf.random_uniform([2], 5, dtype=tf.int32), "Must specify maxval for integer dtype tf.int32"),
    "stateless type": (lambda tf, v: tf.random.stateless_uniform([2], [1, 2], dtype=tf.int8),
                       "Argument `dtype` got invalid value <dtype: 'int8'>. Accepted dtypes are"),
    "stateless bounds": (lambda tf, v: tf.random.stateless_uniform([2], [1, 2], dtype=tf.int32),
                         "argument `minval` and `maxval` must be both None or not None. Got `minval`=0 and `maxval`=None."),
    "unsigned bounds": (lambda tf, v: tf.random.stateless_uniform([2], [1, 2], 0, 3, tf.uint32),
                        "when argument `minval` is not None. Please don't use unsigned integers in this case."),
    "algorithm by name": (lambda tf, v: tf.random.stateless_normal([2], [1, 2], alg="mersenne"),
                          "Argument `alg` got unsupported value mersenne. Supported values are philox for the Philox algorithm"),
    "algorithm by number": (lambda tf, v: tf.random.stateless_normal([2], [1, 2], alg=7), "Argument `alg` got unsupported value 7. Supported values are 1 "),
    "algorithm": (lambda tf, v: tf.random.stateless_normal([2], [1, 2], alg=1.5), "Can't convert argument `alg` (of value 1.5 and type <class 'float'>) to int."),
    "uniform type": (lambda tf, v: tf.random_uniform([2], dtype=tf.int8), "Argument `dtype` got invalid value <dtype: 'int8'>. Accepted dtypes are"),
}


@pytest.mark.parametrize("case, message", ERRORS.values(), ids=ERRORS.keys())
def test_the_same_errors(tf1, case, message):
    same_error(tf1, taking_inputs(case), message)


@pytest.mark.parametrize("graph_seed, op_seed", [(None, None), (None, 3), (0, 0), (9, None), (9, 4), (2**40, None), (-5, 2**31)])
def test_seeds(tf1, graph_seed, op_seed):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            if graph_seed is not None:
                tf.set_random_seed(graph_seed)
            found.append([tf.get_seed(op_seed), tf.get_seed(op_seed)])
    assert found[0] == found[1]


def test_numbers_without_seeds_differ():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        numbers = flowmill.random_uniform([8])
        first, second = session.run(numbers), session.run(numbers)
    assert not (first == second).all()


def test_threads_that_share_a_graph_get_seeds_of_their_own():
    graph, found = flowmill.Graph(), []
    graph.seed = 7

    def ask():
        with graph.as_default():
            mine = [flowmill.get_seed(None)[1] for _ in range(2000)]
        found.extend(mine)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(found) == list(range(16000))
