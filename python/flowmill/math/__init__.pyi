# Made by python/make_stubs from the code.

from flowmill._internal.array import invert_permutation as invert_permutation
from flowmill.math import special as special
from flowmill.math._complex import angle as angle
from flowmill.math._complex import complex as complex
from flowmill.math._complex import conj as conj
from flowmill.math._complex import imag as imag
from flowmill.math._complex import real as real
from flowmill.math._counts import bincount as bincount
from flowmill.math._elementwise import abs as abs
from flowmill.math._elementwise import acos as acos
from flowmill.math._elementwise import acosh as acosh
from flowmill.math._elementwise import add as add
from flowmill.math._elementwise import asin as asin
from flowmill.math._elementwise import asinh as asinh
from flowmill.math._elementwise import atan as atan
from flowmill.math._elementwise import atan2 as atan2
from flowmill.math._elementwise import atanh as atanh
from flowmill.math._elementwise import bessel_i0 as bessel_i0
from flowmill.math._elementwise import bessel_i0e as bessel_i0e
from flowmill.math._elementwise import bessel_i1 as bessel_i1
from flowmill.math._elementwise import bessel_i1e as bessel_i1e
from flowmill.math._elementwise import betainc as betainc
from flowmill.math._elementwise import bitcast as bitcast
from flowmill.math._elementwise import cast as cast
from flowmill.math._elementwise import ceil as ceil
from flowmill.math._elementwise import cos as cos
from flowmill.math._elementwise import cosh as cosh
from flowmill.math._elementwise import digamma as digamma
from flowmill.math._elementwise import div as div
from flowmill.math._elementwise import div_no_nan as div_no_nan
from flowmill.math._elementwise import divide as divide
from flowmill.math._elementwise import divide_no_nan as divide_no_nan
from flowmill.math._elementwise import equal as equal
from flowmill.math._elementwise import erf as erf
from flowmill.math._elementwise import erfc as erfc
from flowmill.math._elementwise import erfcinv as erfcinv
from flowmill.math._elementwise import erfinv as erfinv
from flowmill.math._elementwise import exp as exp
from flowmill.math._elementwise import expm1 as expm1
from flowmill.math._elementwise import floor as floor
from flowmill.math._elementwise import floor_div as floor_div
from flowmill.math._elementwise import floordiv as floordiv
from flowmill.math._elementwise import floormod as floormod
from flowmill.math._elementwise import greater as greater
from flowmill.math._elementwise import greater_equal as greater_equal
from flowmill.math._elementwise import igamma as igamma
from flowmill.math._elementwise import igammac as igammac
from flowmill.math._elementwise import is_finite as is_finite
from flowmill.math._elementwise import is_inf as is_inf
from flowmill.math._elementwise import is_nan as is_nan
from flowmill.math._elementwise import less as less
from flowmill.math._elementwise import less_equal as less_equal
from flowmill.math._elementwise import lgamma as lgamma
from flowmill.math._elementwise import log as log
from flowmill.math._elementwise import log1p as log1p
from flowmill.math._elementwise import log_sigmoid as log_sigmoid
from flowmill.math._elementwise import logical_and as logical_and
from flowmill.math._elementwise import logical_not as logical_not
from flowmill.math._elementwise import logical_or as logical_or
from flowmill.math._elementwise import logical_xor as logical_xor
from flowmill.math._elementwise import maximum as maximum
from flowmill.math._elementwise import minimum as minimum
from flowmill.math._elementwise import mod as mod
from flowmill.math._elementwise import multiply as multiply
from flowmill.math._elementwise import multiply_no_nan as multiply_no_nan
from flowmill.math._elementwise import ndtri as ndtri
from flowmill.math._elementwise import negative as negative
from flowmill.math._elementwise import nextafter as nextafter
from flowmill.math._elementwise import not_equal as not_equal
from flowmill.math._elementwise import polygamma as polygamma
from flowmill.math._elementwise import pow as pow
from flowmill.math._elementwise import realdiv as realdiv
from flowmill.math._elementwise import reciprocal as reciprocal
from flowmill.math._elementwise import reciprocal_no_nan as reciprocal_no_nan
from flowmill.math._elementwise import rint as rint
from flowmill.math._elementwise import round as round
from flowmill.math._elementwise import rsqrt as rsqrt
from flowmill.math._elementwise import saturate_cast as saturate_cast
from flowmill.math._elementwise import scalar_mul as scalar_mul
from flowmill.math._elementwise import sigmoid as sigmoid
from flowmill.math._elementwise import sign as sign
from flowmill.math._elementwise import sin as sin
from flowmill.math._elementwise import sinh as sinh
from flowmill.math._elementwise import sqrt as sqrt
from flowmill.math._elementwise import square as square
from flowmill.math._elementwise import squared_difference as squared_difference
from flowmill.math._elementwise import subtract as subtract
from flowmill.math._elementwise import tan as tan
from flowmill.math._elementwise import tanh as tanh
from flowmill.math._elementwise import to_bfloat16 as to_bfloat16
from flowmill.math._elementwise import to_complex128 as to_complex128
from flowmill.math._elementwise import to_complex64 as to_complex64
from flowmill.math._elementwise import to_double as to_double
from flowmill.math._elementwise import to_float as to_float
from flowmill.math._elementwise import to_int32 as to_int32
from flowmill.math._elementwise import to_int64 as to_int64
from flowmill.math._elementwise import truediv as truediv
from flowmill.math._elementwise import truncatediv as truncatediv
from flowmill.math._elementwise import truncatemod as truncatemod
from flowmill.math._elementwise import xdivy as xdivy
from flowmill.math._elementwise import xlog1py as xlog1py
from flowmill.math._elementwise import xlogy as xlogy
from flowmill.math._elementwise import zeta as zeta
from flowmill.math._linspace import lin_space as lin_space
from flowmill.math._linspace import linspace as linspace
from flowmill.math._products import accumulate_n as accumulate_n
from flowmill.math._products import add_n as add_n
from flowmill.math._products import einsum as einsum
from flowmill.math._products import matmul as matmul
from flowmill.math._products import matvec as matvec
from flowmill.math._products import sparse_matmul as sparse_matmul
from flowmill.math._products import tensordot as tensordot
from flowmill.math._reductions import all_axes as all_axes
from flowmill.math._reductions import arg_max as arg_max
from flowmill.math._reductions import arg_min as arg_min
from flowmill.math._reductions import argmax as argmax
from flowmill.math._reductions import argmin as argmin
from flowmill.math._reductions import count_nonzero as count_nonzero
from flowmill.math._reductions import cumprod as cumprod
from flowmill.math._reductions import cumsum as cumsum
from flowmill.math._reductions import cumulative_logsumexp as cumulative_logsumexp
from flowmill.math._reductions import range as range
from flowmill.math._reductions import reduce_all as reduce_all
from flowmill.math._reductions import reduce_any as reduce_any
from flowmill.math._reductions import reduce_euclidean_norm as reduce_euclidean_norm
from flowmill.math._reductions import reduce_logsumexp as reduce_logsumexp
from flowmill.math._reductions import reduce_max as reduce_max
from flowmill.math._reductions import reduce_mean as reduce_mean
from flowmill.math._reductions import reduce_min as reduce_min
from flowmill.math._reductions import reduce_prod as reduce_prod
from flowmill.math._reductions import reduce_std as reduce_std
from flowmill.math._reductions import reduce_sum as reduce_sum
from flowmill.math._reductions import reduce_variance as reduce_variance
from flowmill.math._reductions import zero_fraction as zero_fraction
from flowmill.math._segments import approx_max_k as approx_max_k
from flowmill.math._segments import approx_min_k as approx_min_k
from flowmill.math._segments import confusion_matrix as confusion_matrix
from flowmill.math._segments import histogram_fixed_width as histogram_fixed_width
from flowmill.math._segments import histogram_fixed_width_bins as histogram_fixed_width_bins
from flowmill.math._segments import in_top_k as in_top_k
from flowmill.math._segments import is_non_decreasing as is_non_decreasing
from flowmill.math._segments import is_strictly_increasing as is_strictly_increasing
from flowmill.math._segments import lbeta as lbeta
from flowmill.math._segments import polyval as polyval
from flowmill.math._segments import segment_max as segment_max
from flowmill.math._segments import segment_mean as segment_mean
from flowmill.math._segments import segment_min as segment_min
from flowmill.math._segments import segment_prod as segment_prod
from flowmill.math._segments import segment_sum as segment_sum
from flowmill.math._segments import sobol_sample as sobol_sample
from flowmill.math._segments import sparse_segment_mean as sparse_segment_mean
from flowmill.math._segments import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from flowmill.math._segments import sparse_segment_sum as sparse_segment_sum
from flowmill.math._segments import top_k as top_k
from flowmill.math._segments import unsorted_segment_max as unsorted_segment_max
from flowmill.math._segments import unsorted_segment_mean as unsorted_segment_mean
from flowmill.math._segments import unsorted_segment_min as unsorted_segment_min
from flowmill.math._segments import unsorted_segment_prod as unsorted_segment_prod
from flowmill.math._segments import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from flowmill.math._segments import unsorted_segment_sum as unsorted_segment_sum
from flowmill.nn import l2_normalize as l2_normalize
from flowmill.nn import log_softmax as log_softmax
from flowmill.nn import softmax as softmax
from flowmill.nn import softplus as softplus
from flowmill.nn import softsign as softsign

__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "all_axes",
    "angle",
    "approx_max_k",
    "approx_min_k",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "betainc",
    "bincount",
    "bitcast",
    "cast",
    "ceil",
    "complex",
    "confusion_matrix",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "digamma",
    "div",
    "div_no_nan",
    "divide",
    "divide_no_nan",
    "einsum",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "igamma",
    "igammac",
    "imag",
    "in_top_k",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "lin_space",
    "linspace",
    "log",
    "log1p",
    "log_sigmoid",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matvec",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "polyval",
    "pow",
    "range",
    "real",
    "realdiv",
    "reciprocal",
    "reciprocal_no_nan",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "rint",
    "round",
    "rsqrt",
    "saturate_cast",
    "scalar_mul",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sobol_sample",
    "sparse_matmul",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "tensordot",
    "to_bfloat16",
    "to_complex128",
    "to_complex64",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "top_k",
    "truediv",
    "truncatediv",
    "truncatemod",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "xdivy",
    "xlog1py",
    "xlogy",
    "zero_fraction",
    "zeta",
]
