"""Matrices made, taken apart, decomposed and solved with; leading dimensions are those of a batch."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.array import concat, matrix_transpose, ones, shape, zeros
from flowmill._internal.control_flow import cond
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import of_operators
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, float32, int32
from flowmill.math import log, matmul, minimum, real, reduce_sum

if TYPE_CHECKING:
    from flowmill.raw_ops import _LogMatrixDeterminant, _Qr


def _padding(diagonal, value):
    """Returns the padding beside a diagonal, a boolean for booleans."""
    kind = getattr(diagonal, "dtype", None)
    return bool(value) if kind is not None and as_dtype(kind).is_bool else value


def diag(diagonal, name: str = "diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with diagonals, and another value beside them.

    Args:
        diagonal: ``[..., n]``, or ``[..., diagonals, n]`` for several.
        name: the name of the operation.
        k: which diagonal: above 0 those above the main one; or the lowest and the highest of several.
        num_rows: how many rows there are; as few as can be if it is -1.
        num_cols: how many columns there are.
        padding_value: the padding beside the diagonals.
        align: at which ends of its rows `diagonal` has what is not used: ``"RIGHT_LEFT"`` is to the left of those above the main one and to the
            right of those below.
    """
    return call("MatrixDiagV3", name, diagonal, k, num_rows, num_cols, _padding(diagonal, padding_value), align=align)


@of_operators
def diag_part(input, name: str = "diag_part", k=0, padding_value=0, align: str = "RIGHT_LEFT") -> Tensor:  # noqa: A002
    """Returns the diagonals of matrices; the arguments are those of :func:`diag`."""
    return call("MatrixDiagPartV3", name, input, k, _padding(input, padding_value), align=align)


def set_diag(input, diagonal, name: str = "set_diag", k=0, align: str = "RIGHT_LEFT") -> Tensor:  # noqa: A002
    """Matrices with other diagonals; the arguments are those of :func:`diag`."""
    return call("MatrixSetDiagV3", name, input, diagonal, k, align=align)


def tensor_diag(diagonal, name: str | None = None) -> Tensor:
    """Returns a tensor of twice the rank that has `diagonal` where the first half of the indices equals the second, and zeros elsewhere."""
    return call("Diag", name, diagonal)


