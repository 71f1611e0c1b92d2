//! Gradients of ops, one file per family. A declaration names its function with [`Op::gradient`](crate::op::Op::gradient).
//!
//! A function gets the forward node's inputs and the gradients of its outputs, and adds nodes that compute those of the inputs. What it takes of
//! the forward node inside of a loop is the value of the iteration at hand: the builder sees to that.

mod array;
mod banded;
mod bessel;
mod complex;
mod formula;
mod image;
mod least_squares;
mod linear_algebra;
mod math;
mod matrix;
mod nn;
mod norm;
mod optional;
mod quantize;
mod ragged;
mod random;
mod reduction;
mod scatter;
mod segment;
mod sequence;
mod space;
mod sparse;
mod special;
mod spectral;
mod state;
mod tensor_array;
mod tensor_list;
mod tensor_map;

pub(crate) use array::*;
pub(crate) use banded::*;
pub(crate) use bessel::*;
pub(crate) use complex::*;
pub(crate) use image::*;
pub(crate) use least_squares::*;
pub(crate) use linear_algebra::*;
pub(crate) use math::*;
pub(crate) use matrix::*;
pub(crate) use nn::*;
pub(crate) use norm::*;
pub(crate) use optional::*;
pub(crate) use quantize::*;
pub(crate) use ragged::*;
pub(crate) use random::*;
pub(crate) use reduction::*;
pub(crate) use scatter::*;
pub(crate) use segment::*;
pub(crate) use sequence::*;
pub(crate) use space::*;
pub(crate) use sparse::*;
pub(crate) use special::*;
pub(crate) use spectral::*;
pub(crate) use state::*;
pub(crate) use tensor_array::*;
pub(crate) use tensor_list::*;
pub(crate) use tensor_map::*;

use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::{Backward, Grad};
use flowmill_proto::AttrValue;
use flowmill_tensor::Result;

/// The gradients of a node's inputs.
type Grads = Result<Vec<Option<Grad>>>;

/// The gradients of all inputs.
fn all(grads: impl IntoIterator<Item = OutputId>) -> Grads {
    Ok(grads.into_iter().map(|g| Some(Grad::Dense(g))).collect())
}

/// The gradient of the first input; the others, `rest` of them, have none.
fn first(grad: OutputId, rest: usize) -> Grads {
    let mut grads = vec![Some(Grad::Dense(grad))];
    grads.resize(rest + 1, None);
    Ok(grads)
}

/// Some of the forward node's attributes, as they are.
fn attrs(b: &ScopedBuilder<'_>, op: &Backward, names: &[&str]) -> Result<Vec<(String, AttrValue)>> {
    let node = b.graph().node(op.node)?;
    Ok(names.iter().filter_map(|&n| node.attrs().attr(n).map(|v| (n.to_owned(), v.clone()))).collect())
}

/// A node of another op with some of the forward node's attributes.
fn like(b: &mut ScopedBuilder<'_>, op: &Backward, kind: &str, inputs: &[OutputId], names: &[&str]) -> Result<OutputId> {
    let attrs = attrs(b, op, names)?;
    let mut node = b.op(kind).inputs(inputs);
    for (name, value) in attrs {
        node = node.attr(&name, value);
    }
    node.output()
}
