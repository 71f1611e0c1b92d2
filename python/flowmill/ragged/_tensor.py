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
from flowmill.ragged._value import RaggedTensorValue


def is_ragged(value) -> bool:
    """Returns true if an object is a ragged tensor, or the value of one."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def to_ragged(value, dtype=None, name: str | None = None, preferred_dtype=None) -> Tensor | RaggedTensor:
    """Returns a ragged tensor as it is, or of a value of one; anything else as a tensor.

    Raises:
        ValueError: if a ragged tensor has another type than `dtype`.
    """
    if isinstance(value, RaggedTensor):
        if dtype is not None and as_dtype(dtype).base_dtype is not value.dtype.base_dtype:
            raise ValueError(f"Tensor conversion requested dtype {as_dtype(dtype).name} for RaggedTensor with dtype {value.dtype.name}: {value}.")
        return value
    if isinstance(value, RaggedTensorValue):
        return RaggedTensor(to_ragged(value.values, dtype, name, preferred_dtype), tf.constant(value.row_splits))
    return convert_to_tensor(value, dtype, name, preferred_dtype)


class RaggedTensor:
    """Rows of different lengths: all their elements one after another, and where rows begin and end among these. Rows of rows have a ragged tensor as
    elements.

    The class methods ``from_…`` make them.
    """

    # NumPy leaves operators to this class.
    __array_priority__ = 101

    def __init__(self, values: Tensor | RaggedTensor, row_splits: Tensor, uniform_row_length=None):
        self._values, self._row_splits, self._uniform_row_length = values, row_splits, uniform_row_length

    # Making them

    @classmethod
    def from_row_splits(cls, values, row_splits, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Makes a ragged tensor from the offsets at which rows begin and end.

        Args:
            values: the elements of all rows, along the first dimension.
            row_splits: a vector of one number more than there are rows: row `i` goes from ``row_splits[i]`` up to ``row_splits[i + 1]``.
            name: the name of the scope of the operations.
            validate: whether steps check that the numbers begin with 0, do not fall, and end with the number of elements.
        """
        with op_scope(name, "RaggedFromRowSplits", row_splits):
            values, splits = to_ragged(values, name="values"), _partition.numbers(row_splits, "row_splits")
            splits.shape.assert_has_rank(1)
            if validate:
                message = "Arguments to from_row_splits do not form a valid RaggedTensor"
                rows = values.nrows(splits.dtype) if isinstance(values, RaggedTensor) else _partition.size(values, splits.dtype)
                splits = _partition.checked(splits, [
                    tf.assert_equal(splits[0], tf.zeros([], splits.dtype), message=f"{message}:zero"),
                    tf.assert_non_negative(_partition.lengths_of(splits), message=f"{message}:monotonic"),
                    tf.assert_equal(splits[-1], rows, message=f"{message}:equal"),
                ])
            return cls(values, splits)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Makes a ragged tensor from the lengths of rows. Other arguments are as for :meth:`from_row_splits`."""
        with op_scope(name, "RaggedFromRowLengths", row_lengths):
            return cls.from_row_splits(values, _partition.splits_of(_partition.numbers(row_lengths, "row_lengths")), validate=validate)

    @classmethod
    def from_row_starts(cls, values, row_starts, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Makes a ragged tensor from the offsets at which rows begin. Other arguments are as for :meth:`from_row_splits`."""
        with op_scope(name, "RaggedFromRowStarts", row_starts):
            values, starts = to_ragged(values, name="values"), _partition.numbers(row_starts, "row_starts")
            rows = values.nrows(starts.dtype) if isinstance(values, RaggedTensor) else _partition.size(values, starts.dtype)
            return cls.from_row_splits(values, tf.concat([starts, [rows]], 0), validate=validate)

    @classmethod
    def from_row_limits(cls, values, row_limits, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Makes a ragged tensor from the offsets at which rows end. Other arguments are as for :meth:`from_row_splits`."""
        with op_scope(name, "RaggedFromRowLimits", row_limits):
            limits = _partition.numbers(row_limits, "row_limits")
            return cls.from_row_splits(values, tf.concat([tf.zeros([1], limits.dtype), limits], 0), validate=validate)

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Makes a ragged tensor from the number of each element's row; the numbers must not fall.

        Args:
            values: the elements.
            value_rowids: a vector of as many numbers.
            nrows: how many rows there are; as many as the last number says if it is None.
            name: the name of the scope of the operations.
            validate: whether steps check the numbers.

        Raises:
            ValueError: if `nrows` is known to be negative or too small.
        """
        with op_scope(name, "RaggedFromValueRowIds", value_rowids):
            values, rowids = to_ragged(values, name="values"), _partition.numbers(value_rowids, "value_rowids")
            if nrows is None:
                count = tf.reduce_max(tf.concat([tf.constant([-1], rowids.dtype), rowids], 0)) + 1
            else:
                if isinstance(nrows, int) and nrows < 0:
                    raise ValueError(f"Expected nrows >= 0; got {nrows}")
                count = _partition.numbers(nrows, "nrows", rowids.dtype)
            if validate:
                message = "Arguments to from_value_rowids do not form a valid RaggedTensor"
                rows = values.nrows(rowids.dtype) if isinstance(values, RaggedTensor) else _partition.size(values, rowids.dtype)
                rowids = _partition.checked(rowids, [
                    tf.assert_equal(rows, _partition.size(rowids, rowids.dtype), message=message), tf.assert_non_negative(rowids[:1], message=message),
                    tf.assert_non_negative(rowids[1:] - rowids[:-1], message=message), tf.assert_less(rowids, count, message=message)])
            lengths = tf.unsorted_segment_sum(tf.ones_like(rowids), rowids, count)
            return cls(values, _partition.splits_of(lengths))

    @classmethod
    def from_uniform_row_length(cls, values, uniform_row_length, nrows=None, validate: bool = True, name: str | None = None) -> RaggedTensor:
        """Rows of one length.

        Args:
            values: the elements.
            uniform_row_length: the length.
            nrows: how many rows there are, needed if the length may be 0.
            validate: whether steps check that the rows take all elements.
            name: the name of the scope of the operations.
        """
        with op_scope(name, "RaggedFromUniformRowLength", uniform_row_length):
            values, length = to_ragged(values, name="values"), _partition.numbers(uniform_row_length, "uniform_row_length")
            rows = values.nrows(length.dtype) if isinstance(values, RaggedTensor) else _partition.size(values, length.dtype)
            static = tf.get_static_value(length)
            if nrows is None:
                total = tf.get_static_value(rows)
                known = None if total is None or not static else int(total) // int(static)
                count = tf.floordiv(rows, tf.maximum(length, 1)) if known is None else tf.constant(known, length.dtype)
            else:
                count = _partition.numbers(nrows, "nrows", length.dtype)
            splits = tf.range(count + 1) * length
            if validate:
                splits = _partition.checked(splits, [tf.assert_equal(
                    splits[-1], rows, message="Arguments to from_uniform_row_length do not form a valid RaggedTensor")])
            return cls(values, splits, None if static is None else int(static))

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows of rows, by their splits from the outermost to the innermost."""
        with op_scope(name, "RaggedFromNestedRowSplits"):
            made = to_ragged(flat_values, name="flat_values")
            for splits in reversed(_listed(nested_row_splits, "nested_row_splits")):
                made = cls.from_row_splits(made, splits, validate=validate)
            return made

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows of rows, by their lengths from the outermost to the innermost."""
        with op_scope(name, "RaggedFromNestedRowlengths"):
            made = to_ragged(flat_values, name="flat_values")
            for lengths in reversed(_listed(nested_row_lengths, "nested_row_lengths")):
                made = cls.from_row_lengths(made, lengths, validate=validate)
            return made

    @classmethod
    def from_nested_value_rowids(cls, flat_values, nested_value_rowids, nested_nrows=None, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows of rows, by the numbers of rows from the outermost to the innermost."""
        rowids = _listed(nested_value_rowids, "nested_value_rowids")
        counts = [None] * len(rowids) if nested_nrows is None else _listed(nested_nrows, "nested_nrows")
        if len(counts) != len(rowids):
            raise ValueError(f"Argument `nested_nrows` must have the same length as argument `nested_value_rowids`: {len(counts)} vs {len(rowids)}")
        with op_scope(name, "RaggedFromNestedValueRowIds"):
            made = to_ragged(flat_values, name="flat_values")
            for ids, count in zip(reversed(rowids), reversed(counts)):
                made = cls.from_value_rowids(made, ids, count, validate=validate)
            return made

    @classmethod
    def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank: int = 1, name: str | None = None, row_splits_dtype=int64) -> RaggedTensor:
        """Returns the rows of a tensor, perhaps without what fills them up.

        Args:
            tensor: of more dimensions than `ragged_rank`.
            lengths: the lengths of rows; a list of them, from the outermost to the innermost, for rows of rows.
            padding: what rows are filled up with at their ends, in the place of `lengths`.
            ragged_rank: how many dimensions become ragged.
            name: the name of the scope of the operations.
            row_splits_dtype: the type of row splits.

        Raises:
            ValueError: if both `lengths` and `padding` are given, or `ragged_rank` does not fit.
        """
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if ragged_rank <= 0:
            raise ValueError(f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}.")
        dtype = as_dtype(row_splits_dtype)
        with op_scope(name, "RaggedFromTensor", tensor):
            tensor = convert_to_tensor(tensor, name="tensor")
            tensor.shape.with_rank_at_least(ragged_rank + 1)
            if isinstance(lengths, (list, tuple)) and len(lengths) and not isinstance(lengths[0], int):
                if ragged_rank not in (1, len(lengths)):
                    raise ValueError("If Argument `lengths` is a tuple of row_lengths, argument `ragged_rank` must be len(lengths): "
                                     f"{len(lengths)}. Received ragged_rank: {ragged_rank}.")
                tensor.shape.with_rank_at_least(len(lengths) + 1)
                made = cls.from_tensor(tensor, lengths[0], row_splits_dtype=dtype)
                return made if len(lengths) == 1 else made.with_values(cls.from_tensor(made.values, list(lengths[1:]), row_splits_dtype=dtype))
            sizes, known = tf.shape(tensor, out_type=dtype), tensor.shape.as_list()
            joined = tf.reshape(tensor, tf.concat([[sizes[0] * sizes[1]], sizes[2:]], 0))
            joined.set_shape([None if None in known[:2] else known[0] * known[1], *known[2:]])
            if lengths is None and padding is None:
                values = joined if ragged_rank == 1 else cls.from_tensor(joined, ragged_rank=ragged_rank - 1, row_splits_dtype=dtype)
                return cls._uniform(values, sizes, known)
            if ragged_rank > 1:
                return cls._uniform(cls.from_tensor(joined, padding=padding, ragged_rank=ragged_rank - 1, row_splits_dtype=dtype), sizes, known)
            if padding is not None:
                padding = convert_to_tensor(padding, tensor.dtype.base_dtype, "padding")
                padding.shape.assert_is_compatible_with(tensor.shape[2:])
                is_value = tf.not_equal(tensor, padding)
                if len(known) > 2:
                    is_value = tf.reduce_any(is_value, axis=list(range(2, len(known))))
                lengths = tf.reduce_max(tf.cast(is_value, dtype) * tf.range(1, sizes[1] + 1), axis=1)
            lengths = tf.clip_by_value(_partition.numbers(lengths, "lengths", dtype), 0, sizes[1])
            return cls(tf.boolean_mask(tensor, tf.sequence_mask(lengths, sizes[1])), _partition.splits_of(lengths))

    @classmethod
    def _uniform(cls, values, sizes: Tensor, known: list[int | None]) -> RaggedTensor:
        """Rows of the lengths that a tensor's second size says."""
        splits = tf.range(sizes[0] + 1) * sizes[1]
        if known[0] is not None:
            splits.set_shape([known[0] + 1])
        return cls(values, splits, known[1])

    @classmethod
    def from_sparse(cls, st_input: SparseTensor, name: str | None = None, row_splits_dtype=int64) -> RaggedTensor:
        """Returns the elements of a sparse matrix, whose rows have theirs at their beginnings.

        Raises:
            TypeError: if it is no SparseTensor.
            ValueError: if it is known to have another rank.
        """
        if not isinstance(st_input, SparseTensor):
            raise TypeError(f"Argument `st_input` must be of type SparseTensor, but is of type {type(st_input).__name__}.")
        with op_scope(name, "RaggedFromSparse"):
            rank = st_input.indices.shape.as_list()[1]
            if rank not in (None, 2):
                raise ValueError(f"rank(st_input) must be 2; st_input has rank {rank}.")
            dtype = as_dtype(row_splits_dtype)
            rows, columns = (tf.cast(st_input.indices[:, i], dtype) for i in (0, 1))
            made = cls.from_value_rowids(st_input.values, rows, tf.cast(st_input.dense_shape[0], dtype), validate=False)
            at = tf.assert_equal(columns, _partition.positions_in(made.row_splits), message="SparseTensor is not right-ragged")
            made._row_splits = _partition.checked(made._row_splits, [at])
            known = st_input.shape.as_list()[0] if st_input.shape.rank else None
            if known is not None:
                made._row_splits.set_shape([known + 1])
            return made

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

        return _layout.merged(self, _axis(outer_axis, self._rank), _axis(inner_axis, self._rank))

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
        from flowmill._internal.type_spec import RaggedTensorSpec  # cycle: type_spec imports this module

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


def _listed(value, name: str) -> list:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Argument `{name}` must be a list of Tensors, got {value}")
    return list(value)


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


_operators.install(RaggedTensor)
