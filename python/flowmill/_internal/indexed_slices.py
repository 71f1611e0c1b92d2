"""Rows of a tensor, by their indices."""

from __future__ import annotations

import collections

from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import Graph
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, as_dtype


# What a session gives for IndexedSlices, and takes: three arrays, or two and None.
IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", "values indices dense_shape")


class IndexedSlices:
    """A tensor of which only some slices along the first dimension are not zero, such as the gradient of gathered rows. Equal indices add up.

    Args:
        values: the slices, of shape ``[n, ...]``.
        indices: their places, integers of shape ``[n]``.
        dense_shape: the shape of the whole, a vector, or None.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None):
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    @property
    def values(self) -> Tensor:
        """The slices."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The slices' places."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole, None if nobody knows it."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole."""
        from flowmill._internal.tensor_util import constant_value_as_shape  # start-up: most programs ask for no values of constants

        return TensorShape(None) if self._dense_shape is None else constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> TensorShape:
        """Returns :attr:`shape`."""
        return self.shape

    @property
    def name(self) -> str:
        """The name of :attr:`values`."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device of :attr:`values`."""
        return self._values.device

    @property
    def op(self) -> Operation:
        """The operation of :attr:`values`."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The type of :attr:`values`."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph of :attr:`values`."""
        return self._values.graph

    def _components(self) -> list[Tensor]:
        return [self._values, self._indices, *([] if self._dense_shape is None else [self._dense_shape])]

    def _with_components(self, parts) -> IndexedSlices:
        return IndexedSlices(*parts)

    def _value_of(self, values) -> IndexedSlicesValue:
        return IndexedSlicesValue(*values, *([] if len(values) == 3 else [None]))

    def _as_tensor(self, dtype=None, name: str | None = None) -> Tensor:
        """Returns the whole, with zeros if there are no slices.

        Raises:
            ValueError: if its shape is not known, or its type is not `dtype`.
        """
        if dtype is not None and as_dtype(dtype).base_dtype is not self.dtype.base_dtype:
            raise ValueError(f"Tensor conversion requested dtype {as_dtype(dtype).name} for IndexedSlices with dtype {self.dtype.name}")
        if self._dense_shape is None:
            raise ValueError(f"Tensor conversion requested for IndexedSlices for argument '{name}' which has no dense_shape: {self}")
        rows = self._dense_shape[0]
        return call("UnsortedSegmentSum", name, self._values, self._indices, rows)

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __repr__(self):
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"


def as_dense(value) -> Tensor:
    """Returns a tensor of IndexedSlices, or whatever else can be one."""
    return convert_to_tensor(value)
