//! Element-wise ops: one kernel for each function of the table, and those with other types or numbers of arguments.

use crate::device::GpuDevice;
use crate::elementwise::{ElementwiseKernel, Expression, FUNCTIONS, Function, Types};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for function in FUNCTIONS {
        let def = KernelDef::new(make_function);
        // Predicates of booleans have no type attribute.
        registry.register(function.op, if function.types == Types::Booleans { def } else { def.constrain("T", function.types.list()) });
    }
    let all = Types::All.list();
    registry.register("AddN", KernelDef::new(make_add_n).constrain("T", Types::Numbers.list()));
    registry.register("BiasAdd", KernelDef::new(make_bias_add).constrain("T", Types::Floats.list()));
    registry.register("Cast", KernelDef::new(make_cast).constrain("SrcT", all).constrain("DstT", all));
    registry.register("ClipByValue", KernelDef::new(make_clip).constrain("T", Types::Numbers.list()));
    registry.register("SelectV2", KernelDef::new(make_select).constrain("T", all));
}

fn inputs(n: usize) -> Vec<Expression> {
    (0..n).map(Expression::Input).collect()
}

fn kernel(expression: Expression, init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let output = init.output_types.first().copied().unwrap_or(DType::F32);
    Ok(Arc::new(ElementwiseKernel::new(expression, init.input_types, output)))
}

fn make_function(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let function = Function::of(op).ok_or_else(|| error!(Internal, "GPUs have no function {op}"))?;
    let dtype = init.input_types.first().copied().unwrap_or(DType::Bool);
    let parameter = if init.attrs.contains("alpha") { f64::from(init.attrs.get::<f32>("alpha")?) } else { 0.0 };
    kernel(Expression::Apply { function, dtype, arguments: inputs(function.arity), parameter }, init)
}

fn make_add_n(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    kernel(Expression::Sum { dtype: init.dtype("T")?, arguments: inputs(init.input_types.len()) }, init)
}

fn make_cast(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (from, to) = (init.dtype("SrcT")?, init.dtype("DstT")?);
    kernel(Expression::Cast { from, to, argument: Box::new(Expression::Input(0)) }, init)
}

fn make_select(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    kernel(Expression::Select(Box::new([Expression::Input(0), Expression::Input(1), Expression::Input(2)])), init)
}

fn make_clip(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let apply = |op, arguments| match Function::of(op) {
        Some(function) => Ok(Expression::Apply { function, dtype, arguments, parameter: 0.0 }),
        None => Err(error!(Internal, "GPUs have no function {op}")),
    };
    let below = apply("Minimum", vec![Expression::Input(0), Expression::Input(2)])?;
    kernel(apply("Maximum", vec![below, Expression::Input(1)])?, init)
}

fn make_bias_add(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let function = Function::of("AddV2").ok_or_else(|| error!(Internal, "GPUs have no function AddV2"))?;
    let add = ElementwiseKernel::new(Expression::Apply { function, dtype, arguments: inputs(2), parameter: 0.0 }, &[dtype; 2], dtype);
    let channels_first = init.attrs.get::<&str>("data_format")? == "NCHW";
    from_fn(move |ctx| {
        let (value, bias) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let axis = if channels_first { 1 } else { value.rank().max(1) - 1 };
        if value.rank() < 2 || bias.rank() != 1 || value.shape().dims().get(axis) != bias.shape().dims().first() {
            bail!(
                InvalidArgument,
                "Must provide as many biases as the channel dimension of the input tensor: {} vs. {}",
                bias.shape(),
                value.shape()
            );
        }
        let mut dims = vec![1; value.rank()];
        dims[axis] = bias.num_elements();
        let bias = bias.reshaped(Shape::new(&dims))?;
        let output = ctx.allocate_output(0, dtype, value.shape())?.clone();
        add.apply(GpuDevice::of(ctx.device())?, &[&value, &bias], &output)
    })
}
