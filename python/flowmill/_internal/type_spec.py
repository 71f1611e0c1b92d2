"""Descriptions of values without a graph: of tensors, and of objects made of several tensors."""

from __future__ import annotations

import numpy as np

from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.sparse_tensor import SparseTensor, SparseTensorValue
from flowmill._internal.tensor_array import TensorArray
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, as_dtype, float32, int64
from flowmill.ragged import RaggedTensor

__all__ = ["IndexedSlicesSpec", "NoneTensorSpec", "RaggedTensorSpec", "SparseTensorSpec", "TensorArraySpec", "TypeSpec", "type_spec_from_value"]


class TypeSpec:
    """The description that all values of a kind share. Two specs are equal if they say the same."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type must be implemented.")

    def _parts(self) -> tuple:
        """Returns the parts that it is made of."""
        raise NotImplementedError(f"{type(self).__name__} must say what it consists of.")

    @classmethod
    def _of_value(cls, value) -> TypeSpec | None:
        """Returns the spec of a value of this kind; None for others."""
        raise NotImplementedError(f"{cls.__name__} must say how it is made of a value.")

    def is_compatible_with(self, spec_or_value) -> bool:
        """Returns true if a value, or one with another spec, fits this spec."""
        if not isinstance(spec_or_value, TypeSpec):
            spec_or_value = type_spec_from_value(spec_or_value)
        return type(self) is type(spec_or_value) and all(map(_fits, self._parts(), spec_or_value._parts()))

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Returns the most specific spec that both this and another one fit.

        Raises:
            ValueError: if they have nothing in common.
        """
        common = None if type(self) is not type(other) else [_in_common(a, b) for a, b in zip(self._parts(), other._parts())]
        if common is None or NotImplemented in common:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return type(self)(*common)

    def _with_shape(self, shape: TensorShape) -> TypeSpec:
        """Returns the spec of values of another shape, the first part of this one."""
        return type(self)(shape, *self._parts()[1:])

    def __eq__(self, other):
        return type(self) is type(other) and all(map(_same, self._parts(), other._parts()))

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self), *(_plain(p) for p in self._parts())))

    def __reduce__(self):
        return type(self), self._parts()

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(repr(p) for p in self._parts())})"


def _plain(part):
    return (None if part.rank is None else tuple(part.as_list())) if isinstance(part, TensorShape) else part


def _same(a, b) -> bool:
    return _plain(a) == _plain(b)


def _fits(a, b) -> bool:
    return a.is_compatible_with(b) if isinstance(a, TensorShape) else a == b


def _in_common(a, b):
    if not isinstance(a, TensorShape):
        return a if a == b else NotImplemented
    if a.rank != b.rank or a.rank is None:
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list())])


class SparseTensorSpec(TypeSpec):
    """The spec of a sparse tensor.

    Args:
        shape: what is known of the shape of the whole.
        dtype: the type of the elements.
    """

    __slots__ = ("_shape", "_dtype")

    def __init__(self, shape=None, dtype=float32) -> None:
        self._shape, self._dtype = TensorShape(shape), as_dtype(dtype)

    @property
    def value_type(self) -> type:
        """The class :class:`SparseTensor`."""
        return SparseTensor

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    def _parts(self) -> tuple:
        return self._shape, self._dtype

    @classmethod
    def _of_value(cls, value):
        if isinstance(value, SparseTensor):
            return cls(value.shape, value.dtype)
        if isinstance(value, SparseTensorValue):
            return cls(np.asarray(value.dense_shape).tolist(), np.asarray(value.values).dtype)
        return None


class IndexedSlicesSpec(TypeSpec):
    """The spec of IndexedSlices.

    Args:
        shape: what is known of the shape of the whole.
        dtype: the type of the slices.
        indices_dtype: the type of their places.
        dense_shape_dtype: the type of the tensor that says the whole's shape, None if there is none.
        indices_shape: what is known of the shape of the places.
    """

    __slots__ = ("_shape", "_values_dtype", "_indices_dtype", "_dense_shape_dtype", "_indices_shape")

    def __init__(self, shape=None, dtype=float32, indices_dtype=int64, dense_shape_dtype=None, indices_shape=None) -> None:
        self._shape, self._values_dtype, self._indices_dtype = TensorShape(shape), as_dtype(dtype), as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = TensorShape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type:
        """The class :class:`IndexedSlices`."""
        return IndexedSlices

    def _parts(self) -> tuple:
        return self._shape, self._values_dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape

    @classmethod
    def _of_value(cls, value):
        if not isinstance(value, IndexedSlices):
            return None
        dense = value.dense_shape
        shape = value.shape if dense is not None or value.values.shape.rank is None else TensorShape([None]).concatenate(value.values.shape[1:])
        return cls(shape, value.dtype, value.indices.dtype, None if dense is None else dense.dtype, value.indices.shape)


