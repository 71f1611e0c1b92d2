"""Stochastic dual coordinate ascent. TensorFlow takes examples in an order of its own, so values are compared for batches of one example, and
where both have converged."""

import numpy
import pytest

import flowmill

LOSSES = ["logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss"]


def one_step(tf, examples, state, weights, loss, l1=0.0, l2=1.0, adaptive=False, partitions=1, version=1):
    """The results of one call for examples with a group of sparse features, one of sparse features without values, and one of dense ones."""
    sparse, bare, dense, labels, sizes = examples
    attrs = {"loss_type": loss, "l1": l1, "l2": l2, "num_loss_partitions": partitions, "num_inner_iterations": 1}
    with tf.Graph().as_default() as graph:
        inputs = {
            "sparse_example_indices": [tf.constant(sparse[0], tf.int64), tf.constant(bare[0], tf.int64)],
            "sparse_feature_indices": [tf.constant(sparse[1], tf.int64), tf.constant(bare[1], tf.int64)],
            "sparse_feature_values": [tf.constant(sparse[2], tf.float32)],
            "dense_features": [tf.constant(dense, tf.float32)],
            "example_weights": tf.constant(sizes, tf.float32),
            "example_labels": tf.constant(labels, tf.float32),
            "sparse_indices": [tf.constant([10, 20, 30], tf.int64), tf.constant([1, 2], tf.int64)],
            "sparse_weights": [tf.constant(w, tf.float32) for w in weights[:2]],
            "dense_weights": [tf.constant(weights[2], tf.float32)],
            "example_state_data": tf.constant(state, tf.float32),
        }
        if version == 1:
            made = tf.train.sdca_optimizer(**inputs, **attrs, adaptative=adaptive)
        else:
            made = tf.raw_ops.SdcaOptimizerV2(**inputs, **attrs, adaptive=adaptive)
        with tf.Session(graph=graph) as session:
            state, sparse, dense = session.run([made[0], list(made[1]), list(made[2])])
            return [state, *sparse, *dense]


def one_example(rng, loss):
    count = int(rng.integers(0, 3))
    sparse = [0] * count, list(rng.permutation([10, 20, 30])[:count]), list(rng.normal(size=count))
    bare = ([0], [int(rng.integers(1, 3))]) if rng.integers(2) else ([], [])
    label = rng.integers(5) if loss == "poisson_loss" else rng.normal() if loss == "squared_loss" else rng.integers(2)
    return sparse, bare, rng.normal(size=(1, 3)), [float(label)], [float(rng.uniform(0.1, 2))]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_of_one_example_is_tensorflows(tf1, loss):
    for seed in range(15):
        rng = numpy.random.default_rng(seed)
        examples = one_example(rng, loss)
        weights = [rng.normal(size=n) for n in (3, 2, 3)]
        label = examples[3][0] if loss in ("poisson_loss", "squared_loss") else 2 * examples[3][0] - 1
        state = [[0.3 * label, 0.0, 0.0, 0.0]]
        options = {"l1": float(rng.choice([0.0, 0.2])), "l2": float(rng.uniform(0.1, 3)), "adaptive": bool(rng.integers(2)),
                   "partitions": int(rng.integers(1, 4)), "version": int(rng.integers(1, 3))}
        results = [one_step(tf, examples, state, weights, loss, **options) for tf in (flowmill, tf1)]
        for ours, theirs in zip(*results, strict=True):
            assert ours.shape == theirs.shape
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, err_msg=f"{loss} {seed} {options}")


