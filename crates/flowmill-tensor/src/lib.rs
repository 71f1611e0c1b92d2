//! Tensors: element types, shapes, buffers, strings, handles, and the error type.
//!
//! A [`Tensor`] is two machine words. A scalar of up to eight bytes lies in them; everything else is a
//! reference-counted block. Nothing here knows graphs or kernels.
#![deny(missing_docs, unreachable_pub, unnameable_types)]

#[cfg(target_endian = "big")]
compile_error!("flowmill-tensor keeps inline scalars in little-endian words; big-endian targets are not supported");

mod alloc;
mod allocator;
mod convert;
mod dtype;
mod element;
mod error;
mod handle;
mod heap;
mod partial_shape;
mod proto;
mod shape;
mod symbol;
pub mod sync;
mod tensor;
mod variant;

pub use alloc::{check_memory, live_bytes, memory_limit, release_unused_memory, set_memory_limit};
pub use allocator::{Allocator, MemoryStats, Reservation};
pub use dtype::DType;
pub use element::Element;
pub use error::{Code, Error, Result};
pub use handle::{Resource, ResourceHandle};
pub use heap::DeviceMemory;
pub use partial_shape::PartialShape;
pub use shape::Shape;
pub use symbol::Symbol;
pub use tensor::Tensor;
pub use variant::{EncodedVariant, TensorArithmetic, Variant, VariantValue};

pub use bytes::Bytes;
pub use half::{bf16, f16};
pub use num_complex::Complex;
pub use smallvec::SmallVec;
