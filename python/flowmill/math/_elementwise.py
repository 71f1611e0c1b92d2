"""Functions of single elements: arithmetic, comparisons, logic, special functions, casts."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import numpy as np

from flowmill._internal import operators
from flowmill._internal.apply import call, op_scope
from flowmill._internal.array._creation import is_sparse
from flowmill._internal.constants import is_tensor_like
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.dispatch import by_rows, elementwise, is_ragged, of_rows, of_values, pairwise
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, bfloat16, complex64, complex128, float32, float64, int32, int64
from flowmill.math._complex import complex, imag, real

if TYPE_CHECKING:
    from flowmill._internal.sparse_tensor import SparseTensor


def _exported(function, name: str, doc: str):
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = doc
    function.__annotations__.setdefault("return", "Tensor")
    return function


def unary(op: str, function_name: str, doc: str):
    """Returns a function of an op of one tensor `x`; it is applied to the values of sparse tensors."""
    def function(x, name: str | None = None) -> Tensor | SparseTensor:
        if type(x) is not Tensor:
            if is_sparse(x):
                return x._with_components([x.indices, call(op, name, x.values), x.dense_shape])
            if is_ragged(x):
                return of_values(lambda values: call(op, name, values), x)
        return call(op, name, x)
    return _exported(function, function_name, doc)


def scoped_unary(op: str, function_name: str, doc: str):
    """Like :func:`unary`, with the operation in a scope of the function's name."""
    def function(x, name: str | None = None) -> Tensor:
        if is_ragged(x):
            return of_values(lambda values: function(values, name), x)
        with op_scope(name, function_name, x):
            return call(op, None, x)
    return _exported(function, function_name, doc)


def binary(op: str, function_name: str, doc: str):
    """Returns a function of an op of two tensors `x` and `y`, which are broadcast together."""
    def function(x, y, name: str | None = None) -> Tensor:
        if type(x) is Tensor and type(y) is Tensor:
            return operators.binary(op, name, x, y, op)
        if is_ragged(x) or is_ragged(y):
            return of_rows(lambda a, b: function(a, b, name), x, y)
        return call(op, name, x, y)
    return _exported(function, function_name, doc)


