"""Products of matrices and tensors, sums of many tensors."""

from __future__ import annotations

import builtins
import re

import numpy as np

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.array import concat, expand_dims, gather, identity, rank, reshape, setdiff1d, shape, squeeze, stack, transpose, where
from flowmill._internal.convert import convert_to_tensor, convert_to_tensor_or_indexed_slices
from flowmill._internal.dispatch import by_rows, is_operator, of_operator
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import bfloat16, float32, int32
from flowmill.math._complex import conj
from flowmill.math._elementwise import cast
from flowmill.math._reductions import range, reduce_prod


@by_rows("_math.matmul")
def matmul(a, b, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False, adjoint_b: bool = False, a_is_sparse: bool = False,
           b_is_sparse: bool = False, output_type=None, grad_a: bool = False, grad_b: bool = False, name: str | None = None) -> Tensor:
    """Returns the product of matrices, or of batches of them whose leading dimensions are broadcast together.

    Args:
        a: shape ``[..., n, k]``.
        b: shape ``[..., k, m]``.
        transpose_a: transposes the matrices of `a` before.
        transpose_b: transposes those of `b`.
        adjoint_a: transposes the matrices of `a` and takes their conjugates.
        adjoint_b: does that for `b`.
        a_is_sparse: says that most of `a` is zeros.
        b_is_sparse: says it of `b`.
        output_type: the type of the result if it is not that of the arguments (`int32` for `int8`).
        grad_a: says that `a` is a gradient; it changes nothing here.
        grad_b: says it of `b`.
        name: the name of the operation.

    Raises:
        ValueError: if a matrix is to be both transposed and conjugated, or the shapes do not fit.
    """
    if (type(a) is Tensor and type(b) is Tensor and a._type == b._type and not (adjoint_a or adjoint_b or a_is_sparse or b_is_sparse or output_type)
            and _are_matrices(a, b)):
        # What most calls are: nothing is made but the operation, which needs no scope.
        return call("MatMul", name, a, b, transpose_a=bool(transpose_a), transpose_b=bool(transpose_b), grad_a=bool(grad_a), grad_b=bool(grad_b))
    if is_operator(a) or is_operator(b):
        if transpose_a or transpose_b or a_is_sparse or b_is_sparse:
            raise ValueError("Products with linear operators can neither transpose nor take matrices for sparse ones.")
        return of_operator("matmul")(a, b, adjoint_a, adjoint_b, name)
    with op_scope(name, "MatMul", a, b) as scope:
        for transposed, adjoint, which in ((transpose_a, adjoint_a, "a"), (transpose_b, adjoint_b, "b")):
            if transposed and adjoint:
                raise ValueError(
                    f"Only one of `transpose_{which}` and `adjoint_{which}` can be True. Received `transpose_{which}`={transposed}, "
                    f"`adjoint_{which}`={adjoint}.")
        a = a if isinstance(a, Tensor) else convert_to_tensor(a, name="a")
        b = b if isinstance(b, Tensor) else convert_to_tensor(b, dtype_hint=a.dtype.base_dtype, name="b")
        a_dims, b_dims = dims(a), dims(b)
        may_be_batch = a_dims is None or len(a_dims) > 2 or b_dims is None or len(b_dims) > 2
        if not (a_is_sparse or b_is_sparse) and may_be_batch:
            # The op conjugates where it transposes: what is only transposed is conjugated before.
            if transpose_a:
                a, adjoint_a = conj(a), True
            if transpose_b:
                b, adjoint_b = conj(b), True
            flags = {"adj_x": bool(adjoint_a), "adj_y": bool(adjoint_b), "grad_x": bool(grad_a), "grad_y": bool(grad_b)}
            if output_type is not None:
                return call("BatchMatMulV3", scope, a, b, Tout=output_type, **flags)
            return call("BatchMatMulV2", scope, a, b, **flags)
        if adjoint_a:
            a, transpose_a = conj(a), True
        if adjoint_b:
            b, transpose_b = conj(b), True
        transposes = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
        kinds = a.dtype.base_dtype, b.dtype.base_dtype
        if (a_is_sparse or b_is_sparse or kinds[0] is not kinds[1]) and all(k in (bfloat16, float32) for k in kinds):
            found = call("SparseMatMul", scope, a, b, a_is_sparse=bool(a_is_sparse), b_is_sparse=bool(b_is_sparse), **transposes)
            return cast(found, bfloat16) if kinds == (bfloat16, bfloat16) else found
        if output_type is not None:
            return call("BatchMatMulV3", scope, a, b, Tout=output_type, adj_x=bool(transpose_a), adj_y=bool(transpose_b))
        return call("MatMul", scope, a, b, grad_a=bool(grad_a), grad_b=bool(grad_b), **transposes)


