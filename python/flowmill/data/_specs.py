"""What is known of datasets and of elements that may not be there, and those elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowmill._apply import call
from flowmill._convert import convert_to_tensor
from flowmill.data._structure import Component, Structure, _leaves, of_values, rebuild
from flowmill.graph import get_default_graph
from flowmill.tensor import Tensor
from flowmill.tensor_shape import TensorShape
from flowmill.tensor_spec import TensorSpec
from flowmill.type_spec import SparseTensorSpec, TypeSpec

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


def spec_of(structure: Structure) -> Any:
    """What is known of the tensors of elements, in their form."""
    return structure.map(lambda c: SparseTensorSpec(c.shape, c.dtype) if c.is_sparse else TensorSpec(c.shape, c.dtype))


def _structure_of(element_spec) -> Structure:
    """The form of elements of which that is known.

    Raises:
        TypeError: where something in it is no spec of a tensor.
    """
    components = []
    for spec in _leaves(element_spec):
        if not isinstance(spec, (TensorSpec, SparseTensorSpec)):
            raise TypeError(f"A TensorSpec or a SparseTensorSpec is needed for each tensor of an element, got {spec!r}.")
        components.append(Component(spec.dtype, spec.shape, isinstance(spec, SparseTensorSpec)))
    return Structure(rebuild(element_spec, components))


class _OfElements(TypeSpec):
    """That of what has elements of one form."""

    __slots__ = ("_element_spec",)

    @property
    def element_spec(self) -> Any:
        """What is known of the tensors of an element, in its form."""
        return self._element_spec

    def is_compatible_with(self, spec_or_value) -> bool:
        """Whether a value, or one of another spec, has such elements."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else self._of_value(spec_or_value)
        if type(other) is not type(self):
            return False
        ours, theirs = _leaves(self._element_spec), _leaves(other._element_spec)
        return len(ours) == len(theirs) and rebuild(self._element_spec, theirs) == other._element_spec and all(
            a.is_compatible_with(b) for a, b in zip(ours, theirs))

    def __hash__(self):
        return hash((type(self), *_leaves(self._element_spec)))


class DatasetSpec(_OfElements):
    """That of a dataset.

    Args:
        element_spec: what is known of the tensors of an element, in its form.
        dataset_shape: that of a tensor of datasets; a scalar is one.
    """

    __slots__ = ("_dataset_shape",)

    def __init__(self, element_spec, dataset_shape=()) -> None:
        self._element_spec, self._dataset_shape = element_spec, TensorShape(dataset_shape)

    @staticmethod
    def from_value(value: Dataset) -> DatasetSpec:
        """That of a dataset."""
        return DatasetSpec(value.element_spec)

    @property
    def value_type(self) -> type:
        """The class :class:`Dataset`."""
        from flowmill.data._dataset import Dataset

        return Dataset

    def _parts(self) -> tuple:
        return self._element_spec, self._dataset_shape

    @classmethod
    def _of_value(cls, value):
        from flowmill.data._dataset import Dataset

        return cls(value.element_spec) if isinstance(value, Dataset) else None


class Optional:
    """An element that may be there or not; :meth:`from_value` and :meth:`empty` make them."""

    def __init__(self, variant_tensor: Tensor, structure: Structure):
        self._variant_tensor, self._structure = variant_tensor, structure

    @staticmethod
    def from_value(value) -> Optional:
        """One that is there: a tensor, or a structure of them."""
        structure, parts = of_values(value)
        graph = get_default_graph()
        with graph.name_scope("optional") as scope:
            with graph.name_scope("value"):
                parts = [convert_to_tensor(part, dtype, name=f"component_{i}")
                         for i, (part, (dtype, _)) in enumerate(zip(parts, structure.parts))]
            return Optional(call("OptionalFromValue", scope, parts), structure)

    @staticmethod
    def empty(element_spec) -> Optional:
        """One that is not there.

        Args:
            element_spec: what would be known of it, a structure of :class:`TensorSpec`.
        """
        return Optional(call("OptionalNone", None), _structure_of(element_spec))

    @property
    def element_spec(self) -> Any:
        """What is known of the element."""
        return spec_of(self._structure)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether it is there, a bool scalar."""
        return call("OptionalHasValue", name, self._variant_tensor)

    def get_value(self, name: str | None = None) -> Any:
        """The element. A step that asks for one that is not there fails with `InvalidArgumentError`."""
        parts = self._structure.parts
        return self._structure.pack(call(
            "OptionalGetValue", name, self._variant_tensor, output_types=[dtype for dtype, _ in parts], output_shapes=[shape for _, shape in parts]))


class OptionalSpec(_OfElements):
    """That of an :class:`Optional`.

    Args:
        element_spec: what is known of the tensors of the element, in its form.
    """

    __slots__ = ()

    def __init__(self, element_spec) -> None:
        self._element_spec = element_spec

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """That of an optional element."""
        return OptionalSpec(value.element_spec)

    @property
    def value_type(self) -> type:
        """The class :class:`Optional`."""
        return Optional

    def _parts(self) -> tuple:
        return (self._element_spec,)

    @classmethod
    def _of_value(cls, value):
        return cls(value.element_spec) if isinstance(value, Optional) else None