acos = unary("Acos", "acos", "The angle in [0, π] with a cosine.")
acosh = unary("Acosh", "acosh", "The inverse of the hyperbolic cosine; not a number below 1.")
asin = unary("Asin", "asin", "The angle in [-π/2, π/2] with a sine.")
asinh = unary("Asinh", "asinh", "The inverse of the hyperbolic sine.")
atan = unary("Atan", "atan", "The angle in (-π/2, π/2) with a tangent.")
atanh = unary("Atanh", "atanh", "The inverse of the hyperbolic tangent.")
bessel_i0 = scoped_unary("BesselI0", "bessel_i0", "The modified Bessel function of order 0.")
bessel_i0e = scoped_unary("BesselI0e", "bessel_i0e", "The modified Bessel function of order 0, times exp(-|x|).")
bessel_i1 = scoped_unary("BesselI1", "bessel_i1", "The modified Bessel function of order 1.")
bessel_i1e = scoped_unary("BesselI1e", "bessel_i1e", "The modified Bessel function of order 1, times exp(-|x|).")
bessel_j0 = scoped_unary("BesselJ0", "bessel_j0", "The Bessel function of the first kind of order 0.")
bessel_j1 = scoped_unary("BesselJ1", "bessel_j1", "The Bessel function of the first kind of order 1.")
bessel_k0 = scoped_unary("BesselK0", "bessel_k0", "The modified Bessel function of the second kind of order 0; infinite where x is not positive.")
bessel_k0e = scoped_unary("BesselK0e", "bessel_k0e", "The modified Bessel function of the second kind of order 0, times exp(x).")
bessel_k1 = scoped_unary("BesselK1", "bessel_k1", "The modified Bessel function of the second kind of order 1; infinite where x is not positive.")
bessel_k1e = scoped_unary("BesselK1e", "bessel_k1e", "The modified Bessel function of the second kind of order 1, times exp(x).")
bessel_y0 = scoped_unary("BesselY0", "bessel_y0", "The Bessel function of the second kind of order 0; minus infinity where x is not positive.")
bessel_y1 = scoped_unary("BesselY1", "bessel_y1", "The Bessel function of the second kind of order 1; minus infinity where x is not positive.")
ceil = unary("Ceil", "ceil", "The least whole number that is not smaller.")
cos = unary("Cos", "cos", "The cosine of angles in radians.")
cosh = unary("Cosh", "cosh", "The hyperbolic cosine.")
dawsn = scoped_unary("Dawsn", "dawsn", "Dawson's integral, exp(-x²) times the integral of exp(t²) from 0 to x.")
digamma = unary("Digamma", "digamma", "The derivative of :func:`lgamma`.")
erf = unary("Erf", "erf", "The error function.")
erfc = unary("Erfc", "erfc", "1 minus the error function, without loss of digits.")
erfinv = scoped_unary("Erfinv", "erfinv", "The inverse of the error function.")
exp = unary("Exp", "exp", "The exponential.")
expint = scoped_unary("Expint", "expint", "The exponential integral, of exp(t) / t from minus infinity to x; not a number below 0.")
expm1 = unary("Expm1", "expm1", "The exponential minus 1, without loss of digits near 0.")
floor = unary("Floor", "floor", "The greatest whole number that is not greater.")
fresnel_cos = scoped_unary("FresnelCos", "fresnel_cos", "Fresnel's cosine integral, of cos(πt²/2) from 0 to x.")
fresnel_sin = scoped_unary("FresnelSin", "fresnel_sin", "Fresnel's sine integral, of sin(πt²/2) from 0 to x.")
is_finite = unary("IsFinite", "is_finite", "Whether elements are finite numbers.")
is_inf = unary("IsInf", "is_inf", "Whether elements are infinite.")
is_nan = unary("IsNan", "is_nan", "Whether elements are not numbers.")
lgamma = unary("Lgamma", "lgamma", "The logarithm of the absolute value of the gamma function.")
log = unary("Log", "log", "The natural logarithm.")
log1p = unary("Log1p", "log1p", "The natural logarithm of 1 + x, without loss of digits near 0.")
logical_not = unary("LogicalNot", "logical_not", "The opposite of truth values.")
ndtri = scoped_unary("Ndtri", "ndtri", "The quantile function of the standard normal distribution.")
negative = unary("Neg", "negative", "The negative.")
reciprocal = unary("Reciprocal", "reciprocal", "1 divided by elements.")
rint = unary("Rint", "rint", "The nearest whole number, the even one of two that are equally near.")
rsqrt = unary("Rsqrt", "rsqrt", "1 divided by the square root.")
sigmoid = unary("Sigmoid", "sigmoid", "The logistic function, 1 / (1 + exp(-x)).")
sin = unary("Sin", "sin", "The sine of angles in radians.")
sinh = unary("Sinh", "sinh", "The hyperbolic sine.")
spence = scoped_unary("Spence", "spence", "Spence's function, the integral of log(t) / (1 - t) from 1 to x; not a number below 0.")
sqrt = unary("Sqrt", "sqrt", "The square root.")
square = unary("Square", "square", "The square.")
tan = unary("Tan", "tan", "The tangent of angles in radians.")
tanh = unary("Tanh", "tanh", "The hyperbolic tangent.")

atan2 = pairwise(_exported(lambda y, x, name=None: call("Atan2", name, y, x), "atan2", "The angle in [-π, π] of the point `x`, `y`."))
equal = binary("Equal", "equal", "Whether elements are equal.")
floor_div = binary("FloorDiv", "floor_div", "The quotient, rounded down.")
floormod = binary("FloorMod", "floormod", "What is left by a division that rounds down; it has the sign of the divisor.")
mod = floormod
greater = binary("Greater", "greater", "Whether `x` is greater.")
greater_equal = binary("GreaterEqual", "greater_equal", "Whether `x` is not smaller.")
less = binary("Less", "less", "Whether `x` is smaller.")
less_equal = binary("LessEqual", "less_equal", "Whether `x` is not greater.")
logical_and = binary("LogicalAnd", "logical_and", "Whether both are true.")
logical_or = binary("LogicalOr", "logical_or", "Whether one is true.")
maximum = binary("Maximum", "maximum", "The greater of two.")
minimum = binary("Minimum", "minimum", "The smaller of two.")
multiply = binary("Mul", "multiply", "The product.")
nextafter = pairwise(_exported(lambda x1, x2, name=None: call("NextAfter", name, x1, x2), "nextafter", "The next number from `x1` towards `x2`."))
not_equal = binary("NotEqual", "not_equal", "Whether elements differ.")
realdiv = binary("RealDiv", "realdiv", "The quotient of real numbers.")
squared_difference = binary("SquaredDifference", "squared_difference", "The square of the difference.")
subtract = binary("Sub", "subtract", "The difference.")
truncatediv = binary("TruncateDiv", "truncatediv", "The quotient of integers, rounded towards 0.")
truncatemod = binary("TruncateMod", "truncatemod", "What is left by a division that rounds towards 0; it has the sign of `x`.")
xlogy = binary("Xlogy", "xlogy", "``x * log(y)``, and 0 where `x` is 0.")
zeta = pairwise(_exported(lambda x, q, name=None: call("Zeta", name, x, q), "zeta", "The Hurwitz zeta function, the sum of ``(q + n) ** -x`` over n ≥ 0."))
igamma = _exported(lambda a, x, name=None: call("Igamma", name, a, x), "igamma", "The lower incomplete gamma function of `x`, regularised.")
igammac = _exported(lambda a, x, name=None: call("Igammac", name, a, x), "igammac", "The upper incomplete gamma function of `x`, regularised.")
polygamma = _exported(lambda a, x, name=None: call("Polygamma", name, a, x), "polygamma", "The derivative of order `a` of :func:`digamma`.")
betainc = _exported(lambda a, b, x, name=None: call("Betainc", name, a, b, x), "betainc", "The incomplete beta function of `x`, regularised.")


