"""Linear equations that are solved step by step, by products with the matrix alone."""

from __future__ import annotations

import collections

import flowmill as tf
from flowmill._internal.array import broadcast_dynamic_shape
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.linalg._linear_operator import LinearOperator

# The state after `i` steps: the solution so far, what is left of the right-hand side, the direction of the next step, the size of what is left.
CGState = collections.namedtuple("CGState", "i x r p gamma")


def conjugate_gradient(operator: LinearOperator, rhs, preconditioner: LinearOperator | None = None, x=None, tol: float = 1e-5, max_iter: int = 20,
                       name: str = "conjugate_gradient") -> CGState:
    """Solves ``operator @ x == rhs`` by the method of conjugate gradients (Hestenes and Stiefel, 1952).

    Args:
        operator: self-adjoint and positive definite, by its hints.
        rhs: vectors ``[..., n]``.
        preconditioner: an operator that is near the inverse, with which fewer steps are needed.
        x: the vectors to begin with, zeros if it is None.
        tol: the norm of what is left at which to stop, relative to that of `rhs`.
        max_iter: the greatest number of steps.
        name: the name of the scope.

    Returns:
        A named tuple: the number of steps `i`, the solution `x`, the residual `r`, the direction `p` of the next step, and `gamma`, the product of the
        residual with itself, preconditioned.

    Raises:
        ValueError: if the operator is not known to be self-adjoint and positive definite.
    """
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")
    with tf.name_scope(name):
        rhs = convert_to_tensor(rhs, name="rhs", preferred_dtype=operator.dtype)
        batch = broadcast_dynamic_shape(tf.shape(rhs)[:-1], operator.batch_shape_tensor())
        if preconditioner is not None:
            batch = broadcast_dynamic_shape(batch, preconditioner.batch_shape_tensor())
        whole = tf.broadcast_to(rhs, tf.concat([batch, tf.shape(rhs)[-1:]], 0))
        enough = tol * tf.norm(whole, axis=-1)
        left = whole if x is None else rhs - operator.matvec(x)
        first = tf.zeros_like(whole) if x is None else convert_to_tensor(x, name="x")

        def conditioned(vector: Tensor) -> Tensor:
            return vector if preconditioner is None else preconditioner.matvec(vector)

        def goes_on(state: CGState) -> Tensor:
            return tf.logical_and(state.i < max_iter, tf.reduce_any(tf.norm(state.r, axis=-1) > enough))

        def step(state: CGState) -> list[CGState]:
            moved = operator.matvec(state.p)
            length = (state.gamma / _product(state.p, moved))[..., tf.newaxis]
            residual = state.r - length * moved
            direction = conditioned(residual)
            gamma = _product(residual, direction)
            turned = direction + (gamma / state.gamma)[..., tf.newaxis] * state.p
            return [CGState(state.i + 1, state.x + length * state.p, residual, turned, gamma)]

        direction = conditioned(left)
        begin = CGState(tf.constant(0), first, left, direction, _product(left, direction))
        return tf.while_loop(goes_on, step, [begin], return_same_structure=True)[0]


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Returns the inner products of vectors."""
    return tf.squeeze(tf.linalg.matvec(a[..., tf.newaxis], b, adjoint_a=True), -1)
