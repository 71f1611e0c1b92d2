"""Random numbers of seeds, of keys and counters, and of states in variables; Sobol's points: TensorFlow's own values, for many seeds and shapes."""

import numpy as np
import pytest

from oracles import assert_same, words_of

SEEDS = [[0, 0], [1, 2], [-7, 2**31 - 1], [2**62 + 5, -(2**63)]]
SHAPES = [[], [1], [7], [3, 5], [2, 0, 3], [301]]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["int32", "int64", "uint32", "uint64"]


def constant(m, value, dtype):
    return m.constant(np.array(value, dtype) if dtype.startswith("uint") else value, getattr(m, dtype))


def tolerance(dtype):
    """Sines, logarithms and the like may differ in the last bit."""
    return {"float64": 1e-14, "float32": 3e-7, "float16": 1e-3, "bfloat16": 8e-3}.get(dtype, 0)


def check(tf1, build, dtype=None):
    tol = tolerance(dtype)
    assert assert_same(tf1, build, rtol=tol, atol=tol / 10) is None


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"])
def test_floats_of_seeds_and_keys(tf1, op, dtype):
    def build(m):
        made = [getattr(m.raw_ops, op)(shape=m.constant(s, m.int32), seed=m.constant(seed, m.int64), dtype=getattr(m, dtype))
                for seed in SEEDS for s in SHAPES]
        for key, counter in ([5], [6, 7]), ([2**64 - 1], [2**64 - 1, 2**64 - 1]), ([9], [2**64 - 2, 3, 8]):
            made.append(getattr(m.raw_ops, op + "V2")(shape=[9], key=constant(m, key, "uint64"), counter=constant(m, counter, "uint64"), alg=1,
                                                      dtype=getattr(m, dtype)))
        return made
    check(tf1, build, dtype)


@pytest.mark.parametrize("dtype", INTS)
def test_integers_of_seeds_and_keys(tf1, dtype):
    def build(m):
        of = getattr(m, dtype)
        key, counter = constant(m, [5], "uint64"), constant(m, [6, 7], "uint64")
        made = [m.raw_ops.StatelessRandomUniformFullInt(shape=m.constant(s, m.int32), seed=m.constant(seed, m.int64), dtype=of)
                for seed in SEEDS for s in SHAPES]
        made.append(m.raw_ops.StatelessRandomUniformFullIntV2(shape=[9], key=key, counter=counter, alg=3, dtype=of))
        if dtype.startswith("int"):
            low, high = m.constant(-3, of), m.constant(1000, of)
            made.append(m.raw_ops.StatelessRandomUniformIntV2(shape=[9], key=key, counter=counter, alg=1, minval=low, maxval=high))
            # Without elements nothing has to lie between the bounds.
            made.append(m.raw_ops.StatelessRandomUniformInt(shape=[0], seed=[1, 2], minval=high, maxval=low))
        return made
    check(tf1, build)


def test_keys_counters_algorithms_and_orders(tf1):
    def build(m):
        made = []
        for seed in SEEDS:
            made += m.raw_ops.StatelessRandomGetKeyCounterAlg(seed=m.constant(seed, m.int64))
        for value in ([[1, 2], [3, 4], [5, 6]], list(range(50)), 3, [["a"], ["b"], ["c"], ["d"]]):
            for counter in ([9, 7], [0, 2**63]):
                made.append(m.raw_ops.StatelessShuffle(value=value, key=constant(m, [5], "uint64"), counter=constant(m, counter, "uint64"), alg=1))
        return made
    check(tf1, build)


# Counts and probabilities on both sides of what decides how they are drawn.
TRIALS = [0.0, 1.0, 9.5, 20.0, 33.0, 150.0, 1e4]
CHANCES = [[0.0], [0.01], [0.3], [0.5], [0.52], [0.9], [1.0]]