def _scoped_pair(op: str, default: str, function_name: str, doc: str):
    """Returns a function of two tensors that converts them one after the other: the second takes the type of the first."""
    def function(x, y, name: str | None = None) -> Tensor:
        if type(x) is Tensor and type(y) is Tensor:
            return operators.binary(op, name, x, y, default)
        if is_ragged(x) or is_ragged(y):
            return of_rows(lambda a, b: function(a, b, name), x, y)
        with op_scope(name, default, x, y) as scope:
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
            return call(op, scope, x, y)
    return _exported(function, function_name, doc)


def add(x, y, name: str | None = None) -> Tensor:
    """Returns the sum; strings are joined."""
    if type(x) is Tensor and type(y) is Tensor:
        return operators.binary("Add" if x.dtype.base_dtype.name == "string" else "AddV2", name, x, y, "Add")
    if is_ragged(x) or is_ragged(y):
        return of_rows(lambda a, b: add(a, b, name), x, y)
    with op_scope(name, "Add", x, y) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
        return call("Add" if x.dtype.base_dtype.name == "string" else "AddV2", scope, x, y)


def pow(x, y, name: str | None = None) -> Tensor:  # noqa: A001 - TensorFlow's name
    """`x` to the power of `y`."""
    if is_ragged(x) or is_ragged(y):
        return of_rows(lambda a, b: pow(a, b, name), x, y)
    with op_scope(name, "Pow", x) as scope:
        return call("Pow", scope, x, y)


def div_no_nan(x, y, name: str | None = None) -> Tensor:
    """Returns the quotient, and 0 where the divisor is 0; integers become floating-point numbers, as in :func:`truediv`.

    Raises:
        TypeError: if the types differ.
    """
    if is_ragged(x) or is_ragged(y):
        return of_rows(lambda a, b: div_no_nan(a, b, name), x, y)
    with op_scope(name, "div_no_nan", x, y) as scope:
        if not is_tensor_like(x) and is_tensor_like(y):
            y = convert_to_tensor(y, name="y")
            x = convert_to_tensor(x, y.dtype.base_dtype, "x")
        else:
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
        if x.dtype.base_dtype is not y.dtype.base_dtype:
            raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
        wide = operators.TRUE_DIVISION.get(x.dtype.base_dtype._number)
        if wide is not None:
            x, y = cast(x, wide), cast(y, wide)
        return call("DivNoNan", scope, x, y)


divide_no_nan = div_no_nan
multiply_no_nan = _scoped_pair("MulNoNan", "multiply_no_nan", "multiply_no_nan", "The product, and 0 where `y` is 0 even if `x` is not finite.")
floordiv = _scoped_pair("FloorDiv", "floordiv", "floordiv", "The quotient, rounded down.")


def truediv(x, y, name: str | None = None) -> Tensor:
    """Returns the quotient; integers become `float64`, those of up to 16 bits `float32`.

    Raises:
        TypeError: if the types differ.
    """
    if is_ragged(x) or is_ragged(y):
        return of_rows(lambda a, b: truediv(a, b, name), x, y)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        with op_scope(name, "truediv", x, y) as scope:
            return operators.truediv(convert_to_tensor(x, name="x"), y, scope)
    return operators.truediv(x, y, name)


