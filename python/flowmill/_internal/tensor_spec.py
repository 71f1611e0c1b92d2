"""Descriptions of tensors without a graph: type and static shape."""

from __future__ import annotations

import numpy as np

from flowmill._internal.convert import array_of
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.type_spec import BatchableTypeSpec, TypeSpec
from flowmill.dtypes import DType, as_dtype, float32

__all__ = ["TensorSpec"]


class TensorSpec(BatchableTypeSpec):
    """The type, static shape and name of a tensor.

    Args:
        shape: what is known of the shape.
        dtype: the type of the elements.
        name: a name, or None.
    """

    __slots__ = ("_shape", "_dtype", "_name")

    def __init__(self, shape, dtype=float32, name: str | None = None):
        self._shape, self._dtype, self._name = TensorShape(shape), as_dtype(dtype), name

    @classmethod
    def from_spec(cls, spec, name: str | None = None) -> TensorSpec:
        """Returns a spec like another one, perhaps with another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor, name: str | None = None) -> TensorSpec:
        """Returns the spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def value_type(self) -> type:
        """The class :class:`Tensor`."""
        return Tensor

    def _serialize(self) -> tuple:
        return self._shape, self._dtype, self._name

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_components(self, value):
        return value

    def _from_components(self, components):
        return components

    def is_subtype_of(self, other) -> bool:
        """Returns true if all tensors with this spec fit another one, which has the same name or none."""
        return type(other) is type(self) and other.name in (None, self._name) and super().is_subtype_of(TensorSpec(other.shape, other.dtype, self._name))

    @classmethod
    def _of_value(cls, value):
        if hasattr(value, "get_shape") and hasattr(value, "dtype"):
            return cls(value.get_shape(), value.dtype.base_dtype)
        if not isinstance(value, (bool, int, float, complex, str, bytes, list, tuple, np.ndarray, np.generic)):
            return None
        try:
            array, number = array_of(value, None)
        except (TypeError, ValueError):
            return None
        return cls(np.shape(array), as_dtype(number))

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, None if it has none."""
        return self._name

    def is_compatible_with(self, spec_or_tensor) -> bool:
        """Returns true if a tensor, or one with another spec, fits this spec: it has the same type and a compatible shape."""
        if isinstance(spec_or_tensor, TypeSpec) or not hasattr(spec_or_tensor, "dtype"):
            other = spec_or_tensor if isinstance(spec_or_tensor, TypeSpec) else TensorSpec._of_value(spec_or_tensor)
            if not isinstance(other, TensorSpec):
                return False
        else:
            other = spec_or_tensor
        return self._dtype.is_compatible_with(other.dtype) and self._shape.is_compatible_with(other.shape)

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"