@pytest.mark.parametrize("of", ["float16", "float32", "float64"])
def test_binomial_numbers(tf1, of):
    def build(m):
        counts, chances = m.constant(TRIALS[:6] + [2000.0], getattr(m, of)), m.constant(CHANCES, getattr(m, of))
        made = [m.raw_ops.StatelessRandomBinomial(shape=[5, 7, 7], seed=m.constant(seed, m.int64), counts=counts, probs=chances, dtype=getattr(m, dtype))
                for seed in SEEDS for dtype in ("int32", "int64", "float16", "float32", "float64")]
        made.append(m.raw_ops.StatelessRandomBinomial(shape=m.constant([300], m.int64), seed=[3, 4], counts=m.constant(40.0), probs=m.constant(0.4)))
        made.append(m.raw_ops.StatelessRandomBinomial(shape=[0, 2], seed=[3, 4], counts=[4.0, 5.0], probs=m.constant(0.4)))
        return made
    check(tf1, build)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gamma_numbers_of_seeds(tf1, dtype):
    def build(m):
        alpha = m.constant([[0.3, 0.99, 1.0], [1.5, 10.0, 300.0]], getattr(m, dtype))
        made = [m.raw_ops.StatelessRandomGammaV2(shape=[20, 2, 3], seed=m.constant(seed, m.int64), alpha=alpha) for seed in SEEDS]
        key, counter = constant(m, [5], "uint64"), constant(m, [6, 7], "uint64")
        made.append(m.raw_ops.StatelessRandomGammaV3(shape=[4, 2, 3], key=key, counter=counter, alg=1, alpha=alpha))
        made.append(m.raw_ops.StatelessRandomGammaV2(shape=[0, 3], seed=[1, 2], alpha=alpha))
        return made
    check(tf1, build, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_poisson_numbers_of_seeds(tf1, dtype):
    def build(m):
        rates = [m.constant([0.0, 0.5, 9.9, 10.0, 55.5, 1e4]), m.constant([[0.7], [30.5]], m.float64), m.constant([3, 30]), m.constant(2.5, m.float16)]
        return [m.raw_ops.StatelessRandomPoisson(shape=[30] + rate.shape.as_list(), seed=m.constant(seed, m.int64), lam=rate, dtype=getattr(m, dtype))
                for seed in SEEDS for rate in rates]
    check(tf1, build)


# Bounds for each of the ways to draw: between two near ones, far from the mean, one that is infinite.
BOUNDS = [(-2.0, 2.0), (-0.5, 0.7), (3.0, 9.0), (-9.0, -3.0), (1.0, float("inf")), (float("-inf"), 0.3), (5.0, 5.01), (-1.4, 0.0), (-1.0, 20.0)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_truncated_normal_numbers_of_parameters(tf1, dtype):
    def build(m):
        of = getattr(m, dtype)
        made = []
        for seed in SEEDS:
            for low, high in BOUNDS:
                made.append(m.raw_ops.StatelessParameterizedTruncatedNormal(
                    shape=[3, 2, 2], seed=m.constant(seed, m.int64), means=m.constant([0.0, 0.25], of), stddevs=m.constant([[1.0], [2.0]], of),
                    minvals=m.constant(low, of), maxvals=m.constant(high, of)))
            made.append(m.raw_ops.StatelessParameterizedTruncatedNormal(
                shape=m.constant([23], m.int64), seed=m.constant(seed, m.int64), means=m.constant(1.0, of), stddevs=m.constant(3.0, of),
                minvals=m.constant(-1.0, of), maxvals=m.constant(4.0, of)))
        made.append(m.raw_ops.StatelessParameterizedTruncatedNormal(
            shape=[0, 2], seed=[1, 2], means=m.constant([0.0, 1.0], of), stddevs=m.constant(-1.0, of), minvals=m.constant(0.0, of), maxvals=m.constant(0.0, of)))
        return made
    check(tf1, build, dtype)


STATES = [[1, 2, 3], [-1, -1, 7], [2**63 - 1, -(2**63), 0, 9]]


def with_states(m, ops):
    """What `ops(handle)` gives for each state, and the states after that."""
    found = []
    for i, state in enumerate(STATES):
        variable = m.Variable(np.array(state), use_resource=True, name=f"state{i}")
        with m.control_dependencies([variable.initializer]):
            handle = variable.handle
            made = []
            for op in ops:
                with m.control_dependencies([variable.initializer, *made]):
                    made.append(op(handle))
        with m.control_dependencies(made):
            found += [*(t for t in made if hasattr(t, "dtype")), variable.read_value()]
    return found


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_of_states(tf1, dtype):
    def build(m):
        of = getattr(m, dtype)
        return with_states(m, [
            lambda h: m.raw_ops.StatefulUniform(resource=h, algorithm=1, shape=[3, 4], dtype=of),
            lambda h: m.raw_ops.StatefulUniform(resource=h, algorithm=3, shape=m.constant([], m.int32), dtype=of),
            lambda h: m.raw_ops.StatefulStandardNormalV2(resource=h, algorithm=1, shape=[5], dtype=of),
            lambda h: m.raw_ops.StatefulTruncatedNormal(resource=h, algorithm=1, shape=[11], dtype=of),
            lambda h: m.raw_ops.StatefulUniform(resource=h, algorithm=1, shape=[0], dtype=of),
        ])
    check(tf1, build, dtype)


@pytest.mark.parametrize("dtype", INTS)
def test_integers_of_states(tf1, dtype):
    def build(m):
        of = getattr(m, dtype)
        ops = [lambda h: m.raw_ops.StatefulUniformFullInt(resource=h, algorithm=1, shape=[7], dtype=of)]
        if dtype.startswith("int"):
            ops.append(lambda h: m.raw_ops.StatefulUniformInt(
                resource=h, algorithm=1, shape=[2, 3], minval=m.constant(-5, of), maxval=m.constant(70000, of)))
        return with_states(m, ops)
    check(tf1, build)


def test_states_move_on(tf1):
    def skip(m, delta):
        return lambda h: m.raw_ops.RngSkip(resource=h, algorithm=1, delta=delta)

    def build(m):
        binomial = dict(counts=[3.0, 40.0], probs=m.constant(0.4))
        return with_states(m, [
            skip(m, 3), skip(m, -1), skip(m, 2**62),
            lambda h: m.raw_ops.StatefulRandomBinomial(resource=h, algorithm=1, shape=[5, 2], **binomial),
            skip(m, 2**55),
        ])
    check(tf1, build)

    def build_reads(m):
        variable = m.Variable(np.array([-5, 2, 3]), use_resource=True)
        with m.control_dependencies([variable.initializer]):
            first = m.raw_ops.RngReadAndSkip(resource=variable.handle, alg=1, delta=constant(m, 4, "uint64"))
        with m.control_dependencies([first]):
            second = m.raw_ops.RngReadAndSkip(resource=variable.handle, alg=3, delta=constant(m, 2**64 - 1, "uint64"))
        with m.control_dependencies([second]):
            return [first, second, variable.read_value()]
    check(tf1, build_reads)


def test_numbers_of_the_systems_entropy_differ():
    import flowmill as m

    with m.Graph().as_default(), m.Session() as session:
        for dtype in INTS:
            numbers = m.raw_ops.NonDeterministicInts(shape=[50], dtype=getattr(m, dtype))
            first, second = session.run(numbers), session.run(numbers)
            assert len({*first, *second}) == 100


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sobol_points(tf1, dtype):
    def build(m):
        of = getattr(m, dtype)
        sizes = [(1, 1, 0), (2, 10, 0), (3, 1000, 5), (7, 40, 2**20 - 3), (1000, 70, 0), (1000, 3, 2**30 - 10), (60, 3000, 123)]
        return [m.raw_ops.SobolSample(dim=dim, num_results=count, skip=skip, dtype=of) for dim, count, skip in sizes]
    check(tf1, build)


def raised(m, build):
    """The class and the text of the error that a program ends with, without what TensorFlow says about where that was."""
    with m.Graph().as_default(), m.Session() as session:
        try:
            session.run(build(m))
        except m.errors.OpError as error:
            return type(error).__name__, words_of(error)
    return None


def stateful(m, op="StatefulUniform", state=(1, 2, 3), of=np.int64, **arguments):
    variable = m.Variable(np.array(state, of), use_resource=True)
    with m.control_dependencies([variable.initializer]):
        defaults = {} if op.startswith("Rng") else {"shape": [3]}
        return getattr(m.raw_ops, op)(resource=m.identity(variable.handle), **{**defaults, **arguments})


def fed(m, value):
    """A value of which nothing is known before it is there."""
    return m.placeholder_with_default(value, None)


def keyed(m, op="StatelessRandomUniformV2", key=(5,), counter=(6, 7), alg=1, shape=(3,), **arguments):
    def word(value):
        return fed(m, np.array(value, np.uint64))
    return getattr(m.raw_ops, op)(shape=shape, key=word(key), counter=word(counter), alg=fed(m, alg), **arguments)


def binomial(m, shape=(4,), seed=(1, 2), counts=(1.0, 2.0, 3.0, 4.0), probs=0.5, **arguments):
    given = {"shape": fed(m, shape), "seed": fed(m, seed), "counts": fed(m, counts), "probs": fed(m, probs)}
    return m.raw_ops.StatelessRandomBinomial(**given, **arguments)


def truncated(m, shape=(2, 4), means=(0.0,) * 4, stddevs=1.0, minvals=-2.0, maxvals=2.0):
    given = {"means": means, "stddevs": stddevs, "minvals": minvals, "maxvals": maxvals}
    return m.raw_ops.StatelessParameterizedTruncatedNormal(shape=fed(m, shape), seed=[1, 2], **{k: fed(m, v) for k, v in given.items()})


ERRORS = {
    "algorithm": lambda m: stateful(m, algorithm=9),
    "algorithms": lambda m: stateful(m, algorithm=fed(m, np.array([1]))),
    "threefry": lambda m: stateful(m, algorithm=2),
    "threefry skips": lambda m: stateful(m, "RngReadAndSkip", alg=2, delta=constant(m, 1, "uint64")),
    "short state": lambda m: stateful(m, state=(1, 2), algorithm=1),
    "state of floats": lambda m: stateful(m, of=np.float32, algorithm=1),
    "matrix as state": lambda m: stateful(m, state=((1, 2, 3),), algorithm=1),
    "negative size": lambda m: stateful(m, algorithm=1, shape=fed(m, np.array([-3]))),
    "scalar as shape": lambda m: stateful(m, algorithm=1, shape=fed(m, np.array(3))),
    "empty range": lambda m: stateful(m, "StatefulUniformInt", algorithm=1, shape=[0], minval=m.constant(5, m.int64), maxval=m.constant(5, m.int64)),
    "several deltas": lambda m: stateful(m, "RngReadAndSkip", alg=1, delta=fed(m, np.array([1], np.uint64))),
    "binomial algorithm": lambda m: stateful(m, "StatefulRandomBinomial", algorithm=3, counts=[1.0, 2.0, 3.0], probs=0.5),
    "binomial threefry": lambda m: stateful(m, "StatefulRandomBinomial", algorithm=2, counts=[1.0, 2.0, 3.0], probs=0.5),
    "two keys": lambda m: keyed(m, key=(5, 6)),
    "scalar as key": lambda m: keyed(m, key=5),
    "algorithms of keys": lambda m: keyed(m, alg=np.array([1], np.int32)),
    "threefry of keys": lambda m: keyed(m, alg=2),
    "threefry of a short counter": lambda m: keyed(m, counter=(1,), alg=2),
    "gamma's threefry": lambda m: keyed(m, "StatelessRandomGammaV3", alg=2, alpha=1.5),
    "binomial shape": lambda m: binomial(m, shape=(3,)),
    "binomial scalar as shape": lambda m: binomial(m, shape=4),
    "binomial sizes": lambda m: binomial(m, shape=(-4,)),
    "binomial parameters": lambda m: binomial(m, probs=(0.5, 0.2)),
    "binomial seed": lambda m: binomial(m, seed=(1,)),
    "gamma shape": lambda m: m.raw_ops.StatelessRandomGammaV2(shape=fed(m, (2,)), seed=[1, 2], alpha=fed(m, (1.0, 2.0, 3.0))),
    "gamma seed": lambda m: m.raw_ops.StatelessRandomGammaV2(shape=[3], seed=fed(m, (1, 2, 3)), alpha=fed(m, 1.0)),
    "poisson shape": lambda m: m.raw_ops.StatelessRandomPoisson(shape=fed(m, (2,)), seed=[1, 2], lam=fed(m, (1.0, 2.0, 3.0)), dtype=m.int32),
    "truncated deviation": lambda m: truncated(m, stddevs=-1.0),
    "truncated bounds": lambda m: truncated(m, minvals=3.0),
    "truncated without bounds": lambda m: truncated(m, minvals=float("-inf"), maxvals=float("inf")),
    "truncated shape": lambda m: truncated(m, shape=(2, 3)),
    "truncated scalar as shape": lambda m: truncated(m, shape=3),
    "sobol dimension": lambda m: m.raw_ops.SobolSample(dim=0, num_results=3, skip=0),
    "sobol points": lambda m: m.raw_ops.SobolSample(dim=1, num_results=0, skip=0),
    "sobol skip": lambda m: m.raw_ops.SobolSample(dim=1, num_results=1, skip=-1),
    "sobol sum": lambda m: m.raw_ops.SobolSample(dim=1, num_results=2**31 - 9, skip=12),
    "sobol product": lambda m: m.raw_ops.SobolSample(dim=4, num_results=2**29, skip=0),
    "sobol scalar": lambda m: m.raw_ops.SobolSample(dim=fed(m, (3,)), num_results=1, skip=0),
    "seed of unsigned numbers": lambda m: m.raw_ops.StatelessRandomUniformFullInt(shape=[3], seed=constant(m, [1, 2], "uint64"), dtype=m.int32),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS.keys())
def test_errors(tf1, build):
    import flowmill

    theirs, ours = raised(tf1, build), raised(flowmill, build)
    assert theirs is not None and ours == theirs


def test_sobols_dimensions_are_limited():
    import flowmill as m

    assert raised(m, lambda m: m.raw_ops.SobolSample(dim=1001, num_results=1, skip=0)) == ("InvalidArgumentError", "dim must be at most 1000")
