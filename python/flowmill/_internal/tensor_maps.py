"""Tensor maps: maps from tensors to tensors, as values that the operations of a graph hand on."""

from __future__ import annotations

from flowmill._internal.apply import call
from flowmill._internal.tensor import Tensor

__all__ = ["empty_tensor_map", "tensor_map_erase", "tensor_map_has_key", "tensor_map_insert", "tensor_map_lookup", "tensor_map_size", "tensor_map_stack_keys"]


def empty_tensor_map() -> Tensor:
    """Returns a map without entries, a scalar of type `variant`."""
    return call("EmptyTensorMap", None)


def tensor_map_size(input_handle) -> Tensor:
    """Returns the number of entries, a scalar of type `int32`."""
    return call("TensorMapSize", None, input_handle)


def tensor_map_insert(input_handle, key, value) -> Tensor:
    """Returns a map with one more entry, or with another value for a key that is there."""
    return call("TensorMapInsert", None, input_handle, key, value)


def tensor_map_lookup(input_handle, key, value_dtype) -> Tensor:
    """Returns the value of a key; a step fails if the map lacks it."""
    return call("TensorMapLookup", None, input_handle, key, value_dtype=value_dtype)


def tensor_map_erase(input_handle, key, value_dtype) -> Tensor:
    """Returns a map without the entry of a key; a step fails if the map lacks it."""
    return call("TensorMapErase", None, input_handle, key, value_dtype=value_dtype)


def tensor_map_has_key(input_handle, key) -> Tensor:
    """Returns true if the map has a key, a scalar."""
    return call("TensorMapHasKey", None, input_handle, key)


def tensor_map_stack_keys(input_handle, key_dtype) -> Tensor:
    """Returns all keys, which have one type and one shape, along a new first dimension."""
    return call("TensorMapStackKeys", None, input_handle, key_dtype=key_dtype)
