//! Datasets that are made of tensors or of other datasets: sources, batches, orders, choices.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("AssertCardinalityDataset", "(input_dataset: variant, cardinality: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of::<0b10>),
    op("AssertNextDataset", "(input_dataset: variant, transformations: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of_ranks::<0, 0b10, 0>),
    op("AssertPrevDataset", "(input_dataset: variant, transformations: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of_ranks::<0, 0b10, 0>),
    op("AutoShardDataset", "(input_dataset: variant, num_workers: int64, index: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("auto_shard_policy: int = 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; num_replicas: int = 0")
        .shape(shape::scalars),
    op("BatchDataset", "(input_dataset: variant, batch_size: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::dataset_of::<0b10>),
    op("BatchDatasetV2", "(input_dataset: variant, batch_size: int64, drop_remainder: bool) -> (handle: variant)")
        .not_differentiable()
        .attrs("parallel_copy: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::dataset_of::<0b110>),
    op("BytesProducedStatsDataset", "(input_dataset: variant, tag: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of::<0b10>),
    op("CacheDataset", "(input_dataset: variant, filename: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::dataset_of::<0b10>),
    op("CacheDatasetV2", "(input_dataset: variant, filename: string, cache: resource) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .stateful()
        .shape(shape::dataset_of::<0b110>),
    op("ConcatenateDataset", "(input_dataset: variant, another_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("DenseToSparseBatchDataset", "(input_dataset: variant, batch_size: int64, row_shape: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of_ranks::<0b10, 0b100, 0>),
    op("DirectedInterleaveDataset", "(selector_input_dataset: variant, data_input_datasets: N * variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; stop_on_empty_dataset: bool = false")
        .shape(shape::scalars),
    op("ExperimentalAssertNextDataset", "(input_dataset: variant, transformations: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of_ranks::<0, 0b10, 0>),
    op("ExperimentalAutoShardDataset", "(input_dataset: variant, num_workers: int64, index: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("auto_shard_policy: int = 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("ExperimentalBytesProducedStatsDataset", "(input_dataset: variant, tag: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of::<0b10>),
    op("ExperimentalDenseToSparseBatchDataset", "(input_dataset: variant, batch_size: int64, row_shape: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of_ranks::<0b10, 0b100, 0>),
    op("ExperimentalDirectedInterleaveDataset", "(selector_input_dataset: variant, data_input_datasets: N * variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1")
        .shape(shape::scalars),
    op("ExperimentalIgnoreErrorsDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; log_warning: bool = false")
        .shape(shape::scalars),
    op("ExperimentalLatencyStatsDataset", "(input_dataset: variant, tag: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of::<0b10>),
    op("ExperimentalMaxIntraOpParallelismDataset", "(input_dataset: variant, max_intra_op_parallelism: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("ExperimentalNonSerializableDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op(
        "ExperimentalParseExampleDataset",
        "(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs(
        "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= 0;
                Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; sloppy: bool = false",
    )
    .shape(shape::scalars),
    op("ExperimentalPrivateThreadPoolDataset", "(input_dataset: variant, num_threads: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("ExperimentalRandomDataset", "(seed: int64, seed2: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::dataset_of::<0b11>),
    op("ExperimentalRebatchDataset", "(input_dataset: variant, num_replicas: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_fallback: bool = true")
        .shape(shape::scalars),
    op(
        "ExperimentalSetStatsAggregatorDataset",
        "(input_dataset: variant, stats_aggregator: resource, tag: string, counter_prefix: string) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
    .stateful()
    .shape(shape::scalars),
    op("ExperimentalSleepDataset", "(input_dataset: variant, sleep_microseconds: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of::<0b11>),
    op(
        "ExperimentalSlidingWindowDataset",
        "(input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
    .shape(shape::dataset_of::<0b1110>),
    op("ExperimentalThreadPoolDataset", "(input_dataset: variant, thread_pool: resource) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("ExperimentalUnbatchDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("ExperimentalUniqueDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("FilterByLastComponentDataset", "(input_dataset: variant) -> (output: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("FinalizeDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("has_captured_ref: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("IgnoreErrorsDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; log_warning: bool = false")
        .shape(shape::scalars),
    op("LatencyStatsDataset", "(input_dataset: variant, tag: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of::<0b10>),
    op("ListDataset", "(tensors: Tinput_types) -> (handle: variant)")
        .not_differentiable()
        .attrs("Tinput_types: list(type) >= 1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("MaxIntraOpParallelismDataset", "(input_dataset: variant, max_intra_op_parallelism: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("ModelDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs(
            "algorithm: int = 0; cpu_budget: int = 0; ram_budget: int = 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1",
        )
        .shape(shape::scalars),
    op("NonSerializableDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("OptimizeDataset", "(input_dataset: variant, optimizations: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; optimization_configs: list(string) = []")
        .shape(shape::scalars),
    op(
        "OptimizeDatasetV2",
        "(input_dataset: variant, optimizations_enabled: string, optimizations_disabled: string,
            optimizations_default: string) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; optimization_configs: list(string) = []")
    .shape(shape::scalars),
    op("OptionsDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("serialized_options: string; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op(
        "PaddedBatchDataset",
        "(input_dataset: variant, batch_size: int64, padded_shapes: N * int64,
            padding_values: Toutput_types) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; metadata: string = ''")
    .shape(shape::dataset_of::<0b10>),
    op(
        "PaddedBatchDatasetV2",
        "(input_dataset: variant, batch_size: int64, padded_shapes: N * int64, padding_values: Toutput_types,
            drop_remainder: bool) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs(
        "parallel_copy: bool = false; Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1;
                metadata: string = ''",
    )
    .shape(shape::dataset_of::<0b10010>),
    op(
        "ParallelBatchDataset",
        "(input_dataset: variant, batch_size: int64, num_parallel_calls: int64,
            drop_remainder: bool) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs(
        "parallel_copy: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                deterministic: string = 'default'; metadata: string = ''",
    )
    .shape(shape::dataset_of::<0b1110>),
    op("ParseExampleDataset", "(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense) -> (handle: variant)")
        .not_differentiable()
        .attrs(
            "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= 0;
                Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; sloppy: bool = false; ragged_keys: list(string) >= 0 = [];
                ragged_value_types: list({float, int64, string}) >= 0 = []; ragged_split_types: list({int32, int64}) >= 0 = []",
        )
        .shape(shape::scalars),
    op("ParseExampleDatasetV2", "(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense) -> (handle: variant)")
        .not_differentiable()
        .attrs(
            "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= 0;
                Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; deterministic: string = 'default'; ragged_keys: list(string) >= 0 = [];
                ragged_value_types: list({float, int64, string}) >= 0 = []; ragged_split_types: list({int32, int64}) >= 0 = []",
        )
        .shape(shape::scalars),
    op("PrefetchDataset", "(input_dataset: variant, buffer_size: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs(
            "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; slack_period: int = 0; legacy_autotune: bool = true;
                buffer_size_min: int = 0; metadata: string = ''",
        )
        .shape(shape::dataset_of::<0b10>),
    op("PrivateThreadPoolDataset", "(input_dataset: variant, num_threads: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("RandomDataset", "(seed: int64, seed2: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .stateful()
        .shape(shape::dataset_of::<0b11>),
    op("RandomDatasetV2", "(seed: int64, seed2: int64, seed_generator: resource) -> (handle: variant)")
        .not_differentiable()
        .attrs(
            "rerandomize_each_iteration: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                metadata: string = ''",
        )
        .stateful()
        .shape(shape::dataset_of::<0b111>),
    op("RangeDataset", "(start: int64, stop: int64, step: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''; replicate_on_split: bool = false")
        .stateful()
        .shape(shape::dataset_of::<0b111>),
    op("RebatchDataset", "(input_dataset: variant, num_replicas: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_fallback: bool = true")
        .shape(shape::scalars),
    op("RebatchDatasetV2", "(input_dataset: variant, batch_sizes: int64, drop_remainder: bool) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("RepeatDataset", "(input_dataset: variant, count: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::dataset_of::<0b10>),
    op("RewriteDataset", "(input_dataset: variant, rewrite_name: string) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("SamplingDataset", "(input_dataset: variant, rate: float, seed: int64, seed2: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of::<0b1110>),
    op(
        "SetStatsAggregatorDataset",
        "(input_dataset: variant, stats_aggregator: resource, tag: string, counter_prefix: string) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
    .stateful()
    .shape(shape::scalars),
    op("ShardDataset", "(input_dataset: variant, num_shards: int64, index: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("require_non_empty: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::dataset_of::<0b110>),
    op(
        "ShuffleAndRepeatDataset",
        "(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; reshuffle_each_iteration: bool = true; metadata: string = ''")
    .shape(shape::dataset_of::<0b11110>),
    op(
        "ShuffleAndRepeatDatasetV2",
        "(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64,
            seed_generator: resource) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
    .stateful()
    .shape(shape::dataset_of::<0b111110>),
    op("ShuffleDataset", "(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs(
            "reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
        )
        .shape(shape::dataset_of::<0b1110>),
    op("ShuffleDatasetV2", "(input_dataset: variant, buffer_size: int64, seed_generator: resource) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .stateful()
        .shape(shape::dataset_of::<0b110>),
    op(
        "ShuffleDatasetV3",
        "(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64,
            seed_generator: resource) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
    .stateful()
    .shape(shape::dataset_of::<0b11110>),
    op("SkipDataset", "(input_dataset: variant, count: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::dataset_of::<0b10>),
    op("SleepDataset", "(input_dataset: variant, sleep_microseconds: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::dataset_of::<0b11>),
    op(
        "SlidingWindowDataset",
        "(input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64) -> (handle: variant)",
    )
    .not_differentiable()
    .attrs("drop_remainder: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
    .shape(shape::dataset_of::<0b1110>),
    op("SparseTensorSliceDataset", "(indices: int64, values: Tvalues, dense_shape: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("Tvalues: type")
        .stateful()
        .shape(shape::scalars),
    op("TakeDataset", "(input_dataset: variant, count: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::dataset_of::<0b10>),
    op("TensorDataset", "(components: Toutput_types) -> (handle: variant)")
        .not_differentiable()
        .attrs("Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("TensorSliceDataset", "(components: Toutput_types) -> (handle: variant)")
        .not_differentiable()
        .attrs(
            "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; is_files: bool = false; metadata: string = '';
                replicate_on_split: bool = false",
        )
        .stateful()
        .shape(shape::scalars),
    op("ThreadPoolDataset", "(input_dataset: variant, thread_pool: resource) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("UnbatchDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("UniqueDataset", "(input_dataset: variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("WindowDataset", "(input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::dataset_of::<0b11110>),
    op("ZipDataset", "(input_datasets: N * variant) -> (handle: variant)")
        .not_differentiable()
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; metadata: string = ''")
        .shape(shape::scalars),
];
