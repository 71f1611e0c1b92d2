"""Candidate samplers: the classes that TensorFlow samples under the same seeds, their expected counts, and its errors."""

import numpy as np
import pytest

import flowmill

TRUE = np.array([[0, 3], [4, 1], [2, 2]])
OPS = {"LearnedUnigramCandidateSampler": {"range_max": 11}, "ThreadUnsafeUnigramCandidateSampler": {"range_max": 11}, "AllCandidateSampler": {},
       "FixedUnigramCandidateSampler": {"range_max": 6, "unigrams": [3.0, 1.0, 0.25, 7.0, 2.0, 5.0], "distortion": 0.75}}


def sampled(tf, op, steps=1, true=TRUE, **attrs):
    settings = {"num_true": 2, "num_sampled": 5, "unique": True, "seed": 3, "seed2": 8}
    with tf.Graph().as_default(), tf.Session() as session:
        outputs = list(getattr(tf.raw_ops, op)(true_classes=tf.constant(true, tf.int64), **(settings | attrs)))
        return [str(t.shape) for t in outputs], [session.run(outputs) for _ in range(steps)]


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("op", OPS)
def test_samples_and_counts_are_those_of_tensorflow(tf1, op, unique):
    ours, theirs = (sampled(tf, op, steps=20, unique=unique, **OPS[op]) for tf in (flowmill, tf1))
    assert ours[0] == theirs[0]
    for step, wanted in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_array_equal(step[0], wanted[0])
        np.testing.assert_allclose(step[1], wanted[1], rtol=1e-5)
        np.testing.assert_allclose(step[2], wanted[2], rtol=1e-5)


def test_weights_come_from_a_file_in_parts_after_reserved_classes(tf1, tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(b"the,a,9\r\nof,4\nand, 2.5\nto,1\nin,0.5")
    for attrs in ({"range_max": 6, "num_reserved_ids": 1, "true": [[1, 5]]}, {"range_max": 3, "num_shards": 2, "shard": 0, "num_sampled": 2, "true": [[0, 2]]}):
        ours, theirs = (sampled(tf, "FixedUnigramCandidateSampler", steps=4, vocab_file=str(path), **attrs)[1] for tf in (flowmill, tf1))
        for step, wanted in zip(ours, theirs):
            for mine, other in zip(step, wanted):
                np.testing.assert_allclose(mine, other, rtol=1e-5)


@pytest.mark.parametrize("attrs, message", [
    ({"unigrams": []}, "Must provide either vocab_file or unigrams."),
    ({"vocab_file": "words"}, "Must only provide one of vocab_file and unigrams."),
    ({"range_max": 7}, "range is 7 must be equal to weights size  6"),
    ({"num_sampled": 7}, "Sampler's range is too small."),
    ({"true": [[0, 6]]}, r"`true_candidate` out of range \[0, 6\), received 6"),
    ({"num_true": 3}, "true_classes must have num_true columns, expected: 2 was: 3"),
    ({"unigrams": [], "vocab_file": "/no/such/file"}, "/no/such/file; No such file or directory"),
])
def test_bad_arguments_fail_as_in_tensorflow(tf1, attrs, message):
    codes = []
    for tf in (flowmill, tf1):
        with pytest.raises(tf.errors.OpError, match=message) as raised:
            sampled(tf, "FixedUnigramCandidateSampler", **(OPS["FixedUnigramCandidateSampler"] | attrs))
        codes.append(raised.value.error_code)
    assert codes[0] == codes[1]


def test_more_different_classes_than_there_are_weights_is_an_error():
    with pytest.raises(flowmill.errors.InvalidArgumentError, match="Only 2 classes can be sampled, fewer than num_sampled=3"):
        sampled(flowmill, "FixedUnigramCandidateSampler", range_max=4, num_sampled=3, num_reserved_ids=2, unigrams=[1.0, 2.0], true=[[0, 1]])
