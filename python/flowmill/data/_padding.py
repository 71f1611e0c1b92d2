"""Batches of elements that are filled up to a common shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.tensor_util import constant_value_as_shape
from flowmill.data import _nest
from flowmill.data._base import BOOL, INT64, DatasetBase, derived, int64
from flowmill.data._specs import DatasetSpec

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


def shape_tensor(shape) -> Tensor:
    """Returns a shape as an int64 vector, with -1 for sizes that are not known.

    Args:
        shape: what can become a `TensorShape`, or an int64 vector.

    Raises:
        ValueError: for a tensor that is no vector.
        TypeError: for one of another type.
    """
    try:
        sizes = TensorShape(shape).as_list()
    except (TypeError, ValueError):
        found = convert_to_tensor(shape, preferred_dtype=INT64)
        if found.shape.rank not in (None, 1):
            raise ValueError(f"Padded shape {shape} must be a `tf.int64` vector tensor, but its shape was {found.shape}.") from None
        if found.dtype != INT64:
            raise TypeError(f"Padded shape {shape} must be a `tf.int64` vector tensor, but its element type was {found.dtype.name}.") from None
        return found
    return convert_to_tensor([-1 if size is None else size for size in sizes], INT64)


def _fits(padded: TensorShape, shape: TensorShape) -> bool:
    if padded.rank is None or shape.rank is None:
        return True
    return padded.rank == shape.rank and all(p is None or s is None or p >= s for p, s in zip(padded.as_list(), shape.as_list()))


def _padded_shape(padded, shape: TensorShape) -> Tensor:
    found = shape_tensor(padded)
    known = constant_value_as_shape(found)
    if not _fits(known, shape):
        raise ValueError(f"The padded shape {known} is not compatible with the shape {shape} of the corresponding input component.")
    return found


def _zero(dtype) -> Any:
    if dtype.name == "string":
        return ""
    if dtype.name == "variant":
        raise TypeError("Unable to create default padding value for a component of type 'variant'.")
    return constant(0, dtype) if dtype.name == "bfloat16" else np.zeros([], dtype.as_numpy_dtype)


def _values(values, types) -> list[Tensor]:
    """Returns what to fill the components up with, scalars."""
    zeros = _nest.map_structure(_zero, types)
    if values is None:
        values = zeros
    elif _nest.is_nested(values):
        values = _nest.map_structure_up_to(values, lambda value, zero: zero if value is None else value, values, zeros)
    if _nest.is_nested(types) and not _nest.is_nested(values):
        values = _nest.map_structure(lambda _: values, types)
    found = []
    for value, dtype in zip(_nest.flatten_up_to(types, values), _nest.flatten(types)):
        tensor = convert_to_tensor(value, name="padding_value")
        if tensor.shape.rank not in (None, 0):
            raise ValueError(f"Invalid `padding_values`. `padding_values` values should be scalars, but got {tensor.shape}.")
        if tensor.dtype != dtype:
            raise TypeError(f"Invalid `padding_values`. `padding_values` values type {tensor.dtype} does not match type {dtype} of the corresponding "
                            "input component.")
        found.append(tensor)
    return found


def padded_batch(dataset: DatasetBase, batch_size, padded_shapes, padding_values, drop_remainder, name: str | None) -> Dataset:
    """See :meth:`Dataset.padded_batch`."""
    from flowmill.data._batches import static_size  # cycle: data._batches imports this module

    shapes, types = dataset.output_shapes, dataset.output_types
    if padded_shapes is None:
        padded_shapes = shapes
        for i, shape in enumerate(_nest.flatten(shapes)):
            if getattr(shape, "rank", 0) is None:
                raise ValueError(f"You must provide `padded_shapes` argument because component {i} has unknown rank.")
    for spec in _nest.flatten(dataset.element_spec):
        if isinstance(spec, DatasetSpec):
            raise TypeError("`padded_batch` is not supported for datasets of datasets")
        if not isinstance(spec, TensorSpec):
            raise TypeError("`padded_batch` is only supported for datasets that produce tensor elements but type spec of elements in the input dataset "
                            f"is not a subclass of TensorSpec: `{spec}`.")
    size = int64(batch_size, "batch_size")
    given = _nest.flatten_up_to(shapes, padded_shapes)
    tensors = [_padded_shape(padded, shape) for padded, shape in zip(given, _nest.flatten(shapes))]
    values = _values(padding_values, types)
    drop = convert_to_tensor(drop_remainder, BOOL, "drop_remainder")
    rows = TensorShape([static_size(size, drop)])
    specs = [TensorSpec(rows.concatenate(constant_value_as_shape(t)), dtype) for t, dtype in zip(tensors, _nest.flatten(types))]
    spec = _nest.pack_sequence_as(shapes, specs)
    return derived(dataset, "PaddedBatchDatasetV2", size, tensors, values, drop, element_spec=spec, name=name)
