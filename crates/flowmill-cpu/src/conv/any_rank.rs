//! `Conv`: a convolution with attributes for the number of batch dimensions and of groups.

use super::conv2d::make as make_conv2d;
use super::conv3d::make as make_conv3d;
use crate::fused_ops::FusedOps;
use crate::nn::layout::in_any_layout;
use flowmill_graph::Attrs;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Conv", make);
}

/// The kernel, which computes two spatial dimensions by the kernel of `Conv2D` and three by that of `Conv3D`.
struct Conv {
    inner: Arc<dyn Kernel>,
    spatial: usize,
    /// The index of the channel dimension, without the batch dimensions.
    channel_axis: usize,
    batch_dims: usize,
    groups: usize,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let strides: Vec<i64> = init.attrs.list("strides")?;
    let spatial = match strides.len() {
        rank @ (4 | 5) => rank - 2,
        rank => {
            bail!(Unimplemented, "Conv is implemented for two and three spatial dimensions: strides must have 4 or 5 values, not {rank}")
        }
    };
    let positive = |name: &str| -> Result<usize> {
        match init.attrs.get_or::<i64>(name, 1)? {
            n if n > 0 => Ok(n as usize),
            n => bail!(InvalidArgument, "{name} must be positive, not {n}"),
        }
    };
    let format = match init.attrs.get_or("data_format", "CHANNELS_LAST")? {
        "CHANNELS_LAST" => ["NHWC", "NDHWC"][spatial - 2],
        _ => ["NCHW", "NCDHW"][spatial - 2],
    };
    let dilations: Vec<i64> = init.attrs.list("dilations")?;
    let ints = |values: Vec<i64>| AttrValue::from(Value::List(Box::new(ListValue { i: values, ..ListValue::default() })));
    let mut attrs = Attrs::default();
    for name in ["T", "padding", "explicit_paddings", "strides"] {
        if let Some(value) = init.attrs.attr(name) {
            attrs.set(name, value.clone());
        }
    }
    attrs.set("dilations", ints(if dilations.is_empty() { vec![1; spatial + 2] } else { dilations }));
    attrs.set("data_format", format);
    let init = KernelInit { attrs: &attrs, ..*init };
    let make_inner: fn(&KernelInit<'_>, FusedOps) -> Result<Arc<dyn Kernel>> = if spatial == 2 { make_conv2d } else { make_conv3d };
    let inner = in_any_layout(&init, |init| make_inner(init, FusedOps::default()))?;
    let channel_axis = if format.starts_with("NC") { 0 } else { spatial };
    Ok(Arc::new(Conv { inner, spatial, channel_axis, batch_dims: positive("batch_dims")?, groups: positive("groups")? }))
}

impl Kernel for Conv {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
        let (batch, image) = match input.shape().dims() {
            dims if dims.len() == self.batch_dims + self.spatial + 1 => dims.split_at(self.batch_dims),
            _ => bail!(InvalidArgument, "input must have {} dimensions: {}", self.batch_dims + self.spatial + 1, input.shape()),
        };
        let (batch, channels) = (batch.to_vec(), image[self.channel_axis]);
        if filter.shape().get(self.spatial).is_none_or(|depth| depth.checked_mul(self.groups) != Some(channels)) {
            bail!(
                InvalidArgument,
                "input and filter must have the same depth: {channels} channels in {} groups for a filter of shape {}",
                self.groups,
                filter.shape()
            );
        }
        let images = Shape::new(&batch).checked_num_elements()?;
        let images = Shape::new(&[&[images], image].concat());
        let mut inputs = [Some(input.reshaped(images)?), Some(filter)];
        let mut outputs = [None];
        self.inner.compute(&mut KernelContext::new(&mut inputs, &mut outputs, ctx.device_step()))?;
        let [Some(output)] = outputs else { bail!(Internal, "the convolution set no output") };
        let shape = Shape::new(&[&batch[..], &output.shape()[1..]].concat());
        ctx.set_output(0, output.reshaped(shape)?);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        self.inner.cost()
    }
}
