"""Parts of tensors reduced together by numbers of segments."""

from __future__ import annotations

from typing import TYPE_CHECKING


from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import concat, ones, ones_like, rank, reshape, scatter_nd, shape, size, squeeze, stack, strided_slice, zeros_like
from flowmill._internal.array._creation import shape_internal
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.dispatch import by_rows
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, bool as bool_, float32, int32, int64
from flowmill.math._elementwise import cast, equal, floor, lgamma, maximum, sqrt
from flowmill.math._reductions import reduce_all, reduce_max, reduce_sum

if TYPE_CHECKING:
    from flowmill.raw_ops import _ApproxTopK, _TopKV2

_SEGMENTS = """{what} of each segment.

    Args:
        data: the tensor; its parts along the first dimension are in segments.
        segment_ids: for each part the number of its segment, in rising order.
        name: the name of the operation.
    """
_UNSORTED = """{what} of each segment.

    Args:
        data: the tensor.
        segment_ids: for each of its parts along the first dimensions the number of its segment, in any order; negative ones are left out.
        num_segments: how many segments there are.
        name: the name of the operation.
    """


def _segment(op: str, function_name: str, what: str):
    def function(data, segment_ids, name: str | None = None) -> Tensor:
        return call(op, name, data, segment_ids)
    function.__name__ = function.__qualname__ = function_name
    function.__doc__ = _SEGMENTS.format(what=what)
    return function


def _unsorted_segment(op: str, function_name: str, what: str):
    def function(data, segment_ids, num_segments, name: str | None = None) -> Tensor:
        return call(op, name, data, segment_ids, num_segments)
    function.__name__ = function.__qualname__ = function_name
    function.__doc__ = _UNSORTED.format(what=what)
    return function


segment_max = _segment("SegmentMax", "segment_max", "The greatest elements")
segment_mean = _segment("SegmentMean", "segment_mean", "The means")
segment_min = _segment("SegmentMin", "segment_min", "The smallest elements")
segment_prod = _segment("SegmentProd", "segment_prod", "The products")
segment_sum = _segment("SegmentSum", "segment_sum", "The sums")
unsorted_segment_max = by_rows("_math.unsorted_segment_max")(_unsorted_segment("UnsortedSegmentMax", "unsorted_segment_max", "The greatest elements"))
unsorted_segment_min = by_rows("_math.unsorted_segment_min")(_unsorted_segment("UnsortedSegmentMin", "unsorted_segment_min", "The smallest elements"))
unsorted_segment_prod = by_rows("_math.unsorted_segment_prod")(_unsorted_segment("UnsortedSegmentProd", "unsorted_segment_prod", "The products"))
unsorted_segment_sum = by_rows("_math.unsorted_segment_sum")(_unsorted_segment("UnsortedSegmentSum", "unsorted_segment_sum", "The sums"))


def _sizes_of_segments(data: Tensor, segment_ids: Tensor, num_segments) -> Tensor:
    """How many parts each segment has, at least 1, in a shape that is broadcast with sums."""
    num_segments = cast(convert_to_tensor(num_segments), int32)
    counts = call("UnsortedSegmentSum", None, ones(shape_internal(segment_ids), data.dtype), segment_ids, num_segments)
    column = concat([num_segments[None], ones([rank(data) - rank(segment_ids)], int32)], axis=0)
    return maximum(reshape(counts, column), 1)


