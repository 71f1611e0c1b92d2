//! `Conv2D`, `DepthwiseConv2dNative`, and their gradients.
//!
//! A convolution is a matrix product with a row for the elements under each window ("im2col"), a few images at a time. Convolutions in groups, of which
//! the depthwise ones are the most usual, are computed directly.

use super::epilogue::{self, Epilogue};
use super::layout::in_any_layout;
use super::matmul;
use super::pool::window_words;
use super::types::{FLOATS, WORDS};
use crate::backend::{Address, Gemm, Grid};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::window::{Geometry, Window};
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

/// The rows of a product may take this many bytes, unless one image takes more.
const ROW_BYTES: usize = 256 << 20;
/// A product has at most this many rows.
const MOST_ROWS: usize = 4 << 20;
/// The least number of positions of which a block sums an element of a filter's gradient.
const LEAST_PART: usize = 512;
/// The most parts of a filter's gradient.
const MOST_PARTS: usize = 64;

const TEXT: &str = concat!(include_str!("window.cu"), include_str!("conv.cu"));

pub(super) fn register(registry: &mut KernelRegistry) {
    // Images with channels first are transposed: the optimizer moves the transposes out of chains of such nodes.
    let conv = |make| KernelDef::new(make).constrain("T", FLOATS).channels_last();
    registry.register("Conv2D", conv(|init| in_any_layout(init, |init| make(init, Kind::Full))));
    registry.register(
        "Conv2DBackpropInput",
        conv(|init| in_any_layout(init, |init| make_input_gradient(init, Kind::Full))).host_memory("input_sizes"),
    );
    registry.register(
        "Conv2DBackpropFilter",
        conv(|init| in_any_layout(init, |init| make_filter_gradient(init, Kind::Full))).host_memory("filter_sizes"),
    );
    let fused = conv(|init| in_any_layout(init, |init| make(init, Kind::Full))).fuses(epilogue::can_be);
    registry.register("_FusedConv2D", fused);
    let fused = conv(|init| in_any_layout(init, |init| make(init, Kind::Depthwise))).fuses(epilogue::can_be_without_residual);
    registry.register("_FusedDepthwiseConv2dNative", fused);
    registry.register("DepthwiseConv2dNative", conv(|init| in_any_layout(init, |init| make(init, Kind::Depthwise))));
    let gradient = conv(|init| in_any_layout(init, |init| make_input_gradient(init, Kind::Depthwise)));
    registry.register("DepthwiseConv2dNativeBackpropInput", gradient.host_memory("input_sizes"));
    let gradient = conv(|init| in_any_layout(init, |init| make_filter_gradient(init, Kind::Depthwise)));
    registry.register("DepthwiseConv2dNativeBackpropFilter", gradient.host_memory("filter_sizes"));
}

/// The meaning of a filter's last two dimensions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The channels that are read, and those that are written.
    Full,
    /// The channels of the input, and the number of output channels for each.
    Depthwise,
}

/// A convolution of certain shapes: the window, the channels that each output channel reads, and the output channels.
struct Extent {
    window: Window,
    depth: usize,
    out_channels: usize,
}

impl Extent {
    fn new(kind: Kind, geometry: &Geometry, input: &Shape, filter: &Shape) -> Result<Extent> {
        let &[height, width, depth, last] = filter.dims() else {
            bail!(InvalidArgument, "filter must be 4-dimensional: {filter}");
        };
        if input.rank() != 4 {
            bail!(InvalidArgument, "input must be 4-dimensional{input}");
        }
        let channels = input[3];
        if kind == Kind::Depthwise {
            if depth != channels {
                bail!(InvalidArgument, "input and filter must have the same depth: {channels} vs {depth}");
            }
            let Some(out_channels) = channels.checked_mul(last) else { bail!(InvalidArgument, "filter {filter} is too large") };
            return Ok(Extent { window: geometry.window(input, height, width)?, depth: 1, out_channels });
        }
        if depth == 0 || !channels.is_multiple_of(depth) {
            bail!(InvalidArgument, "input depth must be evenly divisible by filter depth: {channels} vs {depth}");
        }
        let groups = channels / depth;
        if groups > 0 && !last.is_multiple_of(groups) {
            bail!(InvalidArgument, "output depth must be evenly divisible by number of groups: {last} vs {groups}");
        }
        Ok(Extent { window: geometry.window(input, height, width)?, depth, out_channels: last })
    }

    fn output(&self) -> Shape {
        Shape::from([self.window.batch, self.window.out_height, self.window.out_width, self.out_channels])
    }

