"""Counts of the values in dense, sparse and ragged tensors."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import identity, reshape, size
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import DType, as_dtype, int32
from flowmill.math._elementwise import cast, maximum, minimum
from flowmill.math._reductions import reduce_max


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=int32, name: str | None = None, axis=None,
             binary_output: bool = False) -> Tensor:
    """Returns how often each number is there.

    Args:
        arr: integers that are not negative: a tensor, a SparseTensor, of which the elements that are there count, or a RaggedTensor. Other numbers
            are cast to int32.
        weights: for each of them what it counts, instead of 1, in the form of `arr`.
        minlength: how long the result is at least.
        maxlength: how long it is at most; greater numbers do not count.
        dtype: the type of the result without weights.
        name: the name of the scope.
        axis: None, or 0 for all dimensions, or -1 to count along the last one.
        binary_output: gives 1 for numbers that are there, however often.

    Raises:
        ValueError: for another axis, for weights with binary output, and for weights of another form.
    """
    from flowmill.ragged._tensor import is_ragged, to_ragged  # cycle: sparse._counts imports this module

    with op_scope(name, "bincount"):
        if is_ragged(arr):
            arr = to_ragged(arr, name="arr")
            weights = weights if weights is None or isinstance(weights, SparseTensor) else to_ragged(weights, name="weights")
        elif not isinstance(arr, SparseTensor):
            arr = convert_to_tensor(arr, name="arr")
            weights = None if weights is None else convert_to_tensor(weights, name="weights")
        check_options(weights, axis, binary_output)
        if not arr.dtype.is_integer:
            arr = cast(arr, int32)
        length = _length(arr, minlength, maxlength)
        if axis != -1:
            arr, weights = _flat(arr, weights, dtype)
        if isinstance(arr, Tensor):
            return call("DenseBincount", None, arr, length, dense_weights(arr, weights, dtype), binary_output=binary_output)
        if isinstance(arr, SparseTensor):
            weights = sparse_weights(arr, weights, dtype)
            return call("SparseBincount", None, arr.indices, arr.values, arr.dense_shape, length, weights, binary_output=binary_output)
        return call("RaggedBincount", None, arr.row_splits, arr.values, length, ragged_weights(arr, weights, dtype), binary_output=binary_output)


def check_options(weights, axis, binary_output: bool) -> None:
    """Refuses options that do not go together.

    Raises:
        ValueError: for weights with binary output, and for an axis that is neither None, 0 nor -1.
    """
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")


def _length(arr, minlength, maxlength) -> Tensor:
    """Returns the number of counts."""
    kind = arr.dtype.base_dtype
    not_empty = call("Greater", None, size(arr), 0)
    # The greatest of no values is the least number of the type.
    greatest = maximum(reduce_max(arr.values), -1) if isinstance(arr, SparseTensor) else None
    length = cast(not_empty, kind) * ((reduce_max(arr) if greatest is None else greatest) + 1)
    if minlength is not None:
        length = maximum(convert_to_tensor(minlength, kind, "minlength"), length)
    if maxlength is not None:
        length = minimum(convert_to_tensor(maxlength, kind, "maxlength"), length)
    return length


def _flat(arr, weights, dtype) -> tuple[Tensor, Tensor | None]:
    """Returns all values, and their weights, as vectors."""
    if isinstance(arr, SparseTensor):
        return arr.values, None if weights is None else sparse_weights(arr, weights, dtype)
    if isinstance(arr, Tensor):
        weights = None if weights is None else reshape(weights, [-1])
        return reshape(arr, [-1]), weights
    while not isinstance(arr, Tensor):
        weights = None if weights is None else ragged_weights(arr, weights, dtype)
        arr = arr.values
    return arr, weights


def no_weights(values, dtype) -> Tensor:
    """Returns the empty tensor that means weights of 1: of type `dtype`, or of that of the values if it is None."""
    return constant([], values.dtype.base_dtype if dtype is None else as_dtype(dtype))


def dense_weights(values: Tensor, weights, dtype: DType | None = None) -> Tensor:
    """Returns the weights of a tensor's values.

    Raises:
        ValueError: If the weights are no tensor.
    """
    if weights is None:
        return no_weights(values, dtype)
    if not isinstance(weights, Tensor):
        raise ValueError(f"Argument `weights` must be a tf.Tensor if `values` is a tf.Tensor. Received weights={weights} of type: {type(weights).__name__}")
    return weights


def _checked(weights, checks):
    """Returns the values of weights, after some checks."""
    if not checks:
        return weights.values
    with get_default_graph().control_dependencies(checks):
        return identity(weights.values)


def sparse_weights(values: SparseTensor, weights, dtype: DType | None = None) -> Tensor:
    """Returns the weights of a sparse tensor's values; steps check that they are in the same places.

    Raises:
        ValueError: If the weights are no SparseTensor.
    """
    if weights is None:
        return no_weights(values, dtype)
    if not isinstance(weights, SparseTensor):
        kind = type(weights).__name__
        raise ValueError(f"Argument `weights` must be a SparseTensor if `values` is a SparseTensor. Received weights={weights} of type: {kind}")
    checks = []
    for part, what in (("dense_shape", "dense shape"), ("indices", "indices")):
        mine, other = getattr(weights, part), getattr(values, part)
        if mine is not other:
            checks.append(tf.debugging.assert_equal(mine, other, message=f"'weights' and 'values' must have the same {what}."))
    return _checked(weights, checks)


def ragged_weights(values, weights, dtype: DType | None = None):
    """Returns the weights of a ragged tensor's values, which are ragged if the values are; steps check that they have the same rows.

    Raises:
        ValueError: If the weights are no RaggedTensor.
    """
    if weights is None:
        return no_weights(values, dtype)
    if not isinstance(weights, tf.RaggedTensor):
        kind = type(weights).__name__
        raise ValueError(f"`weights` must be a RaggedTensor if `values` is a RaggedTensor. Received argument weights={weights} of type: {kind}.")
    if weights.row_splits is values.row_splits:
        return weights.values
    message = "'weights' and 'values' must have the same row splits."
    return _checked(weights, [tf.debugging.assert_equal(weights.row_splits, values.row_splits, message=message)])
