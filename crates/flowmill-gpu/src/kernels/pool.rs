//! `MaxPool`, `AvgPool` and their gradients, and the forms whose windows are inputs or whose second output are positions.

use super::layout::in_any_layout;
use super::types::{FLOATS, INDICES};
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use crate::text::element_name;
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::window::{Geometry, Window};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let pool = |make| KernelDef::new(make).constrain("T", FLOATS).channels_last();
    registry.register("AvgPool", pool(|init| in_any_layout(init, |init| make(init, "average_pool"))));
    registry.register("AvgPoolGrad", pool(|init| in_any_layout(init, make_average_gradient)).host_memory("orig_input_shape"));
    registry.register("MaxPool", pool(|init| in_any_layout(init, |init| make(init, "max_pool"))));
    registry.register("MaxPoolGrad", pool(|init| in_any_layout(init, make_max_gradient)));
    registry.register("MaxPoolGradGrad", pool(|init| in_any_layout(init, make_max_gradient_gradient)));
    let sized = |make| pool(make).host_memory("ksize").host_memory("strides");
    registry.register("MaxPoolV2", sized(|init| in_any_layout(init, |init| make(init, "max_pool"))));
    registry.register("MaxPoolGradV2", sized(|init| in_any_layout(init, make_max_gradient)));
    registry.register("MaxPoolGradGradV2", sized(|init| in_any_layout(init, make_max_gradient_gradient)));
    let positions = |make| KernelDef::new(make).constrain("T", FLOATS).constrain("Targmax", INDICES);
    registry.register("MaxPoolWithArgmax", positions(make_with_positions));
    registry.register("MaxPoolGradWithArgmax", positions(make_gradient_with_positions));
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

/// The windows of a node: those of its attributes, or of each call.
struct Pools {
    op: String,
    fixed: Option<Pool>,
    geometry: Geometry,
}

impl Pools {
    fn new(init: &KernelInit<'_>) -> Result<Pools> {
        let geometry = Geometry::new(init)?;
        let op = init.op_def.name.clone();
        let fixed = match init.attrs.contains("ksize") {
            true => Some(Pool::new(&op, &init.attrs.list::<i64>("ksize")?, geometry.clone())?),
            false => None,
        };
        Ok(Pools { op, fixed, geometry })
    }

    /// Returns the window of one call, whose sizes and strides are the inputs from `at` on, and its result's shape.
    fn window(&self, ctx: &KernelContext<'_>, at: usize, input: &Shape) -> Result<(Window, Shape)> {
        if let Some(pool) = &self.fixed {
            return pool.window(input);
        }
        for (input, name) in [(at, "ksize"), (at + 1, "strides")] {
            let tensor = ctx.input(input)?;
            if tensor.rank() != 1 || tensor.num_elements() != 4 {
                bail!(InvalidArgument, "Sliding window {name} field must specify 4 dimensions");
            }
        }
        let (sizes, strides) = (ctx.input(at)?.to_i64_vec()?, ctx.input(at + 1)?.to_i64_vec()?);
        Pool::new(&self.op, &sizes, self.geometry.with_strides(&self.op, &strides)?)?.window(input)
    }
}

impl Pool {
    fn new(op: &str, sizes: &[i64], geometry: Geometry) -> Result<Pool> {
        let &[batch, height, width, depth] = sizes else {
            bail!(InvalidArgument, "Sliding window ksize field must specify 4 dimensions");
        };
        if batch != 1 {
            bail!(Unimplemented, "{op}: Pooling is not yet supported on the batch dimension.");
        }
        if depth != 1 {
            bail!(Unimplemented, "{op}: pooling over depth is not supported");
        }
        let size = |n: i64| match usize::try_from(n) {
            Ok(n) if n > 0 && n < 1 << 31 => Ok(n),
            _ => bail!(InvalidArgument, "Sliding window ksize for dimension must be positive, got {sizes:?}"),
        };
        Ok(Pool { geometry, height: size(height)?, width: size(width)? })
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
    let pools = Pools::new(init)?;
    let dtype: DType = init.dtype("T")?;
    let program = CompiledKernel::of(TEXT, name, dtype)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let (window, shape) = pools.window(ctx, 1, input.shape())?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &window, &output, &[&input])
    })
}

