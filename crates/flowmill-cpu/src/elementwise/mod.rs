//! Element-wise kernels. A function of elements becomes a kernel with a path for scalars and one per broadcast layout, reuse of an input's memory,
//! and threads for large tensors.
//!
//! [`Function`] is such a function without a kernel, for kernels that apply several functions to a block (`fused`).
//!
//! The loops are those of `flowmill_numeric::elementwise`.

mod function;
mod map;
mod zip;

pub(crate) use flowmill_kernels::word::Word;
pub(crate) use flowmill_numeric::elementwise::{
    CHUNK, Operand, PARALLEL_MIN, TRANSCENDENTAL, broadcast_positions, for_blocks, for_whole_parts,
};
pub(crate) use function::Function;
pub(crate) use map::{Unary, UnaryOp, unary_kernel};
pub(crate) use zip::{Binary, BinaryOp, Check, Operands, binary_kernel, broadcast_shape};

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
