//! `Conv3D`, `_FusedConv3D` and the gradients of `Conv3D`, as matrix products with rows of patches.

use super::epilogue::{self, Epilogue};
use super::im2col::{Im2Col, Windows};
use super::layout::in_any_layout;
use super::types::FLOATS;
use crate::compiled_kernel::word;
use crate::device::GpuDevice;
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::volume::{Axis, Steps, Volume, check_gradient, convolution, output_shape};
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, SmallVec, Tensor};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let conv = |make| KernelDef::new(make).constrain("T", FLOATS).channels_last();
    registry.register("Conv3D", conv(|init| in_any_layout(init, make)));
    registry.register("_FusedConv3D", conv(|init| in_any_layout(init, make)).fuses(epilogue::can_be));
    let gradient = conv(|init| in_any_layout(init, |init| make_gradient(init, Of::Input, Tensor::to_shape)));
    registry.register("Conv3DBackpropInputV2", gradient.host_memory("input_sizes"));
    let gradient = conv(|init| in_any_layout(init, |init| make_gradient(init, Of::Filter, Tensor::to_shape)));
    registry.register("Conv3DBackpropFilterV2", gradient.host_memory("filter_sizes"));
    let gradient = KernelDef::new(|init| make_gradient(init, Of::Input, |input| Ok(input.shape().clone())));
    registry.register("Conv3DBackpropInput", gradient.constrain("T", FLOATS));
    let gradient = KernelDef::new(|init| make_gradient(init, Of::Filter, |filter| Ok(filter.shape().clone())));
    registry.register("Conv3DBackpropFilter", gradient.constrain("T", FLOATS));
}

/// A function that returns the shape of a gradient from an input of the op: from its values, or for the first versions, whose input is the tensor
/// itself, from its shape.
type ShapeOf = fn(&Tensor) -> Result<Shape>;

impl Windows for Volume {
    const TO_ROWS: &'static str = concat!(include_str!("volume.cu"), include_str!("windows_to_rows.cu"));
    const FROM_ROWS: &'static str = concat!(include_str!("volume.cu"), include_str!("rows_to_windows.cu"));

    fn batch(&self) -> usize {
        self.batch
    }

    fn with_channels(&self, channels: usize) -> Volume {
        Volume { channels, ..*self }
    }

    fn channels(&self) -> usize {
        self.channels
    }

    fn num_pixels(&self) -> usize {
        self.axes.iter().map(|axis| axis.input).product()
    }

    fn num_windows(&self) -> usize {
        self.axes.iter().map(|axis| axis.output).product()
    }

    fn outermost(&self) -> Axis {
        self.axes[0]
    }

    fn taps(&self) -> usize {
        Volume::taps(self)
    }

    fn is_pointwise(&self) -> bool {
        self.axes.iter().all(|axis| axis.window == 1 && axis.stride == 1 && axis.pad == 0 && axis.output == axis.input)
    }

    fn words(&self) -> Result<SmallVec<[u32; 20]>> {
        let axis = |axis: &Axis| [axis.input, axis.window, axis.stride, axis.dilation, axis.pad, axis.output];
        // Kernels number pixels and positions in 32 bits.
        word(self.batch.saturating_mul(self.num_pixels().max(self.num_windows())))?;
        [self.batch, self.channels].into_iter().chain(self.axes.iter().flat_map(axis)).map(word).collect()
    }
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (steps, dtype) = (Steps::new(init)?, init.dtype("T")?);
    let im2col = Im2Col::new::<Volume>(dtype)?;
    let epilogue = if init.attrs.contains("fused_ops") { Some(Epilogue::new(init, dtype)?) } else { None };
    from_fn(move |ctx| {
        let (input, filter) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let (volume, n) = convolution(steps, input.shape(), filter.shape())?;
        let output = ctx.allocate_output(0, dtype, &output_shape(&volume, n))?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        match volume.row() {
            0 => device.gpu().fill(to, 0, output.num_bytes())?,
            _ => im2col.forward(device, &volume, n, [device.address(&input)?, device.address(&filter)?, to])?,
        }
        epilogue.as_ref().map_or(Ok(()), |epilogue| epilogue.apply(ctx, device, &output))
    })
}

/// The tensor that a gradient is of.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Input,
    Filter,
}

/// Makes the kernel of a gradient. `shape_of` reads the shape of the gradient from the input of the op that is in its place.
fn make_gradient(init: &KernelInit<'_>, of: Of, shape_of: ShapeOf) -> Result<Arc<dyn Kernel>> {
    let (steps, dtype) = (Steps::new(init)?, init.dtype("T")?);
    let im2col = Im2Col::new::<Volume>(dtype)?;
    from_fn(move |ctx| {
        let (input, filter, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?.clone());
        let (input_shape, filter_shape, other) = match of {
            Of::Input => (shape_of(input)?, filter.shape().clone(), filter.clone()),
            Of::Filter => (input.shape().clone(), shape_of(filter)?, input.clone()),
        };
        let (volume, n) = convolution(steps, &input_shape, &filter_shape)?;
        check_gradient(&volume, n, gradient.shape())?;
        let shape = if of == Of::Input { &input_shape } else { &filter_shape };
        let output = ctx.allocate_output(0, dtype, shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        if gradient.num_elements() == 0 {
            return device.gpu().fill(to, 0, output.num_bytes());
        }
        let addresses = [device.address(&other)?, device.address(&gradient)?, to];
        match of {
            Of::Input => im2col.backward_input(device, &volume, n, addresses),
            Of::Filter => im2col.backward_filter(device, &volume, n, addresses),
        }
    })
}
