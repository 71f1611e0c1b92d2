"""Values as tensors: constants, lists that hold tensors, and objects that know what stands for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowmill import _core
from flowmill._numpy import np
from flowmill.dtypes import DType, as_dtype
from flowmill.graph import get_default_graph
from flowmill.tensor import Operation, Tensor
from flowmill.tensor_shape import Dimension, TensorShape

_FLOAT32, _INT32, _STRING, _INT64, _BOOL = 1, 3, 7, 9, 10
_INT32_LIMITS = -(2**31), 2**31 - 1

# Conversion functions by priority, lowest first; within one in order of registration.
_registered: list[tuple[int, Any, Callable]] = []


def register_tensor_conversion_function(base_type, conversion_func: Callable, priority: int = 100) -> None:
    """Lets :func:`convert_to_tensor` make tensors of values of `base_type` (a type or a tuple of types).

    Args:
        base_type: the type, or types.
        conversion_func: called as ``f(value, dtype=None, name=None, as_ref=False)``; gives a tensor, or `NotImplemented` for a value to leave
            to others.
        priority: functions with smaller ones are asked first.
    """
    if not callable(conversion_func):
        raise TypeError("Argument `conversion_func` must be callable.")
    _registered.append((priority, base_type, conversion_func))
    _registered.sort(key=lambda entry: entry[0])


def convert_to_tensor(value, dtype=None, name: str | None = None, preferred_dtype=None, dtype_hint=None) -> Tensor:
    """The tensor that a value is or stands for; otherwise a constant with it.

    Args:
        value: a tensor, an object with a conversion function, a number, string, array, or a nested list of them, which may hold tensors.
        dtype: the type it shall have; where it is None, that of the value.
        name: what to call a new operation.
        preferred_dtype: the type to use where `dtype` is None and the value can have it.
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
    if isinstance(value, Operation):
        raise TypeError(f"Can't convert Operation '{value.name}' to Tensor (target dtype={None if dtype is None else dtype.name!r}, name={name!r}, as_ref=False)")
    return constant(value, dtype, name=name or "Const")


_PLAIN = frozenset((int, float, bool, str, bytes))
_INT = {int}


def _is_plain(kind: type) -> bool:
    return kind in _PLAIN or kind.__name__ == "ndarray" and kind is np.ndarray


def is_plain(value) -> bool:
    """Whether a value becomes a constant by :func:`array_of` and nothing else: a number, string or array, or a list of numbers and strings."""
    kind = type(value)
    if kind is not list and kind is not tuple:
        return _is_plain(kind)
    kinds = set(map(type, value))
    return (kinds <= _PLAIN or all(map(_is_plain, kinds))) and not (_registered and _registered_for(kind))


def are_plain(values: tuple) -> bool:
    """Whether all values are surely as :func:`is_plain` says."""
    return not _registered and _core.are_plain(values)


def _registered_for(kind: type) -> bool:
    """Whether a conversion function takes values of a type."""
    return any(issubclass(kind, base_type) for _, base_type, _ in _registered)


def _holds_tensors(value) -> bool:
    for item in value:
        if isinstance(item, Tensor) or hasattr(item, "_as_tensor"):
            return True
        if isinstance(item, (list, tuple)) and _holds_tensors(item):
            return True
    return False


def _first_type(value) -> DType | None:
    for item in value:
        found = item.dtype.base_dtype if isinstance(item, Tensor) or hasattr(item, "_as_tensor") else None
        if found is None and isinstance(item, (list, tuple)):
            found = _first_type(item)
        if found is not None:
            return found
    return None


def _packed(value, dtype: DType | None, name: str) -> Tensor:
    """A list that holds tensors as the tensor of them side by side."""
    from flowmill._apply import apply_op

    inferred = dtype or _first_type(value)
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        parts = []
        for i, item in enumerate(value):
            if isinstance(item, (list, tuple)) and _holds_tensors(item):
                parts.append(_packed(item, inferred, str(i)))
            else:
                if isinstance(item, (list, tuple)):
                    graph.unique_name(str(i))  # TensorFlow opens a scope here before it sees that there is no tensor inside
                parts.append(convert_to_tensor(item, inferred, str(i)))
        return apply_op("Pack", scope, [parts], {"axis": 0})._outputs[0]


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
        large = any(s > _INT32_LIMITS[1] for s in (sizes if isinstance(sizes, list) else [sizes]))
        dtype = as_dtype(_INT64 if large else _INT32)
    return constant(sizes, dtype, name=name or "shape_as_tensor")


