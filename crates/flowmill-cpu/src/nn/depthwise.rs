//! `DepthwiseConv2dNative` and its gradients.

use super::conv::Fused;
use super::layout::in_any_layout;
use super::window::Geometry;
use crate::conv::Window;
use crate::conv::depthwise::{depthwise_backprop_filter, depthwise_backprop_input, depthwise_conv2d};
use crate::from_fn::{batched_from_fn, expensive_from_fn};
use crate::gemm::Epilogue;
use flowmill_runtime::{Cost, Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DepthwiseConv2dNative", |init| in_any_layout(init, |init| make(init, Fused::default())));
    registry.add("DepthwiseConv2dNativeBackpropFilter", |init| in_any_layout(init, make_backprop_filter));
    registry.add("DepthwiseConv2dNativeBackpropInput", |init| in_any_layout(init, make_backprop_input));
    registry.add("_FusedDepthwiseConv2dNative", |init| in_any_layout(init, |init| make(init, Fused::new(init)?)));
}

/// Checks the filter `[height, width, channels, multiplier]` against the input; gives the window, the multiplier and the output's shape.
fn lay(geometry: &Geometry, input: &Shape, filter: &Shape) -> Result<(Window, usize, Shape)> {
    let &[height, width, channels, multiplier] = filter.dims() else {
        bail!(InvalidArgument, "filter must be 4-dimensional: {filter}");
    };
    let window = geometry.window(input, height, width)?;
    if channels != window.channels {
        bail!(InvalidArgument, "input and filter must have the same depth: {} vs {channels}", window.channels);
    }
    let Some(out_channels) = channels.checked_mul(multiplier) else { bail!(InvalidArgument, "filter {filter} is too large") };
    let shape = Shape::from([window.batch, window.out_height, window.out_width, out_channels]);
    Ok((window, multiplier, shape))
}

fn only_f32(init: &KernelInit<'_>) -> Result<Geometry> {
    if init.dtype("T")? == DType::F32 { Geometry::new(init) } else { init.unsupported() }
}

fn make(init: &KernelInit<'_>, fused: Fused) -> Result<Arc<dyn Kernel>> {
    let geometry = only_f32(init)?;
    batched_from_fn(Cost::Expensive, 1, move |ctx| {
        let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
        let (window, multiplier, shape) = lay(&geometry, input.shape(), filter.shape())?;
        let mut out = Tensor::uninit(DType::F32, shape)?;
        let bias = if fused.bias { Some(ctx.take(2)?) } else { None };
        if let Some(bias) = bias.as_ref().filter(|b| b.num_elements() != out.shape()[3]) {
            bail!(
                InvalidArgument,
                "Must provide as many biases as the last dimension of the input tensor: {} vs. {}",
                bias.shape(),
                out.shape()
            );
        }
        if out.num_elements() > 0 {
            let bias = bias.as_ref().map(|b| b.as_slice()).transpose()?;
            let epilogue = Epilogue::bias_activation(bias, fused.activation);
            depthwise_conv2d(&window, multiplier, input.as_slice()?, filter.as_slice()?, out.as_mut_slice()?, &epilogue);
        }
        ctx.set_output(0, out);
        Ok(())
    })
}

fn check_gradient(expected: &Shape, gradient: &Tensor) -> Result<()> {
    if gradient.shape() != expected {
        bail!(
            InvalidArgument,
            "DepthwiseConv2dBackprop: the gradient's shape is {}, but the convolution's output is {expected}",
            gradient.shape()
        );
    }
    Ok(())
}

fn make_backprop_input(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let geometry = only_f32(init)?;
    expensive_from_fn(move |ctx| {
        let (shape, filter, gradient) = (ctx.input(0)?.to_shape()?, ctx.take(1)?, ctx.take(2)?);
        let (window, multiplier, expected) = lay(&geometry, &shape, filter.shape())?;
        check_gradient(&expected, &gradient)?;
        let mut out = Tensor::zeros(DType::F32, shape)?;
        if gradient.num_elements() > 0 {
            depthwise_backprop_input(&window, multiplier, filter.as_slice()?, gradient.as_slice()?, out.as_mut_slice()?);
        }
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_backprop_filter(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let geometry = only_f32(init)?;
    expensive_from_fn(move |ctx| {
        let (input, shape, gradient) = (ctx.take(0)?, ctx.input(1)?.to_shape()?, ctx.take(2)?);
        let (window, multiplier, expected) = lay(&geometry, input.shape(), &shape)?;
        check_gradient(&expected, &gradient)?;
        let mut out = Tensor::zeros(DType::F32, shape)?;
        if gradient.num_elements() > 0 {
            depthwise_backprop_filter(&window, multiplier, input.as_slice()?, gradient.as_slice()?, out.as_mut_slice()?);
        }
        ctx.set_output(0, out);
        Ok(())
    })
}
