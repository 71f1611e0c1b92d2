"""Norms, ranks, pseudo-inverses and exponentials of matrices."""

from __future__ import annotations

import numpy as np

from flowmill._apply import call, dims, op_scope
from flowmill._arguments import one_of
from flowmill._convert import constant, convert_to_tensor
from flowmill.array import concat, expand_dims, identity, reshape, shape, squeeze, where_v2
from flowmill.array._layout import transpose as transpose_axes
from flowmill.dtypes import float32, int32
from flowmill.linalg._matrices import eye, solve, svd
from flowmill.math import abs as abs_, cast, conj, greater, matmul, maximum, pow as pow_, reduce_max, reduce_sum, sqrt
from flowmill.tensor import Tensor


def norm(tensor, ord="euclidean", axis=None, keepdims: bool | None = None, name: str | None = None,  # noqa: A002
         keep_dims: bool | None = None) -> Tensor:
    """Norms of vectors, or of matrices.

    Args:
        tensor: the tensor.
        ord: ``"euclidean"``, a positive number or ``numpy.inf``; for matrices ``"euclidean"``, ``"fro"``, 1, 2 or ``numpy.inf``.
        axis: the dimension that vectors are along; two of them for matrices; where it is None, all elements are one vector.
        keepdims: leaves those dimensions there, with size 1.
        name: of the scope.
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
    """The norm, with its dimensions left there."""
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
    """The greatest singular value of matrices along two dimensions, which are left there with size 1."""
    count = tensor.shape.rank
    if count is None:
        raise ValueError("The spectral norm of a tensor of unknown rank is not known.")
    chosen = [a + count if a < 0 else a for a in axis]
    rest = [i for i in range(count) if i not in chosen]
    perm = rest + chosen
    greatest = reduce_max(abs_(svd(transpose_axes(tensor, perm), compute_uv=False)), -1, keepdims=True)
    return transpose_axes(expand_dims(greatest, -1), [perm.index(i) for i in range(count)])


def normalize(tensor, ord="euclidean", axis=None, name: str | None = None) -> tuple[Tensor, Tensor]:  # noqa: A002
    """A tensor divided by its norms along `axis`, and those; the arguments are those of :func:`norm`."""
    with op_scope(name, "normalize", tensor):
        tensor = convert_to_tensor(tensor)
        norms = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / norms, norms


def _precision(tensor: Tensor):
    return np.finfo(tensor.dtype.base_dtype.real_dtype.as_numpy_dtype).eps


def _matrices(a, validate_args: bool) -> Tensor:
    """Matrices of floating-point or complex numbers."""
    from flowmill.debugging import assert_rank_at_least
    from flowmill.graph import get_default_graph

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
    """The number of singular values of matrices that count as not zero.

    Args:
        a: the matrices.
        tol: what is not greater counts as zero; by default the greatest singular value and the larger size of the matrix times the precision.
        validate_args: where the rank is not known, checks that there are matrices when the graph runs.
        name: of the scope.

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
    """The pseudo-inverses of matrices, after Moore and Penrose.

    Args:
        a: the matrices.
        rcond: singular values that are not greater than this share of the greatest one count as zero; by default 10 times the larger size of the
            matrix times the precision.
        validate_args: where the rank is not known, checks that there are matrices when the graph runs.
        name: of the scope.

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


# The coefficients of the diagonal Padé approximants of the exponential, and the norms up to which they are exact to the precision (Higham, 2005).
_PADE = {
    "float32": (3.925724783138660, (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)),
    "float64": (5.371920351148152, (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0, 670442572800.0,
        33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)),
}


def expm(input, name: str | None = None) -> Tensor:  # noqa: A002
    """The exponentials of square matrices: scaled down, approximated by a quotient of polynomials, and squared again."""
    with op_scope(name, "matrix_exponential", input):
        matrix = convert_to_tensor(input, name="input")
        kind = matrix.dtype.base_dtype
        bound, coefficients = _PADE[kind.real_dtype.name if kind.real_dtype.name in _PADE else "float32"]
        sizes = shape(matrix)
        batch = reshape(matrix, concat([[-1], sizes[-2:]], 0))
        size = cast(reduce_max(reduce_sum(abs_(batch), -2), -1), kind.real_dtype)
        halvings = call("Maximum", None, call("Ceil", None, call("Log", None, size / bound) / np.log(2.0)), constant(0, kind.real_dtype))
        scaled = batch / cast(pow_(constant(2, kind.real_dtype), halvings), kind)[:, None, None]
        odd, even = _pade(scaled, coefficients)
        result = _squared(solve(even - odd, even + odd), halvings)
        return reshape(result, sizes)


def _pade(matrix: Tensor, coefficients):
    """The odd and the even part of the polynomial."""
    square = matmul(matrix, matrix)
    identity = eye(shape(matrix)[-1], batch_shape=shape(matrix)[:-2], dtype=matrix.dtype)
    kind = matrix.dtype.base_dtype
    odd, even = identity * constant(coefficients[1], kind), identity * constant(coefficients[0], kind)
    power = None
    for i in range(2, len(coefficients) - 1, 2):
        power = square if power is None else matmul(power, square)
        odd = odd + power * constant(coefficients[i + 1], kind)
        even = even + power * constant(coefficients[i], kind)
    return matmul(matrix, odd), even


def _squared(matrix: Tensor, times: Tensor) -> Tensor:
    """Each matrix of a batch squared as often as its number says."""
    from flowmill.loops import while_loop

    most = reduce_max(times)

    def body(i, current):
        return i + 1, where_v2((i < times)[:, None, None], matmul(current, current), current)

    return while_loop(lambda i, _: i < most, body, [constant(0, times.dtype), matrix])[1]


