"""What the elements of a dataset are: nested tuples and dictionaries of tensors, flat for the pipeline."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from flowmill import nest
from flowmill._convert import array_of, convert_to_tensor
from flowmill.dtypes import DType, as_dtype
from flowmill.sparse_tensor import SparseTensor
from flowmill.tensor import Tensor
from flowmill.tensor_shape import TensorShape


@dataclasses.dataclass(frozen=True)
class Component:
    """The type and static shape of one tensor of an element; `is_sparse` where three parts stand for it."""

    dtype: DType
    shape: TensorShape
    is_sparse: bool = False

    def parts(self) -> list[tuple[DType, TensorShape]]:
        """Type and shape of each array that stands for it in the pipeline."""
        if not self.is_sparse:
            return [(self.dtype, self.shape)]
        rank = self.shape.rank
        int64 = as_dtype("int64")
        return [(int64, TensorShape([None, rank])), (self.dtype, TensorShape([None])), (int64, TensorShape([rank]))]


class Structure:
    """The form of elements: `template` is a structure with a :class:`Component` for each tensor."""

    def __init__(self, template) -> None:
        self.template = template
        self.components: list[Component] = _leaves(template)

    @property
    def parts(self) -> list[tuple[DType, TensorShape]]:
        """Type and shape of each array of an element in the pipeline."""
        return [part for component in self.components for part in component.parts()]

    def pack(self, tensors: list[Tensor]):
        """Tensors for all parts as an element."""
        values, at = [], 0
        for component in self.components:
            if component.is_sparse:
                sparse = SparseTensor(*tensors[at:at + 3])
                sparse._known = component.shape
                values.append(sparse)
                at += 3
            else:
                values.append(tensors[at])
                at += 1
        return rebuild(self.template, values)

    def map(self, function) -> Any:
        """The same form with what `function` makes of each component."""
        return rebuild(self.template, [function(c) for c in self.components])

    def with_components(self, function) -> Structure:
        """The same form with other components."""
        return Structure(self.map(function))

    @property
    def are_sparse(self) -> list[bool]:
        """Which components are sparse tensors."""
        return [c.is_sparse for c in self.components]


def _is_structure(value) -> bool:
    """Whether this is a structure of datasets: lists are tensors there."""
    return isinstance(value, (tuple, dict))


def _leaves(value) -> list:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _leaves(value[key])]
    if _is_structure(value):
        return [leaf for child in value for leaf in _leaves(child)]
    return [value]


def rebuild(template, leaves) -> Any:
    """Leaves in the form of a template."""
    values = iter(leaves)

    def walk(part):
        if isinstance(part, dict):
            made = {key: walk(part[key]) for key in sorted(part)}
            return type(part)((key, made[key]) for key in part)
        if _is_structure(part):
            children = [walk(child) for child in part]
            return type(part)(*children) if hasattr(part, "_fields") else tuple(children)
        return next(values)

    return walk(template)


def of_values(value) -> tuple[Structure, list]:
    """The form of a user's value, and its parts: arrays, or tensors of the graph.

    Raises:
        TypeError, ValueError: for what is no tensor.
    """
    leaves, components, parts = _leaves(value), [], []
    for leaf in leaves:
        if isinstance(leaf, SparseTensor):
            components.append(Component(leaf.dtype, leaf.shape, True))
            parts += leaf._components()
        elif isinstance(leaf, Tensor) or hasattr(leaf, "_as_tensor") or isinstance(leaf, list) and _holds_tensors(leaf):
            tensor = convert_to_tensor(leaf)
            components.append(Component(tensor.dtype.base_dtype, tensor.shape))
            parts.append(tensor)
        else:
            array, number = array_of(leaf, None)
            dtype = as_dtype(number)
            array = as_array(array, dtype)
            components.append(Component(dtype, TensorShape(array.shape)))
            parts.append(array)
    return Structure(rebuild(value, components)), parts


def _holds_tensors(value: list) -> bool:
    return any(isinstance(leaf, Tensor) for leaf in nest.flatten(value))


def as_array(value, dtype: DType) -> np.ndarray:
    """A value as an array of a type; strings as bytes."""
    if dtype.name == "string":
        array = np.asarray(value, dtype=object)
        flat = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1)]
        made = np.empty(len(flat), object)
        made[:] = flat
        return made.reshape(array.shape)
    return np.asarray(value, dtype=dtype._numpy())
