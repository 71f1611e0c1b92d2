"""Conversion of values to tensors: constants, lists that hold tensors, and objects that provide a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowmill import _core
from flowmill._internal.constants import INT32_LIMITS, array_of, is_tensor_like
from flowmill._internal.graph import get_default_graph
from flowmill._internal.lazy_numpy import np
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import Dimension, TensorShape
from flowmill.dtypes import DType, as_dtype

_INT32, _INT64 = 3, 9

# Conversion functions by priority, lowest first; within one in order of registration.
_registered: list[tuple[int, Any, Callable]] = []


def register_tensor_conversion_function(base_type, conversion_func: Callable, priority: int = 100) -> None:
    """Registers a function with which :func:`convert_to_tensor` converts values of `base_type` (a type or a tuple of types).

    Args:
        base_type: the type, or types.
        conversion_func: called as ``f(value, dtype=None, name=None, as_ref=False)``; returns a tensor, or `NotImplemented` for a value to leave
            to others.
        priority: functions with smaller ones are asked first.
    """
    if not callable(conversion_func):
        raise TypeError("Argument `conversion_func` must be callable.")
    _registered.append((priority, base_type, conversion_func))
    _registered.sort(key=lambda entry: entry[0])


def convert_to_tensor(value, dtype=None, name: str | None = None, preferred_dtype=None, dtype_hint=None) -> Tensor:
    """Returns the tensor that a value is or provides; otherwise a constant with it.

    Args:
        value: a tensor, an object with a conversion function, a number, string, array, or a nested list of them, which may hold tensors.
        dtype: the type it shall have; if it is None, that of the value.
        name: what to call a new operation.
        preferred_dtype: the type to use if `dtype` is None and the value can have it.
        dtype_hint: as `preferred_dtype`.

    Raises:
        TypeError: for a value that cannot have the type.
        ValueError: for a tensor of another type, and for a value that is no tensor at all.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if isinstance(value, Tensor):
        if wanted is not None and value.dtype.base_dtype is not wanted:
            raise ValueError(f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {value.dtype.base_dtype.name}: {value!r}")
        graph = get_default_graph()
        return graph.capture(value) if graph.building_function and value.graph is not graph else value
    hint = preferred_dtype if dtype_hint is None else dtype_hint
    if wanted is None and hint is not None:
        try:
            return _convert(value, as_dtype(hint).base_dtype, name)
        except (TypeError, ValueError):
            pass
    return _convert(value, wanted, name)


def _convert(value, dtype: DType | None, name: str | None) -> Tensor:
    if _is_plain(type(value)):
        return constant(value, dtype, name=name or "Const")
    stands_for = getattr(value, "_as_tensor", None)
    if stands_for is not None:
        found = stands_for(dtype, name)
        if dtype is not None and found.dtype.base_dtype is not dtype:
            raise ValueError(f"Tensor conversion requested dtype {dtype.name} for {type(value).__name__} with dtype {found.dtype.base_dtype.name}: {value!r}")
        return found
    for _, base_type, function in _registered:
        if isinstance(value, base_type):
            found = function(value, dtype=dtype, name=name, as_ref=False)
            if found is not NotImplemented:
                return found
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return _packed(value, dtype, name or "packed")
    if isinstance(value, (Dimension, TensorShape)):
        return _shape(value, dtype, name)
    if isinstance(value, range):
        from flowmill.math import range as range_of  # cycle: math._counts imports this module

        return range_of(value.start, value.stop, value.step, dtype=dtype, name=name)
    if isinstance(value, Operation):
        raise TypeError(f"Can't convert Operation '{value.name}' to Tensor (target dtype={None if dtype is None else dtype.name!r}, name={name!r}, as_ref=False)")
    return constant(value, dtype, name=name or "Const")


_PLAIN = frozenset((int, float, bool, str, bytes))


def _is_plain(kind: type) -> bool:
    return kind in _PLAIN or kind.__name__ == "ndarray" and kind is np.ndarray


def is_plain(value) -> bool:
    """Returns true if a value becomes a constant by :func:`array_of` alone: a number, string or array, or a list of numbers and strings."""
    kind = type(value)
    if kind is not list and kind is not tuple:
        return _is_plain(kind)
    kinds = set(map(type, value))
    return (kinds <= _PLAIN or all(map(_is_plain, kinds))) and not (_registered and _registered_for(kind))


def are_plain(values: tuple) -> bool:
    """Returns true if all values are certainly plain, see :func:`is_plain`."""
    return not _registered and _core.are_plain(values)


def _registered_for(kind: type) -> bool:
    """Returns true if a conversion function takes values of a type."""
    return any(issubclass(kind, base_type) for _, base_type, _ in _registered)


def _holds_tensors(value) -> bool:
    return any(is_tensor_like(item) or isinstance(item, (list, tuple)) and _holds_tensors(item) for item in value)


def _first_type(value) -> DType | None:
    for item in value:
        found = item.dtype.base_dtype if is_tensor_like(item) else _first_type(item) if isinstance(item, (list, tuple)) else None
        if found is not None:
            return found
    return None


def _packed(value, dtype: DType | None, name: str) -> Tensor:
    """Returns the tensor of nested lists that hold tensors. All have the type of the first tensor; with another `dtype` tensors are cast to it."""
    found = _first_type(value)
    if dtype is not None and dtype is not found:
        value = _cast(value, dtype)
    return _pack(value, dtype or found, name)


def _cast(value, dtype: DType):
    from flowmill._internal.apply import apply_op  # cycle: apply imports this module

    if isinstance(value, (list, tuple)):
        return [_cast(item, dtype) for item in value]
    if is_tensor_like(value) and value.dtype.base_dtype is not dtype:
        return apply_op("Cast", None, [value], {"DstT": dtype})._outputs[0]
    return value


def _pack(values, dtype: DType, name: str):
    """Returns nested lists as a tensor; lists without tensors stay lists, but their name is taken."""
    from flowmill._internal.apply import apply_op  # cycle: apply imports this module

    with get_default_graph().name_scope(name) as scope:
        parts = []
        for i, item in enumerate(values):
            if isinstance(item, (list, tuple)):
                item = _pack(item, dtype, str(i))
            elif is_tensor_like(item) and item.dtype.base_dtype is not dtype:
                raise TypeError(f"Cannot convert a list containing a tensor of dtype {item.dtype!r} to {dtype!r} (Tensor is: {item!r})")
            parts.append(item)
        if not any(map(is_tensor_like, parts)):
            return parts
        tensors = [part if is_tensor_like(part) else constant(part, dtype, name=str(i)) for i, part in enumerate(parts)]
        return apply_op("Pack", scope, [tensors], {"axis": 0})._outputs[0]


def _shape(value: Dimension | TensorShape, dtype: DType | None, name: str | None) -> Tensor:
    if isinstance(value, Dimension):
        if value.value is None:
            raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
        sizes: Any = value.value
    else:
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        sizes = value.as_list()
    if dtype is not None and dtype.name not in ("int32", "int64"):
        raise TypeError(f"Cannot convert a TensorShape to dtype {dtype.name}.")
    if dtype is None:
        large = any(s > INT32_LIMITS[1] for s in (sizes if isinstance(sizes, list) else [sizes]))
        dtype = as_dtype(_INT64 if large else _INT32)
    return constant(sizes, dtype, name=name or "shape_as_tensor")


def constant(value, dtype=None, shape=None, name: str | None = "Const", verify_shape: bool = False) -> Tensor:
    """Returns a tensor with a value that never changes.

    Args:
        value: a number, string, array, or a nested list of them.
        dtype: its type. Python's numbers are `float32` and `int32` by themselves, arrays keep their types.
        shape: its shape; if the value has fewer elements, its last one is repeated.
        name: the name of the operation.
        verify_shape: whether the value has to have just that shape.

    Raises:
        TypeError: for a value that cannot have the type.
        ValueError: if shapes do not fit, or nested lists are not of equal lengths.
    """
    graph = get_default_graph()
    graph._check_not_finalized()
    dtype = None if dtype is None else as_dtype(dtype).base_dtype
    name = name or "Const"
    if shape is None:
        return graph._add_constant(name, *array_of(value, dtype))
    sizes = [int(s) for s in shape]
    if 0 in sizes and not verify_shape:
        value = value.ravel()[:0] if isinstance(value, np.ndarray) else []  # whatever it is, none of it is left
    array, number = array_of(value, dtype)
    return graph._add_constant(name, _shaped(array, sizes, verify_shape), number)


def _shaped(array, sizes: list[int], verify_shape: bool):
    array = np.asarray(array)
    if list(array.shape) == sizes:
        return array
    if verify_shape:
        raise TypeError(f"Expected Tensor's shape: {tuple(sizes)}, but got {array.shape}.")
    count = int(np.prod(sizes, dtype=np.int64))
    if array.size > count:
        raise ValueError(f"Too many elements provided. Takes at most {count}, but got {array.size}.")
    if array.size == count:
        return array.reshape(sizes)
    if array.size == 0:
        raise ValueError(f"Cannot create a tensor with shape {tuple(sizes)} from a value without elements.")
    flat = array.reshape(-1)
    return np.concatenate([flat, np.repeat(flat[-1:], count - array.size)]).reshape(sizes)


def convert_n_to_tensor(values, dtype=None, name: str | None = None) -> list[Tensor]:
    """Each of some values as a tensor, called ``name_0``, ``name_1``, …"""
    return [convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}") for i, v in enumerate(values)]


def convert_to_tensor_or_indexed_slices(value, dtype=None, name: str | None = None):
    """Like :func:`convert_to_tensor`, but returns IndexedSlices unchanged."""
    from flowmill._internal.indexed_slices import IndexedSlices  # cycle: indexed_slices imports this module

    if isinstance(value, IndexedSlices):
        if dtype is not None and as_dtype(dtype).base_dtype is not value.dtype.base_dtype:
            raise ValueError(f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {value.dtype.name}: {value!r}")
        return value
    return convert_to_tensor(value, dtype, name)
