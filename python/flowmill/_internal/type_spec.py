"""Descriptions of values without a graph: what the specs of all kinds of values share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flowmill._internal.tensor_shape import TensorShape


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
            from flowmill._internal.composite_specs import type_spec_from_value  # cycle: composite_specs imports this module

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
