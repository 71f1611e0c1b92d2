# Made by python/make_stubs from the code.

from typing import Any, overload
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor

def unary(op: str, function_name: str, doc: str) -> Any: ...
def scoped_unary(op: str, function_name: str, doc: str) -> Any: ...
def binary(op: str, function_name: str, doc: str) -> Any: ...
@overload
def acos(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The angle in [0, π] with a cosine."""
@overload
def acos(x, name: str | None = None) -> Tensor:
    """The angle in [0, π] with a cosine."""
@overload
def acosh(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The inverse of the hyperbolic cosine; not a number below 1."""
@overload
def acosh(x, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic cosine; not a number below 1."""
@overload
def asin(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The angle in [-π/2, π/2] with a sine."""
@overload
def asin(x, name: str | None = None) -> Tensor:
    """The angle in [-π/2, π/2] with a sine."""
@overload
def asinh(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The inverse of the hyperbolic sine."""
@overload
def asinh(x, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic sine."""
@overload
def atan(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The angle in (-π/2, π/2) with a tangent."""
@overload
def atan(x, name: str | None = None) -> Tensor:
    """The angle in (-π/2, π/2) with a tangent."""
@overload
def atanh(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The inverse of the hyperbolic tangent."""
@overload
def atanh(x, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic tangent."""
def bessel_i0(x, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
def bessel_i0e(x, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0, times exp(-|x|)."""
def bessel_i1(x, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
def bessel_i1e(x, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1, times exp(-|x|)."""
def bessel_j0(x, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0."""
def bessel_j1(x, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1."""
def bessel_k0(x, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0; infinite where x is not positive."""
def bessel_k0e(x, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0, times exp(x)."""
def bessel_k1(x, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1; infinite where x is not positive."""
def bessel_k1e(x, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1, times exp(x)."""
def bessel_y0(x, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0; minus infinity where x is not positive."""
def bessel_y1(x, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1; minus infinity where x is not positive."""
@overload
def ceil(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The least whole number that is not smaller."""
@overload
def ceil(x, name: str | None = None) -> Tensor:
    """The least whole number that is not smaller."""
@overload
def cos(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The cosine of angles in radians."""
@overload
def cos(x, name: str | None = None) -> Tensor:
    """The cosine of angles in radians."""
@overload
def cosh(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The hyperbolic cosine."""
@overload
def cosh(x, name: str | None = None) -> Tensor:
    """The hyperbolic cosine."""
def dawsn(x, name: str | None = None) -> Tensor:
    """Dawson's integral, exp(-x²) times the integral of exp(t²) from 0 to x."""
@overload
def digamma(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The derivative of :func:`lgamma`."""
@overload
def digamma(x, name: str | None = None) -> Tensor:
    """The derivative of :func:`lgamma`."""
@overload
def erf(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The error function."""
@overload
def erf(x, name: str | None = None) -> Tensor:
    """The error function."""
@overload
def erfc(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """1 minus the error function, without loss of digits."""
@overload
def erfc(x, name: str | None = None) -> Tensor:
    """1 minus the error function, without loss of digits."""
def erfinv(x, name: str | None = None) -> Tensor:
    """The inverse of the error function."""
@overload
def exp(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The exponential."""
@overload
def exp(x, name: str | None = None) -> Tensor:
    """The exponential."""
def expint(x, name: str | None = None) -> Tensor:
    """The exponential integral, of exp(t) / t from minus infinity to x; not a number below 0."""
@overload
def expm1(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The exponential minus 1, without loss of digits near 0."""
@overload
def expm1(x, name: str | None = None) -> Tensor:
    """The exponential minus 1, without loss of digits near 0."""
@overload
def floor(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The greatest whole number that is not greater."""
@overload
def floor(x, name: str | None = None) -> Tensor:
    """The greatest whole number that is not greater."""
def fresnel_cos(x, name: str | None = None) -> Tensor:
    """Fresnel's cosine integral, of cos(πt²/2) from 0 to x."""
def fresnel_sin(x, name: str | None = None) -> Tensor:
    """Fresnel's sine integral, of sin(πt²/2) from 0 to x."""
@overload
def is_finite(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """Whether elements are finite numbers."""
@overload
def is_finite(x, name: str | None = None) -> Tensor:
    """Whether elements are finite numbers."""
@overload
def is_inf(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """Whether elements are infinite."""
@overload
def is_inf(x, name: str | None = None) -> Tensor:
    """Whether elements are infinite."""
@overload
def is_nan(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """Whether elements are not numbers."""
@overload
def is_nan(x, name: str | None = None) -> Tensor:
    """Whether elements are not numbers."""
@overload
def lgamma(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The logarithm of the absolute value of the gamma function."""
@overload
def lgamma(x, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
@overload
def log(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The natural logarithm."""
@overload
def log(x, name: str | None = None) -> Tensor:
    """The natural logarithm."""
@overload
def log1p(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The natural logarithm of 1 + x, without loss of digits near 0."""
@overload
def log1p(x, name: str | None = None) -> Tensor:
    """The natural logarithm of 1 + x, without loss of digits near 0."""
@overload
def logical_not(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The opposite of truth values."""
@overload
def logical_not(x, name: str | None = None) -> Tensor:
    """The opposite of truth values."""
def ndtri(x, name: str | None = None) -> Tensor:
    """The quantile function of the standard normal distribution."""
@overload
def negative(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The negative."""
@overload
def negative(x, name: str | None = None) -> Tensor:
    """The negative."""
@overload
def reciprocal(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """1 divided by elements."""
@overload
def reciprocal(x, name: str | None = None) -> Tensor:
    """1 divided by elements."""
@overload
def rint(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The nearest whole number, the even one of two that are equally near."""
@overload
def rint(x, name: str | None = None) -> Tensor:
    """The nearest whole number, the even one of two that are equally near."""
@overload
def rsqrt(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """1 divided by the square root."""
@overload
def rsqrt(x, name: str | None = None) -> Tensor:
    """1 divided by the square root."""
@overload
def sigmoid(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The logistic function, 1 / (1 + exp(-x))."""
@overload
def sigmoid(x, name: str | None = None) -> Tensor:
    """The logistic function, 1 / (1 + exp(-x))."""
@overload
def sin(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The sine of angles in radians."""
@overload
def sin(x, name: str | None = None) -> Tensor:
    """The sine of angles in radians."""
@overload
def sinh(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The hyperbolic sine."""
@overload
def sinh(x, name: str | None = None) -> Tensor:
    """The hyperbolic sine."""
def spence(x, name: str | None = None) -> Tensor:
    """Spence's function, the integral of log(t) / (1 - t) from 1 to x; not a number below 0."""
@overload
def sqrt(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The square root."""
@overload
def sqrt(x, name: str | None = None) -> Tensor:
    """The square root."""
@overload
def square(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The square."""
@overload
def square(x, name: str | None = None) -> Tensor:
    """The square."""
@overload
def tan(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The tangent of angles in radians."""
@overload
def tan(x, name: str | None = None) -> Tensor:
    """The tangent of angles in radians."""
@overload
def tanh(x: SparseTensor, name: str | None = None) -> SparseTensor:
    """The hyperbolic tangent."""
@overload
def tanh(x, name: str | None = None) -> Tensor:
    """The hyperbolic tangent."""
def atan2(y, x, name=None) -> Tensor:
    """The angle in [-π, π] of the point `x`, `y`."""
def equal(x, y, name: str | None = None) -> Tensor:
    """Whether elements are equal."""
def floor_div(x, y, name: str | None = None) -> Tensor:
    """The quotient, rounded down."""
def floormod(x, y, name: str | None = None) -> Tensor:
    """What is left by a division that rounds down; it has the sign of the divisor."""
mod = floormod
def greater(x, y, name: str | None = None) -> Tensor:
    """Whether `x` is greater."""
def greater_equal(x, y, name: str | None = None) -> Tensor:
    """Whether `x` is not smaller."""
def less(x, y, name: str | None = None) -> Tensor:
    """Whether `x` is smaller."""
def less_equal(x, y, name: str | None = None) -> Tensor:
    """Whether `x` is not greater."""
def logical_and(x, y, name: str | None = None) -> Tensor:
    """Whether both are true."""
def logical_or(x, y, name: str | None = None) -> Tensor:
    """Whether one is true."""
def maximum(x, y, name: str | None = None) -> Tensor:
    """The greater of two."""
def minimum(x, y, name: str | None = None) -> Tensor:
    """The smaller of two."""
def multiply(x, y, name: str | None = None) -> Tensor:
    """The product."""
def nextafter(x1, x2, name=None) -> Tensor:
    """The next number from `x1` towards `x2`."""
def not_equal(x, y, name: str | None = None) -> Tensor:
    """Whether elements differ."""
def realdiv(x, y, name: str | None = None) -> Tensor:
    """The quotient of real numbers."""
def squared_difference(x, y, name: str | None = None) -> Tensor:
    """The square of the difference."""
def subtract(x, y, name: str | None = None) -> Tensor:
    """The difference."""
def truncatediv(x, y, name: str | None = None) -> Tensor:
    """The quotient of integers, rounded towards 0."""
def truncatemod(x, y, name: str | None = None) -> Tensor:
    """What is left by a division that rounds towards 0; it has the sign of `x`."""
def xlogy(x, y, name: str | None = None) -> Tensor:
    """``x * log(y)``, and 0 where `x` is 0."""
def zeta(x, q, name=None) -> Tensor:
    """The Hurwitz zeta function, the sum of ``(q + n) ** -x`` over n ≥ 0."""
def igamma(a, x, name=None) -> Tensor:
    """The lower incomplete gamma function of `x`, regularised."""
def igammac(a, x, name=None) -> Tensor:
    """The upper incomplete gamma function of `x`, regularised."""
def polygamma(a, x, name=None) -> Tensor:
    """The derivative of order `a` of :func:`digamma`."""
def betainc(a, b, x, name=None) -> Tensor:
    """The incomplete beta function of `x`, regularised."""
def add(x, y, name: str | None = None) -> Tensor: ...
def pow(x, y, name: str | None = None) -> Tensor: ...
def div_no_nan(x, y, name: str | None = None) -> Tensor: ...
divide_no_nan = div_no_nan
def multiply_no_nan(x, y, name: str | None = None) -> Tensor:
    """The product, and 0 where `y` is 0 even if `x` is not finite."""
def floordiv(x, y, name: str | None = None) -> Tensor:
    """The quotient, rounded down."""
def truediv(x, y, name: str | None = None) -> Tensor: ...
def divide(x, y, name: str | None = None) -> Tensor: ...
def div(x, y, name: str | None = None) -> Tensor: ...
def logical_xor(x, y, name: str = 'LogicalXor') -> Tensor: ...
@overload
def abs(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
@overload
def abs(x, name: str | None = None) -> Tensor: ...
@overload
def sign(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
@overload
def sign(x, name: str | None = None) -> Tensor: ...
def round(x, name: str | None = None) -> Tensor: ...
def scalar_mul(scalar, x, name: str | None = None) -> Any: ...
def log_sigmoid(x, name: str | None = None) -> Tensor: ...
def xdivy(x, y, name: str | None = None) -> Tensor: ...
def xlog1py(x, y, name: str | None = None) -> Tensor: ...
def erfcinv(x, name: str | None = None) -> Tensor: ...
def reciprocal_no_nan(x, name: str | None = None) -> Tensor: ...
@overload
def cast(x: SparseTensor, dtype, name: str | None = None) -> SparseTensor: ...
@overload
def cast(x, dtype, name: str | None = None) -> Tensor: ...
def saturate_cast(value, dtype, name: str | None = None) -> Tensor: ...
def bitcast(input, type, name: str | None = None) -> Tensor: ...
def to_float(x, name: str = 'ToFloat') -> Tensor:
    """Elements as `float32`."""
def to_double(x, name: str = 'ToDouble') -> Tensor:
    """Elements as `float64`."""
def to_int32(x, name: str = 'ToInt32') -> Tensor:
    """Elements as `int32`."""
def to_int64(x, name: str = 'ToInt64') -> Tensor:
    """Elements as `int64`."""
def to_bfloat16(x, name: str = 'ToBFloat16') -> Tensor:
    """Elements as `bfloat16`."""
def to_complex64(x, name: str = 'ToComplex64') -> Tensor:
    """Elements as `complex64`."""
def to_complex128(x, name: str = 'ToComplex128') -> Tensor:
    """Elements as `complex128`."""
