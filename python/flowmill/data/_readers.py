"""Datasets of the contents of files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill.data import _nest, _wire
from flowmill.data._base import STRING, DatasetBase, dataset_of, derived, determinism, int64, optional
from flowmill.data._dataset import Dataset
from flowmill.data._maps import dataset_function
from flowmill.data._sources import slices

_STRING = TensorSpec([], STRING)
# How many bytes are read at once.
_BUFFER_SIZE = 256 * 1024


def _files(filenames, name: str | None) -> DatasetBase:
    """Returns a dataset of the names of files.

    Raises:
        TypeError: for what are no strings.
    """
    if isinstance(filenames, DatasetBase):
        types, shapes = filenames.output_types, filenames.output_shapes
        if types != STRING:
            raise TypeError(f"The `filenames` argument must contain `tf.string` elements. Got a dataset of `{types!r}` elements.")
        if not shapes.is_compatible_with(TensorShape([])):
            raise TypeError("The `filenames` argument must contain `tf.string` elements of shape [] (i.e. scalars). Got a dataset of element shape "
                            f"{shapes!r}.")
        return filenames
    filenames = _nest.map_structure(_path, filenames)
    if isinstance(filenames, list):
        filenames = [_path(f) for f in filenames]
    names = convert_to_tensor(filenames, preferred_dtype=STRING)
    if names.dtype != STRING:
        raise TypeError(f"The `filenames` argument must contain `tf.string` elements. Got `{names.dtype!r}` elements.")
    return slices(tf.reshape(names, [-1], name="flat_filenames"), is_files=True, name=name)._as_v2()


def _path(value) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _read(files: DatasetBase, reader: Callable[[Tensor], Dataset], num_parallel_reads, name: str | None) -> Dataset:
    """Returns the contents of files, one file after another or several in turn."""
    def read_one_file(filename):
        return reader(convert_to_tensor(filename, STRING, "filename"))

    if num_parallel_reads is None:
        return files.flat_map(read_one_file, name=name)  # type: ignore[attr-defined]
    if isinstance(num_parallel_reads, int) and num_parallel_reads == -1:
        return files.interleave(read_one_file, num_parallel_calls=num_parallel_reads, name=name)  # type: ignore[attr-defined]
    return legacy_interleave(files, read_one_file, num_parallel_reads, 1, False, None, None, name)


def legacy_interleave(dataset: DatasetBase, map_func: Callable, cycle_length, block_length, sloppy: bool | None, buffer_output_elements,
                      prefetch_input_elements, name: str | None = None) -> Dataset:
    """See :func:`flowmill.data.experimental.parallel_interleave`."""
    function = dataset_function(map_func, "tf.data.experimental.parallel_interleave()", dataset.element_spec)
    cycle, block = int64(cycle_length, "cycle_length"), int64(block_length, "block_length")
    buffered = optional(buffer_output_elements, "buffer_output_elements", 2 * block_length)
    prefetched = optional(prefetch_input_elements, "prefetch_input_elements", 2 * cycle_length)
    return derived(dataset, "LegacyParallelInterleaveDatasetV2", function.captured, cycle, block, buffered, prefetched,
                   element_spec=function.output_spec.element_spec, f=function.attr,
                   deterministic=determinism(None if sloppy is None else not sloppy), name=name, is_v2=True)


class _FileDataset(Dataset):
    """A dataset of the contents of files."""

    # Whether it has the options of the dataset of names.
    _is_made_of_names = False

    def __init__(self, filenames, reader: Callable[[Tensor], Dataset], num_parallel_reads, name: str | None):
        self._filenames = _files(filenames, name)
        contents = _read(self._filenames, reader, num_parallel_reads, name)
        super().__init__(contents._variant_tensor, contents.element_spec, contents._input_datasets if self._is_made_of_names else ())


class TextLineDataset(_FileDataset):
    """A dataset of the lines of text files, without what ends them.

    Args:
        filenames: the names of files, or a dataset of them.
        compression_type: "GZIP", "ZLIB", or nothing.
        buffer_size: how many bytes are read at once.
        num_parallel_reads: how many files are read in turn.
        name: what the op's metadata says.
    """

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name: str | None = None):
        def reader(filename):
            compression = optional(compression_type, "compression_type", "", STRING)
            size = optional(buffer_size, "buffer_size", _BUFFER_SIZE)
            return dataset_of(call("TextLineDataset", None, filename, compression, size, metadata=_wire.metadata(name)), _STRING, is_v2=True)

        super().__init__(filenames, reader, num_parallel_reads, name)


class TFRecordDataset(_FileDataset):
    """A dataset of the records of TFRecord files. The arguments are those of :class:`TextLineDataset`."""

    _is_made_of_names = True

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name: str | None = None):
        def reader(filename):
            compression = optional(compression_type, "compression_type", "", STRING)
            size = optional(buffer_size, "buffer_size", -1)
            return dataset_of(call("TFRecordDataset", None, filename, compression, size, metadata=_wire.metadata(name)), _STRING, is_v2=True)

        super().__init__(filenames, reader, num_parallel_reads, name)


class FixedLengthRecordDataset(_FileDataset):
    """A dataset of the records of files in which all have the same length.

    Args:
        filenames: the names of files, or a dataset of them.
        record_bytes: the length of a record.
        header_bytes: how many bytes come before the first record.
        footer_bytes: how many bytes come after the last one.
        buffer_size: how many bytes are read at once.
        compression_type: "GZIP", "ZLIB", or nothing.
        num_parallel_reads: how many files are read in turn.
        name: what the op's metadata says.
    """

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None, compression_type=None,
                 num_parallel_reads=None, name: str | None = None):
        def reader(filename):
            record = int64(record_bytes, "record_bytes")
            header, footer = optional(header_bytes, "header_bytes", 0), optional(footer_bytes, "footer_bytes", 0)
            size = optional(buffer_size, "buffer_size", _BUFFER_SIZE)
            compression = optional(compression_type, "compression_type", "", STRING)
            variant = call("FixedLengthRecordDatasetV2", None, filename, header, record, footer, size, compression, metadata=_wire.metadata(name))
            return dataset_of(variant, _STRING, is_v2=True)

        super().__init__(filenames, reader, num_parallel_reads, name)
