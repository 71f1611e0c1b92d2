"""Ragged crosses of features, and rows of ragged tensors filled."""

import numpy as np
import pytest

import flowmill
from compare import compare, same_error
from oracles import words_of


def _features(tf):
    return (
        tf.ragged.constant([["a"], ["b", "c"], []]), tf.ragged.constant([[7, 8], [9], [10]]),
        tf.SparseTensor(np.array([[0, 1], [1, 0], [1, 1], [2, 0]]), ["p", "q", "r", "s"], np.array([3, 2])),
        tf.constant([["u", "v"], ["w", "x"], ["y", "z"]]), tf.constant([[1], [2], [3]], tf.int32), tf.ragged.constant([["k"], [], ["l", "m"]], row_splits_dtype=tf.int32),
    )


ORDERS = [[0], [1], [2], [3], [4], [0, 1], [1, 1], [2, 3], [4, 3, 2], [3, 1, 4, 2], [2, 2], [1, 2, 0], [5], [5, 3, 5]]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("options", [None, {}, {"num_buckets": 100}, {"num_buckets": 1000, "hash_key": 2 ** 64 - 5}], ids=str)
def test_the_same_crosses(tf1, order, options):
    def build(tf):
        features = _features(tf)
        chosen = [features[i] for i in order]
        found = tf.ragged.cross(chosen, name="c") if options is None else tf.ragged.cross_hashed(chosen, **options)
        assert found.ragged_rank == 1
        return [found.flat_values, found.row_splits]

    compare(tf1, build)


def test_the_same_nodes(tf1):
    def build(tf):
        dense = [tf.placeholder_with_default([["a"], ["b"]], [None, 1]), tf.placeholder_with_default(np.array([[1], [2]]), [2, None])]
        found = tf.ragged.cross(dense)
        return [found.flat_values, found.row_splits]

    compare(tf1, build)


def _cross(tf, values, splits, dense=(), order="R"):
    return tf.raw_ops.RaggedCross(
        ragged_values=values, ragged_row_splits=splits, sparse_indices=[], sparse_values=[], sparse_shape=[], dense_inputs=list(dense), input_order=order,
        hashed_output=False, num_buckets=0, hash_key=1, out_values_type=tf.string, out_row_splits_type=tf.int64)


def _later(tf, value, dtype=np.int64):
    return tf.placeholder_with_default(np.array(value, dtype), None)


BAD = {
    "first": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [1, 2, 3])]),
    "falling": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [0, 3, 2])]),
    "last": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [0, 2])]),
    "matrix": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [[0, 3]])]),
    "rows": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [0, 2, 3])], [_later(tf, [[1]])], "RD"),
    "vector": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [0, 2, 3])], [_later(tf, [1, 2])], "RD"),
    "kinds": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [0, 2, 3])], [_later(tf, [[1], [5]])], "DD"),
    "kinds 2": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [0, 2, 3])], [_later(tf, [[1], [5]])], "RR"),
    "kind": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [0, 2, 3])], [_later(tf, [[1], [5]])], "RX"),
    "length": lambda tf: _cross(tf, [_later(tf, [1, 2, 3])], [_later(tf, [0, 2, 3])], [_later(tf, [[1], [5]])], "R"),
    "fill rows": lambda tf: tf.ragged_fill_empty_rows(_later(tf, [5]), _later(tf, [1]), _later(tf, 2), _later(tf, 9)),
    "fill negative": lambda tf: tf.ragged_fill_empty_rows(_later(tf, [-1]), _later(tf, [1]), _later(tf, 2), _later(tf, 9)),
    "fill none": lambda tf: tf.ragged_fill_empty_rows(_later(tf, [1]), _later(tf, [1]), _later(tf, 0), _later(tf, 9)),
    "fill matrix": lambda tf: tf.ragged_fill_empty_rows(_later(tf, [[1]]), _later(tf, [1]), _later(tf, 2), _later(tf, 9)),
    "fill values": lambda tf: tf.ragged_fill_empty_rows(_later(tf, [1]), _later(tf, [[1]]), _later(tf, 2), _later(tf, 9)),
    "fill count": lambda tf: tf.ragged_fill_empty_rows(_later(tf, [1]), _later(tf, [1, 2]), _later(tf, 2), _later(tf, 9)),
    "fill number": lambda tf: tf.ragged_fill_empty_rows(_later(tf, [1]), _later(tf, [1]), _later(tf, [2]), _later(tf, 9)),
    "fill default": lambda tf: tf.ragged_fill_empty_rows(_later(tf, [1]), _later(tf, [1]), _later(tf, 2), _later(tf, [9])),
    "grad": lambda tf: tf.ragged_fill_empty_rows_grad(_later(tf, [1, 9]), _later(tf, [1, 2, 3])),
    "grad map": lambda tf: tf.ragged_fill_empty_rows_grad(_later(tf, [[1]]), _later(tf, [1, 2, 3])),
    "grad values": lambda tf: tf.ragged_fill_empty_rows_grad(_later(tf, [1]), _later(tf, [[1, 2, 3]])),
}


