//! Several callers' inputs put together in one batch.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("BatchFunction", "(in_tensors: Tin, captured_tensors: Tcaptured) -> (out_tensors: Tout)")
        .attrs(
            "f: func; num_batch_threads: int; max_batch_size: int; batch_timeout_micros: int; max_enqueued_batches: int = 10;
                allowed_batch_sizes: list(int) = []; container: string = ''; shared_name: string = ''; batching_queue: string = '';
                low_priority_max_batch_size: int = 0; low_priority_batch_timeout_micros: int = 0;
                low_priority_allowed_batch_sizes: list(int) = []; low_priority_max_enqueued_batches: int = 0;
                mixed_priority_policy: {'low_priority_padding_with_max_batch_size', 'low_priority_padding_with_next_allowed_batch_size',
                    'priority_isolation', 'priority_merge'} = 'low_priority_padding_with_max_batch_size';
                batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP'; Tin: list(type) >= 1;
                Tcaptured: list(type) >= 0; Tout: list(type) >= 1; enable_large_batch_splitting: bool = false",
        )
        .shape(shape::unknown),
    op("Batch", "(in_tensors: T) -> (batched_tensors: T, batch_index: int64, id: int64)")
        .attrs(
            "num_batch_threads: int; max_batch_size: int; max_enqueued_batches: int = 10; batch_timeout_micros: int;
                allowed_batch_sizes: list(int) = []; grad_timeout_micros: int; container: string = ''; shared_name: string = '';
                batching_queue: string = ''; T: list(type) >= 1",
        )
        .shape(shape::batch),
    op("Unbatch", "(batched_tensor: T, batch_index: int64, id: int64) -> (unbatched_tensor: T)")
        .attrs("timeout_micros: int; container: string = ''; shared_name: string = ''; T: type")
        .shape(shape::unbatch),
    op("UnbatchGrad", "(original_input: T, batch_index: int64, grad: T, id: int64) -> (batched_grad: T)")
        .attrs("container: string = ''; shared_name: string = ''; T: type")
        .shape(shape::unbatch_grad),
];
