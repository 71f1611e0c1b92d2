"""Into how many parts variables are cut: functions for `get_variable`'s `partitioner`."""

from __future__ import annotations

import math
from collections.abc import Callable

from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variable_scopes import get_variable, variable_scope
from flowmill._internal.variables import Variable


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable:
    """Cuts along `axis` into `num_shards` parts, or as many as there are elements."""
    def partitioner(shape, **unused):
        counts = [1] * len(shape)
        counts[axis] = min(num_shards, TensorShape(shape).as_list()[axis])
        return counts
    return partitioner


def variable_axis_size_partitioner(max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16,
                                   max_shards: int | None = None) -> Callable:
    """Cuts along `axis` into parts of at most `max_shard_bytes` bytes.

    Args:
        max_shard_bytes: the most bytes of a part.
        axis: the dimension to cut.
        bytes_per_string_element: how large strings are taken to be.
        max_shards: the most parts.

    Raises:
        ValueError: if a number is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive. "
                         f"Currently, max_shard_bytes is {max_shard_bytes} and bytes_per_string_element is {bytes_per_string_element}")
    if max_shards is not None and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape, dtype):
        shape = TensorShape(shape)
        if not shape.is_fully_defined():
            raise ValueError("shape is not a fully defined TensorShape")
        size = bytes_per_string_element if dtype.name == "string" else dtype.size
        counts = [1] * shape.rank
        length = shape.as_list()[axis]
        if size * shape.num_elements() == 0:
            return counts
        slice_bytes = size * shape.num_elements() // length
        if slice_bytes > max_shard_bytes and max_shards is None:
            number = length
        else:
            rows = max(1, max_shard_bytes // slice_bytes)
            number = math.ceil(length / rows)
        counts[axis] = number if max_shards is None else min(max_shards, number)
        counts[axis] = min(counts[axis], length)
        return counts
    return partitioner


def min_max_variable_partitioner(max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10,
                                 bytes_per_string_element: int = 16) -> Callable:
    """Cuts along `axis` into at most `max_partitions` parts of at least `min_slice_size` bytes.

    Args:
        max_partitions: the most parts.
        axis: the dimension to cut; if it is None, the last one.
        min_slice_size: the least bytes of a part.
        bytes_per_string_element: how large strings are taken to be.
    """
    def partitioner(shape, dtype):
        shape = TensorShape(shape)
        counts = [1] * shape.rank
        size = bytes_per_string_element if dtype.name == "string" else dtype.size
        at = shape.rank - 1 if axis is None else axis
        total = shape.num_elements() * size
        counts[at] = max(1, min(shape.as_list()[at], max_partitions, math.ceil(total / min_slice_size)))
        return counts
    return partitioner


def create_partitioned_variables(shape, slicing, initializer, dtype="float32", trainable: bool = True, collections=None, name: str | None = None,
                                 reuse=None) -> list[Variable]:
    """Returns the parts of a variable that is cut as `slicing` says, the number of parts in each dimension.

    An `initializer` that is a value has its own type, in place of `dtype`.
    """
    if len(shape) != len(slicing):
        raise ValueError(f"The 'shape' and 'slicing' of a new Variable must have the length: shape: {list(shape)}, slicing: {list(slicing)}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        scope.set_partitioner(lambda **unused: list(slicing))
        made = get_variable(None, shape=shape, dtype=dtype if callable(initializer) else convert_to_tensor(initializer).dtype, initializer=initializer, trainable=trainable, collections=collections)
        return list(made)
