"""Gradients of functions of complex numbers, and quotients of very small and very large ones."""

import numpy as np
import pytest

from compare import compare

RNG = np.random.default_rng(0)
X, Y, G, H = (RNG.normal(size=(4, 3, 3)) + 1j * RNG.normal(size=(4, 3, 3))).astype(np.complex128)
UNARY = ("square reciprocal sqrt rsqrt tanh sigmoid sign exp expm1 log log1p sin cos tan sinh cosh asin acos asinh acosh atan atanh abs negative conj "
         "real imag angle cumsum").split()
BINARY = "add subtract multiply divide divide_no_nan multiply_no_nan pow squared_difference xdivy xlogy xlog1py".split()


def gradients(tf, function, order=1):
    x, y = tf.constant(X), tf.constant(Y)
    z = function(tf, x, y)
    weights = G if z.dtype.is_complex else G.real
    first = tf.gradients(z, [x, y], tf.constant(weights))
    if order == 1:
        return [z, *first]
    known = [g for g in first if g is not None]
    return tf.gradients(known, [x, y], [tf.constant(H)] * len(known))


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one(tf1, name):
    compare(tf1, lambda tf: gradients(tf, lambda tf, x, y: getattr(tf.math, name)(x)), nodes=False)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(tf1, name):
    compare(tf1, lambda tf: gradients(tf, lambda tf, x, y: getattr(tf.math, name)(x, y)), nodes=False)


@pytest.mark.parametrize("name", ["square", "reciprocal", "sqrt", "rsqrt", "tanh", "sigmoid", "exp", "log", "tan", "atan", "asinh"])
def test_second_derivatives(tf1, name):
    compare(tf1, lambda tf: gradients(tf, lambda tf, x, y: getattr(tf.math, name)(x), 2), nodes=False)


@pytest.mark.parametrize("op", ["ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad"])
def test_ops_of_gradients(tf1, op):
    compare(tf1, lambda tf: gradients(tf, lambda tf, x, y: getattr(tf.raw_ops, op)(y=x, dy=y)), nodes=False)


def test_products_with_zeros(tf1):
    def build(tf):
        x = tf.constant(np.float32([[2, 0, 3], [0, 0, 1], [4, 5, 6]]))
        return tf.gradients(tf.cumprod(x, 1), x)

    compare(tf1, build, nodes=False)


@pytest.mark.parametrize("op", ["RealDiv", "DivNoNan", "Xdivy", "Xlog1py", "MulNoNan"])
@pytest.mark.parametrize("dtype, values", [
    ("complex64", [1, 1e-20, 1e-25, 1j, 1e-25j, 1e-30 + 1e-30j, 1 + 1e-30j, 1e20, 1e30]),
    ("complex128", [1, 1e-160, 1e-200, 1e-200j, 1e-200 + 1e-200j, 1 + 1e-200j, 1e160, 1e300j]),
])
def test_extremes(tf1, op, dtype, values):
    values = np.array(values, dtype)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    quotient = x.astype(np.clongdouble) / y
    # What passes the type's range is a matter of taste.
    limit = 1e37 if dtype == "complex64" else 1e306
    kept = (np.abs(quotient) < limit) & (np.abs(quotient) > 1 / limit) & (np.abs(x.astype(np.clongdouble) * y) < limit)
    x, y = x[kept], y[kept]
    compare(tf1, lambda tf: getattr(tf.raw_ops, op)(x=x, y=y), nodes=False, rtol=1e-4, atol=0)


@pytest.mark.parametrize("to", ["complex64", "complex128", "float16", "int32"])
@pytest.mark.parametrize("of", ["float16", "float32", "float64", "complex64", "complex128"])
def test_saturating_casts(tf1, of, to):
    with np.errstate(all="ignore"):
        values = np.array([0, 1, -1, 1e30, -1e300, np.inf, -np.inf, 300, 7e4]).astype(of)
    compare(tf1, lambda tf: tf.saturate_cast(tf.constant(values), to), nodes=False)


def test_signs(tf1):
    compare(tf1, lambda tf: [tf.sign(tf.constant([1 + 2j, 0j])), tf.sign([1.0, -2.0], name="s")])
