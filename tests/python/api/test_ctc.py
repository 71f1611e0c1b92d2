"""Connectionist temporal classification: losses, their gradients, decoders."""

import numpy as np
import pytest

import flowmill
from compare import compare, run, same, same_error

RANDOM = np.random.RandomState(3)
LOGITS = RANDOM.uniform(-2, 2, (6, 3, 5))


def labels_of(tf, rows=((0, 1, 1), (3,), (2, 0))):
    indices = [(b, t) for b, row in enumerate(rows) for t in range(len(row))]
    return tf.SparseTensor(indices, tf.constant([label for row in rows for label in row], tf.int32), [len(rows), max(map(len, rows))])


def losses(tf, logits=LOGITS, lengths=(6, 4, 5), dtype="float32", rows=None, **options):
    x = tf.constant(logits, getattr(tf, dtype))
    return x, tf.nn.ctc_loss(labels_of(tf, rows) if rows else labels_of(tf), x, list(lengths), **options)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("options", [
    {}, {"preprocess_collapse_repeated": True}, {"ctc_merge_repeated": False}, {"ctc_merge_repeated": False, "preprocess_collapse_repeated": True},
], ids=str)
def test_losses_and_gradients(tf1, dtype, options):
    def build(tf):
        x, loss = losses(tf, dtype=dtype, **options)
        weighted = loss * tf.constant([1.0, 2.0, -0.5], getattr(tf, dtype))
        return loss, tf.gradients(weighted, x)[0]
    tolerance = 1e-2 if dtype == "float16" else 1e-5
    compare(tf1, build, nodes=False, rtol=tolerance, atol=tolerance)
    compare(tf1, lambda tf: losses(tf, dtype=dtype, **options)[1], rtol=tolerance, atol=tolerance)


def test_batch_major_and_the_new_name_of_logits(tf1):
    compare(tf1, lambda tf: losses(tf, LOGITS.transpose(1, 0, 2), time_major=False)[1])
    compare(tf1, lambda tf: tf.nn.ctc_loss(labels_of(tf), logits=tf.constant(LOGITS, tf.float32), sequence_length=[6, 4, 5]))


def test_sequences_that_are_too_short(tf1):
    def build(tf):
        x, loss = losses(tf, lengths=(2, 0, 5), ignore_longer_outputs_than_inputs=True)
        return loss, tf.gradients(loss, x)[0]
    found = compare(tf1, build, nodes=False)
    assert list(found[0][:2]) == [0, 0] and found[0][2] > 0


def test_labels_with_blanks_behind_them_and_none_but_blanks(tf1):
    compare(tf1, lambda tf: losses(tf, rows=((0, 4, 4), (3,), (2, 0)))[1])
    found = run(flowmill, lambda tf: losses(tf, rows=((4, 4), (3,), (2, 0)))[1])[2]
    logs = LOGITS[:, 0] - np.log(np.exp(LOGITS[:, 0]).sum(-1, keepdims=True))
    same(found[0][0], -logs[:, 4].sum())


def test_where_no_path_is_possible(tf1):
    logits = np.full((4, 1, 3), [0.0, -200.0, 0.0])

    def build(tf):
        x, loss = losses(tf, logits, [4], rows=((1, 1),))
        return loss, tf.gradients(loss, x)[0]
    assert compare(tf1, build, nodes=False)[0][0] == np.inf


def test_equal_labels_need_a_blank_between_them(tf1):
    assert compare(tf1, lambda tf: losses(tf, LOGITS[:2, :1], [2], rows=((1, 1),))[1])[0][0] == np.inf


@pytest.mark.parametrize("case, message", [
    (lambda tf: losses(tf, lengths=(6, 4, 1)), "Not enough time for target transition sequence (required: 2, available: 1)2You can turn this"),
    (lambda tf: losses(tf, lengths=(6, 4, 7)), "sequence_length(2) <= 6"),
    (lambda tf: losses(tf, lengths=(6, -1, 2)), "seq_len(1) < 0"),
    (lambda tf: losses(tf, rows=((0, 4, 1), (3,), (2, 0))), "Saw a non-null label (index >= num_classes - 1) following a null label, batch: 0 num_classes: 5 "
     "labels: 0,4,1 labels seen so far: 0"),
    (lambda tf: losses(tf, rows=((0, -2), (3,), (2, 0))), "All labels must be nonnegative integers, batch: 0 labels: 0,-2"),
    (lambda tf: losses(tf, rows=((0, 1), (), (2, 0))), "Labels length is zero in batch 1"),
    (lambda tf: (0, tf.nn.ctc_loss(tf.SparseTensor([[0, 0], [3, 0]], [1, 2], [3, 1]), LOGITS.astype("f"), [6, 4, 5])),
     "label SparseTensor is not valid: indices[1] = [3,0] is out of bounds: need 0 <= index < [3,1]"),
    (lambda tf: (0, tf.nn.ctc_loss(tf.SparseTensor([[1, 0], [0, 0]], [1, 2], [3, 1]), LOGITS.astype("f"), [6, 4, 5])),
     "label SparseTensor is not valid: indices[1] = [0,0] is out of order"),
    (lambda tf: (0, tf.nn.ctc_loss(tf.SparseTensor([[0, 0], [0, 0]], [1, 2], [3, 1]), LOGITS.astype("f"), [6, 4, 5])),
     "label SparseTensor is not valid: indices[1] = [0,0] is repeated"),
    (lambda tf: (0, tf.nn.ctc_loss(labels_of(tf), LOGITS.astype("f"), tf.placeholder_with_default([6, 4], None))),
     "len(sequence_length) != batch_size.  len(sequence_length):  2 batch_size: 3"),
])
def test_errors_of_runs(tf1, case, message):
    for tf in (tf1, flowmill):
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            run(tf, lambda tf: case(tf)[1])
        assert message in str(raised.value)


