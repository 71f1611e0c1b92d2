"""Connectionist temporal classification."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.nn._scope import scope

if TYPE_CHECKING:
    from flowmill._internal.sparse_tensor import SparseTensor


def ctc_loss(labels, inputs=None, sequence_length=None, preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True,
             ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True, logits=None) -> Tensor:
    """Returns the negative logarithm of the probability of labels, summed over all ways to spread them over time.

    Args:
        labels: an `int32` SparseTensor ``[batch, time]``.
        inputs: logits, ``[time, batch, classes]``; the last class is the blank.
        sequence_length: the length of each sequence, ``[batch]``.
        preprocess_collapse_repeated: whether equal labels in a row become one before.
        ctc_merge_repeated: whether equal classes in a row without a blank between are one.
        ignore_longer_outputs_than_inputs: gives 0 for sequences that are too short for their labels, instead of an error.
        time_major: false for ``[batch, time, classes]``.
        logits: `inputs` by its new name.

    Returns:
        A loss for each sequence.

    Raises:
        TypeError: if labels are no SparseTensor.
    """
    if not isinstance(labels, tf.SparseTensor):
        raise TypeError(f"Expected argument `labels` to be a SparseTensor. Received labels={labels} of type: {type(labels).__name__}")
    inputs = convert_to_tensor(one_of("inputs", inputs, "logits", logits), name="logits")
    if not time_major:
        inputs = tf.transpose(inputs, [1, 0, 2])
    dtype = inputs.dtype.base_dtype
    narrow = dtype in (tf.float16, tf.bfloat16)
    if narrow:
        inputs = tf.cast(inputs, tf.float32)
    loss = call("CTCLoss", None, inputs, labels.indices, labels.values, sequence_length,
                preprocess_collapse_repeated=preprocess_collapse_repeated, ctc_merge_repeated=ctc_merge_repeated,
                ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs)[0]
    return tf.cast(loss, dtype) if narrow else loss


def ctc_unique_labels(labels, name: str | None = None):
    """Returns the different labels of each sequence, and where they are.

    Args:
        labels: ``[batch, time]``.
        name: the name of the scope.

    Returns:
        A list: the labels, each once, with zeros after them, as `int64`; and for each label its place among them. Both are ``[batch, time]``.
    """
    with scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")

        def row(values):
            found, places = tf.unique(values)
            return [tf.cast(tf.pad(found, [[0, tf.size(values) - tf.size(found)]]), tf.int64), places]
        return tf.map_fn(row, labels, dtype=[tf.int64, tf.int32])


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated: bool = True, blank_index: int | None = None) -> tuple[list[SparseTensor], Tensor]:
    """Returns the likeliest class of each step.

    Args:
        inputs: logits, ``[time, batch, classes]``.
        sequence_length: the length of each sequence, ``[batch]``.
        merge_repeated: whether equal classes in a row without a blank between are one.
        blank_index: which class is the blank, the last one if it is None.

    Returns:
        A list of one SparseTensor ``[batch, time]``, and the negative sums of the logits, ``[batch, 1]``.
    """
    indices, values, shape, scores = call("CTCGreedyDecoder", None, inputs, sequence_length, merge_repeated=merge_repeated, blank_index=blank_index)
    return [tf.SparseTensor(indices, values, shape)], scores


def ctc_beam_search_decoder(inputs, sequence_length, beam_width: int = 100, top_paths: int = 1,
                            merge_repeated: bool = True) -> tuple[list[SparseTensor], Tensor]:
    """Returns the likeliest sequences, found among `beam_width` at each step.

    Returns:
        A list of `top_paths` SparseTensors ``[batch, time]``, and their logarithms of probabilities, ``[batch, top_paths]``.
    """
    indices, values, shapes, scores = call(
        "CTCBeamSearchDecoder", None, inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated)
    return [tf.SparseTensor(*parts) for parts in zip(indices, values, shapes)], scores


def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width: int = 100, top_paths: int = 1) -> tuple[list[SparseTensor], Tensor]:
    """:func:`ctc_beam_search_decoder` that leaves equal classes in a row as they are."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)


def collapse_repeated(labels, seq_length, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Equal labels in a row as one.

    Args:
        labels: ``[batch, time]``.
        seq_length: the length of each sequence, ``[batch]``.
        name: the name of the scope.

    Returns:
        The labels, with zeros after the end of each sequence, and the new lengths.
    """
    with scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")
        new = tf.concat([tf.ones_like(labels[:, :1], tf.bool), tf.not_equal(labels[:, 1:], labels[:, :-1])], axis=1)
        new = tf.logical_and(new, tf.sequence_mask(lengths, maxlen=_size(labels, 1)))
        new_lengths = tf.reduce_sum(tf.cast(new, tf.int32), axis=1)
        longest = tf.reduce_max(new_lengths)
        places = tf.sequence_mask(new_lengths, maxlen=longest)
        flat, flat_new = tf.reshape(labels, [-1]), tf.reshape(new, [-1])
        places = tf.reshape(places, [-1])
        index = tf.range(_size(places, 0))
        found = tf.scatter_nd(tf.expand_dims(tf.boolean_mask(index, places), axis=1), tf.boolean_mask(flat, flat_new), tf.shape(places))
        return tf.reshape(found, [_size(labels, 0), longest]), tf.cast(new_lengths, lengths.dtype)


def _size(tensor: Tensor, at: int):
    known = tensor.shape.as_list()[at] if tensor.shape.rank is not None else None
    return tf.shape(tensor)[at] if known is None else known
