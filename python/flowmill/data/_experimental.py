"""Transformations of ``tf.data.experimental``: functions that return what :meth:`Dataset.apply` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowmill._internal.apply import call
from flowmill._internal.array import zeros
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.composite_specs import RaggedTensorSpec, SparseTensorSpec, TensorArraySpec
from flowmill.data import _nest, _seeds, _structure
from flowmill.data._base import BOOL, INT64, STRING, DatasetBase, derived, int64, made, optional
from flowmill.data._batches import static_size
from flowmill.data._dataset import Dataset
from flowmill.data._function import DatasetFunction
from flowmill.data._readers import legacy_interleave

Transformation = Callable[[Any], Dataset]


def map_and_batch(map_func: Callable, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None) -> Transformation:
    """Returns a transformation that maps, then batches.

    Args:
        map_func: as for :meth:`Dataset.map`.
        batch_size: how many elements a batch has.
        num_parallel_batches: how many batches may be made at once.
        drop_remainder: whether to leave out a last batch with fewer.
        num_parallel_calls: how many calls may run at once. Only one of this and `num_parallel_batches` is given.

    Raises:
        ValueError: if both are given.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to be set, but `num_parallel_batches` was "
                         f"set to {num_parallel_batches} and `num_parallel_calls` as set to {num_parallel_calls}.")
    if num_parallel_calls is None:
        num_parallel_calls = batch_size if num_parallel_batches is None else batch_size * num_parallel_batches

    def apply(dataset: DatasetBase) -> Dataset:
        function = DatasetFunction(map_func, "tf.data.experimental.map_and_batch()", dataset.element_spec)
        size, parallel = int64(batch_size, "batch_size"), int64(num_parallel_calls, "num_parallel_calls")
        drop = convert_to_tensor(drop_remainder, BOOL, "drop_remainder")
        spec = _structure.batched(function.output_spec, static_size(size, drop))
        return derived(dataset, "MapAndBatchDataset", function.captured, size, parallel, drop, element_spec=spec, f=function.attr,
                       preserve_cardinality=True, is_v2=True)

    return apply


map_and_batch_with_legacy_function = map_and_batch


def shuffle_and_repeat(buffer_size, count=None, seed=None) -> Transformation:
    """Returns a transformation that shuffles, then repeats; the arguments are those of the methods."""
    def apply(dataset: DatasetBase) -> Dataset:
        size, times = int64(buffer_size, "buffer_size"), int64(-1 if count is None else count, "count")
        return derived(dataset, "ShuffleAndRepeatDataset", size, *_seeds.seeds_of(seed), times, is_v2=True)

    return apply


def parallel_interleave(map_func: Callable, cycle_length, block_length=1, sloppy: bool | None = False, buffer_output_elements=None,
                        prefetch_input_elements=None) -> Transformation:
    """Returns a transformation that interleaves datasets which threads of their own read.

    Args:
        map_func: as for :meth:`Dataset.interleave`.
        cycle_length: from how many datasets to take in turn.
        block_length: how many elements to take from each.
        sloppy: whether elements may come in another order if that is faster.
        buffer_output_elements: how many elements of each dataset to read ahead.
        prefetch_input_elements: how many datasets to make ahead.
    """
    return lambda dataset: legacy_interleave(dataset, map_func, cycle_length, block_length, sloppy, buffer_output_elements, prefetch_input_elements)


def unbatch() -> Transformation:
    """Returns a transformation like :meth:`Dataset.unbatch`."""
    return lambda dataset: dataset.unbatch()


def ignore_errors(log_warning: bool = False) -> Transformation:
    """Returns a transformation like :meth:`Dataset.ignore_errors`."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def enumerate_dataset(start=0) -> Transformation:
    """Returns a transformation like :meth:`Dataset.enumerate`."""
    return lambda dataset: dataset.enumerate(start)


def scan(initial_state, scan_func: Callable) -> Transformation:
    """Returns a transformation like :meth:`Dataset.scan`."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def take_while(predicate: Callable) -> Transformation:
    """Returns a transformation like :meth:`Dataset.take_while`."""
    return lambda dataset: dataset.take_while(predicate)


def unique() -> Transformation:
    """Returns a transformation like :meth:`Dataset.unique`."""
    return lambda dataset: dataset.unique()


def dense_to_ragged_batch(batch_size, drop_remainder=False, row_splits_dtype=INT64) -> Transformation:
    """Returns a transformation like :meth:`Dataset.ragged_batch`."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def dense_to_sparse_batch(batch_size, row_shape) -> Transformation:
    """Returns a transformation like :meth:`Dataset.sparse_batch`."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def group_by_window(key_func: Callable, reduce_func: Callable, window_size=None, window_size_func: Callable | None = None) -> Transformation:
    """Returns a transformation like :meth:`Dataset.group_by_window`."""
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def bucket_by_sequence_length(element_length_func: Callable, bucket_boundaries, bucket_batch_sizes, padded_shapes=None, padding_values=None,
                              pad_to_bucket_boundary: bool = False, no_padding: bool = False, drop_remainder: bool = False) -> Transformation:
    """Returns a transformation like :meth:`Dataset.bucket_by_sequence_length`."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values, pad_to_bucket_boundary, no_padding, drop_remainder)


def rejection_resample(class_func: Callable, target_dist, initial_dist=None, seed=None) -> Transformation:
    """Returns a transformation like :meth:`Dataset.rejection_resample`."""
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def assert_cardinality(expected_cardinality) -> Transformation:
    """Returns a transformation that says how many elements there are. A step fails with `FailedPreconditionError` if it is not true."""
    return lambda dataset: derived(dataset, "AssertCardinalityDataset", int64(expected_cardinality, "expected_cardinality"), is_v2=True)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Returns a transformation that changes nothing: elements are in the memory of the one kind of device that datasets run on.

    Args:
        target_device: not used.
        source_device: not used.
    """
    return lambda dataset: dataset


