"""Linear algebra: ``tf.linalg``."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill._internal.array import matrix_transpose
from flowmill._internal.clip_ops import global_norm
from flowmill.linalg._matrices import (
    adjoint, band_part, cholesky, cholesky_solve, cross, det, diag, diag_part, eigh, eigvalsh, eye, inv, logdet, lstsq, qr, self_adjoint_eig,
    self_adjoint_eigvals, set_diag, slogdet, solve, sqrtm, svd, tensor_diag, tensor_diag_part, trace, transpose, triangular_solve,
)
from flowmill.linalg._norms import expm, matrix_rank, norm, normalize, pinv
from flowmill.math import einsum, matmul, matvec, tensordot

__all__ = [
    "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eigh", "eigvalsh", "einsum", "expm", "eye",
    "global_norm", "inv", "l2_normalize", "logdet", "lstsq", "matmul", "matrix_rank", "matrix_transpose", "matvec", "norm", "normalize", "pinv", "qr",
    "self_adjoint_eig", "self_adjoint_eigvals", "set_diag", "slogdet", "solve", "sqrtm", "svd", "tensor_diag", "tensor_diag_part", "tensordot", "trace",
    "transpose", "triangular_solve",
]

# Operators are for those who ask for them.
_OPERATORS = {
    "_bands": "logm lu tridiagonal_matmul tridiagonal_solve",
    "_block_operators": "LinearOperatorBlockDiag LinearOperatorBlockLowerTriangular LinearOperatorKronecker",
    "_circulant_operators": "LinearOperatorCirculant LinearOperatorCirculant2D LinearOperatorCirculant3D",
    "_combined_operators": "LinearOperatorAdjoint LinearOperatorComposition LinearOperatorInversion LinearOperatorLowRankUpdate",
    "_identity_operators": "LinearOperatorIdentity LinearOperatorScaledIdentity LinearOperatorZeros",
    "_linear_operator": "LinearOperator",
    "_plain_operators": "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorLowerTriangular",
    "_structured_operators": "LinearOperatorHouseholder LinearOperatorPermutation LinearOperatorToeplitz LinearOperatorTridiag",
    "_tridiagonal_eigen": "eigh_tridiagonal",
    "_triangular": "lu_matrix_inverse lu_reconstruct lu_solve",
}

_NAMES = _lazy.table("flowmill", {"nn": "l2_normalize"}) | _lazy.table(__name__, _OPERATORS) | _lazy.modules(__name__, "experimental")

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)
