"""Specs of objects made of several tensors, and of None; the spec of any value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowmill._internal.indexed_slices import IndexedSlices, IndexedSlicesValue
from flowmill._internal.sparse_tensor import SparseTensor, SparseTensorValue
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_array import TensorArray
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.type_spec import BatchableTypeSpec, TypeSpec
from flowmill.dtypes import DType, as_dtype, float32, int64
from flowmill.ragged import RaggedTensor, RaggedTensorValue

__all__ = ["IndexedSlicesSpec", "NoneTensorSpec", "RaggedTensorSpec", "SparseTensorSpec", "TensorArraySpec", "type_spec_from_value"]


class SparseTensorSpec(BatchableTypeSpec):
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

    def _serialize(self) -> tuple:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> list[TypeSpec]:
        rank = self._shape.rank
        return [TensorSpec([None, rank], int64), TensorSpec([None], self._dtype), TensorSpec([rank], int64)]

    def _to_components(self, value) -> list:
        value = SparseTensor.from_value(value)
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components) -> SparseTensor | SparseTensorValue:
        if all(isinstance(c, np.ndarray) for c in components):
            return SparseTensorValue(*components)
        found = SparseTensor(*components)
        found.dense_shape.set_shape([self._shape.rank])
        return found

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

    def _serialize(self) -> tuple:
        return self._shape, self._values_dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape

    @property
    def _component_specs(self) -> tuple[TypeSpec, ...]:
        values = TensorShape(None) if self._shape.rank is None else self._indices_shape.concatenate(self._shape[1:])
        specs = TensorSpec(values, self._values_dtype), TensorSpec(self._indices_shape, self._indices_dtype)
        return specs if self._dense_shape_dtype is None else (*specs, TensorSpec([self._shape.rank], self._dense_shape_dtype))

    def _to_components(self, value) -> tuple:
        parts = value.values, value.indices
        return parts if value.dense_shape is None else (*parts, value.dense_shape)

    def _from_components(self, components) -> IndexedSlices | IndexedSlicesValue:
        if all(isinstance(c, np.ndarray) for c in components):
            return IndexedSlicesValue(*components, *[None] * (3 - len(components)))
        return IndexedSlices(*components)

    @classmethod
    def _of_value(cls, value):
        if not isinstance(value, IndexedSlices):
            return None
        dense = value.dense_shape
        shape = value.shape if dense is not None or value.values.shape.rank is None else TensorShape([None]).concatenate(value.values.shape[1:])
        return cls(shape, value.dtype, value.indices.dtype, None if dense is None else dense.dtype, value.indices.shape)


class RaggedTensorSpec(BatchableTypeSpec):
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
        """The class :class:`RaggedTensor`; that of tensors if there are no ragged dimensions."""
        return RaggedTensor if self._ragged_rank > 0 else Tensor

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

    def _serialize(self) -> tuple:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> list[TypeSpec]:
        if self._ragged_rank <= 0:
            return [TensorSpec(self._shape, self._dtype)]
        rows = self._shape.as_list()[0] if self._shape.rank else None
        inner = self._shape[self._ragged_rank + 1:] if self._shape.rank is not None else TensorShape(None)
        return [TensorSpec(TensorShape([None]).concatenate(inner), self._dtype), TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype),
                *[TensorSpec([None], self._row_splits_dtype)] * (self._ragged_rank - 1)]

    def _to_components(self, value) -> list:
        return [value.flat_values, *value.nested_row_splits] if hasattr(value, "flat_values") else [value]

    def _from_components(self, components) -> Any:
        made, *splits = components
        if all(isinstance(c, np.ndarray) for c in components):
            for row_splits in reversed(splits):
                made = RaggedTensorValue(made, row_splits)
            return made
        if self._ragged_rank <= 0:
            return made
        made = RaggedTensor.from_nested_row_splits(made, splits, validate=False)
        if self._shape.rank and self._shape.as_list()[0] is not None:
            made.row_splits.set_shape([self._shape.as_list()[0] + 1])
        for axis, length in enumerate(self._shape.as_list()[1:self._ragged_rank + 1] if self._shape.rank is not None else ()):
            made = made._with_uniform_length(axis, length)
        return made

    def is_compatible_with(self, spec_or_value) -> bool:
        """Returns true if a value, or one with another spec, fits this spec; without ragged dimensions it is one of tensors."""
        if self._ragged_rank <= 0:
            spec = spec_or_value if isinstance(spec_or_value, TypeSpec) else type_spec_from_value(spec_or_value)
            return super().is_compatible_with(spec) or TensorSpec(self._shape, self._dtype).is_compatible_with(spec)
        return super().is_compatible_with(spec_or_value)

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

    def _serialize(self) -> tuple:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    @property
    def _component_specs(self) -> list[TypeSpec]:
        return self._flat_tensor_specs

    def _to_components(self, value) -> list:
        return self._to_tensor_list(value)

    def _from_components(self, components) -> TensorArray:
        return self._from_compatible_tensor_list(components)

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

    def _serialize(self) -> tuple:
        return ()

    @property
    def _component_specs(self) -> list[TypeSpec]:
        return []

    def _to_components(self, value) -> list:
        return []

    def _from_components(self, components) -> None:
        return None

    @classmethod
    def _of_value(cls, value):
        return cls() if value is None else None


# How programs' own values become specs, by their classes.
_converters: dict[type, Callable] = {}


def register_type_spec_from_value_converter(type_object: type, converter_fn: Callable, allow_subclass: bool = False) -> None:  # noqa: ARG001
    """Says how values of a class become specs."""
    _converters[type_object] = converter_fn


def type_spec_from_value(value) -> TypeSpec:
    """Returns the spec of a value: of a tensor, of an object made of several, of None, and of a value that can be converted to a tensor.

    Raises:
        TypeError: for anything else.
    """
    converter = next((_converters[kind] for kind in type(value).__mro__ if kind in _converters), None)
    if converter is not None:
        return converter(value)
    if isinstance(getattr(value, "_type_spec", None), TypeSpec):
        return value._type_spec
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
