"""Tensors of rows that differ in length."""

from __future__ import annotations

from typing import Any

import numpy as np

import flowmill as tf
from flowmill._internal.apply import call, op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import Graph
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Operation, Tensor, _session_for
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, as_dtype, int64
from flowmill.ragged import _operators, _partition
from flowmill.ragged._constructors import RaggedConstructors
from flowmill.ragged._value import RaggedTensorValue


def is_ragged(value) -> bool:
    """Returns true if an object is a ragged tensor, or the value of one."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


class RaggedTensor(RaggedConstructors):
    """Rows of different lengths: all their elements one after another, and where rows begin and end among these. Rows of rows have a ragged tensor as
    elements.

    The class methods ``from_…`` make them.
    """

    # NumPy leaves operators to this class.
    __array_priority__ = 101

    def __init__(self, values: Tensor | RaggedTensor, row_splits: Tensor, uniform_row_length=None):
        self._values, self._row_splits, self._uniform_row_length = values, row_splits, uniform_row_length

    # What it is

    @property
    def values(self) -> Tensor | RaggedTensor:
        """The elements of all rows."""
        return self._values

    @property
    def flat_values(self) -> Tensor:
        """The elements of the innermost rows."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self) -> Tensor:
        """The offsets at which rows begin and end."""
        return self._row_splits

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The offsets at which rows begin and end, from the outermost rows to the innermost."""
        return (self._row_splits, *(self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()))

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions that are made of splits."""
        return len(self.nested_row_splits)

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows if they are known to have one; None if not."""
        return None if self._uniform_row_length is None else tf.constant(self._uniform_row_length, self._row_splits.dtype)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.flat_values.dtype

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._row_splits.graph

    @property
    def shape(self) -> TensorShape:
        """The static shape: number of rows, their lengths, and the shape of elements."""
        splits = self._row_splits.shape.as_list()[0] if self._row_splits.shape.rank else None
        return TensorShape([None if splits is None else splits - 1, self._uniform_row_length]).concatenate(self._values.shape[1:])

    def get_shape(self) -> TensorShape:
        """Returns :attr:`shape`."""
        return self.shape

    def nrows(self, out_type=None, name: str | None = None) -> Tensor:
        """Returns the number of rows."""
        dtype = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        with op_scope(name, "RaggedNRows", self._row_splits):
            return _partition.size(self._row_splits, dtype) - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """Returns the offsets at which rows begin."""
        with op_scope(name, "RaggedRowStarts", self._row_splits):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Returns the offsets at which rows end."""
        with op_scope(name, "RaggedRowLimits", self._row_splits):
            return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor | RaggedTensor:
        """Returns the lengths of rows; with another axis, those of the rows of that dimension."""
        with op_scope(name, "RaggedRowLengths", self._row_splits):
            axis = _axis(axis, self._rank)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return _partition.lengths_of(self._row_splits)
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            shape = tf.shape(self._values, out_type=self._row_splits.dtype)
            return self.with_values(tf.ones(shape[:axis - 1], shape.dtype) * shape[axis - 1])

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Returns the lengths of rows, from the outermost to the innermost."""
        with op_scope(name, "RaggedNestedRowLengths", self._row_splits):
            return tuple(_partition.lengths_of(splits) for splits in self.nested_row_splits)

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Returns the number of its row for each element."""
        with op_scope(name, "RaggedValueRowIds", self._row_splits):
            return _partition.rowids_of(self._row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Returns the numbers of rows, from the outermost to the innermost."""
        with op_scope(name, "RaggedNestedValueRowIds", self._row_splits):
            return tuple(map(_partition.rowids_of, self.nested_row_splits))

    def bounding_shape(self, axis=None, name: str | None = None, out_type=None) -> Tensor:
        """Returns the shape of the least tensor that it fits into; with an axis, or a vector of them, those sizes."""
        with op_scope(name, "RaggedBoundingBox", self._row_splits):
            dtype = self._row_splits.dtype if out_type is None else as_dtype(out_type)
            longest = [tf.reduce_max(tf.concat([tf.zeros([1], s.dtype), _partition.lengths_of(s)], 0)) for s in self.nested_row_splits]
            inner = tf.shape(self.flat_values, out_type=self._row_splits.dtype)[1:]
            whole = tf.cast(tf.concat([tf.stack([self.nrows(), *longest]), inner], 0), dtype)
            return whole if axis is None else tf.gather(whole, axis)

    def consumers(self) -> list[Operation]:
        """Returns the operations that take its parts."""
        return [op for part in self._components() for op in part.consumers()]

    @property
    def _rank(self) -> int | None:
        return self.shape.rank

    # Others like it

    def with_values(self, new_values) -> RaggedTensor:
        """One with other elements in rows of the same lengths."""
        return RaggedTensor(to_ragged(new_values), self._row_splits, self._uniform_row_length)

    def with_flat_values(self, new_values) -> RaggedTensor:
        """One with other elements in the innermost rows."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype) -> RaggedTensor:
        """One with row splits of a type."""
        values = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor(values, tf.cast(self._row_splits, dtype), self._uniform_row_length)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Tensor | RaggedTensor:
        """Returns the dimensions from one axis to another made one."""
        from flowmill.ragged import _layout  # cycle: ragged._layout imports this module

        return _layout.merged(self, _axis(outer_axis, self._rank, "outer_axis"), _axis(inner_axis, self._rank, "inner_axis"))

    def to_tensor(self, default_value=None, name: str | None = None, shape=None) -> Tensor:
        """Returns the rows in a tensor.

        Args:
            default_value: what fills them up: 0, or an empty string, if it is None.
            name: the name of the operations.
            shape: the shape, in which sizes may be None; rows that are longer are cut.
        """
        with op_scope(name, "RaggedToTensor", self._row_splits):
            dtype = self._row_splits.dtype
            if default_value is None:
                default_value = tf.zeros([], self.dtype)
            default_value = convert_to_tensor(default_value, self.dtype, "default_value")
            known = self.shape if shape is None or isinstance(shape, Tensor) else TensorShape(shape)
            asked = tf.constant(-1, dtype) if shape is None else shape if isinstance(shape, Tensor) else tf.constant(
                [-1 if d is None else d for d in known.as_list()], dtype)
            splits = self.nested_row_splits
            made = call("RaggedTensorToTensor", None, asked, self.flat_values, default_value, list(splits), row_partition_types=["ROW_SPLITS"] * len(splits))
            if not isinstance(shape, Tensor):
                made.set_shape(known)
            return made

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Returns the elements as those of a sparse tensor."""
        with op_scope(name, "RaggedToSparse", self._row_splits):
            splits = [tf.cast(s, int64) for s in self.nested_row_splits]
            return SparseTensor(*call("RaggedTensorToSparse", None, splits, self.flat_values))

    def eval(self, feed_dict=None, session=None) -> RaggedTensorValue:
        """Its value in a session, the default one if none is given."""
        return _session_for(self._row_splits, session).run(self, feed_dict)

    # For structures, sessions and functions that take tensors apart

    def _components(self) -> list[Tensor]:
        return [self.flat_values, *self.nested_row_splits]

    def _with_components(self, parts) -> RaggedTensor:
        made, *splits = parts
        for row_splits, length in zip(reversed(splits), reversed(self._uniform_row_lengths())):
            made = RaggedTensor(made, row_splits, length)
        return made

    @property
    def _type_spec(self):
        from flowmill._internal.composite_specs import RaggedTensorSpec  # cycle: composite_specs imports this module

        return RaggedTensorSpec.from_value(self)

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Tensor:
        """Returns a variant that holds the tensor; a vector of variants, one for each row, if `batched_input` is true."""
        with op_scope(name, "RaggedToVariant", self.flat_values):
            return call("RaggedTensorToVariant", None, list(self.nested_row_splits), self.flat_values, batched_input=batched_input)

    @classmethod
    def _from_variant(cls, variant, dtype, output_ragged_rank: int, input_ragged_rank: int | None = None, row_splits_dtype=int64,
                      name: str | None = None) -> Tensor | RaggedTensor:
        """Returns the tensor that a variant holds, or those of a tensor of variants together.

        Raises:
            ValueError: if the ragged ranks do not fit the rank of `variant`.
        """
        variant = convert_to_tensor(variant, name="variant")
        if variant.shape.rank is not None and input_ragged_rank is not None and output_ragged_rank != variant.shape.rank + input_ragged_rank:
            raise ValueError(f"Argument `output_ragged_rank` ({output_ragged_rank}) must be equal to `input_ragged_rank` + `variant.shape.ndims` "
                             f"({input_ragged_rank + variant.shape.rank}).")
        with op_scope(name, "RaggedFromVariant", variant):
            splits, values = call("RaggedTensorFromVariant", None, variant, input_ragged_rank=-1 if input_ragged_rank is None else input_ragged_rank,
                                  output_ragged_rank=max(output_ragged_rank, 0), Tvalues=dtype, Tsplits=row_splits_dtype)
            return cls.from_nested_row_splits(values, splits, validate=False)

    def _set_shape(self, shape) -> None:
        """Adds what is known of the shape: the number of rows, the lengths of rows that are all equal, and the shape of elements.

        Raises:
            ValueError: if it does not fit what is known.
        """
        shape = TensorShape(shape)
        if shape.rank is None:
            return
        sizes = shape.as_list()
        if sizes[0] is not None:
            self._row_splits.set_shape([sizes[0] + 1])
        if len(sizes) > 1 and sizes[1] is not None:
            if self._uniform_row_length not in (None, sizes[1]):
                raise ValueError(f"Inconsistent size for axis 1: {self._uniform_row_length} vs {sizes[1]}.")
            self._uniform_row_length = sizes[1]
            known = self._row_splits.shape.as_list()[0] if self._row_splits.shape.rank else None
            inner = None if known is None else (known - 1) * sizes[1]
        else:
            inner = None
        if isinstance(self._values, RaggedTensor):
            self._values._set_shape([inner, *sizes[2:]])
        else:
            self._values.set_shape(TensorShape([inner, *sizes[2:]]) if self._values.shape.rank is not None or len(sizes) > 1 else None)

    def _with_uniform_length(self, axis: int, length: int | None) -> RaggedTensor:
        """Returns a tensor whose rows of a ragged dimension are known to have one length, if it is not None."""
        if axis:
            return RaggedTensor(self._values._with_uniform_length(axis - 1, length), self._row_splits, self._uniform_row_length)
        return self if length is None else RaggedTensor(self._values, self._row_splits, length)

    def _uniform_row_lengths(self) -> list[int | None]:
        """Returns the length of all rows for each ragged dimension, None where it is not known to be one."""
        return [self._uniform_row_length, *(self._values._uniform_row_lengths() if isinstance(self._values, RaggedTensor) else ())]

    def _value_of(self, values) -> RaggedTensorValue:
        flat, *splits = values
        return _packed(flat, splits, RaggedTensorValue)

    def _parts_of(self, value) -> list:
        """Returns the arrays to feed for a :class:`RaggedTensorValue`, or lists."""
        if not isinstance(value, RaggedTensorValue):
            from flowmill.ragged._factory import constant_value  # cycle: ragged._factory imports this module

            inner = self.flat_values.shape.as_list()[1:]
            value = constant_value(value, self.dtype, self.ragged_rank, None if None in inner else tuple(inner))
        if value.ragged_rank != self.ragged_rank:
            raise ValueError(f"The value to feed for {self} must have ragged_rank {self.ragged_rank}, got {value.ragged_rank}.")
        return [value.flat_values, *value.nested_row_splits]

    def __getitem__(self, key) -> Tensor | RaggedTensor:
        from flowmill.ragged._slices import getitem  # cycle: ragged._slices imports this module

        return getitem(self, key)

    def __len__(self):
        raise TypeError("len is not well defined for a symbolic RaggedTensor. Use `tf.RaggedTensor.nrows` for the number of rows.")

    def __bool__(self):
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __iter__(self):
        raise TypeError("Iterating over a symbolic `tf.RaggedTensor` is not allowed.")

    def __repr__(self):
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def _packed(values: Any, splits: list, kind: type) -> Any:
    for of in reversed(splits):
        values = kind(values, of)
    return values


def _axis(axis: int, rank: int | None, name: str = "axis", of: str = "rank(input)") -> int:
    """Returns an axis that counts from the beginning.

    Raises:
        TypeError: if it is no integer.
        ValueError: if there is none of that number.
    """
    if not isinstance(axis, (int, np.integer)):
        raise TypeError(f"{name} must be an int; got {type(axis).__name__}")
    if rank is None:
        if axis < 0:
            raise ValueError(f"{name}={axis} may only be negative if {of} is statically known.")
        return axis
    if not -rank <= axis < rank:
        raise ValueError(f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}")
    return axis + rank if axis < 0 else axis


to_ragged = RaggedTensor._converted
_operators.install(RaggedTensor)