def test_errors_of_building(tf1):
    same_error(tf1, lambda tf: tf.nn.ctc_loss([[1]], LOGITS, [6]), "Expected argument `labels` to be a SparseTensor")
    same_error(tf1, lambda tf: tf.nn.ctc_loss_v2(labels_of(tf), LOGITS, None, [6, 4, 5]), "Argument `blank_index` must be provided")
    same_error(tf1, lambda tf: losses(tf, lengths=(6, 4)), "Dimensions must be equal, but are 3 and 2")

    def twice(tf):
        x, loss = losses(tf)
        return tf.gradients(tf.gradients(loss, x)[0], x)
    same_error(tf1, twice, "Currently there is no way to take the second")


@pytest.mark.parametrize("blank", [0, 2, -1, 4])
def test_sparse_labels_and_another_blank(tf1, blank):
    rows = [[c for c in row if c != blank % 5] or [1 if blank else 3] for row in ((0, 1, 1), (3,), (2, 0))]

    def build(tf):
        x = tf.constant(LOGITS, tf.float32)
        loss = tf.nn.ctc_loss_v2(labels_of(tf, rows), x, None, [6, 4, 5], blank_index=blank)
        return loss, tf.gradients(loss, x)[0]
    compare(tf1, build, nodes=False)
    compare(tf1, lambda tf: tf.nn.ctc_loss_v2(labels_of(tf, rows), tf.constant(LOGITS, tf.float32), None, [6, 4, 5], blank_index=blank))


DENSE = np.array([[1, 2, 2], [3, 0, 0], [4, 1, 0]])


@pytest.mark.parametrize("blank", [None, 2, -1])
@pytest.mark.parametrize("is_unique", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
def test_dense_labels(tf1, blank, is_unique, time_major):
    """The loops are built from other operations than TensorFlow's."""
    dense = DENSE if blank is None else np.where(DENSE == blank % 5, 0, DENSE)

    def build(tf):
        x = tf.constant(LOGITS if time_major else LOGITS.transpose(1, 0, 2), tf.float32)
        labels = tf.constant(dense, tf.int64)
        unique = tf.nn.ctc_unique_labels(labels) if is_unique else None
        loss = tf.nn.ctc_loss_v2(labels, x, [3, 1, 2], [6, 4, 5], logits_time_major=time_major, blank_index=blank, unique=unique)
        return loss, tf.gradients(loss, x)[0]
    compare(tf1, build, nodes=False, rtol=1e-4, atol=1e-5)


def test_dense_labels_of_half_precision_and_without_labels(tf1):
    def build(tf):
        return tf.nn.ctc_loss_v2(tf.constant(DENSE, tf.int32), tf.constant(LOGITS, tf.float16), tf.constant([3, 0, 2]), tf.constant([6, 4, 5]))
    compare(tf1, build, nodes=False, rtol=1e-2, atol=1e-2)


def test_a_network_learns(tf1):
    """Some steps of training a recurrent network with the loss."""
    inputs = RANDOM.uniform(-1, 1, (2, 7, 4)).astype("f")

    def steps(tf):
        with tf.Graph().as_default():
            with tf.variable_scope("net", initializer=tf.constant_initializer(0.1)):
                outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(3), inputs, dtype=tf.float32)
                weights = tf.get_variable("w", initializer=np.arange(15, dtype="f").reshape(3, 5) / 10)
                logits = tf.tensordot(outputs, weights, 1)
            loss = tf.reduce_mean(tf.nn.ctc_loss(labels_of(tf, ((0, 1, 1), (3,))), logits, [7, 5], time_major=False))
            train = tf.train.AdamOptimizer(0.1).minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                return [session.run([loss, train])[0] for _ in range(5)]
    theirs, ours = steps(tf1), steps(flowmill)
    same(ours, theirs, 1e-4, 1e-4)
    assert ours[-1] < ours[0]


@pytest.mark.parametrize("width, paths, merge", [(1, 1, True), (3, 2, True), (3, 2, False), (20, 4, False), (100, 5, True)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_beam_search(tf1, width, paths, merge, dtype):
    def build(tf):
        x = tf.constant(LOGITS, getattr(tf, dtype))
        decoded, logs = tf.nn.ctc_beam_search_decoder(x, [6, 3, 5], width, paths, merge)
        return [[d.indices, d.values, d.dense_shape] for d in decoded], logs
    compare(tf1, build)


def test_beam_search_over_many_times(tf1):
    logits = np.random.RandomState(0).normal(size=(40, 4, 12)) * 2

    def build(tf):
        decoded, logs = tf.nn.ctc_beam_search_decoder_v2(tf.constant(logits, tf.float32), [40, 1, 33, 20], 25, 1)
        return [[d.indices, d.values, d.dense_shape] for d in decoded], logs
    compare(tf1, build, rtol=1e-4)


def test_errors_of_beam_search(tf1):
    for paths, width, message in ((3, 2, "requested more paths than the beam width."), (9, 20, "Less leaves in the beam search than requested.")):
        for tf in (tf1, flowmill):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                run(tf, lambda tf: tf.nn.ctc_beam_search_decoder(LOGITS[:1].astype("f"), [1, 1, 1], width, paths)[1])
