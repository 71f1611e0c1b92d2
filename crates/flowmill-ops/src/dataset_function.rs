//! Datasets whose elements functions of the graph compute or choose.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("ExperimentalGroupByReducerDataset", "(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments,
            init_func_other_arguments: Tinit_func_other_arguments,
            reduce_func_other_arguments: Treduce_func_other_arguments,
            finalize_func_other_arguments: Tfinalize_func_other_arguments) -> (handle: variant)")
        .not_differentiable()
        .attrs("key_func: func; init_func: func; reduce_func: func; finalize_func: func; Tkey_func_other_arguments: list(type) >= 0;
                Tinit_func_other_arguments: list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0;
                Tfinalize_func_other_arguments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("ExperimentalGroupByWindowDataset", "(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments,
            reduce_func_other_arguments: Treduce_func_other_arguments,
            window_size_func_other_arguments: Twindow_size_func_other_arguments) -> (handle: variant)")
        .not_differentiable()
        .attrs("key_func: func; reduce_func: func; window_size_func: func; Tkey_func_other_arguments: list(type) >= 0;
                Treduce_func_other_arguments: list(type) >= 0; Twindow_size_func_other_arguments: list(type) >= 0;
                output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("ExperimentalMapAndBatchDataset", "(input_dataset: variant, other_arguments: Targuments, batch_size: int64, num_parallel_calls: int64,
            drop_remainder: bool) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                preserve_cardinality: bool = false")
        .shape(shape::dataset_of::<0b11100>),
    op("ExperimentalMapDataset", "(input_dataset: variant, other_arguments: Targuments) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false; force_synchronous: bool = false")
        .shape(shape::scalars),
    op("ExperimentalParallelInterleaveDataset", "(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64, sloppy: bool,
            buffer_output_elements: int64, prefetch_input_elements: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("ExperimentalScanDataset", "(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; preserve_cardinality: bool = false")
        .shape(shape::scalars),
    op("ExperimentalTakeWhileDataset", "(input_dataset: variant, other_arguments: Targuments) -> (handle: variant)")
        .not_differentiable()
        .attrs("predicate: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::scalars),
    op("FilterDataset", "(input_dataset: variant, other_arguments: Targuments) -> (handle: variant)")
        .not_differentiable()
        .attrs("predicate: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                metadata: string = ''")
        .shape(shape::scalars),
    op("FlatMapDataset", "(input_dataset: variant, other_arguments: Targuments) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("GeneratorDataset", "(init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args,
            finalize_func_other_args: Tfinalize_func_args) -> (handle: variant)")
        .not_differentiable()
        .attrs("init_func: func; next_func: func; finalize_func: func; Tinit_func_args: list(type) >= 0; Tnext_func_args: list(type) >= 0;
                Tfinalize_func_args: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("GroupByReducerDataset", "(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments,
            init_func_other_arguments: Tinit_func_other_arguments,
            reduce_func_other_arguments: Treduce_func_other_arguments,
            finalize_func_other_arguments: Tfinalize_func_other_arguments) -> (handle: variant)")
        .not_differentiable()
        .attrs("key_func: func; init_func: func; reduce_func: func; finalize_func: func; Tkey_func_other_arguments: list(type) >= 0;
                Tinit_func_other_arguments: list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0;
                Tfinalize_func_other_arguments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .stateful()
        .shape(shape::scalars),
    op("GroupByWindowDataset", "(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments,
            reduce_func_other_arguments: Treduce_func_other_arguments,
            window_size_func_other_arguments: Twindow_size_func_other_arguments) -> (handle: variant)")
        .not_differentiable()
        .attrs("key_func: func; reduce_func: func; window_size_func: func; Tkey_func_other_arguments: list(type) >= 0;
                Treduce_func_other_arguments: list(type) >= 0; Twindow_size_func_other_arguments: list(type) >= 0;
                output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("InterleaveDataset", "(input_dataset: variant, other_arguments: Targuments, cycle_length: int64,
            block_length: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("LegacyParallelInterleaveDatasetV2", "(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64,
            buffer_output_elements: int64, prefetch_input_elements: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; deterministic: string = 'default'; Targuments: list(type) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("MapAndBatchDataset", "(input_dataset: variant, other_arguments: Targuments, batch_size: int64, num_parallel_calls: int64,
            drop_remainder: bool) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                preserve_cardinality: bool = false; metadata: string = ''")
        .shape(shape::dataset_of::<0b11100>),
    op("MapDataset", "(input_dataset: variant, other_arguments: Targuments) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false; force_synchronous: bool = false;
                metadata: string = ''")
        .shape(shape::scalars),
    op("ParallelFilterDataset", "(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("predicate: func; deterministic: string = 'default'; Targuments: list(type) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("ParallelInterleaveDataset", "(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64, sloppy: bool,
            buffer_output_elements: int64, prefetch_input_elements: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("ParallelInterleaveDatasetV2", "(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64,
            num_parallel_calls: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; sloppy: bool = false;
                metadata: string = ''")
        .shape(shape::scalars),
    op("ParallelInterleaveDatasetV3", "(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64,
            num_parallel_calls: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; deterministic: string = 'default'; Targuments: list(type) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("ParallelInterleaveDatasetV4", "(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64,
            buffer_output_elements: int64, prefetch_input_elements: int64, num_parallel_calls: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; deterministic: string = 'default'; Targuments: list(type) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; metadata: string = ''")
        .shape(shape::scalars),
    op("ParallelMapDataset", "(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int32) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                use_inter_op_parallelism: bool = true; sloppy: bool = false; preserve_cardinality: bool = false; metadata: string = ''")
        .shape(shape::scalars),
    op("ParallelMapDatasetV2", "(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int64) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                use_inter_op_parallelism: bool = true; deterministic: string = 'default'; preserve_cardinality: bool = false;
                use_unbounded_threadpool: bool = false; metadata: string = ''")
        .shape(shape::scalars),
    op("ScanDataset", "(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments) -> (handle: variant)")
        .not_differentiable()
        .attrs("f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; output_types: list(type) >= 1;
                output_shapes: list(shape) >= 1; preserve_cardinality: bool = false; use_default_device: bool = true; metadata: string = ''")
        .shape(shape::scalars),
    op("TakeWhileDataset", "(input_dataset: variant, other_arguments: Targuments) -> (handle: variant)")
        .not_differentiable()
        .attrs("predicate: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1;
                metadata: string = ''")
        .shape(shape::scalars),
];
