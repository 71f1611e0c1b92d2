//! Gradients of ops, a family a file. A declaration names its function with [`Op::gradient`](crate::op::Op::gradient).
//!
//! A function gets the forward node's inputs and the gradients of its outputs, and adds nodes that compute those of the inputs. What it takes of
//! the forward node inside of a loop is the value of the iteration at hand: the builder sees to that.

mod array;
mod formula;
mod math;
mod nn;
mod reduction;
mod state;

pub(crate) use array::*;
pub(crate) use math::*;
pub(crate) use nn::*;
pub(crate) use reduction::*;
pub(crate) use state::*;

use flowmill_graph::builder::gradients::Grad;
use flowmill_tensor::Result;

/// The gradients of a node's inputs.
type Grads = Result<Vec<Option<Grad>>>;

/// The gradients of all inputs.
fn all(grads: impl IntoIterator<Item = flowmill_graph::OutputId>) -> Grads {
    Ok(grads.into_iter().map(|g| Some(Grad::Dense(g))).collect())
}

/// The gradient of the first input; the others, `rest` of them, have none.
fn first(grad: flowmill_graph::OutputId, rest: usize) -> Grads {
    let mut grads = vec![Some(Grad::Dense(grad))];
    grads.resize(rest + 1, None);
    Ok(grads)
}
