"""Constants: the arrays that Python values become by TensorFlow's rules."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterator, Sequence
from typing import Any

from flowmill._internal.lazy_numpy import np
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import Dimension
from flowmill.dtypes import DType, as_dtype

_FLOAT32, _INT32, _STRING, _BOOL = 1, 3, 7, 10
_INT = {int}
_LISTS = {list, tuple}
INT32_LIMITS = -(2**31), 2**31 - 1


def array_of(value, dtype: DType | None) -> tuple[Any, int]:
    """Returns what NumPy makes of a value by TensorFlow's rules, and the number of its type. A number and a list of integers are returned as they
    are: the core takes them.

    Args:
        value: a number, a string, an array, an object that says how to become an array, or nested lists of numbers and strings.
        dtype: the type that the array shall have; None for the value's own.

    Raises:
        TypeError: for a value that cannot have the type.
        ValueError: for None, and for nested lists that are not of equal lengths or hold arrays.
    """
    kind = type(value)
    if kind is float and (dtype is None or dtype.is_floating):
        return value, _FLOAT32 if dtype is None else dtype._number
    if kind is int and (dtype is None or dtype._number == _INT32 or dtype.is_floating):
        if dtype is not None and dtype.is_floating:
            return float(value), dtype._number
        if INT32_LIMITS[0] <= value <= INT32_LIMITS[1]:
            return value, _INT32
    if kind is bool and (dtype is None or dtype._number == _BOOL):
        return value, _BOOL
    if (kind is list or kind is tuple) and (dtype is None or dtype._number == _INT32) and set(map(type, value)) == _INT:
        if INT32_LIMITS[0] <= min(value) and max(value) <= INT32_LIMITS[1]:
            return value, _INT32
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_array(value, dtype)
    if _is_array_like(value):
        return _of_array(np.asarray(value), dtype)
    return _of_values(value, dtype)


def is_tensor_like(value) -> bool:
    """Returns true for a tensor and for an object that has a tensor's value, such as a variable."""
    return isinstance(value, Tensor) or hasattr(value, "_as_tensor")


def _is_array_like(value) -> bool:
    """Returns true for an object that has a protocol of arrays or buffers; `bytes` are a string."""
    if isinstance(value, (list, tuple, str, bytes, int, float)) or is_tensor_like(value):
        return False
    if callable(getattr(value, "__array__", None)) or isinstance(getattr(value, "__array_interface__", None), dict):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _of_array(value, dtype: DType | None):
    if dtype is not None and dtype._number != _STRING:
        _check_has_constants(dtype)
        return value if as_dtype(value.dtype) is dtype else value.astype(dtype._numpy()), dtype._number
    if value.dtype.kind in "OSU":
        for leaf in value.flat if value.dtype.kind == "O" else ():
            if not isinstance(leaf, (str, bytes)):
                raise TypeError(f"Expected binary or unicode string, got {leaf!r}")
        return np.asarray(value).astype(object), _STRING  # of a plain array: NumPy's `chararray` holds strings alone
    if dtype is None:
        return value, as_dtype(value.dtype)._number
    if not value.size:
        return value.astype(object), _STRING
    raise TypeError(f"Expected binary or unicode string, got {value!r}")


def _of_values(value, dtype: DType | None):
    flat = _all_leaves(value)
    samples = _samples(flat)
    if dtype is not None:
        for leaf in samples:
            _check(leaf, dtype)
    elif any(map(is_tensor_like, samples)):
        raise TypeError("Expected any non-tensor type, but got a tensor instead.")
    elif any(leaf is None for leaf in samples):
        raise _not_convertible(value)
    strings = dtype._number == _STRING if dtype is not None else any(isinstance(leaf, (str, bytes)) for leaf in samples)
    if strings:
        if not all(isinstance(leaf, (str, bytes)) for leaf in samples):
            raise _not_convertible(value)
        return _checked_dense(value, _strings(value)), _STRING
    array = _checked_dense(value, _dense(value, None if dtype is None else dtype._numpy()))
    if dtype is not None:
        return array, dtype._number
    if array.dtype == np.float64:
        return array.astype(np.float32), _FLOAT32
    if array.dtype == np.int64 and array.size and array.min() >= INT32_LIMITS[0] and array.max() <= INT32_LIMITS[1]:
        return array.astype(np.int32), _INT32
    if array.dtype == object:
        raise _not_convertible(value)
    return array, as_dtype(array.dtype)._number


