"""Operators that are given by their size: identities and zeros."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_util import constant_value
from flowmill.linalg._checks import assert_real
from flowmill.linalg._linear_operator import LinearOperator, adjoint_if


def _static(value) -> int | None:
    known = constant_value(value) if isinstance(value, Tensor) else value
    return None if known is None else int(known)


class _OfSize(LinearOperator):
    """An operator that is given by its size."""

    _rows: object
    _batch: object = None
    _has_checks = False

    def _set_size(self, num_rows, batch_shape, assert_proper_shapes: bool) -> None:
        self._has_checks = assert_proper_shapes
        self._rows, self._batch = self._checked(_size(num_rows, "num_rows"), "num_rows", 0), _batch_shape(batch_shape)
        if self._batch is not None:
            self._batch = self._checked(self._batch, "batch_shape", 1)

    def _checked(self, size, what: str, rank: int):
        """Returns a size; steps check it if the caller wants that and it is not known before."""
        if not self._has_checks or not isinstance(size, Tensor):
            return size
        with tf.control_dependencies([
                tf.assert_rank(size, rank, message=f"Argument {what} must be a {rank}-D Tensor."),
                tf.assert_non_negative(size, message=f"Argument {what} must be non-negative.")]):
            return tf.identity(size)

    def _fitting(self, x: Tensor) -> Tensor:
        """Returns the matrices to multiply; steps check their size if the caller wants that."""
        if not self._has_checks:
            return x
        with tf.control_dependencies([
                tf.assert_equal(tf.shape(x)[-2], self.domain_dimension_tensor(), message="Dimensions are not compatible.")]):
            return tf.identity(x)

    def _shape(self):
        rows = _static(self._rows)
        if self._batch is None:
            return TensorShape([rows, rows])
        known = constant_value(self._batch) if isinstance(self._batch, Tensor) else self._batch
        return TensorShape(None) if known is None else TensorShape([int(s) for s in known]).concatenate([rows, rows])

    def _shape_tensor(self):
        matrix = tf.stack([self._rows, self._rows])
        return matrix if self._batch is None else tf.concat([tf.cast(self._batch, tf.int32), tf.cast(matrix, tf.int32)], 0)


def _check_is_no_reference(value, what: str) -> None:
    if isinstance(value, tf.Variable) or isinstance(value, Tensor) and value.dtype._is_ref_dtype:
        raise TypeError(f"Argument {what} cannot be reference type. Found: {type(value)}.")


def _batch_shape(value):
    """Returns a batch shape, as an array if it is known; None for none."""
    _check_is_no_reference(value, "batch_shape")
    if value is None or isinstance(value, Tensor) and constant_value(value) is None:
        return value
    array = np.asarray(constant_value(value) if isinstance(value, Tensor) else value)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"Argument batch_shape must be integer dtype. Found: {value}.")
    if array.ndim != 1:
        raise ValueError(f"Argument batch_shape must be a 1-D Tensor. Found: {value}.")
    if (array < 0).any():
        raise ValueError(f"Argument batch_shape must be non-negative. Found: {value}.")
    return array.astype(np.int32)


def _size(value, what: str):
    """Returns a number of rows or columns, as a number if it is one."""
    _check_is_no_reference(value, what)
    if isinstance(value, Tensor):
        if not value.dtype.is_integer:
            raise TypeError(f"{what} must be integer type. Found: {value}")
        if value.shape.rank not in (None, 0):
            raise ValueError(f"Argument {what} must be a 0-D Tensor. Found: {value}.")
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} must be integer type. Found: {value}")
    if array.ndim:
        raise ValueError(f"Argument {what} must be a 0-D Tensor. Found: {value}.")
    if array < 0:
        raise ValueError(f"Argument {what} must be non-negative. Found: {value}.")
    return int(array)


class LinearOperatorIdentity(_OfSize):
    """Identity matrices.

    Args:
        num_rows: their size.
        batch_shape: how many there are, a vector; one if it is None.
        dtype: the type of the elements, `float32` if it is None.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`; all are true.
        assert_proper_shapes: whether steps check sizes that are not known before, and those of matrices to multiply.
        name: the name of its scope.
    """

    def __init__(self, num_rows, batch_shape=None, dtype=None, is_non_singular=True, is_self_adjoint=True, is_positive_definite=True, is_square=True,
                 assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity"):
        parameters = {"num_rows": num_rows, "batch_shape": batch_shape, "dtype": dtype, "is_non_singular": is_non_singular,
                      "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite, "is_square": is_square,
                      "assert_proper_shapes": assert_proper_shapes, "name": name}
        for value, what in ((is_self_adjoint, "self adjoint"), (is_square, "square"), (is_non_singular, "non-singular"),
                            (is_positive_definite, "positive-definite")):
            if not value:
                raise ValueError(f"An identity operator is always {what}.")
        self._set_size(num_rows, batch_shape, assert_proper_shapes)
        super().__init__(dtype or tf.float32, None, True, True, True, True, name, parameters)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = self._fitting(adjoint_if(x, adjoint_arg))
        return x if self._batch is None else x + tf.zeros(tf.concat([self.batch_shape_tensor(), [1, 1]], 0), self.dtype)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, False, adjoint_arg)

    def _determinant(self):
        return tf.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self):
        return tf.zeros(self.batch_shape_tensor(), self.dtype)

    def _diag_part(self):
        return tf.ones(self.shape_tensor()[:-1], self.dtype)

    _eigvals = _diag_part

    def _trace(self):
        return tf.cast(self.domain_dimension_tensor(), self.dtype) * tf.ones(self.batch_shape_tensor(), self.dtype)

    def _cond(self):
        return tf.ones(self.batch_shape_tensor(), self.dtype)

    def _to_dense(self):
        rows = self.domain_dimension.value
        return tf.eye(self.domain_dimension_tensor() if rows is None else rows, batch_shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _assert_non_singular(self):
        return tf.no_op("assert_non_singular")

    def _assert_positive_definite(self):
        return tf.no_op("assert_positive_definite")

    def _assert_self_adjoint(self):
        return tf.no_op("assert_self_adjoint")

    def _inverse(self):
        return self

    def _cholesky(self):
        return self


class LinearOperatorScaledIdentity(_OfSize):
    """Identity matrices times numbers.

    Args:
        num_rows: their size.
        multiplier: the numbers, one for each matrix.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        assert_proper_shapes: whether steps check sizes that are not known before, and those of matrices to multiply.
        name: the name of its scope.
    """

    _matrix_ndims = {"multiplier": 0}

    def __init__(self, num_rows, multiplier, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True,
                 assert_proper_shapes: bool = False, name: str = "LinearOperatorScaledIdentity"):
        parameters = {"num_rows": num_rows, "multiplier": multiplier, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "assert_proper_shapes": assert_proper_shapes, "name": name}
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        with tf.name_scope(name):
            self._multiplier = tf.convert_to_tensor(multiplier, name="multiplier")
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        self._set_size(num_rows, None, assert_proper_shapes)
        super().__init__(self._multiplier.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def multiplier(self) -> Tensor:
        """The numbers."""
        return self._multiplier

    def _shape(self):
        rows = _static(self._rows)
        return self._multiplier.shape.concatenate([rows, rows])

    def _shape_tensor(self):
        return tf.concat([tf.shape(self._multiplier), tf.stack([self._rows, self._rows])], 0)

    def _times(self, adjoint: bool) -> Tensor:
        """Returns the numbers, for matrices."""
        value = tf.conj(self._multiplier) if adjoint else self._multiplier
        return value[..., tf.newaxis, tf.newaxis]

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._fitting(adjoint_if(x, adjoint_arg)) * self._times(adjoint)

    def _assert_non_singular(self):
        return tf.assert_positive(tf.abs(self._multiplier), message="LinearOperator was singular.")

    def _assert_positive_definite(self):
        value = tf.real(self._multiplier) if self.dtype.is_complex else self._multiplier
        return tf.assert_positive(value, message="LinearOperator was not positive definite.")

    def _assert_self_adjoint(self):
        return assert_real(self._multiplier, "LinearOperator was not self-adjoint.")

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return adjoint_if(rhs, adjoint_arg) / self._times(adjoint)

    def _power(self, value: Tensor) -> Tensor:
        return tf.cast(self.domain_dimension_tensor(), value.dtype)

    def _determinant(self):
        return self._multiplier ** self._power(self._multiplier)

    def _log_abs_determinant(self):
        size = tf.log(tf.abs(self._multiplier))
        return self._power(size) * size

    def _diag_part(self):
        return tf.ones(self.shape_tensor()[:-1], self.dtype) * self._multiplier[..., tf.newaxis]

    _eigvals = _diag_part

    def _trace(self):
        return self._power(self._multiplier) * self._multiplier

    def _cond(self):
        return tf.where_v2(tf.equal(tf.abs(self._multiplier), 0.0), tf.constant(float("nan"), self.dtype.real_dtype),
                           tf.ones([], self.dtype.real_dtype))

    def _add_to_tensor(self, x):
        return tf.linalg.set_diag(x, tf.linalg.diag_part(x) + self._multiplier[..., tf.newaxis])

    def _to_dense(self):
        rows = self.domain_dimension.value
        return tf.eye(self.domain_dimension_tensor() if rows is None else rows, dtype=self.dtype) * self._times(False)

    def _adjoint(self):
        return LinearOperatorScaledIdentity(self._rows, tf.conj(self._multiplier), self.is_non_singular, self.is_self_adjoint,
                                            self.is_positive_definite, True)

    def _inverse(self):
        return LinearOperatorScaledIdentity(self._rows, 1.0 / self._multiplier, self.is_non_singular, self.is_self_adjoint,
                                            self.is_positive_definite, True)

    def _cholesky(self):
        return LinearOperatorScaledIdentity(self._rows, tf.sqrt(self._multiplier), True, True, True, True)


class LinearOperatorZeros(_OfSize):
    """Matrices of zeros.

    Args:
        num_rows: the number of rows.
        num_columns: the number of columns, as many if it is None.
        batch_shape: how many there are, a vector; one if it is None.
        dtype: the type of the elements, `float32` if it is None.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        assert_proper_shapes: whether steps check sizes that are not known before, and those of matrices to multiply.
        name: the name of its scope.
    """

    def __init__(self, num_rows, num_columns=None, batch_shape=None, dtype=None, is_non_singular=False, is_self_adjoint=True,
                 is_positive_definite=False, is_square=True, assert_proper_shapes: bool = False, name: str = "LinearOperatorZeros"):
        parameters = {"num_rows": num_rows, "num_columns": num_columns, "batch_shape": batch_shape, "dtype": dtype,
                      "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite,
                      "is_square": is_square, "assert_proper_shapes": assert_proper_shapes, "name": name}
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        self._set_size(num_rows, batch_shape, assert_proper_shapes)
        self._columns = self._rows if num_columns is None else self._checked(_size(num_columns, "num_columns"), "num_columns", 0)
        if is_square and num_columns is not None and num_rows != num_columns:
            raise ValueError(f"LinearOperatorZeros initialized as is_square=True, but got num_rows({num_rows}) != num_columns({num_columns})")
        super().__init__(dtype or tf.float32, None, False, is_self_adjoint, False, is_square, name, parameters)

    def _shape(self):
        square = super()._shape()
        return square if square.rank is None else square[:-1].concatenate([_static(self._columns)])

    def _shape_tensor(self):
        return tf.concat([super()._shape_tensor()[:-1], [self._columns]], 0)

    def _to_dense(self):
        return tf.zeros(self.shape_tensor(), self.dtype)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = self._fitting(adjoint_if(x, adjoint_arg)) if not adjoint else adjoint_if(x, adjoint_arg)
        return tf.matmul(self.to_dense(), x, adjoint_a=adjoint)

    def _assert_non_singular(self):
        raise tf.errors.InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self):
        raise tf.errors.InvalidArgumentError(None, None, "Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self):
        return tf.no_op("assert_self_adjoint")

    def _determinant(self):
        return tf.zeros(self.batch_shape_tensor(), self.dtype)

    def _add_to_tensor(self, x):
        return x + tf.zeros(self.shape_tensor(), self.dtype)

    def _eigvals(self):
        return tf.zeros(self.shape_tensor()[:-1], self.dtype)
