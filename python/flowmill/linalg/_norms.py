"""Norms, ranks, pseudo-inverses and exponentials of matrices."""

from __future__ import annotations

from math import factorial

import numpy as np

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.arguments import one_of
from flowmill._internal.array import concat, expand_dims, fill, identity, reshape, shape, size, squeeze, where_v2
from flowmill._internal.array._layout import transpose as transpose_axes
from flowmill._internal.control_flow import cond
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.loops import while_loop
from flowmill._internal.tensor import Tensor
from flowmill.debugging import assert_rank_at_least
from flowmill.dtypes import float32, int32
from flowmill.linalg._matrices import eye, solve, svd
from flowmill.math import abs as abs_, cast, conj, floor, greater, is_finite, log, matmul, maximum, pow as pow_, reduce_max, reduce_sum, sqrt


def norm(tensor, ord="euclidean", axis=None, keepdims: bool | None = None, name: str | None = None,  # noqa: A002
         keep_dims: bool | None = None) -> Tensor:
    """Norms of vectors, or of matrices.

    Args:
        tensor: the tensor.
        ord: ``"euclidean"``, a positive number or ``numpy.inf``; for matrices ``"euclidean"``, ``"fro"``, 1, 2 or ``numpy.inf``.
        axis: the dimension that vectors are along; two of them for matrices; if it is None, all elements are one vector.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the scope.
        keep_dims: `keepdims` by its old name.

    Raises:
        ValueError: for another norm or such dimensions.
    """
    keepdims = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
    is_matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
    if is_matrix:
        axis = tuple(axis)
        if not all(isinstance(a, (int, np.integer)) for a in axis) or axis[0] == axis[1]:
            raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
        supported = ["euclidean", "fro", 1, 2, np.inf]
        if ord not in supported:
            raise ValueError(f"'ord' must be a supported matrix norm in {supported}, got {ord}")
    else:
        if not (axis is None or isinstance(axis, (int, np.integer, Tensor))):
            raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
        if isinstance(ord, str) and ord != "euclidean" or not isinstance(ord, str) and ord <= 0:
            raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
        axis = None if axis is None else (axis,)
    with op_scope(name, "norm", tensor):
        tensor = convert_to_tensor(tensor)
        result = _norm(tensor, ord, axis, is_matrix)
        return result if keepdims else squeeze(result, axis)


def _norm(tensor: Tensor, ord, axis, is_matrix: bool) -> Tensor:  # noqa: A002
    """Returns the norm, with its dimensions left there."""
    if is_matrix and not isinstance(ord, str) and ord == 2:
        return _spectral_norm(tensor, axis)
    if ord in ("fro", "euclidean") or ord == 2:
        return sqrt(reduce_sum(tensor * conj(tensor), None if axis is None else list(axis), keepdims=True))
    result = abs_(tensor)
    first, last = (None, None) if axis is None else (axis[0], axis[-1])
    if ord == 1:
        result = reduce_sum(result, first, keepdims=True)
        return reduce_max(result, last, keepdims=True) if is_matrix else result
    if ord == np.inf:
        if is_matrix:
            result = reduce_sum(result, last, keepdims=True)
        return reduce_max(result, first, keepdims=True)
    powers = reduce_sum(pow_(result, ord), None if axis is None else list(axis), keepdims=True)
    return pow_(powers, 1.0 / ord)


def _spectral_norm(tensor: Tensor, axis) -> Tensor:
    """Returns the greatest singular value of matrices along two dimensions, which are left there with size 1."""
    count = tensor.shape.rank
    if count is None:
        raise ValueError("The spectral norm of a tensor of unknown rank is not known.")
    chosen = [a + count if a < 0 else a for a in axis]
    rest = [i for i in range(count) if i not in chosen]
    perm = rest + chosen
    greatest = reduce_max(abs_(svd(transpose_axes(tensor, perm), compute_uv=False)), -1, keepdims=True)
    return transpose_axes(expand_dims(greatest, -1), [perm.index(i) for i in range(count)])


