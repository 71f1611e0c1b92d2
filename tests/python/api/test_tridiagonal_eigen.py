"""Eigenvalues of tridiagonal matrices."""

import numpy as np
import pytest

import flowmill
from compare import compare, same_error


def _matrix(size, dtype):
    dice = np.random.RandomState(9)
    alpha, beta = dice.randn(size), dice.randn(size - 1)
    if np.dtype(dtype).kind == "c":
        alpha, beta = alpha + 1j * dice.randn(size), beta + 1j * dice.randn(size - 1)
    return alpha.astype(dtype), beta.astype(dtype)


SELECTED = [("a", None), ("i", (0, 0)), ("i", (2, 4)), ("v", (-1.0, 1.5)), ("v", (100.0, 200.0))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [2, 3, 9, 40])
def test_all_eigenvalues(tf1, size, dtype):
    alpha, beta = _matrix(size, dtype)
    compare(tf1, lambda tf: [tf.linalg.eigh_tridiagonal(alpha, beta)], nodes=False, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("select", "bounds"), SELECTED)
def test_some_eigenvalues(tf1, select, bounds):
    alpha, beta = _matrix(8, np.float64)

    def build(tf):
        return [tf.linalg.eigh_tridiagonal(alpha, beta, select=select, select_range=bounds)]

    theirs = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            theirs.append(session.run(build(tf)[0]))
    np.testing.assert_allclose(theirs[1], theirs[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("select", "bounds"), SELECTED[:-1])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvectors(select, bounds, dtype):
    alpha, beta = _matrix(7, dtype)
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        values, vectors = session.run(
            flowmill.linalg.eigh_tridiagonal(alpha, beta, eigvals_only=False, select=select, select_range=bounds))
    matrix = np.diag(alpha.real) + np.diag(beta, 1) + np.diag(beta.conj(), -1)
    assert vectors.shape == (7, len(values))
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(len(values)), atol=1e-10)


def test_other_matrices(tf1):
    zeros, ones = np.zeros(4, np.float32), np.ones(3, np.float32)
    compare(tf1, lambda tf: [tf.linalg.eigh_tridiagonal(zeros, ones)], nodes=False)
    compare(tf1, lambda tf: [tf.linalg.eigh_tridiagonal(zeros, 0 * ones)], nodes=False)
    compare(tf1, lambda tf: [tf.linalg.eigh_tridiagonal(np.arange(4, dtype=np.float32), zeros[:3], tol=0.1)], nodes=False, atol=0.1)
    compare(tf1, lambda tf: [tf.linalg.eigh_tridiagonal(np.full(1, 3.0), np.zeros(0))])


def test_the_same_errors(tf1):
    alpha, beta = np.ones(3), np.ones(2)
    same_error(tf1, lambda tf: tf.linalg.eigh_tridiagonal(alpha, beta.astype(np.float32)), "'alpha' and 'beta' must have the same type.")
    same_error(tf1, lambda tf: tf.linalg.eigh_tridiagonal(alpha, beta, select="x"), "'select must have a value in {'a', 'i', 'v'}.")
    same_error(tf1, lambda tf: tf.linalg.eigh_tridiagonal(alpha, beta, select="i", select_range=(2, 1)), "Got empty index range in select_range.")
    same_error(tf1, lambda tf: tf.linalg.eigh_tridiagonal(alpha, beta, select="v", select_range=(1.0, 1.0)), "Got empty interval in select_range.")
