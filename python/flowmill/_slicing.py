"""Indices of tensors: what stands in brackets becomes a `StridedSlice` with its masks."""

from __future__ import annotations

from flowmill._apply import apply_op
from flowmill._convert import convert_to_tensor
from flowmill.dtypes import as_dtype
from flowmill.tensor import Tensor

_INT64 = 9


class Spec:
    """An index in brackets as the vectors and masks of `StridedSlice`.

    Attributes:
        begin, end, strides: lists of integers and tensors.
        masks: the op's five masks by attribute.
    """

    def __init__(self, index):
        items = list(index) if isinstance(index, (list, tuple)) else [index]
        self.begin: list = []
        self.end: list = []
        self.strides: list = []
        self.masks = dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask", "new_axis_mask", "ellipsis_mask"), 0)
        for i, item in enumerate(items):
            self._take(item, 1 << i)

    def _take(self, item, bit: int) -> None:
        if isinstance(item, slice):
            self._take_slice(item, bit)
        elif item is Ellipsis:
            if self.masks["ellipsis_mask"]:
                raise ValueError("Multiple ellipses not allowed")
            self._append(0, 0, 1)
            self.masks["ellipsis_mask"] |= bit
        elif item is None:
            self._append(0, 0, 1)
            self.masks["new_axis_mask"] |= bit
        else:
            _check_index(item)
            self._append(item, item + 1, 1)
            self.masks["shrink_axis_mask"] |= bit

    def _take_slice(self, item: slice, bit: int) -> None:
        for mask, bound in (("begin_mask", item.start), ("end_mask", item.stop)):
            if bound is None:
                self.masks[mask] |= bit
            else:
                _check_index(bound)
        if item.step is not None:
            _check_index(item.step)
        self._append(0 if item.start is None else item.start, 0 if item.stop is None else item.stop, 1 if item.step is None else item.step)

    def _append(self, begin, end, stride) -> None:
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def _check_index(item) -> None:
    if isinstance(item, Tensor) or hasattr(item, "_as_tensor"):
        if (item.dtype.is_integer or item.dtype.base_dtype.name == "bool") and item.dtype.base_dtype.name != "bool":
            return
    elif hasattr(item, "__index__") and not isinstance(item, bool):
        return
    raise TypeError(
        f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid indices, got {item!r}")


def getitem(tensor: Tensor, index, var=None):
    """``tensor[index]``: integers, slices, ``...``, ``None`` (a new axis), scalar tensors of integers, a tensor of truth values, or a tuple of those.

    Args:
        tensor: what to take a part of.
        index: what stands in the brackets.
        var: the variable whose value `tensor` is; the result can then be assigned to.

    Raises:
        TypeError: for an index of another type.
        ValueError: for several ellipses.
    """
    if isinstance(index, Tensor) and index.dtype.base_dtype.name == "bool" or getattr(index, "dtype", None) == bool:
        from flowmill.array import boolean_mask

        return boolean_mask(tensor, index)
    spec = Spec(index)
    graph = tensor.graph
    with graph.as_default(), graph.name_scope("strided_slice") as scope:
        begin, end, strides = _vectors(spec)
        return apply_op("StridedSlice", scope, [tensor, begin, end, strides], dict(spec.masks))._outputs[0]


def _vectors(spec: Spec):
    """The vectors as tensors of one type, `int32` unless an index is `int64`."""
    parts = [p for p in (*spec.begin, *spec.end, *spec.strides) if isinstance(p, Tensor)]
    wide = any(p._type % 100 == _INT64 for p in parts)
    dtype = as_dtype("int64" if wide else "int32")

    def vector(values, name):
        if not any(isinstance(v, Tensor) or hasattr(v, "_as_tensor") for v in values):
            return convert_to_tensor([int(v) for v in values], dtype, name)
        tensors = []
        for value in values:
            tensor = convert_to_tensor(value, None if isinstance(value, Tensor) or hasattr(value, "_as_tensor") else dtype)
            if tensor.dtype.base_dtype is not dtype:
                tensor = apply_op("Cast", "Cast", [tensor], {"DstT": dtype})._outputs[0]
            tensors.append(tensor)
        return apply_op("Pack", name, [tensors], {"axis": 0})._outputs[0]

    return vector(spec.begin, "stack"), vector(spec.end, "stack_1"), vector(spec.strides, "stack_2")
