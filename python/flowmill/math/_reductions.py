"""Reductions along dimensions, running sums, places of extremes."""

from __future__ import annotations

import math

import numpy as np

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.arguments import one_of
from flowmill._internal.array import identity, rank, reshape, size, zeros
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import by_rows, is_ragged
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, float32, float64, int32, int64
from flowmill.math._elementwise import abs as abs_, cast, not_equal, square

_INT32 = 3
_INFERABLE = (int32, int64, float32, float64)


def range(start, limit=None, delta=1, dtype=None, name: str = "range") -> Tensor:  # noqa: A001 - TensorFlow's name
    """Numbers from `start` up to `limit`, not counted, by steps of `delta`; with one argument from 0 up to that.

    Args:
        start: a scalar.
        limit: a scalar.
        delta: a scalar.
        dtype: the type of the numbers; that of the arguments, the widest of them, if it is None.
        name: the name of the operation.
    """
    if limit is None:
        start, limit = 0, start
    with op_scope(name, "Range", start, limit, delta) as scope:
        wanted = None if dtype is None else as_dtype(dtype).base_dtype
        parts = [v if isinstance(v, Tensor) else convert_to_tensor(v, wanted, which)
                 for v, which in ((start, "start"), (limit, "limit"), (delta, "delta"))]
        if wanted is None:
            kinds = [p.dtype.base_dtype for p in parts]
            wanted = max(kinds, key=lambda k: _INFERABLE.index(k) if k in _INFERABLE else len(_INFERABLE))
        made = call("Range", scope, *(cast(p, wanted) for p in parts))
        if dims(made) == [-1] and not any(isinstance(v, Tensor) or hasattr(v, "_as_tensor") for v in (start, limit, delta)):
            # Casts hide the values from the inference of shapes.
            made.set_shape([max(0, math.ceil((limit - start) / delta))])
        return made


def all_axes(x) -> Tensor:
    """Returns the numbers of all dimensions of a tensor, or a variable."""
    known = dims(x) if isinstance(x, Tensor) else x.shape.as_list() if hasattr(x, "_as_tensor") and x.shape.rank else None
    if known:
        graph = get_default_graph()
        graph._check_not_finalized()
        return graph._add_constant("Const", np.arange(len(known), dtype=np.int32), _INT32)
    return range(0, rank(x))


def _arguments(axis, keepdims, reduction_indices, keep_dims):
    axis = one_of("reduction_indices", reduction_indices, "axis", axis)
    keepdims = one_of("keep_dims", keep_dims, "keepdims", keepdims)
    return axis, False if keepdims is None else bool(keepdims)


def _reduce(op: str, x, axis, keepdims: bool, name: str | None) -> Tensor:
    if is_ragged(x):
        from flowmill.ragged._reductions import reduced  # cycle: accumulators imports this package

        return reduced(op, x, axis, keepdims)
    found = call(op, name, x, all_axes(x) if axis is None else axis, keep_dims=keepdims)
    if axis is None and not keepdims and dims(found) is None:
        found.set_shape(())
    return found


