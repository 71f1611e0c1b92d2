"""Operators with a structure: reflections, permutations, and matrices that repeat numbers or have few diagonals."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.array import broadcast_dynamic_shape, broadcast_static_shape
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.linalg._linear_operator import LinearOperator, adjoint_if


class LinearOperatorHouseholder(LinearOperator):
    """Reflections at the planes that are orthogonal to vectors.

    Args:
        reflection_axis: the vectors, ``[..., n]``, of any length.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    _matrix_ndims = {"reflection_axis": 1}

    def __init__(self, reflection_axis, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name: str = "LinearOperatorHouseholder"):
        parameters = {"reflection_axis": reflection_axis, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        with tf.name_scope(name):
            self._axis = tf.convert_to_tensor(reflection_axis, name="reflection_axis")
            if self._axis.shape.rank == 0:
                raise ValueError(f"Argument reflection_axis must have at least 1 dimension. Found: {self._axis}.")
            if is_self_adjoint is False:
                raise ValueError("A Householder operator is always self adjoint.")
            if is_positive_definite is True:
                raise ValueError("A Householder operator is always non-positive definite.")
            if is_square is False:
                raise ValueError("A Householder operator is always square.")
            if is_non_singular is False:
                raise ValueError("A Householder operator is always non-singular.")
        super().__init__(self._axis.dtype, None, is_non_singular, True, False, True, name, parameters)

    @property
    def reflection_axis(self) -> Tensor:
        """The vectors."""
        return self._axis

    def _shape(self):
        return self._axis.shape.concatenate(self._axis.shape[-1:]) if self._axis.shape.rank is not None else TensorShape(None)

    def _shape_tensor(self):
        shape = tf.shape(self._axis)
        return tf.concat([shape, shape[-1:]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = adjoint_if(x, adjoint_arg)
        unit = tf.linalg.l2_normalize(self._axis, axis=-1)
        return x - 2.0 * unit[..., tf.newaxis] * tf.reduce_sum(tf.conj(unit)[..., tf.newaxis] * x, axis=-2, keepdims=True)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, False, adjoint_arg)

    def _determinant(self):
        return -tf.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self):
        return tf.zeros(self.batch_shape_tensor(), self.dtype)

    def _inverse(self):
        return self


class LinearOperatorPermutation(LinearOperator):
    """Matrices that put the rows of others in another order.

    Args:
        perm: for each row of the result the number of the row that is moved there, ``[..., n]``.
        dtype: the type of the elements.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    _matrix_ndims = {"perm": 1}

    def __init__(self, perm, dtype=tf.float32, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name: str = "LinearOperatorPermutation"):
        parameters = {"perm": perm, "dtype": dtype, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        with tf.name_scope(name):
            self._perm = tf.convert_to_tensor(perm, name="perm")
            if not self._perm.dtype.is_integer:
                raise TypeError(f"Argument perm must be integer dtype. Found: {self._perm}.")
            if self._perm.shape.rank == 0:
                raise ValueError(f"Argument perm must have at least 1 dimension. Found: {self._perm}.")
            known = tf.get_static_value(self._perm)
            if known is not None and (np.sort(known, axis=-1) != np.arange(known.shape[-1])).any():
                raise ValueError(f"Argument perm must be a vector of unique integers from 0 to {known.shape[-1] - 1}.")
            if is_non_singular is False:
                raise ValueError(f"A Permutation operator is always non-singular, but got is_non_singular={is_non_singular}.")
            if is_square is False:
                raise ValueError(f"A Permutation operator is always square, but got is_square={is_square}.")
        super().__init__(dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def perm(self) -> Tensor:
        """The rows' order."""
        return self._perm

    def _shape(self):
        return self._perm.shape.concatenate(self._perm.shape[-1:]) if self._perm.shape.rank is not None else TensorShape(None)

    def _shape_tensor(self):
        shape = tf.shape(self._perm)
        return tf.concat([shape, shape[-1:]], 0)

    def _to_dense(self):
        n = self.domain_dimension.value
        return tf.one_hot(self._perm, self.domain_dimension_tensor() if n is None else n, dtype=self.dtype)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _log_abs_determinant(self):
        return tf.zeros(self.batch_shape_tensor(), self.dtype)

    def _cond(self):
        return tf.ones(self.batch_shape_tensor(), self.dtype)


class LinearOperatorToeplitz(LinearOperator):
    """Matrices with the same number along each diagonal.

    Args:
        col: their first columns, ``[..., n]``.
        row: their first rows, ``[..., n]``, whose first number is not looked at.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    _matrix_ndims = {"col": 1, "row": 1}

    def __init__(self, col, row, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name: str = "LinearOperatorToeplitz"):
        parameters = {"col": col, "row": row, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        with tf.name_scope(name):
            self._row, self._col = tf.convert_to_tensor(row, name="row"), tf.convert_to_tensor(col, name="col")
            if is_square is False:
                raise ValueError("Only square Toeplitz operators currently supported.")
        super().__init__(self._row.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def col(self) -> Tensor:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first rows."""
        return self._row

    def _shape(self):
        shape = broadcast_static_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:]) if shape.rank is not None else shape

    def _shape_tensor(self):
        shape = broadcast_dynamic_shape(tf.shape(self._row), tf.shape(self._col))
        return tf.concat([shape, shape[-1:]], 0)

    def _to_dense(self):
        n = tf.shape(self._row)[-1]
        batch = self.shape_tensor()[:-2]
        row, col = (tf.broadcast_to(t, tf.concat([batch, [n]], 0)) for t in (self._row, self._col))
        # The numbers from the lower left to the upper right corner.
        along = tf.concat([tf.reverse(col, [-1]), row[..., 1:]], -1)
        places = tf.range(n)[tf.newaxis, :] - tf.range(n)[:, tf.newaxis] + n - 1
        return tf.gather(along, places, axis=-1)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _diag_part(self):
        return self._col[..., :1] * tf.ones([self.domain_dimension_tensor()], self.dtype)


