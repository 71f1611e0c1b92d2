"""Types and labels that few programs use, in ops that take them in TensorFlow."""

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
