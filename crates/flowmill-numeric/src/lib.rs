//! Numeric loops on slices: SIMD chosen at run time, matrix products, convolutions, pooling, element-wise loops and reductions; special functions.
//!
//! The crate depends neither on tensors nor on graphs. Its functions take slices and sizes, which they check with assertions, and fork on the
//! current thread pool (`flowmill_parallel`).
#![deny(missing_docs, unreachable_pub, unnameable_types)]
// Constants have as many digits as their sources, a comparison that is negated is true for a NaN, and macros generate code for many types, with
// conversions that some of the types do not need.
#![allow(clippy::approx_constant, clippy::excessive_precision, clippy::neg_cmp_op_on_partial_ord, clippy::unnecessary_cast)]

pub mod batch_norm;
pub mod conv;
pub mod elementwise;
pub mod fake_quant;
pub mod float16;
pub mod gemm;
pub mod integer;
pub mod interpolate;
pub mod lrn;
pub mod pool;
pub mod reduce;
pub mod segment;
pub mod simd;
pub mod special;
pub mod window;

use flowmill_parallel as parallel;
