"""Counts of sparse, ragged and dense values: the nodes, values and errors of TensorFlow. Functions of ragged tensors build other nodes around theirs."""

import numpy as np
import pytest

import flowmill
from compare import compare, same_error

NUMBERS = [3, 1, 3, 0, 7, 7, 2, 1]
PLACES = [[0, 0], [0, 2], [0, 3], [1, 0], [1, 1], [1, 3], [3, 0], [3, 1]]
WEIGHTS = [0.5, 2.0, -1.0, 4.0, 0.25, 8.0, 1.0, 3.0]


def given(tf, form, values, dtype):
    """The values as a tensor of a form."""
    values = tf.constant(values, dtype)
    if form == "sparse":
        return tf.SparseTensor(PLACES, values, [4, 4])
    if form == "ragged":
        return tf.RaggedTensor.from_row_splits(values, [0, 3, 3, 7, 8], validate=False)
    if form == "nested":
        inner = tf.RaggedTensor.from_row_splits(values, [0, 3, 3, 7, 8], validate=False)
        return tf.RaggedTensor.from_row_splits(inner, [0, 1, 4], validate=False)
    return tf.reshape(values, [2, 4]) if form == "matrix" else values


def bincount(tf):
    """TensorFlow's function with an axis, which its first version has not."""
    if tf is flowmill:
        return flowmill.math.bincount
    from tensorflow.python.ops import bincount_ops
    return bincount_ops.bincount


OPTIONS = [{}, {"minlength": 10}, {"maxlength": 3}, {"minlength": 10, "maxlength": 9}, {"binary_output": True}]