def normalize(tensor, ord="euclidean", axis=None, name: str | None = None) -> tuple[Tensor, Tensor]:  # noqa: A002
    """Returns a tensor divided by its norms along `axis`, and those; the arguments are those of :func:`norm`."""
    with op_scope(name, "normalize", tensor):
        tensor = convert_to_tensor(tensor)
        norms = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / norms, norms


def _precision(tensor: Tensor):
    return np.finfo(tensor.dtype.base_dtype.real_dtype.as_numpy_dtype).eps


def _matrices(a, validate_args: bool) -> Tensor:
    """Matrices of floating-point or complex numbers."""
    a = convert_to_tensor(a, dtype_hint=float32, name="a")
    kind = a.dtype.base_dtype
    if not (kind.is_floating or kind.is_complex):
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {kind.name}).")
    if a.shape.rank is None:
        if not validate_args:
            return a
        with get_default_graph().control_dependencies([assert_rank_at_least(a, 2, message="Input `a` must have at least 2 dimensions.")]):
            return identity(a)
    if a.shape.rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.shape.rank}).")
    return a


def matrix_rank(a, tol=None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Returns the number of singular values of matrices that count as not zero.

    Args:
        a: the matrices.
        tol: what is not greater counts as zero; by default the greatest singular value and the larger size of the matrix times the precision.
        validate_args: if the rank is not known, checks that there are matrices when the graph runs.
        name: the name of the scope.

    Raises:
        TypeError: for integers.
        ValueError: for fewer than two dimensions.
    """
    with op_scope(name, "matrix_rank"):
        a = _matrices(a, validate_args)
        values = svd(a, compute_uv=False)
        if tol is None:
            known = dims(a)
            if known is not None and min(known[-2:]) >= 0:
                larger = np.int64(max(known[-2:]))
            else:
                larger = reduce_max(shape(a)[-2:])
            tol = _precision(a) * cast(larger, a.dtype.real_dtype) * reduce_max(values, axis=-1, keepdims=True)
        return reduce_sum(cast(greater(values, tol), int32), axis=-1)


def pinv(a, rcond=None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Returns the pseudo-inverses of matrices, after Moore and Penrose.

    Args:
        a: the matrices.
        rcond: singular values that are not greater than this share of the greatest one count as zero; by default 10 times the larger size of the
            matrix times the precision.
        validate_args: if the rank is not known, checks that there are matrices when the graph runs.
        name: the name of the scope.

    Raises:
        TypeError: for integers.
        ValueError: for fewer than two dimensions.
    """
    with op_scope(name, "pinv"):
        a = _matrices(a, validate_args)
        kind = a.dtype.base_dtype
        if rcond is None:
            known = dims(a) or (-1, -1)
            rows, columns = (size if size >= 0 else shape(a)[at] for at, size in ((-2, known[-2]), (-1, known[-1])))
            is_known = isinstance(rows, int) and isinstance(columns, int)
            larger = float(max(rows, columns)) if is_known else cast(maximum(rows, columns), kind.real_dtype)
            rcond = 10.0 * larger * _precision(a)
        rcond = convert_to_tensor(rcond, kind.real_dtype, "rcond")
        values, left, right = svd(a, full_matrices=False, compute_uv=True)
        bound = rcond * reduce_max(values, axis=-1)
        # Divided by infinity, what belongs to a zero is gone.
        kept = where_v2(greater(values, expand_dims(bound, -1)), values, np.array(np.inf, kind.real_dtype.as_numpy_dtype))
        return matmul(right / cast(expand_dims(kept, -2), kind), left, adjoint_b=True)


def expm(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the exponentials of square matrices: quotients of polynomials (Higham 2005), of matrices that are scaled down where they are large.

    Raises:
        ValueError: for other numbers than floating-point and complex ones.
    """
    with op_scope(name, "matrix_exponential", input):
        matrix = convert_to_tensor(input, name="input")
        if matrix.shape[-2:] == [0, 0]:
            return matrix
        batch_sizes = matrix.shape[:-2]
        if not batch_sizes.is_fully_defined():
            batch_sizes = shape(matrix)[:-2]
        matrix = reshape(matrix, concat(([-1], shape(matrix)[-2:]), 0))
        norms = reduce_max(reduce_sum(abs_(matrix), size(shape(matrix)) - 2), -1)[..., None, None]
        largest, bounds = _pade_bounds(matrix.dtype.base_dtype)
        squarings = maximum(floor(log(norms / constant(largest, norms.dtype)) / log(constant(2.0, norms.dtype))), 0)
        parts = [_pade(matrix, degree) for degree in range(3, 3 + 2 * len(bounds), 2)]
        scaled = matrix / cast(pow_(constant(2.0, norms.dtype), squarings), matrix.dtype)
        parts.append(_pade(scaled, 7 if len(bounds) == 2 else 13))
        odd, even = (_by_norm(norms, bounds, choices) for choices in zip(*parts))
        finite = is_finite(reduce_max(norms))
        nan = constant(np.nan, matrix.dtype)
        result = cond(finite, lambda: solve(-odd + even, odd + even), lambda: fill(shape(matrix), nan))
        result = _squared(result, squarings, finite)
        if isinstance(batch_sizes, Tensor) or not matrix.shape.is_fully_defined():
            return reshape(result, concat((batch_sizes, shape(result)[-2:]), 0))
        return reshape(result, batch_sizes.concatenate(result.shape[-2:]))


def _pade_bounds(kind) -> tuple[float, tuple[float, ...]]:
    """Returns the 1-norm up to which the polynomials of the highest degree are as exact as the type, and such norms for each lower degree."""
    if kind.name in ("float16", "float32", "complex64"):
        return 3.925724783138660, (4.258730016922831e-001, 1.880152677804762e+000)
    if kind.name in ("float64", "complex128"):
        return 5.371920351148152, (1.495585217958292e-002, 2.539398330063230e-001, 9.504178996162932e-001, 2.097847961257068e+000)
    raise ValueError(f"tf.linalg.expm does not support matrices of type {kind}")


def _pade(matrix: Tensor, degree: int) -> tuple[Tensor, Tensor]:
    """Returns the odd and the even part of the numerator of the Padé approximation of the exponential."""
    kind = matrix.dtype
    factors = [factorial(2 * degree - i) // (factorial(degree - i) * factorial(i)) for i in range(degree)]
    factors = [constant(float(factor), kind) for factor in factors]
    identity = eye(shape(matrix)[-2], batch_shape=shape(matrix)[:-2], dtype=kind)
    powers = [identity, matmul(matrix, matrix)]
    while 2 * len(powers) <= min(degree, 7):
        powers.append(matmul(powers[-1], powers[1]))
    if degree == 9:
        powers.append(matmul(powers[-1], powers[1]))
    if degree == 13:
        # The terms above the sixth power are taken out as factors of it.
        high = powers[3] + factors[11] * powers[2] + factors[9] * powers[1]
        odd = _sum_of(factors[1:9:2], powers, matmul(powers[3], high))
        high = factors[12] * powers[3] + factors[10] * powers[2] + factors[8] * powers[1]
        return matmul(matrix, odd), _sum_of(factors[0:8:2], powers, matmul(powers[3], high))
    return matmul(matrix, _sum_of(factors[1:-1:2], powers, powers[-1])), _sum_of(factors[::2], powers)


def _sum_of(factors, powers, total: Tensor | None = None) -> Tensor:
    """Returns `total` and the powers times their factors, the highest one first."""
    for factor, power in reversed([*zip(factors, powers)]):
        total = factor * power if total is None else total + factor * power
    return total


def _by_norm(norms: Tensor, bounds, choices) -> Tensor:
    """Returns the first of `choices` whose bound is above the norm of a matrix, the last one if none is."""
    if not bounds:
        return choices[0]
    is_below = call("Less", None, norms, constant(bounds[0], norms.dtype))
    return where_v2(is_below, choices[0], _by_norm(norms, bounds[1:], choices[1:]))


def _squared(matrix: Tensor, times: Tensor, finite: Tensor) -> Tensor:
    """Returns each matrix of a batch squared as often as its number says, not at all if a norm is not finite."""
    most = reduce_max(times)

    def is_more(i, _):
        return cond(finite, lambda: i < most, lambda: constant(False))

    def body(i, current):
        return i + 1, where_v2(i < times, matmul(current, current), current)

    return while_loop(is_more, body, [constant(0.0, times.dtype), matrix])[1]
