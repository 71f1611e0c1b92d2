"""The expected features of an example: a named tuple for each kind of feature."""

from __future__ import annotations

import collections

from flowmill.dtypes import as_dtype, float32, int32, int64, string


class VarLenFeature(collections.namedtuple("VarLenFeature", "dtype")):
    """Any number of values in each example, which make a SparseTensor of type `dtype`."""


class FixedLenFeature(collections.namedtuple("FixedLenFeature", "shape dtype default_value", defaults=(None,))):
    """Values of a fixed shape in each example; without a `default_value` none may lack them."""


class FixedLenSequenceFeature(
        collections.namedtuple("FixedLenSequenceFeature", "shape dtype allow_missing default_value", defaults=(False, None))):
    """Any number of values of a fixed shape in each example, filled up with `default_value` to the length of the longest."""


class SparseFeature(collections.namedtuple("SparseFeature", "index_key value_key dtype size already_sorted", defaults=(False,))):
    """Values in one feature with their indices in another feature, or several: a SparseTensor.

    Attributes:
        index_key: the feature, or features, with the places.
        value_key: the feature with the values.
        dtype: their type.
        size: the size of the dimension, or a list of sizes.
        already_sorted: whether the places grow.
    """


class _ByKey(collections.namedtuple("_ByKey", "key")):
    """A partition that is another feature, of integers."""

    def __repr__(self) -> str:
        return f"RaggedFeature.{type(self).__name__}(key={self.key!r})"


class RaggedFeature(collections.namedtuple("RaggedFeature", "dtype value_key partitions row_splits_dtype validate")):
    """Any number of values in each example, which make a RaggedTensor.

    Args:
        dtype: their type: int64, float32 or string.
        value_key: the feature with the values, if it has another name.
        partitions: how they lie in rows, and those in rows, outermost first: each a :class:`RaggedFeature.RowSplits`, ``RowLengths``,
            ``RowStarts``, ``RowLimits`` or ``ValueRowIds``, which name a feature, or ``UniformRowLength``.
        row_splits_dtype: the type of the row splits, int32 or int64.
        validate: whether to check the partitions when the graph runs.

    Raises:
        ValueError: for other types, or an empty key.
        TypeError: for partitions that are none.
    """

    class RowSplits(_ByKey):
        """The feature says where rows begin, and where the last one ends."""

    class RowLengths(_ByKey):
        """The feature says how long rows are."""

    class RowStarts(_ByKey):
        """The feature says where rows begin."""

    class RowLimits(_ByKey):
        """The feature says where rows end."""

    class ValueRowIds(_ByKey):
        """The feature says the row of each value."""

    class UniformRowLength(collections.namedtuple("UniformRowLength", "length")):
        """All rows have this length."""

    def __new__(cls, dtype, value_key: str | None = None, partitions=(), row_splits_dtype=int32, validate: bool = False):
        if value_key is not None:
            if not isinstance(value_key, str):
                raise ValueError(f"Argument `value_key` must be a string; got {value_key}")
            if not value_key:
                raise ValueError("Argument `value_key` must not be empty")
        dtype, row_splits_dtype = as_dtype(dtype), as_dtype(row_splits_dtype)
        if dtype not in (int64, float32, string):
            raise ValueError(f"Argument `dtype` must be int64, float32, or bytes; got {dtype!r}")
        if row_splits_dtype not in (int32, int64):
            raise ValueError(f"Argument `row_splits_dtype` must be int32 or int64; got{row_splits_dtype!r}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"Argument `partitions` must be a list or tuple. Receivedpartitions={partitions} of type {type(partitions).__name__}.")
        for partition in partitions:
            if not isinstance(partition, (_ByKey, cls.UniformRowLength)):
                raise TypeError(f"Argument `partitions` cannot be cast to any of the partition types; got: {partition!r} with type {type(partition)}")
        if not isinstance(validate, bool):
            raise TypeError(f"Argument `validate` must be a bool; got {validate!r}")
        return super().__new__(cls, dtype, value_key, tuple(partitions), row_splits_dtype, validate)
