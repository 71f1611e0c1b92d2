"""`tf.random.Generator`: the same nodes and values as TensorFlow's, states that move on, checkpoints."""

import numpy as np
import pytest

import flowmill
from compare import compare, run, same_error

# What is asked of one generator: each makes nodes of its own.
DRAWN = {
    "normal": lambda tf, g: g.normal([2, 3]),
    "normal 2": lambda tf, g: g.normal((7,), 1.0, 2.0, tf.float64, "nn"),
    "normal 3": lambda tf, g: g.normal([], dtype=tf.float16),
    "normal 4": lambda tf, g: g.normal(tf.constant([2, 2]) + 1),
    "truncated_normal": lambda tf, g: g.truncated_normal([30], stddev=0.5),
    "uniform": lambda tf, g: g.uniform([2, 3]),
    "uniform 2": lambda tf, g: g.uniform([5], -1.0, 4.0, tf.float64),
    "uniform 3": lambda tf, g: g.uniform([5], 3, 9, tf.int32, "nn"),
    "uniform 4": lambda tf, g: g.uniform([5], None, None, tf.uint32),
    "uniform_full_int": lambda tf, g: g.uniform_full_int([4]),
    "uniform_full_int 2": lambda tf, g: g.uniform_full_int([4], tf.int32, "nn"),
    "binomial": lambda tf, g: g.binomial([4, 3], [3.0, 20.0, 90.0], 0.4),
    "binomial 2": lambda tf, g: g.binomial([9], 25.0, 0.9, tf.float32, "nn"),
    "make_seeds": lambda tf, g: g.make_seeds(),
    "make_seeds 2": lambda tf, g: g.make_seeds(5),
    "key": lambda tf, g: g.key,
    "skip": lambda tf, g: g.skip(3),
    "state": lambda tf, g: g.state.read_value(),
}
MADE = {
    "seed": lambda tf: tf.random.Generator.from_seed(1234),
    "long seed": lambda tf: tf.random.Generator.from_seed(2**150 + 2**80 + 17, alg="philox"),
    "seed of numbers": lambda tf: tf.random.Generator.from_seed([1, 2**64 - 1], tf.random.Algorithm.PHILOX),
    "state": lambda tf: tf.random.Generator.from_state([1, 2, 3], "auto_select"),
    "state of a tensor": lambda tf: tf.random.Generator.from_state(tf.constant([1, 2, 3]) * 2, 1),
    "key and counter": lambda tf: tf.random.Generator.from_key_counter(2**63 + 1, [2**64 - 1, 7], alg=1),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN.keys())
def test_what_is_drawn(tf1, draw):
    compare(tf1, lambda tf: draw(tf, tf.random.Generator.from_seed(42)), initialize=True)


@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
def test_how_generators_are_made(tf1, make):
    def build(tf):
        generator = make(tf)
        assert generator.state.name == "random_generator/StateVar:0" and not generator.state.trainable
        assert tf.global_variables() == [generator.state] and not tf.trainable_variables()
        drawn = generator.uniform_full_int([3])
        with tf.control_dependencies([drawn]):
            return [drawn, generator.state.read_value()]
    compare(tf1, build, initialize=True)


def test_algorithms(tf1):
    assert [(a.name, a.value) for a in flowmill.random.Algorithm] == [(a.name, a.value) for a in tf1.random.Algorithm]
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            generator = tf.random.Generator.from_seed(1, "threefry")
            assert generator.algorithm == 2 and generator.state.shape.as_list() == [2]
            assert tf.random.Generator.from_non_deterministic_state().state.shape.as_list() == [3]


def test_generators_split(tf1):
    # TensorFlow's own method fails in graphs; its keys are these.
    with tf1.Graph().as_default(), tf1.Session() as session:
        generator = tf1.random.Generator.from_seed(5)
        keys = generator.uniform_full_int([3], tf1.int64)
        session.run(generator.state.initializer)
        keys = session.run(keys).tolist()
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        first = flowmill.random.Generator.from_seed(5)
        parts = first.split(3)
        assert [p.algorithm for p in parts] == [1, 1, 1]
        session.run(first.state.initializer)
        session.run([p.state.initializer for p in parts])
        assert [session.run(p.state).tolist() for p in parts] == [[0, 0, key] for key in keys]
        assert session.run(first.state).tolist() == [5 + 3 * 256, 0, 0]


def test_copies_and_shared_states(tf1):
    def build(tf):
        variable = tf.Variable(np.array([4, 5, 6]), use_resource=True)
        generator = tf.random.Generator(state=variable, alg="philox")
        assert generator.state is variable
        return generator.normal([2])
    compare(tf1, build, initialize=True)

    def build_copy(tf):
        first = tf.random.Generator.from_seed(8)
        return tf.random.Generator(copy_from=first)
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            copy = build_copy(tf)
            for variable in tf.global_variables():
                session.run(variable.initializer)
            assert session.run(copy.state).tolist() == [8, 0, 0]
            assert copy.algorithm == 1


