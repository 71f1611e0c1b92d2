"""Datasets of examples: messages of files as dictionaries of features."""

from __future__ import annotations

from collections.abc import Callable

from flowmill._internal.readers import ReaderBase
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.composite_specs import RaggedTensorSpec, SparseTensorSpec
from flowmill.data import _structure
from flowmill.data._base import STRING, DatasetBase, derived, determinism
from flowmill.data._dataset import Dataset
from flowmill.data._function import DatasetFunction
from flowmill.data._options import Options
from flowmill.data._readers import TFRecordDataset, legacy_interleave
from flowmill.io._features import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, SparseFeature, VarLenFeature
from flowmill.io._parsing import _checked, _with_composite_features


def parse_example_dataset(features, num_parallel_calls=1, deterministic: bool | None = None) -> Callable[[DatasetBase], Dataset]:
    """Returns a transformation that takes batches of serialised examples apart.

    Args:
        features: as for :func:`flowmill.io.parse_example`.
        num_parallel_calls: how many batches may be parsed at once.
        deterministic: whether those keep their order.

    Raises:
        ValueError: for features that do not say enough.
        TypeError: for a dataset of what are no vectors of strings.
    """
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")

    def apply(dataset: DatasetBase) -> Dataset:
        if not _structure.are_compatible(dataset.element_spec, TensorSpec([None], STRING)):
            raise TypeError(f"Input dataset should be a dataset of vectors of strings. Instead it is `{dataset.element_spec}`.")
        made = _parsed(dataset, features, num_parallel_calls, deterministic)
        if any(isinstance(feature, (SparseFeature, RaggedFeature)) for feature in features.values()):
            made = made.map(lambda found: _with_composite_features(features, found), num_parallel_calls=num_parallel_calls)
        return made

    return apply


def _parsed(dataset: DatasetBase, features, num_parallel_calls, deterministic) -> Dataset:
    wanted = _checked(features, (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature, RaggedFeature)).with_sequences_as_dense()
    rows = dataset.output_shapes
    spec = {key: SparseTensorSpec(rows.concatenate([None]), dtype) for key, dtype in wanted.sparse.items()}
    spec.update((key, TensorSpec(rows.concatenate(shape), dtype)) for key, (dtype, shape, _) in wanted.dense.items())
    spec.update((key, RaggedTensorSpec(rows.concatenate([None]), dtype, 1, splits)) for key, (dtype, splits) in wanted.ragged.items())
    defaults = wanted.defaults()
    return derived(
        dataset, "ParseExampleDatasetV2", num_parallel_calls, defaults, element_spec=spec, is_v2=True,
        sparse_keys=list(wanted.sparse), dense_keys=list(wanted.dense), sparse_types=list(wanted.sparse.values()),
        Tdense=[described[0] for described in wanted.dense.values()], dense_shapes=[described[1] for described in wanted.dense.values()],
        deterministic=determinism(deterministic), ragged_keys=list(wanted.ragged), ragged_value_types=[r[0] for r in wanted.ragged.values()],
        ragged_split_types=[r[1] for r in wanted.ragged.values()])


def shuffled_and_repeated(dataset, num_epochs, shuffle: bool, buffer_size, seed):
    """Returns a dataset shuffled, if that is wished, and repeated; without end for None."""
    if shuffle:
        dataset = dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


def read_in_turn(files, reader: Callable, num_files: int, sloppy: bool):
    """Returns the elements of the datasets that `reader` makes of files, so many files in turn."""
    if num_files == -1:
        options = Options()
        options.deterministic = not sloppy
        return files.interleave(reader, num_parallel_calls=num_files).with_options(options)
    return files.apply(lambda dataset: legacy_interleave(dataset, reader, num_files, 1, sloppy, None, None))


def mapped(dataset: DatasetBase, function: Callable) -> Dataset:
    """Returns what a cheap function makes of each element."""
    traced = DatasetFunction(function, "Dataset.map()", dataset.element_spec)
    return derived(dataset, "MapDataset", traced.captured, element_spec=traced.output_spec, f=traced.attr, use_inter_op_parallelism=False,
                   preserve_cardinality=True, is_v2=True)


def make_batched_features_dataset(file_pattern, batch_size, features, reader=None, label_key: str | None = None, reader_args=None, num_epochs=None,
                                  shuffle: bool = True, shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=None,
                                  reader_num_threads=None, parser_num_threads=None, sloppy_ordering: bool = False,
                                  drop_final_batch: bool = False) -> Dataset:
    """Returns a dataset of batches of examples from files.

    Args:
        file_pattern: a pattern of the names of files, or several.
        batch_size: how many examples a batch has.
        features: as for :func:`flowmill.io.parse_example`.
        reader: makes a dataset of a file's name; `TFRecordDataset` for None.
        label_key: a feature that comes apart, as the second of a pair.
        reader_args: more arguments for `reader`.
        num_epochs: how often the examples come, without end for None.
        shuffle: whether to shuffle files and examples.
        shuffle_buffer_size: from how many examples one is drawn.
        shuffle_seed: the seed of the order.
        prefetch_buffer_size: how many batches to make ahead.
        reader_num_threads: how many files to read in turn.
        parser_num_threads: how many batches may be parsed at once.
        sloppy_ordering: whether examples may come in another order if that is faster.
        drop_final_batch: whether to leave out a last batch with fewer examples.

    Raises:
        TypeError: for a `reader` that is a reader of the time before datasets.
        ValueError: for a label that is no feature.
    """
    reader = TFRecordDataset if reader is None else reader
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    if isinstance(reader, type) and issubclass(reader, ReaderBase):
        raise TypeError("The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are not supported. For example, pass "
                        "`tf.data.TFRecordDataset` instead of `tf.TFRecordReader`.")
    made = read_in_turn(files, lambda filename: reader(filename, *(reader_args or [])), 1 if reader_num_threads is None else reader_num_threads,
                        sloppy_ordering)
    if made.output_types == (STRING, STRING):
        made = mapped(made, lambda _, value: value)
    made = shuffled_and_repeated(made, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    made = made.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    made = made.apply(parse_example_dataset(features, num_parallel_calls=2 if parser_num_threads is None else parser_num_threads))
    if label_key:
        if label_key not in features:
            raise ValueError(f"The `label_key` provided ({label_key}) must be one of the `features` keys: {features.keys()}.")
        made = made.map(lambda found: (found, found.pop(label_key)))
    return made.prefetch(-1 if prefetch_buffer_size is None else prefetch_buffer_size)


