"""Descriptions of values without a graph: of tensors, and of objects made of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flowmill._internal.indexed_slices import IndexedSlices, IndexedSlicesValue
from flowmill._internal.sparse_tensor import SparseTensor, SparseTensorValue
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_array import TensorArray
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, as_dtype, float32, int64
from flowmill.ragged import RaggedTensor, RaggedTensorValue

__all__ = ["IndexedSlicesSpec", "NoneTensorSpec", "RaggedTensorSpec", "SparseTensorSpec", "TensorArraySpec", "TypeSpec", "type_spec_from_value"]


class TypeSpec:
    """The description that all values of a kind share. Two specs are equal if they say the same.

    A kind of spec defines :attr:`value_type`, ``_serialize()``, which returns the arguments that make an equal spec, and, for values that are made of
    tensors, ``_component_specs``, ``_to_components(value)`` and ``_from_components(components)``, as in TensorFlow.
    """

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type must be implemented.")

    def _serialize(self) -> tuple:
        """Returns the parts that it is made of."""
        raise NotImplementedError(f"{type(self).__name__} must say what it consists of.")

    @classmethod
    def _deserialize(cls, parts) -> TypeSpec:
        """Returns the spec that is made of parts."""
        return cls(*parts)

    @classmethod
    def _of_value(cls, value) -> TypeSpec | None:
        """Returns the spec of a value of this kind; None for others."""
        raise NotImplementedError(f"{cls.__name__} must say how it is made of a value.")

    # What values are made of

    @property
    def _component_specs(self) -> Any:
        """The specs of the tensors that a value is made of, in any structure."""
        raise NotImplementedError(f"{type(self).__name__} must say what its values consist of.")

    def _to_components(self, value) -> Any:
        """Returns the tensors of a value in the structure of :attr:`_component_specs`."""
        raise NotImplementedError(f"{type(self).__name__} must say what its values consist of.")

    def _from_components(self, components) -> Any:
        """Returns the value that is made of tensors."""
        raise NotImplementedError(f"{type(self).__name__} must say how values are made.")

    @property
    def _flat_tensor_specs(self) -> list[TypeSpec]:
        """The specs of the tensors that represent a value in a dataset."""
        return _encoding_of(self).specs(self)

    def _to_tensor_list(self, value) -> list:
        """Returns the tensors that represent a value in a dataset."""
        return _encoding_of(self).encode(self, value)

    def _to_batched_tensor_list(self, value) -> list:
        """Returns the tensors that represent a batch of values in a dataset."""
        return _encoding_of(self).encode_batch(self, value)

    def _from_tensor_list(self, tensors: list) -> Any:
        """Returns the value that tensors of a dataset represent.

        Raises:
            ValueError: for tensors of other types or shapes.
        """
        specs = self._flat_tensor_specs
        if len(specs) != len(tensors) or not all(spec.is_compatible_with(tensor) for spec, tensor in zip(specs, tensors)):
            raise ValueError(f"{self} is not compatible with tensors {tensors}.")
        return self._from_compatible_tensor_list(tensors)

    def _from_compatible_tensor_list(self, tensors: list) -> Any:
        """Returns the value that tensors of a dataset represent."""
        return _encoding_of(self).decode(self, tensors)

    def _batch(self, batch_size: int | None) -> TypeSpec:
        """Returns the spec of a batch of values."""
        return _encoding_of(self).batch(self, batch_size)

    def _unbatch(self) -> TypeSpec:
        """Returns the spec of a value of a batch."""
        return _encoding_of(self).unbatch(self)

    # Comparisons

    def is_compatible_with(self, spec_or_value) -> bool:
        """Returns true if a value, or one with another spec, fits this spec."""
        if not isinstance(spec_or_value, TypeSpec):
            spec_or_value = type_spec_from_value(spec_or_value)
        return type(self) is type(spec_or_value) and _all(_fits, self._serialize(), spec_or_value._serialize())

    def is_subtype_of(self, other) -> bool:
        """Returns true if all values with this spec fit another one."""
        return type(self) is type(other) and _all(_is_within, self._serialize(), other._serialize())

    def most_specific_common_supertype(self, others) -> TypeSpec | None:
        """Returns the most specific spec that the values with this and other specs fit; None if there is none."""
        common = self
        for other in others:
            try:
                common = TypeSpec.most_specific_compatible_type(common, other)
            except ValueError:
                return None
        return common

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Returns the most specific spec that both this and another one fit.

        Raises:
            ValueError: if they have nothing in common.
        """
        common = None if type(self) is not type(other) else _in_common(self._serialize(), other._serialize())
        if common is None or common is NotImplemented:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return type(self)._deserialize(common)

    def _with_shape(self, shape: TensorShape) -> TypeSpec:
        """Returns the spec of values of another shape, the first part of this one."""
        return type(self)(shape, *self._serialize()[1:])

    def __eq__(self, other):
        return type(self) is type(other) and _all(_same, self._serialize(), other._serialize())

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self), _hashable(self._serialize())))

    def __reduce__(self):
        return type(self)._deserialize, (self._serialize(),)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(repr(p) for p in self._serialize())})"


