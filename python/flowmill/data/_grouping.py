"""Datasets of elements that are grouped by keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

import flowmill as tf
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill.data import _nest
from flowmill.data._base import INT64, DatasetBase, derived
from flowmill.data._function import DatasetFunction
from flowmill.data._specs import DatasetSpec

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset

_KEY = TensorSpec([], INT64)


def _returns_number(function: DatasetFunction, name: str) -> DatasetFunction:
    spec = function.output_spec
    if not (isinstance(spec, TensorSpec) and spec.is_compatible_with(_KEY)):
        raise ValueError(f"Invalid `{name}`. `{name}` must return a single `tf.int64` scalar tensor but its return type is {spec}.")
    return function


def group_by_window(dataset: DatasetBase, key_func: Callable, reduce_func: Callable, window_size, window_size_func, name: str | None) -> Dataset:
    """See :meth:`Dataset.group_by_window`."""
    if (window_size is not None) == bool(window_size_func):
        raise ValueError("Either the `window_size` argument or the `window_size_func` argument must be specified.")
    label = "Dataset.group_by_window()"

    def key_func_wrapper(*element):
        return convert_to_tensor(key_func(*element), INT64)

    def window_size_func_wrapper(key):
        return convert_to_tensor(window_size if window_size_func is None else window_size_func(key), INT64)

    keys = _returns_number(DatasetFunction(key_func_wrapper, label, dataset.element_spec), "key_func")
    reduced = DatasetFunction(reduce_func, label, (_KEY, DatasetSpec(dataset.element_spec)))
    if not isinstance(reduced.output_spec, DatasetSpec):
        raise TypeError("Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` object but its return type is "
                        f"{reduced.output_spec}.")
    sizes = _returns_number(DatasetFunction(window_size_func_wrapper, label, _KEY), "window_size_func")
    return derived(dataset, "GroupByWindowDataset", keys.captured, reduced.captured, sizes.captured, element_spec=reduced.output_spec.element_spec,
                   key_func=keys.attr, reduce_func=reduced.attr, window_size_func=sizes.attr, name=name, is_v2=True)


def _filled(shapes, filler):
    """Returns shapes with another size for those that are not known."""
    flat = []
    for shape in _nest.flatten(shapes):
        flat.append([filler if size is None else size for size in TensorShape(shape).as_list()])
    return _nest.pack_sequence_as(shapes, flat)


def bucket_by_sequence_length(dataset: DatasetBase, length_func: Callable, boundaries, batch_sizes, padded_shapes, padding_values,
                              pad_to_boundary: bool, no_padding: bool, drop_remainder: bool, name: str | None) -> Dataset:
    """See :meth:`Dataset.bucket_by_sequence_length`."""
    if len(batch_sizes) != len(boundaries) + 1:
        raise ValueError("`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                         f"`len(bucket_batch_sizes)={len(batch_sizes)}` and `len(bucket_boundaries)={len(boundaries)}`.")
    sizes = constant(batch_sizes, INT64)
    limits = np.iinfo(np.int32)

    def element_to_bucket_id(*element):
        length = length_func(*element)
        within = tf.logical_and(tf.less_equal([limits.min, *boundaries], length), tf.less(length, [*boundaries, limits.max]))
        return tf.reduce_min(tf.where(within))

    def window_size_fn(bucket_id):
        return sizes[bucket_id]

    def batching_fn(bucket_id, grouped_dataset):
        batch_size = window_size_fn(bucket_id)
        if no_padding:
            return grouped_dataset.batch(batch_size, drop_remainder=drop_remainder, name=name)
        filler = None
        if pad_to_boundary:
            check = tf.assert_less(bucket_id, constant(len(batch_sizes) - 1, INT64),
                                   message="When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries).")
            with get_default_graph().control_dependencies([check]):
                filler = constant(boundaries, INT64)[bucket_id] - 1
        shapes = _filled(padded_shapes or grouped_dataset.output_shapes, filler)
        return grouped_dataset.padded_batch(batch_size, shapes, padding_values, drop_remainder=drop_remainder, name=name)

    return group_by_window(dataset, element_to_bucket_id, batching_fn, None, window_size_fn, name)


class Reducer:
    """A reduction of the elements with the same key to one: see :func:`group_by_reducer`.

    Args:
        init_func: called with a key; returns the state for the first element.
        reduce_func: called with the state and an element; returns the next state.
        finalize_func: called with the last state; returns what comes out.
    """

    def __init__(self, init_func: Callable, reduce_func: Callable, finalize_func: Callable):
        self.init_func, self.reduce_func, self.finalize_func = init_func, reduce_func, finalize_func


def group_by_reducer(key_func: Callable, reducer: Reducer) -> Callable[[DatasetBase], Dataset]:
    """Returns a transformation that reduces all elements with the same key to one.

    Args:
        key_func: called with an element; returns its key, an int64 scalar.
        reducer: how to reduce them.

    Raises:
        ValueError: if `key_func` returns no int64 scalar.
        TypeError: if the state gets other types.
    """
    from flowmill.data._maps import with_state  # cycle: data._maps imports this module

    def apply(dataset: DatasetBase) -> Dataset:
        label = "tf.data.experimental.group_by_reducer()"
        keys = _returns_number(DatasetFunction(key_func, label, dataset.element_spec), "key_func")
        init = DatasetFunction(reducer.init_func, label, _KEY)
        reduced, state_spec = with_state(reducer.reduce_func, label, init.output_spec, dataset.element_spec, lambda returned: returned,
                                         "Invalid `reducer`. ")
        final = DatasetFunction(reducer.finalize_func, label, state_spec)
        return derived(dataset, "ExperimentalGroupByReducerDataset", keys.captured, init.captured, reduced.captured, final.captured,
                       element_spec=final.output_spec, key_func=keys.attr, init_func=init.attr, reduce_func=reduced.attr, finalize_func=final.attr,
                       is_v2=True)

    return apply
