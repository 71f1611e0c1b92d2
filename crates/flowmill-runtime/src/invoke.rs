//! The call of a kernel, the same for all parts of the runtime that run nodes: reading of references, checks of outputs, errors.
//!
//! The token machine calls a kernel itself, because it delivers each output as soon as it has checked it. It uses the same checks.

use crate::kernel::{Kernel, KernelContext};
use crate::panics::Witness;
use crate::plan::{OutputType, PlanNode};
use crate::resource::RefVariable;
use crate::step::DeviceStep;
use flowmill_graph::{Node, TensorType};
use flowmill_tensor::{DType, Error, Result, Tensor, bail, error};
use std::sync::Arc;

/// The part of a node that a call of its kernel depends on.
#[derive(Clone)]
pub(crate) struct Callee {
    pub(crate) node: Arc<str>,
    pub(crate) op: Arc<str>,
    pub(crate) outputs: Box<[OutputType]>,
    /// True if outputs that the kernel leaves unset are dead, and no error.
    may_leave_unset: bool,
}

impl Callee {
    pub(crate) fn of(node: &PlanNode) -> Callee {
        Callee {
            node: node.name.clone(),
            op: node.op.clone(),
            outputs: node.outputs.clone().into(),
            may_leave_unset: node.may_leave_outputs_unset(),
        }
    }

    /// Returns the callee for a node of a graph, outside of any plan.
    pub(crate) fn new(node: &Node) -> Callee {
        let output = |t: &TensorType| OutputType { dtype: t.dtype, is_ref: t.is_ref };
        Callee {
            node: node.name().into(),
            op: node.op().into(),
            outputs: node.output_types().iter().map(output).collect(),
            may_leave_unset: node.traits().leaves_outputs_dead,
        }
    }

    /// Calls the node's kernel and checks its outputs.
    ///
    /// # Errors
    /// Returns the kernel's error, and `Internal` for outputs that do not match their declaration. Both name the node, as does the error for a panic
    /// that the caller catches.
    #[inline]
    pub(crate) fn invoke(
        &self,
        kernel: &dyn Kernel,
        inputs: &mut [Option<Tensor>],
        outputs: &mut [Option<Tensor>],
        step: &Arc<DeviceStep>,
    ) -> Result<()> {
        let result = Witness::of(&self.node, &self.op, || kernel.compute(&mut KernelContext::new(inputs, outputs, step)));
        result.and_then(|()| self.check(outputs)).map_err(|e| e.at_node(&self.node, &self.op))
    }

    #[inline]
    fn check(&self, outputs: &[Option<Tensor>]) -> Result<()> {
        for (i, (output, declared)) in outputs.iter().zip(&self.outputs).enumerate() {
            match output {
                Some(value) if declared.is_plain(value) => {}
                None if self.may_leave_unset => {}
                _ => declared.check(i, output.as_ref(), &self.node)?,
            }
        }
        Ok(())
    }
}

impl OutputType {
    /// Returns true for a value of an output that is declared to be no reference, if the value has the declared type.
    #[inline(always)]
    pub(crate) fn is_plain(self, value: &Tensor) -> bool {
        value.dtype() == self.dtype && !self.is_ref
    }

    /// Checks the value of an output, which may be a reference, of the node called `node`.
    ///
    /// # Errors
    /// Returns `Internal` for a missing value and for a value of another type.
    #[cold]
    pub(crate) fn check(self, index: usize, value: Option<&Tensor>, node: &str) -> Result<()> {
        let Some(value) = value else { bail!(Internal, "Missing {index}-th output from {{{{node {node}}}}}") };
        let found = match variable(value).filter(|_| self.is_ref) {
            Some(variable) => variable.dtype(),
            // The handles of the first tables, queues and stacks are references to strings in graphs, and resources here.
            None if self.is_ref && value.dtype() == DType::Resource => self.dtype,
            // A reference that was fed is a plain value.
            None => value.dtype(),
        };
        if found != self.dtype {
            bail!(
                Internal,
                "Output {index} of type {found} does not match declared output type {} for node {{{{node {node}}}}}",
                self.dtype
            );
        }
        Ok(())
    }
}

/// Returns the variable that a tensor refers to, if it is a reference.
pub(crate) fn variable(tensor: &Tensor) -> Option<&RefVariable> {
    tensor.as_resources().ok()?.first()?.get::<RefVariable>()
}

/// Returns the current value of the variable that a reference refers to. A plain tensor is returned as it is.
///
/// # Errors
/// Returns `FailedPrecondition` if the variable has no value.
pub fn dereference(tensor: Tensor) -> Result<Tensor> {
    match variable(&tensor).map(|variable| variable.get()) {
        Some(Some(value)) => Ok(value),
        Some(None) => Err(uninitialized(&tensor)),
        None => Ok(tensor),
    }
}

#[cold]
fn uninitialized(reference: &Tensor) -> Error {
    let name = reference.as_resources().ok().and_then(|h| h.first()).map_or("", |h| h.name());
    error!(FailedPrecondition, "Attempting to use uninitialized value {name}")
}
