"""Operators that are diagonal where vectors are taken for spectra: circulant matrices, alone or as blocks of one."""

from __future__ import annotations

import functools

import flowmill as tf
from flowmill._internal.array import broadcast_static_shape
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.linalg._linear_operator import LinearOperator, adjoint_if


# Fourier's and its inverse, by how many dimensions they go along.
_TRANSFORMS = {1: (tf.signal.fft, tf.signal.ifft), 2: (tf.signal.fft2d, tf.signal.ifft2d), 3: (tf.signal.fft3d, tf.signal.ifft3d)}


class _Circulant(LinearOperator):
    """A nested circulant operator; subclasses say how deep."""

    _depth: int

    def __init__(self, spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name: str):
        parameters = {"spectrum": spectrum, "input_output_dtype": input_output_dtype, "is_non_singular": is_non_singular,
                      "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite, "is_square": is_square, "name": name}
        with tf.name_scope(name):
            self._spectrum = tf.convert_to_tensor(spectrum, name="spectrum")
            if self._spectrum.shape.rank is not None and self._spectrum.shape.rank < self._depth:
                raise ValueError(f"Argument spectrum must have at least {self._depth} dimensions. Found: {self._spectrum}.")
            if not self._spectrum.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
                is_self_adjoint = True
        if is_square is False:
            raise ValueError(f"A {type(self).__name__} operator is always square.")
        super().__init__(input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues, ``[..., n1, …]``."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """The depth to which circulant blocks are nested."""
        return self._depth

    @property
    def block_shape(self) -> TensorShape:
        """The static sizes of the blocks."""
        return self._spectrum.shape[-self._depth:]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Returns the inverse transform of :attr:`spectrum`, with which the operator convolves."""
        with self._scope(name):
            kernel = _TRANSFORMS[self._depth][1](self._complex(self._spectrum))
            return self._of_type(kernel)

    def _complex(self, tensor: Tensor) -> Tensor:
        kind = tf.complex128 if self._spectrum.dtype.name in ("float64", "complex128") or tensor.dtype.name in ("float64", "complex128") else tf.complex64
        return tf.cast(tensor, kind)

    def _shape(self):
        shape = self._spectrum.shape
        if shape.rank is None:
            return TensorShape(None)
        sizes = shape[-self._depth:].as_list()
        n = None if None in sizes else functools.reduce(lambda a, b: a * b, sizes)
        return shape[:-self._depth].concatenate([n, n])

    def _shape_tensor(self):
        shape = tf.shape(self._spectrum)
        n = tf.reduce_prod(shape[-self._depth:])
        return tf.concat([shape[:-self._depth], tf.stack([n, n])], 0)

    def _multiplied(self, x: Tensor, eigenvalues: Tensor) -> Tensor:
        """``x`` with its spectrum times eigenvalues."""
        forward, backward = _TRANSFORMS[self._depth]
        columns = tf.linalg.matrix_transpose(self._complex(x))
        shape, sizes = tf.shape(columns), tf.shape(self._spectrum)[-self._depth:]
        blocks = tf.reshape(columns, tf.concat([shape[:-1], sizes], 0))
        made = backward(forward(blocks) * tf.expand_dims(self._complex(eigenvalues), -self._depth - 1))
        flat = tf.reshape(made, tf.concat([tf.shape(made)[:-self._depth], shape[-1:]], 0))
        found = tf.linalg.matrix_transpose(flat)
        found = tf.cast(found, self.dtype) if self.dtype.is_complex else tf.cast(tf.real(found), self.dtype)
        if x.shape.rank is not None and self.shape.rank is not None:
            found.set_shape(broadcast_static_shape(x.shape[:-2], self.batch_shape).concatenate([self.range_dimension.value, x.shape.as_list()[-1]]))
        return found

    def _values(self, adjoint: bool) -> Tensor:
        return tf.conj(self._spectrum) if adjoint else self._spectrum

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._multiplied(adjoint_if(x, adjoint_arg), self._values(adjoint))

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._multiplied(adjoint_if(rhs, adjoint_arg), 1.0 / self._values(adjoint))

    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _of_type(self, value: Tensor) -> Tensor:
        if value.dtype.is_complex and not self.dtype.is_complex:
            value = tf.real(value)
        return tf.cast(value, self.dtype)

    def _determinant(self):
        return self._of_type(tf.reduce_prod(self._spectrum, axis=self._axes()))

    def _log_abs_determinant(self):
        found = tf.reduce_sum(tf.log(tf.abs(self._spectrum)), axis=self._axes())
        return self._of_type(found)

    def _trace(self):
        return self._of_type(tf.reduce_sum(self._spectrum, axis=self._axes()))

    def _diag_part(self):
        n = self.domain_dimension_tensor()
        return (self._trace() / tf.cast(n, self.dtype))[..., tf.newaxis] * tf.ones([n], self.dtype)

    def _eigvals(self):
        shape = tf.shape(self._spectrum)
        return tf.reshape(self._spectrum, tf.concat([shape[:-self._depth], [tf.reduce_prod(shape[-self._depth:])]], 0))

    def _cond(self):
        size = tf.abs(self._eigvals())
        return tf.reduce_max(size, axis=-1) / tf.reduce_min(size, axis=-1)

    def _assert_non_singular(self):
        return tf.assert_positive(tf.abs(self._spectrum), message="Singular operator:  Spectrum contained zero values.")

    def _assert_positive_definite(self):
        return tf.assert_positive(tf.real(self._spectrum) if self._spectrum.dtype.is_complex else self._spectrum,
                                  message="Not positive definite:  Real part of spectrum was not all positive.")

    def _inverse(self):
        return type(self)(1.0 / self._spectrum, self.dtype, self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _adjoint(self):
        return type(self)(tf.conj(self._spectrum), self.dtype, self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)


class LinearOperatorCirculant(_Circulant):
    """Matrices whose columns are the first one turned round.

    Args:
        spectrum: their eigenvalues, ``[..., n]``: the Fourier transform of the first column.
        input_output_dtype: the type of vectors.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    _matrix_ndims = {"spectrum": 1}

    _depth = 1

    def __init__(self, spectrum, input_output_dtype=tf.complex64, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True,
                 name: str = "LinearOperatorCirculant"):
        super().__init__(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


class LinearOperatorCirculant2D(_Circulant):
    """Matrices of circulant blocks that are turned round.

    Args:
        spectrum: their eigenvalues, ``[..., n1, n2]``.
        input_output_dtype: the type of vectors, of size ``n1 * n2``.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    _matrix_ndims = {"spectrum": 2}

    _depth = 2

    def __init__(self, spectrum, input_output_dtype=tf.complex64, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True,
                 name: str = "LinearOperatorCirculant2D"):
        super().__init__(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


class LinearOperatorCirculant3D(_Circulant):
    """Matrices of blocks as of :class:`LinearOperatorCirculant2D` that are turned round.

    Args:
        spectrum: their eigenvalues, ``[..., n1, n2, n3]``.
        input_output_dtype: the type of vectors, of size ``n1 * n2 * n3``.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: as of :class:`LinearOperator`.
        name: the name of its scope.
    """

    _matrix_ndims = {"spectrum": 3}

    _depth = 3

    def __init__(self, spectrum, input_output_dtype=tf.complex64, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True,
                 name: str = "LinearOperatorCirculant3D"):
        super().__init__(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)
