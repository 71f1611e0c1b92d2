//! Iterators, what datasets share (caches, seeds), and ops that turn a dataset into tensors.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("AnonymousIterator", "() -> (handle: resource)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("AnonymousIteratorV2", "() -> (handle: resource, deleter: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("AnonymousIteratorV3", "() -> (handle: resource)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("AnonymousMemoryCache", "() -> (handle: resource, deleter: variant)").not_differentiable().stateful().shape(shape::scalars),
    op("AnonymousMultiDeviceIterator", "() -> (handle: resource, deleter: variant)")
        .not_differentiable()
        .attrs("devices: list(string) >= 1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("AnonymousMultiDeviceIteratorV3", "() -> (handle: resource)")
        .not_differentiable()
        .attrs("devices: list(string) >= 1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("AnonymousRandomSeedGenerator", "(seed: int64, seed2: int64) -> (handle: resource, deleter: variant)")
        .not_differentiable()
        .stateful()
        .shape(shape::scalars),
    op("AnonymousSeedGenerator", "(seed: int64, seed2: int64, reshuffle: bool) -> (handle: resource, deleter: variant)")
        .not_differentiable()
        .stateful()
        .shape(shape::scalars),
    op("DatasetCardinality", "(input_dataset: variant) -> (cardinality: int64)")
        .not_differentiable()
        .attrs("cardinality_options: string = ''")
        .shape(shape::scalars),
    op("DatasetToGraph", "(input_dataset: variant) -> (graph: string)")
        .not_differentiable()
        .attrs("stateful_whitelist: list(string) >= 0 = []; allow_stateful: bool = false; strip_device_assignment: bool = false")
        .shape(shape::scalars),
    op("DatasetToGraphV2", "(input_dataset: variant) -> (graph: string)")
        .not_differentiable()
        .attrs("external_state_policy: int = 0; strip_device_assignment: bool = false")
        .shape(shape::scalars),
    op("DatasetToSingleElement", "(dataset: variant) -> (components: output_types)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .stateful()
        .shape(shape::elements_of::<0b1>),
    op("DeleteIterator", "(handle: resource, deleter: variant)").not_differentiable().stateful().shape(shape::unknown),
    op("DeleteMemoryCache", "(handle: resource, deleter: variant)").not_differentiable().stateful().shape(shape::unknown),
    op("DeleteMultiDeviceIterator", "(multi_device_iterator: resource, iterators: N * resource, deleter: variant)")
        .not_differentiable()
        .attrs("N: int >= 0")
        .stateful()
        .shape(shape::unknown),
    op("DeleteRandomSeedGenerator", "(handle: resource, deleter: variant)").not_differentiable().stateful().shape(shape::unknown),
    op("DeleteSeedGenerator", "(handle: resource, deleter: variant)").not_differentiable().stateful().shape(shape::unknown),
    op("DeserializeIterator", "(resource_handle: resource, serialized: variant)").not_differentiable().stateful().shape(shape::unknown),
    op("DummyMemoryCache", "() -> (handle: resource)").not_differentiable().stateful().shape(shape::scalars),
    op("DummySeedGenerator", "() -> (handle: resource)").not_differentiable().stateful().shape(shape::scalars),
    op("ExperimentalDatasetCardinality", "(input_dataset: variant) -> (cardinality: int64)").not_differentiable().shape(shape::scalars),
    op("ExperimentalIteratorGetDevice", "(resource: resource) -> (device: string)").not_differentiable().stateful().shape(shape::scalars),
    op("ExperimentalStatsAggregatorHandle", "() -> (handle: resource)")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("ExperimentalStatsAggregatorSummary", "(iterator: resource) -> (summary: string)")
        .not_differentiable()
        .stateful()
        .shape(shape::scalars),
    op("ExperimentalThreadPoolHandle", "() -> (handle: resource)")
        .not_differentiable()
        .attrs(
            "num_threads: int; max_intra_op_parallelism: int = 1; display_name: string; container: string = ''; shared_name: string = ''",
        )
        .stateful()
        .shape(shape::scalars),
    op("InitializeTableFromDataset", "(table_handle: resource, dataset: variant)")
        .not_differentiable()
        .stateful()
        .shape(shape::dataset_of::<0b11>),
    op("Iterator", "() -> (handle: resource)")
        .not_differentiable()
        .attrs("shared_name: string; container: string; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("IteratorFromStringHandle", "(string_handle: string) -> (resource_handle: resource)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []")
        .stateful()
        .shape(shape::scalars),
    op("IteratorFromStringHandleV2", "(string_handle: string) -> (resource_handle: resource)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []")
        .stateful()
        .shape(shape::scalars),
    op("IteratorGetDevice", "(resource: resource) -> (device: string)").not_differentiable().stateful().shape(shape::scalars),
    op("IteratorGetNext", "(iterator: resource) -> (components: output_types)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::elements_of::<0b1>),
    op("IteratorGetNextAsOptional", "(iterator: resource) -> (optional: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("IteratorGetNextSync", "(iterator: resource) -> (components: output_types)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::elements_of::<0b1>),
    op("IteratorToStringHandle", "(resource_handle: resource) -> (string_handle: string)")
        .not_differentiable()
        .stateful()
        .shape(shape::scalars),
    op("IteratorV2", "() -> (handle: resource)")
        .not_differentiable()
        .attrs("shared_name: string; container: string; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("MakeIterator", "(dataset: variant, iterator: resource)").not_differentiable().stateful().shape(shape::unknown),
    op("MultiDeviceIterator", "() -> (handle: resource)")
        .not_differentiable()
        .attrs(
            "devices: list(string) >= 1; shared_name: string; container: string; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1",
        )
        .stateful()
        .shape(shape::scalars),
    op("MultiDeviceIteratorFromStringHandle", "(string_handle: string) -> (multi_device_iterator: resource)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []")
        .stateful()
        .shape(shape::scalars),
    op(
        "MultiDeviceIteratorGetNextFromShard",
        "(multi_device_iterator: resource, shard_num: int32, incarnation_id: int64) -> (components: output_types)",
    )
    .not_differentiable()
    .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
    .stateful()
    .shape(shape::elements_of::<0b1>),
    op("MultiDeviceIteratorInit", "(dataset: variant, multi_device_iterator: resource, max_buffer_size: int64) -> (incarnation_id: int64)")
        .not_differentiable()
        .stateful()
        .shape(shape::scalars),
    op("MultiDeviceIteratorToStringHandle", "(multi_device_iterator: resource) -> (string_handle: string)")
        .not_differentiable()
        .stateful()
        .shape(shape::scalars),
    op("OneShotIterator", "() -> (handle: resource)")
        .not_differentiable()
        .attrs(
            "dataset_factory: func; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; container: string = '';
                shared_name: string = ''",
        )
        .stateful()
        .shape(shape::scalars),
    op("ReduceDataset", "(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments) -> (components: output_types)")
        .not_differentiable()
        .attrs(
            "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; use_inter_op_parallelism: bool = true; metadata: string = ''",
        )
        .stateful()
        .shape(shape::elements_of::<0b1>),
    op("SerializeIterator", "(resource_handle: resource) -> (serialized: variant)")
        .not_differentiable()
        .attrs("external_state_policy: int = 0")
        .stateful()
        .shape(shape::vectors),
    op("StatsAggregatorHandle", "() -> (handle: resource)")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("StatsAggregatorHandleV2", "() -> (handle: resource)")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("StatsAggregatorSummary", "(iterator: resource) -> (summary: string)").not_differentiable().stateful().shape(shape::scalars),
    op("ThreadPoolHandle", "() -> (handle: resource)")
        .not_differentiable()
        .attrs(
            "num_threads: int; max_intra_op_parallelism: int = 1; display_name: string; container: string = ''; shared_name: string = ''",
        )
        .stateful()
        .shape(shape::scalars),
    op("UnwrapDatasetVariant", "(input_handle: variant) -> (output_handle: variant)").not_differentiable().shape(shape::scalars),
    op("WrapDatasetVariant", "(input_handle: variant) -> (output_handle: variant)").not_differentiable().shape(shape::scalars),
];
