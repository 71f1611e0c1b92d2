//! Gradients of reading variables.

use super::Grads;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;

/// The gradient of a variable's value is that of its handle.
pub(crate) fn read_variable(_: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    Ok(op.grads.clone())
}