def divide(x, y, name: str | None = None) -> Tensor:
    """Like the operator ``/``; with a name, the result is an :func:`identity <flowmill.array.identity>` of that name."""
    if is_ragged(x) or is_ragged(y):
        return truediv(x, y, name)
    if name is not None:
        return operators.truediv(convert_to_tensor(x), y, name)
    if not isinstance(x, Tensor) and not hasattr(x, "_as_tensor"):
        x = convert_to_tensor(x, y.dtype.base_dtype if isinstance(y, Tensor) or hasattr(y, "_as_tensor") else None)
    return x / y


@pairwise
def div(x, y, name: str | None = None) -> Tensor:
    """Returns the quotient as Python 2 has it: rounded down for integers.

    Raises:
        TypeError: if the types differ.
    """
    with op_scope(name, "div", x, y) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
        kind = x.dtype.base_dtype
        return call("RealDiv" if kind.is_floating or kind.is_complex else "FloorDiv", scope, x, y)


@pairwise
def logical_xor(x, y, name: str = "LogicalXor") -> Tensor:
    """Returns for each pair of elements whether exactly one of them is true."""
    return call("LogicalAnd", name, call("LogicalOr", None, x, y), call("LogicalNot", None, call("LogicalAnd", None, x, y)))


@elementwise
def abs(x, name: str | None = None) -> Tensor | SparseTensor:  # noqa: A001 - TensorFlow's name
    """Returns the absolute value; of complex numbers a real one."""
    if is_sparse(x):
        return x._with_components([x.indices, abs(x.values, name), x.dense_shape])
    with op_scope(name, "Abs", x) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return call("ComplexAbs", scope, x, Tout=x.dtype.base_dtype.real_dtype)
        return call("Abs", scope, x)


@elementwise
def sign(x, name: str | None = None) -> Tensor | SparseTensor:
    """-1, 0 or 1; x / |x| for complex numbers."""
    if is_sparse(x):
        return x._with_components([x.indices, sign(x.values, name), x.dense_shape])
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return call("DivNoNan", name, x, cast(call("ComplexAbs", None, x, Tout=x.dtype.base_dtype.real_dtype), x.dtype))
    return call("Sign", name, x)