    fn check_gradient(&self, gradient: &Shape) -> Result<()> {
        let expected = self.output();
        if *gradient != expected {
            bail!(InvalidArgument, "Conv2DBackprop: the gradient's shape is {gradient}, but the convolution's output is {expected}");
        }
        Ok(())
    }

    fn words(&self) -> Result<[u32; 16]> {
        window_words(&self.window, self.depth, self.out_channels)
    }

    fn is_grouped(&self) -> bool {
        self.depth != self.window.channels
    }

    /// Returns true if the input itself has the rows of the product.
    fn is_pointwise(&self) -> bool {
        let w = &self.window;
        [w.height, w.width, w.stride_height, w.stride_width] == [1; 4]
            && [w.pad_top, w.pad_left] == [0; 2]
            && [w.out_height, w.out_width] == [w.in_height, w.in_width]
    }

    /// The number of elements under a window.
    fn row(&self) -> usize {
        self.window.height * self.window.width * self.window.channels
    }

    fn positions_per_image(&self) -> usize {
        self.window.out_height * self.window.out_width
    }

    /// Returns the number of images whose rows are computed at once.
    fn images_at_once(&self, element_size: usize) -> usize {
        let rows = self.positions_per_image().max(1);
        let bytes = if self.is_pointwise() { 1 } else { (rows * self.row() * element_size).max(1) };
        (ROW_BYTES / bytes).min(MOST_ROWS / rows).clamp(1, self.window.batch.max(1))
    }
}

/// The kernels of convolutions of one type.
struct Convolver {
    dtype: DType,
    size: usize,
    /// The copies of words of each size in `WORDS`.
    to_rows: [CompiledKernel; WORDS.len()],
    from_rows: CompiledKernel,
    grouped: CompiledKernel,
    input_gradient: CompiledKernel,
    filter_gradient: CompiledKernel,
    sum_parts: CompiledKernel,
}

/// Some of the images of a convolution: the first one's number, and the window over them.
struct Images {
    first: usize,
    extent: Extent,
}

impl Convolver {
    fn new(dtype: DType) -> Result<Convolver> {
        let program = |name| CompiledKernel::of(TEXT, name, dtype);
        let size = dtype.size().ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {dtype}"))?;
        Ok(Convolver {
            dtype,
            size,
            to_rows: WORDS.map(|element| CompiledKernel::new(include_str!("window.cu"), "windows_to_rows", &[("T", element)])),
            from_rows: program("rows_to_windows")?,
            grouped: program("grouped")?,
            input_gradient: program("grouped_input_gradient")?,
            filter_gradient: program("grouped_filter_gradient")?,
            sum_parts: program("sum_parts")?,
        })
    }