def converged(tf, loss, adaptive):
    """TensorFlow's threads draw examples of an adaptive step in any order: its steps are many, so that every order ends at the same weights."""
    rng = numpy.random.default_rng(3)
    count, width = 30, 4
    x = rng.normal(size=(count, width))
    true = numpy.array([1.0, -2, 0.5, 0])
    signal = x @ true
    labels = {"squared_loss": signal, "poisson_loss": numpy.exp(0.3 * signal).round()}.get(loss, (signal > 0).astype(float))
    with tf.Graph().as_default() as graph:
        weights, state = tf.placeholder(tf.float32, [width]), tf.placeholder(tf.float32, [count, 4])
        made = tf.train.sdca_optimizer(
            [], [], [], [tf.constant(x, tf.float32)], tf.ones([count]), tf.constant(labels, tf.float32), [], [], [weights], state,
            loss_type=loss, l1=0.0, l2=3.0, num_loss_partitions=1, num_inner_iterations=1, adaptative=adaptive)
        now, kept = numpy.zeros(width, numpy.float32), numpy.zeros([count, 4], numpy.float32)
        with tf.Session(graph=graph) as session:
            for _ in range(300 if adaptive else 60):
                kept, delta = session.run([made[0], made[2][0]], {weights: now, state: kept})
                now = now + delta
    return now


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_find_the_same_weights(tf1, loss, adaptive):
    ours, theirs = converged(flowmill, loss, adaptive), converged(tf1, loss, adaptive)
    numpy.testing.assert_allclose(ours, theirs, atol=5e-3 if loss == "poisson_loss" else 1e-5)


def test_a_step_gives_the_same_each_time():
    first, second = (converged(flowmill, "logistic_loss", True) for _ in range(2))
    numpy.testing.assert_array_equal(first, second)


def test_what_is_refused(tf1):
    weights = [numpy.zeros(n) for n in (3, 2, 3)]
    good = ([0], [10], [1.0]), ([0], [1]), numpy.ones((1, 3)), [1.0], [1.0]
    state = numpy.zeros((1, 4))
    cases = [
        ("logistic_loss", (*good[:3], [0.5], [1.0]), state, "Only labels of 0.0 or 1.0 are supported right now. Found example with label: 0.5"),
        ("poisson_loss", (*good[:3], [-1.0], [1.0]), state, "Only non-negative labels can be used with the Poisson log loss"),
        ("squared_loss", (([0], [11], [1.0]), *good[1:]), state, "Found sparse feature indices out of valid range: 11"),
        ("squared_loss", (([0, 0], [10, 10], [1.0, 2.0]), *good[1:]), state, "Duplicate index in sparse vector."),
        ("squared_loss", (([0, 0], [10], [1.0, 2.0]), *good[1:]), state, "Found mismatched example_indices and feature_indices"),
        ("squared_loss", (*good[:3], [1.0, 1.0], [1.0]), state, "Expected 1 example labels but got 2"),
        ("squared_loss", (*good[:2], numpy.ones((1, 4)), *good[3:]), state, "More dense features than we have parameters for: 4"),
        ("squared_loss", good, numpy.zeros((2, 4)), r"Expected shape \[1,4\] for example_state_data, got \[2,4\]"),
    ]
    for loss, examples, state, message in cases:
        for tf in (tf1, flowmill):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                one_step(tf, examples, state, weights, loss)


def test_weights_shrink(tf1):
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            weights = [tf.get_variable(name, initializer=tf.constant(value), use_resource=False)
                       for name, value in (("a", [0.5, -0.3, 0.1, 0.0, -7.0]), ("b", [[1.0], [-0.21]]))]
            shrink = tf.train.sdca_shrink_l1(weights, l1=0.4, l2=2.0)
            with tf.Session(graph=graph) as session:
                session.run(tf.global_variables_initializer())
                session.run(shrink)
                results.append(session.run(weights))
    for ours, theirs in zip(*results, strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


def test_fingerprints(tf1):
    rng = numpy.random.default_rng(0)
    texts = [bytes(rng.integers(256, size=n, dtype=numpy.uint8)) for n in [*range(300), 1000, 4096]]
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
            results.append(session.run(tf.train.sdca_fprint(tf.constant(texts))))
    numpy.testing.assert_array_equal(results[0], results[1])
