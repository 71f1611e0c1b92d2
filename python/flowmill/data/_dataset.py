"""Datasets: what gives elements, and what is made of other datasets."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowmill import errors, gfile
from flowmill._convert import convert_to_tensor
from flowmill.compat import as_text
from flowmill.data import _pipeline
from flowmill.data._function import Function
from flowmill.data._options import Options
from flowmill.data._pipeline import Run
from flowmill.data._structure import Component, Structure, _leaves, as_array, of_values, rebuild
from flowmill.dtypes import as_dtype
from flowmill.graph import get_default_graph
from flowmill.random_seed import get_seed
from flowmill.tensor import Tensor
from flowmill.tensor_shape import TensorShape

if TYPE_CHECKING:
    from flowmill.data._iterator import Iterator, NumpyIterator


class Elements:
    """What gives elements: a dataset or an iterator. Tells of what form they are."""

    _structure: Structure

    @property
    def output_types(self) -> Any:
        """The types of the elements, in their form."""
        return get_output_types(self)

    @property
    def output_shapes(self) -> Any:
        """What is known of the shapes of the elements, in their form."""
        return get_output_shapes(self)

    @property
    def output_classes(self) -> Any:
        """What the elements are, in their form: `Tensor` or `SparseTensor`."""
        return get_output_classes(self)

    @property
    def element_spec(self) -> Any:
        """What is known of the tensors of the elements, in their form."""
        from flowmill.data._specs import spec_of

        return spec_of(self._structure)


class Dataset(Elements):
    """Elements, one after another: nested tuples and dictionaries of tensors.

    It is made by functions such as :meth:`from_tensor_slices`; methods give others. Numbers that they take may be tensors, which an iterator's
    initializer computes.
    """

    # What `with_options` said.
    _options: Options | None = None

    def __init__(self, structure: Structure, inputs: list[Dataset], arguments: list, elements: Callable):
        """For this module alone: `elements(run, arguments)` gives an iterator over lists of arrays, given the arguments' values."""
        self._structure, self._inputs, self._arguments, self._make = structure, inputs, arguments, elements

    # What an iterator needs

    def _tensors(self) -> list[Tensor]:
        """The tensors that have to be known before there are elements."""
        own = [a for a in self._arguments if isinstance(a, Tensor)]
        return [t for i in self._inputs for t in i._tensors()] + own

    def _elements(self, run: Run):
        """The elements, from the first on."""
        return self._make(run, [run.value(a) for a in self._arguments])

    def _derived(self, structure: Structure | None, arguments: list, elements: Callable, others: tuple = ()) -> Dataset:
        """A dataset made of this one; `elements(run, upstream, *arguments)`, where `upstream()` begins anew with this one's elements."""
        arguments = [convert_to_tensor(a) if hasattr(a, "_as_tensor") else a for a in arguments]
        return Dataset(structure or self._structure, [self, *others], arguments,
                       lambda run, values: elements(run, lambda: self._elements(run), *values))

    # Sources

    @staticmethod
    def from_tensors(tensors, name=None) -> Dataset:
        """One element."""
        structure, parts = of_values(tensors)
        return Dataset(structure, [], parts, lambda run, values: iter([values]))

    @staticmethod
    def from_tensor_slices(tensors, name=None) -> Dataset:
        """An element for each row of tensors, which have as many of them.

        Raises:
            ValueError: where they have not, or one is a scalar.
        """
        structure, parts = of_values(tensors)
        count = None
        for component in structure.components:
            if component.shape.rank == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            if component.shape.rank is not None and component.shape.as_list()[0] is not None:
                size = component.shape.as_list()[0]
                if count is not None and size != count:
                    raise ValueError(f"Dimensions {count} and {size} are not compatible")
                count = size
        rows = structure.with_components(lambda c: Component(c.dtype, TensorShape(None if c.shape.rank is None else c.shape.as_list()[1:]), c.is_sparse))
        return Dataset(rows, [], parts, lambda run, values: _pipeline.slices(values, structure.are_sparse))

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, args=None, output_signature=None, name=None) -> Dataset:
        """The elements that a generator gives.

        Args:
            generator: called for an iterator, with the values of `args`, each time the elements begin anew.
            output_types: the types of its elements, in their form.
            output_shapes: what is known of their shapes.
            args: tensors.
            output_signature: in the place of types and shapes, `TensorSpec` objects.
        """
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        if output_signature is not None:
            structure = Structure(rebuild(output_signature, [Component(s.dtype, s.shape) for s in _leaves(output_signature)]))
        elif output_types is None:
            raise TypeError("Either `output_signature` or `output_types` must be specified.")
        else:
            structure = Structure(_with_shapes(output_types, output_shapes))
        arguments = [convert_to_tensor(a) for a in args or ()]
        return Dataset(structure, [], arguments, lambda run, values: _pipeline.generated(generator, values, structure))

    @staticmethod
    def range(*args, name=None, output_type=None) -> Dataset:
        """Integers as Python's `range` gives them, int64."""
        dtype = as_dtype(output_type or "int64")
        return Dataset(Structure(Component(dtype, TensorShape([]))), [], list(args),
                       lambda run, values: ([as_array(i, dtype)] for i in range(*(int(v) for v in values))))

    @staticmethod
    def zip(datasets, name=None) -> Dataset:
        """Elements of several datasets, in the form in which these are; as many as the shortest has."""
        parts = _leaves(datasets)
        if not all(isinstance(d, Dataset) for d in parts):
            raise TypeError("The argument to `Dataset.zip()` must be a nested structure of Dataset objects; lists are none.")
        structure = Structure(rebuild(datasets, [d._structure.template for d in parts]))
        return Dataset(structure, parts, [], lambda run, values: _pipeline.zipped([d._elements(run) for d in parts]))

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None) -> Dataset:
        """The names of files that match a pattern, or several; mixed anew each time unless `shuffle` is false.

        Raises:
            errors.InvalidArgumentError: where there are none.
        """
        found = gfile.Glob([as_text(p) for p in file_pattern] if isinstance(file_pattern, (list, tuple)) else as_text(os.fspath(file_pattern)))
        if not found:
            raise errors.InvalidArgumentError(None, None, f"No files matched pattern: {file_pattern}")
        files = Dataset.from_tensor_slices(sorted(found))
        return files if shuffle is False else files.shuffle(len(found), seed)

    # What is made of another one

    def concatenate(self, dataset: Dataset, name=None) -> Dataset:
        """These elements, then those of another dataset of the same types.

        Raises:
            TypeError: where types differ.
        """
        if get_output_types(self) != get_output_types(dataset):
            raise TypeError(f"Incompatible types of input datasets: {get_output_types(self)} vs. {get_output_types(dataset)}.")
        both = [_common(a.shape, b.shape) for a, b in zip(self._structure.components, dataset._structure.components)]
        shapes = iter(both)
        structure = self._structure.with_components(lambda c: Component(c.dtype, next(shapes), c.is_sparse))
        return self._derived(structure, [], lambda run, upstream: _pipeline.concatenated(upstream, lambda: dataset._elements(run)), (dataset,))

    def repeat(self, count=None, name=None) -> Dataset:
        """The elements again and again, `count` times; for ever where it is None or -1."""
        return self._derived(None, [-1 if count is None else count], lambda run, upstream, n: _pipeline.repeated(upstream, int(n)))

    def take(self, count, name=None) -> Dataset:
        """The first `count` elements; all for -1."""
        return self._derived(None, [count], lambda run, upstream, n: _pipeline.taken(upstream(), int(n)))

    def skip(self, count, name=None) -> Dataset:
        """All but the first `count` elements; none for -1."""
        return self._derived(None, [count], lambda run, upstream, n: _pipeline.skipped(upstream(), int(n)))

    def shard(self, num_shards, index, name=None) -> Dataset:
        """Every `num_shards`-th element, from that at `index` on.

        Raises:
            errors.InvalidArgumentError: where `index` is not below `num_shards`.
        """
        if isinstance(num_shards, int) and isinstance(index, int) and not 0 <= index < num_shards:
            raise errors.InvalidArgumentError(None, None, f"index must be in the range [0, {num_shards}), got {index}")
        return self._derived(None, [num_shards, index],
                             lambda run, upstream, n, i: (e for k, e in enumerate(upstream()) if k % int(n) == int(i)))

    def enumerate(self, start=0, name=None) -> Dataset:
        """Pairs of a number, int64 from `start` on, and an element."""
        dtype = as_dtype("int64")
        structure = Structure((Component(dtype, TensorShape([])), self._structure.template))
        return self._derived(structure, [start], lambda run, upstream, n: ([as_array(k, dtype), *e] for k, e in enumerate(upstream(), int(n))))

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None, name=None) -> Dataset:
        """The elements in random order: each is drawn from `buffer_size` of them. Another order each time they begin anew, unless
        `reshuffle_each_iteration` is false. The order for a seed is not TensorFlow's."""
        seeds = get_seed(seed)
        again = reshuffle_each_iteration is not False
        key = object()
        return self._derived(None, [buffer_size], lambda run, upstream, n: _pipeline.shuffled(upstream(), int(n), run.random(key, seeds, again)))

    def prefetch(self, buffer_size=None, name=None) -> Dataset:
        """The same elements."""
        return self._derived(None, [], lambda run, upstream: upstream())

    def cache(self, filename: str = "", name=None) -> Dataset:
        """The same elements, kept in memory by an iterator once all of them came. A file is not written."""
        key = object()
        return self._derived(None, [], lambda run, upstream: _pipeline.cached(upstream, run.state, key))

    def with_options(self, options: Options, name=None) -> Dataset:
        """The same elements, with hints that :meth:`options` gives."""
        made = self.prefetch()
        made._options = self.options().merge(options)
        return made

    def options(self) -> Options:
        """The hints that this dataset, and those that it is made of, were given."""
        if self._options is not None:
            return self._options
        found = Options()
        for dataset in self._inputs:
            found = found.merge(dataset.options())
        return found

    def map(self, map_func, num_parallel_calls=None, deterministic=None, synchronous=None, use_unbounded_threadpool=None, name=None) -> Dataset:
        """What a function makes of each element. It is called once, with tensors of a graph of its own: one for each part of a tuple."""
        function = self._traced(map_func)
        return self._derived(function.structure, [], lambda run, upstream: (function(e) for e in upstream()))

    map_with_legacy_function = map

    def filter(self, predicate, name=None) -> Dataset:
        """The elements for which a function, called as for :meth:`map`, gives a true scalar.

        Raises:
            ValueError: where it gives something else.
        """
        function = self._traced(predicate)
        found = function.structure.components if function.structure else []
        if len(found) != 1 or found[0].dtype.name != "bool" or found[0].shape.rank not in (None, 0):
            raise ValueError("Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor.")
        return self._derived(None, [], lambda run, upstream: (e for e in upstream() if function(e)[0]))

    filter_with_legacy_function = filter

    def flat_map(self, map_func, name=None) -> Dataset:
        """The elements of the datasets that a function, called as for :meth:`map`, makes of each element, one dataset after another.

        Raises:
            TypeError: where it gives no dataset.
        """
        return self.interleave(map_func, 1, 1)

    def interleave(self, map_func, cycle_length=None, block_length=1, num_parallel_calls=None, deterministic=None, name=None) -> Dataset:
        """As :meth:`flat_map`; `block_length` elements at a time of `cycle_length` datasets by turns.

        Raises:
            TypeError: where the function gives no dataset.
        """
        function = self._traced(map_func)
        inner = function.result
        if not isinstance(inner, Dataset):
            raise TypeError(f"`map_func` must return a `Dataset` object, got {type(inner).__name__}.")
        keys = [id(t) for t in inner._tensors()]

        def begin(run, element):
            return inner._elements(Run(dict(zip(keys, function(element))), run.state))

        cycle = 16 if cycle_length in (None, -1) else cycle_length
        return self._derived(inner._structure, [cycle, block_length], lambda run, upstream, c, b: _pipeline.interleaved(
            upstream(), lambda e: begin(run, e), int(c), int(b)))

    def _traced(self, function) -> Function:
        return Function(function, self._structure, get_default_graph().seed)

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None) -> Dataset:
        """`batch_size` elements at a time along a new first dimension; the last ones are fewer, or left out where `drop_remainder` is true."""
        size = batch_size if isinstance(batch_size, int) and drop_remainder is True else None
        structure = self._structure.with_components(lambda c: Component(c.dtype, TensorShape([size]).concatenate(c.shape), c.is_sparse))
        return self._derived(structure, [batch_size, drop_remainder],
                             lambda run, upstream, n, drop: _pipeline.batched(upstream(), int(n), bool(drop), structure.are_sparse))

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None) -> Dataset:
        """As :meth:`batch`; elements are filled up to the shapes `padded_shapes`, or to that of the largest where sizes are None or -1, with
        `padding_values` (0 and empty strings).

        Raises:
            ValueError: where nothing is known of an element's rank.
            TypeError: for sparse tensors.
        """
        if any(self._structure.are_sparse):
            raise TypeError("`padded_batch` is only supported for datasets that produce tensor elements but type spec of elements in the input dataset is "
                            f"not a subclass of TensorSpec: `{self.element_spec}`.")
        components = self._structure.components
        shapes = [c.shape for c in components] if padded_shapes is None else [_padded(s) for s in _shape_leaves(self._structure, padded_shapes)]
        for shape, component in zip(shapes, components):
            if shape.rank is None:
                raise ValueError(f"You must provide `padded_shapes` argument because component {component} has unknown rank.")
        values = _fillers(self._structure, padding_values)
        size = batch_size if isinstance(batch_size, int) and drop_remainder is True else None
        found = iter(shapes)
        structure = self._structure.with_components(lambda c: Component(c.dtype, TensorShape([size]).concatenate(next(found))))
        sizes = [s.as_list() for s in shapes]
        return self._derived(structure, [batch_size, drop_remainder], lambda run, upstream, n, drop: _pipeline.padded(
            upstream(), int(n), bool(drop), sizes, values))

    def unbatch(self, name=None) -> Dataset:
        """The rows of each element as elements."""
        structure = self._structure.with_components(
            lambda c: Component(c.dtype, TensorShape(None if c.shape.rank is None else c.shape.as_list()[1:]), c.is_sparse))
        return self._derived(structure, [], lambda run, upstream: (row for e in upstream() for row in _pipeline.slices(e, structure.are_sparse)))

    def apply(self, transformation_func) -> Dataset:
        """What a function makes of this dataset.

        Raises:
            TypeError: where that is no dataset.
        """
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset, got {made}.")
        return made

    # What it is

    def as_numpy_iterator(self) -> NumpyIterator:
        """The elements as arrays, without a session. TensorFlow has it where it runs eagerly.

        Raises:
            ValueError: for a dataset that depends on tensors that are no constants.
            TypeError: where elements are sparse.
        """
        from flowmill.data._iterator import NumpyIterator

        return NumpyIterator(self)

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that goes through the elements once. See :func:`flowmill.data.make_one_shot_iterator`."""
        from flowmill.data._iterator import make_one_shot_iterator

        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name=None) -> Iterator:
        """An iterator that begins when its initializer runs. See :func:`flowmill.data.make_initializable_iterator`."""
        from flowmill.data._iterator import make_initializable_iterator

        return make_initializable_iterator(self, shared_name)

    def __repr__(self):
        return f"<Dataset element_spec={self.element_spec}>"


def get_output_types(dataset_or_iterator) -> Any:
    """The types of the elements of a dataset or an iterator, in their form."""
    return dataset_or_iterator._structure.map(lambda c: c.dtype)


def get_output_shapes(dataset_or_iterator) -> Any:
    """What is known of the shapes of the elements of a dataset or an iterator, in their form."""
    return dataset_or_iterator._structure.map(lambda c: c.shape)


def get_output_classes(dataset_or_iterator) -> Any:
    """What the elements of a dataset or an iterator are, in their form."""
    from flowmill.sparse_tensor import SparseTensor

    return dataset_or_iterator._structure.map(lambda c: SparseTensor if c.is_sparse else Tensor)


def _common(a: TensorShape, b: TensorShape) -> TensorShape:
    """What two shapes have in common."""
    if a.rank is None or a.rank != b.rank:
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list())])


def _with_shapes(types, shapes):
    """Types and shapes of the same form as components."""
    structure = Structure(types)
    found = [TensorShape(None)] * len(structure.components) if shapes is None else [TensorShape(s) for s in _shape_leaves(structure, shapes)]
    return rebuild(types, [Component(as_dtype(t), s) for t, s in zip(_leaves(types), found)])


def _shape_leaves(structure: Structure, shapes) -> list:
    """The shapes in a structure of such, where tuples may be either."""
    def walk(template, part):
        if isinstance(template, dict):
            return [leaf for key in sorted(template) for leaf in walk(template[key], part[key])]
        if isinstance(template, tuple):
            if len(template) != len(part):
                raise ValueError(f"The two structures don't have the same sequence length: {template} and {part}.")
            return [leaf for t, p in zip(template, part) for leaf in walk(t, p)]
        return [part]

    return walk(structure.template, shapes)


def _padded(shape) -> TensorShape:
    if isinstance(shape, (TensorShape, type(None))):
        return TensorShape(shape)
    return TensorShape([None if d is None or int(getattr(d, "value", d) or 0) < 0 else d for d in shape])


def _fillers(structure: Structure, given) -> list[Any]:
    if given is None:
        return [b"" if c.dtype.name == "string" else 0 for c in structure.components]
    single = not isinstance(given, (tuple, dict))
    values = [given] * len(structure.components) if single else _shape_leaves(structure, given)
    return [v.encode() if isinstance(v, str) else v for v in values]


def _named_files(filenames) -> Dataset:
    if isinstance(filenames, Dataset):
        return filenames
    if isinstance(filenames, (str, bytes, os.PathLike)):
        filenames = [os.fspath(filenames)]
    if isinstance(filenames, Tensor) and filenames.shape.rank == 0:
        return Dataset.from_tensors(filenames)
    return Dataset.from_tensor_slices(list(filenames) if not isinstance(filenames, Tensor) else filenames)


def _path(value) -> bytes:
    """A scalar string as bytes: functions give such, slices arrays."""
    return value if isinstance(value, bytes) else value.item()


class _Files(Dataset):
    """The strings in some files, one file after another."""

    def __init__(self, filenames, read: Callable):
        names = _named_files(filenames)
        structure = Structure(Component(as_dtype("string"), TensorShape([])))
        made = names._derived(structure, [], lambda run, upstream: ([np.array(s, object)] for e in upstream() for s in read(_path(e[0]))))
        super().__init__(made._structure, made._inputs, made._arguments, made._make)


class TFRecordDataset(_Files):
    """The records of TFRecord files.

    Args:
        filenames: their names, or a dataset of such.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``.
        buffer_size, num_parallel_reads: not used.
    """

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None) -> None:
        from flowmill.io._records import tf_record_iterator

        super().__init__(filenames, lambda path: tf_record_iterator(path, compression_type))


class TextLineDataset(_Files):
    """The lines of text files, without their ends. Arguments are as for :class:`TFRecordDataset`."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None) -> None:
        super().__init__(filenames, lambda path: _pipeline.lines(path, compression_type))


class FixedLengthRecordDataset(_Files):
    """The records of files of which all have the same length.

    Args:
        filenames: the files.
        record_bytes: the length of a record.
        header_bytes: what to skip at the beginning of a file.
        footer_bytes: what to skip at its end.
        buffer_size, num_parallel_reads: not used.
        compression_type: as for :class:`TFRecordDataset`.
    """

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None, compression_type=None,
                 num_parallel_reads=None, name=None) -> None:
        super().__init__(filenames, lambda path: _pipeline.fixed(path, compression_type, record_bytes, header_bytes or 0, footer_bytes or 0))
