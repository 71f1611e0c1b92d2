"""Arithmetic, reductions, products: the same nodes, shapes and values as TensorFlow's."""

import numpy as np
import pytest

import flowmill

from compare import compare, same_error
from inputs import FEEDS, taking_inputs

CASES = {
    "add": lambda tf, v: tf.add(v.x, 1),
    "add 2": lambda tf, v: tf.add(1, 2),
    "subtract": lambda tf, v: tf.subtract(v.x, 1),
    "multiply": lambda tf, v: tf.multiply(v.x, 1.0),
    "divide": lambda tf, v: tf.divide(v.x, 2.0),
    "divide 2": lambda tf, v: tf.divide(v.i, 2),
    "div": lambda tf, v: tf.div(v.x, 2.0),
    "div 2": lambda tf, v: tf.div(v.i, 2),
    "truediv": lambda tf, v: tf.truediv(v.i, 2),
    "div_no_nan": lambda tf, v: tf.div_no_nan(v.x, 2.0),
    "floordiv": lambda tf, v: tf.floordiv(v.x, 2.0),
    "mod": lambda tf, v: tf.mod(v.x, 2.0),
    "floormod": lambda tf, v: tf.floormod(v.i, 2),
    "pow": lambda tf, v: tf.pow(v.x, 2),
    "maximum": lambda tf, v: tf.maximum(v.x, 0),
    "abs": lambda tf, v: tf.abs(v.x),
    "abs 2": lambda tf, v: tf.abs(v.z),
    "sign": lambda tf, v: tf.sign(v.x),
    "round": lambda tf, v: tf.round(v.x),
    "round 2": lambda tf, v: tf.round(v.i),
    "sigmoid": lambda tf, v: tf.sigmoid(v.x),
    "log_sigmoid": lambda tf, v: tf.log_sigmoid(v.x),
    "cast": lambda tf, v: tf.cast(v.x, tf.int32),
    "cast 2": lambda tf, v: tf.cast(v.x, tf.float32),
    "cast 3": lambda tf, v: tf.cast([1, 2], tf.float32),
    "cast 4": lambda tf, v: tf.cast(3, tf.float32),
    "cast 5": lambda tf, v: tf.cast(3.5, tf.int64),
    "to_float": lambda tf, v: tf.to_float(v.i),
    "to_int32": lambda tf, v: tf.to_int32([1.0]),
    "saturate_cast": lambda tf, v: tf.saturate_cast(v.x, tf.uint8),
    "saturate_cast 2": lambda tf, v: tf.saturate_cast(v.i, tf.int64),
    "saturate_cast 3": lambda tf, v: tf.saturate_cast(v.x, tf.int32),
    "bitcast": lambda tf, v: tf.bitcast(v.x, tf.int32),
    "reduce_sum": lambda tf, v: tf.reduce_sum(v.x),
    "reduce_sum 2": lambda tf, v: tf.reduce_sum(v.u),
    "reduce_sum 3": lambda tf, v: tf.reduce_sum(v.x, 1),
    "reduce_sum 4": lambda tf, v: tf.reduce_sum(v.x, [0, 1], keepdims=True),
    "reduce_mean": lambda tf, v: tf.reduce_mean(v.p, axis=0, keep_dims=True),
    "reduce_sum 5": lambda tf, v: tf.reduce_sum(v.x, reduction_indices=1),
    "reduce_sum 6": lambda tf, v: tf.reduce_sum([1, 2]),
    "reduce_sum 7": lambda tf, v: tf.reduce_sum(v.x, axis=v.i),
    "reduce_all": lambda tf, v: tf.reduce_all(v.b),
    "reduce_any": lambda tf, v: tf.reduce_any(v.b, 1),
    "reduce_max": lambda tf, v: tf.reduce_max(v.x, -1),
    "reduce_prod": lambda tf, v: tf.reduce_prod(v.s),
    "reduce_logsumexp": lambda tf, v: tf.reduce_logsumexp(v.x, 1),
    "reduce_logsumexp 2": lambda tf, v: tf.reduce_logsumexp(v.x, 1, keepdims=True),
    "reduce_logsumexp 3": lambda tf, v: tf.reduce_logsumexp(v.x),
    "reduce_variance": lambda tf, v: tf.math.reduce_variance(v.x, 1),
    "reduce_std": lambda tf, v: tf.math.reduce_std(v.x),
    "reduce_euclidean_norm": lambda tf, v: tf.math.reduce_euclidean_norm(v.x, 1),
    "count_nonzero": lambda tf, v: tf.count_nonzero(v.x),
    "count_nonzero 2": lambda tf, v: tf.count_nonzero(v.x, 1, dtype=tf.int32),
    "count_nonzero 3": lambda tf, v: tf.count_nonzero(tf.constant(["a"])),
    "equal": lambda tf, v: tf.equal(v.x, 1.0),
    "not_equal": lambda tf, v: tf.not_equal(v.x, 1.0),
    "less": lambda tf, v: tf.less(v.x, 1.0),
    "logical_and": lambda tf, v: tf.logical_and(v.b, True),
    "logical_xor": lambda tf, v: tf.logical_xor(v.b, True),
    "logical_not": lambda tf, v: tf.logical_not(v.b),
    "cumsum": lambda tf, v: tf.cumsum(v.x),
    "cumsum 2": lambda tf, v: tf.cumsum(v.x, 1, True, True),
    "cumprod": lambda tf, v: tf.cumprod(v.x, 1),
    "cumulative_logsumexp": lambda tf, v: tf.math.cumulative_logsumexp(v.x),
    "matmul": lambda tf, v: tf.matmul(v.x, v.x, transpose_b=True),
    "matmul 2": lambda tf, v: tf.matmul(v.t4, v.t4),
    "matmul 3": lambda tf, v: tf.matmul(v.t4, v.t4, adjoint_a=True),
    "matmul 4": lambda tf, v: tf.matmul(v.t4, v.t4, transpose_a=True),
    "matmul 5": lambda tf, v: tf.matmul(v.z, v.z, adjoint_a=True),
    "matmul 6": lambda tf, v: tf.matmul(v.x, [[1.0, 2.0], [1.0, 2.0], [3.0, 3.0]]),
    "tensordot": lambda tf, v: tf.tensordot(v.x, v.m, 1),
    "tensordot 2": lambda tf, v: tf.tensordot(v.x, v.x, [[1], [1]]),
    "tensordot 3": lambda tf, v: tf.tensordot(v.x, v.x, 0),
    "tensordot 4": lambda tf, v: tf.tensordot(v.u, v.x, [[1], [1]]),
    "tensordot 5": lambda tf, v: tf.tensordot(v.p, v.m, 1),
    "tensordot 6": lambda tf, v: tf.tensordot(v.t4, v.t4, [[1, 2], [2, 0]]),
    "einsum": lambda tf, v: tf.einsum("ij,jk->ik", v.x, v.m),
    "einsum 2": lambda tf, v: tf.einsum("ij,jk", v.x, v.m, name="e"),
    "einsum 3": lambda tf, v: tf.einsum("bij,bjk->bik", v.t4[0], v.t4[1]),
    "add_n": lambda tf, v: tf.add_n([v.x, v.x]),
    "add_n 2": lambda tf, v: tf.add_n([v.x]),
    "add_n 3": lambda tf, v: tf.add_n([v.x], name="k"),
    "accumulate_n": lambda tf, v: tf.accumulate_n([v.x, v.x]),
    "accumulate_n 2": lambda tf, v: tf.accumulate_n([v.x]),
    "range": lambda tf, v: tf.range(3),
    "range 2": lambda tf, v: tf.range(1, 5, 2),
    "range 3": lambda tf, v: tf.range(3.0),
    "range 4": lambda tf, v: tf.range(v.i[0]),
    "range 5": lambda tf, v: tf.range(v.i[0], dtype=tf.int64),
    "range 6": lambda tf, v: tf.range(0, 10.0, 2),
    "argmax": lambda tf, v: tf.argmax(v.x),
    "argmax 2": lambda tf, v: tf.argmax(v.x, 1, output_type=tf.int32),
    "argmax 3": lambda tf, v: tf.argmax(v.x, dimension=1),
    "argmin": lambda tf, v: tf.argmin(v.x, axis=1),
    "xlogy": lambda tf, v: tf.math.xlogy(v.x, v.x),
    "multiply_no_nan": lambda tf, v: tf.math.multiply_no_nan(v.x, 0.0),
    "reciprocal_no_nan": lambda tf, v: tf.math.reciprocal_no_nan(v.x),
    "erfinv": lambda tf, v: tf.math.erfinv(v.x),
    "erfcinv": lambda tf, v: tf.math.erfcinv(v.x),
    "ndtri": lambda tf, v: tf.math.ndtri(v.x),
    "bessel_i0e": lambda tf, v: tf.math.bessel_i0e(v.x),
    "real": lambda tf, v: tf.real(v.z),
    "real 2": lambda tf, v: tf.real(v.x),
    "imag": lambda tf, v: tf.imag(v.z),
    "angle": lambda tf, v: tf.angle(v.z),
    "angle 2": lambda tf, v: tf.angle(v.x),
    "conj": lambda tf, v: tf.conj(v.z),
    "conj 2": lambda tf, v: tf.conj(v.x),
    "complex": lambda tf, v: tf.complex(v.x, v.x),
    "scalar_mul": lambda tf, v: tf.scalar_mul(2.0, v.x),
    "scalar_mul 2": lambda tf, v: tf.scalar_mul(2, v.x),
    "squared_difference": lambda tf, v: tf.squared_difference(v.x, 1.0),
    "matrix_transpose": lambda tf, v: tf.matrix_transpose(v.x),
    "matrix_transpose 2": lambda tf, v: tf.matrix_transpose(v.u),
    "ceil": lambda tf, v: tf.ceil(v.x),
    "sqrt": lambda tf, v: tf.sqrt(v.x),
    "rint": lambda tf, v: tf.rint(v.x),
    "nextafter": lambda tf, v: tf.math.nextafter(v.x, v.x),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_nodes_and_values(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS)


# Functions that cannot be called so, and what their errors say.
ERRORS = {
    "reduce_sum": (lambda tf, v: tf.reduce_sum(v.x, axis=0, reduction_indices=1), "Cannot specify both"),
    "einsum letters": (lambda tf, v: tf.einsum("a0->a", v.x), "Subscripts have incorrect format"),
    "einsum ellipsis": (lambda tf, v: tf.einsum("...ij,...jk->ik", tf.zeros([2, 2, 3]), v.m), None),
    "matmul": (lambda tf, v: tf.matmul(v.x, v.m, transpose_a=True, adjoint_a=True), "Only one of `transpose_a` and `adjoint_a` can be True."),
    "matmul shapes": (lambda tf, v: tf.matmul(v.x, v.x), "Dimensions must be equal, but are 3 and 2"),
    "matmul types": (lambda tf, v: tf.matmul(v.x, v.i), "does not match"),
    "floor": (lambda tf, v: tf.floor(v.i), "not in list of allowed values"),
    "add": (lambda tf, v: tf.add(v.x, v.i), "does not match"),
    "add shapes": (lambda tf, v: tf.add(v.x, [1., 2.]), "Dimensions must be equal, but are 3 and 2"),
    "maximum": (lambda tf, v: tf.maximum(0, v.x), "does not match"),
    "add_n": (lambda tf, v: tf.add_n([]), "nputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape"),
    "accumulate_n": (lambda tf, v: tf.accumulate_n([v.x, v.i]), "inputs must be a list of at least one Tensor with the same dtype and shape"),
    "tensordot": (lambda tf, v: tf.tensordot(v.x, v.m, -1), "`axes` must be at least 0"),
    "tensordot axes": (lambda tf, v: tf.tensordot(v.x, v.m, [[0], [0, 1]]), "Different number of contraction axes `a` and `b`, 1 != 2."),
    "einsum": (lambda tf, v: tf.einsum("ij,jk->ik", v.x), ""),
    "complex": (lambda tf, v: tf.complex(v.x, v.i), ""),
    "truediv": (lambda tf, v: tf.truediv(v.x, v.i), "must have the same dtype"),
    "reduce_variance": (lambda tf, v: tf.math.reduce_variance(v.i), "Input must be either real or complex"),
    "conj": (lambda tf, v: tf.conj(v.b), "Expected numeric or variant tensor"),
    "scalar_mul": (lambda tf, v: tf.scalar_mul([1., 2.], v.x), ""),
}


@pytest.mark.parametrize("case, message", ERRORS.values(), ids=ERRORS.keys())
def test_the_same_errors(tf1, case, message):
    same_error(tf1, taking_inputs(case), message)


SPECIAL = ["bessel_i0", "bessel_i1", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "dawsn", "expint",
           "fresnel_cos", "fresnel_sin", "spence"]
# Where a function changes from one approximation to another, and beyond its domain.
ARGUMENTS = [-np.inf, -40.0, -7.5, -2.0, -1.0, -0.3, -1e-6, 0.0, 1e-30, 1e-6, 0.2, 0.49, 0.51, 0.9, 1.0, 1.1, 1.6, 1.99, 2.0, 2.01, 2.6, 3.3, 4.9, 5.1, 6.9,
             7.1, 7.9, 8.1, 12.0, 25.0, 39.0, 41.0, 60.0, 5e4, np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(tf1, name, dtype):
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-13}
    # In single precision TensorFlow's values go wrong for large numbers before they are infinite, and at a pole.
    arguments = [x for x in ARGUMENTS if dtype == "float64" or not (30.0 < abs(x) < np.inf or (name == "bessel_y1" and x == 0.0))]
    if name in ("bessel_i0", "bessel_i1"):  # infinite there, where TensorFlow multiplies infinity by zero
        arguments = [x for x in arguments if not np.isinf(x)]
    compare(tf1, lambda tf: getattr(tf.math.special, name)(np.array(arguments, dtype)), **tolerance)
    compare(tf1, lambda tf: getattr(tf.math.special, name)(tf.constant([[2.0]], getattr(tf, dtype)), name="f"), **tolerance)

    def gradients(tf):
        x = tf.constant([a for a in arguments if 0.0 < a < 30.0], getattr(tf, dtype))
        y = getattr(tf.math.special, name)(x)
        return tf.gradients(y, x)[0], tf.gradients(y * y, x)[0]
    compare(tf1, gradients, nodes=False, **tolerance)


def test_modified_bessel_functions_where_tensorflow_goes_wrong():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        x = flowmill.constant([-np.inf, 0.0, np.inf], flowmill.float64)
        i0, i1 = flowmill.math.special.bessel_i0(x), flowmill.math.special.bessel_i1(x)
        slope = flowmill.gradients(i1, x)[0]
        values = session.run([i0, i1, slope[1]])
    np.testing.assert_array_equal(values[0], [np.inf, 1.0, np.inf])
    np.testing.assert_array_equal(values[1], [-np.inf, 0.0, np.inf])
    assert values[2] == 0.5


def test_operands_that_know_tensors(tf1):
    class Aware:
        def __radd__(self, other):
            return "added"

    class Failing:
        def __radd__(self, other):
            raise TypeError("no")
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            assert tf.ones([1]) + Aware() == "added"
            for other in (Failing(), object()):
                with pytest.raises(TypeError, match="Failed to convert elements of"):
                    tf.ones([1]) + other


def test_lists_of_numbers_as_gradients_to_begin_with(tf1):
    def build(tf):
        x = tf.constant([[1.0, 2.0]])
        return tf.gradients(x * x, x, grad_ys=[[[3.0, 4.0]]])
    compare(tf1, build, nodes=False)


@pytest.mark.parametrize("operator", ["__and__", "__or__", "__xor__"])
def test_bits_of_strings_are_no_numbers(tf1, operator):
    same_error(tf1, lambda tf: getattr(tf.constant("a"), operator)(tf.constant("b")), "has DataType string not in list of allowed values")


def test_labels_of_a_result_of_einsum_are_distinct(tf1):
    same_error(tf1, lambda tf: tf.einsum("ij,jk->iik", tf.ones([2, 3]), tf.ones([3, 4])))


def test_constants_without_elements_keep_the_type_of_an_array(tf1):
    compare(tf1, lambda tf: [tf.constant(np.zeros([0, 3]), shape=[0, 3]), tf.constant(np.zeros([2, 0], np.int16), shape=[2, 0])])
