"""The class methods that make ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, int64
from flowmill.ragged import _partition
from flowmill.ragged._value import RaggedTensorValue

if TYPE_CHECKING:
    from flowmill.ragged._tensor import RaggedTensor


class RaggedConstructors:
    """The class methods of ragged tensors that make them of elements, and of the places at which rows begin and end among these."""

    @classmethod
    def _converted(cls, value, dtype=None, name: str | None = None, preferred_dtype=None) -> Tensor | RaggedTensor:
        """Returns a ragged tensor as it is, or of a value of one; anything else as a tensor.

        Raises:
            ValueError: if a ragged tensor has another type than `dtype`.
        """
        if isinstance(value, cls):
            if dtype is not None and as_dtype(dtype).base_dtype is not value.dtype.base_dtype:
                raise ValueError(f"Tensor conversion requested dtype {as_dtype(dtype).name} for RaggedTensor with dtype {value.dtype.name}: {value}.")
            return value
        if isinstance(value, RaggedTensorValue):
            return cls(cls._converted(value.values, dtype, name, preferred_dtype), tf.constant(value.row_splits))
        return convert_to_tensor(value, dtype, name, preferred_dtype)

    @classmethod
    def from_row_splits(cls, values, row_splits, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Makes a ragged tensor from the offsets at which rows begin and end.

        Args:
            values: the elements of all rows, along the first dimension.
            row_splits: a vector of one number more than there are rows: row `i` goes from ``row_splits[i]`` up to ``row_splits[i + 1]``.
            name: the name of the scope of the operations.
            validate: whether steps check that the numbers begin with 0, do not fall, and end with the number of elements.

        Raises:
            ValueError: if `row_splits` is an empty list, or belongs to another graph than `values`.
        """
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with op_scope(name, "RaggedFromRowSplits", row_splits):
            values, splits = cls._converted(values, name="values"), _partition.numbers(row_splits, "row_splits")
            splits.shape.assert_has_rank(1)
            if splits.graph is not values.graph:
                raise ValueError(f"{splits} must be from the same graph as {values}.")
            if validate:
                message = "Arguments to from_row_splits do not form a valid RaggedTensor"
                rows = values.nrows(splits.dtype) if isinstance(values, RaggedConstructors) else _partition.size(values, splits.dtype)
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
            values, starts = cls._converted(values, name="values"), _partition.numbers(row_starts, "row_starts")
            rows = values.nrows(starts.dtype) if isinstance(values, RaggedConstructors) else _partition.size(values, starts.dtype)
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
            values, rowids = cls._converted(values, name="values"), _partition.numbers(value_rowids, "value_rowids")
            if nrows is None:
                count = tf.reduce_max(tf.concat([tf.constant([-1], rowids.dtype), rowids], 0)) + 1
            else:
                if isinstance(nrows, int) and nrows < 0:
                    raise ValueError(f"Expected nrows >= 0; got {nrows}")
                count = _partition.numbers(nrows, "nrows", rowids.dtype)
            if validate:
                message = "Arguments to from_value_rowids do not form a valid RaggedTensor"
                rows = values.nrows(rowids.dtype) if isinstance(values, RaggedConstructors) else _partition.size(values, rowids.dtype)
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
            values, length = cls._converted(values, name="values"), _partition.numbers(uniform_row_length, "uniform_row_length")
            length.shape.assert_has_rank(0)
            rows = values.nrows(length.dtype) if isinstance(values, RaggedConstructors) else _partition.size(values, length.dtype)
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
            made = cls._converted(flat_values, name="flat_values")
            for splits in reversed(_listed(nested_row_splits, "nested_row_splits")):
                made = cls.from_row_splits(made, splits, validate=validate)
            return made

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows of rows, by their lengths from the outermost to the innermost."""
        with op_scope(name, "RaggedFromNestedRowlengths"):
            made = cls._converted(flat_values, name="flat_values")
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
            made = cls._converted(flat_values, name="flat_values")
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
            if tensor.shape.rank is not None and tensor.shape.rank < 2:
                raise ValueError(f"The rank of a RaggedTensor must be greater than 1, i.e., a list of scalars won't have ragged dimensions. "
                                 f"Received argument `tensor` with rank {tensor.shape.rank}.")
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
            for part, axis in ((st_input.dense_shape, 0), (st_input.indices, 1)):
                rank = part.shape[axis].value if part.shape.rank else None
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


def _listed(value, name: str) -> list:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Argument `{name}` must be a list of Tensors, got {value}")
    return list(value)
