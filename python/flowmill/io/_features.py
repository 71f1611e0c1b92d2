"""What an example is expected to hold: a named tuple for each kind of feature."""

from __future__ import annotations

import collections

from flowmill.dtypes import int32


class VarLenFeature(collections.namedtuple("VarLenFeature", "dtype")):
    """Any number of values in each example, which make a SparseTensor of type `dtype`."""


class FixedLenFeature(collections.namedtuple("FixedLenFeature", "shape dtype default_value", defaults=(None,))):
    """Values of a fixed shape in each example; without a `default_value` none may lack them."""


class FixedLenSequenceFeature(
        collections.namedtuple("FixedLenSequenceFeature", "shape dtype allow_missing default_value", defaults=(False, None))):
    """Any number of values of a fixed shape in each example, filled up with `default_value` to the length of the longest."""


class SparseFeature(collections.namedtuple("SparseFeature", "index_key value_key dtype size already_sorted", defaults=(False,))):
    """Values that stand in one feature and their places in another, or several: a SparseTensor.

    Attributes:
        index_key: the feature, or features, with the places.
        value_key: the feature with the values.
        dtype: their type.
        size: the size of the dimension, or a list of sizes.
        already_sorted: whether the places grow.
    """


class RaggedFeature(
        collections.namedtuple("RaggedFeature", "dtype value_key partitions row_splits_dtype validate", defaults=(None, (), int32, False))):
    """A ragged feature. Functions refuse it: there are no ragged tensors here."""