def _are_matrices(a: Tensor, b: Tensor) -> bool:
    sizes = dims(a), dims(b)
    return None not in sizes and len(sizes[0]) <= 2 and len(sizes[1]) <= 2


def sparse_matmul(a, b, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False,
                  name: str | None = None) -> Tensor:
    """Returns the product of two matrices of which one is mostly zeros."""
    return call("SparseMatMul", name, a, b, transpose_a=transpose_a, transpose_b=transpose_b, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)


def matvec(a, b, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False,
           name: str | None = None) -> Tensor:
    """Matrices times vectors; the arguments are those of :func:`matmul`, with `b` of shape ``[..., k]``."""
    with op_scope(name, "MatVec", a, b):
        product = matmul(a, expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)
        return squeeze(product, axis=-1)


@by_rows("_math.add_n")
def add_n(inputs, name: str | None = None) -> Tensor:
    """Returns the sum of a list of tensors of one shape and type.

    Raises:
        ValueError: if the list is empty, or holds something else.
    """
    if isinstance(inputs, Tensor) or not (inputs := list(inputs)):
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.")
    try:
        inputs = [convert_to_tensor_or_indexed_slices(i) for i in inputs]
    except TypeError:
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.") from None
    if len(inputs) == 1:
        only = convert_to_tensor(inputs[0])
        return identity(only, name) if name else only
    return call("AddN", name, inputs)


def accumulate_n(inputs, shape=None, tensor_dtype=None, name: str | None = None) -> Tensor:
    """Like :func:`add_n`.

    Args:
        inputs: the tensors.
        shape: what their shape is, as far as it is known.
        tensor_dtype: their type.
        name: the name of the operation.

    Raises:
        TypeError: if `tensor_dtype` is not theirs.
        ValueError: if there are none, or shapes or types do not fit.
    """
    message = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(message)
    inputs = [convert_to_tensor_or_indexed_slices(i) for i in inputs]
    if not all(isinstance(i, Tensor) for i in inputs) or len({i.dtype.base_dtype for i in inputs}) != 1:
        raise ValueError(message)
    merged = TensorShape(shape)
    for tensor in inputs:
        merged = merged.merge_with(tensor.shape)
    if tensor_dtype is not None and inputs[0].dtype.base_dtype != tensor_dtype:
        raise TypeError(f"The `tensor_dtype` argument is {tensor_dtype}, but `input` is of type {inputs[0].dtype.base_dtype}.")
    if len(inputs) == 1:
        return identity(inputs[0], name) if name else inputs[0]
    return add_n(inputs, name)


def tensordot(a, b, axes, name: str | None = None) -> Tensor:
    """Returns the sum of products over some dimensions of two tensors.

    Args:
        a: a tensor.
        b: another one.
        axes: how many dimensions there are, the last of `a` and the first of `b`; or a list of those of `a` and one of those of `b`.
        name: the name of the scope.

    Returns:
        A tensor with the other dimensions of `a` and then those of `b`.

    Raises:
        ValueError: if `axes` are not as many of one as of the other, or not there.
    """
    with op_scope(name, "Tensordot", a, b, axes) as scope:
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        a_axes, b_axes = _dot_axes(a, axes)
        a_matrix, a_free, a_static = _dot_matrix(a, a_axes, False)
        b_matrix, b_free, b_static = _dot_matrix(b, b_axes, True)
        product = matmul(a_matrix, b_matrix)
        if isinstance(a_free, list) and isinstance(b_free, list):
            if (product.shape.is_fully_defined() and product.shape.as_list() == a_free + b_free):
                return product
            return reshape(product, a_free + b_free, scope)
        a_free, b_free = (convert_to_tensor(f, dtype=int32) for f in (a_free, b_free))
        product = reshape(product, concat([a_free, b_free], 0), scope)
        if a_static is not None and b_static is not None:
            product.set_shape(a_static + b_static)
        return product