class RaggedTensorSpec(TypeSpec):
    """The spec of a ragged tensor.

    Args:
        shape: what is known of the shape.
        dtype: the type of the elements.
        ragged_rank: how many dimensions are made of splits; all but the first if it is None.
        row_splits_dtype: the type of row splits.
        flat_values_spec: None: flat values are tensors.

    Raises:
        ValueError: if `ragged_rank` does not follow from the shape, or does not fit it.
    """

    __slots__ = ("_shape", "_dtype", "_ragged_rank", "_row_splits_dtype")

    def __init__(self, shape=None, dtype=float32, ragged_rank: int | None = None, row_splits_dtype=int64, flat_values_spec=None) -> None:
        if flat_values_spec is not None:
            raise NotImplementedError("flowmill's ragged tensors have tensors as flat values: `flat_values_spec` must be None.")
        self._shape, self._dtype, self._row_splits_dtype = TensorShape(shape), as_dtype(dtype), as_dtype(row_splits_dtype)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank}).")
        self._ragged_rank = ragged_rank

    @property
    def value_type(self) -> type:
        """The class :class:`RaggedTensor`."""
        return RaggedTensor

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions that are made of splits."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        """The type of row splits."""
        return self._row_splits_dtype

    @property
    def flat_values_spec(self) -> None:
        """None: flat values are tensors."""
        return None

    @classmethod
    def from_value(cls, value) -> RaggedTensorSpec:
        """Returns the spec of a ragged tensor, or of the value of one."""
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    def _parts(self) -> tuple:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @classmethod
    def _of_value(cls, value):
        return cls.from_value(value) if hasattr(value, "row_splits") and hasattr(value, "flat_values") else None


class TensorArraySpec(TypeSpec):
    """The spec of a TensorArray.

    Args:
        element_shape: what is known of the shape of the elements.
        dtype: their type.
        dynamic_size: whether it may grow.
        infer_shape: whether all elements have the same shape.
    """

    __slots__ = ("_element_shape", "_dtype", "_dynamic_size", "_infer_shape")

    def __init__(self, element_shape=None, dtype=float32, dynamic_size: bool = False, infer_shape: bool = True):
        self._element_shape, self._dtype = TensorShape(element_shape), as_dtype(dtype)
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape

    @property
    def value_type(self) -> type:
        """The class :class:`TensorArray`."""
        return TensorArray

    def _parts(self) -> tuple:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    @classmethod
    def _of_value(cls, value):
        if not isinstance(value, TensorArray):
            return None
        return cls(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)


class NoneTensorSpec(TypeSpec):
    """The spec of None."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of None."""
        return type(None)

    def _parts(self) -> tuple:
        return ()

    @classmethod
    def _of_value(cls, value):
        return cls() if value is None else None


def type_spec_from_value(value) -> TypeSpec:
    """Returns the spec of a value: of a tensor, of an object made of several, of None, and of a value that can be converted to a tensor.

    Raises:
        TypeError: for anything else.
    """
    from flowmill._internal.tensor_spec import TensorSpec  # cycle: tensor_spec imports this module

    found = _first((SparseTensorSpec, RaggedTensorSpec, IndexedSlicesSpec, TensorArraySpec, NoneTensorSpec, TensorSpec), value)
    if found is None:
        from flowmill.data._specs import DatasetSpec, OptionalSpec  # cycle: data._specs imports this module

        found = _first((DatasetSpec, OptionalSpec), value)
    if found is not None:
        return found
    raise TypeError(f"Could not build a TypeSpec for {value} of unsupported type {type(value)}.")


def _first(kinds, value) -> TypeSpec | None:
    """Returns the spec of a value, by the first of several kinds that has one."""
    return next((found for found in (kind._of_value(value) for kind in kinds) if found is not None), None)
