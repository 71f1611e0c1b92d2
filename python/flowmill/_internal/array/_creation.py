"""Tensors that are fed, filled, or made of the shapes of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.dispatch import by_rows, elementwise
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import Dimension, TensorShape
from flowmill.dtypes import as_dtype, float32, int32

if TYPE_CHECKING:
    from flowmill._internal.indexed_slices import IndexedSlices
    from flowmill._internal.sparse_tensor import SparseTensor

# Fewer elements than this become one constant; more are filled in when the graph runs.
_SMALL = 1000


def placeholder(dtype, shape=None, name: str | None = None) -> Tensor:
    """Returns a tensor whose value has to be fed.

    Args:
        dtype: the type of its elements.
        shape: what feeds may be shaped like; anything if it is None.
        name: the name of the operation.
    """
    return call("Placeholder", name, dtype=dtype, shape=TensorShape(None) if shape is None else shape)


def placeholder_with_default(input, shape, name: str | None = None) -> Tensor:  # noqa: A002 - TensorFlow's name
    """`input`, unless another value is fed.

    Args:
        input: the value by default.
        shape: what values may be shaped like.
        name: the name of the operation.
    """
    return call("PlaceholderWithDefault", name, input, shape=shape)


def is_sparse(value) -> bool:
    """Returns true if a value is a sparse tensor: indices, values and a dense shape, which are not converted to a dense tensor by themselves."""
    return hasattr(value, "dense_shape") and hasattr(value, "indices") and not hasattr(value, "_as_tensor")


def static_sizes(shape) -> list[int] | None:
    """Returns the sizes that `shape` says without a graph being run; None if a part of it is a tensor or not known."""
    if isinstance(shape, TensorShape):
        return shape.as_list() if shape.is_fully_defined() else None
    if isinstance(shape, Tensor) or hasattr(shape, "_as_tensor"):
        return None
    parts = list(shape) if hasattr(shape, "__iter__") else [shape]
    sizes = []
    for part in parts:
        if isinstance(part, Dimension):
            part = part.value
        if isinstance(part, Tensor) or not hasattr(part, "__index__"):
            return None
        sizes.append(part.__index__())
    return None if any(s < 0 for s in sizes) else sizes


def shape_tensor(shape) -> Tensor:
    """Returns a shape, however it is given, as a tensor."""
    if isinstance(shape, Tensor):
        return convert_to_tensor(shape)
    try:
        return convert_to_tensor(TensorShape(shape))
    except (TypeError, ValueError):  # such as a list that holds tensors
        return convert_to_tensor(shape, int32)


def _sizes_of_constant(shape) -> list[int] | None:
    """Returns the sizes of a shape that is a sequence of numbers, if a constant of that shape is small; None otherwise."""
    is_sequence = isinstance(shape, (Sequence, TensorShape)) and not isinstance(shape, (str, bytes, bytearray))
    if not is_sequence and not (isinstance(shape, np.ndarray) and shape.ndim == 1):
        return None
    try:
        sizes = [None if isinstance(s, (str, bytes)) else int(s) for s in shape]
        return sizes if math.prod(sizes) < _SMALL and all(s >= 0 for s in sizes) else None
    except (TypeError, ValueError, NotImplementedError):  # tensors and unknown sizes
        return None


def _filled(value, shape, dtype, name: str) -> Tensor:
    sizes = _sizes_of_constant(shape)
    if sizes is not None:
        return constant(value, dtype, sizes, name)
    if not isinstance(shape, Tensor):
        shape = shape_tensor(shape)
    if not dims(shape):  # a scalar, or nobody knows
        shape = reshape(shape, [-1])
    return call("Fill", name, shape, constant(value, dtype))


def _zero(dtype):
    return False if dtype.is_bool else "" if dtype.name == "string" else 0


def zeros(shape, dtype=float32, name: str | None = None, layout=None) -> Tensor:
    """Returns a tensor of zeros: of ``False`` for truth values, of empty strings.

    Args:
        shape: its sizes: a list, a shape, or a tensor.
        dtype: the type of its elements.
        name: the name of the operation.
        layout: not used.
    """
    dtype = as_dtype(dtype).base_dtype
    with op_scope(name, "zeros", shape) as scope:
        return _filled(_zero(dtype), shape, dtype, scope)


def ones(shape, dtype=float32, name: str | None = None, layout=None) -> Tensor:
    """Returns a tensor of ones; of ``True`` for truth values. Arguments are as for :func:`zeros`."""
    dtype = as_dtype(dtype).base_dtype
    with op_scope(name, "ones", shape) as scope:
        return _filled(True if dtype.is_bool else 1, shape, dtype, scope)


def fill(dims, value, name: str | None = None, layout=None) -> Tensor:
    """Returns a tensor of shape `dims` that has one value everywhere."""
    return call("Fill", name, dims, value)


@elementwise
def zeros_like(tensor, dtype=None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros in the shape of a tensor.

    Args:
        tensor: the tensor.
        dtype: the type of the zeros, that of `tensor` if it is None.
        name: the name of the operation.
        optimize: lets a shape that is known become a constant.
    """
    with op_scope(name, "zeros_like", tensor) as scope:
        if not is_sparse(tensor):
            tensor = convert_to_tensor(tensor, name="tensor")
        base = tensor.dtype.base_dtype
        if optimize and tensor.shape.is_fully_defined() and base.name != "variant":
            return zeros(tensor.shape, dtype or base, scope)
        if dtype is not None and as_dtype(dtype).base_dtype is not base and base.name != "variant":
            return zeros(shape_internal(tensor, optimize), dtype, scope)
        return call("ZerosLike", scope, tensor)


