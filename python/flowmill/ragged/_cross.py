"""Crossed features, and empty rows filled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flowmill as tf
from flowmill._internal.apply import call, op_scope
from flowmill._internal.sparse_tensor import SparseTensor, SparseTensorValue
from flowmill.ragged._tensor import RaggedTensor, to_ragged
from flowmill.sparse._layout import HASH_KEY

if TYPE_CHECKING:
    from flowmill.raw_ops import _RaggedFillEmptyRows, _RaggedFillEmptyRowsGrad


def cross(inputs, name: str | None = None) -> RaggedTensor:
    """Returns all combinations of the values that the features have in each row, as strings with ``_X_`` between them.

    Args:
        inputs: a list of matrices of strings or integers: ragged, sparse or dense, with as many rows each.
        name: the name of the scope.

    Raises:
        TypeError: if `inputs` is no list.
        ValueError: for values of another type or a ragged tensor of other than two dimensions.
    """
    return _crossed(inputs, name, hashed_output=False, num_buckets=0, hash_key=None)


def cross_hashed(inputs, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None) -> RaggedTensor:
    """Returns all combinations of the values that the features have in each row, as hashes below `num_buckets` (any for 0); as :func:`cross`."""
    return _crossed(inputs, name, hashed_output=True, num_buckets=num_buckets, hash_key=hash_key)


def _crossed(inputs, name: str | None, hashed_output: bool, num_buckets: int, hash_key: int | None) -> RaggedTensor:
    if not isinstance(inputs, (tuple, list)):
        raise TypeError("Inputs must be a list")
    hash_key = HASH_KEY if hash_key is None else hash_key
    ragged, sparse, dense, order = [], [], [], ""
    with op_scope(name, "RaggedCross", *inputs):
        for i, value in enumerate(inputs):
            if isinstance(value, (SparseTensor, SparseTensorValue)):
                value = SparseTensor.from_value(value)
            else:
                value = to_ragged(value)
            if value.dtype.is_integer:
                value = tf.cast(value, tf.int64)
            elif value.dtype.base_dtype is not tf.string:
                raise ValueError(f"Unexpected dtype for inputs[{i}]: {value.dtype!r}")
            if isinstance(value, RaggedTensor):
                if value.ragged_rank != 1:
                    raise ValueError("tf.ragged.cross only supports inputs with rank=2")
                ragged.append(value)
                order += "R"
            elif isinstance(value, SparseTensor):
                sparse.append(value)
                order += "S"
            else:
                dense.append(value)
                order += "D"
        is_short = ragged and all(t.row_splits.dtype.base_dtype is tf.int32 for t in ragged)
        values, splits = call(
            "RaggedCross", name, [t.values for t in ragged], [t.row_splits for t in ragged], [t.indices for t in sparse], [t.values for t in sparse],
            [t.dense_shape for t in sparse], dense, input_order=order, hashed_output=hashed_output, num_buckets=num_buckets,
            hash_key=hash_key - 2 ** 64 if hash_key >= 2 ** 63 else hash_key, out_values_type=tf.int64 if hashed_output else tf.string,
            out_row_splits_type=tf.int32 if is_short else tf.int64)
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def ragged_fill_empty_rows(value_rowids, values, nrows, default_value, name: str | None = None) -> _RaggedFillEmptyRows:
    """Returns the values of a ragged matrix with `default_value` in each row that is empty; which rows were, and where each value went.

    Args:
        value_rowids: the number of its row for each value.
        values: the values, a vector.
        nrows: the number of rows, a scalar.
        default_value: a scalar.
        name: the name of the operation.
    """
    return call("RaggedFillEmptyRows", name, value_rowids, values, nrows, default_value)


def ragged_fill_empty_rows_grad(reverse_index_map, grad_values, name: str | None = None) -> _RaggedFillEmptyRowsGrad:
    """Returns the gradients of :func:`ragged_fill_empty_rows` by the values and by the default."""
    return call("RaggedFillEmptyRowsGrad", name, reverse_index_map, grad_values)