    /// Returns the parts of a convolution whose rows are computed at once.
    fn parts<'a>(&self, extent: &'a Extent) -> impl Iterator<Item = Images> + 'a {
        let at_once = extent.images_at_once(self.size);
        (0..extent.window.batch).step_by(at_once).map(move |first| {
            let window = Window { batch: at_once.min(extent.window.batch - first), ..extent.window };
            Images { first, extent: Extent { window, depth: extent.depth, out_channels: extent.out_channels } }
        })
    }

    /// Allocates the rows of some images.
    fn rows(&self, device: &GpuDevice, images: &Images) -> Result<Tensor> {
        device.allocate(self.dtype, &Shape::new(&[images.extent.window.positions(), images.extent.row()]))
    }

    /// Returns the address of the first of some images.
    fn image(&self, images: &Images, base: Address) -> Address {
        let w = &images.extent.window;
        base.offset(images.first * w.in_height * w.in_width * w.channels * self.size)
    }

    /// Returns the address of the outputs of the first of some images.
    fn result(&self, images: &Images, base: Address) -> Address {
        base.offset(images.first * images.extent.positions_per_image() * images.extent.out_channels * self.size)
    }

    /// Returns the address of the product's rows of some images, which are the input's own pixels, or copied to a scratch tensor.
    fn load_rows(&self, device: &GpuDevice, images: &Images, input: Address) -> Result<(Address, Option<Tensor>)> {
        let from = self.image(images, input);
        if images.extent.is_pointwise() {
            return Ok((from, None));
        }
        let rows = self.rows(device, images)?;
        let (to, n) = (device.address(&rows)?, rows.num_elements());
        // Channels are copied in words of up to 16 bytes.
        let channels = images.extent.window.channels;
        let fits = |run: &usize| channels.is_multiple_of(*run) && from.0.is_multiple_of((run * self.size) as u64);
        let run = [8, 4, 2].into_iter().filter(|run| run * self.size <= 16).find(fits).unwrap_or(1);
        let window = Window { channels: channels / run, ..images.extent.window };
        let (words, n) = (window_words(&window, 0, 0)?, n / run);
        let arguments = [Argument::Address(to), Argument::Address(from), Argument::U32(word(n)?), Argument::Words(&words)];
        self.to_rows[(run * self.size).ilog2() as usize].launch(device, device.linear_grid(n), &arguments)?;
        Ok((to, Some(rows)))
    }

    fn gemm(&self, device: &GpuDevice, (m, n, k): (usize, usize, usize), transposed: [bool; 2], matrices: [Address; 3]) -> Result<()> {
        let gemm = Gemm {
            dtype: self.dtype,
            m,
            n,
            k,
            transpose_a: transposed[0],
            transpose_b: transposed[1],
            matrices,
            batch: 1,
            strides: [0; 3],
            allow_tf32: device.options().allow_tf32,
        };
        matmul::run(device, &gemm)
    }

    /// Enqueues a kernel with a thread for each element of a result.
    fn each(&self, device: &GpuDevice, program: &CompiledKernel, extent: &Extent, n: usize, addresses: [Address; 3]) -> Result<()> {
        let words = extent.words()?;
        let [to, a, b] = addresses.map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, a, b, Argument::U32(word(n)?), Argument::Words(&words)])
    }

    fn forward(&self, device: &GpuDevice, extent: &Extent, [input, filter, output]: [Address; 3]) -> Result<()> {
        if extent.is_grouped() {
            return self.each(device, &self.grouped, extent, extent.output().num_elements(), [output, input, filter]);
        }
        for images in self.parts(extent) {
            let (rows, _scratch) = self.load_rows(device, &images, input)?;
            let sizes = (images.extent.window.positions(), extent.out_channels, extent.row());
            self.gemm(device, sizes, [false, false], [rows, filter, self.result(&images, output)])?;
        }
        Ok(())
    }

    fn backward_input(&self, device: &GpuDevice, extent: &Extent, [filter, gradient, output]: [Address; 3]) -> Result<()> {
        if extent.is_grouped() {
            return self.each(device, &self.input_gradient, extent, extent.window.input_len(), [output, filter, gradient]);
        }
        for images in self.parts(extent) {
            let sizes = (images.extent.window.positions(), extent.row(), extent.out_channels);
            let (from, to) = (self.result(&images, gradient), self.image(&images, output));
            if extent.is_pointwise() {
                self.gemm(device, sizes, [false, true], [from, filter, to])?;
                continue;
            }
            let rows = self.rows(device, &images)?;
            let at = device.address(&rows)?;
            self.gemm(device, sizes, [false, true], [from, filter, at])?;
            let (n, words) = (images.extent.window.input_len(), images.extent.words()?);
            let arguments = [Argument::Address(to), Argument::Address(at), Argument::U32(word(n)?), Argument::Words(&words)];
            self.from_rows.launch(device, device.linear_grid(n), &arguments)?;
        }
        Ok(())
    }

    fn backward_filter(&self, device: &GpuDevice, extent: &Extent, [input, gradient, output]: [Address; 3]) -> Result<()> {
        let n = extent.window.height * extent.window.width * extent.depth * extent.out_channels;
        if extent.is_grouped() {
            return self.grouped_filter_gradient(device, extent, n, [input, gradient, output]);
        }
        let images: Vec<Images> = self.parts(extent).collect();
        // Products of several parts are summed in the type of sums.
        let parts = match images.len() {
            1 => None,
            count => Some(device.allocate(self.dtype, &Shape::new(&[count, n]))?),
        };
        let base = parts.as_ref().map_or(Ok(output), |parts| device.address(parts))?;
        for (i, images) in images.iter().enumerate() {
            let (rows, _scratch) = self.load_rows(device, images, input)?;
            let sizes = (extent.row(), extent.out_channels, images.extent.window.positions());
            self.gemm(device, sizes, [true, false], [rows, self.result(images, gradient), base.offset(i * n * self.size)])?;
        }
        match parts {
            None => Ok(()),
            Some(parts) => {
                let plan = flowmill_kernels::axes::Plan::new(parts.shape(), &Tensor::vector(&[0i64])?, false)?;
                let sum = super::reduce::Reducer::new("Sum", self.dtype)?;
                sum.reduce_to(device, &parts, &plan, output)
            }
        }
    }

    fn grouped_filter_gradient(
        &self,
        device: &GpuDevice,
        extent: &Extent,
        n: usize,
        [input, gradient, output]: [Address; 3],
    ) -> Result<()> {
        let positions = extent.window.positions();
        let blocks = n.div_ceil(32);
        let wanted = (device.gpu().properties().multiprocessors as usize * 8).div_ceil(blocks);
        let parts = wanted.min(positions / LEAST_PART).clamp(1, MOST_PARTS);
        let part = positions.div_ceil(parts);
        let parts = positions.div_ceil(part);
        let scratch = device.allocate(DType::F64, &Shape::new(&[parts, n]))?;
        let words = extent.words()?;
        let [at, x, g] = [device.address(&scratch)?, input, gradient].map(Argument::Address);
        let grid = Grid { blocks: [word(blocks)?, parts as u32, 1], threads: [32, 8, 1] };
        let sizes = [Argument::U32(word(n)?), Argument::U32(word(part)?)];
        self.filter_gradient.launch(device, grid, &[at, x, g, sizes[0], sizes[1], Argument::Words(&words)])?;
        let arguments = [Argument::Address(output), at, sizes[0], Argument::U32(parts as u32)];
        self.sum_parts.launch(device, device.linear_grid(n), &arguments)
    }
}

