//! The tools that kernels of any device are written with.
//!
//! * [`from_fn`] makes a kernel of a closure.
//! * [`word`] and [`number`] define element types for element-wise and arithmetic kernels.
//! * [`mod@array`] reads index arguments and copies elements without computing with them; [`blocks`] copies runs of elements.
//! * [`axes`] resolves the axes of reductions.
//! * [`update`] and [`arithmetic`] change and add tensors of any numeric type.
//! * [`variable`] and [`tensor_array`] are objects that kernels of several crates share.
//! * [`window`] and [`volume`] resolve the windows of convolutions and pools, over images and over volumes.
//! * [`bincount`], [`dilation`], [`fake_quant`] and [`sparse_product`] check the attributes and inputs of the ops that they are named after, for every device.
//! * [`philox`] is the generator of random bits, [`farmhash`] has fingerprints of strings, [`files`] reads files.
//!
//! The crate has no kernel of its own.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
// Macros generate code for many types, with conversions that some of the types do not need.
#![allow(clippy::unnecessary_cast)]

pub mod arithmetic;
pub mod array;
pub mod attention;
pub mod axes;
pub mod bincount;
pub mod blocks;
pub mod cross_entropy;
pub mod dilation;
pub mod einsum;
pub mod fake_quant;
pub mod farmhash;
pub mod files;
pub mod from_fn;
mod half_bits;
pub mod number;
pub mod philox;
pub mod segments;
pub mod sparse_product;
pub mod storage;
pub mod tensor_array;
pub mod update;
pub mod variable;
pub mod volume;
pub mod window;
pub mod word;

use flowmill_parallel as parallel;
