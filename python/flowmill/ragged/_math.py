"""Functions of :mod:`flowmill.math` and :mod:`flowmill.nn` that compute with whole rows, for ragged tensors."""

from __future__ import annotations

from collections.abc import Callable

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.tensor import Tensor
from flowmill.ragged import _elementwise, _partition, _reductions
from flowmill.ragged._tensor import RaggedTensor, _axis, to_ragged


def softmax(logits, axis=None, name: str | None = None, dim=None) -> RaggedTensor:
    """Returns the exponentials of `logits` divided by their sum along a dimension."""
    axis = -1 if axis is None and dim is None else dim if axis is None else axis
    with op_scope(name, "RaggedSoftmax"):
        logits = to_ragged(logits)
        powers = tf.exp(logits - tf.reduce_max(logits, axis, True))
        return powers / tf.reduce_sum(powers, axis, True)


def add_n(inputs, name: str | None = None) -> RaggedTensor:
    """Returns the sum of tensors, all of which have the same rows."""
    with op_scope(name, "RaggedAddN"):
        return _elementwise.map_values(tf.add_n, (inputs,), {})


def cumsum(x, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> RaggedTensor:
    """Returns running sums along a dimension."""
    with op_scope(name, "RaggedCumSum"):
        x = to_ragged(x)
        axis = _axis(axis, x.shape.rank, of="rank")
        if axis > x.ragged_rank:
            return x.with_flat_values(tf.cumsum(x.flat_values, axis - x.ragged_rank, exclusive, reverse))
        if axis < x.ragged_rank:
            return RaggedTensor.from_tensor(tf.cumsum(x.to_tensor(), axis, exclusive, reverse), lengths=list(x.nested_row_lengths()))
        splits, values = x.nested_row_splits[-1], x.flat_values
        sums = tf.cumsum(values, exclusive=True, reverse=reverse)
        rows = _partition.rowids_of(splits)
        # What the rows before add, or those after when the sums run backwards.
        sums = sums - tf.gather(sums, tf.gather(splits, rows + 1) - 1 if reverse else tf.gather(splits, rows))
        return x.with_flat_values(sums if exclusive else sums + values)


def reduce_variance(input_tensor, axis=None, keepdims: bool = False, name: str | None = None):
    """Returns the mean of squares less the square of the mean along dimensions.

    Raises:
        ValueError: for complex numbers.
    """
    with op_scope(name, "RaggedReduceVariance"):
        value = to_ragged(input_tensor)
        if value.dtype.is_complex:
            raise ValueError("reduce_variance is not supported for RaggedTensors with complex dtypes.")
        mean = tf.reduce_mean(value, axis, keepdims)
        return tf.maximum(tf.reduce_mean(tf.square(value), axis, keepdims) - tf.square(mean), 0)


def reduce_std(input_tensor, axis=None, keepdims: bool = False, name: str | None = None):
    """Returns the square root of :func:`reduce_variance`."""
    with op_scope(name, "RaggedReduceStd"):
        return tf.sqrt(reduce_variance(input_tensor, axis, keepdims))


def _segments(op: str) -> Callable:
    def function(data, segment_ids, num_segments, name: str | None = None) -> Tensor | RaggedTensor:
        with op_scope(name, "RaggedSegment"):
            return _of_segments(getattr(tf.math, op), to_ragged(data), to_ragged(segment_ids), num_segments)
    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"""Returns rows combined as by ``tf.math.{op}``; ragged `segment_ids` have the first dimensions of `data`.

    Raises:
        ValueError: for ids of another type than int32 and int64, or ragged ids of data that is not ragged.
    """
    return function


def _of_segments(op: Callable, data, ids, count):
    if ids.dtype.base_dtype not in (tf.int32, tf.int64):
        raise ValueError("segment_ids must have dtype int32 or int64.")
    if isinstance(ids, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            raise ValueError("segment_ids.shape must be a prefix of data.shape, but segment_ids is ragged and data is not.")
        if data.row_splits.dtype is not ids.row_splits.dtype:
            data, ids = data.with_row_splits_dtype(tf.int64), ids.with_row_splits_dtype(tf.int64)
        with tf.control_dependencies([tf.assert_equal(ids.row_splits, data.row_splits, message="segment_ids.shape must be a prefix of data.shape")]):
            return _of_segments(op, data.values, ids.values, count)
    return _reductions.segments(op, data, tf.cast(ids, data.row_splits.dtype), tf.cast(count, data.row_splits.dtype), None) if isinstance(data, RaggedTensor) \
        else op(data, ids, count)


unsorted_segment_sum, unsorted_segment_prod = _segments("unsorted_segment_sum"), _segments("unsorted_segment_prod")
unsorted_segment_min, unsorted_segment_max = _segments("unsorted_segment_min"), _segments("unsorted_segment_max")
unsorted_segment_mean, unsorted_segment_sqrt_n = _segments("unsorted_segment_mean"), _segments("unsorted_segment_sqrt_n")


def matmul(a, b, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False, adjoint_b: bool = False, a_is_sparse: bool = False,
           b_is_sparse: bool = False, name: str | None = None, output_type=None) -> Tensor | RaggedTensor:
    """Returns products of matrices of different sizes; those of one pair must fit, which each step checks.

    Raises:
        ValueError: for tensors of other types or ranks than each other, or for vectors.
    """
    for which, transposed, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
        if transposed and adjoint:
            raise ValueError(f"Only one of transpose_{which} and adjoint_{which} can be True.")
    options = {"transpose_a": transpose_a, "transpose_b": transpose_b, "adjoint_a": adjoint_a, "adjoint_b": adjoint_b, "a_is_sparse": a_is_sparse,
               "b_is_sparse": b_is_sparse, "output_type": output_type}
    with op_scope(name, "RaggedMatMul"):
        a, b = to_ragged(a, name="a"), to_ragged(b, name="b")
        if a.dtype.base_dtype is not b.dtype.base_dtype:
            raise ValueError("`a` and `b` must have the same dtype.")
        ranks = {x.shape.rank for x in (a, b)} - {None}
        if not ranks:
            raise ValueError("matmul requires at least one input to have known rank if either input is ragged.")
        if len(ranks) > 1 or min(ranks) < 2:
            raise ValueError("`a` and `b` must have the same rank.")
        return _product(a, b, ranks.pop(), options)


def _product(a, b, rank: int, options: dict):
    if rank > 3:
        a, b = (x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x) for x in (a, b))
        check = tf.assert_equal(a.row_splits, b.row_splits, message="Batch dimensions of `a` and `b` do not have the same size.")
        with tf.control_dependencies([check]):
            return a.with_values(_product(a.values, b.values, rank - 1, options))
    ragged = [x for x in (a, b) if isinstance(x, RaggedTensor)]
    if not ragged:
        return tf.matmul(a, b, **options)
    dtype = ragged[0].row_splits.dtype
    if rank == 2:
        (a, _, _, checks), (b, _, _, more) = (_padded(x if isinstance(x, Tensor) else tf.expand_dims(x, 0), dtype, False) for x in (a, b))
        with tf.control_dependencies(checks + more):
            product = tf.matmul(a, b, **options)
            return product if product.shape.rank == 2 else tf.squeeze(product, [0])
    is_turned = options["transpose_b"] or options["adjoint_b"]
    is_ragged = isinstance(b, RaggedTensor) and (b.ragged_rank == 2 or is_turned)
    a, rows, inner, checks = _padded(a, dtype, options["transpose_a"] or options["adjoint_a"])
    b, fitting, columns, more = _padded(b, dtype, is_turned)
    fit = tf.assert_equal(inner, fitting, message="Matrices in `a` and `b` do not fit")
    with tf.control_dependencies([*checks, *more, *([] if fit is None else [fit])]):
        product = tf.matmul(a, b, **options)
        return RaggedTensor.from_tensor(product, [rows, tf.repeat(columns, rows)] if is_ragged else rows, row_splits_dtype=dtype)


def _padded(matrices, dtype, is_turned: bool) -> tuple[Tensor, Tensor, Tensor, list]:
    """Returns matrices filled up with zeros to one size, their numbers of rows and columns, and checks that their rows have one length."""
    if not isinstance(matrices, RaggedTensor):
        if matrices.shape.rank == 2:
            return matrices, None, None, []
        sizes = tf.shape(matrices, out_type=dtype)
        rows, columns = tf.fill(sizes[:1], sizes[1]), tf.fill(sizes[:1], sizes[2])
        padded, checks = matrices, []
    else:
        matrices, checks = matrices.with_row_splits_dtype(dtype), []
        padded, rows = matrices.to_tensor(), matrices.row_lengths()
        if matrices.ragged_rank == 1:
            columns = tf.fill(tf.shape(rows), tf.shape(matrices.values, out_type=dtype)[1])
        else:
            lengths = matrices.with_values(matrices.values.row_lengths())
            columns = tf.maximum(tf.reduce_max(lengths, 1), 0)
            checks = [tf.assert_equal(lengths.values, tf.gather(columns, lengths.value_rowids()), message="The matrices in `a` and `b` may not be ragged in "
                                      "their innermost dimension.")]
    return (padded, columns, rows, checks) if is_turned else (padded, rows, columns, checks)
