"""Connectionist temporal classification of dense labels, made of ordinary operations (Sim and others: "Improving the efficiency of forward-backward
algorithm using batched computation in TensorFlow", 2017).

A sequence goes through states: one before the labels, one for each label, and as many for the blanks behind these.
"""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.nn._ctc import _size, ctc_loss

# The logarithm of an impossible state at the ends: finite, so that differences are.
_IMPOSSIBLE = -706.893623549172


def ctc_loss_v2(labels, logits, label_length, logit_length, logits_time_major: bool = True, unique=None, blank_index: int | None = None,
                name: str | None = None) -> Tensor:
    """Returns the negative logarithm of the probability of labels, summed over all ways to spread them over time.

    Args:
        labels: ``[batch, labels]``, filled up behind the end of each sequence, or an `int32` SparseTensor.
        logits: ``[time, batch, classes]``.
        label_length: the number of labels of each sequence, ``[batch]``; not used for a SparseTensor.
        logit_length: the length of each sequence, ``[batch]``.
        logits_time_major: false for ``[batch, time, classes]``.
        unique: the different labels and their places, as :func:`ctc_unique_labels` gives them.
        blank_index: which class is the blank, counted from the end if it is negative; 0 if it is None.
        name: the name of the scope.

    Returns:
        A loss for each sequence.

    Raises:
        ValueError: if labels are a SparseTensor and `blank_index` is None.
    """
    if isinstance(labels, tf.SparseTensor):
        if blank_index is None:
            raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
        if blank_index < 0:
            blank_index += _size(logits, 2)
        if blank_index != _size(logits, 2) - 1:
            logits = tf.concat([logits[:, :, :blank_index], logits[:, :, blank_index + 1:], logits[:, :, blank_index:blank_index + 1]], axis=2)
            values = tf.where(labels.values < blank_index, labels.values, labels.values - 1)
            labels = tf.SparseTensor(labels.indices, values, labels.dense_shape)
        return ctc_loss(labels, logits, logit_length, time_major=logits_time_major)
    return _dense(labels, logits, label_length, logit_length, logits_time_major, unique, blank_index or 0, name)


def _dense(labels, logits, label_length, logit_length, time_major, unique, blank, name):
    with tf.name_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        label_length = convert_to_tensor(label_length, name="label_length")
        logit_length = convert_to_tensor(logit_length, name="logit_length")
        dtype = logits.dtype
        if dtype in (tf.float16, tf.bfloat16):
            logits = tf.cast(logits, tf.float32)
        if not time_major:
            logits = tf.transpose(logits, perm=[1, 0, 2])
        if blank != 0:
            if blank < 0:
                blank += _size(logits, 2)
            logits = tf.concat([logits[:, :, blank:blank + 1], logits[:, :, :blank], logits[:, :, blank + 1:]], axis=2)
            labels = tf.where(labels < blank, labels + 1, labels)
        args = [logits, labels, label_length, logit_length]
        if unique:
            classes, places = unique
            if blank != 0:
                classes = tf.where(classes < blank, classes + 1, classes)
                is_one = tf.sequence_mask(tf.reduce_max(places, axis=1) + 1, _size(classes, 1))
                classes = tf.where(is_one, classes, tf.zeros_like(classes))
            args += [classes, places]

        @tf.custom_gradient
        def compute(logits_t, labels_t, label_length_t, logit_length_t, *unique_t):
            loss, gradient = _loss_and_gradient(logits_t, labels_t, label_length_t, logit_length_t, unique_t)

            def grad(dy):
                return [tf.reshape(dy, [1, -1, 1]) * gradient, *[None] * (len(args) - 1)]
            return loss, grad

        loss = compute(*args)
        return tf.cast(loss, dtype) if dtype in (tf.float16, tf.bfloat16) else loss


def _loss_and_gradient(logits, labels, label_length, logit_length, unique):
    num_classes, num_labels, times = _size(logits, 2), _size(labels, 1), _size(logits, 0)
    of_classes = tf.nn.log_softmax(logits)
    transitions = tf.math.log(_transitions(labels))
    start, end = _ends(label_length, num_labels)
    mask = tf.transpose(tf.sequence_mask(logit_length, times, tf.float32), perm=[1, 0])
    posterior, log_likelihood = _forward_backward(transitions, start, end, _of_states(labels, num_classes, of_classes), mask)
    if unique:
        found = _of_different_labels(labels, num_classes, posterior, unique)
    else:
        found = _of_labels(labels, num_classes, posterior)
    gradient = tf.exp(of_classes) - tf.exp(found)
    return -log_likelihood, gradient * tf.expand_dims(mask, axis=2)


def _transitions(labels):
    """Returns the allowed transitions between states: 1 or 0, ``[batch, from, to]`` with the roles of the last two swapped."""
    batch, num_states = _size(labels, 0), _size(labels, 1) + 1
    label_states = tf.range(num_states)
    blank_states = label_states + num_states
    indices = tf.concat([
        [[1, 0]],
        tf.stack([label_states[1:], blank_states[:-1]], 1),
        tf.stack([blank_states, label_states], 1),
    ], 0)
    always = tf.scatter_nd(indices, tf.ones([_size(indices, 0)]), shape=[2 * num_states, 2 * num_states]) + tf.eye(2 * num_states)
    # From a label to the next one, unless both are equal: then there is a blank between.
    indices = tf.stack([tf.zeros_like(label_states[2:]), label_states[2:], label_states[1:-1]], 1)
    indices = tf.tile(tf.expand_dims(indices, 0), [batch, 1, 1])
    indices += tf.expand_dims(tf.expand_dims(tf.range(batch), 1) * [1, 0, 0], 1)
    differ = 1.0 - tf.cast(tf.equal(labels[:, :-1], labels[:, 1:]), tf.float32)
    return tf.expand_dims(always, 0) + tf.scatter_nd(indices, differ, [batch, 2 * num_states, 2 * num_states])


