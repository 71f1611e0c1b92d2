"""Eigenvalues and eigenvectors of Hermitian tridiagonal matrices."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor

# How far the interval that is searched goes past its bounds, in rounding errors.
_SLACK = 2.1


def eigh_tridiagonal(alpha, beta, eigvals_only: bool = True, select: str = "a", select_range=None, tol=None,
                     name: str | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """Returns the eigenvalues of a Hermitian tridiagonal matrix in rising order, and the eigenvectors, a column each.

    Args:
        alpha: the diagonal, a vector of which only the real part counts.
        beta: the diagonal above it, one number less.
        eigvals_only: leaves the eigenvectors out.
        select: which eigenvalues: all (``"a"``), those from one number in order to another (``"i"``), those of an interval (``"v"``).
        select_range: the first and the last number, or the ends of the interval.
        tol: how exact the eigenvalues have to be at least; by default as rounding allows.
        name: the name of the scope.

    Raises:
        ValueError: if the types differ, or for another `select`.
    """
    with op_scope(name, "eigh_tridiagonal"):
        alpha = convert_to_tensor(alpha, name="alpha")
        size = alpha.shape.as_list()[0]
        if size is None:
            raise ValueError("'alpha' must have a known size.")
        if size <= 1:
            return tf.math.real(alpha)
        beta = convert_to_tensor(beta, name="beta")
        if alpha.dtype.base_dtype != beta.dtype.base_dtype:
            raise ValueError("'alpha' and 'beta' must have the same type.")
        if select not in ("a", "i", "v"):
            raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
        found, numbers = _Bisection(tf.math.real(alpha), beta, size).search(select, select_range, tol)
        if eigvals_only:
            return found
        _, vectors = tf.linalg.eigh(_dense(alpha, beta))
        return found, tf.gather(vectors, numbers, axis=1)


def _dense(alpha: Tensor, beta: Tensor) -> Tensor:
    diagonal = tf.cast(tf.math.real(alpha), beta.dtype)
    return tf.linalg.diag(diagonal) + tf.linalg.diag(beta, k=1) + tf.linalg.diag(tf.math.conj(beta), k=-1)


class _Bisection:
    """The search for eigenvalues by halving intervals, by how many eigenvalues lie below a number."""

    def __init__(self, diagonal: Tensor, beta: Tensor, size: int):
        self.size, self.diagonal = size, diagonal
        self.limits = np.finfo(diagonal.dtype.as_numpy_dtype)
        beside = tf.abs(beta)
        self.squares = tf.square(beside)
        # Gershgorin's circles.
        radius = tf.concat([beside[:1], beside[:-1] + beside[1:], beside[-1:]], 0)
        self.lowest = tf.maximum(self.limits.min, tf.reduce_min(diagonal - radius))
        self.highest = tf.minimum(self.limits.max, tf.reduce_max(diagonal + radius))
        self.norm = tf.maximum(tf.abs(self.lowest), tf.abs(self.highest))
        one = diagonal.dtype.as_numpy_dtype(1)
        safe = max(one / self.limits.max, (one + self.limits.eps) * self.limits.tiny)
        # What a quotient is kept away from zero by, and the replacement for a first one that is zero.
        self.least = safe * tf.maximum(one, tf.reduce_max(self.squares))
        self.first = tf.square(self.limits.eps * beside[0])

    def search(self, select: str, bounds, tol) -> tuple[Tensor, Tensor]:
        """Returns the eigenvalues that are selected, and their numbers."""
        tolerance = self.limits.eps * self.norm
        if tol:
            tolerance = tf.maximum(tol, tolerance)
        slack = self.size * _SLACK * self.limits.eps * self.norm
        low, high = self.lowest, self.highest
        checks = []
        if select == "i":
            checks.append(tf.assert_less_equal(bounds[0], bounds[1], message="Got empty index range in select_range."))
            numbers = tf.range(bounds[0], bounds[1] + 1)
        elif select == "v":
            checks.append(tf.assert_less(bounds[0], bounds[1], message="Got empty interval in select_range."))
            low, high = (tf.cast(bound, self.diagonal.dtype) for bound in (bounds[0], bounds[1]))
        else:
            numbers = tf.range(self.size)
        with tf.control_dependencies([check for check in checks if check is not None]):
            low = tf.maximum(low - slack - 2 * _SLACK * self.least, self.limits.min)
            high = tf.minimum(high + slack + _SLACK * self.least, self.limits.max)
        if select == "v":
            ends = self.below(tf.stack([low, high]))
            numbers = tf.range(ends[0], ends[1])
        low, high = (tf.fill(tf.shape(numbers), bound) for bound in (low, high))

        def is_wide(step, low, high):
            return tf.logical_and(step < self.limits.nmant + 1, tolerance < tf.reduce_max(high - low))

        def halved(step, low, high):
            middle = 0.5 * low + 0.5 * high
            is_above = self.below(middle) <= numbers
            return step + 1, tf.where_v2(is_above, middle, low), tf.where_v2(is_above, high, middle)

        _, low, high = tf.while_loop(is_wide, halved, [0, low, high])
        return 0.5 * low + 0.5 * high, numbers

    def below(self, at: Tensor) -> Tensor:
        """Returns the number of eigenvalues below each number, by the signs of the quotients of Sturm's sequence."""
        quotient = self.diagonal[0] - at
        count = tf.cast(quotient < 0, tf.int32)
        quotient = tf.where_v2(tf.equal(quotient, 0), self.first, quotient)

        def step(i, quotient, count):
            quotient = self.diagonal[i] - self.squares[i - 1] / quotient - at
            is_below = quotient <= self.least
            return i + 1, tf.where_v2(is_below, tf.minimum(quotient, -self.least), quotient), count + tf.cast(is_below, tf.int32)

        return tf.while_loop(lambda i, *_: i < self.size, step, [1, quotient, count], back_prop=False)[2]
