//! The functions that a product or a convolution applies to its results: bias, residual and activation, in one pass over them.

use super::fused::function_of;
use crate::backend::{self, Activation};
use crate::device::GpuDevice;
use crate::elementwise::{ElementwiseKernel, Instruction, Operation, Program};
use flowmill_graph::ElementwiseFunction;
use flowmill_runtime::{KernelContext, KernelInit};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail};

/// The attribute `fused_ops` of a node.
pub(super) struct Epilogue {
    /// True for an argument that is added along the last dimension, and false for one of the result's shape.
    args: SmallVec<[bool; 2]>,
    /// Applies the functions to the results and the arguments, if there are any functions.
    kernel: Option<ElementwiseKernel>,
    /// The activation behind a bias or nothing, if a library of products has it.
    library: Option<Activation>,
}

/// Returns true if `fused_ops` may have the function.
pub(super) fn can_be(function: ElementwiseFunction) -> bool {
    matches!(function, ElementwiseFunction::Add | ElementwiseFunction::BiasAdd) || is_activation(function)
}

/// Returns true if `fused_ops` of an op that takes no residual may have the function.
pub(super) fn can_be_without_residual(function: ElementwiseFunction) -> bool {
    function != ElementwiseFunction::Add && can_be(function)
}

fn is_activation(function: ElementwiseFunction) -> bool {
    function == ElementwiseFunction::LeakyRelu || function_of(function).is_some_and(|found| found.arity == 1)
}

impl Epilogue {
    /// Reads `fused_ops` of a node, where `BiasAdd` and `Add` have an argument each and an activation is last.
    ///
    /// # Errors
    /// Returns `Unimplemented` for other lists.
    pub(super) fn new(init: &KernelInit<'_>, dtype: DType) -> Result<Epilogue> {
        let names: Vec<&str> = init.attrs.list("fused_ops")?;
        let functions = names.iter().map(|name| name.parse()).collect::<Result<Vec<ElementwiseFunction>>>()?;
        let mut args: SmallVec<[bool; 2]> = SmallVec::new();
        let count = functions.iter().filter(|&&function| !is_activation(function)).count();
        let mut instructions: Vec<Instruction> = Vec::new();
        for (i, &function) in functions.iter().enumerate() {
            let last = if i == 0 { 0 } else { count + i };
            let mut operands: SmallVec<[usize; 3]> = SmallVec::from_slice(&[last]);
            let operation = match function {
                ElementwiseFunction::BiasAdd | ElementwiseFunction::Add => {
                    args.push(function == ElementwiseFunction::BiasAdd);
                    operands.push(args.len());
                    Operation::Sum
                }
                _ if !is_activation(function) || i + 1 < functions.len() => {
                    bail!(Unimplemented, "Fusion is not implemented: [{}]", names.join(","))
                }
                ElementwiseFunction::LeakyRelu => {
                    Operation::Apply(super::elementwise::function("LeakyRelu")?, f64::from(init.attrs.get_or("leakyrelu_alpha", 0.2f32)?))
                }
                function => Operation::Apply(super::elementwise::function(function.name())?, 0.0),
            };
            instructions.push(Instruction { operation, operands, dtype });
        }
        if instructions.is_empty() {
            return Ok(Epilogue { args, kernel: None, library: None });
        }
        let inputs = SmallVec::from_elem(dtype, 1 + count);
        let outputs = SmallVec::from_elem(count + instructions.len(), 1);
        let kernel = Some(ElementwiseKernel::new(Program { inputs, instructions, outputs }));
        Ok(Epilogue { args, kernel, library: activation_of_library(&functions) })
    }

    /// Returns the functions as a library of products takes them, for a product of `n` columns; `None` if it does not have them. The bias is input 2.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a bias of another shape.
    pub(super) fn for_library(&self, ctx: &KernelContext<'_>, device: &GpuDevice, n: usize) -> Result<Option<backend::Epilogue>> {
        let Some(activation) = self.library else { return Ok(None) };
        let bias = if self.args.is_empty() {
            None
        } else {
            let bias = ctx.input(2)?;
            check_bias(bias, n)?;
            Some(device.address(bias)?)
        };
        Ok(Some(backend::Epilogue { bias, activation }))
    }

    /// Enqueues the functions of `results`, whose arguments are the inputs from 2 on. The results change in place.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for arguments of other shapes, and the errors of the device.
    pub(super) fn apply(&self, ctx: &KernelContext<'_>, device: &GpuDevice, results: &Tensor) -> Result<()> {
        let Some(kernel) = &self.kernel else { return Ok(()) };
        let mut operands: SmallVec<[Tensor; 4]> = SmallVec::from_iter([results.clone()]);
        for (i, &is_bias) in self.args.iter().enumerate() {
            let arg = ctx.input(2 + i)?;
            if !is_bias && arg.shape() != results.shape() {
                bail!(InvalidArgument, "Incompatible shapes: {} vs. {}", results.shape(), arg.shape());
            }
            if is_bias {
                check_bias(arg, results.shape().last().copied().unwrap_or(0))?;
            }
            operands.push(if is_bias { arg.clone().reshaped(Shape::new(&[arg.num_elements()]))? } else { arg.clone() });
        }
        kernel.apply(device, &operands.iter().collect::<SmallVec<[&Tensor; 4]>>(), results)
    }
}

fn check_bias(bias: &Tensor, n: usize) -> Result<()> {
    if bias.rank() == 0 || bias.num_elements() != n {
        bail!(InvalidArgument, "Must provide as many biases as the last dimension of the input tensor: {} vs. {n}", bias.shape());
    }
    Ok(())
}

/// Returns the activation that a library applies behind a bias, or behind the product, for these functions.
fn activation_of_library(functions: &[ElementwiseFunction]) -> Option<Activation> {
    match functions {
        [ElementwiseFunction::BiasAdd] => Some(Activation::Identity),
        [ElementwiseFunction::BiasAdd, ElementwiseFunction::Relu] | [ElementwiseFunction::Relu] => Some(Activation::Relu),
        [ElementwiseFunction::BiasAdd, ElementwiseFunction::GeluApproximate] | [ElementwiseFunction::GeluApproximate] => {
            Some(Activation::Gelu)
        }
        _ => None,
    }
}
