//! `FakeQuantWithMinMaxArgs`, `FakeQuantWithMinMaxVars`, `FakeQuantWithMinMaxVarsPerChannel` and their gradients: floats are rounded to the values
//! of a quantised type.

use crate::from_fn::linear_from_fn;
use flowmill_kernels::fake_quant::{Levels, check_same_size, num_limits, values_of_attributes};
use flowmill_numeric::elementwise::for_blocks;
use flowmill_numeric::fake_quant::{QuantizedValues, round_row_to_values, round_to_values, round_to_values_by_division};
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

/// The cost of an element, in simple operations.
const COST: usize = 6;

/// Returns the result of `f` for blocks of elements, with the place of the first one. The tensor's memory is reused if nothing else refers to it.
fn rounded(alloc: &Allocator, mut x: Tensor, f: impl Fn(usize, &mut [f32]) + Sync) -> Result<Tensor> {
    if !x.is_unique() {
        let mut copy = alloc.uninit(DType::F32, x.shape().clone())?;
        copy.as_mut_slice::<f32>()?.copy_from_slice(x.as_slice()?);
        x = copy;
    }
    for_blocks(x.as_mut_slice::<f32>()?, COST, &f);
    Ok(x)
}

/// Rounds a block of rows, whose first element is element `start` of all rows.
fn round_rows(start: usize, block: &mut [f32], values: &[Option<QuantizedValues>]) {
    let first = start % values.len();
    let (head, rows) = block.split_at_mut((values.len() - first).min(block.len()));
    round_row_to_values(head, &values[first..]);
    rows.chunks_mut(values.len()).for_each(|row| round_row_to_values(row, values));
}

fn make_args(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let values = values_of_attributes(init)?;
    linear_from_fn(init, move |ctx| {
        let input = ctx.take(0)?;
        let out = rounded(ctx.allocator(), input, |_, block| round_to_values(block, values))?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Returns a tensor of the shape of `gradient`, with the gradients of the elements of `x` that `f` keeps, and zeros.
fn kept(alloc: &Allocator, gradient: &Tensor, x: &[f32], f: impl Fn(usize, f32) -> bool) -> Result<Tensor> {
    let mut out = alloc.uninit(DType::F32, gradient.shape().clone())?;
    let elements = gradient.as_slice::<f32>()?.iter().zip(x).enumerate();
    out.as_mut_slice::<f32>()?.iter_mut().zip(elements).for_each(|(out, (i, (&g, &x)))| *out = if f(i, x) { g } else { 0.0 });
    Ok(out)
}

fn make_args_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let values = values_of_attributes(init)?;
    linear_from_fn(init, move |ctx| {
        let (gradient, input) = (ctx.input(0)?, ctx.input(1)?);
        check_same_size(gradient, input)?;
        let out = kept(ctx.allocator(), gradient, input.as_slice()?, |_, x| values.contain(x))?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Returns the values between the limits in two inputs from `at` on: one, or one for each index of the input's last dimension. Limits that are both zero
/// have none.
fn values(ctx: &KernelContext<'_>, at: usize, levels: Levels, input: &Shape, per_channel: bool) -> Result<Vec<Option<QuantizedValues>>> {
    num_limits(ctx, at, input, per_channel)?;
    let (min, max) = (ctx.input(at)?, ctx.input(at + 1)?);
    let ends = min.as_slice::<f32>()?.iter().zip(max.as_slice::<f32>()?);
    Ok(ends.map(|(&min, &max)| (min != 0.0 || max != 0.0).then(|| levels.nudged(min, max))).collect())
}

fn make_vars(init: &KernelInit<'_>, per_channel: bool) -> Result<Arc<dyn Kernel>> {
    let levels = Levels::new(init)?;
    linear_from_fn(init, move |ctx| {
        let values = values(ctx, 1, levels, ctx.input(0)?.shape(), per_channel)?;
        let input = ctx.take(0)?;
        let alloc = ctx.allocator();
        let out = match values[..] {
            [None] => alloc.zeros(DType::F32, input.shape().clone())?,
            [Some(values)] if !per_channel => rounded(alloc, input, |_, block| round_to_values_by_division(block, values))?,
            [] => input,
            _ => rounded(alloc, input, |start, block| round_rows(start, block, &values))?,
        };
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_vars_grad(init: &KernelInit<'_>, per_channel: bool) -> Result<Arc<dyn Kernel>> {
    let levels = Levels::new(init)?;
    linear_from_fn(init, move |ctx| {
        let (gradient, input) = (ctx.input(0)?, ctx.input(1)?);
        check_same_size(gradient, input)?;
        let values = values(ctx, 2, levels, input.shape(), per_channel)?;
        let (g, x) = (gradient.as_slice::<f32>()?, input.as_slice::<f32>()?);
        let alloc = ctx.allocator();
        let out = match values[..] {
            [None] => gradient.clone(),
            [Some(values)] => kept(alloc, gradient, x, |_, x| values.contain(x))?,
            _ => kept(alloc, gradient, x, |i, x| values[i % values.len()].is_none_or(|values| values.contain(x)))?,
        };
        let (mut below, mut above) = (vec![0f32; values.len()], vec![0f32; values.len()]);
        for (g, x) in g.chunks_exact(values.len().max(1)).zip(x.chunks_exact(values.len().max(1))) {
            for (i, values) in values.iter().enumerate() {
                if let Some(values) = values {
                    below[i] += if x[i] < values.min { g[i] } else { 0.0 };
                    above[i] += if x[i] > values.max { g[i] } else { 0.0 };
                }
            }
        }
        let shape = if per_channel { Shape::from([values.len()]) } else { Shape::scalar() };
        ctx.set_output(0, out);
        ctx.set_output(1, ctx.allocator().from_slice(shape.clone(), &below)?);
        ctx.set_output(2, ctx.allocator().from_slice(shape, &above)?);
        Ok(())
    })
}
