"""Operators that are made of blocks: along a diagonal, or one times each number of another."""

from __future__ import annotations

import functools

import flowmill as tf
from flowmill._internal.array import broadcast_dynamic_shape, broadcast_static_shape
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.linalg._linear_operator import LinearOperator


def known_of_all(values) -> bool | None:
    """True where all are, None if that is not known."""
    return True if all(values) else None


def hint_of_all(operators, hint: str, given: bool | None, whole: str) -> bool | None:
    """Returns a hint that an operator has if all that it is made of have it.

    Args:
        operators: what it is made of.
        hint: the name of the hint.
        given: its value as the caller knows it, None if the caller does not.
        whole: what is made of them, for an error.

    Raises:
        ValueError: if `given` says otherwise.
    """
    if not all(getattr(operator, hint) for operator in operators):
        return given
    if given is False:
        text = hint.removeprefix("is_").replace("non_singular", "non-singular").replace("self_adjoint", "self-adjoint").replace("_", " ")
        raise ValueError(f"The {whole} of {text} operators is always {text}.")
    return True


def of_one_type(operators) -> list[LinearOperator]:
    """Operators as a list, once they are found to have one type."""
    operators = list(operators)
    if not operators:
        raise ValueError(f"Expected a non-empty list of operators: argument `operators` must be a list of >=1 operators. Found: {operators}")
    first = operators[0].dtype
    for operator in operators:
        if operator.dtype is not first:
            names = [f"{o.name}: {o.dtype.name}" for o in operators]
            raise TypeError(f"Expected all operators to have the same dtype. Found {names}")
    return operators


def joint_batch_shape(operators) -> TensorShape:
    """Returns the joint static shape of the batch dimensions of several operators."""
    return functools.reduce(broadcast_static_shape, [o.batch_shape for o in operators])


def joint_batch_shape_tensor(operators) -> Tensor:
    """Like :func:`joint_batch_shape`, when the graph runs."""
    return functools.reduce(broadcast_dynamic_shape, [o.batch_shape_tensor() for o in operators])


