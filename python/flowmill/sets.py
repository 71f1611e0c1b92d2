"""Operations on sets: each row along the last dimension of a tensor, sparse or dense, is one."""

from __future__ import annotations

from flowmill._internal.apply import call
from flowmill._internal.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import int8, int16, int32, int64, string, uint8, uint16

__all__ = ["difference", "intersection", "set_difference", "set_intersection", "set_size", "set_union", "size", "union"]

_TYPES = frozenset((int8, int16, int32, int64, uint8, uint16, string))


def _checked(*operands) -> None:
    for operand in operands:
        if operand.dtype.base_dtype not in _TYPES:
            raise TypeError(f"Invalid dtype `{operand.dtype}` not in supported dtypes: `{_TYPES}`.")
    if len({operand.dtype.base_dtype for operand in operands}) > 1:
        raise TypeError(f"Types don't match, {operands[0].dtype} vs {operands[1].dtype}.")


def size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """Returns the number of elements of each set, int32, in the shape of `a` without its last dimension.

    Args:
        a: the sets.
        validate_indices: checks that places are in order and do not repeat.

    Raises:
        TypeError: if it is not sparse, or of a type that has no sets.
    """
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    _checked(a)
    return call("SetSize", None, a.indices, a.values, a.dense_shape, validate_indices=validate_indices)


def _operation(a, b, kind: str, mirrored: str, validate_indices: bool) -> SparseTensor:
    """One of the operations; `mirrored` is its name where operands change places."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    b = convert_to_tensor_or_sparse_tensor(b, name="b")
    _checked(a, b)
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b, kind = b, a, mirrored
    options = {"set_operation": kind, "validate_indices": validate_indices}
    if isinstance(a, SparseTensor):
        found = call("SparseToSparseSetOperation", None, a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, **options)
    elif isinstance(b, SparseTensor):
        found = call("DenseToSparseSetOperation", None, a, b.indices, b.values, b.dense_shape, **options)
    else:
        found = call("DenseToDenseSetOperation", None, a, b, **options)
    return SparseTensor(*found)


def intersection(a, b, validate_indices: bool = True) -> SparseTensor:
    """Returns the elements that are in both sets, in each row.

    Args:
        a: the sets, a tensor or a SparseTensor.
        b: the other ones.
        validate_indices: checks that places are in order and do not repeat.

    Raises:
        TypeError: for different types, or one that has no sets.
    """
    return _operation(a, b, "intersection", "intersection", validate_indices)


def union(a, b, validate_indices: bool = True) -> SparseTensor:
    """Returns the elements that are in one set or both. Arguments are as for :func:`intersection`."""
    return _operation(a, b, "union", "union", validate_indices)


def difference(a, b, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """Returns the elements of `a` that are not in `b`; the other way round if `aminusb` is false. Arguments are as for :func:`intersection`."""
    kinds = ("a-b", "b-a") if aminusb else ("b-a", "a-b")
    return _operation(a, b, *kinds, validate_indices)


set_size, set_intersection, set_union, set_difference = size, intersection, union, difference