def _reduction(op: str, function_name: str, what: str):
    def function(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
        axis, keepdims = _arguments(axis, keepdims, reduction_indices, keep_dims)
        return _reduce(op, input_tensor, axis, keepdims, name)
    function.__name__ = function.__qualname__ = function_name
    function.__module__ = __name__
    function.__doc__ = f"""{what} along dimensions.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all where it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
    return function


reduce_sum = _reduction("Sum", "reduce_sum", "The sum")
reduce_mean = _reduction("Mean", "reduce_mean", "The mean")
reduce_prod = _reduction("Prod", "reduce_prod", "The product")
reduce_max = _reduction("Max", "reduce_max", "The greatest element")
reduce_min = _reduction("Min", "reduce_min", "The smallest element")
reduce_all = _reduction("All", "reduce_all", "Whether all elements are true")
reduce_any = _reduction("Any", "reduce_any", "Whether an element is true")


def reduce_euclidean_norm(input_tensor, axis=None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns the square root of the sum of squares along dimensions, which are all if `axis` is None."""
    return _reduce("EuclideanNorm", input_tensor, axis, bool(keepdims), name)


@by_rows("_math.reduce_variance")
def reduce_variance(input_tensor, axis=None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The mean of the squares of differences from the mean along dimensions.

    Raises:
        TypeError: for integers.
    """
    with op_scope(name, "reduce_variance"):
        input_tensor = convert_to_tensor(input_tensor)
        means = reduce_mean(input_tensor, axis, True)
        if means.dtype.is_integer:
            raise TypeError(f"Input must be either real or complex. Received integer type {means.dtype}.")
        difference = input_tensor - means
        squares = square(abs_(difference)) if difference.dtype.is_complex else square(difference)
        return reduce_mean(squares, axis, keepdims)


@by_rows("_math.reduce_std")
def reduce_std(input_tensor, axis=None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns the square root of :func:`reduce_variance`.

    Raises:
        TypeError: for integers.
    """
    with op_scope(name, "reduce_std"):
        return call("Sqrt", None, reduce_variance(convert_to_tensor(input_tensor), axis, keepdims))


def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
    """Returns the logarithm of the sum of exponentials along dimensions, which does not overflow.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all if it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
    axis, keepdims = _arguments(axis, keepdims, reduction_indices, keep_dims)
    with op_scope(name, "ReduceLogSumExp", input_tensor) as scope:
        if not isinstance(input_tensor, Tensor):
            input_tensor = convert_to_tensor(input_tensor)
        greatest = reduce_max(input_tensor, axis, True)
        greatest = call("StopGradient", None, call("SelectV2", None, call("IsFinite", None, greatest), greatest, 0))
        result = call("Log", None, reduce_sum(call("Exp", None, call("Sub", None, input_tensor, greatest)), axis, keepdims))
        if not keepdims:
            greatest = reshape(greatest, call("Shape", None, result))
        return call("AddV2", scope, result, greatest)


def count_nonzero(input_tensor=None, axis=None, keepdims=None, dtype=int64, name: str | None = None, reduction_indices=None, keep_dims=None,
                  input=None) -> Tensor:  # noqa: A002
    """Counts the elements along dimensions that are not zero, false, or empty strings.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all if it is None.
        keepdims: leaves those dimensions there, with size 1.
        dtype: the type of the result.
        name: the name of the scope.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
        input: `input_tensor` by its other name.
    """
    input_tensor = one_of("input_tensor", input_tensor, "input", input)
    axis, keepdims = _arguments(axis, keepdims, reduction_indices, keep_dims)
    with op_scope(name, "count_nonzero", input_tensor):
        input_tensor = convert_to_tensor(input_tensor, name="input_tensor")
        zero = zeros([], input_tensor.dtype)
        different = cast(not_equal(input_tensor, zero), int64)
        return cast(reduce_sum(different, axis, keepdims), dtype)


def zero_fraction(value, name: str | None = None) -> Tensor:
    """Returns the share of elements that are zero, a scalar."""
    from flowmill._internal.control_flow import cond  # start-up: most programs of tf.math have no control flow

    with op_scope(name, "zero_fraction", value):
        value = convert_to_tensor(value, name="value")
        count = size(value, out_type=int64)
        # Counting takes half the time where 32 bits are enough.
        nonzero = cond(count <= int32.max, lambda: cast(_nonzeros(value, int32), int64), lambda: _nonzeros(value, int64))
        with op_scope("counts_to_fraction", "counts_to_fraction"):
            fraction = cast(count - nonzero, float32) / cast(count, float32)
        return identity(fraction, "fraction")


def _nonzeros(value: Tensor, dtype) -> Tensor:
    with op_scope("count_nonzero", "count_nonzero"):
        different = cast(not_equal(value, zeros([], value.dtype)), dtype)
        return reduce_sum(different, name="nonzero_count")


def _cumulative(op: str, x, axis, exclusive: bool, reverse: bool, name: str | None) -> Tensor:
    with op_scope(name, op, x) as scope:
        return call(op, scope, convert_to_tensor(x, name="x"), axis, exclusive=exclusive, reverse=reverse)


@by_rows("_math.cumsum")
def cumsum(x, axis=0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Running sums along a dimension.

    Args:
        x: the tensor.
        axis: the dimension.
        exclusive: leaves the element itself out of its sum.
        reverse: begins at the end.
        name: the name of the operation.
    """
    return _cumulative("Cumsum", x, axis, exclusive, reverse, name)


def cumprod(x, axis=0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Running products along a dimension; the arguments are those of :func:`cumsum`."""
    return _cumulative("Cumprod", x, axis, exclusive, reverse, name)


def cumulative_logsumexp(x, axis=0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Returns the logarithms of running sums of exponentials along a dimension; the arguments are those of :func:`cumsum`."""
    return _cumulative("CumulativeLogsumexp", x, axis, exclusive, reverse, name)


def argmax(input, axis=None, name: str | None = None, dimension=None, output_type=int64) -> Tensor:  # noqa: A002
    """Returns the place of the greatest element along a dimension, the first of several.

    Args:
        input: the tensor.
        axis: the dimension, the first by default.
        name: the name of the operation.
        dimension: `axis` by its old name.
        output_type: the type of the places.
    """
    axis = one_of("dimension", dimension, "axis", axis)
    return call("ArgMax", name, input, 0 if axis is None else axis, output_type=output_type)


def argmin(input, axis=None, name: str | None = None, dimension=None, output_type=int64) -> Tensor:  # noqa: A002
    """Returns the place of the smallest element along a dimension; the arguments are those of :func:`argmax`."""
    axis = one_of("dimension", dimension, "axis", axis)
    return call("ArgMin", name, input, 0 if axis is None else axis, output_type=output_type)


def arg_max(input, dimension, output_type=int64, name: str | None = None) -> Tensor:  # noqa: A002
    """:func:`argmax` with the arguments of the op."""
    return call("ArgMax", name, input, dimension, output_type=output_type)


def arg_min(input, dimension, output_type=int64, name: str | None = None) -> Tensor:  # noqa: A002
    """:func:`argmin` with the arguments of the op."""
    return call("ArgMin", name, input, dimension, output_type=output_type)
