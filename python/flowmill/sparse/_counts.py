"""Counts of how often numbers occur, as sparse tensors."""

from __future__ import annotations

from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import reshape
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill.math._counts import check_options, dense_weights, ragged_weights, sparse_weights
from flowmill.ragged._tensor import RaggedTensor, is_ragged, to_ragged


def bincount(values, weights=None, axis: int | None = 0, minlength: int | None = None, maxlength: int | None = None, binary_output: bool = False,
             name: str | None = None) -> SparseTensor:
    """Returns how often each number occurs, for those that do.

    Args:
        values: integers that are not negative: a tensor, a RaggedTensor, or a SparseTensor, of which the elements that are there count.
        weights: what each of them counts, in the form of `values`; one if it is None.
        axis: 0 or None counts all together; -1 counts each row of a matrix by itself.
        minlength: the least number of columns.
        maxlength: numbers from this one on are left out.
        binary_output: whether to give ones instead of counts.
        name: the name of the scope.

    Returns:
        A SparseTensor ``[columns]``, or ``[rows, columns]``, of the type of `weights`, or of that of `values`.

    Raises:
        ValueError: for another axis, for weights with binary output, and for weights of another form.
    """
    with op_scope(name, "count", *_parts(values), *_parts(weights)):
        if is_ragged(values):
            values = to_ragged(values, name="values")
        elif not isinstance(values, SparseTensor):
            values = convert_to_tensor(values, name="values")
        if weights is not None and not isinstance(weights, SparseTensor):
            weights = to_ragged(weights, name="weights") if is_ragged(weights) else convert_to_tensor(weights, name="weights")
        check_options(weights, axis, binary_output)
        if axis != -1:
            values, weights = _joined(values, weights)
        options = {"minlength": -1 if minlength is None else minlength, "maxlength": -1 if maxlength is None else maxlength,
                   "binary_output": binary_output}
        if isinstance(values, SparseTensor):
            weights = sparse_weights(values, weights)
            found = call("SparseCountSparseOutput", None, values.indices, values.values, values.dense_shape, weights, **options)
        elif isinstance(values, RaggedTensor):
            found = call("RaggedCountSparseOutput", None, values.row_splits, values.values, ragged_weights(values, weights), **options)
        else:
            found = call("DenseCountSparseOutput", None, values, dense_weights(values, weights), **options)
        return SparseTensor(*found)


def _parts(values) -> list:
    return values._components() if isinstance(values, SparseTensor) else [values]


def _joined(values, weights) -> tuple[Tensor | RaggedTensor, Tensor | RaggedTensor | None]:
    """Returns the values of all rows, and their weights. Of ragged tensors of several ragged dimensions the first one goes."""
    if isinstance(values, SparseTensor):
        return values.values, None if weights is None else sparse_weights(values, weights)
    if isinstance(values, RaggedTensor):
        return values.values, None if weights is None else ragged_weights(values, weights)
    weights = None if weights is None else reshape(weights, [-1])
    return reshape(values, [-1]), weights