def _ends(label_length, num_labels):
    """Logarithms of the probabilities to begin, and to end, in each state, ``[batch, states]``."""
    batch, num_states = _size(label_length, 0), num_labels + 1
    start = tf.one_hot(tf.zeros([batch], tf.int32), depth=2 * num_states, on_value=0.0, off_value=_IMPOSSIBLE, axis=1)
    last = tf.ones([2, 1, batch]) * tf.one_hot(label_length, depth=num_states, axis=0)
    return start, tf.transpose(tf.reshape((1.0 - last) * _IMPOSSIBLE, [2 * num_states, batch]))


def _of_states(labels, num_classes, of_classes):
    """Logarithms of the probabilities of what each state emits, ``[time, batch, states]``; the first one emits nothing."""
    blank = tf.tile(of_classes[:, :, :1], [1, 1, _size(labels, 1) + 1])
    one_hot = tf.expand_dims(tf.one_hot(labels, depth=num_classes), axis=0)
    of_labels = tf.reduce_sum(tf.expand_dims(of_classes, axis=2) * one_hot, axis=3)
    return tf.pad(tf.concat([of_labels, blank], axis=2), [[0, 0], [0, 0], [1, 0]], constant_values=float("-inf"))


def _forward_backward(transitions, start, end, observed, mask):
    """Logarithms of the states' probabilities given the whole sequence, ``[time, batch, states]``, and of that of the sequence, ``[batch]``."""
    backwards = tf.transpose(transitions, [0, 2, 1])

    def normalized(log):
        total = tf.reduce_logsumexp(log, axis=-1, keepdims=True)
        return log - total, total

    def forward(log, seen):
        return normalized(tf.reduce_logsumexp(tf.expand_dims(log, axis=1) + transitions, axis=-1) + seen)[0]

    def backward(state, seen):
        (log, total), (seen, is_within) = state, seen
        log, more = normalized(tf.reduce_logsumexp(tf.expand_dims(log + seen, axis=1) + backwards, axis=-1))
        within = tf.expand_dims(is_within, axis=1)
        return log * within + end * (1.0 - within), total + tf.squeeze(more, axis=[-1]) * is_within

    before = tf.scan(forward, observed, start)
    after, totals = tf.scan(backward, (observed, mask), (end, tf.zeros([_size(observed, 1)])), reverse=True)
    both = before + tf.concat([after[1:], tf.expand_dims(end, 0)], axis=0)
    both -= tf.reduce_logsumexp(both, axis=2, keepdims=True)
    return both + tf.math.log(tf.expand_dims(mask, axis=2)), after[0, :, 0] + totals[0]


def _of_labels(labels, num_classes, states):
    """Logarithms of the classes' probabilities, from those of the states."""
    num_states = _size(labels, 1) + 1
    one_hot = tf.one_hot(labels - 1, depth=num_classes - 1, on_value=0.0, off_value=float("-inf"))
    of_labels = tf.reduce_logsumexp(tf.expand_dims(states[:, :, 1:num_states], axis=3) + tf.expand_dims(one_hot, axis=0), axis=2)
    return tf.concat([tf.reduce_logsumexp(states[:, :, num_states:], axis=2, keepdims=True), of_labels], axis=-1)


def _of_different_labels(labels, num_classes, states, unique):
    """Sums the states by class, through the labels that occur, which are few if there are many classes."""
    classes, places = unique
    num_states = _size(labels, 1) + 1
    of_states = tf.expand_dims(states[:, :, 1:num_states], axis=2)
    one_hot = tf.one_hot(places, depth=num_states - 1, on_value=0.0, off_value=float("-inf"), axis=1)
    summed = tf.reduce_logsumexp(of_states + one_hot, axis=-1)
    times, batch = _size(states, 0), _size(states, 1)
    rows = tf.reshape(tf.transpose(summed, perm=[1, 2, 0]), [batch * (num_states - 1), times])
    indices = tf.reshape(classes + tf.expand_dims(tf.range(batch, dtype=classes.dtype) * num_classes, axis=-1), [-1, 1])
    shape = tf.cast(tf.stack([batch * num_classes, times]), indices.dtype)
    values = tf.scatter_nd(indices, rows, shape)
    is_there = tf.scatter_nd(indices, tf.ones_like(rows, dtype=tf.bool), shape)
    found = tf.where(is_there, values, tf.fill(tf.shape(values), float("-inf")))
    of_labels = tf.transpose(tf.reshape(found, [batch, num_classes, times]), [2, 0, 1])[:, :, 1:]
    return tf.concat([tf.reduce_logsumexp(states[:, :, num_states:], axis=2, keepdims=True), of_labels], axis=-1)