fn make_max_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pools = Pools::new(init)?;
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(TEXT, "max_pool_gradient", dtype)?;
    from_fn(move |ctx| {
        let (input, output, gradient) = (ctx.input(0)?.clone(), ctx.input(1)?, ctx.input(2)?.clone());
        let (window, shape) = pools.window(ctx, 3, input.shape())?;
        if *output.shape() != shape || *gradient.shape() != shape {
            bail!(InvalidArgument, "Expected orig_output and grad of shape {shape}, but got {} and {}", output.shape(), gradient.shape());
        }
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &window, &output, &[&input, &gradient])
    })
}

/// Makes the kernel of `MaxPoolGradGrad`: the gradients of the input at the greatest elements of the windows.
fn make_max_gradient_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pools = Pools::new(init)?;
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(TEXT, "max_pool_gradient_gradient", dtype)?;
    from_fn(move |ctx| {
        let (input, output, gradient) = (ctx.input(0)?.clone(), ctx.input(1)?, ctx.input(2)?.clone());
        let (window, shape) = pools.window(ctx, 3, input.shape())?;
        if *output.shape() != shape {
            bail!(InvalidArgument, "Expected orig_output shape to be {shape}, but got {}", output.shape());
        }
        if gradient.shape() != input.shape() {
            bail!(InvalidArgument, "Expected grad shape to be {}, but got {}", input.shape(), gradient.shape());
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &window, &output, &[&input, &gradient])
    })
}

fn program_with_positions(init: &KernelInit<'_>, name: &'static str) -> Result<CompiledKernel> {
    let [element, compute] = element_types(init.dtype("T")?)?;
    let index = init.dtype("Targmax")?;
    let index = element_name(index).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {index}"))?;
    let text = concat!(include_str!("window.cu"), include_str!("pool.cu"), include_str!("pool_positions.cu"));
    Ok(CompiledKernel::new(text, name, &[element, compute, ("I", index)]))
}

fn make_with_positions(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (pools, dtype, index) = (Pools::new(init)?, init.dtype("T")?, init.dtype("Targmax")?);
    let with_batch: bool = init.attrs.get_or("include_batch_in_index", false)?;
    let program = program_with_positions(init, "max_pool_with_positions")?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let (window, shape) = pools.window(ctx, 1, input.shape())?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let positions = ctx.allocate_output(1, index, &shape)?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let words = window_words(&window, 0, 0)?;
        let [to, at, from] = [device.address(&output)?, device.address(&positions)?, device.address(&input)?].map(Argument::Address);
        let arguments = [to, at, from, Argument::U32(word(n)?), Argument::U32(with_batch.into()), Argument::Words(&words)];
        program.launch(device, device.linear_grid(n), &arguments)
    })
}

/// Makes the kernel of `MaxPoolGradWithArgmax`. A position outside of its window has no effect: an error would have to wait for the GPU.
fn make_gradient_with_positions(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (pools, dtype) = (Pools::new(init)?, init.dtype("T")?);
    let with_batch: bool = init.attrs.get_or("include_batch_in_index", false)?;
    let program = program_with_positions(init, "max_pool_gradient_with_positions")?;
    from_fn(move |ctx| {
        let (input, gradient, positions) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let (window, shape) = pools.window(ctx, 3, input.shape())?;
        if *gradient.shape() != shape {
            bail!(InvalidArgument, "Expected grad shape to be {shape}, but got {}", gradient.shape());
        }
        if *positions.shape() != shape {
            bail!(InvalidArgument, "Expected argmax shape to be {shape}, but got {}", positions.shape());
        }
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let words = window_words(&window, 0, 0)?;
        let addresses = [device.address(&output)?, device.address(&gradient)?, device.address(&positions)?];
        let [to, from, at] = addresses.map(Argument::Address);
        let arguments = [to, from, at, Argument::U32(word(n)?), Argument::U32(with_batch.into()), Argument::Words(&words)];
        program.launch(device, device.linear_grid(n), &arguments)
    })
}

fn make_average_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pools = Pools::new(init)?;
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(TEXT, "average_pool_gradient", dtype)?;
    from_fn(move |ctx| {
        let (shape, gradient) = (ctx.input(0)?.to_shape()?, ctx.input(1)?.clone());
        let (window, expected) = pools.window(ctx, 2, &shape)?;
        if *gradient.shape() != expected {
            bail!(InvalidArgument, "Expected grad of shape {expected}, but got {}", gradient.shape());
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        // The input's values do not matter.
        launch(GpuDevice::of(ctx.device())?, &program, &window, &output, &[&gradient, &gradient])
    })
}