def constant(value, dtype=None, shape=None, name: str = "Const", verify_shape: bool = False) -> Tensor:
    """A tensor with a value that never changes.

    Args:
        value: a number, string, array, or a nested list of them.
        dtype: its type. Python's numbers are `float32` and `int32` by themselves, arrays keep their types.
        shape: its shape; where the value has fewer elements, its last one is repeated.
        name: what to call the operation.
        verify_shape: whether the value has to have just that shape.

    Raises:
        TypeError: for a value that cannot have the type.
        ValueError: where shapes do not fit, or nested lists are not of equal lengths.
    """
    graph = get_default_graph()
    graph._check_not_finalized()
    dtype = None if dtype is None else as_dtype(dtype).base_dtype
    if shape is None:
        return graph._add_constant(name, *array_of(value, dtype))
    sizes = [int(s) for s in (shape.as_list() if isinstance(shape, TensorShape) else np.ravel(np.asarray(shape, dtype=object)))]
    if 0 in sizes and not verify_shape:
        value = []  # whatever it is, none of it is left
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


def array_of(value, dtype: DType | None) -> tuple[Any, int]:
    """What NumPy makes of a value by TensorFlow's rules, and the number of its type. A number, and a list of integers, stay what they are: the core
    takes them.

    Raises:
        TypeError: for a value that cannot have the type.
        ValueError: for None, and for nested lists that are not of equal lengths.
    """
    kind = type(value)
    if kind is float and (dtype is None or dtype.is_floating):
        return value, _FLOAT32 if dtype is None else dtype._number
    if kind is int and (dtype is None or dtype._number == _INT32 or dtype.is_floating):
        if dtype is not None and dtype.is_floating:
            return float(value), dtype._number
        if _INT32_LIMITS[0] <= value <= _INT32_LIMITS[1]:
            return value, _INT32
    if kind is bool and (dtype is None or dtype._number == _BOOL):
        return value, _BOOL
    if (kind is list or kind is tuple) and (dtype is None or dtype._number == _INT32) and set(map(type, value)) == _INT:
        if _INT32_LIMITS[0] <= min(value) and max(value) <= _INT32_LIMITS[1]:
            return value, _INT32
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_array(value, dtype)
    return _of_values(value, dtype)


def _of_array(value, dtype: DType | None):
    if value.dtype.kind in "OSU":
        if dtype is not None and dtype._number != _STRING:
            if value.dtype.kind == "O":
                return _of_values(value.tolist(), dtype)
            raise TypeError(f"Expected {dtype.name}, but got an array of strings.")
        if value.dtype.kind == "O" and any(not isinstance(v, (str, bytes)) for v in value.reshape(-1)):
            return _of_values(value.tolist(), dtype)
        return value.astype(object), _STRING
    own = as_dtype(value.dtype)
    if dtype is None or dtype is own:
        return value, own._number
    if dtype._number == _STRING:
        if not value.size:
            return value.astype(object), _STRING
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype string: expected strings, got {own.name}.")
    return value.astype(dtype._numpy()), dtype._number


def _of_values(value, dtype: DType | None):
    flat = list(_leaves(value))
    if dtype is not None:
        for leaf in flat:
            _check(leaf, dtype)
    elif any(leaf is None for leaf in flat):
        raise _not_convertible(value)
    strings = dtype._number == _STRING if dtype is not None else any(isinstance(leaf, (str, bytes)) for leaf in flat)
    if strings:
        if not all(isinstance(leaf, (str, bytes)) for leaf in flat):
            raise _not_convertible(value)
        return _dense(value, object), _STRING
    array = _dense(value, None if dtype is None else dtype._numpy())
    if dtype is not None:
        return array, dtype._number
    if array.dtype == np.float64:
        return array.astype(np.float32), _FLOAT32
    if array.dtype == np.int64 and array.size and array.min() >= _INT32_LIMITS[0] and array.max() <= _INT32_LIMITS[1]:
        return array.astype(np.int32), _INT32
    if array.dtype == object:
        raise _not_convertible(value)
    return array, as_dtype(array.dtype)._number


