"""``tf.data.experimental``: transformations for :meth:`Dataset.apply`, datasets of random numbers and of tables in files, and options."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy

_BY_MODULE = {
    "_options": "AutoShardPolicy AutotuneAlgorithm AutotuneOptions DistributeOptions ExternalStatePolicy INFINITE_CARDINALITY OptimizationOptions "
                "ServiceOptions ThreadingOptions UNKNOWN_CARDINALITY",
    "_specs": "DatasetStructure=DatasetSpec Optional OptionalStructure=OptionalSpec",
    "_dataset": "from_variant get_structure to_variant",
    "_iterator": "get_next_as_optional",
    "_saveable": "make_saveable_from_iterator",
    "_grouping": "Reducer group_by_reducer",
    "_experimental": "Counter RandomDataset TFRecordWriter assert_cardinality bucket_by_sequence_length cardinality choose_from_datasets "
                     "copy_to_device dense_to_ragged_batch dense_to_sparse_batch enumerate_dataset from_list get_single_element group_by_window "
                     "ignore_errors map_and_batch map_and_batch_with_legacy_function pad_to_cardinality parallel_interleave prefetch_to_device "
                     "rejection_resample "
                     "sample_from_datasets scan shuffle_and_repeat take_while unbatch unique RaggedTensorStructure SparseTensorStructure "
                     "TensorArrayStructure TensorStructure",
    "_tables": "DatasetInitializer index_table_from_dataset table_from_dataset",
    "_examples": "make_batched_features_dataset parse_example_dataset",
    "_csv": "CsvDataset make_csv_dataset",
}

# Stands for a number that the pipeline chooses while it runs.
AUTOTUNE = -1

# Stands for the number of workers among which a dataset is divided.
SHARD_HINT = -1

__getattr__, __dir__ = _lazy.attach(__name__, _lazy.table("flowmill.data", _BY_MODULE) | {"Structure": ("flowmill._internal.type_spec", "TypeSpec")})
