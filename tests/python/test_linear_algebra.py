"""Factorisations, solutions, Fourier transforms: against TensorFlow, and what is not unique by what it has to satisfy."""

import numpy as np
import pytest

import flowmill as tf
from oracles import assert_same

TYPES = ["float32", "float64", "complex64", "complex128"]


def matrices(dtype, *shape):
    dice = np.random.RandomState(3)
    found = dice.normal(size=shape)
    if dtype.startswith("complex"):
        found = found + 1j * dice.normal(size=shape)
    return found.astype(dtype)


def tolerance(dtype):
    return {"rtol": 1e-4, "atol": 1e-4} if dtype in ("float32", "complex64") else {"rtol": 1e-9, "atol": 1e-9}


def run(build):
    with tf.Graph().as_default() as graph:
        fetches = list(build(tf.raw_ops))
        return tf.Session(graph=graph).run(fetches)


@pytest.mark.parametrize("dtype", TYPES)
def test_what_is_unique(tf1, dtype):
    a, b = matrices(dtype, 2, 3, 4, 4), matrices(dtype, 2, 3, 4, 2)
    definite = a @ np.conj(np.swapaxes(a, -1, -2)) + 4 * np.eye(4, dtype=dtype)

    def build(m):
        ops = m.raw_ops
        x, y, p = m.constant(a), m.constant(b), m.constant(definite)
        found = [ops.Cholesky(input=p), ops.MatrixDeterminant(input=x), *ops.LogMatrixDeterminant(input=x)]
        for adjoint in (False, True):
            found += [ops.MatrixInverse(input=x, adjoint=adjoint), ops.MatrixSolve(matrix=x, rhs=y, adjoint=adjoint)]
            for lower in (False, True):
                found += [ops.MatrixTriangularSolve(matrix=p, rhs=y, lower=lower, adjoint=adjoint),
                          ops.MatrixTriangularSolve(matrix=p, rhs=m.constant(b[:1, :, :, :1]), lower=lower, adjoint=adjoint)]
        found.append(ops.SelfAdjointEigV2(input=p, compute_v=False)[0])
        found.append(ops.Svd(input=y, compute_uv=False)[0])
        return found
    assert assert_same(tf1, build, **tolerance(dtype)) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_cholesky(tf1, dtype):
    a, grad = matrices(dtype, 3, 4, 4), matrices(dtype, 3, 4, 4)
    l = np.linalg.cholesky(a @ np.swapaxes(a, -1, -2) + 4 * np.eye(4, dtype=dtype))
    assert assert_same(tf1, lambda m: [m.raw_ops.CholeskyGrad(l=m.constant(l), grad=m.constant(grad))], **tolerance(dtype)) is None


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("rows, columns", [(4, 4), (5, 3), (3, 5), (1, 4)])
def test_factors_are_orthogonal_and_give_the_matrix(dtype, full, rows, columns):
    a = matrices(dtype, 2, rows, columns)
    adjoint = lambda m: np.conj(np.swapaxes(m, -1, -2))
    q, r, s, u, v = run(lambda ops: [*ops.Qr(input=a, full_matrices=full), *ops.Svd(input=a, full_matrices=full)])
    inner = min(rows, columns)
    assert q.shape == (2, rows, rows if full else inner) and r.shape == (2, rows if full else inner, columns)
    assert s.shape == (2, inner) and u.shape[1:] == (rows, rows if full else inner) and v.shape[1:] == (columns, columns if full else inner)
    for m in (q, u, v):
        np.testing.assert_allclose(adjoint(m) @ m, np.broadcast_to(np.eye(m.shape[-1]), (2, m.shape[-1], m.shape[-1])), **tolerance(dtype))
    np.testing.assert_allclose(q @ r, a, **tolerance(dtype))
    np.testing.assert_allclose((u[..., :inner] * s[:, None, :]) @ adjoint(v[..., :inner]), a, **tolerance(dtype))
    assert (np.diff(s) <= 0).all() and not np.tril(r, -1).any()


@pytest.mark.parametrize("dtype", TYPES)
def test_eigenvectors(dtype):
    a = matrices(dtype, 2, 4, 4)
    e, v = run(lambda ops: ops.SelfAdjointEigV2(input=a))
    lower = np.tril(a, -1)
    whole = lower + np.conj(np.swapaxes(lower, -1, -2)) + np.real(np.einsum("bii->bi", a))[..., None] * np.eye(4)
    np.testing.assert_allclose(whole @ v, v * e[:, None, :], **tolerance(dtype))
    assert (np.diff(np.real(e)) >= 0).all()


def test_what_cannot_be_done(tf1):
    zeros, eye = np.zeros([2, 3, 3], np.float32), np.eye(3, dtype=np.float32)
    for build in (
        lambda m: [m.raw_ops.MatrixInverse(input=m.constant(zeros))],
        lambda m: [m.raw_ops.MatrixSolve(matrix=m.constant(zeros), rhs=m.constant(zeros))],
        lambda m: [m.raw_ops.MatrixSolve(matrix=m.placeholder_with_default(eye[None], None), rhs=m.placeholder_with_default(eye[:2], None))],
        lambda m: [m.raw_ops.MatrixInverse(input=m.placeholder_with_default(eye[:2], None))],
    ):
        assert assert_same(tf1, build) == "InvalidArgumentError"
    assert assert_same(tf1, lambda m: [m.raw_ops.MatrixTriangularSolve(matrix=m.constant(zeros), rhs=m.constant(zeros))]) is None
    # TensorFlow leaves what is above the diagonal as it was.
    assert np.isnan(np.diag(run(lambda ops: [ops.Cholesky(input=-eye)])[0])).all()
    empty = np.zeros([2, 0, 0], np.float32)
    assert assert_same(tf1, lambda m: [m.raw_ops.MatrixDeterminant(input=m.constant(empty)), m.raw_ops.MatrixInverse(input=m.constant(empty))]) is None


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(2, 8), (3, 5, 7), (1, 1), (2, 0), (4, 6, 9)])
def test_fourier_transforms(tf1, dtype, shape):
    x = matrices(dtype, *shape)

    def build(m):
        c = m.constant(x)
        return [m.raw_ops.FFT(input=c), m.raw_ops.IFFT(input=c), m.raw_ops.FFT2D(input=c), m.raw_ops.IFFT2D(input=c)]
    assert assert_same(tf1, build, **tolerance(dtype)) is None


@pytest.mark.parametrize("length", [8, 7, 5, 12, 1, 2])
def test_fourier_transforms_of_real_numbers(tf1, length):
    for real, complex_type in (("float32", "complex64"), ("float64", "complex128")):
        x, spectrum = matrices(real, 3, 8), matrices(complex_type, 3, length // 2 + 1)

        def build(m):
            types = {"Treal": m.as_dtype(real), "Tcomplex": m.as_dtype(complex_type)}
            forward = m.raw_ops.RFFT(input=m.constant(x[:, :max(length, 1)]), fft_length=[length], Tcomplex=types["Tcomplex"])
            return [forward, m.raw_ops.IRFFT(input=m.constant(spectrum), fft_length=[length], Treal=types["Treal"])]
        assert assert_same(tf1, build, **tolerance(complex_type)) == (None if length <= 8 else "InvalidArgumentError")
    longer = lambda m: [m.raw_ops.IRFFT(input=m.constant(spectrum.astype("complex64")), fft_length=[2 * length + 2])]
    assert assert_same(tf1, longer) == "InvalidArgumentError"
