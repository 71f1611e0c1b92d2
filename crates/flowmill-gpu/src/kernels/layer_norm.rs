//! `_FusedLayerNorm`, which normalizes the last dimension, then scales and shifts it.

use super::softmax::row_grid;
use super::types::FLOATS;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("_FusedLayerNorm", KernelDef::new(make).constrain("T", FLOATS));
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let epsilon: f32 = init.attrs.get("epsilon")?;
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(include_str!("layer_norm.cu"), "layer_norm", dtype)?;
    from_fn(move |ctx| {
        let (x, gamma, beta) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let Some(&width) = x.shape().last() else {
            bail!(InvalidArgument, "Invalid reduction dimension (-1 for input with 0 dimension(s)");
        };
        let factors = gamma.num_elements();
        if gamma.rank() != 1 || beta.shape() != gamma.shape() || (width != factors && width != 1 && factors != 1) {
            bail!(InvalidArgument, "Incompatible shapes: {} vs. {} and {}", x.shape(), gamma.shape(), beta.shape());
        }
        let columns = if width == 1 { factors } else { width };
        let mut shape = x.shape().clone();
        if let Some(last) = shape.last_mut() {
            *last = columns;
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let rows = output.num_elements() / columns;
        let addresses = [device.address(&output)?, device.address(&x)?, device.address(&gamma)?, device.address(&beta)?];
        let [to, x, gamma, beta] = addresses.map(Argument::Address);
        let [rows_word, width, columns_word, factors] = [word(rows)?, word(width)?, word(columns)?, word(factors)?].map(Argument::U32);
        let arguments = [to, x, gamma, beta, rows_word, width, columns_word, factors, Argument::F32(epsilon)];
        program.launch(device, row_grid(rows, columns)?, &arguments)
    })
}
