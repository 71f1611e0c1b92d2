"""Solutions with least squares, by normal equations and of least norm: against TensorFlow."""

import numpy as np
import pytest

import flowmill
from oracles import assert_same, both

TYPES = ["float32", "float64", "complex64", "complex128"]
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-9, "complex128": 1e-9}


def numbers(shape, dtype, seed=3):
    dice = np.random.RandomState(seed)
    values = dice.uniform(-1, 1, shape)
    if dtype.startswith("complex"):
        values = values + 1j * dice.uniform(-1, 1, shape)
    return values.astype(dtype)


def solve(m, matrix, rhs, regularizer=0.0, fast=True):
    return m.raw_ops.MatrixSolveLs(matrix=m.constant(matrix), rhs=m.constant(rhs), l2_regularizer=m.constant(np.float64(regularizer)), fast=fast)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 5, 3), (2, 2, 2, 6), (1, 1), (9, 1), (1, 9), (30, 20)])
def test_solutions(tf1, dtype, fast, shape):
    matrix, rhs = numbers(shape, dtype), numbers((*shape[:-1], 2), dtype, 5)
    if shape[-1] == shape[-2]:
        matrix = matrix + 2 * np.eye(shape[-1], dtype=dtype)
    for regularizer in (0.0, 0.5, 1e3):
        assert assert_same(tf1, lambda m: [solve(m, matrix, rhs, regularizer, fast)], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]) is None


@pytest.mark.parametrize("dtype", TYPES)
def test_of_many_solutions_the_least_one(tf1, dtype):
    tall = numbers((6, 2), dtype) @ numbers((2, 4), dtype, 5)
    for matrix in (tall, tall.T, np.zeros((3, 2), dtype), np.ones((3, 3), dtype), tall * np.array(1e-15, dtype), tall * np.array(1e15, dtype)):
        rhs = numbers((matrix.shape[0], 3), dtype, 7)
        scale = 1.0 / (float(np.abs(matrix).max()) or 1.0)
        tolerance = TOLERANCE[dtype]
        assert assert_same(tf1, lambda m: [solve(m, matrix, rhs, fast=False)], rtol=tolerance, atol=tolerance * scale) is None  # noqa: B023
    # Directions that are this short count as none.
    for least in (1e-3, 3e-16, 5e-16, 1e-15):
        matrix = np.diag([1.0, least])
        assert assert_same(tf1, lambda m: [solve(m, matrix, np.ones((2, 1)), fast=False)], rtol=1e-9) is None  # noqa: B023


@pytest.mark.parametrize("fast", [True, False])
def test_nothing_to_solve(tf1, fast):
    for matrix, rhs in [((0, 2), (0, 3)), ((2, 0), (2, 3)), ((2, 2), (2, 0)), ((0, 3, 2), (0, 3, 2)), ((0, 0), (0, 2)), ((2, 0, 3), (2, 0, 1))]:
        # A solution without equations is not initialised there.
        theirs, ours = both(tf1, lambda m: [solve(m, np.zeros(matrix), np.zeros(rhs), fast=fast)])  # noqa: B023
        assert ours[0].shape == theirs[0].shape and not ours[0].any()


def test_numbers_that_are_none(tf1):
    good, rhs = np.array([[1.0, 2], [3, 4], [5, 7]]), np.ones((3, 1))
    for value in (np.nan, np.inf):
        broken = good.copy()
        broken[1, 1] = value
        assert assert_same(tf1, lambda m: [solve(m, broken, rhs)]) is None  # noqa: B023
        with flowmill.Session() as sess:
            assert np.isnan(sess.run(solve(flowmill, broken, rhs, fast=False))).all()
    for fast in (True, False):
        assert assert_same(tf1, lambda m: [solve(m, good, rhs * np.nan, fast=fast)]) is None  # noqa: B023
    assert assert_same(tf1, lambda m: [solve(m, good, rhs, np.inf)]) is None
    assert assert_same(tf1, lambda m: [solve(m, np.diag([1e200, 1e200]), np.ones((2, 1)))]) is None
    assert assert_same(tf1, lambda m: [solve(m, np.diag([1e-200, 1e-200]), np.ones((2, 1)), fast=False)], rtol=1e-9) is None


