//! The CPU device's numeric kernels, one file per family, which fork on the current thread pool.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
// Constants have as many digits as their sources, and macros generate code for many types, with conversions and clones that some of the types do not need.
#![allow(
    clippy::approx_constant,
    clippy::clone_on_copy,
    clippy::eq_op,
    clippy::excessive_precision,
    clippy::manual_range_contains,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::unnecessary_cast,
    clippy::useless_conversion
)]

pub mod array;
mod audio;
mod cast;
mod clustering;
mod conv;
mod elementwise;
mod fused;
mod fused_ops;
pub mod image;
mod integer;
mod linear;
mod linear_algebra;
mod math_binary;
mod math_unary;
mod nn;
mod packed_weights;
mod pool;
mod quantized;
pub mod random;
mod reduction;
mod sdca;
mod sequence;
pub mod sparse;
mod spectral;
mod training;
mod window;

// The families refer to these as modules of this crate.
use flowmill_kernels::{from_fn, number};
use flowmill_numeric::{gemm, simd, special};
use flowmill_parallel as parallel;
use flowmill_runtime::KernelRegistry;

/// Registers every kernel of the crate, one line per family. Sessions need the kernels of `flowmill_host`, too.
pub fn register_all(registry: &mut KernelRegistry) {
    array::register(registry);
    audio::register(registry);
    cast::register(registry);
    clustering::register(registry);
    conv::register(registry);
    fused::register(registry);
    image::register(registry);
    integer::register(registry);
    linear_algebra::register(registry);
    math_binary::register(registry);
    math_unary::register(registry);
    nn::register(registry);
    pool::register(registry);
    quantized::register(registry);
    random::register(registry);
    reduction::register(registry);
    sdca::register(registry);
    sequence::register(registry);
    sparse::register(registry);
    spectral::register(registry);
    training::register(registry);
}
