//! `FakeQuantWithMinMaxArgs`, `FakeQuantWithMinMaxVars`, `FakeQuantWithMinMaxVarsPerChannel` and their gradients: floats are rounded to the values
//! of a quantised type.

use crate::from_fn::linear_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("FakeQuantWithMinMaxArgs", make_args);
    registry.add("FakeQuantWithMinMaxArgsGradient", make_args_grad);
    registry.add("FakeQuantWithMinMaxVars", |init| make_vars(init, false));
    registry.add("FakeQuantWithMinMaxVarsGradient", |init| make_vars_grad(init, false));
    registry.add("FakeQuantWithMinMaxVarsPerChannel", |init| make_vars(init, true));
    registry.add("FakeQuantWithMinMaxVarsPerChannelGradient", |init| make_vars_grad(init, true));
}

/// The integers that values are rounded to.
#[derive(Clone, Copy)]
struct Levels {
    least: f32,
    greatest: f32,
}

impl Levels {
    fn new(init: &KernelInit<'_>) -> Result<Levels> {
        let bits: i64 = init.attrs.get_or("num_bits", 8)?;
        if !(2..=16).contains(&bits) {
            bail!(InvalidArgument, "num_bits must be between 2 and 16, inclusive");
        }
        let least = if init.attrs.get_or("narrow_range", false)? { 1.0 } else { 0.0 };
        Ok(Levels { least, greatest: ((1i64 << bits) - 1) as f32 })
    }

    /// Returns the range, shifted so that zero is one of its values.
    fn nudged(self, min: f32, max: f32) -> Range {
        let scale = (max - min) / (self.greatest - self.least);
        let zero_point = self.least - min / scale;
        let zero_point = match zero_point {
            z if z < self.least => self.least,
            z if z > self.greatest => self.greatest,
            z => z.round(),
        };
        Range { min: (self.least - zero_point) * scale, max: (self.greatest - zero_point) * scale, scale }
    }
}

/// The values between `min` and `max`, `scale` apart.
struct Range {
    min: f32,
    max: f32,
    scale: f32,
}

impl Range {
    fn round(&self, x: f32) -> f32 {
        let shifted = x.max(self.min).min(self.max) - self.min;
        (shifted * (1.0 / self.scale) + 0.5).floor() * self.scale + self.min
    }

    fn contains(&self, x: f32) -> bool {
        x >= self.min && x <= self.max
    }
}

/// Returns the range in the attributes.
fn attributes(init: &KernelInit<'_>) -> Result<Range> {
    let (min, max): (f32, f32) = (init.attrs.get_or("min", -6.0)?, init.attrs.get_or("max", 6.0)?);
    if !(min < max) {
        bail!(InvalidArgument, "min has to be smaller than max, was: {min} >= {max}");
    }
    Ok(Levels::new(init)?.nudged(min, max))
}

/// Returns a tensor of the shape of `x` whose elements `f` computes.
fn map(alloc: &Allocator, x: &Tensor, f: impl Fn(usize, f32) -> f32) -> Result<Tensor> {
    let mut out = alloc.uninit(DType::F32, x.shape().clone())?;
    let target = out.as_mut_slice::<f32>()?;
    target.iter_mut().zip(x.as_slice::<f32>()?).enumerate().for_each(|(i, (out, &x))| *out = f(i, x));
    Ok(out)
}

fn make_args(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let range = attributes(init)?;
    linear_from_fn(init, move |ctx| {
        let out = map(ctx.allocator(), ctx.input(0)?, |_, x| range.round(x))?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_args_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let range = attributes(init)?;
    linear_from_fn(init, move |ctx| {
        let (gradient, input) = (ctx.input(0)?, ctx.input(1)?);
        same_size(gradient, input)?;
        let x = input.as_slice::<f32>()?;
        let out = map(ctx.allocator(), gradient, |i, g| if range.contains(x[i]) { g } else { 0.0 })?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn same_size(gradient: &Tensor, input: &Tensor) -> Result<()> {
    if gradient.shape() != input.shape() {
        bail!(InvalidArgument, "gradient and input must be the same size");
    }
    Ok(())
}

/// Returns the ranges in two inputs from `at` on: one, or one for each index of the input's last dimension. If both limits are zero, there is no range.
fn ranges(ctx: &KernelContext<'_>, at: usize, levels: Levels, input: &Shape, per_channel: bool) -> Result<Vec<Option<Range>>> {
    let depth = match (per_channel, input.last()) {
        (true, Some(&depth)) => depth,
        (true, None) => bail!(InvalidArgument, "inputs must be at least rank 1"),
        (false, _) => 1,
    };
    let (min, max) = (ctx.input(at)?, ctx.input(at + 1)?);
    for (name, tensor) in [("min", min), ("max", max)] {
        if tensor.rank() != usize::from(per_channel) {
            bail!(InvalidArgument, "`{name}` must be rank {} but is rank {}", usize::from(per_channel), tensor.rank());
        }
        if tensor.num_elements() != depth {
            bail!(InvalidArgument, "{name} has incorrect size, expected {depth} was {}", tensor.num_elements());
        }
    }
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
        same_size(gradient, input)?;
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
