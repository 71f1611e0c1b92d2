//! `_FusedMatMul`: a matrix product with a bias and an activation. A library computes it at once if it can; otherwise a kernel follows the product.

use super::matmul;
use crate::backend::{Activation, Epilogue, Gemm};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_graph::ElementwiseFunction;
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

const TYPES: &[DType] = &[DType::F16, DType::BF16, DType::F32];

pub(super) fn register(registry: &mut KernelRegistry) {
    let fuses = |function: ElementwiseFunction| function == ElementwiseFunction::BiasAdd || activation(function.name()).is_some();
    registry.register("_FusedMatMul", KernelDef::new(make).constrain("T", TYPES).fuses(fuses));
}

fn activation(name: &str) -> Option<Activation> {
    Some(match name {
        "Relu" => Activation::Relu,
        "GeluApproximate" => Activation::Gelu,
        _ => return None,
    })
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (transpose_a, transpose_b) = (init.attrs.get::<bool>("transpose_a")?, init.attrs.get::<bool>("transpose_b")?);
    let dtype = init.dtype("T")?;
    let functions: Vec<&str> = init.attrs.list("fused_ops")?;
    let (has_bias, last) = match functions[..] {
        ["BiasAdd"] => (true, Activation::Identity),
        ["BiasAdd", function] | [function] => match activation(function) {
            Some(activation) => (functions.len() > 1, activation),
            None => bail!(Unimplemented, "GPU kernels of _FusedMatMul have no function {function}"),
        },
        _ => bail!(Unimplemented, "GPU kernels of _FusedMatMul have no functions {functions:?}"),
    };
    let epilogue = CompiledKernel::of(include_str!("fused_matmul.cu"), "epilogue", dtype)?;
    from_fn(move |ctx| {
        let (a, b) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let (&[rows_a, columns_a], &[rows_b, columns_b]) = (a.shape().dims(), b.shape().dims()) else {
            bail!(InvalidArgument, "In[0] and In[1] must be matrices: {} vs. {}", a.shape(), b.shape());
        };
        let (m, k) = if transpose_a { (columns_a, rows_a) } else { (rows_a, columns_a) };
        let (k_b, n) = if transpose_b { (columns_b, rows_b) } else { (rows_b, columns_b) };
        if k != k_b {
            bail!(InvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", a.shape(), b.shape());
        }
        let bias = if has_bias { Some(ctx.input(2)?.clone()) } else { None };
        if let Some(bias) = bias.as_ref().filter(|bias| bias.shape().dims() != [n]) {
            bail!(InvalidArgument, "Must provide as many biases as the last dimension of the product: {} vs. {n}", bias.shape());
        }
        let output = ctx.allocate_output(0, dtype, &Shape::new(&[m, n]))?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let to = device.address(&output)?;
        let bias = bias.map(|bias| device.address(&bias)).transpose()?;
        if k == 0 {
            device.gpu().fill(to, 0, output.num_bytes())?;
        } else {
            let matrices = [device.address(&a)?, device.address(&b)?, to];
            let allow_tf32 = device.options().allow_tf32;
            let product = Gemm { dtype, m, n, k, transpose_a, transpose_b, matrices, batch: 1, strides: [0; 3], allow_tf32 };
            if device.gpu().gemm_with_epilogue(&product, Epilogue { bias, activation: last })? {
                return Ok(());
            }
            matmul::run(device, &product)?;
        }
        let arguments = [
            Argument::Address(to),
            Argument::Address(bias.unwrap_or(to)),
            Argument::U64(output.num_elements() as u64),
            Argument::U32(word(n)?),
            Argument::U32(has_bias.into()),
            Argument::U32(last as u32),
        ];
        epilogue.launch(device, device.linear_grid(output.num_elements()), &arguments)
    })
}
