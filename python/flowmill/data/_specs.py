"""Specs of datasets and of optional elements, and those elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowmill._internal.apply import call, op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.type_spec import TypeSpec
from flowmill.data import _encodings, _nest, _structure
from flowmill.dtypes import as_dtype

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


class _OfElements(TypeSpec):
    """The spec of what has elements of one form."""

    __slots__ = ("_element_spec",)

    @property
    def element_spec(self) -> Any:
        """The specs of the components of an element, in its structure."""
        return self._element_spec

    def is_compatible_with(self, spec_or_value) -> bool:
        """Returns true if a value, or one of another spec, has such elements."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else self._of_value(spec_or_value)
        if type(other) is not type(self):
            return False
        try:
            _nest.assert_same_structure(self._element_spec, other._element_spec)
        except (TypeError, ValueError):
            return False
        return all(a.is_compatible_with(b) for a, b in zip(_nest.flatten(self._element_spec), _nest.flatten(other._element_spec)))

    def __hash__(self):
        return hash((type(self), *_nest.flatten(self._element_spec)))


class DatasetSpec(_OfElements):
    """The spec of a dataset.

    Args:
        element_spec: what is known of the components of an element, in its form.
        dataset_shape: the shape of a tensor of datasets; a scalar is one.
    """

    __slots__ = ("_dataset_shape",)

    def __init__(self, element_spec, dataset_shape=()) -> None:
        self._element_spec, self._dataset_shape = element_spec, TensorShape(dataset_shape)

    @staticmethod
    def from_value(value: Dataset) -> DatasetSpec:
        """Returns the spec of a dataset."""
        return DatasetSpec(value.element_spec)

    @property
    def value_type(self) -> type:
        """The class :class:`Dataset`."""
        from flowmill.data._dataset import Dataset  # cycle: data._batches imports this module

        return Dataset

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Returns the spec that datasets of this and another spec meet.

        Raises:
            ValueError: if there is none.
        """
        if not isinstance(other, DatasetSpec):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return DatasetSpec(_structure.common(self._element_spec, other._element_spec), self._dataset_shape)

    def _serialize(self) -> tuple:
        return self._element_spec, self._dataset_shape

    @classmethod
    def _of_value(cls, value):
        from flowmill.data._dataset import Dataset, NestedDatasets  # cycle: data._batches imports this module

        if isinstance(value, NestedDatasets):
            return cls(value.element_spec, value.shape)
        return cls(value.element_spec) if isinstance(value, Dataset) else None


def spec_of_list(values: list) -> DatasetSpec | None:
    """Returns the spec of the tensor that a list of datasets becomes; None for a list of anything else."""
    specs = [DatasetSpec._of_value(value) for value in values]
    if not specs or any(spec is None for spec in specs):
        return None
    common = specs[0]
    for spec in specs[1:]:
        common = common.most_specific_compatible_type(spec)
    return DatasetSpec(common.element_spec, TensorShape([len(values)]).concatenate(common._dataset_shape))


class _VariantEncoding:
    """The encoding of what is one variant already."""

    @staticmethod
    def encode(spec, value) -> list[Tensor]:
        return [convert_to_tensor([v._variant_tensor for v in value]) if isinstance(value, list) else value._variant_tensor]

    encode_batch = encode

    @staticmethod
    def legacy(spec) -> tuple[Any, Any, Any]:
        return spec, spec, spec


class _DatasetEncoding(_VariantEncoding):
    """The encoding of datasets: the variants that they are."""

    @staticmethod
    def specs(spec: DatasetSpec) -> list[TensorSpec]:
        return [TensorSpec(spec._dataset_shape, as_dtype("variant"))]

    @staticmethod
    def decode(spec: DatasetSpec, tensors: list[Tensor]) -> Any:
        from flowmill.data import _dataset  # cycle: data._batches imports this module

        if spec._dataset_shape.rank == 0:
            return _dataset.from_variant(tensors[0], spec.element_spec)
        return _dataset.NestedDatasets(tensors[0], spec.element_spec, spec._dataset_shape)

    @staticmethod
    def batch(spec: DatasetSpec, size: int | None) -> DatasetSpec:
        return DatasetSpec(spec.element_spec, TensorShape([size]).concatenate(spec._dataset_shape))

    @staticmethod
    def unbatch(spec: DatasetSpec) -> DatasetSpec:
        if spec._dataset_shape.rank == 0:
            raise ValueError("Slicing dataset elements is not supported for rank 0.")
        return DatasetSpec(spec.element_spec, spec._dataset_shape[1:])


class Optional:
    """An element that may be there or not; :meth:`from_value` and :meth:`empty` make them."""

    def __init__(self, variant_tensor: Tensor, element_spec):
        self._variant_tensor, self._element_spec = variant_tensor, element_spec

    @staticmethod
    def from_value(value) -> Optional:
        """Returns one that is there: a tensor, or a structure of them."""
        graph = get_default_graph()
        with graph.name_scope("optional") as scope:
            with graph.name_scope("value"):
                spec = _structure.spec_of(value)
                tensors = _structure.encode(spec, value)
            return Optional(call("OptionalFromValue", scope, tensors), spec)

    @staticmethod
    def empty(element_spec) -> Optional:
        """Returns one that is not there.

        Args:
            element_spec: what would be known of it, a structure of specs.
        """
        for spec in _nest.flatten(element_spec):
            _encodings.encoding_of(spec)
        return Optional(call("OptionalNone", None), element_spec)

    @property
    def element_spec(self) -> Any:
        """The specs of the components of the element, in its structure."""
        return self._element_spec

    def has_value(self, name: str | None = None) -> Tensor:
        """Returns true, a bool scalar, if it is there."""
        with get_default_graph().colocate_with(self._variant_tensor):
            return call("OptionalHasValue", name, self._variant_tensor)

    def get_value(self, name: str | None = None) -> Any:
        """Returns the element. A step that needs one that is not there fails with `InvalidArgumentError`."""
        spec = self._element_spec
        with op_scope(name, "OptionalGetValue", self._variant_tensor) as scope:
            with get_default_graph().colocate_with(self._variant_tensor):
                tensors = call("OptionalGetValue", scope, self._variant_tensor, output_types=_structure.tensor_types(spec),
                               output_shapes=_structure.tensor_shapes(spec))
            return _structure.decode(spec, tensors)


class OptionalSpec(_OfElements):
    """The spec of an :class:`Optional`.

    Args:
        element_spec: what is known of the components of the element, in its form.
    """

    __slots__ = ()

    def __init__(self, element_spec) -> None:
        self._element_spec = element_spec

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """Returns the spec of an optional element."""
        return OptionalSpec(value.element_spec)

    @property
    def value_type(self) -> type:
        """The class :class:`Optional`."""
        return Optional

    def _serialize(self) -> tuple:
        return (self._element_spec,)

    @classmethod
    def _of_value(cls, value):
        return cls(value.element_spec) if isinstance(value, Optional) else None


class _OptionalEncoding(_VariantEncoding):
    """The encoding of an optional element: the variant that it is."""

    @staticmethod
    def specs(spec: OptionalSpec) -> list[TensorSpec]:
        return [TensorSpec([], as_dtype("variant"))]

    @staticmethod
    def decode(spec: OptionalSpec, tensors: list[Tensor]) -> Optional:
        return Optional(tensors[0], spec.element_spec)

    @staticmethod
    def batch(spec: OptionalSpec, size: int | None) -> OptionalSpec:
        raise NotImplementedError("Batches of optional elements are not supported.")

    unbatch = batch


_encodings.register(DatasetSpec, _DatasetEncoding)
_encodings.register(OptionalSpec, _OptionalEncoding)