class LinearOperatorTridiag(LinearOperator):
    """Matrices with numbers on three diagonals.

    Args:
        diagonals: ``[..., 3, n]`` in the format ``compact``: the diagonal above, whose last number is not looked at, the main one, and that below,
            whose first number is not looked at; in the format ``sequence`` a list of these; in the format ``matrix`` matrices ``[..., n, n]``.
        diagonals_format: how they are given.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    def __init__(self, diagonals, diagonals_format: str = "compact", is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=None, name: str = "LinearOperatorTridiag"):
        parameters = {"diagonals": diagonals, "diagonals_format": diagonals_format, "is_non_singular": is_non_singular,
                      "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        if diagonals_format not in ("compact", "matrix", "sequence"):
            raise ValueError(f"Argument `diagonals_format` must be one of compact, matrix, or sequence. Found : {diagonals_format}.")
        with tf.name_scope(name):
            if diagonals_format == "sequence":
                upper, main, lower = (tf.convert_to_tensor(d, name="diagonals") for d in diagonals)
            else:
                given = tf.convert_to_tensor(diagonals, name="diagonals")
                if diagonals_format == "matrix":
                    above = [[0, 0]] * (given.shape.rank - 2)
                    upper = tf.pad(tf.linalg.diag_part(given[..., :-1, 1:]), [*above, [0, 1]])
                    lower = tf.pad(tf.linalg.diag_part(given[..., 1:, :-1]), [*above, [1, 0]])
                    main = tf.linalg.diag_part(given)
                else:
                    upper, main, lower = given[..., 0, :], given[..., 1, :], given[..., 2, :]
            self._diagonals, self._format = diagonals, diagonals_format
            self._upper, self._main, self._lower = upper, main, lower
            if is_square is False:
                raise ValueError("Only square tridiagonal operators currently supported.")
        super().__init__(main.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def _matrix_ndims(self) -> dict[str, int]:
        return {"diagonals": 1 if self._format == "sequence" else 2}

    @property
    def diagonals(self):
        """The diagonals as they were given."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """The format in which the diagonals were given."""
        return self._format

    def _shape(self):
        return self._main.shape.concatenate(self._main.shape[-1:])

    def _shape_tensor(self):
        shape = tf.shape(self._main)
        return tf.concat([shape, shape[-1:]], 0)

    def _to_dense(self):
        above = [[0, 0]] * (self._main.shape.rank - 1)
        upper = tf.pad(tf.linalg.diag(self._upper[..., :-1]), [*above, [0, 1], [1, 0]])
        lower = tf.pad(tf.linalg.diag(self._lower[..., 1:]), [*above, [1, 0], [0, 1]])
        return tf.linalg.diag(self._main) + upper + lower

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _diag_part(self):
        return self._main
