"""Matrices that are known by what they do: `LinearOperator`, and how two of them are put together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import flowmill as tf
from flowmill import nest
from flowmill._internal.array import broadcast_dynamic_shape
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.module import Module
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, as_dtype


class LinearOperator(Module):
    """A batch of matrices ``[..., m, n]``. Subclasses define `_shape`, `_matmul` and what they can do faster than matrices of numbers can.

    Args:
        dtype: the type of the elements.
        graph_parents: tensors it depends on.
        is_non_singular: whether the matrices have inverses, None if that is not known.
        is_self_adjoint: whether they are their own adjoints.
        is_positive_definite: whether ``x' A x`` is positive for all ``x`` but zero.
        is_square: whether they have as many rows as columns.
        name: the name of its scope.
        parameters: what it was made with.

    Raises:
        ValueError: for hints that contradict each other.
    """

    # For each argument made of tensors or operators the number of dimensions that one operator has of it.
    _matrix_ndims: dict[str, int] = {}

    def __getitem__(self, key) -> LinearOperator:
        """Returns the operators of a part of the batch."""
        from flowmill.linalg._slicing import sliced  # start-up: few programs slice operators

        return sliced(self, key)

    def __init__(self, dtype, graph_parents=None, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None, parameters=None):
        for i, tensor in enumerate(graph_parents or ()):
            if tensor is None or not tf.is_tensor(tensor):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {tensor}.")
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        self._dtype = None if dtype is None else as_dtype(dtype).base_dtype
        self._graph_parents = list(graph_parents or ())
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square_set_or_implied = is_positive_definite, is_square
        self._parameters = dict(parameters or {})
        self._name = name or type(self).__name__

    # What is known of it

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of its scope."""
        return self._name

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        return dict(self._parameters)

    @property
    def graph_parents(self) -> list[Tensor]:
        """Tensors it depends on."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """True if the matrices have inverses, None if that is not known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """True if the matrices are their own adjoints, None if that is not known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """True if the matrices are positive definite, None if that is not known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """True if the matrices are square, None if that is not known.

        Raises:
            ValueError: if the shape says otherwise than the caller.
        """
        sizes = self.domain_dimension, self.range_dimension
        found = None if None in (d.value for d in sizes) else sizes[0].value == sizes[1].value
        if found is not None and self._is_square_set_or_implied is not None and found != self._is_square_set_or_implied:
            raise ValueError(
                f"self.is_square was set to {self._is_square_set_or_implied}, but static shape {self.shape} was {'' if found else 'not '}square.")
        return self._is_square_set_or_implied if found is None else found

    # The tensors that it is made of

    def _fields(self) -> dict[str, Any]:
        """Returns the arguments that are made of tensors or operators, as the operator keeps them."""
        return {name: getattr(self, name) for name in self._matrix_ndims if self._parameters.get(name) is not None}

    def _components(self) -> list[Tensor]:
        return nest.flatten(list(self._fields().values()), expand_composites=True)

    def _with_components(self, parts) -> LinearOperator:
        names, structures = list(self._fields()), list(self._fields().values())
        return type(self)(**self._parameters | dict(zip(names, nest.pack_sequence_as(structures, parts, expand_composites=True))))

    # Shapes

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The static shape ``[..., m, n]``."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the dimensions before the matrices."""
        return TensorShape(None) if self.shape.rank is None else self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of dimensions, None if it is not known."""
        return self.shape.rank

    @property
    def domain_dimension(self):
        """The size of the vectors it takes, a :class:`Dimension`."""
        return tf.Dimension(None) if self.shape.rank is None else self.shape.dims[-1]

    @property
    def range_dimension(self):
        """The size of the vectors it gives, a :class:`Dimension`."""
        return tf.Dimension(None) if self.shape.rank is None else self.shape.dims[-2]

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Returns the shape, a vector."""
        with self._scope(name):
            shape = self.shape
            return tf.constant(shape.as_list(), tf.int32, name="shape") if shape.is_fully_defined() else self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the dimensions before the matrices, a vector."""
        with self._scope(name):
            shape = self.batch_shape
            return tf.constant(shape.as_list(), tf.int32, name="batch_shape") if shape.is_fully_defined() else self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Returns the number of dimensions, a scalar."""
        with self._scope(name):
            return tf.convert_to_tensor(self.tensor_rank) if self.tensor_rank is not None else tf.size(self.shape_tensor())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """The size of the vectors it takes, a scalar."""
        with self._scope(name):
            known = self.domain_dimension.value
            return tf.convert_to_tensor(known) if known is not None else self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """The size of the vectors it gives, a scalar."""
        with self._scope(name):
            known = self.range_dimension.value
            return tf.convert_to_tensor(known) if known is not None else self.shape_tensor()[-2]

    # Checks

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """Returns an operation that fails if a matrix has no inverse."""
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_non_singular(self) -> Operation:
        values = tf.linalg.svd(self.to_dense(), compute_uv=False)
        small = tf.cast(1e-4 if self.dtype.real_dtype.name == "float32" else 1e-8, values.dtype)
        return tf.assert_less(tf.reduce_max(values, -1) * small, tf.reduce_min(values, -1),
                              message="Singular matrix up to precision epsilon.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """Returns an operation that fails if a matrix is not positive definite."""
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_positive_definite(self) -> Operation:
        # The factor of a matrix that is not positive definite is NaN.
        diag = tf.linalg.diag_part(tf.linalg.cholesky(self.to_dense()))
        return tf.assert_positive(tf.real(diag) if self.dtype.is_complex else diag, message="Matrix was not positive definite.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """Returns an operation that fails if a matrix is not its own adjoint."""
        with self._scope(name):
            return self._assert_self_adjoint()

    def _assert_self_adjoint(self) -> Operation:
        dense = self.to_dense()
        return tf.assert_equal(dense, tf.linalg.adjoint(dense), message="Matrix was not equal to its adjoint.")

    # What it does

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def matmul(self, x, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"):
        """Returns the product with matrices ``[..., n, k]``, or with another operator, which is an operator.

        Args:
            x: what to multiply.
            adjoint: multiplies by the adjoint of this.
            adjoint_arg: multiplies the adjoint of `x`.
            name: the name of the scope.

        Raises:
            ValueError: if the sizes do not fit.
        """
        if isinstance(x, LinearOperator):
            from flowmill.linalg._combined_operators import product  # cycle: linalg._combined_operators imports this module

            left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
            ours, theirs = left.domain_dimension.value, right.range_dimension.value
            if ours is not None and theirs is not None and ours != theirs:
                raise ValueError(f"Operators are incompatible. Expected `x` to have dimension {ours} but got {theirs}.")
            with self._scope(name):
                return product(left, right)
        with self._scope(name):
            x = self._argument(x, "x")
            self._fits(self.range_dimension if adjoint else self.domain_dimension, x, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint, adjoint_arg)

    def __matmul__(self, other):
        return self.matmul(other)

    def matvec(self, x, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Returns the product with vectors ``[..., n]``."""
        with self._scope(name):
            x = self._argument(x, "x")
            self._fits(self.range_dimension if adjoint else self.domain_dimension, x, -1)
            return self._matvec(x, adjoint)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return tf.squeeze(self.matmul(tf.expand_dims(x, -1), adjoint), -1)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        if self.is_positive_definite and self.is_self_adjoint:
            return tf.linalg.cholesky_solve(*together(tf.linalg.cholesky(self.to_dense()), rhs))
        return tf.linalg.solve(*together(self.to_dense(), rhs), adjoint=adjoint)

    def solve(self, rhs, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"):
        """Solves the equation of this operator times ``x`` equals `rhs`: matrices ``[..., n, k]``, or an operator if `rhs` is one.

        Args:
            rhs: matrices ``[..., m, k]``, or an operator.
            adjoint: solves for the adjoint of this.
            adjoint_arg: takes the adjoint of `rhs`.
            name: the name of the scope.

        Raises:
            NotImplementedError: for matrices without inverses.
        """
        self._is_solvable("Exact solve")
        if isinstance(rhs, LinearOperator):
            left, right = self.adjoint() if adjoint else self, rhs.adjoint() if adjoint_arg else rhs
            with self._scope(name):
                return left.inverse().matmul(right)
        with self._scope(name):
            rhs = self._argument(rhs, "rhs")
            self._fits(self.domain_dimension if adjoint else self.range_dimension, rhs, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint, adjoint_arg)

    def solvevec(self, rhs, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Like :meth:`solve`, for vectors ``[..., m]``."""
        with self._scope(name):
            rhs = self._argument(rhs, "rhs")
            return tf.squeeze(self.solve(tf.expand_dims(rhs, -1), adjoint), -1)

    def determinant(self, name: str = "det") -> Tensor:
        """Returns the determinants.

        Raises:
            NotImplementedError: for matrices that are not square.
        """
        self._is_determined()
        with self._scope(name):
            return self._determinant()

    def _determinant(self) -> Tensor:
        if self._can_use_cholesky():
            return tf.exp(self.log_abs_determinant())
        return tf.linalg.det(self.to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Returns the logarithms of the determinants' sizes.

        Raises:
            NotImplementedError: for matrices that are not square.
        """
        self._is_determined()
        with self._scope(name):
            return self._log_abs_determinant()

    def _log_abs_determinant(self) -> Tensor:
        if self._can_use_cholesky():
            diag = tf.linalg.diag_part(tf.linalg.cholesky(self.to_dense()))
            return 2.0 * tf.reduce_sum(tf.log(diag), axis=-1)
        return tf.linalg.slogdet(self.to_dense())[1]

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Returns the adjoint, an operator."""
        if self.is_self_adjoint is True:
            return self
        with self._scope(name):
            return self._adjoint()

    def _adjoint(self) -> LinearOperator:
        from flowmill.linalg._combined_operators import LinearOperatorAdjoint  # cycle: linalg._combined_operators imports this module

        return LinearOperatorAdjoint(self, is_non_singular=self.is_non_singular, is_self_adjoint=self.is_self_adjoint,
                                     is_positive_definite=self.is_positive_definite, is_square=self.is_square)

    @property
    def H(self) -> LinearOperator:  # noqa: N802 - TensorFlow's name
        """The adjoint."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Returns the inverse, an operator.

        Raises:
            ValueError: for matrices without one.
        """
        if self.is_square is False:
            raise ValueError("Cannot take the Inverse: This operator represents a non square matrix.")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        with self._scope(name):
            return self._inverse()

    def _inverse(self) -> LinearOperator:
        from flowmill.linalg._combined_operators import LinearOperatorInversion  # cycle: linalg._combined_operators imports this module

        return LinearOperatorInversion(self, is_non_singular=self.is_non_singular, is_self_adjoint=self.is_self_adjoint,
                                       is_positive_definite=self.is_positive_definite, is_square=self.is_square)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Returns the Cholesky factor, an operator.

        Raises:
            ValueError: unless the matrices are known to be positive definite and self-adjoint.
        """
        if not self._can_use_cholesky():
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        with self._scope(name):
            return self._cholesky()

    def _cholesky(self) -> LinearOperator:
        from flowmill.linalg._plain_operators import LinearOperatorLowerTriangular  # cycle: linalg._plain_operators imports this module

        return LinearOperatorLowerTriangular(tf.linalg.cholesky(self.to_dense()), is_non_singular=True, is_self_adjoint=False, is_square=True)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Returns the matrices as a tensor."""
        with self._scope(name):
            return self._to_dense()

    def _to_dense(self) -> Tensor:
        batch = self.batch_shape_tensor()
        n = self.domain_dimension.value
        dense = self.matmul(tf.eye(self.domain_dimension_tensor() if n is None else n, batch_shape=batch, dtype=self.dtype))
        dense.set_shape(self.shape)
        return dense

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Returns the diagonals."""
        with self._scope(name):
            return self._diag_part()

    def _diag_part(self) -> Tensor:
        return tf.linalg.diag_part(self.to_dense())

    def trace(self, name: str = "trace") -> Tensor:
        """Returns the sums of the diagonals."""
        with self._scope(name):
            return self._trace()

    def _trace(self) -> Tensor:
        return tf.reduce_sum(self.diag_part(), axis=-1)

    def add_to_tensor(self, x, name: str = "add_to_tensor") -> Tensor:
        """Returns the sum with matrices ``[..., m, n]``."""
        with self._scope(name):
            return self._add_to_tensor(self._argument(x, "x"))

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """Returns the eigenvalues, for matrices that are known to be self-adjoint.

        Raises:
            NotImplementedError: for others.
        """
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        with self._scope(name):
            return self._eigvals()

    def _eigvals(self) -> Tensor:
        return tf.linalg.eigvalsh(self.to_dense())

    def cond(self, name: str = "cond") -> Tensor:
        """Returns the condition numbers: the largest singular value by the smallest."""
        with self._scope(name):
            return self._cond()

    def _cond(self) -> Tensor:
        if self.is_self_adjoint:
            values = tf.abs(self._eigvals())
        else:
            values = tf.linalg.svd(self.to_dense(), compute_uv=False)
        return tf.reduce_max(values, axis=-1) / tf.reduce_min(values, axis=-1)

    # For subclasses

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _is_solvable(self, what: str) -> None:
        if self.is_non_singular is False:
            raise NotImplementedError(f"{what} not implemented for an operator that is expected to be singular.")
        if self.is_square is False:
            raise NotImplementedError(f"{what} not implemented for an operator that is expected to not be square.")

    def _is_determined(self) -> None:
        if self.is_square is False:
            raise NotImplementedError("Determinant not implemented for an operator that is expected to not be square.")

    def _argument(self, value, name: str) -> Tensor:
        value = convert_to_tensor(value, name=name, preferred_dtype=self.dtype)
        if value.dtype.base_dtype is not self.dtype:
            raise TypeError(f"Input `{name}` must have dtype {self.dtype.name}, but got {value.dtype.base_dtype.name}")
        return value

    def _fits(self, dimension, x: Tensor, axis: int) -> None:
        if x.shape.rank is not None and x.shape.rank >= -axis:
            dimension.assert_is_compatible_with(x.shape.dims[axis])

    @contextlib.contextmanager
    def _scope(self, name: str) -> Iterator[None]:
        with tf.name_scope(self._name), tf.name_scope(name):
            yield


def together(matrix: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Two batches of matrices with the same dimensions before them, for operations that do not broadcast."""
    shapes = [t.shape for t in (matrix, other)]
    if all(s.rank is not None for s in shapes) and all(s[:-2].is_fully_defined() for s in shapes) and shapes[0][:-2].as_list() == shapes[1][:-2].as_list():
        return matrix, other
    batch = broadcast_dynamic_shape(tf.shape(matrix)[:-2], tf.shape(other)[:-2])
    made = []
    for tensor in (matrix, other):
        whole = tf.broadcast_to(tensor, tf.concat([batch, tf.shape(tensor)[-2:]], 0))
        made.append(whole)
    return made[0], made[1]


def adjoint_if(tensor: Tensor, adjoint: bool) -> Tensor:
    """Returns the adjoint of matrices if it is asked for, else the matrices."""
    return tf.linalg.adjoint(tensor) if adjoint else tensor
