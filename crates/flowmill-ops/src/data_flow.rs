//! TensorArrays, tensor lists, stacks, queues, optionals, mutexes, and session handles.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("TensorArrayV3", "(size: int32) -> (handle: resource, flow: float)")
        .not_differentiable()
        .attrs(
            "dtype: type; element_shape: shape = unknown; dynamic_size: bool = false; clear_after_read: bool = true;
                identical_element_shapes: bool = false; tensor_array_name: string = ''",
        )
        .stateful()
        .shape(shape::tensor_array),
    op("TensorArrayGradV3", "(handle: resource, flow_in: float) -> (grad_handle: resource, flow_out: float)")
        .not_differentiable()
        .attrs("source: string")
        .stateful()
        .shape(shape::tensor_array_grad),
    op(
        "TensorArrayGradWithShape",
        "(handle: resource, flow_in: float, shape_to_prepend: int32) -> (grad_handle: resource, flow_out: float)",
    )
    .not_differentiable()
    .attrs("source: string")
    .stateful()
    .shape(shape::tensor_array_grad),
    op("TensorArrayWriteV3", "(handle: resource, index: int32, value: T, flow_in: float) -> (flow_out: float)")
        .gradient(gradient::tensor_array_write)
        .attrs("T: type")
        .stateful()
        .shape(shape::tensor_array_write),
    op("TensorArrayReadV3", "(handle: resource, index: int32, flow_in: float) -> (value: dtype)")
        .gradient(gradient::tensor_array_read)
        .attrs("dtype: type")
        .stateful()
        .shape(shape::tensor_array_read),
    op("TensorArrayGatherV3", "(handle: resource, indices: int32, flow_in: float) -> (value: dtype)")
        .gradient(gradient::tensor_array_gather)
        .attrs("dtype: type; element_shape: shape = unknown")
        .stateful()
        .shape(shape::tensor_array_gather),
    op("TensorArrayScatterV3", "(handle: resource, indices: int32, value: T, flow_in: float) -> (flow_out: float)")
        .gradient(gradient::tensor_array_scatter)
        .attrs("T: type")
        .stateful()
        .shape(shape::tensor_array_scatter),
    op("TensorArrayConcatV3", "(handle: resource, flow_in: float) -> (value: dtype, lengths: int64)")
        .gradient(gradient::tensor_array_concat)
        .attrs("dtype: type; element_shape_except0: shape = unknown")
        .stateful()
        .shape(shape::tensor_array_concat),
    op("TensorArrayConcatV2", "(handle: string, flow_in: float) -> (value: dtype, lengths: int64)")
        .handles_object()
        .attrs("dtype: type; element_shape_except0: shape = unknown")
        .shape(shape::tensor_array_concat),
    op("TensorArraySplitV3", "(handle: resource, value: T, lengths: int64, flow_in: float) -> (flow_out: float)")
        .gradient(gradient::tensor_array_split)
        .attrs("T: type")
        .stateful()
        .shape(shape::tensor_array_split),
    op("TensorArraySizeV3", "(handle: resource, flow_in: float) -> (size: int32)")
        .not_differentiable()
        .stateful()
        .shape(shape::tensor_array_size),
    op("TensorArrayCloseV3", "(handle: resource)").not_differentiable().stateful().shape(shape::unknown),
    op("TensorListReserve", "(element_shape: shape_type, num_elements: int32) -> (handle: variant)")
        .attrs("element_dtype: type; shape_type: index")
        .shape(shape::tensor_list_new),
    op("EmptyTensorList", "(element_shape: shape_type, max_num_elements: int32) -> (handle: variant)")
        .attrs("element_dtype: type; shape_type: index")
        .shape(shape::tensor_list_new),
    op("TensorListPushBack", "(input_handle: variant, tensor: element_dtype) -> (output_handle: variant)")
        .gradient(gradient::tensor_list_push_back)
        .attrs("element_dtype: type")
        .shape(shape::tensor_list_push),
    op("TensorListPopBack", "(input_handle: variant, element_shape: int32) -> (output_handle: variant, tensor: element_dtype)")
        .gradient(gradient::tensor_list_pop_back)
        .attrs("element_dtype: type")
        .shape(shape::tensor_list_pop),
    op("TensorListLength", "(input_handle: variant) -> (length: int32)").not_differentiable().shape(shape::scalars),
    op("TensorListGetItem", "(input_handle: variant, index: int32, element_shape: Tshape) -> (item: element_dtype)")
        .gradient(gradient::tensor_list_get_item)
        .attrs("element_dtype: type; Tshape: index = int32")
        .shape(shape::tensor_list_get),
    op("TensorListSetItem", "(input_handle: variant, index: int32, item: element_dtype) -> (output_handle: variant)")
        .gradient(gradient::tensor_list_set_item)
        .attrs("element_dtype: type; resize_if_index_out_of_bounds: bool = false")
        .shape(shape::tensor_list_set),
    op("TensorListStack", "(input_handle: variant, element_shape: int32) -> (tensor: element_dtype)")
        .gradient(gradient::tensor_list_stack)
        .attrs("element_dtype: type; num_elements: int = -1")
        .shape(shape::tensor_list_stack),
    op("TensorListFromTensor", "(tensor: element_dtype, element_shape: shape_type) -> (output_handle: variant)")
        .gradient(gradient::tensor_list_from_tensor)
        .attrs("element_dtype: type; shape_type: index")
        .shape(shape::tensor_list_from_tensor),
    op("TensorListGather", "(input_handle: variant, indices: int32, element_shape: int32) -> (values: element_dtype)")
        .gradient(gradient::tensor_list_gather)
        .attrs("element_dtype: type")
        .shape(shape::tensor_list_gather),
    op("TensorListScatter", "(tensor: element_dtype, indices: int32, element_shape: shape_type) -> (output_handle: variant)")
        .gradient(gradient::tensor_list_scatter)
        .attrs("element_dtype: type; shape_type: index")
        .shape(shape::tensor_list_scatter),
    op(
        "TensorListScatterV2",
        "(tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32) -> (output_handle: variant)",
    )
    .gradient(gradient::tensor_list_scatter)
    .attrs("element_dtype: type; shape_type: index")
    .shape(shape::tensor_list_scatter),
    op("TensorListScatterIntoExistingList", "(input_handle: variant, tensor: element_dtype, indices: int32) -> (output_handle: variant)")
        .gradient(gradient::tensor_list_scatter_into_existing)
        .attrs("element_dtype: type")
        .shape(shape::tensor_list_scatter_into),
    op("TensorListConcat", "(input_handle: variant) -> (tensor: element_dtype, lengths: int64)")
        .gradient(gradient::tensor_list_concat)
        .attrs("element_dtype: type; element_shape: shape = unknown")
        .shape(shape::tensor_list_concat),
    op(
        "TensorListConcatV2",
        "(input_handle: variant, element_shape: shape_type, leading_dims: int64) -> (tensor: element_dtype, lengths: int64)",
    )
    .gradient(gradient::tensor_list_concat)
    .attrs("element_dtype: type; shape_type: index")
    .shape(shape::tensor_list_concat),
    op("TensorListSplit", "(tensor: element_dtype, element_shape: shape_type, lengths: int64) -> (output_handle: variant)")
        .gradient(gradient::tensor_list_split)
        .attrs("element_dtype: type; shape_type: index")
        .shape(shape::tensor_list_split),
    op("TensorListElementShape", "(input_handle: variant) -> (element_shape: shape_type)")
        .not_differentiable()
        .attrs("shape_type: index")
        .shape(shape::tensor_list_element_shape),
    op("TensorListResize", "(input_handle: variant, size: int32) -> (output_handle: variant)")
        .gradient(gradient::tensor_list_resize)
        .shape(shape::tensor_list_resize),
    op("StackV2", "(max_size: int32) -> (handle: resource)")
        .attrs("elem_type: type; stack_name: string = ''")
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("StackPushV2", "(handle: resource, elem: T) -> (output: T)")
        .attrs("T: type; swap_memory: bool = false")
        .stateful()
        .shape(shape::stack_push),
    op("StackPopV2", "(handle: resource) -> (elem: elem_type)").attrs("elem_type: type").stateful().shape(shape::unknown),
    op("StackCloseV2", "(handle: resource)").stateful().shape(shape::unknown),
    op("FIFOQueueV2", "() -> (handle: resource)")
        .attrs(
            "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; container: string = '';
                shared_name: string = ''",
        )
        .stateful()
        .shape(shape::queue),
    op("PaddingFIFOQueueV2", "() -> (handle: resource)")
        .attrs(
            "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; container: string = '';
                shared_name: string = ''",
        )
        .stateful()
        .shape(shape::queue),
    op("PriorityQueueV2", "() -> (handle: resource)")
        .attrs(
            "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; container: string = '';
                shared_name: string = ''",
        )
        .stateful()
        .shape(shape::priority_queue),
    op("RandomShuffleQueueV2", "() -> (handle: resource)")
        .attrs(
            "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; min_after_dequeue: int = 0;
                seed: int = 0; seed2: int = 0; container: string = ''; shared_name: string = ''",
        )
        .stateful()
        .shape(shape::queue),
    op("QueueEnqueueV2", "(handle: resource, components: Tcomponents)")
        .attrs("Tcomponents: list(type) >= 1; timeout_ms: int = -1")
        .stateful()
        .shape(shape::unknown),
    op("QueueEnqueueManyV2", "(handle: resource, components: Tcomponents)")
        .attrs("Tcomponents: list(type) >= 1; timeout_ms: int = -1")
        .stateful()
        .shape(shape::unknown),
    op("QueueDequeueV2", "(handle: resource) -> (components: component_types)")
        .attrs("component_types: list(type) >= 1; timeout_ms: int = -1")
        .stateful()
        .shape(shape::dequeue),
    op("QueueDequeueManyV2", "(handle: resource, n: int32) -> (components: component_types)")
        .attrs("component_types: list(type) >= 1; timeout_ms: int = -1")
        .stateful()
        .shape(shape::dequeue),
    op("QueueDequeueUpToV2", "(handle: resource, n: int32) -> (components: component_types)")
        .attrs("component_types: list(type) >= 1; timeout_ms: int = -1")
        .stateful()
        .shape(shape::dequeue),
    op("QueueCloseV2", "(handle: resource)").attrs("cancel_pending_enqueues: bool = false").stateful().shape(shape::unknown),
    op("QueueSizeV2", "(handle: resource) -> (size: int32)").stateful().shape(shape::scalars),
    op("QueueIsClosedV2", "(handle: resource) -> (is_closed: bool)").stateful().shape(shape::scalars),
    op("GetSessionHandle", "(value: T) -> (handle: string)").not_differentiable().attrs("T: type").stateful().shape(shape::scalars),
    op("GetSessionHandleV2", "(value: T) -> (handle: resource)").not_differentiable().attrs("T: type").stateful().shape(shape::scalars),
    op("GetSessionTensor", "(handle: string) -> (value: dtype)").not_differentiable().attrs("dtype: type").stateful().shape(shape::unknown),
    op("DeleteSessionTensor", "(handle: string)").not_differentiable().stateful().shape(shape::unknown),
    op("OptionalNone", "() -> (optional: variant)").shape(shape::scalars),
    op("OptionalFromValue", "(components: Toutput_types) -> (optional: variant)")
        .gradient(gradient::optional_from_value)
        .attrs("Toutput_types: list(type) >= 1")
        .shape(shape::scalars),
    op("OptionalHasValue", "(optional: variant) -> (has_value: bool)").shape(shape::scalars),
    op("OptionalGetValue", "(optional: variant) -> (components: output_types)")
        .gradient(gradient::optional_get_value)
        .attrs("output_types: list(type) >= 1; output_shapes: list(shape) >= 1")
        .shape(shape::elements_of::<0>),
    op("TextLineReader", "() -> (reader_handle: Ref(string))")
        .not_differentiable()
        .attrs("skip_header_lines: int = 0; container: string = ''; shared_name: string = ''")
        .stateful()
        .deprecated(26, "Use TextLineReaderV2")
        .shape(shape::vectors_of::<2>),
    op("IdentityReader", "() -> (reader_handle: Ref(string))")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''")
        .stateful()
        .deprecated(26, "Use IdentityReaderV2")
        .shape(shape::vectors_of::<2>),
    op("WholeFileReader", "() -> (reader_handle: Ref(string))")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("FixedLengthRecordReader", "() -> (reader_handle: Ref(string))")
        .not_differentiable()
        .attrs(
            "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; container: string = ''; shared_name:
                string = ''",
        )
        .stateful()
        .deprecated(26, "Use FixedLengthRecordReaderV2")
        .shape(shape::vectors_of::<2>),
    op("TFRecordReader", "() -> (reader_handle: Ref(string))")
        .not_differentiable()
        .attrs("container: string = ''; shared_name: string = ''; compression_type: string = ''")
        .stateful()
        .deprecated(26, "Use TFRecordReaderV2")
        .shape(shape::vectors_of::<2>),
    op("TextLineReaderV2", "() -> (reader_handle: resource)")
        .attrs("skip_header_lines: int = 0; container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("IdentityReaderV2", "() -> (reader_handle: resource)")
        .attrs("container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("WholeFileReaderV2", "() -> (reader_handle: resource)")
        .attrs("container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("FixedLengthRecordReaderV2", "() -> (reader_handle: resource)")
        .attrs(
            "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; container: string = ''; shared_name:
                string = ''; encoding: string = ''",
        )
        .stateful()
        .shape(shape::scalars),
    op("TFRecordReaderV2", "() -> (reader_handle: resource)")
        .attrs("container: string = ''; shared_name: string = ''; compression_type: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("ReaderRead", "(reader_handle: Ref(string), queue_handle: Ref(string)) -> (key: string, value: string)")
        .not_differentiable()
        .shape(shape::reader_read),
    op("ReaderReadV2", "(reader_handle: resource, queue_handle: resource) -> (key: string, value: string)")
        .stateful()
        .shape(shape::reader_read),
    op("ReaderReadUpTo", "(reader_handle: Ref(string), queue_handle: Ref(string), num_records: int64) -> (keys: string, values: string)")
        .not_differentiable()
        .shape(shape::reader_read_up_to),
    op("ReaderReadUpToV2", "(reader_handle: resource, queue_handle: resource, num_records: int64) -> (keys: string, values: string)")
        .stateful()
        .shape(shape::reader_read_up_to),
    op("ReaderNumRecordsProduced", "(reader_handle: Ref(string)) -> (records_produced: int64)").not_differentiable().shape(shape::scalars),
    op("ReaderNumRecordsProducedV2", "(reader_handle: resource) -> (records_produced: int64)").stateful().shape(shape::scalars),
    op("ReaderNumWorkUnitsCompleted", "(reader_handle: Ref(string)) -> (units_completed: int64)")
        .not_differentiable()
        .shape(shape::scalars),
    op("ReaderNumWorkUnitsCompletedV2", "(reader_handle: resource) -> (units_completed: int64)").stateful().shape(shape::scalars),
    op("ReaderSerializeState", "(reader_handle: Ref(string)) -> (state: string)").not_differentiable().shape(shape::scalars),
    op("ReaderSerializeStateV2", "(reader_handle: resource) -> (state: string)").stateful().shape(shape::scalars),
    op("ReaderRestoreState", "(reader_handle: Ref(string), state: string)").not_differentiable().shape(shape::reader_restore),
    op("ReaderRestoreStateV2", "(reader_handle: resource, state: string)").stateful().shape(shape::reader_restore),
    op("ReaderReset", "(reader_handle: Ref(string))").not_differentiable().shape(shape::unknown),
    op("ReaderResetV2", "(reader_handle: resource)").stateful().shape(shape::unknown),
    op("ConditionalAccumulator", "() -> (handle: Ref(string))")
        .attrs("dtype: number; shape: shape; container: string = ''; shared_name: string = ''; reduction_type: {'MEAN', 'SUM'} = 'MEAN'")
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("ResourceConditionalAccumulator", "() -> (handle: resource)")
        .attrs("dtype: number; shape: shape; container: string = ''; shared_name: string = ''; reduction_type: {'MEAN', 'SUM'} = 'MEAN'")
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("SparseConditionalAccumulator", "() -> (handle: Ref(string))")
        .attrs("dtype: number; shape: shape; container: string = ''; shared_name: string = ''; reduction_type: {'MEAN', 'SUM'} = 'MEAN'")
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("AccumulatorNumAccumulated", "(handle: Ref(string)) -> (num_accumulated: int32)").shape(shape::scalars),
    op("ResourceAccumulatorNumAccumulated", "(handle: resource) -> (num_accumulated: int32)").stateful().shape(shape::scalars),
    op("AccumulatorSetGlobalStep", "(handle: Ref(string), new_global_step: int64)").shape(shape::accumulator_step),
    op("ResourceAccumulatorSetGlobalStep", "(handle: resource, new_global_step: int64)").stateful().shape(shape::accumulator_step),
    op("AccumulatorApplyGradient", "(handle: Ref(string), local_step: int64, gradient: dtype)")
        .attrs("dtype: number")
        .shape(shape::accumulator_step),
    op("ResourceAccumulatorApplyGradient", "(handle: resource, local_step: int64, gradient: dtype)")
        .attrs("dtype: number")
        .stateful()
        .shape(shape::accumulator_step),
    op(
        "SparseAccumulatorApplyGradient",
        "(handle: Ref(string), local_step: int64, gradient_indices: int64, gradient_values: dtype, gradient_shape: int64)",
    )
    .attrs("dtype: number; has_known_shape: bool")
    .shape(shape::accumulator_step),
    op("AccumulatorTakeGradient", "(handle: Ref(string), num_required: int32) -> (average: dtype)")
        .attrs("dtype: number")
        .shape(shape::unknown),
    op("ResourceAccumulatorTakeGradient", "(handle: resource, num_required: int32) -> (average: dtype)")
        .attrs("dtype: number")
        .stateful()
        .shape(shape::unknown),
    op("SparseAccumulatorTakeGradient", "(handle: Ref(string), num_required: int32) -> (indices: int64, values: dtype, shape: int64)")
        .attrs("dtype: number")
        .shape(shape::unknown),
    op("FIFOQueue", "() -> (handle: Ref(string))")
        .attrs(
            "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; container: string = ''; shared_name:
                string = ''",
        )
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("PaddingFIFOQueue", "() -> (handle: Ref(string))")
        .attrs(
            "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; container: string = ''; shared_name:
                string = ''",
        )
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("PriorityQueue", "() -> (handle: Ref(string))")
        .attrs(
            "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; container: string = ''; shared_name:
                string = ''",
        )
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("RandomShuffleQueue", "() -> (handle: Ref(string))")
        .attrs(
            "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; min_after_dequeue: int = 0; seed: int =
                0; seed2: int = 0; container: string = ''; shared_name: string = ''",
        )
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("QueueEnqueue", "(handle: Ref(string), components: Tcomponents)")
        .not_differentiable()
        .attrs("Tcomponents: list(type) >= 1; timeout_ms: int = -1")
        .shape(shape::unknown),
    op("QueueEnqueueMany", "(handle: Ref(string), components: Tcomponents)")
        .not_differentiable()
        .attrs("Tcomponents: list(type) >= 1; timeout_ms: int = -1")
        .shape(shape::unknown),
    op("QueueDequeue", "(handle: Ref(string)) -> (components: component_types)")
        .not_differentiable()
        .attrs("component_types: list(type) >= 1; timeout_ms: int = -1")
        .shape(shape::dequeue),
    op("QueueDequeueMany", "(handle: Ref(string), n: int32) -> (components: component_types)")
        .not_differentiable()
        .attrs("component_types: list(type) >= 1; timeout_ms: int = -1")
        .shape(shape::dequeue),
    op("QueueDequeueUpTo", "(handle: Ref(string), n: int32) -> (components: component_types)")
        .not_differentiable()
        .attrs("component_types: list(type) >= 1; timeout_ms: int = -1")
        .shape(shape::dequeue),
    op("QueueClose", "(handle: Ref(string))").not_differentiable().attrs("cancel_pending_enqueues: bool = false").shape(shape::unknown),
    op("QueueSize", "(handle: Ref(string)) -> (size: int32)").not_differentiable().shape(shape::scalars),
    op("QueueIsClosed", "(handle: Ref(string)) -> (is_closed: bool)").shape(shape::scalars),
    op("MutexV2", "() -> (resource: resource)").attrs("container: string = ''; shared_name: string = ''").stateful().shape(shape::scalars),
    op("MutexLock", "(mutex: resource) -> (mutex_lock: variant)").stateful().shape(shape::scalars),
    op("ConsumeMutexLock", "(mutex_lock: variant)").stateful().shape(shape::unknown),
    op("Barrier", "() -> (handle: Ref(string))")
        .attrs(
            "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; container: string = ''; shared_name:
                string = ''",
        )
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("BarrierInsertMany", "(handle: Ref(string), keys: string, values: T)")
        .attrs("T: type; component_index: int")
        .shape(shape::barrier_insert_many),
    op("BarrierTakeMany", "(handle: Ref(string), num_elements: int32) -> (indices: int64, keys: string, values: component_types)")
        .attrs("component_types: list(type) >= 1; allow_small_batch: bool = false; wait_for_incomplete: bool = false; timeout_ms: int = -1")
        .shape(shape::unknown),
    op("BarrierClose", "(handle: Ref(string))").attrs("cancel_pending_enqueues: bool = false").shape(shape::barrier_scalars),
    op("BarrierReadySize", "(handle: Ref(string)) -> (size: int32)").shape(shape::barrier_scalars),
    op("BarrierIncompleteSize", "(handle: Ref(string)) -> (size: int32)").shape(shape::barrier_scalars),
    op("TensorListPushBackBatch", "(input_handles: variant, tensor: element_dtype) -> (output_handles: variant)")
        .not_differentiable()
        .attrs("element_dtype: type")
        .shape(shape::tensor_list_push_batch),
    op("TensorListConcatLists", "(input_a: variant, input_b: variant) -> (output: variant)")
        .not_differentiable()
        .attrs("element_dtype: type")
        .shape(shape::tensor_list_concat_lists),
];