def _dot_axes(a: Tensor, axes):
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        known = dims(a)
        if known is not None:
            if axes > len(known):
                raise ValueError(f"`axes` must not be larger than the number of dimensions of tensor {a}.  Received {axes}, vs tensor dimensions "
                                 f"{len(known)}.")
            return list(builtins.range(len(known) - axes, len(known))), list(builtins.range(axes))
        order = rank(a)
        return range(order - axes, order, dtype=int32), range(axes, dtype=int32)
    if isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
        a_axes, b_axes = ([x] if isinstance(x, (int, np.integer)) else list(x) if isinstance(x, (tuple, range_type)) else x for x in axes)
        if isinstance(a_axes, list) and isinstance(b_axes, list) and len(a_axes) != len(b_axes):
            raise ValueError(f"Different number of contraction axes `a` and `b`, {len(a_axes)} != {len(b_axes)}.")
        return a_axes, b_axes
    axes = convert_to_tensor(axes, name="axes", dtype=int32)
    return axes[0], axes[1]


range_type = builtins.range


def _dot_matrix(a: Tensor, axes, flipped: bool):
    """Returns a tensor as a matrix with the dimensions to sum over in the columns, in the rows if it is flipped; and the sizes of the others, as a list
    if they are known, and as far as they are."""
    known = dims(a)
    static_axes = isinstance(axes, (list, tuple, np.ndarray)) and not any(isinstance(x, Tensor) for x in axes)
    if known is not None and -1 not in known and static_axes:
        axes = _positive(axes, len(known))
        free = [i for i in builtins.range(len(known)) if i not in axes]
        free_sizes = [known[i] for i in free]
        rows, columns = int(np.prod(free_sizes, dtype=np.int64)), int(np.prod([known[i] for i in axes], dtype=np.int64))
        perm = [*axes, *free] if flipped else [*free, *axes]
        sizes = [columns, rows] if flipped else [rows, columns]
        turned = a if perm == list(builtins.range(len(known))) else transpose(a, perm)
        if turned.shape.as_list() != sizes:
            turned = reshape(turned, sizes)
        return turned, free_sizes, free_sizes
    static = None
    if known is not None and static_axes:
        axes = _positive(axes, len(known))
        free = [i for i in builtins.range(len(known)) if i not in axes]
        static = [known[i] if known[i] >= 0 else None for i in free]
        axes = convert_to_tensor(axes, dtype=int32, name="axes")
        free = convert_to_tensor(free, dtype=int32, name="free")
        sizes = shape(a)
    else:
        sizes = shape(a)
        order = rank(a)
        axes = convert_to_tensor(axes, dtype=int32, name="axes")
        axes = where(axes >= 0, axes, axes + order)
        free = setdiff1d(range(order), axes)[0]
    free_sizes, sum_sizes = gather(sizes, free), gather(sizes, axes)
    rows, columns = reduce_prod(free_sizes), reduce_prod(sum_sizes)
    perm = concat([axes, free], 0) if flipped else concat([free, axes], 0)
    matrix = stack([columns, rows] if flipped else [rows, columns])
    return reshape(transpose(a, perm), matrix), free_sizes, static


# The inputs and the output of a sum of products.
_EQUATION = re.compile(r"(?:[a-zA-Z,]|\.{3})*(?:->(?:[a-zA-Z]|\.{3})*)?")


