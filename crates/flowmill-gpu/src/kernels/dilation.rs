//! `Dilation2D`, the maximum of sums with a filter, and its gradients.

use super::pool::window_words;
use super::types::FLOATS;
use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::dilation::{geometry, window};
use flowmill_kernels::from_fn::from_fn;
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
        let w = window(&geometry, input.shape(), filter.shape())?;
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