def tensor_diag_part(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the elements of a tensor for which the first half of the indices equals the second."""
    return call("DiagPart", name, input)


def band_part(input, num_lower, num_upper, name: str | None = None) -> Tensor:  # noqa: A002
    """Matrices with zeros outside of a band.

    Args:
        input: the matrices.
        num_lower: how many diagonals below the main one are kept, all if it is negative.
        num_upper: how many above it.
        name: the name of the operation.
    """
    return call("MatrixBandPart", name, input, num_lower, num_upper)


def eye(num_rows, num_columns=None, batch_shape=None, dtype=float32, name: str | None = None) -> Tensor:
    """Identity matrices.

    Args:
        num_rows: how many rows, a number or a scalar tensor.
        num_columns: how many columns, as many as rows if it is None.
        batch_shape: the leading dimensions.
        dtype: the type of the elements.
        name: the name of the scope.
    """
    with op_scope(name, "eye", num_rows, num_columns, batch_shape):
        is_square = num_columns is None
        batch_shape = [] if batch_shape is None else batch_shape
        columns = num_rows if is_square else num_columns
        dynamic = any(isinstance(v, Tensor) for v in (num_rows, columns))
        size = minimum(num_rows, columns) if dynamic else builtins.min(num_rows, columns)
        if dynamic or isinstance(batch_shape, Tensor):
            batch_shape = convert_to_tensor(batch_shape, int32, "shape")
            diagonal_shape = concat((batch_shape, [size]), axis=0)
            whole = None if is_square else concat((batch_shape, [num_rows, columns]), axis=0)
        else:
            batch_shape = batch_shape.as_list() if hasattr(batch_shape, "as_list") else list(batch_shape)
            diagonal_shape, whole = [*batch_shape, size], [*batch_shape, num_rows, columns]
        ones_ = ones(diagonal_shape, dtype)
        return diag(ones_) if is_square else set_diag(zeros(whole, dtype), ones_)


@of_operators
def trace(x, name: str | None = None) -> Tensor:
    """Returns the sums of the main diagonals of matrices."""
    with op_scope(name, "Trace", x) as scope:
        return reduce_sum(diag_part(convert_to_tensor(x, name="x")), [-1], name=scope)


def transpose(a, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Like :func:`matrix_transpose <flowmill.array.matrix_transpose>`."""
    return matrix_transpose(a, name, conjugate)


@of_operators
def adjoint(matrix, name: str | None = None) -> Tensor:
    """Matrices transposed and conjugated."""
    with op_scope(name, "adjoint", matrix):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


def cross(a, b, name: str | None = None) -> Tensor:
    """Returns the cross products of vectors in space, whose three numbers are along the last dimension."""
    return call("Cross", name, a, b)


@of_operators
def det(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the determinants of square matrices."""
    return call("MatrixDeterminant", name, input)


def slogdet(input, name: str | None = None) -> _LogMatrixDeterminant:  # noqa: A002
    """Returns the signs of the determinants of square matrices, and the logarithms of their absolute values."""
    return call("LogMatrixDeterminant", name, input)


@of_operators
def logdet(matrix, name: str | None = None) -> Tensor:
    """Returns the logarithms of the determinants of Hermitian matrices that are positive definite."""
    with op_scope(name, "logdet", matrix):
        factor = cholesky(matrix)
        return 2.0 * reduce_sum(log(real(diag_part(factor))), axis=[-1])


@of_operators
def inv(input, adjoint: bool = False, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the inverses of square matrices, or of their adjoints."""
    return call("MatrixInverse", name, input, adjoint=adjoint)


def sqrtm(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the principal square roots of square matrices: ``root @ root`` is the matrix. A real matrix has to have a real one."""
    return call("MatrixSquareRoot", name, input)


@of_operators
def cholesky(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the lower triangular factors L of Hermitian matrices that are positive definite: ``L @ adjoint(L)`` is the matrix."""
    return call("Cholesky", name, input)


def cholesky_solve(chol, rhs, name: str | None = None) -> Tensor:
    """Returns the solutions of ``A @ x == rhs``, where `chol` is the factor of A that :func:`cholesky` gives."""
    with op_scope(name, "cholesky_solve", chol, rhs):
        found = call("MatrixTriangularSolve", None, chol, rhs, adjoint=False, lower=True)
        return call("MatrixTriangularSolve", None, chol, found, adjoint=True, lower=True)


@of_operators
def solve(matrix, rhs, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Returns the solutions of ``matrix @ x == rhs``, or with the adjoint of the matrix."""
    return call("MatrixSolve", name, matrix, rhs, adjoint=adjoint)


def triangular_solve(matrix, rhs, lower: bool = True, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Returns the solutions of ``matrix @ x == rhs`` for triangular matrices.

    Args:
        matrix: ``[..., n, n]``; one half of it is not looked at.
        rhs: ``[..., n, k]``.
        lower: whether the lower half is the one to use.
        adjoint: solves with the adjoint.
        name: the name of the scope.
    """
    with op_scope(name, "triangular_solve", matrix, rhs):
        return call("MatrixTriangularSolve", None, matrix, rhs, lower=lower, adjoint=adjoint)


def lstsq(matrix, rhs, l2_regularizer=0.0, fast: bool = True, name: str | None = None) -> Tensor:
    """Returns the solutions of ``matrix @ x == rhs`` with the least squares of what is left, and of those the smallest.

    Args:
        matrix: ``[..., m, n]``, of full rank.
        rhs: ``[..., m, k]``.
        l2_regularizer: how much the squares of the solution count.
        fast: solves the normal equations. The other way is slower, takes matrices that lack full rank, and has no gradient; it leaves `l2_regularizer` out.
        name: the name of the scope.
    """
    if not fast:
        return call("MatrixSolveLs", name, matrix, rhs, l2_regularizer, fast=False)
    with op_scope(name, "matrix_solve_ls", matrix, rhs, l2_regularizer):
        matrix = convert_to_tensor(matrix, name="matrix")
        known = dims(matrix)
        if known is not None and min(known[-2:]) >= 0:
            return _least_squares(matrix, rhs, l2_regularizer, known[-2] >= known[-1])
        sizes = shape(matrix)[-2:]
        return cond(sizes[0] >= sizes[1], lambda: _least_squares(matrix, rhs, l2_regularizer, True),
                    lambda: _least_squares(matrix, rhs, l2_regularizer, False))


def _least_squares(matrix: Tensor, rhs, regularizer, is_tall: bool) -> Tensor:
    factor = cholesky(_gramian(matrix, regularizer, is_tall))
    if is_tall:
        return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True))
    return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True)


def _gramian(matrix: Tensor, regularizer, is_tall: bool) -> Tensor:
    """Returns the smaller one of the products of a matrix with its adjoint."""
    product = matmul(matrix, matrix, adjoint_a=is_tall, adjoint_b=not is_tall)
    if isinstance(regularizer, Tensor) or regularizer != 0:
        sizes = shape(matrix)
        batch = sizes[:-2]
        identity = eye(sizes[-1] if is_tall else sizes[-2], batch_shape=batch, dtype=matrix.dtype.base_dtype)
        product = product + regularizer * identity
    return product


def svd(tensor, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Returns the singular value decomposition of matrices: ``tensor == u @ diag(s) @ adjoint(v)``.

    Args:
        tensor: the matrices.
        full_matrices: gives all of the unitary matrices.
        compute_uv: whether to give them at all.
        name: the name of the operation.

    Returns:
        The singular values s, the greatest first; with `compute_uv` those, u and v.
    """
    s, u, v = call("Svd", name, tensor, compute_uv=compute_uv, full_matrices=full_matrices)
    if s.dtype.is_complex:
        s = call("Real", None, s, Tout=s.dtype.real_dtype)
    return (s, u, v) if compute_uv else s


def qr(input, full_matrices: bool = False, name: str | None = None) -> _Qr:  # noqa: A002
    """Returns the unitary and the upper triangular matrices q and r whose products matrices are.

    Args:
        input: the matrices.
        full_matrices: makes q square.
        name: the name of the operation.
    """
    return call("Qr", name, input, full_matrices=full_matrices)


def eigh(tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the eigenvalues of Hermitian matrices, the smallest first, and their eigenvectors as columns."""
    values, vectors = call("SelfAdjointEigV2", name, tensor, compute_v=True)
    return values, vectors


def eigvalsh(tensor, name: str | None = None) -> Tensor:
    """Returns the eigenvalues of Hermitian matrices, the smallest first."""
    return call("SelfAdjointEigV2", name, tensor, compute_v=False)[0]


self_adjoint_eig, self_adjoint_eigvals = eigh, eigvalsh
