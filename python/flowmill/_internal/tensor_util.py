"""Values of tensors that are known without a graph being run; tensors as messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowmill._internal import protos
from flowmill._internal.convert import array_of
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import as_dtype


def constant_value(tensor, partial: bool = False) -> Any:
    """Returns the value that a tensor always has, if that follows from the graph.

    Args:
        tensor: a tensor; what is none, such as an array, is its own value.
        partial: gives an array of objects if only some of what was stacked is known, with None for what is not.

    Returns:
        A NumPy array or scalar, None if the value is not known.
    """
    if isinstance(tensor, (np.ndarray, np.generic)):
        return tensor
    stands_for = getattr(tensor, "_as_tensor", None)
    if not isinstance(tensor, Tensor):
        if stands_for is None:
            return None if hasattr(tensor, "_components") else tensor
        # A variable has no value that stays.
        return None if hasattr(tensor, "initializer") else constant_value(stands_for())
    value = tensor.graph._core.constant_value(*tensor._key)
    if value is None:
        value = _computed(tensor)
        return _part_of(tensor) if value is None and partial else value
    return np.array(value, dtype=object) if isinstance(value, (bytes, str)) else np.asarray(value)


def _computed(tensor: Tensor):
    """Returns the value of an operation that the core does not follow, if its inputs have values."""
    op = tensor.op
    function = _FUNCTIONS.get(op.type)
    if function is None:
        return None
    values = [constant_value(i) for i in op.inputs]
    if any(v is None for v in values) or sum(v.size for v in values) > _MOST_ELEMENTS:
        return None
    found = function(op, *values)
    return found[tensor.value_index] if isinstance(found, list) else found


def _part_of(tensor: Tensor):
    """Returns the known values of a tensor that was stacked from others."""
    op = tensor.op
    if op.type == "Pack" and op.get_attr("axis") == 0:
        found = np.empty(len(op.inputs), dtype=object)
        found[:] = [constant_value(i, True) for i in op.inputs]
        return found
    if op.type == "Unpack" and op.get_attr("axis") == 0:
        whole = constant_value(op.inputs[0], True)
        return None if whole is None else whole[tensor.value_index]
    if op.type == "Split":
        axis, whole = constant_value(op.inputs[0]), constant_value(op.inputs[1], True)
        return None if axis is None or whole is None else np.split(whole, len(op.outputs), int(axis))[tensor.value_index]
    return constant_value(op.inputs[0], True) if op.type in ("Identity", "StopGradient") else None


def _filled(op, shape, value):
    return np.full(shape, value, dtype=value.dtype) if np.prod(shape, dtype=np.float64) <= _MOST_ELEMENTS else None


# What is larger is not computed while a graph is built.
_MOST_ELEMENTS = 100_000
_FUNCTIONS = {
    "Cast": lambda op, x: None if x.dtype == object else x.astype(op.get_attr("DstT").as_numpy_dtype),
    "Concat": lambda op, axis, *parts: np.concatenate(parts, int(axis)),
    "ConcatV2": lambda op, *parts: np.concatenate(parts[:-1], int(parts[-1])),
    "Pack": lambda op, *parts: np.stack(parts, op.get_attr("axis")),
    "Split": lambda op, axis, whole: np.split(whole, len(op.outputs), int(axis)),
    "Unpack": lambda op, whole: list(np.moveaxis(whole, op.get_attr("axis"), 0)),
    "Equal": lambda op, x, y: np.equal(x, y),
    "NotEqual": lambda op, x, y: np.not_equal(x, y),
    "Fill": _filled,
}


def constant_value_as_shape(tensor) -> TensorShape:
    """Returns the shape that a vector of integers describes, as far as its value follows from the graph; -1 means a size that is not known.

    Raises:
        ValueError: if the tensor is known to be no vector.
    """
    if not isinstance(tensor, Tensor):
        return TensorShape([int(d) if d >= 0 else None for d in np.asarray(tensor)])
    shape = tensor.shape
    value = constant_value(tensor)
    if value is not None:
        if np.ndim(value) == 0:
            if value == -1:
                return TensorShape(None)
            raise ValueError(f"Received a scalar value '{value}' as shape; require a statically known scalar with value '-1' to describe an unknown "
                             "shape.")
        shape.assert_has_rank(1)
        return TensorShape([int(d) if d >= 0 else None for d in value])
    shape = shape.with_rank(1)
    op = tensor.op
    if op.type == "Shape":
        return op.inputs[0].shape
    if op.type == "Cast":
        return constant_value_as_shape(op.inputs[0])
    if op.type == "Pack" and op.get_attr("axis") == 0:
        sizes = [constant_value(i) for i in op.inputs]
        return TensorShape([None if s is None or s < 0 else int(s) for s in sizes])
    if op.type == "ConcatV2":
        found = TensorShape([])
        for part in op.inputs[:-1]:
            found = found.concatenate(constant_value_as_shape(part))
        return found
    if op.type == "StridedSlice":
        found = _sliced_shape(op)
        if found is not None:
            return found
    return TensorShape(None if shape[0].value is None else [None] * shape[0].value)


def _sliced_shape(op) -> TensorShape | None:
    masks = {name: op.get_attr(name) for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")}
    bounds = [constant_value(i) for i in op.inputs[1:4]]
    if any(b is None or len(b) != 1 for b in bounds) or masks["ellipsis_mask"] or masks["new_axis_mask"] or masks["shrink_axis_mask"]:
        return None
    begin = None if masks["begin_mask"] & 1 else int(bounds[0][0])
    end = None if masks["end_mask"] & 1 else int(bounds[1][0])
    whole = constant_value_as_shape(op.inputs[0])
    return None if whole.rank is None else TensorShape(whole.as_list()[begin:end:int(bounds[2][0])])


def is_tf_type(x) -> bool:
    """Returns true if a value is a tensor, or made of tensors: a variable, a sparse tensor, IndexedSlices."""
    return isinstance(x, Tensor) or hasattr(x, "_as_tensor") or hasattr(x, "_components") and not isinstance(x, type)


is_tensor = is_tf_type


def is_symbolic_tensor(tensor) -> bool:
    """Returns true if a value is a tensor, which has no value before a session runs it."""
    return isinstance(tensor, Tensor)


def make_tensor_proto(values, dtype=None, shape=None, verify_shape: bool = False, allow_broadcast: bool = False) -> protos.TensorProto:
    """Returns a value as a `TensorProto`.

    Args:
        values: a number, string, array, or a nested list of them.
        dtype: its type.
        shape: its shape; if the value has fewer elements, its last element is repeated.
        verify_shape: whether the value has to have just that shape.
        allow_broadcast: lets a single value fill a shape.

    Raises:
        TypeError: for a value that cannot have the type, or does not have the shape that is verified.
        ValueError: if there are more elements than the shape has.
    """
    proto_class = protos.get("TensorProto")
    if isinstance(values, proto_class):
        return values
    if shape is not None and 0 in (int(s) for s in shape) and not (verify_shape or allow_broadcast):
        values = []  # whatever they are, none of them is left
    array, number = array_of(values, None if dtype is None else as_dtype(dtype).base_dtype)
    kind = as_dtype(number)
    array = np.asarray(array, dtype=object if kind.name == "string" else kind._numpy())
    sizes = list(array.shape) if shape is None else [int(s) for s in shape]
    count = int(np.prod(sizes, dtype=np.int64))
    if list(array.shape) != sizes and (verify_shape or allow_broadcast and array.shape not in ((), (1,))):
        raise TypeError(f"Expected Tensor's shape: {tuple(sizes)}, but got {array.shape}.")
    if array.size > count:
        raise ValueError(f"Too many elements provided. Takes at most {count}, but got {array.size}.")
    proto = proto_class(dtype=number, tensor_shape=TensorShape(sizes).as_proto())
    flat = array.reshape(-1)
    if kind.name == "string":
        proto.string_val.extend(v if isinstance(v, bytes) else str(v).encode() for v in flat)
    elif array.size == count > 1 and kind.name not in _BY_FIELD or kind.name not in _FIELDS:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
    else:
        getattr(proto, _FIELDS[kind.name]).extend(_field_values(kind, flat))
    return proto


# The field of the elements, for types that have a field. What is not the whole of it is repeated at its end.
_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "int16": "int_val", "int8": "int_val", "uint8": "int_val",
    "uint16": "int_val", "int64": "int64_val", "uint32": "uint32_val", "uint64": "uint64_val", "bool": "bool_val", "float16": "half_val",
    "bfloat16": "half_val", "complex64": "scomplex_val", "complex128": "dcomplex_val", "qint8": "int_val", "quint8": "int_val", "qint32": "int_val",
    "qint16": "int_val", "quint16": "int_val",
}
# Types whose elements are in their fields even if they are complete.
_BY_FIELD = frozenset(("bool", "complex64", "complex128", "uint16"))


def _field_values(kind, flat):
    if kind.name in ("float16", "bfloat16"):
        return flat.view(np.uint16).tolist()
    if kind.is_complex:
        return [part for value in flat.tolist() for part in (value.real, value.imag)]
    return [int(v) for v in flat] if kind.is_quantized else flat.tolist()


def make_ndarray(tensor) -> np.ndarray:
    """Returns the value of a `TensorProto` as a NumPy array; strings as an array of `bytes` objects.

    Raises:
        TypeError: for a type that NumPy has nothing for.
    """
    kind = as_dtype(tensor.dtype)
    shape = [d.size for d in tensor.tensor_shape.dim]
    count = int(np.prod(shape, dtype=np.int64))
    if kind.name == "string":
        values = list(tensor.string_val)
        values += values[-1:] * (count - len(values))
        made = np.empty(count, dtype=object)
        made[:] = values or [b""] * count
        return made.reshape(shape)
    field = _FIELDS.get(kind.name)
    if not kind.is_numpy_compatible:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}. See https://www.tensorflow.org/api_docs/python/tf/dtypes for supported TF dtypes.")
    if tensor.tensor_content or field is None:
        return np.frombuffer(tensor.tensor_content, dtype=kind._numpy()).copy().reshape(shape)
    values = list(getattr(tensor, field))
    if field == "half_val":
        made = np.array(values, dtype=np.uint16).view(kind._numpy())
    elif kind.is_complex:
        made = np.array([complex(re, im) for re, im in zip(values[::2], values[1::2])], dtype=kind._numpy())
    else:
        made = np.array(values, dtype=kind._numpy())
    if not made.size:
        return np.zeros(shape, dtype=kind._numpy())
    if made.size < count:
        made = np.concatenate([made, np.repeat(made[-1:], count - made.size)])
    return made.reshape(shape)
