//! `FakeQuantWithMinMaxArgs`, `FakeQuantWithMinMaxVars`, `FakeQuantWithMinMaxVarsPerChannel` and their gradients: floats are rounded to the values
//! of a quantised type.

use crate::from_fn::linear_from_fn;
use flowmill_kernels::fake_quant::{Levels, Range, check_same_size, num_limits};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("FakeQuantWithMinMaxArgs", make_args);
    registry.add("FakeQuantWithMinMaxArgsGradient", make_args_grad);
    registry.add("FakeQuantWithMinMaxVars", |init| make_vars(init, false));
    registry.add("FakeQuantWithMinMaxVarsGradient", |init| make_vars_grad(init, false));
    registry.add("FakeQuantWithMinMaxVarsPerChannel", |init| make_vars(init, true));
    registry.add("FakeQuantWithMinMaxVarsPerChannelGradient", |init| make_vars_grad(init, true));
}

/// Returns a tensor of the shape of `x` whose elements `f` computes.
fn map(alloc: &Allocator, x: &Tensor, f: impl Fn(usize, f32) -> f32) -> Result<Tensor> {
    let mut out = alloc.uninit(DType::F32, x.shape().clone())?;
    let target = out.as_mut_slice::<f32>()?;
    target.iter_mut().zip(x.as_slice::<f32>()?).enumerate().for_each(|(i, (out, &x))| *out = f(i, x));
    Ok(out)
}

fn make_args(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let range = Range::of_attributes(init)?;
    linear_from_fn(init, move |ctx| {
        let out = map(ctx.allocator(), ctx.input(0)?, |_, x| range.round(x))?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_args_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let range = Range::of_attributes(init)?;
    linear_from_fn(init, move |ctx| {
        let (gradient, input) = (ctx.input(0)?, ctx.input(1)?);
        check_same_size(gradient, input)?;
        let x = input.as_slice::<f32>()?;
        let out = map(ctx.allocator(), gradient, |i, g| if range.contains(x[i]) { g } else { 0.0 })?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Returns the ranges in two inputs from `at` on: one, or one for each index of the input's last dimension. If both limits are zero, there is no range.
fn ranges(ctx: &KernelContext<'_>, at: usize, levels: Levels, input: &Shape, per_channel: bool) -> Result<Vec<Option<Range>>> {
    num_limits(ctx, at, input, per_channel)?;
    let (min, max) = (ctx.input(at)?, ctx.input(at + 1)?);
    let ends = min.as_slice::<f32>()?.iter().zip(max.as_slice::<f32>()?);
    Ok(ends.map(|(&min, &max)| (min != 0.0 || max != 0.0).then(|| levels.nudged(min, max))).collect())
}

fn make_vars(init: &KernelInit<'_>, per_channel: bool) -> Result<Arc<dyn Kernel>> {
    let levels = Levels::new(init)?;
    linear_from_fn(init, move |ctx| {
        let input = ctx.input(0)?;
        let ranges = ranges(ctx, 1, levels, input.shape(), per_channel)?;
        let out = map(ctx.allocator(), input, |i, x| ranges[i % ranges.len()].as_ref().map_or(0.0, |range| range.round(x)))?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_vars_grad(init: &KernelInit<'_>, per_channel: bool) -> Result<Arc<dyn Kernel>> {
    let levels = Levels::new(init)?;
    linear_from_fn(init, move |ctx| {
        let (gradient, input) = (ctx.input(0)?, ctx.input(1)?);
        check_same_size(gradient, input)?;
        let ranges = ranges(ctx, 2, levels, input.shape(), per_channel)?;
        let x = input.as_slice::<f32>()?;
        let out = map(ctx.allocator(), gradient, |i, g| match &ranges[i % ranges.len()] {
            Some(range) if !range.contains(x[i]) => 0.0,
            _ => g,
        })?;
        let (mut below, mut above) = (vec![0f32; ranges.len()], vec![0f32; ranges.len()]);
        for (i, (&g, &x)) in gradient.as_slice::<f32>()?.iter().zip(x).enumerate() {
            let channel = i % ranges.len();
            if let Some(range) = &ranges[channel] {
                below[channel] += if x < range.min { g } else { 0.0 };
                above[channel] += if x > range.max { g } else { 0.0 };
            }
        }
        let shape = if per_channel { Shape::from([ranges.len()]) } else { Shape::scalar() };
        ctx.set_output(0, out);
        ctx.set_output(1, ctx.allocator().from_slice(shape.clone(), &below)?);
        ctx.set_output(2, ctx.allocator().from_slice(shape, &above)?);
        Ok(())
    })
}
