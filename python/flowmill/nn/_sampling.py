"""Losses over many classes by samples of them, and what samples candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.tensor import Tensor
from flowmill.nn._cross_entropy import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits_v2
from flowmill.nn._embedding import _parts, embedding_lookup
from flowmill.nn._scope import scope

if TYPE_CHECKING:
    from flowmill.raw_ops import (
        _AllCandidateSampler, _ComputeAccidentalHits, _FixedUnigramCandidateSampler, _LearnedUnigramCandidateSampler, _LogUniformCandidateSampler,
        _UniformCandidateSampler,
    )


def _sampler(op: str, true_classes, num_true: int, num_sampled: int, unique: bool, seed: int | None, name: str | None, **attrs):
    seed1, seed2 = tf.get_seed(seed)
    return call(op, name, true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, seed=seed1 or 0, seed2=seed2 or 0, **attrs)


def uniform_candidate_sampler(true_classes, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
                              name: str | None = None) -> _UniformCandidateSampler:
    """Draws classes of equal probability.

    Args:
        true_classes: the right classes, `int64` ``[batch, num_true]``.
        num_true: how many are right for each example.
        num_sampled: how many classes to draw.
        unique: whether each is drawn once only.
        range_max: the number of classes.
        seed: of the random numbers, with the graph's seed.
        name: the name of the operation.

    Returns:
        The classes drawn, and how often each right and each drawn class is expected among them.
    """
    return _sampler("UniformCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max)


def log_uniform_candidate_sampler(true_classes, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
                                  name: str | None = None) -> _LogUniformCandidateSampler:
    """Draws classes by Zipf's law: class c with probability ``(log(c + 2) - log(c + 1)) / log(range_max + 1)``.

    Arguments and result are those of :func:`uniform_candidate_sampler`.
    """
    return _sampler("LogUniformCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max)


def learned_unigram_candidate_sampler(true_classes, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
                                      name: str | None = None) -> _LearnedUnigramCandidateSampler:
    """Draws classes as often as they were right so far. Arguments and result are those of :func:`uniform_candidate_sampler`."""
    return _sampler("LearnedUnigramCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max)


def fixed_unigram_candidate_sampler(true_classes, num_true: int, num_sampled: int, unique: bool, range_max: int, vocab_file: str = "",
                                    distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0, unigrams=(),
                                    seed: int | None = None, name: str | None = None) -> _FixedUnigramCandidateSampler:
    """Draws classes by counts that are given, in a file or as a list.

    Args:
        true_classes: the right classes, `int64` ``[batch, num_true]``.
        num_true: how many are right for each example.
        num_sampled: how many classes to draw.
        unique: whether each is drawn once only.
        range_max: the number of classes.
        vocab_file: a file whose lines end in ``,count``.
        distortion: the exponent of the counts.
        num_reserved_ids: how many classes come first that are never drawn.
        num_shards: of how many samplers this is one.
        shard: which one.
        unigrams: counts, if there is no file.
        seed: of the random numbers, with the graph's seed.
        name: the name of the operation.

    Returns:
        As :func:`uniform_candidate_sampler`.
    """
    return _sampler("FixedUnigramCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max,
                    vocab_file=vocab_file, distortion=float(distortion), num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
                    unigrams=[float(u) for u in unigrams])


def all_candidate_sampler(true_classes, num_true: int, num_sampled: int, unique: bool, seed: int | None = None,
                          name: str | None = None) -> _AllCandidateSampler:
    """Returns all classes, for tests of functions that sample. The result has the form of that of :func:`uniform_candidate_sampler`."""
    return _sampler("AllCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name)


def compute_accidental_hits(true_classes, sampled_candidates, num_true: int, seed: int | None = None,
                            name: str | None = None) -> _ComputeAccidentalHits:
    """Finds the sampled classes that are right ones.

    Args:
        true_classes: the right classes, `int64` ``[batch, num_true]``.
        sampled_candidates: the classes drawn, a vector.
        num_true: how many are right for each example.
        seed: has no effect on the result.
        name: the name of the operation.

    Returns:
        Rows of the batch, places among those drawn, and for each a very low weight to be added to its logit.
    """
    seed1, seed2 = tf.get_seed(seed)
    return call("ComputeAccidentalHits", name, true_classes, sampled_candidates, num_true=num_true, seed=seed1 or 0, seed2=seed2 or 0)


def _sum_rows(x: Tensor) -> Tensor:
    columns = tf.shape(x)[1]
    ones = tf.ones(tf.stack([columns, 1]), x.dtype)
    return tf.reshape(tf.matmul(x, ones), [-1])


def _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits,
                    partition_strategy, name, seed=None):
    """Logits of the right classes and of those drawn, ``[batch, num_true + num_sampled]``, and their labels."""
    parts = _parts(weights)
    with scope(name, "compute_sampled_logits", [*parts, biases, inputs, labels]):
        if labels.dtype.base_dtype is not tf.int64:
            labels = tf.cast(labels, tf.int64)
        flat = tf.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed=seed)
        sampled, true_count, sampled_count = (tf.stop_gradient(s) for s in sampled_values)
        sampled = tf.cast(sampled, tf.int64)
        ids = tf.concat([flat, sampled], 0)
        rows = embedding_lookup(parts, ids, partition_strategy=partition_strategy)
        if rows.dtype.base_dtype is not inputs.dtype.base_dtype:
            rows = tf.cast(rows, inputs.dtype)
        true_rows = tf.slice(rows, [0, 0], tf.stack([tf.shape(flat)[0], -1]))
        sampled_rows = tf.slice(rows, tf.stack([tf.shape(flat)[0], 0]), [-1, -1])
        sampled_logits = tf.matmul(inputs, sampled_rows, transpose_b=True)
        bias = embedding_lookup(biases, ids, partition_strategy=partition_strategy)
        if bias.dtype.base_dtype is not inputs.dtype.base_dtype:
            bias = tf.cast(bias, inputs.dtype)
        true_bias = tf.slice(bias, [0], tf.shape(flat))
        sampled_bias = tf.slice(bias, tf.shape(flat), [-1])
        width = tf.shape(true_rows)[1:2]
        shape = tf.concat([[-1, num_true], width], 0)
        products = tf.multiply(tf.expand_dims(inputs, 1), tf.reshape(true_rows, shape))
        products = tf.reshape(products, tf.concat([[-1], width], 0))
        true_logits = tf.reshape(_sum_rows(products), [-1, num_true])
        true_bias = tf.reshape(true_bias, [-1, num_true])
        true_logits += true_bias
        sampled_logits += sampled_bias
        if remove_accidental_hits:
            sampled_logits += _hits(labels, sampled, num_true, num_sampled, sampled_logits.dtype)
        true_logits -= tf.log(true_count)
        sampled_logits -= tf.log(sampled_count)
        logits = tf.concat([true_logits, sampled_logits], 1)
        targets = tf.concat([tf.ones_like(true_logits) / num_true, tf.zeros_like(sampled_logits)], 1)
        return logits, targets


def _hits(labels: Tensor, sampled: Tensor, num_true: int, num_sampled: int, dtype) -> Tensor:
    """Returns the summand that removes right classes from the sampled ones, ``[batch, num_sampled]``."""
    rows, places, weights = compute_accidental_hits(labels, sampled, num_true=num_true)
    rows = tf.reshape(rows, [-1, 1])
    places = tf.reshape(tf.cast(places, tf.int32), [-1, 1])
    indices = tf.concat([rows, places], 1, "sparse_indices")
    shape = tf.concat([tf.shape(labels)[:1], tf.expand_dims(num_sampled, 0)], 0)
    if weights.dtype.base_dtype is not dtype.base_dtype:
        weights = tf.cast(weights, dtype)
    return call("SparseToDense", None, indices, shape, weights, 0.0, validate_indices=False)


def nce_loss(weights, biases, labels, inputs, num_sampled: int, num_classes: int, num_true: int = 1, sampled_values=None,
             remove_accidental_hits: bool = False, partition_strategy: str = "mod", name: str = "nce_loss") -> Tensor:
    """Noise-contrastive estimation: tells right classes from drawn ones.

    Args:
        weights: ``[classes, width]``, or a list of parts of it.
        biases: ``[classes]``.
        labels: the right classes, `int64` ``[batch, num_true]``.
        inputs: ``[batch, width]``.
        num_sampled: how many classes to draw for the batch.
        num_classes: the number of classes.
        num_true: how many are right for each example.
        sampled_values: what a sampler gave; None draws by :func:`log_uniform_candidate_sampler`.
        remove_accidental_hits: whether classes that are right do not count among those drawn.
        partition_strategy: as for :func:`embedding_lookup`.
        name: the name of the scope.

    Returns:
        A loss for each example.
    """
    logits, labels = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                     remove_accidental_hits, partition_strategy, name)
    return _sum_rows(sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="sampled_losses"))


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled: int, num_classes: int, num_true: int = 1, sampled_values=None,
                         remove_accidental_hits: bool = True, partition_strategy: str = "mod", name: str = "sampled_softmax_loss",
                         seed: int | None = None) -> Tensor:
    """Returns the cross entropy of softmax over the right classes and those drawn. Arguments are as for :func:`nce_loss`.

    Returns:
        A loss for each example.
    """
    logits, labels = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                     remove_accidental_hits, partition_strategy, name, seed)
    labels = tf.stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
