//! The CPU device: kernels, a family a file, with rayon inside them.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
// Constants carry the digits of their sources, and code stamped by macros for many types repeats conversions and clones that some of
// the types do not need.
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
mod batching;
mod cast;
mod clustering;
pub mod control_flow;
pub mod data_flow;
pub mod dataset;
mod elementwise;
mod files;
pub mod functional;
mod fused;
pub mod image;
mod linear_algebra;
pub mod logging;
pub mod lookup;
mod math_binary;
mod math_unary;
mod nn;
pub mod parsing_io;
mod quantized;
pub mod random;
mod reduction;
mod sdca;
pub mod send_recv;
mod sequence;
pub mod sparse;
mod special;
mod spectral;
pub mod state;
pub mod string;
pub mod summarize;
mod training;

pub use files::{file_error, read_file};

// Families name these as modules of the crate.
use flowmill_kernels::{blocks, from_fn, number};
use flowmill_numeric::{conv, dispatch, gemm, simd};
use flowmill_parallel as parallel;
use flowmill_runtime::KernelRegistry;

/// Registers every CPU kernel, a family a line.
pub fn register_all(registry: &mut KernelRegistry) {
    array::register(registry);
    audio::register(registry);
    batching::register(registry);
    cast::register(registry);
    clustering::register(registry);
    control_flow::register(registry);
    data_flow::register(registry);
    dataset::register(registry);
    functional::register(registry);
    fused::register(registry);
    image::register(registry);
    logging::register(registry);
    lookup::register(registry);
    linear_algebra::register(registry);
    math_binary::register(registry);
    math_unary::register(registry);
    nn::register(registry);
    parsing_io::register(registry);
    quantized::register(registry);
    random::register(registry);
    reduction::register(registry);
    sdca::register(registry);
    send_recv::register(registry);
    sequence::register(registry);
    sparse::register(registry);
    spectral::register(registry);
    state::register(registry);
    string::register(registry);
    training::register(registry);
}
