"""Clustering: the points and centres that TensorFlow chooses under the same seeds, and its errors."""

import numpy as np
import pytest

import flowmill


def both(tf1, op, feeds, **attrs):
    """What an op gives in both modules: values and static shapes, or the code of its error."""
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            inputs = {name: tf.placeholder(value.dtype) for name, value in feeds.items()}
            outputs = getattr(tf.raw_ops, op)(**inputs, **attrs)
            outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
            try:
                values = session.run(outputs, {inputs[name]: value for name, value in feeds.items()})
                found.append(([str(t.shape) for t in outputs], values))
            except tf.errors.OpError as error:
                found.append((error.error_code, str(error)))
    return found


def points(count, width, seed=0):
    """Points whose products are exact."""
    return np.random.RandomState(seed).randint(-20, 20, [count, width]).astype(np.float32)


@pytest.mark.parametrize("retries", [0, 3, -1])
@pytest.mark.parametrize("count, width, wanted", [(40, 3, 7), (1, 2, 1), (300, 17, 20), (5, 0, 1)])
def test_first_centers(tf1, count, width, wanted, retries):
    for seed in (0, 5, -(2**40)):
        ours, theirs = both(tf1, "KmeansPlusPlusInitialization", {
            "points": points(count, width), "num_to_sample": np.int64(wanted), "seed": np.int64(seed), "num_retries_per_sample": np.int64(retries)})
        assert ours[0] == theirs[0]
        np.testing.assert_array_equal(ours[1][0], theirs[1][0])


def test_points_that_are_equal_are_all_chosen():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        samples = flowmill.raw_ops.KmeansPlusPlusInitialization(points=np.ones([4, 2], "f"), num_to_sample=4, seed=1, num_retries_per_sample=2)
        assert session.run(samples).tolist() == [[1, 1]] * 4


@pytest.mark.parametrize("change", [
    {"points": np.zeros(3, "f")}, {"num_to_sample": np.int64([1])}, {"seed": np.int64([1])}, {"num_retries_per_sample": np.int64([1])},
    {"points": np.zeros([0, 3], "f")}, {"num_to_sample": np.int64(0)}, {"num_to_sample": np.int64(41)},
])
def test_bad_arguments_of_first_centers(tf1, change):
    feeds = {"points": points(40, 3), "num_to_sample": np.int64(2), "seed": np.int64(1), "num_retries_per_sample": np.int64(0)}
    ours, theirs = both(tf1, "KmeansPlusPlusInitialization", feeds | change)
    assert ours[0] == theirs[0] == 3
    assert ours[1].splitlines()[0] in theirs[1]


def test_markov_chains(tf1):
    for seed in range(20):
        distances = np.random.RandomState(seed).rand(30).astype(np.float32)
        ours, theirs = both(tf1, "KMC2ChainInitialization", {"distances": distances, "seed": np.int64(seed)})
        assert ours == theirs
    for feeds in ({"distances": np.zeros(0, "f"), "seed": np.int64(1)}, {"distances": np.zeros([1, 1], "f"), "seed": np.int64(1)},
                  {"distances": np.zeros(3, "f"), "seed": np.int64([1])}):
        ours, theirs = both(tf1, "KMC2ChainInitialization", feeds)
        assert ours[0] == theirs[0] == 3


@pytest.mark.parametrize("count, centers, width, k", [(7, 5, 3, 1), (7, 5, 3, 3), (7, 5, 3, 9), (1, 1, 1, 1), (200, 1500, 19, 4), (200, 1500, 19, 1), (3, 4, 0, 2)])
def test_nearest_centers(tf1, count, centers, width, k):
    ours, theirs = both(tf1, "NearestNeighbors", {"points": points(count, width), "centers": points(centers, width, 1), "k": np.int64(k)})
    assert ours[0] == theirs[0]
    for mine, other in zip(ours[1], theirs[1]):
        np.testing.assert_array_equal(mine, other)


def test_no_centers(tf1):
    with flowmill.Graph().as_default(), flowmill.Session() as session, pytest.raises(flowmill.errors.InvalidArgumentError, match="k must not be negative"):
        session.run(flowmill.raw_ops.NearestNeighbors(points=points(4, 2), centers=points(3, 2), k=-1))
    for k, centers in ((0, 3), (2, 0)):
        ours, theirs = both(tf1, "NearestNeighbors", {"points": points(4, 2), "centers": points(centers, 2), "k": np.int64(k)})
        assert [value.shape for value in ours[1]] == [value.shape for value in theirs[1]] == [(4, 0)] * 2


@pytest.mark.parametrize("change", [
    {"points": np.zeros(3, "f")}, {"centers": np.zeros(3, "f")}, {"k": np.int64([1])}, {"points": np.zeros([0, 3], "f")}, {"centers": np.zeros([2, 2], "f")},
])
def test_bad_arguments_of_nearest_centers(tf1, change):
    ours, theirs = both(tf1, "NearestNeighbors", {"points": points(4, 3), "centers": points(5, 3), "k": np.int64(2)} | change)
    assert ours[0] == theirs[0] == 3