def _not_convertible(value) -> TypeError:
    return TypeError(f"Failed to convert elements of {value!r} to Tensor. Consider casting elements to a supported type. "
                     "See https://www.tensorflow.org/api_docs/python/tf/dtypes for supported TF dtypes.")


def _dense(value, dtype):
    try:
        if dtype is object:
            found = np.empty(_shape_of(value), dtype=object)
            found.reshape(-1)[:] = list(_leaves(value))
            return found
        return np.array(value, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        if "inhomogeneous" in str(error) or "sequence" in str(error):
            raise ValueError(f"Argument must be a dense tensor: {value!r}: {error}") from None
        if isinstance(error, OverflowError):
            raise ValueError(str(error)) from None
        raise TypeError(f"Failed to convert {value!r} to a Tensor: {error}") from None


def _shape_of(value) -> tuple[int, ...]:
    """The shape of nested lists.

    Raises:
        ValueError: where they are not of equal lengths.
    """
    if isinstance(value, np.ndarray):
        return value.shape
    if not isinstance(value, (list, tuple, range)):
        return ()
    inner = {_shape_of(v) for v in value}
    if len(inner) > 1:
        raise ValueError("inhomogeneous")
    return (len(value), *(inner.pop() if inner else ()))


def _leaves(value):
    if isinstance(value, (list, tuple, range)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, np.ndarray):
        yield from value.reshape(-1).tolist() if value.dtype != object else value.reshape(-1)
    elif isinstance(value, (Dimension,)):
        yield value.value
    else:
        yield value


def _check(leaf, dtype: DType) -> None:
    """Checks that a Python value can have a type; NumPy's values are cast where nothing is lost by it."""
    kind = leaf.dtype.kind if isinstance(leaf, np.generic) else ""
    lossy = "iufcSU" if dtype.is_bool else "bfc" if dtype.is_integer else "bc" if dtype.is_floating else "b" if dtype.is_complex else ""
    if leaf is None or kind and kind in lossy:
        fits = False
    elif isinstance(leaf, (np.generic, np.ndarray)):
        return
    elif dtype.is_bool:
        fits = isinstance(leaf, bool)
    elif dtype._number == _STRING:
        fits = isinstance(leaf, (str, bytes))
    elif dtype.is_integer or dtype.is_quantized:
        fits = (isinstance(leaf, int) or hasattr(leaf, "__index__")) and not (dtype.is_quantized and isinstance(leaf, bool))
    elif dtype.is_floating:
        fits = isinstance(leaf, (int, float)) or hasattr(leaf, "__float__") and not isinstance(leaf, str)
    elif dtype.is_complex:
        fits = isinstance(leaf, (int, float, complex))
    else:
        raise TypeError(f"{dtype.name} has no constants.")
    if not fits:
        raise TypeError(f"Expected {dtype.name}, but got {leaf} of type '{type(leaf).__name__}'.")


def convert_n_to_tensor(values, dtype=None, name: str | None = None) -> list[Tensor]:
    """Each of some values as a tensor, called ``name_0``, ``name_1``, …"""
    return [convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}") for i, v in enumerate(values)]


def convert_to_tensor_or_indexed_slices(value, dtype=None, name: str | None = None):
    """As :func:`convert_to_tensor`; IndexedSlices stay what they are."""
    from flowmill.indexed_slices import IndexedSlices

    if isinstance(value, IndexedSlices):
        if dtype is not None and as_dtype(dtype).base_dtype is not value.dtype.base_dtype:
            raise ValueError(f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {value.dtype.name}: {value!r}")
        return value
    return convert_to_tensor(value, dtype, name)
