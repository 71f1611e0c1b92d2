"""Types and labels that few programs use, in ops that take them in TensorFlow."""

import ml_dtypes
import numpy as np
import pytest
from compare import compare, run, same

import flowmill

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["qint8", "quint8", "qint16", "quint16", "qint32"])
def test_casts_of_quantized_types_cast_what_is_stored(tf1, dtype):
    def build(tf):
        quantized = tf.cast(tf.constant([[1.0, 2.9], [-3.0 if dtype.startswith("qint") else 3.0, 100.0]]), dtype)
        return [tf.cast(quantized, to) for to in ("int32", "float32", "uint8")]

    compare(tf1, build)


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batch_normalization_of_the_first_version(tf1, dtype, scales):
    values = [RNG.standard_normal(shape).astype(dtype) for shape in ([2, 3, 1, 4], [4], [4], [4], [4])]
    values[2] = np.abs(values[2])

    def build(tf):
        x, mean, variance, beta, gamma = map(tf.constant, values)
        y = tf.nn.batch_norm_with_global_normalization(x, mean, variance, beta, gamma, 0.01, scales)
        return [y, *tf.gradients(y, [x, mean])]

    compare(tf1, build, nodes=False, rtol=1e-5, atol=1e-6)


def test_sparse_products_of_float16(tf1):
    dense = RNG.standard_normal([3, 4]).astype(np.float16)

    def build(tf):
        sparse = tf.SparseTensor([[0, 0], [1, 2]], np.float16([2, 3]), [2, 3])
        return tf.sparse_tensor_dense_matmul(sparse, dense)

    for mine, other in zip(run(flowmill, build)[2], run(tf1, build)[2]):
        same(mine, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("equation, shapes", [("a->aa", [(3,)]), ("ab->bab", [(2, 3)]), ("ab,bc->bcba", [(2, 3), (3, 4)]), ("ab,bc->aaca", [(0, 3), (3, 4)])])
def test_results_of_einsum_with_repeated_labels_are_diagonals(tf1, equation, shapes):
    values = [RNG.standard_normal(shape) for shape in shapes]
    compare(tf1, lambda tf: tf.raw_ops.Einsum(inputs=values, equation=equation), nodes=False)


def test_einsum_needs_an_ellipsis_for_dimensions_of_one(tf1):
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            inputs = [tf.placeholder_with_default(np.ones(shape), None) for shape in ((2, 2, 3), (3, 4))]
            session.run(tf.raw_ops.Einsum(inputs=inputs, equation="...ij,...jk->ik"))


def test_eigenvalues_have_the_precision_of_the_matrix(tf1):
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="Invalid output dtype"):
            session.run(tf.raw_ops.Eig(input=np.eye(2, dtype=np.float32), Tout=tf.complex128))


def test_powers_that_overflow_have_gradients_of_zero(tf1):
    """Checks that a factor that overflows makes no NaN where the gradient is zero."""
    def build(tf):
        x, y = tf.constant(np.float16([200.0, 3.0])), tf.constant(np.float16([2.9, 2.0]))
        return tf.gradients(x ** y, [x, y], grad_ys=tf.constant(np.float16([0.0, 1.0])))

    for mine, other in zip(run(flowmill, build)[2], run(tf1, build)[2]):
        same(mine, other, rtol=1e-2, atol=1e-2)


def test_gradients_of_rows_at_coordinates_are_slices(tf1):
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(np.arange(6.0).reshape(3, 2))
            rows, elements = (tf.gradients(tf.gather_nd(x, indices), x)[0] for indices in ([[2], [0], [2]], [[0, 1]]))
            assert isinstance(rows, tf.IndexedSlices) and not isinstance(elements, tf.IndexedSlices)
            indices, total = session.run([rows.indices, tf.convert_to_tensor(rows)])
            assert indices.tolist() == [2, 0, 2] and total.tolist() == [[1, 1], [0, 0], [2, 2]]


FLOATS_OF_8_BITS = ["float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"]
SMALL_INTEGERS = ["int4", "uint4", "int2", "uint2"]


