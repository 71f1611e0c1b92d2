"""Tensors of which only the elements that are not zero are kept."""

from __future__ import annotations

import collections

from flowmill._internal.apply import call, graph_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.tensor import Operation, Tensor, _session_for
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, as_dtype, int64

# What a session gives for a SparseTensor, and takes: three arrays.
SparseTensorValue = collections.namedtuple("SparseTensorValue", "indices values dense_shape")


class SparseTensor:
    """A tensor kept as the elements that are not zero (or empty) and their places.

    Args:
        indices: the places, int64 of shape ``[n, rank]``, in the order of rows.
        values: the elements, of shape ``[n]``.
        dense_shape: the shape of the whole, int64 of shape ``[rank]``.
    """

    def __init__(self, indices, values, dense_shape) -> None:
        with graph_of((indices, values, dense_shape)).name_scope("SparseTensor"):
            self._indices = convert_to_tensor(indices, int64, "indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, int64, "dense_shape")
        # What is known of the shape besides what `dense_shape` says.
        self._known = TensorShape(None)
        self._check_shapes()

    def _check_shapes(self) -> None:
        indices, values, dense_shape = (part.shape.with_rank(rank) for part, rank in (
            (self._indices, 2), (self._values, 1), (self._dense_shape, 1)))
        indices.dims[0].assert_is_compatible_with(values.dims[0])
        indices.dims[1].assert_is_compatible_with(dense_shape.dims[0])

    @classmethod
    def from_value(cls, sparse_tensor_value) -> SparseTensor:
        """Returns the sparse tensor of a :class:`SparseTensorValue`.

        Raises:
            TypeError: for anything else.
        """
        if not isinstance(sparse_tensor_value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"Argument sparse_tensor_value={sparse_tensor_value} is neither a SparseTensor nor SparseTensorValue.")
        return cls(sparse_tensor_value.indices, sparse_tensor_value.values, sparse_tensor_value.dense_shape)

    @property
    def indices(self) -> Tensor:
        """The places of the elements."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole."""
        from flowmill._internal.tensor_util import constant_value_as_shape  # start-up: most programs ask for no values of constants

        return self._known.merge_with(constant_value_as_shape(self._dense_shape))

    def get_shape(self) -> TensorShape:
        """Returns :attr:`shape`."""
        return self.shape

    def set_shape(self, shape) -> None:
        """Adds to what is known of the shape.

        Raises:
            ValueError: if it contradicts that.
        """
        self.shape.assert_is_compatible_with(TensorShape(shape))
        self._known = self._known.merge_with(TensorShape(shape))

    @property
    def op(self) -> Operation:
        """The operation of :attr:`values`."""
        return self._values.op

    @property
    def name(self) -> str:
        """The name of :attr:`values`."""
        return self._values.name

    @property
    def dtype(self) -> DType:
        """The type of :attr:`values`."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._indices.graph

    def with_values(self, new_values) -> SparseTensor:
        """One with other elements at the same places."""
        found = SparseTensor(self._indices, new_values, self._dense_shape)
        found._known = self._known
        return found

    def consumers(self) -> list[Operation]:
        """Returns the operations that take the elements."""
        return self._values.consumers()

    def eval(self, feed_dict=None, session=None) -> SparseTensorValue:
        """Its value in a session, the default one if none is given."""
        return _session_for(self._values, session).run(self, feed_dict)

    def _components(self) -> list[Tensor]:
        return [self._indices, self._values, self._dense_shape]

    def _with_components(self, parts) -> SparseTensor:
        found = SparseTensor(*parts)
        found._known = self._known
        return found

    def _value_of(self, values) -> SparseTensorValue:
        return SparseTensorValue(*values)

    def __mul__(self, other) -> SparseTensor:
        return self._elementwise("SparseDenseCwiseMul", "mul", other)

    def _multiplied_by_dense(self, dense) -> SparseTensor:
        return self * dense

    def __truediv__(self, other) -> SparseTensor:
        return self._elementwise("SparseDenseCwiseDiv", "truediv", other)

    def __div__(self, other) -> SparseTensor:
        return self._elementwise("SparseDenseCwiseDiv", "div", other)

    def _elementwise(self, op: str, name: str, other) -> SparseTensor:
        with get_default_graph().name_scope(name) as scope:
            other = convert_to_tensor(other, self.dtype.base_dtype, "y")
            return self.with_values(call(op, scope, self._indices, self._values, self._dense_shape, other))

    def __repr__(self):
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"


def convert_to_tensor_or_sparse_tensor(value, dtype=None, name: str | None = None):
    """Like :func:`flowmill.convert_to_tensor`, but sparse tensors stay sparse, and their values are converted to them.

    Raises:
        RuntimeError: for a sparse tensor of another type than `dtype`.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise RuntimeError(f"Sparse dtype mismatch. Requested: {as_dtype(dtype).name},  Actual: {value.dtype.name}")
    return value


def as_sparse(value) -> SparseTensor:
    """Returns a sparse tensor of one, or of a :class:`SparseTensorValue`.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value