A = np.array([[1.0, 2], [3, 4], [5, 7]])
ERRORS = {
    "zero": (np.zeros((2, 2)), np.ones((2, 1)), 0.0, True, "Input matrix was rank deficient or ill-conditioned"),
    "singular": (np.ones((3, 2)), np.ones((3, 1)), 0.0, True, "Try setting fast=False or provide a larger l2_regularizer > 0."),
    "too small": (np.diag([1e-200, 1e-200]), np.ones((2, 1)), 0.0, True, "Input matrix was rank deficient or ill-conditioned"),
    "complex": (np.ones((2, 4), np.complex128), np.ones((2, 1), np.complex128), 0.0, True, "Input matrix was rank deficient"),
    "negative": (A, np.ones((3, 1)), -1.0, True, "l2_regularizer must be >= 0."),
    "no number": (A, np.ones((3, 1)), np.nan, False, "l2_regularizer must be >= 0."),
    "a vector": (A, np.ones((3, 1)), [0.0], True, "l2_regularizer must be scalar, got shape [1]"),
    "rows": (A, np.ones((2, 1)), 0.0, True, "Input matrix and rhs are incompatible."),
    "ranks": (A, np.ones(3), 0.0, True, "All input tensors must have the same rank."),
    "a row": (A[0], np.ones((3, 1)), 0.0, True, "Input tensor 0 must have rank >= 2, got 1"),
    "outer sizes": (A[None], np.ones((2, 3, 1)), 0.0, False, "All input tensors must have the same outer dimensions."),
}


@pytest.mark.parametrize("case", ERRORS.values(), ids=ERRORS.keys())
def test_errors(tf1, case):
    matrix, rhs, regularizer, fast, message = case
    for m in (tf1, flowmill):
        with m.Graph().as_default(), m.Session() as sess:
            inputs = [m.placeholder(kind) for kind in (matrix.dtype, matrix.dtype, m.float64)]
            made = m.raw_ops.MatrixSolveLs(matrix=inputs[0], rhs=inputs[1], l2_regularizer=inputs[2], fast=fast)
            with pytest.raises(m.errors.InvalidArgumentError) as error:
                sess.run(made, dict(zip(inputs, (matrix, rhs, regularizer))))
        assert message in str(error.value)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 2), (2, 2, 4)])
def test_gradients(tf1, shape, known):
    matrix, rhs = numbers(shape, "float64"), numbers((*shape[:-1], 2), "float64", 5)
    values = []
    for m in (tf1, flowmill):
        with m.Graph().as_default(), m.Session() as sess:
            # There a conditional of the older kind does not take the branches' results.
            a, b = (m.placeholder(m.float64, v.shape if known or m is tf1 else [None] * v.ndim) for v in (matrix, rhs))
            y = m.raw_ops.MatrixSolveLs(matrix=a, rhs=b, l2_regularizer=m.constant(0.3, m.float64), fast=True)
            values.append(sess.run(m.gradients(m.square(y), [a, b]), {a: matrix, b: rhs}))
    for theirs, ours in zip(*values):
        np.testing.assert_allclose(ours, theirs, 1e-8, 1e-8)


def test_the_slow_way_has_no_gradient(tf1):
    for m in (tf1, flowmill):
        with m.Graph().as_default():
            a = m.constant(A)
            with pytest.raises(ValueError, match="Gradient not defined for fast=False"):
                m.gradients(m.matrix_solve_ls(a, np.ones((3, 1)), fast=False), a)


def test_the_function(tf1):
    for m in (tf1, flowmill):
        with m.Graph().as_default(), m.Session() as sess:
            slow = m.linalg.lstsq(A, np.ones((3, 1)), fast=False)
            assert (slow.op.type, slow.shape.as_list()) == ("MatrixSolveLs", [2, 1])
            np.testing.assert_allclose(sess.run(slow), np.linalg.lstsq(A, np.ones((3, 1)), rcond=None)[0], 1e-9)