@pytest.mark.parametrize("how", ["reset", "reset_from_seed", "reset_from_key_counter"])
def test_states_are_reset(tf1, how):
    arguments = {"reset": ([7, 8, 9],), "reset_from_seed": (2**70 + 3,), "reset_from_key_counter": (5, [2**63, 1])}[how]

    def build(tf):
        generator = tf.random.Generator.from_seed(3)
        assert getattr(generator, how)(*arguments) is None
        return []
    found = []
    for tf in (tf1, flowmill):
        graph, _, _ = run(tf, build)
        with tf.Session(graph=graph) as session:
            session.run("random_generator/StateVar/Assign")
            assigned = [op for op in graph.get_operations() if op.type == "AssignVariableOp"][-1]
            session.run(assigned)
            found.append(session.run("random_generator/StateVar/Read/ReadVariableOp:0").tolist())
            found.append([(op.name, op.type) for op in graph.get_operations()])
    assert found[:2] == found[2:]


def test_functions_reset_and_draw(tf1):
    def build(tf):
        generator = tf.random.Generator.from_seed(3)

        @tf.function
        def draw():
            generator.reset_from_seed(9)
            first = generator.normal([2])
            return first, generator.uniform([3])
        return list(draw())
    compare(tf1, build, initialize=True)


def test_numbers_go_on_from_step_to_step(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            generator = tf.random.Generator.from_seed(77)
            numbers = generator.uniform_full_int([2], tf.int64)
            session.run(generator.state.initializer)
            found.append([session.run(numbers).tolist() for _ in range(3)] + [session.run(generator.state).tolist()])
    assert found[0] == found[1]


def test_the_global_generator(monkeypatch):
    from flowmill.random import _generator

    monkeypatch.setattr(_generator, "_global", None)
    with flowmill.Graph().as_default() as graph:
        first = flowmill.random.get_global_generator()
        assert first is flowmill.random.get_global_generator() and first.state.graph is graph
        other = flowmill.random.Generator.from_seed(1)
        flowmill.random.set_global_generator(other)
        assert flowmill.random.get_global_generator() is other
        with flowmill.Session() as session:
            session.run(flowmill.global_variables_initializer())
            assert len(set(session.run(first.normal([4])))) == 4


def test_checkpoints_hold_generators(tf1, tmp_path):
    prefix = str(tmp_path / "theirs")
    with tf1.Graph().as_default(), tf1.Session() as session:
        generator = tf1.random.Generator.from_state([11, 12, 13], 1)
        session.run(generator.state.initializer)
        path = tf1.train.Checkpoint(rng=generator).save(prefix, session=session)
        names = {name for name, _ in tf1.train.list_variables(path)}
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        generator = flowmill.random.Generator.from_seed(1)
        session.run(generator.state.initializer)
        checkpoint = flowmill.train.Checkpoint(rng=generator)
        checkpoint.restore(path).run_restore_ops(session)
        assert session.run(generator.state).tolist() == [11, 12, 13]
        own = checkpoint.save(str(tmp_path / "ours"), session=session)
        assert {name for name, _ in flowmill.train.list_variables(own)} == names


def test_gradients_go_to_parameters(tf1):
    def build(tf):
        alpha, beta = tf.constant([0.5, 2.0]), tf.constant([[1.0], [3.0]])
        gamma = tf.random.stateless_gamma([3, 2, 2], [1, 2], alpha, beta)
        raw = tf.raw_ops.StatelessRandomGammaV2(shape=[4, 2], seed=[1, 2], alpha=alpha)
        means, stddevs = tf.constant([0.0, 0.25]), tf.constant([[1.0], [2.0]])
        low, high = tf.constant(-1.5), tf.constant([1.0, 3.0])
        truncated = tf.random.stateless_parameterized_truncated_normal([5, 2, 2], [3, 4], means, stddevs, low, high)
        weights = tf.reshape(tf.range(20.0), [5, 2, 2])
        return [*tf.gradients(gamma * gamma, [alpha, beta]), *tf.gradients(raw, [alpha]),
                *tf.gradients(truncated * weights, [means, stddevs, low, high])]
    compare(tf1, build, nodes=False, rtol=2e-4, atol=1e-5)

    def build_of_unknown_shapes(tf):
        alpha = tf.placeholder_with_default([0.5, 2.0], None)
        truncated = tf.random.stateless_parameterized_truncated_normal([5, 2], [3, 4], alpha, 1.0, [-2.0, -1.0], tf.placeholder_with_default([3.0], None))
        return [*tf.gradients(tf.random.stateless_gamma([3, 2], [1, 2], alpha), [alpha]), *tf.gradients(truncated, [alpha])]
    compare(tf1, build_of_unknown_shapes, nodes=False, rtol=2e-4, atol=1e-5)


ERRORS = {
    "uniform integers": (lambda tf, g: g.uniform([2], 5, dtype=tf.int32), "minval and maxval must be both `None` or both non-`None`; got minval=5 and"),
    "state of another size": (lambda tf, g: tf.random.Generator.from_state([1, 2], "philox"), "incompatible"),
    "reset to another size": (lambda tf, g: g.reset([1, 2]), "incompatible"),
    "counter of another size": (lambda tf, g: tf.random.Generator.from_key_counter(1, [2], "philox"), "incompatible"),
    "key of another size": (lambda tf, g: tf.random.Generator.from_key_counter([1], [2, 3], "philox"), "incompatible"),
    "nothing": (lambda tf, g: tf.random.Generator(), None),
    "too much": (lambda tf, g: tf.random.Generator(copy_from=g, alg=1), None),
}


@pytest.mark.parametrize("case, message", ERRORS.values(), ids=ERRORS.keys())
def test_errors(tf1, case, message):
    same_error(tf1, lambda tf: case(tf, tf.random.Generator.from_seed(1)), message)