def _not_convertible(value) -> TypeError:
    return TypeError(f"Failed to convert elements of {value!r} to Tensor. Consider casting elements to a supported type. "
                     "See https://www.tensorflow.org/api_docs/python/tf/dtypes for supported TF dtypes.")


def _strings(value):
    try:
        found = np.empty(_shape_of(value), dtype=object)
    except ValueError:
        raise ValueError(f"Argument must be a dense tensor: {value!r}") from None
    found.reshape(-1)[:] = list(_leaves(value))
    return found


def _dense(value, dtype):
    try:
        if dtype is not None and np.issubdtype(dtype, np.number):
            return np.array(value).astype(dtype)  # which wraps integers that the type does not hold, as TensorFlow does
        return np.array(value, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        if "inhomogeneous" in str(error) or "sequence" in str(error):
            raise ValueError(f"Argument must be a dense tensor: {value!r}: {error}") from None
        if isinstance(error, OverflowError):
            raise ValueError(str(error)) from None
        raise TypeError(f"Failed to convert {value!r} to a Tensor: {error}") from None


def _checked_dense(value, array):
    """Returns the array of nested lists.

    Raises:
        ValueError: if it has other dimensions than the lists: what they hold are sequences of another kind.
    """
    dimensions, inner = [], value
    while isinstance(inner, (list, tuple)):
        dimensions.append(len(inner))
        if not inner:
            break
        inner = inner[0]
    if list(array.shape) != dimensions:
        raise ValueError(f"Expected values {value} to be a dense tensor with shape {dimensions}, but got shape {list(array.shape)}.")
    return array


def _shape_of(value) -> tuple[int, ...]:
    """Returns the shape of nested sequences.

    Raises:
        ValueError: if they are not of equal lengths.
    """
    if isinstance(value, np.ndarray):
        return value.shape
    if not _is_sequence(value):
        return ()
    inner = {_shape_of(v) for v in value}
    if len(inner) > 1:
        raise ValueError("inhomogeneous")
    return (len(value), *(inner.pop() if inner else ()))


def _is_sequence(value) -> bool:
    return isinstance(value, (list, tuple)) or isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _leaves(value) -> Iterator:
    if _is_sequence(value):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _all_leaves(value) -> list:
    """Returns the elements of nested sequences. Lists of one depth, which nearly all are, are joined level by level, without a call per element."""
    level = [value]
    while level and set(map(type, level)) <= _LISTS:
        level = list(itertools.chain.from_iterable(level))
    return level if not any(map(_is_sequence, _samples(level))) else list(_leaves(value))


def _samples(leaves: list) -> list:
    """Returns the first element of each type, in the order of the elements, and all arrays, whose types differ by their elements."""
    found: dict[type, Any] = {}
    if len(kinds := set(map(type, leaves))) == 1 and np.ndarray not in kinds:
        return leaves[:1]
    return [leaf for leaf in leaves if isinstance(leaf, np.ndarray) or found.setdefault(type(leaf), leaf) is leaf]


def _check_has_constants(dtype: DType) -> None:
    if dtype.name in ("resource", "variant"):
        raise TypeError(f"{dtype.name} has no constants.")


def _check(leaf, dtype: DType) -> None:
    """Checks that an element of a list can have a type.

    Raises:
        TypeError: if it cannot.
    """
    _check_has_constants(dtype)
    is_array = isinstance(leaf, np.ndarray)
    kind = leaf.dtype.type if is_array else type(leaf)
    if dtype.is_bool:
        fits = kind is bool
    elif dtype._number == _STRING:
        fits = issubclass(kind, (str, bytes))
    elif dtype.is_quantized:
        fits = issubclass(kind, (numbers.Integral, np.integer)) and kind is not bool
    elif dtype.is_integer:
        fits = issubclass(kind, (numbers.Integral, np.integer, Dimension))
    else:
        fits = issubclass(kind, numbers.Real if dtype.is_floating else numbers.Complex)
    if not fits:
        raise TypeError(f"Expected {dtype.name}, but got {leaf} of type '{type(leaf).__name__}'.")
