"""Arithmetic, reductions, comparisons, special functions: ``tf.math``, most of which stands at the top level, too."""

from __future__ import annotations

from flowmill.math._elementwise import (
    abs, acos, acosh, add, angle, asin, asinh, atan, atan2, atanh, bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, betainc, bitcast, cast, ceil,
    complex, conj, cos, cosh, digamma, div, div_no_nan, divide, divide_no_nan, equal, erf, erfc, erfcinv, erfinv, exp, expm1, floor, floor_div,
    floordiv, floormod, greater, greater_equal, igamma, igammac, imag, is_finite, is_inf, is_nan, less, less_equal, lgamma, log, log1p, log_sigmoid,
    logical_and, logical_not, logical_or, logical_xor, maximum, minimum, mod, multiply, multiply_no_nan, ndtri, negative, nextafter, not_equal,
    polygamma, pow, real, realdiv, reciprocal, reciprocal_no_nan, rint, round, rsqrt, saturate_cast, scalar_mul, sigmoid, sign, sin, sinh, sqrt,
    square, squared_difference, subtract, tan, tanh, to_bfloat16, to_complex64, to_complex128, to_double, to_float, to_int32, to_int64, truediv,
    truncatediv, truncatemod, xdivy, xlog1py, xlogy, zeta,
)
from flowmill.math._products import accumulate_n, add_n, einsum, matmul, matvec, sparse_matmul, tensordot
from flowmill.math._reductions import (
    all_axes, arg_max, arg_min, argmax, argmin, count_nonzero, cumprod, cumsum, cumulative_logsumexp, range, reduce_all, reduce_any,
    reduce_euclidean_norm, reduce_logsumexp, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_std, reduce_sum, reduce_variance, zero_fraction,
)

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "all_axes", "angle", "arg_max", "arg_min", "argmax", "argmin", "asin", "asinh", "atan",
    "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "betainc", "bitcast", "cast", "ceil", "complex", "conj", "cos", "cosh",
    "count_nonzero", "cumprod", "cumsum", "cumulative_logsumexp", "digamma", "div", "div_no_nan", "divide", "divide_no_nan", "einsum", "equal",
    "erf", "erfc", "erfcinv", "erfinv", "exp", "expm1", "floor", "floor_div", "floordiv", "floormod", "greater", "greater_equal", "igamma",
    "igammac", "imag", "is_finite", "is_inf", "is_nan", "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "matvec", "maximum", "minimum", "mod", "multiply", "multiply_no_nan", "ndtri", "negative",
    "nextafter", "not_equal", "polygamma", "pow", "range", "real", "realdiv", "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any",
    "reduce_euclidean_norm", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum",
    "reduce_variance", "rint", "round", "rsqrt", "saturate_cast", "scalar_mul", "sigmoid", "sign", "sin", "sinh", "sparse_matmul", "sqrt",
    "square", "squared_difference", "subtract", "tan", "tanh", "tensordot", "to_bfloat16", "to_complex128", "to_complex64", "to_double",
    "to_float", "to_int32", "to_int64", "truediv", "truncatediv", "truncatemod", "xdivy", "xlog1py", "xlogy", "zero_fraction", "zeta",
]
