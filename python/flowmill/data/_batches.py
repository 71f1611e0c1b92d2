"""Methods of datasets that put elements side by side, or take them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.tensor_util import constant_value
from flowmill._internal.composite_specs import RaggedTensorSpec, SparseTensorSpec
from flowmill.data import _nest, _padding, _structure
from flowmill.data._base import BOOL, DatasetBase, derived, determinism, int64, warn_without_parallel_calls
from flowmill.data._specs import DatasetSpec
from flowmill.dtypes import DType
from flowmill.ragged import RaggedTensor

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


def static_size(batch_size: Tensor, drop_remainder: Tensor) -> int | None:
    """Returns the size of all batches, None if the last one may be smaller or the size is not known."""
    size = constant_value(batch_size) if constant_value(drop_remainder) else None
    return None if size is None else int(size)


def normalized(dataset: DatasetBase) -> Dataset:
    """Returns a dataset with the components of batches as tensors that have a row per element: sparse and ragged ones, too."""
    spec = dataset.element_spec

    def normalize(*element):
        return tuple(_structure.encode_batch(spec, element if type(spec) is tuple else element[0]))

    made = dataset.map(normalize)  # type: ignore[attr-defined]
    made._element_spec = spec
    return made


class Batches(DatasetBase):
    """Methods of :class:`Dataset` about batches."""

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic: bool | None = None, name: str | None = None) -> Dataset:
        """Returns batches of elements, which have the same shape.

        Args:
            batch_size: how many elements a batch has.
            drop_remainder: whether to leave out a last batch with fewer.
            num_parallel_calls: how many batches may be made at once.
            deterministic: whether batches that are made at once keep their order.
            name: what the op's metadata says.
        """
        if num_parallel_calls is None:
            warn_without_parallel_calls(deterministic)
        size, drop = int64(batch_size, "batch_size"), convert_to_tensor(drop_remainder, BOOL, "drop_remainder")
        parallel = None if num_parallel_calls is None else int64(num_parallel_calls, "num_parallel_calls")
        spec = _structure.batched(self.element_spec, static_size(size, drop))
        if parallel is None:
            return derived(self, "BatchDatasetV2", size, drop, element_spec=spec, name=name)
        return derived(self, "ParallelBatchDataset", size, parallel, drop, element_spec=spec, deterministic=determinism(deterministic), name=name)

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name: str | None = None) -> Dataset:
        """Returns batches of elements, filled up to shapes.

        Args:
            batch_size: how many elements a batch has.
            padded_shapes: the shapes, in the form of an element; a size of None or -1 is the greatest of the batch. Those of the elements for None.
            padding_values: what to fill up with, in the form of an element or one for all; zeros and empty strings for None.
            drop_remainder: whether to leave out a last batch with fewer.
            name: what the op's metadata says.

        Raises:
            ValueError: for shapes that do not fit the elements, or are not known.
            TypeError: for elements with components that are no tensors, and values of other types.
        """
        return _padding.padded_batch(self, batch_size, padded_shapes, padding_values, drop_remainder, name)

    def ragged_batch(self, batch_size, drop_remainder=False, row_splits_dtype=None, name: str | None = None) -> Dataset:
        """Returns batches of elements whose shapes may differ: ragged tensors for the tensors whose static shape is not known.

        Args:
            batch_size: how many elements a batch has.
            drop_remainder: whether to leave out a last batch with fewer.
            row_splits_dtype: the type of row splits, int64 for None.
            name: not used.
        """
        splits = "int64" if row_splits_dtype is None else row_splits_dtype
        spec = self.element_spec
        ragged = _nest.map_structure(lambda s: _ragged(s, splits), spec)

        def boxed(*element):
            values = _nest.flatten(element if type(spec) is tuple else element[0])
            found = [v if a is b else _boxed(b, v) for a, b, v in zip(_nest.flatten(spec), _nest.flatten(ragged), values)]
            return _nest.pack_sequence_as(spec, found)

        made = self.map(boxed)  # type: ignore[attr-defined]
        made._element_spec = ragged
        return made._as_v2().batch(batch_size, drop_remainder)

    def sparse_batch(self, batch_size, row_shape, name: str | None = None) -> Dataset:
        """Returns batches of tensors as sparse tensors.

        Args:
            batch_size: how many elements a batch has.
            row_shape: the shape of a row of the batch; a size of None or -1 is the greatest of the batch.
            name: what the op's metadata says.

        Raises:
            TypeError: for elements of several components.
        """
        types = self.output_types
        if not isinstance(types, DType):
            raise TypeError("`dense_to_sparse_batch` requires an input dataset whose elements have a single component, but the given dataset has the "
                            f"following component types: {types}.")
        spec = SparseTensorSpec(TensorShape([None]).concatenate(TensorShape(row_shape)), types)
        return derived(self, "DenseToSparseBatchDataset", batch_size, _padding.shape_tensor(row_shape), element_spec=spec, is_v2=True)

    def unbatch(self, name: str | None = None) -> Dataset:
        """Returns the rows of batches as elements.

        Raises:
            ValueError: for scalars, and for components with different numbers of rows.
        """
        made = normalized(self)
        shapes = _structure.tensor_shapes(self.element_spec)
        known = None
        for shape in shapes:
            if shape.rank == 0:
                raise ValueError("Cannot unbatch an input with scalar components.")
            size = None if shape.rank is None else shape.as_list()[0]
            if size is not None and known not in (None, size):
                raise ValueError("`unbatch()` is only supported for datasets of elements whose components have a matching leading dimension. "
                                 f"Encountered both {known} and {size}.")
            known = size if known is None else known
        return derived(made, "UnbatchDataset", element_spec=_structure.unbatched(self.element_spec), name=name, is_v2=self._is_v2)

    def rebatch(self, batch_size, drop_remainder=False, name: str | None = None) -> Dataset:
        """Returns batches of other sizes, of the rows of these.

        Args:
            batch_size: how many rows a batch has; a vector for sizes that are used in turn.
            drop_remainder: whether to leave out a last batch with fewer.
            name: not used.
        """
        sizes, drop = int64(batch_size, "batch_sizes"), convert_to_tensor(drop_remainder, BOOL, "drop_remainder")
        spec = _structure.batched(_structure.unbatched(self.element_spec), self._size_after_rebatch(sizes, drop))
        made = normalized(self)
        return derived(made, "RebatchDatasetV2", batch_size, drop_remainder, element_spec=spec, is_v2=True)

    def _size_after_rebatch(self, sizes: Tensor, drop: Tensor) -> int | None:
        found = constant_value(sizes)
        if found is None:
            return None
        if np.ndim(found) > 1:
            raise ValueError("Invalid `batch_sizes`. Expected `batch_sizes` to be a scalar or a vector. Received `batch_sizes` of rank "
                             f"{np.ndim(found)}.")
        distinct = set(np.reshape(found, -1).tolist())
        if len(distinct) != 1:
            return None
        size = distinct.pop()
        shapes = [s.shape for s in _nest.flatten(self.element_spec) if isinstance(s, (TensorSpec, SparseTensorSpec, RaggedTensorSpec))]
        if any(s.rank == 0 for s in shapes):
            raise ValueError("Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with scalar elements. Fix the issue by "
                             "adding the `batch` transformation to the dataset.")
        known = {s.as_list()[0] for s in shapes if s.rank is not None} - {None}
        fits = bool(constant_value(drop)) or (len(known) == 1 and known.pop() % size == 0)
        return size if fits else None

    def window(self, size, shift=None, stride=1, drop_remainder=False, name: str | None = None) -> Dataset:
        """Returns datasets of elements that follow each other: for each component one, in the form of an element.

        Args:
            size: how many elements a window has.
            shift: how many elements lie between the beginnings of windows; `size` for None.
            stride: how many elements lie between those of a window.
            drop_remainder: whether to leave out last windows with fewer.
            name: what the op's metadata says.
        """
        arguments = [int64(value, label) for value, label in ((size, "size"), (size if shift is None else shift, "shift"), (stride, "stride"))]
        spec = _nest.map_structure(DatasetSpec, self.element_spec)
        return derived(self, "WindowDataset", *arguments, convert_to_tensor(drop_remainder, BOOL, "drop_remainder"), element_spec=spec, name=name)


def _ragged(spec, row_splits_dtype):
    """Returns the spec of a tensor of which not all sizes are known as a ragged one; any other as it is."""
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None or spec.shape.is_fully_defined():
        return spec
    rank = max(axis for axis, size in enumerate(spec.shape.as_list()) if size is None)
    return RaggedTensorSpec(spec.shape, spec.dtype, rank, row_splits_dtype)


def _boxed(spec: RaggedTensorSpec, value) -> Tensor:
    if spec.ragged_rank > 0:
        value = RaggedTensor.from_tensor(value, ragged_rank=spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype)
    return _structure.encode(spec, value)[0]