@by_rows("_math.unsorted_segment_mean")
def unsorted_segment_mean(data, segment_ids, num_segments, name: str | None = None) -> Tensor:
    """The means of each segment; the arguments are those of :func:`unsorted_segment_sum`."""
    with op_scope(name, "UnsortedSegmentMean"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _sizes_of_segments(data, segment_ids, num_segments)
        return unsorted_segment_sum(data, segment_ids, num_segments) / sizes


@by_rows("_math.unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name: str | None = None) -> Tensor:
    """Returns the sums of each segment divided by the square root of its size; the arguments are those of :func:`unsorted_segment_sum`."""
    with op_scope(name, "UnsortedSegmentSqrtN"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _sizes_of_segments(data, segment_ids, num_segments)
        return unsorted_segment_sum(data, segment_ids, num_segments) / sqrt(sizes)


def _sparse_segment(op: str, function_name: str, what: str):
    def function(data, indices, segment_ids, name: str | None = None, num_segments=None, sparse_gradient: bool = False) -> Tensor:
        if num_segments is None:
            return call(op, name, data, indices, segment_ids, sparse_gradient=sparse_gradient or None)
        return call(op + "WithNumSegments", name, data, indices, segment_ids, num_segments, sparse_gradient=sparse_gradient or None)
    function.__name__ = function.__qualname__ = function_name
    function.__doc__ = f"""{what} of chosen parts of a tensor in each segment.

    Args:
        data: the tensor.
        indices: which parts along the first dimension.
        segment_ids: for each of `indices` the number of its segment, in rising order.
        name: the name of the operation.
        num_segments: how many segments there are, where that is more than the last number says.
        sparse_gradient: makes the gradient one of slices.
    """
    return function


sparse_segment_sum = _sparse_segment("SparseSegmentSum", "sparse_segment_sum", "The sums")
sparse_segment_mean = _sparse_segment("SparseSegmentMean", "sparse_segment_mean", "The means")
sparse_segment_sqrt_n = _sparse_segment("SparseSegmentSqrtN", "sparse_segment_sqrt_n", "The sums, divided by the roots of sizes,")


def confusion_matrix(labels, predictions, num_classes=None, dtype=int32, name: str | None = None, weights=None) -> Tensor:
    """How often each class (rows) was predicted as each class (columns).

    Args:
        labels: numbers of classes, a vector.
        predictions: numbers of classes, a vector of the same length.
        num_classes: how many classes there are; one more than the greatest number if it is None.
        dtype: the type of the result.
        name: the name of the scope.
        weights: what each prediction counts, instead of 1.

    Raises:
        errors.InvalidArgumentError: while it runs, for numbers that are no classes.
    """
    from flowmill._internal.control_flow import with_dependencies  # start-up: most programs of tf.math have no control flow
    from flowmill.debugging import assert_less, assert_non_negative  # cycle: debugging imports this package

    with op_scope(name, "confusion_matrix", predictions, labels, num_classes, weights):
        labels, predictions = convert_to_tensor(labels, name="labels"), convert_to_tensor(predictions, name="predictions")
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions, labels = cast(predictions, int64), cast(labels, int64)
        labels = with_dependencies([assert_non_negative(labels, message="`labels` contains negative values.  ")], labels)
        predictions = with_dependencies([assert_non_negative(predictions, message="`predictions` contains negative values.  ")], predictions)
        if num_classes is None:
            num_classes = maximum(reduce_max(predictions), reduce_max(labels)) + 1
        else:
            bound = cast(num_classes, int64)
            labels = with_dependencies([assert_less(labels, bound, message="`labels` out of bound")], labels)
            predictions = with_dependencies([assert_less(predictions, bound, message="`predictions` out of bound")], predictions)
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.shape.assert_is_compatible_with(weights.shape)
            weights = cast(weights, dtype)
        sizes = stack([num_classes, num_classes])
        places = stack([labels, predictions], axis=1)
        counts = ones_like(predictions, dtype) if weights is None else weights
        return scatter_nd(indices=places, updates=counts, shape=cast(sizes, int64))


def remove_squeezable_dimensions(labels: Tensor, predictions: Tensor, expected_rank_diff: int = 0, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Labels and predictions of which one has a last dimension of size 1 more, without that dimension.

    Args:
        labels: a tensor.
        predictions: another one.
        expected_rank_diff: by how much the rank of predictions is to be greater.
        name: the name of the scope.

    Returns:
        Both, with ranks that fit if they are known.
    """
    with op_scope(name, "remove_squeezable_dimensions", labels, predictions):
        label_rank, prediction_rank = labels.shape.rank, predictions.shape.rank
        if label_rank is not None and prediction_rank is not None:
            difference = prediction_rank - label_rank
            if difference == expected_rank_diff + 1 and predictions.shape[-1].is_compatible_with(1):
                predictions = squeeze(predictions, [-1])
            elif difference == expected_rank_diff - 1 and labels.shape[-1].is_compatible_with(1):
                labels = squeeze(labels, [-1])
            return labels, predictions
        from flowmill._internal.control_flow import cond  # start-up: most programs of tf.math have no control flow

        difference = rank(predictions) - rank(labels)
        if prediction_rank is None or predictions.shape[-1].is_compatible_with(1):
            wide = predictions
            predictions = cond(equal(expected_rank_diff + 1, difference), lambda: squeeze(wide, [-1]), lambda: wide)
        if label_rank is None or labels.shape[-1].is_compatible_with(1):
            deep = labels
            labels = cond(equal(expected_rank_diff - 1, difference), lambda: squeeze(deep, [-1]), lambda: deep)
        return labels, predictions


def histogram_fixed_width(values, value_range, nbins=100, dtype=int32, name: str | None = None) -> Tensor:
    """How many values are in each of some bins of equal width; the outer ones take what is beyond.

    Args:
        values: numbers.
        value_range: where the bins begin and end, two numbers.
        nbins: how many bins there are.
        dtype: the type of the result.
        name: the name of the operation.
    """
    with op_scope(name, "histogram_fixed_width", values, value_range, nbins) as scope:
        return call("HistogramFixedWidth", scope, values, value_range, nbins, dtype=dtype)


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=int32, name: str | None = None) -> Tensor:
    """For each value the number of its bin; the arguments are those of :func:`histogram_fixed_width`.

    Raises:
        errors.InvalidArgumentError: while it runs, if there is no bin.
    """
    from flowmill._internal.clip_ops import clip_by_value  # cycle: clip_ops imports this package
    from flowmill._internal.control_flow import with_dependencies  # start-up: most programs of tf.math have no control flow
    from flowmill._internal.control_flow import Assert  # start-up: most programs of tf.math have no control flow

    with op_scope(name, "histogram_fixed_width_bins", values, value_range, nbins):
        values = convert_to_tensor(values, name="values")
        sizes = shape(values)
        values = reshape(values, [-1])
        value_range = convert_to_tensor(value_range, name="value_range")
        nbins = convert_to_tensor(nbins, int32, "nbins")
        nbins = with_dependencies([Assert(nbins > 0, [f"nbins {nbins} must > 0"])], nbins)
        count = cast(nbins, values.dtype)
        scaled = call("RealDiv", "scaled_values", values - value_range[0], value_range[1] - value_range[0])
        indices = floor(count * scaled, name="indices")
        return reshape(cast(clip_by_value(indices, 0, count - 1), dtype), sizes)


def top_k(input, k=1, sorted: bool = True, index_type=int32, name: str | None = None) -> _TopKV2:  # noqa: A002
    """Returns the `k` greatest elements along the last dimension, and their places.

    Args:
        input: the tensor.
        k: how many, a scalar.
        sorted: puts the greatest first.
        index_type: the type of the places.
        name: the name of the operation.
    """
    return call("TopKV2", name, input, k, sorted=sorted, index_type=None if as_dtype(index_type) is int32 else index_type)


def in_top_k(predictions, targets, k, name: str | None = None) -> Tensor:
    """Whether a target is among the `k` greatest predictions of its row.

    Args:
        predictions: shape ``[batch, classes]``.
        targets: numbers of classes, ``[batch]``.
        k: a scalar.
        name: the name of the scope.
    """
    with op_scope(name, "in_top_k"):
        return call("InTopKV2", None, predictions, targets, k)


def approx_top_k(input, k: int, reduction_dimension: int = -1, recall_target: float = 0.95, is_max_k: bool = True,  # noqa: A002
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True, name: str | None = None) -> _ApproxTopK:
    """Returns the `k` greatest or least elements along a dimension, and their places; here they are exact.

    Args:
        input: the tensor.
        k: how many, a number of Python.
        reduction_dimension: the dimension.
        recall_target: the share of them that has to be found, above 0 and at most 1.
        is_max_k: whether the greatest are looked for.
        reduction_input_size_override: the size that counts if this is a part of a larger search; -1 for that of the tensor.
        aggregate_to_topk: whether all others are left out; if not, there are as many as a search that finds the share has to leave.
        name: the name of the operation.
    """
    return call("ApproxTopK", name, input, k=k, reduction_dimension=reduction_dimension, recall_target=recall_target, is_max_k=is_max_k,
                reduction_input_size_override=reduction_input_size_override, aggregate_to_topk=aggregate_to_topk)


def approx_max_k(operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95, reduction_input_size_override: int = -1,
                 aggregate_to_topk: bool = True, name: str | None = None) -> _ApproxTopK:
    """Returns the `k` greatest elements along a dimension, and their places; the arguments are those of ``tf.approx_top_k``."""
    return approx_top_k(operand, k, reduction_dimension, recall_target, True, reduction_input_size_override, aggregate_to_topk, name)


def approx_min_k(operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95, reduction_input_size_override: int = -1,
                 aggregate_to_topk: bool = True, name: str | None = None) -> _ApproxTopK:
    """Returns the `k` least elements along a dimension, and their places; the arguments are those of ``tf.approx_top_k``."""
    return approx_top_k(operand, k, reduction_dimension, recall_target, False, reduction_input_size_override, aggregate_to_topk, name)


def is_non_decreasing(x, name: str | None = None) -> Tensor:
    """Returns true if the elements of a tensor, in order, never fall; a scalar."""
    with op_scope(name, "is_non_decreasing"):
        return _all_steps("GreaterEqual", x)


def is_strictly_increasing(x, name: str | None = None) -> Tensor:
    """Returns true if each element of a tensor, in order, is greater than the one before; a scalar."""
    with op_scope(name, "is_strictly_increasing"):
        return _all_steps("Greater", x)


def _all_steps(op: str, x) -> Tensor:
    from flowmill._internal.control_flow import cond  # start-up: most programs of tf.math have no control flow

    x = convert_to_tensor(x, name="x")
    if not (x.dtype.is_floating or x.dtype.is_integer or x.dtype.is_quantized):
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    x = reshape(x, [-1])
    is_short = size(x) < 2
    last = shape(x) - 1
    steps = cond(is_short, lambda: constant([], bool_),
                 lambda: call(op, None, strided_slice(x, [1], [1] + last), strided_slice(x, [0], last)))
    return reduce_all(steps)


def sobol_sample(dim, num_results, skip=0, dtype=float32, name: str | None = None) -> Tensor:
    """Points of Sobol's sequence, which fill the unit cube evenly.

    Args:
        dim: how many coordinates a point has.
        num_results: how many points.
        skip: how many of the first ones are left out.
        dtype: `float32` or `float64`.
        name: the name of the scope.

    Returns:
        The points, ``[num_results, dim]``.
    """
    with op_scope(name, "sobol", dim, num_results, skip):
        return call("SobolSample", None, dim, num_results, skip, dtype=as_dtype(dtype))


def polyval(coeffs, x, name: str | None = None) -> Tensor:
    """Returns the value of a polynomial.

    Args:
        coeffs: a list of its coefficients, the one of the highest power first.
        x: a tensor.
        name: the name of the scope.

    Raises:
        ValueError: if `coeffs` is no list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with op_scope(name, "polyval", coeffs, x):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return zeros_like(x, name=name)
        parts = [convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        value = parts[0]
        for part in parts[1:]:
            value = part + value * x
        return value


def lbeta(x, name: str | None = None) -> Tensor:
    """Returns the logarithm of the absolute value of the beta function along the last dimension."""
    with op_scope(name, "lbeta", x):
        x = convert_to_tensor(x, name="x")
        return reduce_sum(lgamma(x), [-1]) - lgamma(reduce_sum(x, [-1]))
