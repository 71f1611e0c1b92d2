//! `MaxPool`, `AvgPool` and their gradients.

use super::layout::in_any_layout;
use super::types::FLOATS;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::window::{Geometry, Window};
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let pool = |make| KernelDef::new(make).constrain("T", FLOATS);
    registry.register("AvgPool", pool(|init| in_any_layout(init, |init| make(init, "average_pool"))));
    registry.register("AvgPoolGrad", pool(|init| in_any_layout(init, make_average_gradient)).host_memory("orig_input_shape"));
    registry.register("MaxPool", pool(|init| in_any_layout(init, |init| make(init, "max_pool"))));
    registry.register("MaxPoolGrad", pool(|init| in_any_layout(init, make_max_gradient)));
}

/// The definitions of windows, which precede the kernels.
const TEXT: &str = concat!(include_str!("window.cu"), include_str!("pool.cu"));

/// Returns the words of the structure `Window` of kernels, for filters from `depth` to `out_channels` channels.
pub(super) fn window_words(w: &Window, depth: usize, out_channels: usize) -> Result<[u32; 16]> {
    let sizes = [
        w.batch,
        w.in_height,
        w.in_width,
        w.channels,
        w.height,
        w.width,
        w.stride_height,
        w.stride_width,
        w.dilation_height,
        w.dilation_width,
        w.pad_top,
        w.pad_left,
        w.out_height,
        w.out_width,
        depth,
        out_channels,
    ];
    let mut words = [0; 16];
    for (word_of, size) in words.iter_mut().zip(sizes) {
        *word_of = word(size)?;
    }
    word(w.positions())?;
    Ok(words)
}

/// The window of the attribute `ksize`.
struct Pool {
    geometry: Geometry,
    height: usize,
    width: usize,
}

impl Pool {
    fn new(init: &KernelInit<'_>) -> Result<Pool> {
        let sizes = init.attrs.list::<i64>("ksize")?;
        let &[batch, height, width, depth] = &sizes[..] else {
            bail!(InvalidArgument, "Sliding window ksize field must specify 4 dimensions");
        };
        if batch != 1 {
            bail!(Unimplemented, "{}: Pooling is not yet supported on the batch dimension.", init.op_def.name);
        }
        if depth != 1 {
            bail!(Unimplemented, "{}: pooling over depth is not supported", init.op_def.name);
        }
        let size = |n: i64| match usize::try_from(n) {
            Ok(n) if n > 0 && n < 1 << 31 => Ok(n),
            _ => bail!(InvalidArgument, "Sliding window ksize for dimension must be positive, got {sizes:?}"),
        };
        Ok(Pool { geometry: Geometry::new(init)?, height: size(height)?, width: size(width)? })
    }

    fn window(&self, input: &Shape) -> Result<(Window, Shape)> {
        if input.rank() != 4 {
            bail!(InvalidArgument, "tensor_in must be 4-dimensional, got {input}");
        }
        let window = self.geometry.window(input, self.height, self.width)?;
        let shape = Shape::from([window.batch, window.out_height, window.out_width, window.channels]);
        Ok((window, shape))
    }
}

/// Enqueues a kernel with a thread for each element of `output`.
fn launch(device: &GpuDevice, program: &CompiledKernel, window: &Window, output: &Tensor, inputs: &[&Tensor]) -> Result<()> {
    let n = output.num_elements();
    if n == 0 {
        return Ok(());
    }
    let words = window_words(window, 0, 0)?;
    let mut arguments = vec![Argument::Address(device.address(output)?)];
    for input in inputs {
        arguments.push(Argument::Address(device.address(input)?));
    }
    arguments.extend([Argument::U32(word(n)?), Argument::Words(&words)]);
    program.launch(device, device.linear_grid(n), &arguments)
}

fn make(init: &KernelInit<'_>, name: &'static str) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    let dtype: DType = init.dtype("T")?;
    let program = CompiledKernel::of(TEXT, name, dtype)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let (window, shape) = pool.window(input.shape())?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &window, &output, &[&input])
    })
}

fn make_max_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(TEXT, "max_pool_gradient", dtype)?;
    from_fn(move |ctx| {
        let (input, output, gradient) = (ctx.input(0)?.clone(), ctx.input(1)?, ctx.input(2)?.clone());
        let (window, shape) = pool.window(input.shape())?;
        if *output.shape() != shape || *gradient.shape() != shape {
            bail!(InvalidArgument, "Expected orig_output and grad of shape {shape}, but got {} and {}", output.shape(), gradient.shape());
        }
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &window, &output, &[&input, &gradient])
    })
}

fn make_average_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(TEXT, "average_pool_gradient", dtype)?;
    from_fn(move |ctx| {
        let (shape, gradient) = (ctx.input(0)?.to_shape()?, ctx.input(1)?.clone());
        let (window, expected) = pool.window(&shape)?;
        if *gradient.shape() != expected {
            bail!(InvalidArgument, "Expected grad of shape {expected}, but got {}", gradient.shape());
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        // The input's values do not matter.
        launch(GpuDevice::of(ctx.device())?, &program, &window, &output, &[&gradient, &gradient])
    })
}
