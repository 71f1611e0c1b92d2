"""Operators that are given by their numbers: full, triangular and diagonal matrices."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.linalg._checks import assert_real, checked_type
from flowmill.linalg._linear_operator import LinearOperator, adjoint_if, together


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices of numbers.

    Args:
        matrix: ``[..., m, n]``.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.

    Raises:
        TypeError: for other than floating or complex numbers.
        ValueError: for less than two dimensions.
    """

    _matrix_ndims = {"matrix": 2}

    def __init__(self, matrix, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name: str = "LinearOperatorFullMatrix"):
        parameters = {"matrix": matrix, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        with tf.name_scope(name):
            self._matrix = tf.convert_to_tensor(matrix, name="matrix")
            checked_type(self._matrix.dtype)
            if self._matrix.shape.rank is not None and self._matrix.shape.rank < 2:
                raise ValueError(f"Argument matrix must have at least 2 dimensions. Found: {self._matrix}.")
        super().__init__(self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name, parameters)

    @property
    def matrix(self) -> Tensor:
        """The matrices."""
        return self._matrix

    def _shape(self):
        return self._matrix.shape

    def _shape_tensor(self):
        return tf.shape(self._matrix)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self):
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangles of matrices; what is above the diagonal is not looked at.

    Args:
        tril: ``[..., n, n]``.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    _matrix_ndims = {"tril": 2}

    def __init__(self, tril, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name: str = "LinearOperatorLowerTriangular"):
        parameters = {"tril": tril, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with tf.name_scope(name):
            given = tf.convert_to_tensor(tril, name="tril")
            checked_type(given.dtype)
            if given.shape.rank is not None and given.shape.rank < 2:
                raise ValueError(f"Argument tril must have at least 2 dimensions. Found: {given}.")
            self._tril = tf.linalg.band_part(given, -1, 0)
            self._diag = tf.linalg.diag_part(self._tril)
        super().__init__(given.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def tril(self) -> Tensor:
        """The triangles."""
        return self._tril

    def _shape(self):
        return self._tril.shape

    def _shape_tensor(self):
        return tf.shape(self._tril)

    def _assert_non_singular(self):
        return tf.assert_none_equal(self._diag, tf.zeros([], self.dtype), message="Singular operator:  Diagonal contained zero values.")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.matmul(self._tril, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self):
        return tf.reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self):
        return tf.reduce_sum(tf.log(tf.abs(self._diag)), axis=[-1])

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return tf.linalg.triangular_solve(*together(self._tril, adjoint_if(rhs, adjoint_arg)), lower=True, adjoint=adjoint)

    def _to_dense(self):
        return self._tril

    def _eigvals(self):
        return self._diag


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices.

    Args:
        diag: ``[..., n]``.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.

    Raises:
        ValueError: for a scalar, and if a real one is said not to be self-adjoint.
    """

    _matrix_ndims = {"diag": 1}

    def __init__(self, diag, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name: str = "LinearOperatorDiag"):
        parameters = {"diag": diag, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        with tf.name_scope(name):
            self._diag = tf.convert_to_tensor(diag, name="diag")
            checked_type(self._diag.dtype)
            if self._diag.shape.rank == 0:
                raise ValueError(f"Argument diag must have at least 1 dimension. Found: {self._diag}.")
            if not self._diag.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError("A real diagonal operator is always self adjoint.")
                is_self_adjoint = True
            if is_square is False:
                raise ValueError("Only square diagonal operators currently supported.")
        super().__init__(self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def diag(self) -> Tensor:
        """The diagonals."""
        return self._diag

    def _shape(self):
        return self._diag.shape.concatenate(self._diag.shape[-1:]) if self._diag.shape.rank is not None else TensorShape(None)

    def _shape_tensor(self):
        shape = tf.shape(self._diag)
        return tf.concat([shape, shape[-1:]], 0)

    def _assert_non_singular(self):
        return tf.assert_none_equal(self._diag, tf.zeros([], self.dtype), message="Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self):
        if self.dtype.is_complex:
            return tf.assert_positive(tf.real(self._diag), message="Diagonal operator had diagonal entries with non-positive real part, "
                                                                   "thus was not positive definite.")
        return tf.assert_positive(self._diag, message="Real diagonal operator had non-positive diagonal entries, thus was not positive definite.")

    def _assert_self_adjoint(self):
        return assert_real(self._diag, "This diagonal operator contained non-zero imaginary values.  Thus it was not self-adjoint.")

    def _along(self, adjoint: bool) -> Tensor:
        return tf.conj(self._diag) if adjoint else self._diag

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.expand_dims(self._along(adjoint), -1) * adjoint_if(x, adjoint_arg)

    def _matvec(self, x, adjoint=False):
        return self._along(adjoint) * x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return adjoint_if(rhs, adjoint_arg) * tf.expand_dims(1.0 / self._along(adjoint), -1)

    def _determinant(self):
        return tf.reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self):
        found = tf.reduce_sum(tf.log(tf.abs(self._diag)), axis=[-1])
        return tf.cast(found, self.dtype) if self.dtype.is_complex else found

    def _to_dense(self):
        return tf.linalg.diag(self._diag)

    def _diag_part(self):
        return self._diag

    def _add_to_tensor(self, x):
        return tf.linalg.set_diag(x, tf.linalg.diag_part(x) + self._diag)

    def _eigvals(self):
        return self._diag

    def _adjoint(self):
        return LinearOperatorDiag(tf.conj(self._diag), self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _inverse(self):
        return LinearOperatorDiag(1.0 / self._diag, self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _cholesky(self):
        return LinearOperatorDiag(tf.sqrt(self._diag), True, True, True, True)
