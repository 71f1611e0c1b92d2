"""Functions of a decomposition into triangles and a permutation, as `lu` returns it."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.control_flow import with_dependencies
from flowmill._internal.tensor import Tensor
from flowmill.linalg._linear_operator import together


def _parts(lower_upper, perm, validate_args: bool) -> tuple[Tensor, Tensor]:
    lower_upper = tf.convert_to_tensor(lower_upper, name="lower_upper")
    perm = tf.convert_to_tensor(perm, tf.int32, name="perm")
    if lower_upper.shape.rank is not None and lower_upper.shape.rank < 2:
        raise ValueError("Input `lower_upper` must have at least 2 dimensions.")
    if validate_args:
        square = tf.assert_equal(tf.shape(lower_upper)[-1], tf.shape(lower_upper)[-2], message="Input `lower_upper` must be square.")
        lower_upper = with_dependencies([square], lower_upper)
    return lower_upper, perm


def _lower(lower_upper: Tensor) -> Tensor:
    return tf.linalg.set_diag(tf.linalg.band_part(lower_upper, -1, 0), tf.ones_like(tf.linalg.diag_part(lower_upper)))


def _rows(matrix: Tensor, order: Tensor) -> Tensor:
    """Returns the rows of matrices in another order."""
    if matrix.shape.rank == 2 and order.shape.rank == 1:
        return tf.gather(matrix, order)
    rank = matrix.shape.rank
    if rank is None:
        raise ValueError("The number of dimensions must be known.")
    return tf.gather(matrix, order, axis=-2, batch_dims=rank - 2)


def lu_reconstruct(lower_upper, perm, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Returns the matrices of a decomposition.

    Args:
        lower_upper: ``[..., n, n]``: below the diagonal the lower triangle, whose diagonal is ones; above it the upper one.
        perm: for each row of the triangles' product the row of the matrix, ``[..., n]``.
        validate_args: whether to check that they are square when the graph runs.
        name: the name of the scope.
    """
    with tf.name_scope(name or "lu_reconstruct"):
        lower_upper, perm = _parts(lower_upper, perm, validate_args)
        whole = tf.matmul(_lower(lower_upper), tf.linalg.band_part(lower_upper, 0, -1))
        order = tf.argsort(perm, axis=-1) if perm.shape.rank != 1 else tf.math.invert_permutation(perm)
        made = _rows(whole, order)
        made.set_shape(lower_upper.shape)
        return made


def lu_solve(lower_upper, perm, rhs, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Solves the equation of the decomposed matrices times ``x`` equals `rhs`.

    Args:
        lower_upper: as of :func:`lu_reconstruct`.
        perm: as of :func:`lu_reconstruct`.
        rhs: ``[..., n, k]``.
        validate_args: as of :func:`lu_reconstruct`.
        name: the name of the scope.
    """
    with tf.name_scope(name or "lu_solve"):
        lower_upper, perm = _parts(lower_upper, perm, validate_args)
        rhs = tf.convert_to_tensor(rhs, lower_upper.dtype, name="rhs")
        lower_upper, rhs = together(lower_upper, rhs)
        if rhs.shape.rank not in (None, 2):
            perm = tf.broadcast_to(perm, tf.shape(rhs)[:-1])
            perm.set_shape(rhs.shape[:-1])
        permuted = _rows(rhs, perm)
        lower = tf.linalg.triangular_solve(_lower(lower_upper), permuted)
        return tf.linalg.triangular_solve(lower_upper, lower, lower=False)


def lu_matrix_inverse(lower_upper, perm, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Returns the inverses of the matrices of a decomposition; arguments as of :func:`lu_reconstruct`."""
    with tf.name_scope(name or "lu_matrix_inverse"):
        lower_upper, perm = _parts(lower_upper, perm, validate_args)
        shape = tf.shape(lower_upper)
        n = lower_upper.shape.as_list()[-1] if lower_upper.shape.rank is not None else None
        return lu_solve(lower_upper, perm, tf.eye(shape[-1] if n is None else n, batch_shape=shape[:-2], dtype=lower_upper.dtype))
