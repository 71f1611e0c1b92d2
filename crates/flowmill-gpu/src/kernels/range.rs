//! `Range`.

use crate::compiled_kernel::CompiledKernel;
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let def = KernelDef::new(make).constrain("Tidx", &[DType::F32, DType::F64, DType::I64]);
    registry.register("Range", def.host_memory("start").host_memory("limit").host_memory("delta"));
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("Tidx")?;
    let program = CompiledKernel::of(include_str!("range.cu"), "range", dtype)?;
    from_fn(move |ctx| match dtype {
        DType::F32 => {
            let [start, limit, delta] = arguments::<f32>(ctx)?;
            let n = float_count(f64::from((limit - start) / delta))?;
            fill(ctx, &program, dtype, n, [start, delta].map(|x| u64::from(x.to_bits())))
        }
        DType::F64 => {
            let [start, limit, delta] = arguments::<f64>(ctx)?;
            let n = float_count((limit - start) / delta)?;
            fill(ctx, &program, dtype, n, [start, delta].map(f64::to_bits))
        }
        _ => {
            let [start, limit, delta] = arguments::<i64>(ctx)?;
            let steps = i128::from(limit).abs_diff(i128::from(start)).div_ceil(i128::from(delta).unsigned_abs());
            let Ok(n) = usize::try_from(steps) else { return too_long() };
            fill(ctx, &program, dtype, n, [start, delta].map(|x| x as u64))
        }
    })
}

fn too_long<T>() -> Result<T> {
    bail!(InvalidArgument, "Requires ((limit - start) / delta) <= 9223372036854775807")
}

fn float_count(steps: f64) -> Result<usize> {
    let steps = steps.abs().ceil();
    if (0.0..i64::MAX as f64).contains(&steps) { Ok(steps as usize) } else { too_long() }
}

/// Returns start, limit and delta, after a check that the progression ends.
fn arguments<T: flowmill_tensor::Element + PartialOrd + Default + std::fmt::Display>(ctx: &KernelContext<'_>) -> Result<[T; 3]> {
    let scalar = |i: usize, name: &str| match ctx.input(i)?.as_slice::<T>()? {
        &[value] if ctx.input(i)?.rank() <= 1 => Ok(value),
        _ => bail!(InvalidArgument, "{name} must be a scalar, not shape {}", ctx.input(i)?.shape()),
    };
    let (start, limit, delta) = (scalar(0, "start")?, scalar(1, "limit")?, scalar(2, "delta")?);
    let zero = T::default();
    if delta == zero {
        bail!(InvalidArgument, "Requires delta != 0: {delta}");
    }
    if delta > zero && start > limit {
        bail!(InvalidArgument, "Requires start <= limit when delta > 0: {start}/{limit}");
    }
    if delta < zero && start < limit {
        bail!(InvalidArgument, "Requires start >= limit when delta < 0: {start}/{limit}");
    }
    Ok([start, limit, delta])
}

/// Sets the output to `n` numbers. The arguments are the bits of the first one and of the distance.
fn fill(ctx: &mut KernelContext<'_>, program: &CompiledKernel, dtype: DType, n: usize, [start, delta]: [u64; 2]) -> Result<()> {
    let output = ctx.allocate_output(0, dtype, &Shape::new(&[n]))?.clone();
    if n == 0 {
        return Ok(());
    }
    let device = GpuDevice::of(ctx.device())?;
    let argument = |bits: u64| if dtype == DType::F32 { Argument::U32(bits as u32) } else { Argument::U64(bits) };
    let arguments = [Argument::Address(device.address(&output)?), Argument::U64(n as u64), argument(start), argument(delta)];
    program.launch(device, device.linear_grid(n), &arguments)
}
