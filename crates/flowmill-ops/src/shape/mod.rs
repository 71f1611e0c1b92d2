//! Shape functions: what is known of the outputs before anything runs. The semantics and the messages' key phrases are TensorFlow's.

mod array;
mod common;
mod control_flow;
mod data_flow;
mod dims;
mod elementwise;
mod example;
mod image;
mod index;
mod matmul;
mod nn;
mod reduce;
mod slice;
mod space;
mod sparse;
mod state;
mod string;
pub(crate) mod value;
mod window;

pub(crate) use array::*;
pub(crate) use common::*;
pub(crate) use control_flow::*;
pub(crate) use data_flow::*;
pub(crate) use elementwise::*;
pub(crate) use example::*;
pub(crate) use image::*;
pub(crate) use index::*;
pub(crate) use matmul::*;
pub(crate) use nn::*;
pub(crate) use reduce::*;
pub(crate) use slice::*;
pub(crate) use space::*;
pub(crate) use sparse::*;
pub(crate) use state::*;
pub(crate) use string::*;
pub(crate) use window::*;
