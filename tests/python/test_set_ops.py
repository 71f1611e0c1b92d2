"""Set operations and edit distances of dense and sparse rows, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same_op, strings


@pytest.fixture
def dice():
    return np.random.RandomState(4)


def test_edit_distances(tf1, dice):
    for kind in (np.int64, np.float32, object):
        for normalize in (True, False):
            def sparse(n, high):
                places = sorted({tuple(p) for p in dice.randint(0, [2, 3, 5], [n, 3])})
                values = dice.randint(0, high, len(places))
                return np.array(places), strings([str(v).encode() for v in values]) if kind is object else values.astype(kind)
            (hi, hv), (ti, tv) = sparse(9, 3), sparse(12, 3)
            shape = np.array([2, 3, 5])
            assert assert_same_op(tf1, "EditDistance", hypothesis_indices=hi, hypothesis_values=hv, hypothesis_shape=shape, truth_indices=ti, truth_values=tv,
                       truth_shape=shape, normalize=normalize) is None


SETS = {
    "DenseToDenseSetOperation": {"set1": np.array([[[1, 2], [3, 3]], [[4, 5], [6, 7]]]), "set2": np.array([[[2, 9, 9], [3, 4, 5]], [[4, 5, 6], [1, 2, 3]]])},
    "DenseToSparseSetOperation": {"set1": np.array([[1, 2], [3, 3], [7, 8]]), "set2_indices": np.array([[0, 0], [0, 1], [2, 0]]),
                                  "set2_values": np.array([2, 4, 8]), "set2_shape": np.array([3, 2])},
    "SparseToSparseSetOperation": {"set1_indices": np.array([[0, 0], [1, 0], [1, 1]]), "set1_values": np.array([2, 4, 8]),
                                   "set1_shape": np.array([3, 2]), "set2_indices": np.array([[1, 0], [2, 4]]), "set2_values": np.array([8, 5]),
                                   "set2_shape": np.array([3, 5])},
}


@pytest.mark.parametrize("operation", ["a-b", "b-a", "intersection", "union"])
def test_set_operations(tf1, operation):
    for op, inputs in SETS.items():
        for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, object):
            def typed(name, value):
                if not (name in ("set1", "set2") or name.endswith("values")):
                    return value
                return np.vectorize(lambda v: str(v).encode(), otypes=[object])(value) if kind is object else value.astype(kind)
            assert assert_same_op(tf1, op, set_operation=operation, **{k: typed(k, v) for k, v in inputs.items()}) is None, op


def test_bad_sets(tf1):
    dense = np.array([[1, 2], [3, 4]])
    assert assert_same_op(tf1, "DenseToDenseSetOperation", set1=dense, set2=dense, set_operation="xor") == "InvalidArgumentError"
    for indices, error in (([[0, 1], [0, 0]], "InvalidArgumentError"), ([[0, 0], [0, 5]], "InvalidArgumentError")):
        attrs = {"set_indices": np.array(indices), "set_values": np.array([1, 2]), "set_shape": np.array([2, 2])}
        assert assert_same_op(tf1, "SetSize", **attrs) == error
    assert assert_same_op(tf1, "SetSize", set_indices=np.array([[0, 0], [1, 0], [1, 1]]), set_values=np.array([1, 2, 2]), set_shape=np.array([2, 2])) is None
