# Made by python/make_stubs from the code.

from flowmill._internal.array import matrix_transpose as matrix_transpose
from flowmill._internal.clip_ops import global_norm as global_norm
from flowmill.linalg import experimental as experimental
from flowmill.linalg._bands import logm as logm
from flowmill.linalg._bands import lu as lu
from flowmill.linalg._bands import tridiagonal_matmul as tridiagonal_matmul
from flowmill.linalg._bands import tridiagonal_solve as tridiagonal_solve
from flowmill.linalg._block_operators import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from flowmill.linalg._block_operators import LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular
from flowmill.linalg._block_operators import LinearOperatorKronecker as LinearOperatorKronecker
from flowmill.linalg._circulant_operators import LinearOperatorCirculant as LinearOperatorCirculant
from flowmill.linalg._circulant_operators import LinearOperatorCirculant2D as LinearOperatorCirculant2D
from flowmill.linalg._circulant_operators import LinearOperatorCirculant3D as LinearOperatorCirculant3D
from flowmill.linalg._combined_operators import LinearOperatorAdjoint as LinearOperatorAdjoint
from flowmill.linalg._combined_operators import LinearOperatorComposition as LinearOperatorComposition
from flowmill.linalg._combined_operators import LinearOperatorInversion as LinearOperatorInversion
from flowmill.linalg._combined_operators import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from flowmill.linalg._identity_operators import LinearOperatorIdentity as LinearOperatorIdentity
from flowmill.linalg._identity_operators import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from flowmill.linalg._identity_operators import LinearOperatorZeros as LinearOperatorZeros
from flowmill.linalg._linear_operator import LinearOperator as LinearOperator
from flowmill.linalg._matrices import adjoint as adjoint
from flowmill.linalg._matrices import band_part as band_part
from flowmill.linalg._matrices import cholesky as cholesky
from flowmill.linalg._matrices import cholesky_solve as cholesky_solve
from flowmill.linalg._matrices import cross as cross
from flowmill.linalg._matrices import det as det
from flowmill.linalg._matrices import diag as diag
from flowmill.linalg._matrices import diag_part as diag_part
from flowmill.linalg._matrices import eigh as eigh
from flowmill.linalg._matrices import eigvalsh as eigvalsh
from flowmill.linalg._matrices import eye as eye
from flowmill.linalg._matrices import inv as inv
from flowmill.linalg._matrices import logdet as logdet
from flowmill.linalg._matrices import lstsq as lstsq
from flowmill.linalg._matrices import qr as qr
from flowmill.linalg._matrices import self_adjoint_eig as self_adjoint_eig
from flowmill.linalg._matrices import self_adjoint_eigvals as self_adjoint_eigvals
from flowmill.linalg._matrices import set_diag as set_diag
from flowmill.linalg._matrices import slogdet as slogdet
from flowmill.linalg._matrices import solve as solve
from flowmill.linalg._matrices import sqrtm as sqrtm
from flowmill.linalg._matrices import svd as svd
from flowmill.linalg._matrices import tensor_diag as tensor_diag
from flowmill.linalg._matrices import tensor_diag_part as tensor_diag_part
from flowmill.linalg._matrices import trace as trace
from flowmill.linalg._matrices import transpose as transpose
from flowmill.linalg._matrices import triangular_solve as triangular_solve
from flowmill.linalg._norms import expm as expm
from flowmill.linalg._norms import matrix_rank as matrix_rank
from flowmill.linalg._norms import norm as norm
from flowmill.linalg._norms import normalize as normalize
from flowmill.linalg._norms import pinv as pinv
from flowmill.linalg._plain_operators import LinearOperatorDiag as LinearOperatorDiag
from flowmill.linalg._plain_operators import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from flowmill.linalg._plain_operators import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from flowmill.linalg._structured_operators import LinearOperatorHouseholder as LinearOperatorHouseholder
from flowmill.linalg._structured_operators import LinearOperatorPermutation as LinearOperatorPermutation
from flowmill.linalg._structured_operators import LinearOperatorToeplitz as LinearOperatorToeplitz
from flowmill.linalg._structured_operators import LinearOperatorTridiag as LinearOperatorTridiag
from flowmill.linalg._triangular import lu_matrix_inverse as lu_matrix_inverse
from flowmill.linalg._triangular import lu_reconstruct as lu_reconstruct
from flowmill.linalg._triangular import lu_solve as lu_solve
from flowmill.linalg._tridiagonal_eigen import eigh_tridiagonal as eigh_tridiagonal
from flowmill.math import einsum as einsum
from flowmill.math import matmul as matmul
from flowmill.math import matvec as matvec
from flowmill.math import tensordot as tensordot
from flowmill.nn import l2_normalize as l2_normalize

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "lstsq",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
]