fn make(init: &KernelInit<'_>, kind: Kind) -> Result<Arc<dyn Kernel>> {
    let geometry = Geometry::new(init)?;
    let convolver = Convolver::new(init.dtype("T")?)?;
    if init.attrs.get_or("num_host_args", 0i64)? != 0 {
        bail!(Unimplemented, "Fusion is not implemented: arguments in the host's memory");
    }
    let epilogue = if init.attrs.contains("fused_ops") { Some(Epilogue::new(init, convolver.dtype)?) } else { None };
    from_fn(move |ctx| {
        let (input, filter) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let extent = Extent::new(kind, &geometry, input.shape(), filter.shape())?;
        let output = ctx.allocate_output(0, convolver.dtype, &extent.output())?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        match extent.row() {
            0 => device.gpu().fill(to, 0, output.num_bytes())?,
            _ => convolver.forward(device, &extent, [device.address(&input)?, device.address(&filter)?, to])?,
        }
        epilogue.as_ref().map_or(Ok(()), |epilogue| epilogue.apply(ctx, device, &output))
    })
}

/// Returns the shape of the input, from its sizes, which may be only height and width.
fn input_shape(sizes: &Tensor, filter: &Shape, gradient: &Shape) -> Result<Shape> {
    if sizes.rank() != 1 {
        bail!(InvalidArgument, "input_sizes must be 1-dimensional, got {}", sizes.shape());
    }
    let sizes = sizes.to_shape()?;
    let is_short = sizes.rank() == 2 && gradient.rank() == 4 && filter.rank() == 4;
    Ok(if is_short { Shape::from([gradient[0], sizes[0], sizes[1], filter[2]]) } else { sizes })
}

fn make_input_gradient(init: &KernelInit<'_>, kind: Kind) -> Result<Arc<dyn Kernel>> {
    let geometry = Geometry::new(init)?;
    let convolver = Convolver::new(init.dtype("T")?)?;
    from_fn(move |ctx| {
        let (filter, gradient) = (ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let shape = input_shape(ctx.input(0)?, filter.shape(), gradient.shape())?;
        let extent = Extent::new(kind, &geometry, &shape, filter.shape())?;
        extent.check_gradient(gradient.shape())?;
        let output = ctx.allocate_output(0, convolver.dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        if gradient.num_elements() == 0 {
            return device.gpu().fill(to, 0, output.num_bytes());
        }
        convolver.backward_input(device, &extent, [device.address(&filter)?, device.address(&gradient)?, to])
    })
}

fn make_filter_gradient(init: &KernelInit<'_>, kind: Kind) -> Result<Arc<dyn Kernel>> {
    let geometry = Geometry::new(init)?;
    let convolver = Convolver::new(init.dtype("T")?)?;
    from_fn(move |ctx| {
        let (input, sizes, gradient) = (ctx.input(0)?.clone(), ctx.input(1)?, ctx.input(2)?.clone());
        if sizes.rank() != 1 {
            bail!(InvalidArgument, "filter_sizes must be 1-dimensional, got {}", sizes.shape());
        }
        let shape = sizes.to_shape()?;
        let extent = Extent::new(kind, &geometry, input.shape(), &shape)?;
        extent.check_gradient(gradient.shape())?;
        let output = ctx.allocate_output(0, convolver.dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        if gradient.num_elements() == 0 {
            return device.gpu().fill(to, 0, output.num_bytes());
        }
        convolver.backward_filter(device, &extent, [device.address(&input)?, device.address(&gradient)?, to])
    })
}