class LinearOperatorBlockDiag(LinearOperator):
    """Operators along the diagonal of a greater one, zeros elsewhere.

    Args:
        operators: the blocks.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope; the blocks' names joined if it is None.
    """

    _matrix_ndims = {"operators": 0}

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True, name: str | None = None):
        parameters = {"operators": operators, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        self._operators = of_one_type(operators)
        hints = {hint: hint_of_all(self._operators, hint, given, "direct sum") for hint, given in (
            ("is_non_singular", is_non_singular), ("is_self_adjoint", is_self_adjoint), ("is_positive_definite", is_positive_definite))}
        name = "_ds_".join(o.name for o in self._operators) if name is None else name
        super().__init__(self._operators[0].dtype, None, **hints, is_square=is_square, name=name, parameters=parameters)

    @property
    def operators(self) -> list[LinearOperator]:
        """The blocks."""
        return self._operators

    def _shape(self):
        sizes = [sum(d.value for d in dims) if all(d.value is not None for d in dims) else None for dims in (
            [o.range_dimension for o in self._operators], [o.domain_dimension for o in self._operators])]
        return joint_batch_shape(self._operators).concatenate(sizes)

    def _shape_tensor(self):
        rows = tf.add_n([o.range_dimension_tensor() for o in self._operators])
        columns = tf.add_n([o.domain_dimension_tensor() for o in self._operators])
        return tf.concat([joint_batch_shape_tensor(self._operators), tf.stack([rows, columns])], 0)

    def _cut(self, x: Tensor, adjoint: bool) -> list[Tensor]:
        """Rows for each block."""
        sizes = [(o.range_dimension if adjoint else o.domain_dimension).value for o in self._operators]
        if None in sizes:
            sizes = tf.stack([o.range_dimension_tensor() if adjoint else o.domain_dimension_tensor() for o in self._operators])
            return tf.split(x, sizes, axis=-2, num=len(self._operators))
        return tf.split(x, sizes, axis=-2)

    def _each(self, x: Tensor, adjoint: bool, adjoint_arg: bool, cut_adjoint: bool, function) -> Tensor:
        parts = self._cut(tf.linalg.adjoint(x) if adjoint_arg else x, cut_adjoint)
        made = [function(o, part) for o, part in zip(self._operators, parts)]
        if len({tuple(m.shape.as_list()[:-2]) if m.shape.rank is not None else None for m in made}) > 1:
            batch = functools.reduce(broadcast_dynamic_shape, [tf.shape(m)[:-2] for m in made])
            made = [tf.broadcast_to(m, tf.concat([batch, tf.shape(m)[-2:]], 0)) for m in made]
        return tf.concat(made, axis=-2)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._each(x, adjoint, adjoint_arg, adjoint, lambda o, part: o.matmul(part, adjoint=adjoint))

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._each(rhs, adjoint, adjoint_arg, not adjoint, lambda o, part: o.solve(part, adjoint=adjoint))

    def _determinant(self):
        return functools.reduce(lambda a, b: a * b, [o.determinant() for o in self._operators])

    def _log_abs_determinant(self):
        return functools.reduce(lambda a, b: a + b, [o.log_abs_determinant() for o in self._operators])

    def _joined(self, parts: list[Tensor]) -> Tensor:
        batch = self.batch_shape_tensor()
        return tf.concat([tf.broadcast_to(p, tf.concat([batch, tf.shape(p)[-1:]], 0)) for p in parts], axis=-1)

    def _diag_part(self):
        if all(o.is_square for o in self._operators):
            return self._joined([o.diag_part() for o in self._operators])
        return super()._diag_part()

    def _trace(self):
        if all(o.is_square for o in self._operators):
            return functools.reduce(lambda a, b: a + b, [o.trace() for o in self._operators])
        return super()._trace()

    def _eigvals(self):
        return self._joined([o.eigvals() for o in self._operators])

    def _adjoint(self):
        return LinearOperatorBlockDiag([o.adjoint() for o in self._operators], self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _inverse(self):
        return LinearOperatorBlockDiag([o.inverse() for o in self._operators], self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _cholesky(self):
        return LinearOperatorBlockDiag([o.cholesky() for o in self._operators], True, None, None, True)


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators: each number of the first times the whole of the next.

    Args:
        operators: the factors.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope; the factors' names joined if it is None.
    """

    _matrix_ndims = {"operators": 0}

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name: str | None = None):
        parameters = {"operators": operators, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        self._operators = of_one_type(operators)
        hints = {hint: hint_of_all(self._operators, hint, given, "Kronecker product") for hint, given in (
            ("is_non_singular", is_non_singular), ("is_self_adjoint", is_self_adjoint), ("is_positive_definite", is_positive_definite),
            ("is_square", is_square))}
        name = "_x_".join(o.name for o in self._operators) if name is None else name
        super().__init__(self._operators[0].dtype, None, **hints, name=name, parameters=parameters)

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self):
        sizes = []
        for dims in ([o.range_dimension for o in self._operators], [o.domain_dimension for o in self._operators]):
            sizes.append(None if any(d.value is None for d in dims) else functools.reduce(lambda a, b: a * b, [d.value for d in dims]))
        return joint_batch_shape(self._operators).concatenate(sizes)

    def _shape_tensor(self):
        rows = tf.reduce_prod(tf.stack([o.range_dimension_tensor() for o in self._operators]))
        columns = tf.reduce_prod(tf.stack([o.domain_dimension_tensor() for o in self._operators]))
        return tf.concat([joint_batch_shape_tensor(self._operators), tf.stack([rows, columns])], 0)

    def _to_dense(self):
        found = self._operators[0].to_dense()
        for operator in self._operators[1:]:
            block = operator.to_dense()
            whole = found[..., :, tf.newaxis, :, tf.newaxis] * block[..., tf.newaxis, :, tf.newaxis, :]
            sizes = tf.shape(whole)
            found = tf.reshape(whole, tf.concat([sizes[:-4], [sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]]], 0))
        found.set_shape(self.shape)
        return found

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        inverses = LinearOperatorKronecker([o.inverse() for o in self._operators])
        return inverses.matmul(rhs, adjoint, adjoint_arg)

    def _powers(self):
        """Returns the factors, with how often the determinant of each is one of the product's."""
        total = self.domain_dimension_tensor()
        return [(o, tf.cast(total / o.domain_dimension_tensor(), self.dtype)) for o in self._operators]

    def _determinant(self):
        return functools.reduce(lambda a, b: a * b, [o.determinant() ** power for o, power in self._powers()])

    def _log_abs_determinant(self):
        return functools.reduce(lambda a, b: a + b, [o.log_abs_determinant() * tf.cast(power, o.dtype.real_dtype) for o, power in self._powers()])

    def _trace(self):
        return functools.reduce(lambda a, b: a * b, [o.trace() for o in self._operators])

    def _adjoint(self):
        return LinearOperatorKronecker([o.adjoint() for o in self._operators], self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _inverse(self):
        return LinearOperatorKronecker([o.inverse() for o in self._operators], self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _cholesky(self):
        return LinearOperatorKronecker([o.cholesky() for o in self._operators], True, None, None, True)


class LinearOperatorBlockLowerTriangular(LinearOperator):
    """Operators on and below the diagonal of a greater one, zeros above.

    Args:
        operators: rows of blocks, of one, two, … operators; those at the ends of rows are square.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.

    Raises:
        ValueError: if the rows are not one longer each, or sizes do not fit.
        TypeError: for blocks of several types.
    """

    _matrix_ndims = {"operators": 0}

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name: str = "LinearOperatorBlockLowerTriangular"):
        parameters = {"operators": operators, "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                      "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        self._rows = [list(row) for row in operators]
        for i, row in enumerate(self._rows):
            if len(row) != i + 1:
                raise ValueError(f"Argument `operators[{i}]` must contain `{i + 1}` blocks. Received: {len(row)} blocks.")
        of_one_type([block for row in self._rows for block in row])
        self._diagonal = [row[-1] for row in self._rows]
        if any(block.is_square is False for block in self._diagonal):
            raise ValueError("Matrices on the diagonal must be square.")
        for i, row in enumerate(self._rows):
            for j, (block, column) in enumerate(zip(row, self._diagonal)):
                for end, size, diagonal in (("range", block.range_dimension, self._diagonal[i].range_dimension),
                                            ("domain", block.domain_dimension, column.domain_dimension)):
                    if not size.is_compatible_with(diagonal):
                        raise ValueError(f"Argument `operators[{i}][{j}].{end}_dimension` ({size}) must be the same as that of the diagonal ({diagonal}).")
        if any(block.is_non_singular is False for block in self._diagonal):
            if is_non_singular:
                raise ValueError("A blockwise lower-triangular operator with a singular operator on the diagonal is always singular.")
            is_non_singular = False
        is_non_singular = hint_of_all(self._diagonal, "is_non_singular", is_non_singular, "blockwise lower-triangular operator")
        super().__init__(self._diagonal[0].dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def operators(self) -> list[list[LinearOperator]]:
        """The rows of blocks."""
        return self._rows

    def _inverse(self):
        from flowmill.linalg._plain_operators import LinearOperatorFullMatrix  # start-up: only inverses of blocks need it

        rows: list[list[LinearOperator]] = []
        for i, row in enumerate(self._rows):
            last, made = row[-1].inverse(), []
            for j in range(i):
                before = functools.reduce(lambda a, b: a + b, [row[k].matmul(rows[k][j].to_dense()) for k in range(j, i)])
                made.append(LinearOperatorFullMatrix(-last.matmul(before)))
            rows.append([*made, last])
        return LinearOperatorBlockLowerTriangular(rows, is_non_singular=True, is_self_adjoint=self.is_self_adjoint,
                                                  is_positive_definite=self.is_positive_definite, is_square=True)

    def _blocks(self) -> list[LinearOperator]:
        return [block for row in self._rows for block in row]

    def _shape(self):
        sizes = [block.range_dimension.value for block in self._diagonal]
        n = None if None in sizes else sum(sizes)
        return joint_batch_shape(self._blocks()).concatenate([n, n])

    def _shape_tensor(self):
        n = tf.add_n([block.range_dimension_tensor() for block in self._diagonal])
        return tf.concat([joint_batch_shape_tensor(self._blocks()), tf.stack([n, n])], 0)

    def _cut(self, x: Tensor) -> list[Tensor]:
        """Rows for each row of blocks."""
        sizes = [block.range_dimension.value for block in self._diagonal]
        if None in sizes:
            return tf.split(x, tf.stack([b.range_dimension_tensor() for b in self._diagonal]), axis=-2, num=len(self._diagonal))
        return tf.split(x, sizes, axis=-2)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        if len({tuple(p.shape.as_list()[:-2]) if p.shape.rank is not None else None for p in parts}) > 1:
            batch = functools.reduce(broadcast_dynamic_shape, [tf.shape(p)[:-2] for p in parts])
            parts = [tf.broadcast_to(p, tf.concat([batch, tf.shape(p)[-2:]], 0)) for p in parts]
        return tf.concat(parts, axis=-2)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        parts = self._cut(tf.linalg.adjoint(x) if adjoint_arg else x)
        count = range(len(parts))
        if adjoint:
            made = [functools.reduce(lambda a, b: a + b, [self._rows[j][i].matmul(parts[j], adjoint=True) for j in count if j >= i]) for i in count]
        else:
            made = [functools.reduce(lambda a, b: a + b, [block.matmul(part) for block, part in zip(row, parts)]) for row in self._rows]
        return self._joined(made)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        parts = self._cut(tf.linalg.adjoint(rhs) if adjoint_arg else rhs)
        # From the first row on; for the adjoint from the last one back.
        count = len(parts)
        solved: dict[int, Tensor] = {}
        for i in reversed(range(count)) if adjoint else range(count):
            left = parts[i]
            for j, done in solved.items():
                left = left - (self._rows[j][i].matmul(done, adjoint=True) if adjoint else self._rows[i][j].matmul(done))
            solved[i] = self._diagonal[i].solve(left, adjoint=adjoint)
        return self._joined([solved[i] for i in range(count)])

    def _determinant(self):
        return functools.reduce(lambda a, b: a * b, [block.determinant() for block in self._diagonal])

    def _log_abs_determinant(self):
        return functools.reduce(lambda a, b: a + b, [block.log_abs_determinant() for block in self._diagonal])

    def _trace(self):
        return functools.reduce(lambda a, b: a + b, [block.trace() for block in self._diagonal])
