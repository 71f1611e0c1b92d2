//! `Conv2D`, `DepthwiseConv2dNative`, and their gradients.
//!
//! A convolution is a matrix product with rows of patches. Convolutions in groups, of which the depthwise ones are the most usual, are computed directly.

use super::epilogue::{self, Epilogue};
use super::im2col::{Im2Col, Windows};
use super::layout::in_any_layout;
use super::library_conv::LibraryConvolver;
use super::pool::window_words;
use super::types::FLOATS;
use crate::backend::{self, Activation, Address, ConvolutionResult, Grid};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::volume::Axis;
use flowmill_kernels::window::{Geometry, Window};
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail};
use std::sync::Arc;

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
}

impl Windows for Window {
    const TO_ROWS: &'static str = concat!(include_str!("window.cu"), include_str!("windows_to_rows.cu"));
    const FROM_ROWS: &'static str = concat!(include_str!("window.cu"), include_str!("rows_to_windows.cu"));

    fn batch(&self) -> usize {
        self.batch
    }

    fn with_channels(&self, channels: usize) -> Window {
        Window { channels, ..*self }
    }

    fn channels(&self) -> usize {
        self.channels
    }

    fn num_pixels(&self) -> usize {
        self.in_height * self.in_width
    }

    fn num_windows(&self) -> usize {
        self.out_height * self.out_width
    }

    fn outermost(&self) -> Axis {
        let w = self;
        Axis {
            input: w.in_height,
            window: w.height,
            stride: w.stride_height,
            dilation: w.dilation_height,
            pad: w.pad_top,
            output: w.out_height,
        }
    }

    fn taps(&self) -> usize {
        self.height * self.width
    }

    fn is_pointwise(&self) -> bool {
        [self.height, self.width, self.stride_height, self.stride_width] == [1; 4]
            && [self.pad_top, self.pad_left] == [0; 2]
            && [self.out_height, self.out_width] == [self.in_height, self.in_width]
    }

    fn words(&self) -> Result<SmallVec<[u32; 20]>> {
        Ok(SmallVec::from_slice(&window_words(self, 0, 0)?))
    }
}

/// The kernels of convolutions of one type.
struct Convolver {
    dtype: DType,
    /// The convolutions by a library, unless they are depthwise.
    library: Option<LibraryConvolver>,
    im2col: Im2Col,
    grouped: CompiledKernel,
    input_gradient: CompiledKernel,
    filter_gradient: CompiledKernel,
    sum_parts: CompiledKernel,
}

impl Convolver {
    fn new(init: &KernelInit<'_>, kind: Kind) -> Result<Convolver> {
        let dtype = init.dtype("T")?;
        let library = match kind {
            Kind::Full => Some(LibraryConvolver::new(dtype, init.constant(1).is_some())?),
            Kind::Depthwise => None,
        };
        let program = |name| CompiledKernel::of(TEXT, name, dtype);
        Ok(Convolver {
            dtype,
            library,
            im2col: Im2Col::new::<Window>(dtype)?,
            grouped: program("grouped")?,
            input_gradient: program("grouped_input_gradient")?,
            filter_gradient: program("grouped_filter_gradient")?,
            sum_parts: program("sum_parts")?,
        })
    }

    /// Enqueues a kernel with a thread for each element of a result.
    fn each(&self, device: &GpuDevice, program: &CompiledKernel, extent: &Extent, n: usize, addresses: [Address; 3]) -> Result<()> {
        let words = extent.words()?;
        let [to, a, b] = addresses.map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, a, b, Argument::U32(word(n)?), Argument::Words(&words)])
    }

    /// Enqueues a convolution or a gradient with a library. Returns false if no library computes it.
    fn by_library(
        &self,
        device: &GpuDevice,
        extent: &Extent,
        result: ConvolutionResult,
        addresses: [Address; 3],
        epilogue: Option<(Address, Activation)>,
    ) -> Result<bool> {
        let Some(library) = &self.library else { return Ok(false) };
        library.convolve(device, &extent.window, [extent.depth, extent.out_channels], result, addresses, epilogue)
    }

    fn forward(&self, device: &GpuDevice, extent: &Extent, addresses: [Address; 3]) -> Result<()> {
        if self.by_library(device, extent, ConvolutionResult::Output, addresses, None)? {
            return Ok(());
        }
        if extent.is_grouped() {
            let [input, filter, output] = addresses;
            return self.each(device, &self.grouped, extent, extent.output().num_elements(), [output, input, filter]);
        }
        self.im2col.forward(device, &extent.window, extent.out_channels, addresses)
    }

    fn backward_input(&self, device: &GpuDevice, extent: &Extent, addresses: [Address; 3]) -> Result<()> {
        let [filter, gradient, output] = addresses;
        if self.by_library(device, extent, ConvolutionResult::InputGradient, [output, filter, gradient], None)? {
            return Ok(());
        }
        if extent.is_grouped() {
            return self.each(device, &self.input_gradient, extent, extent.window.input_len(), [output, filter, gradient]);
        }
        self.im2col.backward_input(device, &extent.window, extent.out_channels, addresses)
    }

    fn backward_filter(&self, device: &GpuDevice, extent: &Extent, addresses: [Address; 3]) -> Result<()> {
        let [input, gradient, output] = addresses;
        if self.by_library(device, extent, ConvolutionResult::FilterGradient, [input, output, gradient], None)? {
            return Ok(());
        }
        if extent.is_grouped() {
            return self.grouped_filter_gradient(device, extent, addresses);
        }
        self.im2col.backward_filter(device, &extent.window, extent.out_channels, addresses)
    }

    fn grouped_filter_gradient(&self, device: &GpuDevice, extent: &Extent, [input, gradient, output]: [Address; 3]) -> Result<()> {
        let n = extent.window.height * extent.window.width * extent.depth * extent.out_channels;
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
    let convolver = Convolver::new(init, kind)?;
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
        if extent.window.row() == 0 {
            device.gpu().fill(to, 0, output.num_bytes())?;
        } else {
            let addresses = [device.address(&input)?, device.address(&filter)?, to];
            let of_library = match &epilogue {
                Some(epilogue) => epilogue.for_library(ctx, device, extent.out_channels)?,
                None => None,
            };
            // The library has a bias alone, or one and a ReLU.
            if let Some(backend::Epilogue { bias: Some(bias), activation }) = of_library
                && matches!(activation, Activation::Identity | Activation::Relu)
                && convolver.by_library(device, &extent, ConvolutionResult::Output, addresses, Some((bias, activation)))?
            {
                return Ok(());
            }
            convolver.forward(device, &extent, addresses)?;
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
    let convolver = Convolver::new(init, kind)?;
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
    let convolver = Convolver::new(init, kind)?;
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
