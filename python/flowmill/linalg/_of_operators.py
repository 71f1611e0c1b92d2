"""Functions of matrices, for linear operators: the results are operators if they are matrices."""

from __future__ import annotations

import flowmill as tf
from flowmill.linalg._linear_operator import LinearOperator


def adjoint(matrix: LinearOperator, name: str | None = None) -> LinearOperator:
    """Returns the adjoint."""
    return matrix.adjoint(name or "adjoint")


def cholesky(input: LinearOperator, name: str | None = None) -> LinearOperator:  # noqa: A002 - TensorFlow's name
    """Returns the Cholesky factor."""
    return input.cholesky(name or "cholesky")


def det(input: LinearOperator, name: str | None = None) -> tf.Tensor:  # noqa: A002 - TensorFlow's name
    """Returns the determinants."""
    return input.determinant(name or "det")


def diag_part(input: LinearOperator, name: str = "diag_part", **_) -> tf.Tensor:  # noqa: A002 - TensorFlow's name
    """Returns the diagonals."""
    return input.diag_part(name)


def inv(input: LinearOperator, adjoint: bool = False, name: str | None = None) -> LinearOperator:  # noqa: A002 - TensorFlow's name
    """Returns the inverse, or its adjoint."""
    found = input.inverse(name or "inverse")
    return found.adjoint() if adjoint else found


def logdet(matrix: LinearOperator, name: str | None = None) -> tf.Tensor:
    """Returns the logarithms of the determinants.

    Raises:
        ValueError: for operators that are known not to be positive definite and self-adjoint.
    """
    if matrix.is_positive_definite is False or matrix.is_self_adjoint is False:
        raise ValueError("Expected matrix to be self-adjoint and positive definite.")
    return matrix.log_abs_determinant(name or "log_abs_det")


def matmul(a, b, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None):
    """Returns the product of an operator and matrices, in either order, or of two operators."""
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint_a, adjoint_b, name or "matmul")
    return tf.linalg.adjoint(b.matmul(a, not adjoint_b, not adjoint_a, name or "matmul"))


def solve(matrix: LinearOperator, rhs, adjoint: bool = False, name: str | None = None):
    """Returns the solutions of ``matrix @ x == rhs``."""
    return matrix.solve(rhs, adjoint=adjoint, name=name or "solve")


def trace(x: LinearOperator, name: str | None = None) -> tf.Tensor:
    """Returns the sums of the diagonals."""
    return x.trace(name or "trace")
