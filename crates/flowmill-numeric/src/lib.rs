//! Numeric loops on slices: SIMD chosen at run time, matrix products, convolutions and pooling.
//!
//! The crate knows neither tensors nor graphs. Its functions take slices and sizes, which they assert, and fork on the current thread pool
//! (`flowmill_parallel`).
#![deny(missing_docs, unreachable_pub, unnameable_types)]
// Constants carry the digits of their sources, and code stamped by macros for many types repeats conversions that some of the types do not need.
#![allow(clippy::approx_constant, clippy::excessive_precision, clippy::unnecessary_cast)]

pub mod conv;
pub mod gemm;
pub mod pool;
pub mod simd;
pub mod window;

use flowmill_parallel as parallel;