@elementwise
def ones_like(tensor, dtype=None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones in the shape of a tensor. Arguments are as for :func:`zeros_like`."""
    with op_scope(name, "ones_like", tensor) as scope:
        if not is_sparse(tensor):
            tensor = convert_to_tensor(tensor, name="tensor")
        made = ones(shape_internal(tensor, optimize), tensor.dtype if dtype is None else dtype, scope)
        made.set_shape(tensor.shape)
        return made


def shape_internal(input, optimize: bool = True, out_type=None, name: str | None = None) -> Tensor:  # noqa: A002
    """Like :func:`shape`, with a known shape as a constant of the conversion of shapes."""
    with op_scope(name, "Shape", input) as scope:
        if is_sparse(input):
            return _cast(input.dense_shape, out_type or int32)
        input = convert_to_tensor(input)  # noqa: A001
        if optimize and input.shape.is_fully_defined():
            if out_type is None:
                return convert_to_tensor(input.shape)
            return constant(input.shape.as_list(), out_type, name=scope)
        return call("Shape", scope, input, out_type=out_type or int32)


def _cast(value: Tensor, dtype, name: str | None = None) -> Tensor:
    from flowmill.math import cast  # cycle: math imports this package

    return cast(value, dtype, name)


def shape(input, name: str | None = None, out_type=None) -> Tensor:  # noqa: A002
    """Returns the sizes of a tensor, a vector.

    Args:
        input: a tensor, dense or sparse.
        name: the name of the operation.
        out_type: the type of the sizes, `int32` by default.
    """
    return shape_internal(input, True, out_type or int32, name)


def shape_n(input, out_type=int32, name: str | None = None) -> list[Tensor]:  # noqa: A002
    """Returns the sizes of each of a list of tensors."""
    return call("ShapeN", name, input, out_type=out_type)


@by_rows("_array.size")
def size(input, name: str | None = None, out_type=None) -> Tensor:  # noqa: A002
    """Returns the number of elements of a tensor, a scalar of type `out_type` (`int32` by default)."""
    out_type = out_type or int32
    with op_scope(name, "Size", input) as scope:
        if is_sparse(input):
            from flowmill.math import reduce_prod  # cycle: math imports this package

            return reduce_prod(_cast(input.dense_shape, out_type), 0, name=scope)
        input = convert_to_tensor(input)  # noqa: A001
        known = dims(input)
        if known is not None and (-1 not in known or 0 in known):
            return constant(0 if 0 in known else int(np.prod(known, dtype=np.int64)), out_type, name=scope)
        return call("Size", scope, input, out_type=out_type)


@by_rows("_array.rank")
def rank(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the number of dimensions of a tensor, a scalar."""
    with op_scope(name, "Rank", input) as scope:
        if is_sparse(input):
            return call("Size", scope, input.dense_shape)
        input = convert_to_tensor(input)  # noqa: A001
        known = dims(input)
        return call("Rank", scope, input) if known is None else constant(len(known), int32, name=scope)


def reshape(tensor, shape, name: str | None = None) -> Tensor:
    """Returns the elements of a tensor, in order, in another shape.

    Args:
        tensor: the tensor.
        shape: the sizes; one of them may be -1, for what the others leave.
        name: the name of the operation.

    Raises:
        ValueError: if the shapes are known not to have equally many elements.
    """
    return call("Reshape", name, tensor, shape)


def identity(input, name: str | None = None) -> Tensor | SparseTensor | IndexedSlices:  # noqa: A002
    """Returns a tensor as it is; composites such as sparse tensors have each of their tensors passed on."""
    if hasattr(input, "_components") and not isinstance(input, Tensor):
        return input._with_components([identity(part, name) for part in input._components()])
    return call("Identity", name, input)


def identity_n(input, name: str | None = None) -> list[Tensor]:  # noqa: A002
    """Each of a list of tensors as it is, once all are there."""
    return call("IdentityN", name, input)


def ensure_shape(x, shape, name: str | None = None) -> Tensor:
    """Returns a tensor as it is; running fails if it does not have the (partly known) shape.

    Raises:
        ValueError: if it cannot have it.
    """
    return call("EnsureShape", name, x, shape=TensorShape(shape))


def check_pinned(tensor, name: str | None = None) -> Tensor:
    """Returns a tensor as it is if its memory is pinned for other devices; an error in any session here, if there are none."""
    return call("CheckPinned", name, tensor)


def guarantee_const(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns a tensor as it is, with the promise that its value never changes."""
    return call("GuaranteeConst", name, input)


def broadcast_static_shape(shape_x, shape_y) -> TensorShape:
    """Returns the broadcast of two static shapes.

    Raises:
        ValueError: if they cannot be.
    """
    x, y = TensorShape(shape_x), TensorShape(shape_y)
    if x.rank is None or y.rank is None:
        return TensorShape(None)
    a, b = x.as_list(), y.as_list()
    length = max(len(a), len(b))
    found = []
    for m, n in zip([1] * (length - len(a)) + a, [1] * (length - len(b)) + b):
        if m is None or n is None:
            # A size above one is what an unknown one must be, or become.
            known = n if m is None else m
            found.append(known if known is not None and known > 1 else None)
        elif m == n or n == 1:
            found.append(m)
        elif m == 1:
            found.append(n)
        else:
            raise ValueError(f"Incompatible shapes for broadcasting. Two shapes are compatible if for each dimension pair they are either equal or "
                             f"one of them is 1. Received: {shape_x} and {shape_y}.")
    return TensorShape(found)


def broadcast_dynamic_shape(shape_x, shape_y) -> Tensor:
    """Returns the broadcast of two shapes, vectors of integers."""
    return call("BroadcastArgs", None, shape_x, shape_y)


def broadcast_to(input, shape, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns a tensor repeated along dimensions that it lacks or that have size 1, so that it has a shape."""
    return call("BroadcastTo", name, input, shape)
