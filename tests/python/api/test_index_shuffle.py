"""Indices shuffled by a seed: the same values and errors as TensorFlow's."""

import pytest

import flowmill
from compare import compare, run, same_error


def test_shuffled_indices(tf1):
    for dtype in ("int32", "uint32", "int64", "uint64"):
        for seed, rounds in (([1, 2, 3], 4), ([[7, 8, 9]] * 5, 8), ([-1, 2**30, 5], 6)):
            for greatest in (4, 10_000, 2**31 - 1):
                compare(tf1, lambda tf, d=dtype, s=seed, r=rounds, m=greatest: tf.random_index_shuffle(
                    tf.constant([0, 1, 2, 3, 4], getattr(tf, d)), s, tf.constant(m, getattr(tf, d)), rounds=r))
    compare(tf1, lambda tf: tf.random_index_shuffle(3, tf.constant([1, 2, 3], tf.int64), 5, name="one"))
    compare(tf1, lambda tf: tf.random_index_shuffle(tf.constant(3, tf.int64), [1, 2, 3], tf.constant(2**62, tf.int64)))
    for tf in (tf1, flowmill):
        with pytest.raises(tf.errors.InvalidArgumentError, match="max_index must be >= index"):
            run(tf, lambda tf: tf.random_index_shuffle(30, [1, 2, 3], 9))
    with pytest.raises(flowmill.errors.InvalidArgumentError, match="rounds must be even"):
        run(flowmill, lambda tf: tf.random_index_shuffle(3, [1, 2, 3], 9, rounds=5))
    same_error(tf1, lambda tf: tf.random_index_shuffle(3, [1, 2], 9), "Seed must have shape [3] or [n, 3] but got [2].")
