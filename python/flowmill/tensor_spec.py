"""What is known of a tensor: its type and static shape, without a graph."""

from __future__ import annotations

from flowmill.dtypes import DType, as_dtype, float32
from flowmill.tensor_shape import TensorShape

__all__ = ["TensorSpec"]


class TensorSpec:
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
        """That of another one, perhaps by another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor, name: str | None = None) -> TensorSpec:
        """That of a tensor."""
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, None where it has none."""
        return self._name

    def is_compatible_with(self, spec_or_tensor) -> bool:
        """Whether a tensor, or one with another spec, can be what this says: of the same type, of a compatible shape."""
        return self._dtype.is_compatible_with(spec_or_tensor.dtype) and self._shape.is_compatible_with(spec_or_tensor.shape)

    def __eq__(self, other):
        return isinstance(other, TensorSpec) and (self._shape, self._dtype, self._name) == (other._shape, other._dtype, other._name)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((tuple(self._shape.as_list()) if self._shape.rank is not None else None, self._dtype))

    def __reduce__(self):
        return TensorSpec, (self._shape, self._dtype, self._name)

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"
