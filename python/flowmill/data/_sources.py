"""Datasets that are made of tensors, numbers, files and other datasets."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor_shape import Dimension
from flowmill._internal.tensor_spec import TensorSpec
from flowmill.data import _choices, _generator, _nest, _seeds, _structure, _wire
from flowmill.data._base import INT64, STRING, DatasetBase, dataset_of, int64, made
from flowmill.dtypes import as_dtype

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


def slices(element, is_files: bool = False, name: str | None = None) -> Dataset:
    """Returns a dataset with an element for each row of tensors.

    Args:
        element: the tensors, a structure.
        is_files: whether the elements are names of files.
        name: what the op's metadata says.
    """
    element = _structure.normalize(element)
    spec = _structure.spec_of(element)
    tensors = _structure.encode_batch(spec, element)
    if not tensors:
        raise ValueError("Invalid `element`. `element` should not be empty.")
    rows = _structure.unbatched(spec)
    sizes = [Dimension(None if t.shape.rank is None else t.shape.as_list()[0]) for t in tensors]
    for size in sizes[1:]:
        sizes[0].assert_is_compatible_with(size)
    variant = call("TensorSliceDataset", None, tensors, output_shapes=_structure.tensor_shapes(rows), is_files=is_files,
                   metadata=_wire.metadata(name))
    return dataset_of(variant, rows)


class Sources:
    """The static methods of :class:`Dataset`."""

    @staticmethod
    def from_tensors(tensors, name: str | None = None) -> Dataset:
        """Returns a dataset of one element."""
        element = _structure.normalize(tensors)
        spec = _structure.spec_of(element)
        variant = call("TensorDataset", None, _structure.encode(spec, element), output_shapes=_structure.tensor_shapes(spec),
                       metadata=_wire.metadata(name))
        return dataset_of(variant, spec)

    @staticmethod
    def from_tensor_slices(tensors, name: str | None = None) -> Dataset:
        """Returns a dataset with an element for each row of tensors, which have as many of them.

        Raises:
            ValueError: if they have not, or one is a scalar.
        """
        return slices(tensors, name=name)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseTensor) -> Dataset:
        """Returns a dataset with an element for each row of a sparse tensor: the indices, values and shape of the row.

        Raises:
            TypeError: for what is no sparse tensor.
        """
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(f"Invalid `sparse_tensor`. `sparse_tensor` must be a `tf.sparse.SparseTensor`. Got {type(sparse_tensor)}.")
        ranks = [sparse_tensor.indices.shape.dims[1] - 1, sparse_tensor.dense_shape.shape.dims[0] - 1]
        rank = ranks[0].merge_with(ranks[1]).value
        spec = TensorSpec([None, rank], INT64), TensorSpec([None], sparse_tensor.dtype), TensorSpec([rank], INT64)
        return dataset_of(call("SparseTensorSliceDataset", None, *sparse_tensor._components()), spec)

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, args=None, output_signature=None, name: str | None = None) -> Dataset:
        """Returns a dataset of what a generator yields. It runs in the process that built the graph alone.

        Args:
            generator: called with the values of `args` each time the elements begin anew; returns what can be iterated over.
            output_types: the types of the components of an element, in its form.
            output_shapes: what is known of their shapes.
            args: tensors.
            output_signature: in the place of types and shapes, specs.
            name: what the op's metadata says.

        Raises:
            TypeError: for what cannot be called, and if types and signature are both given, or neither is.
        """
        return _generator.from_generator(generator, output_types, output_shapes, args, output_signature, name)

    @staticmethod
    def range(*args, name: str | None = None, output_type=INT64) -> Dataset:
        """Returns a dataset of integers as Python's `range` has them, which may be tensors.

        Raises:
            ValueError: for no arguments, and for more than three.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        numbers = [int64(value, label) for value, label in ((start, "start"), (stop, "stop"), (step, "step"))]
        return made("RangeDataset", TensorSpec([], as_dtype(output_type)), [], *numbers, name=name)

    @staticmethod
    def zip(*args, datasets=None, name: str | None = None) -> Dataset:
        """Returns a dataset of elements of several datasets, in the form in which these are; as many as the shortest has.

        Args:
            args: the datasets, or one structure of them.
            datasets: the structure, if there are no `args`.
            name: what the op's metadata says.

        Raises:
            TypeError: for what is no dataset.
        """
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        if args:
            datasets = args[0] if len(args) == 1 else args
        parts = _nest.flatten(datasets)
        for part in parts:
            if isinstance(part, list):
                raise TypeError("Invalid input to `zip`. Inputs are expected to be (nested) structures of `tf.data.Dataset` objects. Python `list` is "
                                "not supported and you should use `tuple` instead.")
            if not isinstance(part, DatasetBase):
                raise TypeError("Invalid input to `zip`. Inputs are expected to be (nested) structures of `tf.data.Dataset` objects but encountered "
                                f"object of type {type(part)}.")
        spec = _nest.pack_sequence_as(datasets, [part.element_spec for part in parts])
        return made("ZipDataset", spec, parts, [part._variant_tensor for part in parts], name=name)

    @staticmethod
    def list_files(file_pattern, shuffle: bool | None = None, seed=None, name: str | None = None) -> Dataset:
        """Returns a dataset of the names of files that match a pattern, or several.

        Args:
            file_pattern: the pattern, or a vector of them.
            shuffle: whether to give names in random order, as is done for None.
            seed: the seed of the order.
            name: what the op's metadata says.

        A step fails with `InvalidArgumentError` if no file matches.
        """
        graph = get_default_graph()
        with graph.name_scope("list_files"):
            pattern = convert_to_tensor(file_pattern, STRING, "file_pattern")
            files = call("MatchingFiles", None, pattern)
            found = tf.greater(tf.shape(files)[0], 0, name="match_not_empty")
            message = tf.add("No files matched pattern: ", tf.reduce_join(pattern, separator=", "), name="message")
            check = tf.Assert(found, [message], summarize=1, name="assert_not_empty")
            with graph.control_dependencies([check]):
                files = tf.identity(files)
            dataset = slices(files, is_files=True, name=name)
            if shuffle is None or shuffle:
                size = tf.maximum(tf.shape(files, out_type=INT64)[0], 1)
                dataset = dataset.shuffle(size, seed=seed, name=name)
            return dataset

    @staticmethod
    def counter(start=0, step=1, dtype=INT64, name: str | None = None) -> Dataset:
        """Returns a dataset that counts from `start` on in steps."""
        from flowmill.data._dataset import Dataset  # cycle: data._dataset imports this module

        with get_default_graph().name_scope("counter"):
            begin, step = convert_to_tensor(start, dtype, "start"), convert_to_tensor(step, dtype, "step")
            return Dataset.from_tensors(0, name=name).repeat(None).scan(begin, lambda state, _: (state + step, state))

    @staticmethod
    def random(seed=None, rerandomize_each_iteration: bool | None = None, name: str | None = None) -> Dataset:
        """Returns a dataset of random int64 numbers, from 0 up to 2³² − 1.

        Args:
            seed: the seed, None for another one each time.
            rerandomize_each_iteration: whether numbers differ in each epoch of :meth:`repeat`. An iterator that is initialized again has
                the same numbers.
            name: what the op's metadata says.
        """
        seeds = _seeds.seeds_of(seed)
        spec = TensorSpec([], INT64)
        if rerandomize_each_iteration:
            warnings.warn("In TF 1, the `rerandomize_each_iteration=True` option makes numbers differ in the epochs of `repeat` only: an iterator that "
                          "is initialized again has the same numbers.", stacklevel=2)
            return made("RandomDatasetV2", spec, [], *seeds, call("DummySeedGenerator", None), rerandomize_each_iteration=True, name=name, is_v2=True)
        return made("RandomDataset", spec, [], *seeds, name=name, is_v2=True)

    @staticmethod
    def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset: bool = False,
                             rerandomize_each_iteration: bool | None = None) -> Dataset:
        """Returns a dataset of elements of several datasets, each taken from one that is chosen at random.

        Args:
            datasets: the datasets, with elements of compatible types.
            weights: the probabilities of the datasets, a list, a tensor, or a dataset of them; equal ones for None.
            seed: the seed of the choice.
            stop_on_empty_dataset: whether to end when a dataset has no more elements.
            rerandomize_each_iteration: whether choices differ each time the elements begin anew.

        Raises:
            ValueError: for no datasets, or another number of weights.
            TypeError: for weights that are not floating, or datasets of different types.
        """
        return _choices.sampled(datasets, weights, seed, stop_on_empty_dataset, rerandomize_each_iteration)

    @staticmethod
    def choose_from_datasets(datasets, choice_dataset: Any, stop_on_empty_dataset: bool = True) -> Dataset:
        """Returns a dataset of elements of several datasets, each taken from the one whose number `choice_dataset` says.

        Args:
            datasets: the datasets, with elements of compatible types.
            choice_dataset: a dataset of int64 scalars.
            stop_on_empty_dataset: whether to end when a dataset has no more elements.

        Raises:
            ValueError: for no datasets.
            TypeError: for choices that are no int64 scalars.
        """
        return _choices.chosen(datasets, choice_dataset, stop_on_empty_dataset)