@elementwise
def round(x, name: str | None = None) -> Tensor:  # noqa: A001 - TensorFlow's name
    """Returns the nearest whole number, the even one of two that are equally near; integers as they are."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else call("Round", name, x)


@pairwise
def scalar_mul(scalar, x, name: str | None = None):
    """Returns a tensor, or IndexedSlices, times a number.

    Raises:
        ValueError: if `scalar` is no scalar.
    """
    from flowmill._internal.indexed_slices import IndexedSlices  # start-up: most programs have no IndexedSlices

    scalar = convert_to_tensor(scalar, dtype=as_dtype(x.dtype).base_dtype, name="scalar")
    if scalar.shape.rank not in (None, 0):
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {scalar.shape}.")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(call("Mul", name, scalar, x.values), x.indices, x.dense_shape)
    return call("Mul", name, scalar, x)


@elementwise
def log_sigmoid(x, name: str | None = None) -> Tensor:
    """Returns the logarithm of the logistic function, without loss of digits."""
    with op_scope(name, "LogSigmoid", x) as scope:
        x = convert_to_tensor(x, name="x")
        return call("Neg", scope, call("Softplus", None, -x))


@pairwise
def xdivy(x, y, name: str | None = None) -> Tensor:
    """``x / y``, and 0 where `x` is 0."""
    with op_scope(name, "xdivy", x):
        return call("Xdivy", None, x, y)


@pairwise
def xlog1py(x, y, name: str | None = None) -> Tensor:
    """``x * log1p(y)``, and 0 where `x` is 0."""
    with op_scope(name, "xlog1py", x):
        return call("Xlog1py", None, x, y)


@elementwise
def erfcinv(x, name: str | None = None) -> Tensor:
    """Returns the inverse of :func:`erfc`."""
    with op_scope(name, "erfcinv", x):
        x = convert_to_tensor(x, name="start")
        return -ndtri(0.5 * x) * np.sqrt(0.5)


@elementwise
def reciprocal_no_nan(x, name: str | None = None) -> Tensor:
    """1 divided by elements, and 0 where they are 0."""
    with op_scope(name, "reciprocal_no_nan", x) as scope:
        x = convert_to_tensor(x, name="x")
        return div_no_nan(constant(1, x.dtype.base_dtype, name="one"), x, scope)


# Casts


def cast(x, dtype, name: str | None = None) -> Tensor | SparseTensor:
    """Elements as those of another type; floating-point numbers lose what is behind the point.

    Args:
        x: a tensor, a sparse tensor or IndexedSlices.
        dtype: the type.
        name: the name of the operation.
    """
    base = as_dtype(dtype).base_dtype
    if type(x) is Tensor:
        if x._type == base._number:
            return x
        if x._type % 100 != base._number:
            return call("Cast", name, x, DstT=base)
    if isinstance(getattr(x, "handle", None), Tensor) and x.dtype.base_dtype is base:
        return x  # a variable, which need not be read
    if is_ragged(x):
        return of_values(lambda values: cast(values, base, name), x)
    with op_scope(name, "Cast", x) as scope:
        if is_sparse(x) or hasattr(x, "_components") and hasattr(x, "values"):
            indices = x.indices
            values = cast(x.values, base, scope)
            return type(x)(values, indices, x.dense_shape) if not is_sparse(x) else x._with_components([indices, values, x.dense_shape])
        x = convert_to_tensor(x, name="x")
        return x if x.dtype.base_dtype is base else call("Cast", scope, x, DstT=base)


@elementwise
def saturate_cast(value, dtype, name: str | None = None) -> Tensor:
    """Like :func:`cast`, but numbers outside of the type's range become its least or greatest number."""
    with op_scope(name, "saturate_cast", value) as scope:
        value = convert_to_tensor(value, name="value")
        wanted, own = as_dtype(dtype).base_dtype, value.dtype.base_dtype
        if own.is_complex:
            if wanted.is_complex:
                if wanted.size >= own.size:
                    return cast(value, wanted, scope)
                low, high = _common_limits(own.real_dtype, wanted.real_dtype)
                return cast(complex(*(_clamped(part, low, high) for part in (real(value), imag(value)))), wanted, scope)
            value = real(value)
            own = value.dtype.base_dtype
        if not (own.is_integer or own.is_floating) or wanted.is_bool:
            return cast(value, wanted, scope)
        low, high = _common_limits(own, wanted.real_dtype)
        return cast(_clamped(value, low, high), wanted, scope)


def _clamped(value: Tensor, low, high) -> Tensor:
    kind = value.dtype.base_dtype
    return call("ClipByValue", "clamp", value, constant(low, kind), constant(high, kind))


def _common_limits(own, wanted):
    """Returns the least and the greatest number of a type that another type has, too."""
    low, high = builtins.max(_number(own.min), _number(wanted.min)), builtins.min(_number(own.max), _number(wanted.max))
    if own.is_floating and wanted.is_integer:
        # The limit of an integer need not be a number of this type, and rounding must not go past it.
        kind = own._numpy().type if own is not bfloat16 else np.float32
        nearest = kind(high)
        if builtins.int(nearest) > high:
            nearest = np.nextafter(nearest, kind(0), dtype=kind)
        high = builtins.float(nearest)
        low = builtins.float(kind(low))
    elif own.is_integer:
        low, high = builtins.int(low), builtins.int(high)
    if own is bfloat16:
        # Rounding to it must not go past the limit either.
        low, high = (builtins.float((np.float32(limit).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)) for limit in (low, high))
    return low, high


def _number(value):
    """Returns a limit as a Python number."""
    if not isinstance(value, np.generic):
        return value
    return value.item() if value.dtype.kind in "fiub" else builtins.float(value)


@by_rows("_array.bitcast")
def bitcast(input, type, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the bytes of elements as elements of another type; where sizes differ, the last dimension changes."""
    return call("Bitcast", name, input, type=type)


def _caster(dtype, function_name: str, default: str):
    def function(x, name: str = default):
        return cast(x, dtype, name)
    return _exported(function, function_name, f"Elements as `{dtype.name}`.")


to_float = _caster(float32, "to_float", "ToFloat")
to_double = _caster(float64, "to_double", "ToDouble")
to_int32 = _caster(int32, "to_int32", "ToInt32")
to_int64 = _caster(int64, "to_int64", "ToInt64")
to_bfloat16 = _caster(bfloat16, "to_bfloat16", "ToBFloat16")
to_complex64 = _caster(complex64, "to_complex64", "ToComplex64")
to_complex128 = _caster(complex128, "to_complex128", "ToComplex128")
