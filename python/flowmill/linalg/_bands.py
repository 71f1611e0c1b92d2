"""Matrices with few diagonals, and factors of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowmill._internal.apply import call
from flowmill._internal.array import expand_dims, matrix_transpose, pad, squeeze, stack
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import int32
from flowmill.linalg._matrices import diag_part
from flowmill.math import conj

if TYPE_CHECKING:
    from flowmill.raw_ops import _Lu


def lu(input, output_idx_type=int32, name: str | None = None) -> _Lu:  # noqa: A002
    """Square matrices as products of triangles, after their rows are swapped.

    Args:
        input: ``[..., n, n]``.
        output_idx_type: the type of `p`.
        name: the name of the operation.

    Returns:
        A named tuple: `lu` has the lower triangle below its diagonal, which itself is ones there, and the upper one on it and above; `p` says for each
        row of their product which row of the matrix it is, ``[..., n]``.
    """
    return call("Lu", name, input, output_idx_type=output_idx_type)


def logm(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the principal logarithms of complex square matrices."""
    return call("MatrixLogarithm", name, input)


def _size(tensor: Tensor, at: int) -> int | None:
    return None if tensor.shape.rank is None else tensor.shape.as_list()[at]


def _of_matrix(matrix: Tensor) -> Tensor:
    """Returns the three diagonals of whole matrices."""
    columns, rows = _size(matrix, -1), _size(matrix, -2)
    if columns and rows and columns != rows:
        raise ValueError(f"Expected last two dimensions of diagonals to be same, got {columns} and {rows}")
    return diag_part(matrix, k=(-1, 1), padding_value=0.0, align="LEFT_RIGHT")


def tridiagonal_solve(diagonals, rhs, diagonals_format: str = "compact", transpose_rhs: bool = False, conjugate_rhs: bool = False,
                      name: str | None = None, partial_pivoting: bool = True, perturb_singular: bool = False) -> Tensor:
    """Returns the solutions of systems whose matrices have three diagonals.

    Args:
        diagonals: in the format ``"compact"`` a tensor ``[..., 3, n]``: above the main diagonal, the main one, below it, where the first one's last
            element and the last one's first are not used; in ``"sequence"`` three tensors ``[..., n]``, of which the outer two may leave that element
            out; in ``"matrix"`` whole matrices.
        rhs: the right-hand sides as columns, ``[..., n, k]``, or one as ``[..., n]``.
        diagonals_format: which of these it is.
        transpose_rhs: whether `rhs` has them as rows.
        conjugate_rhs: whether to take their complex conjugates.
        name: the name of the operation.
        partial_pivoting: whether rows are swapped, which some matrices need.
        perturb_singular: whether matrices that cannot be inverted are changed a little.

    Raises:
        ValueError: if ranks or sizes that are known do not fit, or the format is another.
    """
    if perturb_singular and not partial_pivoting:
        raise ValueError("partial_pivoting must be True if perturb_singular is.")
    if diagonals_format == "sequence":
        diagonals = _stacked(diagonals)
    elif diagonals_format == "matrix":
        diagonals = _of_matrix(convert_to_tensor(diagonals))
    elif diagonals_format != "compact":
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    diagonals, rhs = convert_to_tensor(diagonals), convert_to_tensor(rhs)
    _check_ranks(diagonals, rhs)
    if _size(diagonals, -2) not in (None, 0, 3):
        raise ValueError(f"Expected 3 diagonals got {_size(diagonals, -2)}")
    is_vector = bool(rhs.shape.rank and diagonals.shape.rank) and rhs.shape.rank == diagonals.shape.rank - 1
    if is_vector:
        rhs = expand_dims(conj(rhs) if conjugate_rhs else rhs, -1)
    elif transpose_rhs:
        rhs = matrix_transpose(rhs, conjugate=conjugate_rhs)
    elif conjugate_rhs:
        rhs = conj(rhs)
    left, right = _size(diagonals, -1), _size(rhs, -2)
    if left and right and left != right:
        raise ValueError(f"Expected number of left-hand sided and right-hand sides to be equal, got {left} and {right}")
    found = call("TridiagonalSolve", name, diagonals, rhs, partial_pivoting=partial_pivoting, perturb_singular=perturb_singular)
    return squeeze(found, -1) if is_vector else found


def _stacked(diagonals) -> Tensor:
    """Three diagonals as one tensor, the outer two filled up."""
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError("Expected diagonals to be a sequence of length 3.")
    above, main, below = (convert_to_tensor(d) for d in diagonals)
    if not all(d.shape[:-1].is_compatible_with(main.shape[:-1]) for d in (above, below)):
        raise ValueError("Tensors representing the three diagonals must have the same shape,except for the last dimension, got "
                         f"{below.shape}, {main.shape}, {above.shape}")
    length = _size(main, -1)

    def filled(diagonal: Tensor, name: str, padding: list[int]) -> Tensor:
        own = _size(diagonal, -1)
        if not own or own == length:
            return diagonal
        if length is None or own != length - 1:
            raise ValueError(f"Expected {name} to be have length {length} or {(length or 0) - 1}, got {own}.")
        return pad(diagonal, [[0, 0]] * (diagonal.shape.rank - 1) + [padding])

    below, above = filled(below, "subdiagonal", [1, 0]), filled(above, "superdiagonal", [0, 1])
    return stack((above, main, below), axis=-2)


def _check_ranks(diagonals: Tensor, rhs: Tensor) -> None:
    rank, rhs_rank = diagonals.shape.rank, rhs.shape.rank
    if not rank:
        return
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if rhs_rank and rhs_rank not in (rank, rank - 1):
        raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {rhs_rank}")
    if rhs_rank and not diagonals.shape[:-2].is_compatible_with(rhs.shape[:rank - 2]):
        raise ValueError(f"Batch shapes {diagonals.shape[:-2]} and {rhs.shape[:rank - 2]} are incompatible")


def tridiagonal_matmul(diagonals, rhs, diagonals_format: str = "compact", name: str | None = None) -> Tensor:
    """Returns the products of matrices that have three diagonals and others.

    Args:
        diagonals: as of :func:`tridiagonal_solve`, in the format ``"sequence"`` all of the same length.
        rhs: ``[..., n, k]``.
        diagonals_format: as of :func:`tridiagonal_solve`.
        name: the name of the operation.

    Raises:
        ValueError: if the format is another, or matrices are known not to be square.
    """
    if diagonals_format == "sequence":
        parts = [convert_to_tensor(d) for d in diagonals]
    elif diagonals_format in ("compact", "matrix"):
        diagonals = convert_to_tensor(diagonals)
        diagonals = diagonals if diagonals_format == "compact" else _of_matrix(diagonals)
        parts = [diagonals[..., i, :] for i in range(3)]
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    return call("TridiagonalMatMul", name, *[expand_dims(part, -2) for part in parts], rhs)


__all__ = ["logm", "lu", "tridiagonal_matmul", "tridiagonal_solve"]
