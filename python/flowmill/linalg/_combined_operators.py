"""Operators that are made of others: products, adjoints, inverses, updates of low rank."""

from __future__ import annotations

import functools

import flowmill as tf
from flowmill._internal.array import broadcast_dynamic_shape, broadcast_static_shape
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.linalg._block_operators import LinearOperatorBlockDiag, joint_batch_shape, joint_batch_shape_tensor, known_of_all, of_one_type
from flowmill.linalg._identity_operators import LinearOperatorIdentity, LinearOperatorScaledIdentity, LinearOperatorZeros
from flowmill.linalg._linear_operator import LinearOperator, together
from flowmill.linalg._plain_operators import LinearOperatorDiag, LinearOperatorLowerTriangular


def product(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """Returns the product of two operators, of a simpler kind if there is one."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, LinearOperatorIdentity):
            return other
    if isinstance(left, LinearOperatorZeros):
        return left
    if isinstance(right, LinearOperatorZeros):
        return right
    both = left, right
    hints = {"is_non_singular": known_of_all(o.is_non_singular for o in both), "is_square": True}
    if all(isinstance(o, LinearOperatorScaledIdentity) for o in both):
        return LinearOperatorScaledIdentity(left._rows, left.multiplier * right.multiplier, **hints)
    if all(isinstance(o, (LinearOperatorDiag, LinearOperatorScaledIdentity)) for o in both):
        return LinearOperatorDiag(_diagonal(left) * _diagonal(right), **hints)
    if isinstance(left, LinearOperatorDiag) and isinstance(right, LinearOperatorLowerTriangular):
        return LinearOperatorLowerTriangular(left.matmul(right.to_dense()), is_non_singular=hints["is_non_singular"])
    if isinstance(left, LinearOperatorLowerTriangular) and isinstance(right, LinearOperatorDiag):
        return LinearOperatorLowerTriangular(left.to_dense() * tf.expand_dims(right.diag, -2), is_non_singular=hints["is_non_singular"])
    is_square = _is_square(left, right)
    known = False if is_square is False else None
    is_non_singular = known
    if is_square:
        is_non_singular = False if False in [o.is_non_singular for o in both] else hints["is_non_singular"]
    if all(isinstance(o, LinearOperatorBlockDiag) for o in both) and _have_equal_blocks(left, right):
        return LinearOperatorBlockDiag([a.matmul(b) for a, b in zip(left.operators, right.operators)], is_non_singular=is_non_singular, is_square=is_square)
    return LinearOperatorComposition([left, right], is_non_singular, known, known, is_square)


def _is_square(left: LinearOperator, right: LinearOperator) -> bool | None:
    """Returns true if a product is square, None if that is not known."""
    if left.is_square and right.is_square:
        return True
    if left.is_square is False and right.is_square is False:
        ends = left.range_dimension.value, right.domain_dimension.value
        return None if None in ends else ends[0] == ends[1]
    return None if None in (left.is_square, right.is_square) else False


def _have_equal_blocks(left: LinearOperatorBlockDiag, right: LinearOperatorBlockDiag) -> bool:
    """Returns true if the blocks of two operators are known to fit each other."""
    if len(left.operators) != len(right.operators):
        return False
    sizes = [(a.domain_dimension.value, b.range_dimension.value) for a, b in zip(left.operators, right.operators)]
    return all(a is not None and a == b for a, b in sizes)


def _is_own_adjoint(operators: list[LinearOperator]) -> bool:
    """Returns true if a product is known to be its own adjoint: one of that kind, or ``A B (A B)'``."""
    if len(operators) == 1:
        return bool(operators[0].is_self_adjoint)
    return len(operators) % 2 == 0 and all(_are_adjoints(a, b) for a, b in zip(operators[:len(operators) // 2], reversed(operators)))


def _are_adjoints(a: LinearOperator, b: LinearOperator) -> bool:
    if a is b:
        return bool(a.is_self_adjoint)
    return any(isinstance(one, LinearOperatorAdjoint) and one.operator is other for one, other in ((a, b), (b, a)))


def _diagonal(operator: LinearOperator) -> Tensor:
    return operator.diag if isinstance(operator, LinearOperatorDiag) else operator.multiplier[..., tf.newaxis]


class LinearOperatorComposition(LinearOperator):
    """The product of operators.

    Args:
        operators: the factors.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope; the factors' names joined if it is None.

    Raises:
        ValueError: for no factors, and if their sizes do not fit.
        TypeError: for factors of several types.
    """

    _matrix_ndims = {"operators": 0}

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name: str | None = None):
        parameters = {"operators": operators, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        self._operators = of_one_type(operators)
        if all(o.is_non_singular for o in self._operators):
            if is_non_singular is False:
                raise ValueError("The composition of non-singular operators is always non-singular.")
            is_non_singular = True
        if _is_own_adjoint(self._operators):
            if is_self_adjoint is False:
                raise ValueError("The composition was determined to be self-adjoint but user provided incorrect `False` hint.")
            is_self_adjoint = True
            if is_non_singular and len(self._operators) % 2 == 0:
                if is_positive_definite is False:
                    raise ValueError("The composition was determined to be non-singular and positive definite but user provided incorrect `False` hint.")
                is_positive_definite = True
        for left, right in zip(self._operators, self._operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        name = "_o_".join(o.name for o in self._operators) if name is None else name
        super().__init__(self._operators[0].dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name, parameters)

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self):
        ends = [self._operators[0].range_dimension.value, self._operators[-1].domain_dimension.value]
        return joint_batch_shape(self._operators).concatenate(ends)

    def _shape_tensor(self):
        ends = tf.stack([self._operators[0].range_dimension_tensor(), self._operators[-1].domain_dimension_tensor()])
        return tf.concat([joint_batch_shape_tensor(self._operators), ends], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        factors = self._operators if adjoint else self._operators[::-1]
        x = factors[0].matmul(x, adjoint, adjoint_arg)
        for operator in factors[1:]:
            x = operator.matmul(x, adjoint)
        return x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        factors = self._operators[::-1] if adjoint else self._operators
        rhs = factors[0].solve(rhs, adjoint, adjoint_arg)
        for operator in factors[1:]:
            rhs = operator.solve(rhs, adjoint)
        return rhs

    def _cholesky(self):
        left = self._operators[0]
        if len(self._operators) != 2 or not isinstance(left, LinearOperatorLowerTriangular) or not _is_own_adjoint(self._operators):
            return super()._cholesky()
        if left.is_positive_definite:
            return left
        # The factor has a positive diagonal: columns times signs leave the product as it is.
        signs = tf.expand_dims(tf.sign(left.diag_part()), -2)
        return LinearOperatorLowerTriangular(left.tril / signs, left.is_non_singular, left.is_self_adjoint, True, True)

    def _determinant(self):
        return functools.reduce(lambda a, b: a * b, [o.determinant() for o in self._operators])

    def _log_abs_determinant(self):
        return functools.reduce(lambda a, b: a + b, [o.log_abs_determinant() for o in self._operators])


def _agreed(what: str, given: bool | None, known: bool | None) -> bool | None:
    """Returns a hint that an operator shares with the one that it is made of.

    Raises:
        ValueError: if the hints differ.
    """
    if given is not None and known is not None and given != known:
        raise ValueError(f"The hint that the operator is {what} is {given}, but the operator that it is made of has the hint {known}.")
    return known if given is None else given


class _Wrapped(LinearOperator):
    """Something done to one operator."""

    _matrix_ndims = {"operator": 0}

    _suffix: str

    def __init__(self, operator, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name: str | None = None):
        parameters = {"operator": operator, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        self._operator = operator
        hints = [_agreed(*pair) for pair in (
            ("non-singular", is_non_singular, operator.is_non_singular), ("self-adjoint", is_self_adjoint, operator.is_self_adjoint),
            ("positive-definite", is_positive_definite, operator.is_positive_definite), ("square", is_square, operator.is_square))]
        super().__init__(operator.dtype, None, *hints, name=operator.name + self._suffix if name is None else name, parameters=parameters)

    @property
    def operator(self) -> LinearOperator:
        """The operator that it is made of."""
        return self._operator


class LinearOperatorAdjoint(_Wrapped):
    """The adjoint of an operator.

    Args:
        operator: the operator.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`; those of the operator if they are None.
        name: the name of its scope.
    """

    _suffix = "_adjoint"

    def _shape(self):
        shape = self._operator.shape
        return shape if shape.rank is None else shape[:-2].concatenate([shape.as_list()[-1], shape.as_list()[-2]])

    def _shape_tensor(self):
        shape = self._operator.shape_tensor()
        return tf.concat([shape[:-2], shape[-1:], shape[-2:-1]], 0)

    def _adjoint(self):
        return self._operator

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(x, not adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.solve(rhs, not adjoint, adjoint_arg)

    def _determinant(self):
        found = self._operator.determinant()
        return tf.conj(found) if self.is_self_adjoint is not True and self.dtype.is_complex else found

    def _log_abs_determinant(self):
        return self._operator.log_abs_determinant()

    def _to_dense(self):
        return tf.linalg.adjoint(self._operator.to_dense())

    def _cond(self):
        return self._operator.cond()


class LinearOperatorInversion(_Wrapped):
    """The inverse of an operator.

    Args:
        operator: the operator.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`; those of the operator if they are None.
        name: the name of its scope.

    Raises:
        ValueError: for an operator that has no inverse.
    """

    _suffix = "_inv"

    def __init__(self, operator, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name: str | None = None):
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError(f"Argument `is_non_singular` or argument `operator` must have supplied hint `is_non_singular` equal to `True` or `None`. "
                             f"Found `operator.is_non_singular`: {operator.is_non_singular}, `is_non_singular`: {is_non_singular}.")
        if operator.is_square is False or is_square is False:
            raise ValueError(f"Argument `is_square` or argument `operator` must have supplied hint `is_square` equal to `True` or `None`. Found "
                             f"`operator.is_square`: {operator.is_square}, `is_square`: {is_square}.")
        super().__init__(operator, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def _shape(self):
        return self._operator.shape

    def _shape_tensor(self):
        return self._operator.shape_tensor()

    def _inverse(self):
        return self._operator

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.solve(x, adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self):
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self):
        return -self._operator.log_abs_determinant()

    def _eigvals(self):
        return 1.0 / self._operator.eigvals()

    def _cond(self):
        return self._operator.cond()


class LinearOperatorLowRankUpdate(LinearOperator):
    """``L + U D V'``, which is solved by way of a system of the rank of ``D``.

    Args:
        base_operator: ``L``, ``[..., m, n]``.
        u: ``[..., m, k]``.
        diag_update: the diagonal of ``D``, ``[..., k]``; ones if it is None.
        v: ``[..., n, k]``; `u` if it is None.
        is_diag_update_positive: whether ``D`` is positive.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    _matrix_ndims = {"base_operator": 0, "u": 2, "diag_update": 1, "v": 2}

    def __init__(self, base_operator, u, diag_update=None, v=None, is_diag_update_positive=None, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=None, name: str = "LinearOperatorLowRankUpdate"):
        parameters = {"base_operator": base_operator, "u": u, "diag_update": diag_update, "v": v,
                      "is_diag_update_positive": is_diag_update_positive, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError("Default diagonal is the identity, which is positive. However, user set 'is_diag_update_positive' to False.")
            is_diag_update_positive = True
        positive = v is None and bool(is_diag_update_positive) and bool(base_operator.is_positive_definite)
        if v is None and base_operator.is_self_adjoint:
            if is_self_adjoint is False:
                raise ValueError("A low rank update of a self-adjoint operator by U D U' is always self-adjoint.")
            is_self_adjoint = True if not base_operator.dtype.is_complex or is_diag_update_positive else is_self_adjoint
        if positive:
            if is_positive_definite is False or is_non_singular is False:
                raise ValueError("A positive low rank update of a positive definite operator is always positive definite.")
            is_positive_definite = is_non_singular = True
        with tf.name_scope(name):
            self._u = tf.convert_to_tensor(u, name="u")
            self._v = self._u if v is None else tf.convert_to_tensor(v, name="v")
            self._diag_update = None if diag_update is None else tf.convert_to_tensor(diag_update, name="diag_update")
        for tensor, what in ((self._u, "u"), (self._v, "v")):
            if tensor.dtype.base_dtype is not base_operator.dtype:
                raise TypeError(f"Input {what} has dtype {tensor.dtype.name}, the base operator has {base_operator.dtype.name}.")
        self._base_operator, self._is_diag_update_positive = base_operator, is_diag_update_positive
        super().__init__(base_operator.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name, parameters)

    @property
    def base_operator(self) -> LinearOperator:
        """``L``."""
        return self._base_operator

    @property
    def u(self) -> Tensor:
        """``U``."""
        return self._u

    @property
    def v(self) -> Tensor:
        """``V``."""
        return self._v

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal of ``D``, None for ones."""
        return self._diag_update

    @property
    def is_diag_update_positive(self) -> bool | None:
        """True if ``D`` is positive, None if that is not known."""
        return self._is_diag_update_positive

    def _shape(self):
        if self._u.shape.rank is None or self._v.shape.rank is None or self._base_operator.shape.rank is None:
            return TensorShape(None)
        batch = broadcast_static_shape(broadcast_static_shape(self._base_operator.batch_shape, self._u.shape[:-2]), self._v.shape[:-2])
        return batch.concatenate(self._base_operator.shape[-2:])

    def _shape_tensor(self):
        batch = broadcast_dynamic_shape(self._base_operator.batch_shape_tensor(), broadcast_dynamic_shape(tf.shape(self._u)[:-2], tf.shape(self._v)[:-2]))
        return tf.concat([batch, self._base_operator.shape_tensor()[-2:]], 0)

    def _scaled(self, x: Tensor, adjoint: bool) -> Tensor:
        """``D x``."""
        if self._diag_update is None:
            return x
        return tf.expand_dims(tf.conj(self._diag_update) if adjoint else self._diag_update, -1) * x

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        inner = tf.matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return self._base_operator.matmul(x, adjoint, adjoint_arg) + tf.matmul(left, self._scaled(inner, adjoint))

    def _capacitance(self) -> Tensor:
        """``inv(D) + V' inv(L) U``."""
        inner = tf.matmul(self._v, self._base_operator.solve(self._u), adjoint_a=True)
        diag = tf.linalg.diag_part(inner)
        return tf.linalg.set_diag(inner, diag + (1.0 if self._diag_update is None else 1.0 / self._diag_update))

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        # The identity of Woodbury.
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        base = self._base_operator.solve(rhs, adjoint, adjoint_arg)
        inner = tf.matmul(right, base, adjoint_a=True)
        solved = tf.linalg.solve(*together(self._capacitance(), inner), adjoint=adjoint)
        return base - self._base_operator.solve(tf.matmul(left, solved), adjoint)

    def _determinant(self):
        update = tf.linalg.det(self._capacitance())
        if self._diag_update is not None:
            update = update * tf.reduce_prod(self._diag_update, axis=-1)
        return self._base_operator.determinant() * update

    def _log_abs_determinant(self):
        update = tf.linalg.slogdet(self._capacitance())[1]
        if self._diag_update is not None:
            update = update + tf.reduce_sum(tf.log(tf.abs(self._diag_update)), axis=-1)
        return self._base_operator.log_abs_determinant() + update

    def _diag_part(self):
        return self._base_operator.diag_part() + tf.reduce_sum(self._u * tf.conj(self._v) * (
            1.0 if self._diag_update is None else tf.expand_dims(self._diag_update, -2)), axis=-1)
