"""Indices of tensors: an index in brackets becomes a `StridedSlice` with its masks."""

from __future__ import annotations

import numbers

from flowmill._internal.apply import apply_op
from flowmill._internal.array import boolean_mask
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph_stack import target
from flowmill._internal.lazy_numpy import np
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import Dimension

_INT64 = 9
# The types that an index may have as a tensor, the one that prevails first.
_INDEX_TYPES = {"int64": _INT64, "int32": 3, "int16": 5}


class Spec:
    """An index in brackets as the vectors and masks of `StridedSlice`.

    Attributes:
        begin, end, strides: lists of integers and tensors.
        masks: the op's five masks by attribute.
    """

    def __init__(self, index) -> None:
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
            self._append(item.value if isinstance(item, Dimension) else item, item + 1, 1)
            self.masks["shrink_axis_mask"] |= bit

    def _take_slice(self, item: slice, bit: int) -> None:
        # A dimension that is not known bounds nothing.
        bounds = [None if isinstance(b, Dimension) and b.value is None else b for b in (item.start, item.stop, item.step)]
        for bound in bounds:
            if bound is not None:
                _check_index(bound)
        # Beside tensors, what is left out is a constant of their type.
        types = {b._type % 100 for b in bounds if isinstance(b, Tensor)}
        dtype = next((name for name, number in _INDEX_TYPES.items() if number in types), None)
        for mask, bound in zip(("begin_mask", "end_mask"), bounds):
            if bound is None:
                self.masks[mask] |= bit
        filled = (b if b is not None else constant(d, dtype) if dtype else d for b, d in zip(bounds, (0, 0, 1)))
        self._append(*filled)

    def _append(self, begin, end, stride) -> None:
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def _check_index(item) -> None:
    if isinstance(item, Tensor) or hasattr(item, "_as_tensor"):
        if item.dtype.base_dtype.name in _INDEX_TYPES and item.shape.rank in (None, 0):
            return
    elif isinstance(item, (numbers.Integral, Dimension)) and not isinstance(item, bool):
        return
    elif isinstance(item, np.ndarray) and item.shape == () and item.dtype.kind in "iu":
        return
    raise TypeError(
        f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid indices, got {item!r}")


def _vector(numbers_or_tensors: list) -> Tensor:
    try:
        return convert_to_tensor(numbers_or_tensors, name="stack")
    except TypeError:  # Dimensions have no type of their own in a list
        return apply_op("Pack", "stack", [numbers_or_tensors], {"axis": 0})._outputs[0]


def getitem(tensor: Tensor, index, var=None) -> Tensor:
    """``tensor[index]``: integers, slices, ``...``, ``None`` (a new axis), scalar tensors of integers, a tensor of truth values, or a tuple of those.

    Args:
        tensor: what to take a part of.
        index: the index in the brackets.
        var: the variable whose value `tensor` is; the result can then be assigned to.

    Raises:
        TypeError: for an index of another type.
        ValueError: for several ellipses.
    """
    if isinstance(index, bool) or isinstance(index, Tensor) and index.dtype.base_dtype.name == "bool" or getattr(index, "dtype", None) == bool:
        return boolean_mask(tensor, index)
    spec = Spec(index)
    graph = target(tensor.graph)
    with graph.as_default(), graph.name_scope("strided_slice") as scope:
        vectors = [_vector(v) for v in (spec.begin, spec.end, spec.strides)] if spec.begin else [constant([], "int32")] * 3
        if any(v._type % 100 == _INT64 for v in vectors):
            vectors = [v if v._type % 100 == _INT64 else apply_op("Cast", None, [v], {"DstT": "int64"})._outputs[0] for v in vectors]
        return apply_op("StridedSlice", scope, [tensor, *vectors], dict(spec.masks))._outputs[0]