def _numbers(name):
    """Returns numbers of all sizes: all codes of the type, the middles between them and their neighbours, and what is out of range."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    codes = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    finite = np.unique(codes[np.isfinite(codes)])
    middles = (finite[1:] + finite[:-1]) / 2
    near = [np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf)]
    return np.concatenate([codes, middles, *near, finite * 1.5, [1e9, -1e9, 1e-30, -1e-30, 1e300, np.inf, -np.inf, np.nan, -0.0]])


def _cast(tf, values, *types):
    """Returns values after casts, one after the other."""
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = tf.placeholder_with_default(values, None)
        for dtype in types:
            tensor = tf.cast(tensor, getattr(tf.experimental, dtype, dtype))
        return session.run(tensor)


@pytest.mark.parametrize("name", FLOATS_OF_8_BITS)
@pytest.mark.parametrize("source", ["float64", "float32", "float16", "bfloat16"])
def test_floats_of_8_bits_are_rounded_once(tf1, name, source):
    numbers = _numbers(name)
    with np.errstate(over="ignore"):
        numbers = numbers.astype(np.float32).astype(ml_dtypes.bfloat16) if source == "bfloat16" else numbers.astype(source)
        if source == "float64" and name not in ("float8_e5m2", "float8_e4m3fn"):
            numbers = numbers.astype(np.float32).astype(np.float64)  # NumPy rounds `float64` twice
        expected = numbers.astype(getattr(ml_dtypes, name))
    if source == "float64" and name in ("float8_e5m2", "float8_e4m3fn"):
        expected = _cast(tf1, numbers, name)
    elif name in ("float8_e5m2", "float8_e4m3fn"):  # TensorFlow's kernels cast these alone
        np.testing.assert_array_equal(_cast(tf1, numbers, name).view(np.uint8), expected.view(np.uint8))
    found = _cast(flowmill, numbers, name)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))
    for to in ("float32", "float64", "float16"):
        back = _cast(flowmill, numbers, name, to)
        np.testing.assert_array_equal(back, expected.astype(to))
        np.testing.assert_array_equal(np.signbit(back[~np.isnan(back)]), np.signbit(expected.astype(to)[~np.isnan(back)]))


@pytest.mark.parametrize("name", SMALL_INTEGERS)
def test_small_integers_keep_their_low_bits(name):
    for wide in (np.arange(-40, 40, dtype=np.int32), np.arange(-300, 300, 7, dtype=np.int64), np.arange(256, dtype=np.uint8), np.linspace(-3.9, 3.9, 30)):
        if name.startswith("u") and wide.dtype == np.float64:
            wide = np.abs(wide)
        expected = wide.astype(np.int64).astype(getattr(ml_dtypes, name))
        found = _cast(flowmill, wide, name)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.astype(np.int64), expected.astype(np.int64))
        for to in ("int32", "uint8", "float32", "bool"):
            np.testing.assert_array_equal(_cast(flowmill, wide, name, to), expected.astype(np.int64).astype(to))


@pytest.mark.parametrize("name", FLOATS_OF_8_BITS + SMALL_INTEGERS)
def test_small_types_cast_among_each_other_and_are_moved(name):
    numbers = np.arange(-2 if name[0] in "fi" else 0, 2, dtype=np.float32).reshape(-1, 2)
    for other in FLOATS_OF_8_BITS + SMALL_INTEGERS:
        expected = numbers.astype(np.int64).astype(getattr(ml_dtypes, other)).astype(np.float32)
        np.testing.assert_array_equal(_cast(flowmill, numbers, name, other, "float32"), expected)
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        small = flowmill.cast(numbers, getattr(flowmill.experimental, name))
        moved = [flowmill.concat([small, small], 0), flowmill.transpose(small), flowmill.gather(small, [0]), flowmill.split(small, 2, 1)[1], small[:, 1:]]
        expected = [np.concatenate([numbers] * 2), numbers.T, numbers[:1], numbers[:, 1:], numbers[:, 1:]]
        for ours, theirs in zip(session.run([flowmill.cast(x, "float32") for x in moved]), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert session.run(flowmill.cast(flowmill.zeros([0, 3]), getattr(flowmill.experimental, name))).shape == (0, 3)


def test_experimental_types_are_those_of_tensorflow(tf1):
    for name in FLOATS_OF_8_BITS + SMALL_INTEGERS:
        ours, theirs = (getattr(tf.experimental, name) for tf in (flowmill, tf1))
        assert (ours.name, ours.as_datatype_enum, ours.is_floating, ours.is_integer) == (theirs.name, theirs.as_datatype_enum, theirs.is_floating, theirs.is_integer)
        assert ours.as_numpy_dtype is theirs.as_numpy_dtype
