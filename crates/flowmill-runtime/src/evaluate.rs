//! Evaluation of single nodes for graph passes and shape functions.

use crate::device::Device;
use crate::function::FunctionLibraryRuntime;
use crate::invoke::Callee;
use crate::registry::InferencePrecision;
use crate::registry::{KernelHome, KnownInputs};
use crate::resource::ResourceManager;
use crate::step::{DeviceStep, Step};
use crate::tuning::Tuner;
use flowmill_graph::{Graph, NodeId};
use flowmill_tensor::{Result, Tensor};
use std::sync::Arc;

/// Makes a node's kernel and runs it in a step of its own. Returns `None` for an op without a kernel, and for kernels that wait for something.
///
/// # Errors
/// Returns `NotFound` for a node that does not exist, and the errors of the kernel and its maker.
pub fn evaluate(
    device: &Arc<dyn Device>,
    resources: &Arc<ResourceManager>,
    functions: &Arc<FunctionLibraryRuntime>,
    graph: &Graph,
    node: NodeId,
    inputs: &[Tensor],
) -> Result<Option<Vec<Tensor>>> {
    let node = graph.node(node)?;
    let kernels = device.kernels();
    if !kernels.contains(node.op()) {
        return Ok(None);
    }
    let callee = Callee::new(node);
    let known = KnownInputs { shapes: inputs.iter().map(|t| t.shape().into()).collect(), ..KnownInputs::default() };
    let home = KernelHome { device, resources, functions, precision: InferencePrecision::F32, tuner: Tuner::off() };
    let kernel = kernels.make_for(node, &known, &home)?;
    if kernel.as_async().is_some() {
        return Ok(None);
    }
    let step =
        DeviceStep { step: Arc::new(Step::new()), device: device.clone(), resources: resources.clone(), functions: functions.clone() };
    let step = Arc::new(step);
    let mut inputs: Vec<Option<Tensor>> = inputs.iter().cloned().map(Some).collect();
    let mut outputs: Vec<Option<Tensor>> = vec![None; node.num_outputs()];
    let _flush = crate::denormals::flush();
    // On this thread alone: the pool may be busy for long.
    crate::intra_op::alone(|| callee.invoke(&*kernel, &mut inputs, &mut outputs, &step))?;
    Ok(outputs.into_iter().collect())
}
