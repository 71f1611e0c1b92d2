//! Element-wise kernels. A function of elements becomes a kernel with a path for scalars and one per broadcast layout, reuse of an input's memory,
//! and threads for large tensors.
//!
//! [`Function`] is such a function without a kernel, for kernels that apply several functions to a block (`fused`).
//!
//! Each element of a result is computed independently, so it does not depend on how the work is divided.

mod function;
mod map;
mod operand;
mod zip;

pub(crate) use flowmill_kernels::word::Word;
pub(crate) use function::Function;
pub(crate) use map::{Unary, UnaryOp, unary_kernel};
pub(crate) use operand::{Operand, broadcast_positions};
pub(crate) use zip::{Binary, BinaryOp, Check, Operands, binary_kernel, broadcast_shape};

use crate::parallel;

/// The number of elements of cost 1 from which element-wise work is split over threads.
pub(crate) const PARALLEL_MIN: usize = 1 << 16;
/// The number of elements of cost 1 that one task computes.
const BLOCK: usize = 1 << 14;
/// The number of elements that a loop processes at a time if an operand must be copied; buffers of this size stay in the L1 cache.
pub(crate) const CHUNK: usize = 512;
/// Like [`CHUNK`], for small tensors, for which clearing a larger buffer would cost more than the work.
const SMALL_CHUNK: usize = 64;
/// The cost of a transcendental function, in simple operations.
pub(crate) const TRANSCENDENTAL: usize = 8;

/// Calls `body(start, block)` for blocks that cover `out`, on several threads if `out.len() * cost` is large.
pub(crate) fn for_blocks<D: Send>(out: &mut [D], cost: usize, body: &(dyn Fn(usize, &mut [D]) + Sync)) {
    if out.len().saturating_mul(cost) < PARALLEL_MIN {
        body(0, out);
        return;
    }
    let block = (BLOCK / cost.max(1)).max(CHUNK);
    parallel::chunks(out, block, |i, chunk| body(i * block, chunk));
}

/// Copies `chunk` to `buffer`, which is at least as long, and returns the copy as elements of `A` if that is the same type as `D`, otherwise `None`.
pub(crate) fn copy_as<'b, A: Word, D: Word, const N: usize>(chunk: &[D], buffer: &'b mut [D; N]) -> Option<&'b [A]> {
    buffer[..chunk.len()].copy_from_slice(chunk);
    let buffer: &dyn std::any::Any = buffer;
    buffer.downcast_ref::<[A; N]>().map(|b| &b[..chunk.len()])
}

/// Returns a maker `|init|` of a unary kernel of `$op` for the type in attribute `T`: `unary!(Sqrt, [f32, f64])`.
macro_rules! unary {
    ($op:ty, [$($t:ty),* $(,)?]) => {
        |init: &flowmill_runtime::KernelInit<'_>| flowmill_tensor::for_dtype!(init.dtype("T")?, [$($t),*], T => Ok($crate::elementwise::unary_kernel::<$op, T>()), _ => init.unsupported())
    };
}
pub(crate) use unary;

/// Returns a maker `|init|` of a binary, broadcasting kernel of `$op` for the type in attribute `T`.
macro_rules! binary {
    ($op:ty, [$($t:ty),* $(,)?]) => {
        |init: &flowmill_runtime::KernelInit<'_>| flowmill_tensor::for_dtype!(init.dtype("T")?, [$($t),*], T => Ok($crate::elementwise::binary_kernel::<$op, T>()), _ => init.unsupported())
    };
}
pub(crate) use binary;