def prefetch_to_device(device: str, buffer_size=None) -> Transformation:
    """Returns a transformation like :meth:`Dataset.prefetch`.

    Args:
        device: not used.
        buffer_size: as for the method.
    """
    return lambda dataset: dataset.prefetch(buffer_size)


def cardinality(dataset: DatasetBase) -> Tensor:
    """Returns the number of elements, an int64 scalar; -1 if they do not end, -2 if it is not known."""
    return dataset.cardinality()


def get_single_element(dataset: DatasetBase) -> Any:
    """Returns the only element; see :meth:`Dataset.get_single_element`.

    Raises:
        TypeError: for what is no dataset.
    """
    if not isinstance(dataset, DatasetBase):
        raise TypeError(f"Invalid `dataset`. Expected a `tf.data.Dataset` object but got {type(dataset)}.")
    return dataset.get_single_element()


def _as_v1(dataset: Dataset) -> Dataset:
    dataset._is_v2 = False
    return dataset


def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset: bool = False) -> Dataset:
    """Like :meth:`Dataset.sample_from_datasets`."""
    return _as_v1(Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset))


def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset: bool = False) -> Dataset:
    """Like :meth:`Dataset.choose_from_datasets`."""
    return _as_v1(Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset))


def Counter(start=0, step=1, dtype=INT64) -> Dataset:  # noqa: N802 - TensorFlow's name
    """Like :meth:`Dataset.counter`."""
    return _as_v1(Dataset.counter(start, step, dtype))


class RandomDataset(Dataset):
    """A dataset of random numbers: see :meth:`Dataset.random`."""

    def __init__(self, seed=None):
        numbers = Dataset.random(seed)
        super().__init__(numbers._variant_tensor, numbers.element_spec)


def from_list(elements, name: str | None = None) -> Dataset:
    """Returns a dataset of the elements of a list, which have the same form.

    Raises:
        ValueError: for an empty list, or what is none.
        TypeError: for elements of different types.
    """
    if not isinstance(elements, list) or not elements:
        raise ValueError("Invalid `elements`. `elements` must be a list that is not empty. If you want an empty dataset, use "
                         "`tf.data.Dataset.range(0)`.")
    normal = [_structure.normalize(element) for element in elements]
    specs = [_structure.spec_of(element) for element in normal]
    spec = specs[0]
    for other in specs[1:]:
        spec = _structure.common(spec, other)
    tensors = [tensor for element, own in zip(normal, specs) for tensor in _structure.encode(own, element)]
    return made("ListDataset", spec, [], tensors, name=name, is_v2=True)


class TFRecordWriter:
    """Writes a dataset of strings to a file of records.

    Args:
        filename: the file's name.
        compression_type: "GZIP", "ZLIB", or nothing.
    """

    def __init__(self, filename, compression_type=None):
        self._filename = convert_to_tensor(filename, STRING, "filename")
        self._compression_type = optional(compression_type, "compression_type", "", STRING)

    def write(self, dataset: DatasetBase) -> Operation:
        """Returns the operation that writes a dataset.

        Raises:
            TypeError: for what is no dataset of strings.
        """
        if not isinstance(dataset, DatasetBase):
            raise TypeError(f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}.")
        if not _structure.are_compatible(dataset.element_spec, TensorSpec([], STRING)):
            raise TypeError("Invalid `dataset`. Expected a`dataset` that produces scalar `tf.string` elements, but got a dataset which produces "
                            f"elements with shapes {dataset.output_shapes} and types {dataset.output_types}.")
        return call("DatasetToTFRecord", None, dataset._variant_tensor, self._filename, self._compression_type)


def TensorStructure(dtype, shape) -> TensorSpec:  # noqa: N802 - TensorFlow's name
    """Returns the spec of a tensor."""
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype, shape) -> SparseTensorSpec:  # noqa: N802 - TensorFlow's name
    """Returns the spec of a sparse tensor."""
    return SparseTensorSpec(shape, dtype)


def RaggedTensorStructure(dtype, shape, ragged_rank: int) -> RaggedTensorSpec:  # noqa: N802 - TensorFlow's name
    """Returns the spec of a ragged tensor."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


def TensorArrayStructure(dtype, element_shape, dynamic_size: bool, infer_shape: bool) -> TensorArraySpec:  # noqa: N802 - TensorFlow's name
    """Returns the spec of a TensorArray."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


def pad_to_cardinality(cardinality, mask_key: str = "valid") -> Transformation:
    """Returns a transformation that adds elements of zeros until there are so many.

    Args:
        cardinality: how many.
        mask_key: a key that elements get, true for those that were there before.

    Raises:
        ValueError: for elements that are no dictionaries.
    """
    def apply(dataset: DatasetBase) -> Dataset:
        spec = dataset.element_spec
        if not isinstance(spec, Mapping):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        missing = cardinality - dataset.cardinality()
        filler = {**_nest.map_structure(lambda part: zeros(part.shape, part.dtype), spec), mask_key: False}
        fillers = Dataset.from_tensors(filler).repeat(missing)
        return dataset.map(lambda element: {**element, mask_key: True}).concatenate(fillers)  # type: ignore[attr-defined]

    return apply