class BatchableTypeSpec(TypeSpec):
    """The spec of values that datasets batch: it defines ``_batch`` and ``_unbatch``, too."""

    __slots__ = ()


def _encoding_of(spec: TypeSpec):
    from flowmill.data._encodings import encoding_of  # cycle: data._encodings imports this module

    return encoding_of(spec)


def _plain(part):
    return (None if part.rank is None else tuple(part.as_list())) if isinstance(part, TensorShape) else part


def _hashable(part):
    if isinstance(part, np.ndarray):
        return part.tobytes()
    if isinstance(part, Mapping):
        return tuple((key, _hashable(part[key])) for key in sorted(part))
    return tuple(map(_hashable, part)) if isinstance(part, (list, tuple)) else _plain(part)


def _all(check: Callable, a, b) -> bool:
    """Returns true if structures of parts are alike, and all parts pass a check."""
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(_all(check, a[key], b[key]) for key in a)
    if not isinstance(a, (list, tuple)):
        return check(a, b)
    return _is_alike(a, b) and all(_all(check, x, y) for x, y in zip(a, b))


def _is_alike(a, b) -> bool:
    """Returns true if two lists have equally many parts, and the same names for them."""
    return isinstance(b, (list, tuple)) and len(a) == len(b) and getattr(a, "_fields", None) == getattr(b, "_fields", None)


def _same(a, b) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    return _plain(a) == _plain(b)


def _fits(a, b) -> bool:
    return a.is_compatible_with(b) if isinstance(a, (TensorShape, TypeSpec)) else _same(a, b)


def _is_within(a, b) -> bool:
    if isinstance(a, TypeSpec):
        return a.is_subtype_of(b)
    if not isinstance(a, TensorShape) or not isinstance(b, TensorShape):
        return _same(a, b)
    return a.is_subtype_of(b)


def _in_common(a, b):
    """Returns the parts that both structures of parts fit; NotImplemented if there are none."""
    if isinstance(a, Mapping):
        found = {key: _in_common(a[key], b[key]) for key in a} if isinstance(b, Mapping) and a.keys() == b.keys() else {None: NotImplemented}
        return NotImplemented if any(part is NotImplemented for part in found.values()) else found
    if isinstance(a, (list, tuple)):
        found = [_in_common(x, y) for x, y in zip(a, b)] if _is_alike(a, b) else [NotImplemented]
        if any(part is NotImplemented for part in found):
            return NotImplemented
        return type(a)(*found) if hasattr(a, "_fields") else type(a)(found)
    if isinstance(a, TypeSpec):
        try:
            return a.most_specific_compatible_type(b)
        except ValueError:
            return NotImplemented
    if not isinstance(a, TensorShape) or not isinstance(b, TensorShape):
        return a if _same(a, b) else NotImplemented
    return a.most_specific_compatible_shape(b)


def _tensor_spec(shape, dtype) -> TypeSpec:
    from flowmill._internal.tensor_spec import TensorSpec  # cycle: tensor_spec imports this module

    return TensorSpec(shape, dtype)


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
        return [_tensor_spec([None, rank], int64), _tensor_spec([None], self._dtype), _tensor_spec([rank], int64)]

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
        specs = _tensor_spec(values, self._values_dtype), _tensor_spec(self._indices_shape, self._indices_dtype)
        return specs if self._dense_shape_dtype is None else (*specs, _tensor_spec([self._shape.rank], self._dense_shape_dtype))

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
            return [_tensor_spec(self._shape, self._dtype)]
        rows = self._shape.as_list()[0] if self._shape.rank else None
        inner = self._shape[self._ragged_rank + 1:] if self._shape.rank is not None else TensorShape(None)
        return [_tensor_spec(TensorShape([None]).concatenate(inner), self._dtype), _tensor_spec([None if rows is None else rows + 1], self._row_splits_dtype),
                *[_tensor_spec([None], self._row_splits_dtype)] * (self._ragged_rank - 1)]

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
            return super().is_compatible_with(spec) or _tensor_spec(self._shape, self._dtype).is_compatible_with(spec)
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
    from flowmill._internal.tensor_spec import TensorSpec  # cycle: tensor_spec imports this module

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
