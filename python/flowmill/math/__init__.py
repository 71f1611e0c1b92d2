"""Arithmetic, reductions, comparisons, special functions: ``tf.math``, most of which is at the top level, too."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill._internal.array import invert_permutation
from flowmill.math._complex import angle, complex, conj, imag, real
from flowmill.math._counts import bincount
from flowmill.math._elementwise import (
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, betainc, bitcast, cast, ceil, cos, cosh,
    digamma, div, div_no_nan, divide, divide_no_nan, equal, erf, erfc, erfcinv, erfinv, exp, expm1, floor, floor_div, floordiv, floormod, greater,
    greater_equal, igamma, igammac, is_finite, is_inf, is_nan, less, less_equal, lgamma, log, log1p, log_sigmoid, logical_and, logical_not,
    logical_or, logical_xor, maximum, minimum, mod, multiply, multiply_no_nan, ndtri, negative, nextafter, not_equal, polygamma, pow, realdiv,
    reciprocal, reciprocal_no_nan, rint, round, rsqrt, saturate_cast, scalar_mul, sigmoid, sign, sin, sinh, sqrt, square, squared_difference,
    subtract, tan, tanh, to_bfloat16, to_complex64, to_complex128, to_double, to_float, to_int32, to_int64, truediv, truncatediv, truncatemod,
    xdivy, xlog1py, xlogy, zeta,
)
from flowmill.math._linspace import lin_space, linspace
from flowmill.math._products import accumulate_n, add_n, einsum, matmul, matvec, sparse_matmul, tensordot
from flowmill.math._reductions import (
    all_axes, arg_max, arg_min, argmax, argmin, count_nonzero, cumprod, cumsum, cumulative_logsumexp, range, reduce_all, reduce_any,
    reduce_euclidean_norm, reduce_logsumexp, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_std, reduce_sum, reduce_variance, zero_fraction,
)
from flowmill.math._segments import (
    approx_max_k, approx_min_k, confusion_matrix, histogram_fixed_width, histogram_fixed_width_bins, in_top_k, is_non_decreasing,
    is_strictly_increasing, lbeta, polyval, segment_max, segment_mean, segment_min,
    segment_prod, segment_sum, sobol_sample, sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum, top_k, unsorted_segment_max,
    unsorted_segment_mean, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sqrt_n, unsorted_segment_sum,
)

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "all_axes", "angle", "approx_max_k", "approx_min_k", "arg_max", "arg_min", "argmax",
    "argmin", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "betainc", "bincount", "bitcast",
    "cast", "ceil", "complex", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero", "cumprod", "cumsum", "cumulative_logsumexp",
    "digamma", "div", "div_no_nan", "divide", "divide_no_nan", "einsum", "equal", "erf", "erfc", "erfcinv", "erfinv", "exp", "expm1", "floor",
    "floor_div", "floordiv", "floormod", "greater", "greater_equal", "histogram_fixed_width", "histogram_fixed_width_bins", "igamma", "igammac",
    "imag", "in_top_k", "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing", "lbeta", "less",
    "less_equal", "lgamma", "lin_space", "linspace", "log", "log1p", "log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor",
    "matmul", "matvec", "maximum", "minimum", "mod", "multiply", "multiply_no_nan", "ndtri", "negative", "nextafter", "not_equal", "polygamma",
    "polyval", "pow", "range", "real", "realdiv", "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance", "rint",
    "round", "rsqrt", "saturate_cast", "scalar_mul", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum", "sigmoid",
    "sign", "sin", "sinh", "sobol_sample", "sparse_matmul", "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum", "sqrt", "square",
    "squared_difference", "subtract", "tan", "tanh", "tensordot", "to_bfloat16", "to_complex128", "to_complex64", "to_double", "to_float",
    "to_int32", "to_int64", "top_k", "truediv", "truncatediv", "truncatemod", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum", "xdivy", "xlog1py", "xlogy",
    "zero_fraction", "zeta",
]

# Functions that are tf.nn's, too.
__getattr__, __dir__ = _lazy.attach(
    __name__, _lazy.table("flowmill", {"nn": "l2_normalize log_softmax softmax softplus softsign"}) | _lazy.modules(__name__, "special"))
