"""Sparse tensors serialised as strings and variants, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same, assert_same_op, strings

SPARSE = {"indices": np.array([[0, 1], [0, 3], [2, 0]]), "shape": np.array([3, 4])}


@pytest.mark.parametrize("values", [np.array([1, 2, 3], np.int32), np.array([1.5, 2, 3], np.float32), strings([b"a", b"b", b"c"])], ids=["int", "float", "text"])
def test_serialized_sparse_tensors(tf1, values):
    def there_and_back(m, many):
        parts = [m.constant(SPARSE["indices"]), m.constant(values), m.constant(SPARSE["shape"])]
        op = m.raw_ops.SerializeManySparse if many else m.raw_ops.SerializeSparse
        kinds = [m.string, m.variant]
        out = []
        for kind in kinds:
            made = op(sparse_indices=parts[0], sparse_values=parts[1], sparse_shape=parts[2], out_type=kind)
            out.extend(m.raw_ops.DeserializeSparse(serialized_sparse=made, dtype=parts[1].dtype))
            if many and kind == m.string:
                out.extend(m.raw_ops.DeserializeManySparse(serialized_sparse=made, dtype=parts[1].dtype))
        return out
    for many in (True, False):
        assert assert_same(tf1, lambda m, many=many: there_and_back(m, many)) is None


def test_bad_serialized_sparse_tensors(tf1):
    for value in ([b"a", b"b", b"c"], [[b"", b"", b""]]):
        assert assert_same_op(tf1, "DeserializeSparse", serialized_sparse=strings(value), dtype=1) == "InvalidArgumentError"
    for indices, shape in ([[0, 1]], [0, 4]), ([[5, 1]], [3, 4]), ([[1], [0]], [3]):
        values = np.ones(len(indices), np.float32)
        attrs = {"sparse_indices": np.array(indices), "sparse_values": values, "sparse_shape": np.array(shape)}
        assert assert_same_op(tf1, "SerializeManySparse", **attrs) == "InvalidArgumentError"