@pytest.mark.parametrize("weighted", [None, "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("axis", [None, -1])
@pytest.mark.parametrize("form", ["sparse", "ragged", "matrix", "vector"])
def test_counts_are_those_of_tensorflow(tf1, form, axis, weighted):
    for options in OPTIONS[:4] if weighted else OPTIONS:
        for dtype in ("int32", "int64"):
            def build(tf, options=options, dtype=dtype):
                values = given(tf, form, NUMBERS, dtype)
                weights = None if weighted is None else given(tf, form, np.array(WEIGHTS).astype(weighted), weighted)
                dense = bincount(tf)(values, weights=weights, axis=axis, **options)
                listed = tf.sparse.bincount(values, weights=weights, axis=axis, **options)
                return dense, listed.indices, listed.values, listed.dense_shape
            compare(tf1, build, nodes=form != "ragged", ordered=False)


def test_rows_of_rows(tf1):
    def build(tf):
        values, weights = given(tf, "nested", NUMBERS, "int32"), given(tf, "nested", WEIGHTS, "float32")
        return [tf.math.bincount(values), tf.math.bincount(values, weights=weights), *_parts(tf.sparse.bincount(values)),
                *_parts(tf.sparse.bincount(values, weights=weights))]
    compare(tf1, build, nodes=False)


def _parts(sparse):
    return [sparse.indices, sparse.values, sparse.dense_shape]


@pytest.mark.parametrize("axis", [None, -1])
def test_no_values(tf1, axis):
    def build(tf):
        empty = tf.zeros([0], tf.int32)
        sparse = tf.SparseTensor(tf.zeros([0, 2], tf.int64), empty, [3, 4])
        ragged = tf.RaggedTensor.from_row_splits(empty, [0, 0, 0], validate=False)
        found = [bincount(tf)(ragged, axis=axis, minlength=2), bincount(tf)(sparse, axis=axis)]
        return found + [part for values in (sparse, ragged, empty) for part in _parts(tf.sparse.bincount(values, axis=axis, minlength=2))]
    compare(tf1, build, nodes=False)


COUNT = {"minlength": -1, "maxlength": -1, "binary_output": False}
SPLITS = {"splits": [0, 2, 4], "values": [1, 2, 3, 4], "weights": np.zeros(0, "f")}
SPARSE = {"indices": [[0, 0], [1, 1]], "values": [1, 2], "dense_shape": [2, 2], "weights": np.zeros(0, "f")}


@pytest.mark.parametrize("op, arguments, match", [
    ("DenseCountSparseOutput", {"values": [1, -1], "weights": []}, "Input values must all be non-negative"),
    ("DenseCountSparseOutput", {"values": 1, "weights": []}, "Input must be a 1 or 2-dimensional tensor. Got: "),
    ("DenseCountSparseOutput", {"values": np.zeros([0, 2], "i"), "weights": []}, "Shapes dimension cannot be 0"),
    ("RaggedCountSparseOutput", SPLITS | {"splits": [0]}, "Must provide at least 2 elements for the splits argument"),
    ("RaggedCountSparseOutput", SPLITS | {"splits": [1, 4]}, "Splits must start with 0, not with 1"),
    ("RaggedCountSparseOutput", SPLITS | {"splits": [0, 3]}, "Splits must end with the number of values, got 3 instead of 4"),
    ("RaggedCountSparseOutput", SPLITS | {"weights": [1.0]}, "Weights and values must have the same shape. Weight shape: "),
    ("SparseCountSparseOutput", SPARSE | {"indices": [[0, 0], [1, 2]]}, "Invalid index value at 1: dimension 1 has value 2 which is not in"),
    ("SparseCountSparseOutput", SPARSE | {"values": [1]}, "Number of values must match first dimension of indices"),
    ("SparseCountSparseOutput", SPARSE | {"dense_shape": [2, 2, 2]}, "Number of dimensions must match second dimension of indices"),
    ("SparseCountSparseOutput", SPARSE | {"values": [1, -1]}, "Input values must all be non-negative"),
    ("SparseCountSparseOutput", SPARSE | {"weights": [1.0]}, "Weights and values must have the same shape"),
    ("SparseCountSparseOutput", SPARSE | {"indices": np.zeros([0, 2]), "values": [], "dense_shape": [1 << 40, 2]}, "Cannot allocate"),
    ("SparseBincount", SPARSE | {"size": -1}, r"size \(-1\) must be non-negative"),
    ("SparseBincount", SPARSE | {"size": 3, "dense_shape": [1, 2]}, "is out of bounds"),
    ("SparseBincount", SPARSE | {"size": 3, "values": [1]}, r"Number of elements in indices \(2\) and values \(1\) do not match"),
    ("SparseBincount", SPARSE | {"size": 3, "indices": [[0], [1]], "dense_shape": [2], "values": [1, -1]}, "Input arr must be non-negative!"),
    ("RaggedBincount", SPLITS | {"size": 3, "values": [1, 2, 3, -4]}, "Input must be non-negative"),
    ("RaggedBincount", SPLITS | {"size": 3, "splits": np.zeros(0)}, "Splits must be non-empty"),
    ("RaggedBincount", SPLITS | {"size": -3}, r"size \(-3\) must be non-negative"),
])
def test_bad_arguments_fail_as_in_tensorflow(tf1, op, arguments, match):
    codes = []
    for tf in (flowmill, tf1):
        types = {"splits": "int64", "indices": "int64", "dense_shape": "int64", "values": "int32", "size": "int32", "weights": "float32"}
        with tf.Graph().as_default(), tf.Session() as session:
            inputs = {name: tf.placeholder(types[name]) for name in arguments}
            outputs = getattr(tf.raw_ops, op)(**inputs, **(COUNT if "Output" in op else {}))
            with pytest.raises(tf.errors.OpError, match=match) as raised:
                session.run(outputs, {inputs[name]: value for name, value in arguments.items()})
            codes.append(raised.value.error_code)
    assert codes[0] == codes[1]


def test_negative_values_of_sparse_matrices_do_not_count(tf1):
    def build(tf):
        return tf.raw_ops.SparseBincount(**(SPARSE | {"values": [1, -2], "indices": tf.constant(SPARSE["indices"], tf.int64), "weights": [2.0, 3.0],
                                                      "dense_shape": tf.constant([2, 2], tf.int64)}), size=2)
    compare(tf1, build)


def test_weights_of_another_form_are_refused(tf1):
    for values, weights in (("sparse", "vector"), ("ragged", "vector"), ("ragged", "sparse"), ("vector", "sparse")):
        for count in (bincount, lambda tf: tf.sparse.bincount):
            same_error(tf1, lambda tf, count=count, values=values, weights=weights: count(tf)(
                given(tf, values, NUMBERS, "int32"), weights=given(tf, weights, WEIGHTS, "float32"), axis=-1))


def test_weights_in_other_places_are_refused(tf1):
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            values = given(tf, "sparse", NUMBERS, "int32")
            weights = tf.SparseTensor(tf.placeholder_with_default(np.array(PLACES)[::-1].copy(), [8, 2]), tf.constant(WEIGHTS), values.dense_shape)
            with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same indices"):
                session.run(tf.sparse.bincount(values, weights=weights, axis=-1).values)
