"""Gradients of the ops that make tensors of rows, and take rows out."""

from __future__ import annotations

import flowmill as tf
from flowmill._apply import call
from flowmill.gradients_impl import RegisterGradient
from flowmill.ragged import _partition


@RegisterGradient("RaggedTensorToTensor")
def _of_tensor(op, grad):
    """Each element gets what stands in its place, and the default value the sum of all other places."""
    _, values, default, *partitions = op.inputs
    kinds = [k.decode() if isinstance(k, bytes) else k for k in op.get_attr("row_partition_types")]
    ragged_rank = len(kinds) - (kinds[0] == "FIRST_DIM_SIZE")
    count = _partition.size(values, tf.int64)
    outer = tf.shape(grad, out_type=tf.int64)[:ragged_rank + 1]
    places = tf.reshape(call("RaggedTensorToTensor", None, outer, tf.range(count), tf.constant(-1, tf.int64), partitions, row_partition_types=kinds), [-1])
    rows = tf.reshape(grad, tf.concat([[-1], tf.shape(values)[1:]], 0))
    rest = tf.boolean_mask(rows, tf.equal(places, -1))
    if default.shape.rank != 0:
        whole, part = tf.shape(rest), tf.shape(default)
        axes, _ = call("BroadcastGradientArgs", None, part, whole)
        rest = tf.reshape(tf.reduce_sum(rest, axes), part)
    else:
        rest = tf.reduce_sum(rest)
    return [None, tf.unsorted_segment_sum(rows, places, count), rest, *[None] * len(partitions)]


@RegisterGradient("RaggedTensorToSparse")
def _of_sparse(op, *grads):
    """The values are the flat values, in order."""
    return [*[None] * (len(op.inputs) - 1), tf.reshape(grads[1], tf.shape(op.inputs[-1]))]


@RegisterGradient("RaggedGather")
def _of_gather(op, *grads):
    """Each element gets the sum of what stands wherever it was taken to."""
    *splits, values, indices = op.inputs
    rows = tf.reshape(indices, [-1])
    # Where the elements of the rows that were taken stand among all.
    begin, end = splits[0][:-1], splits[0][1:]
    for inner in splits[1:]:
        begin, end = tf.gather(inner, begin), tf.gather(inner, end)
    _, places = _partition.ranges(tf.gather(begin, rows), tf.gather(end, rows))
    return [*[None] * len(splits), tf.unsorted_segment_sum(grads[-1], places, _partition.size(values, places.dtype)), None]
