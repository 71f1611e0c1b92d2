//! `Dilation2D`, the maximum of sums with a filter, and its gradients.

use super::pool::window_words;
use super::types::FLOATS;
use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::window::Geometry;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, SmallVec, bail};
use std::sync::Arc;

const TEXT: &str = concat!(include_str!("window.cu"), include_str!("dilation.cu"));
/// The number of threads that share the positions for an element of a filter's gradient.
const THREADS: u32 = 256;

pub(super) fn register(registry: &mut KernelRegistry) {
    let dilation = |make| KernelDef::new(make).constrain("T", FLOATS);
    registry.register("Dilation2D", dilation(|init| make(init, Part::Output)));
    registry.register("Dilation2DBackpropFilter", dilation(|init| make(init, Part::FilterGradient)));
    registry.register("Dilation2DBackpropInput", dilation(|init| make(init, Part::InputGradient)));
}

/// The result that a kernel computes.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Output,
    InputGradient,
    FilterGradient,
}

fn geometry(init: &KernelInit<'_>) -> Result<Geometry> {
    let pair = |name: &str| -> Result<[usize; 2]> {
        let values: Vec<i64> = init.attrs.list(name)?;
        let &[1, height, width, 1] = &values[..] else {
            bail!(Unimplemented, "Stride and rates are only supported across spatial dimensions: {name} is {values:?}");
        };
        match (usize::try_from(height), usize::try_from(width)) {
            (Ok(h), Ok(w)) if h > 0 && w > 0 && h < 1 << 31 && w < 1 << 31 => Ok([h, w]),
            _ => bail!(InvalidArgument, "{name} should be positive: {values:?}"),
        }
    };
    let same = match init.attrs.get("padding")? {
        "SAME" => true,
        "VALID" => false,
        other => bail!(InvalidArgument, "Unknown padding type {other}"),
    };
    Ok(Geometry::of(pair("strides")?, pair("rates")?, same))
}

fn make(init: &KernelInit<'_>, part: Part) -> Result<Arc<dyn Kernel>> {
    let (geometry, dtype) = (geometry(init)?, init.dtype("T")?);
    let name = match part {
        Part::Output => "dilate",
        Part::InputGradient => "input_gradient",
        Part::FilterGradient => "filter_gradient",
    };
    let program = CompiledKernel::of(TEXT, name, dtype)?;
    from_fn(move |ctx| {
        let (input, filter) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let &[height, width, depth] = filter.shape().dims() else {
            bail!(InvalidArgument, "filter must be 3-dimensional: {}", filter.shape());
        };
        let w = geometry.window(input.shape(), height, width)?;
        if depth != w.channels {
            bail!(InvalidArgument, "input and filter must have the same depth: {} vs {depth}", w.channels);
        }
        let shape = Shape::from([w.batch, w.out_height, w.out_width, w.channels]);
        let gradient = match part {
            Part::Output => None,
            _ => Some(ctx.input(2)?.clone()),
        };
        if let Some(gradient) = gradient.as_ref().filter(|gradient| *gradient.shape() != shape) {
            bail!(InvalidArgument, "out_backprop has incompatible size: expected {shape}, got {}", gradient.shape());
        }
        let shape = match part {
            Part::Output => &shape,
            Part::InputGradient => input.shape(),
            Part::FilterGradient => filter.shape(),
        };
        let output = ctx.allocate_output(0, dtype, shape)?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let words = window_words(&w, 0, 0)?;
        let mut arguments: SmallVec<[Argument<'_>; 6]> = SmallVec::new();
        for tensor in [&output, &input, &filter].into_iter().chain(gradient.as_ref()) {
            arguments.push(Argument::Address(device.address(tensor)?));
        }
        arguments.extend([Argument::U32(word(n)?), Argument::Words(&words)]);
        let grid = match part {
            Part::FilterGradient => Grid { blocks: [word(n)?, 1, 1], threads: [THREADS, 1, 1] },
            _ => device.linear_grid(n),
        };
        program.launch(device, grid, &arguments)
    })
}