def _positive(axes, count: int) -> list[int]:
    return [int(x) if x >= 0 else int(x) + count for x in axes]


def einsum(equation: str, *inputs, **kwargs) -> Tensor:
    """Sums of products over named dimensions.

    Args:
        equation: the names of the dimensions of each argument and of the result, ``"ij,jk->ik"``; ``...`` means dimensions that broadcast.
            Without ``->`` the result has the names that are there once, in the order of the alphabet.
        inputs: tensors.
        name: the name of the scope.
        optimize: how to choose the order in which more than two tensors are multiplied: "greedy" (the default), "optimal", or another of
            opt_einsum's names, each of which is "optimal" here.

    Raises:
        ValueError: if the equation does not fit the tensors.
        TypeError: for other arguments.
    """
    name = kwargs.pop("name", None)
    optimize = kwargs.pop("optimize", "greedy")
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for this function: {', '.join(sorted(kwargs))}")
    with op_scope(name, "einsum", *inputs):
        inputs = [convert_to_tensor(i) for i in inputs]
        equation = _explicit(equation, inputs)
        result = equation.partition("->")[2].replace("...", "")
        if len(set(result)) < len(result):
            raise ValueError(f"Output subscripts must not name a label more than once. Received equation: {equation}")
        if len(inputs) <= 2:
            return call("Einsum", None, inputs, equation=equation)
        for places, pair in _pairs(equation, inputs, optimize):
            operands = [inputs.pop(place) for place in places]
            inputs.append(call("Einsum", None, operands, equation=pair))
        return inputs[0]


def _pairs(equation: str, inputs, optimize: str) -> list[tuple[tuple[int, ...], str]]:
    """Returns the products of two tensors that make one of several: the places of the factors, the last first, in a list at whose end the product goes,
    and the equation. A size that is not known counts as one."""
    left, _, result = equation.partition("->")
    labels = left.split(",")
    ellipsis = next(c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation)
    sizes: dict[str, int] = {}
    for label, tensor in zip(labels, inputs, strict=True):
        known = None if "..." in label else tensor.shape.rank
        for axis, letter in enumerate(label.replace("...", ellipsis)):
            size = tensor.shape.as_list()[axis] if known == len(label) else None
            sizes[letter] = max(sizes.get(letter, 1), size or 1)
    labels, result = [label.replace("...", ellipsis) for label in labels], result.replace("...", ellipsis)
    shaped = [np.broadcast_to(np.float32(0), [sizes[letter] for letter in label]) for label in labels]
    path = np.einsum_path(f"{','.join(labels)}->{result}", *shaped, optimize="greedy" if optimize == "greedy" else "optimal")[0][1:]
    if len(path[-1]) > 2:  # NumPy multiplies what shares no dimension at once.
        path = path[:-1] + [(0, 1)] * (len(path[-1]) - 1)
    pairs = []
    for i, chosen in enumerate(path):
        places = tuple(sorted(chosen, reverse=True))
        factors = [labels.pop(place) for place in places]
        needed = set(result).union(*labels)
        kept = sorted({c for c in "".join(factors) if c in needed}, key=lambda c: (sizes[c], c))
        product = result if i == len(path) - 1 else "".join(kept)
        labels.append(product)
        pairs.append((places, f"{','.join(factors)}->{product}".replace(ellipsis, "...")))
    return pairs


def _explicit(equation: str, inputs) -> str:
    """Returns an equation with its result, its spaces left out."""
    equation = equation.replace(" ", "")
    if not _EQUATION.fullmatch(equation):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    left, arrow, right = equation.partition("->")
    labels = left.split(",")
    if len(labels) != len(inputs):
        raise ValueError(f"Expected {len(labels)} inputs for equation {equation}, got {len(inputs)}")
    if not arrow:
        names = [c for c in left.replace("...", "") if c.isalpha()]
        right = ("..." if "..." in left else "") + "".join(sorted(c for c in set(names) if names.count(c) == 1))
    return f"{left}->{right}"
