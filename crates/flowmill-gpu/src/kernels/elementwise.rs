//! Element-wise ops: one kernel for each function of the table, and those with other types or numbers of arguments.

use crate::device::GpuDevice;
use crate::elementwise::{ElementwiseKernel, FUNCTIONS, Function, Instruction, Operation, PRIVATE_OPS, Program, Types};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for function in FUNCTIONS.iter().filter(|function| !function.is_of_programs_only()) {
        let def = KernelDef::new(make_function);
        // Predicates of booleans have no type attribute.
        registry.register(function.name, if function.types == Types::Booleans { def } else { def.constrain("T", function.types.list()) });
    }
    for (op, _) in PRIVATE_OPS {
        registry.register(op, KernelDef::new(make_function).constrain("T", Types::Floats.list()));
    }
    let wide = Types::WideFloats.list();
    registry.register("Betainc", KernelDef::new(make_betainc).constrain("T", wide));
    let all = Types::All.list();
    registry.register("AccumulateNV2", KernelDef::new(|init| kernel(Operation::Sum, init)).constrain("T", Types::Numbers.list()));
    registry.register("BiasAddV1", KernelDef::new(make_bias_add).constrain("T", Types::Floats.list()));
    registry.register("AddN", KernelDef::new(|init| kernel(Operation::Sum, init)).constrain("T", Types::Numbers.list()));
    registry.register("BiasAdd", KernelDef::new(make_bias_add).constrain("T", Types::Floats.list()));
    registry.register("Cast", KernelDef::new(|init| kernel(Operation::Cast, init)).constrain("SrcT", all).constrain("DstT", all));
    registry.register("ClipByValue", KernelDef::new(make_clip).constrain("T", Types::Numbers.list()));
    registry.register("SelectV2", KernelDef::new(|init| kernel(Operation::Select, init)).constrain("T", all));
}

fn kernel(operation: Operation, init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let output = init.output_types.first().copied().unwrap_or(DType::F32);
    Ok(Arc::new(ElementwiseKernel::new(Program::of(operation, init.input_types, output))))
}

/// Returns the function of this name.
pub(super) fn function(name: &str) -> Result<&'static Function> {
    Function::of(name).ok_or_else(|| error!(Unimplemented, "GPUs have no function {name}"))
}

fn make_function(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let parameter = if init.attrs.contains("alpha") { f64::from(init.attrs.get::<f32>("alpha")?) } else { 0.0 };
    let op = init.op_def.name.as_str();
    let name = PRIVATE_OPS.iter().find(|(private, _)| *private == op).map_or(op, |(_, name)| name);
    kernel(Operation::Apply(function(name)?, parameter), init)
}

fn make_clip(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let apply = |name, operands: [usize; 2]| {
        Ok(Instruction { operation: Operation::Apply(function(name)?, 0.0), operands: operands.into_iter().collect(), dtype })
    };
    // The values are the tensor, the least and the greatest value, and the lesser one of the first and the last.
    let instructions = [apply("Minimum", [0, 2]), apply("Maximum", [3, 1])].into_iter().collect::<Result<Vec<_>>>()?;
    let program = Program { inputs: SmallVec::from_slice(&[dtype; 3]), instructions, outputs: SmallVec::from_elem(4, 1) };
    Ok(Arc::new(ElementwiseKernel::new(program)))
}

/// Makes the kernel of `Betainc`: three tensors of one shape, each of which may also be a scalar.
fn make_betainc(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let kernel = ElementwiseKernel::new(Program::of(Operation::Apply(function("Betainc")?, 0.0), &[dtype; 3], dtype));
    from_fn(move |ctx| {
        let inputs = [ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone()];
        let shape = inputs.iter().map(Tensor::shape).find(|shape| shape.rank() > 0).cloned().unwrap_or_else(Shape::scalar);
        if let Some(other) = inputs.iter().map(Tensor::shape).find(|other| other.rank() > 0 && **other != shape) {
            bail!(InvalidArgument, "Shapes of a, b and x are inconsistent: {shape} vs. {other}");
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        kernel.apply(GpuDevice::of(ctx.device())?, &inputs.each_ref(), &output)
    })
}

fn make_bias_add(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let add = ElementwiseKernel::new(Program::of(Operation::Sum, &[dtype; 2], dtype));
    let channels_first = init.attrs.get_or("data_format", "NHWC")? == "NCHW";
    from_fn(move |ctx| {
        let (value, bias) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let axis = if channels_first { 1 } else { value.rank().max(1) - 1 };
        let mut dims = bias_dims(value.shape(), bias.shape(), axis)?;
        dims.resize(value.rank().max(axis + 1), 1);
        dims.rotate_right(axis);
        let bias = bias.reshaped(Shape::new(&dims))?;
        let output = ctx.allocate_output(0, dtype, value.shape())?.clone();
        add.apply(GpuDevice::of(ctx.device())?, &[&value, &bias], &output)
    })
}

/// Returns the dimension of a bias that is added along an axis.
///
/// # Errors
/// Returns `InvalidArgument` for other shapes.
fn bias_dims(value: &Shape, bias: &Shape, axis: usize) -> Result<Vec<usize>> {
    if value.rank() < 2 {
        bail!(InvalidArgument, "Input tensor must be at least 2D: {value}");
    }
    match bias.dims() {
        &[channels] if value.dims().get(axis) == Some(&channels) => Ok(vec![channels]),
        [_] => bail!(InvalidArgument, "Must provide as many biases as the channel dimension of the input tensor: {bias} vs. {value}"),
        _ => bail!(InvalidArgument, "Biases must be 1D: {bias}"),
    }
}