@pytest.mark.parametrize("build", BAD.values(), ids=BAD.keys())
def test_what_fails_when_run_says_the_same(tf1, build):
    messages = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
            session.run(build(tf))
        messages.append(words_of(error.value))
    theirs, ours = messages
    assert theirs.split(", expected")[0] in ours


def test_the_same_errors(tf1):
    same_error(tf1, lambda tf: tf.ragged.cross(5), "Inputs must be a list")
    same_error(tf1, lambda tf: tf.ragged.cross([[[1.5]]]), "Unexpected dtype for inputs[0]: ")
    same_error(tf1, lambda tf: tf.ragged.cross([tf.ragged.constant([[["a"]]])]), "tf.ragged.cross only supports inputs with rank=2")
    same_error(tf1, lambda tf: tf.ragged.cross([["a"]]), "tf.ragged.cross only supports inputs with rank=2")
    same_error(tf1, lambda tf: tf.ragged.cross([[["a"]], [["b"], ["c"]]]), "inputs must all have the same batch dimension size.")
    same_error(tf1, lambda tf: tf.ragged_fill_empty_rows([1, 2], [1.0], 3, 0.0))
    same_error(tf1, lambda tf: tf.ragged_fill_empty_rows([1], [1.0], [3], 0.0))


FILLED = {
    "some": lambda tf: tf.ragged_fill_empty_rows([1, 3], [1.0, 2.0], 5, 9.0),
    "not in order": lambda tf: tf.ragged_fill_empty_rows([3, 1, 3], [1.0, 2.0, 3.0], 5, 9.0, name="f"),
    "strings": lambda tf: tf.ragged_fill_empty_rows([1], ["a"], 2, "b"),
    "all": lambda tf: tf.ragged_fill_empty_rows(np.zeros(0, np.int64), np.zeros(0, np.int32), 2, 4),
    "gradient": lambda tf: tf.ragged_fill_empty_rows_grad([1, 3, 1], [1.0, 2.0, 3.0, 4.0, 5.0]),
}


@pytest.mark.parametrize("case", FILLED.values(), ids=FILLED.keys())
def test_rows_are_filled(tf1, case):
    compare(tf1, lambda tf: list(case(tf)))


def test_gradients(tf1):
    def build(tf):
        values, default = tf.constant([1.0, 2.0, 3.0]), tf.constant(5.0)
        filled = tf.ragged_fill_empty_rows([3, 1, 3], values, 5, default).output_values
        return tf.gradients(tf.reduce_sum(filled * filled * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [values, default])

    compare(tf1, build, nodes=False)


def test_no_rows():
    """TensorFlow gives a matrix of rows here."""
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        found = session.run(flowmill.ragged_fill_empty_rows(np.zeros(0, np.int64), np.zeros(0, np.float32), 0, 4.0))
    assert [part.shape for part in found] == [(0,)] * 4
