//! The work of a walk at one node: its initial gradients, and the call of a gradient function.

use super::{Backward, Grad};
use crate::builder::ScopedBuilder;
use crate::{NodeId, OutputId};
use flowmill_tensor::{DType, Error, Result, bail};

/// Returns the gradient of a `y`: the one given, or ones.
pub(super) fn first_gradient(b: &mut ScopedBuilder<'_>, y: OutputId, given: Option<OutputId>, i: usize) -> Result<OutputId> {
    let dtype = b.dtype(y);
    let name = b.graph().tensor_name(y);
    match given {
        Some(grad) => {
            let given = b.graph().output_type(grad)?.dtype;
            if dtype == DType::Resource && given == DType::Resource {
                let grad = b.graph().tensor_name(grad);
                bail!(InvalidArgument, "Input gradient {grad} for resource tensor {name} should not be a resource");
            }
            if given != dtype && dtype != DType::Resource {
                bail!(InvalidArgument, "Gradient type {given} generated for tensor {name} with type {dtype} does not match");
            }
            Ok(grad)
        }
        None if matches!(dtype, DType::C64 | DType::C128) => {
            bail!(InvalidArgument, "Gradients of complex tensors ({name}) must set grad_ys (y.dtype = {dtype})")
        }
        None if dtype == DType::String => bail!(InvalidArgument, "'{name}' is {dtype}, which has no gradient"),
        // That of integers is not handed on, but is that of `y` itself.
        None => b.ones_like(y, &format!("grad_ys_{i}")),
    }
}

/// Says in the gradient of which node an error came up.
pub(super) fn in_gradient_of(b: &ScopedBuilder<'_>, node: NodeId, error: Error) -> Error {
    match b.graph().node(node) {
        Ok(forward) => error.append(format_args!("\n\t in the gradient of '{}' (op type: {})", forward.name(), forward.op())),
        Err(_) => error,
    }
}

/// Returns the gradients of a node's inputs by a gradient function.
pub(super) fn differentiate(
    b: &mut ScopedBuilder<'_>,
    node: NodeId,
    grads: Vec<Option<Grad>>,
    rule: impl FnOnce(&mut ScopedBuilder<'_>, &Backward) -> Result<Vec<Option<Grad>>>,
) -> Result<Vec<Option<Grad>>> {
    let inputs: Vec<OutputId> = b.graph().inputs(node).collect();
    let num_inputs = inputs.len();
    let result = rule(b, &Backward { node, inputs, grads });
    let given = result.map_err(|e| in_gradient_of(b, node, e))?;
    if given.len() != num_inputs {
        let (count, op) = (given.len(), b.graph().node(node)?.op());
        return Err(Error::internal(format!("Num gradients {count} generated for op {op} do not match num inputs {num_inputs}")));
    }
    Ok(given)
}
