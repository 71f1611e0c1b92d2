"""Specs of whole elements: what is known of each component, and how elements become flat lists of tensors and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.sparse_tensor import SparseTensor, SparseTensorValue
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_array import TensorArray
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.composite_specs import NoneTensorSpec, RaggedTensorSpec, SparseTensorSpec, TensorArraySpec
from flowmill._internal.type_spec import TypeSpec
from flowmill.data import _nest
from flowmill.data._encodings import encoding_of
from flowmill.dtypes import DType, as_dtype
from flowmill.ragged._tensor import to_ragged


def component_spec(value) -> TypeSpec | None:
    """Returns the spec of a component that needs no conversion: a tensor, or an object made of several; None for other values."""
    from flowmill.data import _specs  # cycle: data._specs imports this module

    if value is None:
        return NoneTensorSpec()
    if isinstance(value, TypeSpec):
        return None
    if isinstance(value, Tensor) or hasattr(value, "_as_tensor"):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    if isinstance(value, np.ndarray):
        return TensorSpec(value.shape, as_dtype(value.dtype))
    if isinstance(value, SparseTensorValue) and not isinstance(value.values, np.ndarray):
        value = SparseTensor.from_value(value)
    if isinstance(value, list):
        return _specs.spec_of_list(value)
    for kind in (SparseTensorSpec, RaggedTensorSpec, TensorArraySpec, _specs.DatasetSpec, _specs.OptionalSpec):
        found = kind._of_value(value)
        if found is not None:
            return found
    return None


def spec_of(element) -> Any:
    """Returns the spec of an element, in its form.

    Raises:
        TypeError: for a component that cannot become a tensor.
    """
    def one(value):
        found = component_spec(value)
        if found is not None:
            return found
        try:
            tensor = convert_to_tensor(value)
        except (TypeError, ValueError):
            raise TypeError(f"Could not build a `TypeSpec` for {value} with type {type(value).__name__}") from None
        return TensorSpec(tensor.shape, tensor.dtype.base_dtype)

    return _nest.map_structure(one, element)


def normalize(element, signature=None) -> Any:
    """Returns an element whose components are tensors or made of several: names are ``component_0`` and so on.

    Args:
        element: a structure.
        signature: the specs of its components, or None to find them.
    """
    parts = _nest.flatten(element) if signature is None else _nest.flatten_up_to(signature, element)
    specs = [None] * len(parts) if signature is None else _nest.flatten(signature)
    normal = []
    with get_default_graph().name_scope("normalize_element"):
        for i, (value, spec) in enumerate(zip(parts, specs)):
            spec = component_spec(value) if spec is None else spec
            name = f"component_{i}"
            if spec is None:
                normal.append(convert_to_tensor(value, name=name))
            elif isinstance(spec, SparseTensorSpec):
                normal.append(value if isinstance(value, SparseTensor) else SparseTensor.from_value(value))
            elif isinstance(spec, RaggedTensorSpec):
                normal.append(to_ragged(value, name=name))
            elif isinstance(spec, TensorSpec):
                normal.append(convert_to_tensor(value, spec.dtype, name))
            else:
                normal.append(value)
    return _nest.pack_sequence_as(element if signature is None else signature, normal)


def tensor_specs(element_spec) -> list[TensorSpec]:
    """Returns the specs of the tensors that represent an element."""
    return [tensor for spec in _nest.flatten(element_spec) for tensor in encoding_of(spec).specs(spec)]


def tensor_types(element_spec) -> list[DType]:
    """Returns the types of the tensors that represent an element."""
    return [spec.dtype for spec in tensor_specs(element_spec)]


def tensor_shapes(element_spec) -> list[TensorShape]:
    """Returns the shapes of the tensors that represent an element."""
    return [spec.shape for spec in tensor_specs(element_spec)]


def encode(element_spec, element) -> list[Tensor]:
    """Returns the tensors that represent an element.

    Raises:
        TypeError, ValueError: if the element does not have the form of its spec.
    """
    _nest.assert_same_structure(element_spec, element)
    pairs = zip(_nest.flatten(element_spec), _nest.flatten(element))
    return [tensor for spec, value in pairs for tensor in encoding_of(spec).encode(spec, value)]


def encode_batch(element_spec, element) -> list[Tensor]:
    """Like :func:`encode`, for a batch of elements: each tensor has a row per element."""
    _nest.assert_same_structure(element_spec, element)
    pairs = zip(_nest.flatten(element_spec), _nest.flatten(element))
    return [tensor for spec, value in pairs for tensor in encoding_of(spec).encode_batch(spec, value)]


def decode(element_spec, tensors) -> Any:
    """Returns the element that tensors represent."""
    values, at = [], 0
    tensors = list(tensors)
    for spec in _nest.flatten(element_spec):
        encoding = encoding_of(spec)
        count = len(encoding.specs(spec))
        values.append(encoding.decode(spec, tensors[at:at + count]))
        at += count
    if at != len(tensors):
        raise ValueError(f"Expected {at} tensors but got {len(tensors)}.")
    return _nest.pack_sequence_as(element_spec, values)


def batched(element_spec, size: int | None) -> Any:
    """Returns the spec of a batch of elements."""
    return _nest.map_structure(lambda spec: encoding_of(spec).batch(spec, size), element_spec)


def unbatched(element_spec) -> Any:
    """Returns the spec of an element of a batch."""
    return _nest.map_structure(lambda spec: encoding_of(spec).unbatch(spec), element_spec)


def are_compatible(first, second) -> bool:
    """Returns true if elements of two specs can be the same."""
    try:
        _nest.assert_same_structure(first, second)
    except (TypeError, ValueError):
        return False
    return all(a.is_compatible_with(b) and b.is_compatible_with(a) for a, b in zip(_nest.flatten(first), _nest.flatten(second)))


def common(first, second) -> Any:
    """Returns the spec that elements of both specs meet.

    Raises:
        TypeError, ValueError: if there is none.
    """
    def one(a, b):
        if type(a) is TensorSpec and type(b) is TensorSpec:
            if a.dtype != b.dtype:
                raise TypeError(f"No common supertype of {a} and {b}.")
            return TensorSpec(a.shape.most_specific_compatible_shape(b.shape), a.dtype)
        return a.most_specific_compatible_type(b)

    return _nest.map_structure(one, first, second)


def legacy_types(element_spec) -> Any:
    """Returns the types of components, in the form of the element."""
    return _nest.map_structure(lambda spec: encoding_of(spec).legacy(spec)[0], element_spec)


def legacy_shapes(element_spec) -> Any:
    """Returns the shapes of components, in the form of the element."""
    return _nest.map_structure(lambda spec: encoding_of(spec).legacy(spec)[1], element_spec)


def legacy_classes(element_spec) -> Any:
    """Returns the classes of components, in the form of the element."""
    return _nest.map_structure(lambda spec: encoding_of(spec).legacy(spec)[2], element_spec)


def of_legacy(types, shapes, classes) -> Any:
    """Returns the spec for types, shapes and classes of components.

    Args:
        types: a structure of types.
        shapes: a structure of shapes, None for unknown ones.
        classes: a structure of classes, None for tensors.

    Raises:
        TypeError: for a class that is no component's.
    """
    types = _nest.map_structure(lambda t: t if isinstance(t, TypeSpec) else as_dtype(t), types)
    if shapes is None:
        shapes = _nest.map_structure(lambda _: TensorShape(None), types)
    else:
        shapes = _nest.map_structure_up_to(types, lambda s: s if isinstance(s, TypeSpec) else TensorShape(s), shapes)
    if classes is None:
        classes = _nest.map_structure(lambda t: t if isinstance(t, TypeSpec) else Tensor, types)
    flat = []
    for dtype, shape, kind in zip(_nest.flatten(types), _nest.flatten(shapes), _nest.flatten(classes)):
        if isinstance(kind, TypeSpec):
            flat.append(kind)
        elif issubclass(kind, (SparseTensor, SparseTensorValue)):
            flat.append(SparseTensorSpec(shape, dtype))
        elif issubclass(kind, Tensor):
            flat.append(TensorSpec(shape, dtype))
        elif issubclass(kind, TensorArray):
            dynamic_size, infer_shape = shape.as_list()[:2]
            flat.append(TensorArraySpec(shape[2:], dtype, bool(dynamic_size), bool(infer_shape)))
        else:
            raise TypeError(f"Could not build a structure for output class {kind.__name__}. Make sure any component class in `output_classes` is a "
                            "`tf.TypeSpec`, `tf.sparse.SparseTensor`, `tf.Tensor` or `tf.TensorArray`.")
    return _nest.pack_sequence_as(classes, flat)


def weakened(state_spec, new_spec, what: str) -> Any | None:
    """Returns a spec that also allows the shapes of a new state, None if the old one does.

    Args:
        state_spec: the spec of the state.
        new_spec: the spec of what the function makes of it.
        what: how messages of errors begin.

    Raises:
        TypeError: if types or classes differ.
    """
    for index, name in ((2, "classes"), (0, "types")):
        old, new = ([encoding_of(s).legacy(s)[index] for s in _nest.flatten(spec)] for spec in (state_spec, new_spec))
        same = [type(a) is type(b) if isinstance(a, TypeSpec) else a == b for a, b in zip(old, new)]
        if len(old) != len(new) or not all(same):
            legacy = legacy_classes if index == 2 else legacy_types
            raise TypeError(f"{what}The element {name} for the new state must match the initial state. Expected {legacy(state_spec)}, got "
                            f"{legacy(new_spec)}.")
    changed, flat = False, []
    for old, new in zip(_nest.flatten(state_spec), _nest.flatten(new_spec)):
        made = old
        if isinstance(old, (TensorSpec, SparseTensorSpec)):
            shape = old.shape.most_specific_compatible_shape(new.shape)
            if old.shape.rank is not None and (shape.rank is None or shape.as_list() != old.shape.as_list()):
                changed, made = True, type(old)(shape, old.dtype)
        flat.append(made)
    return _nest.pack_sequence_as(state_spec, flat) if changed else None


