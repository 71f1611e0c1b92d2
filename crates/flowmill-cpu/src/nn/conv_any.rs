//! `Conv`: a convolution whose number of batch dimensions and groups its attributes say.

use super::conv::{Fused, make as make_conv2d};
use flowmill_graph::Attrs;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Conv", make);
}

/// Two spatial dimensions, by the kernel of `Conv2D`.
struct Conv {
    conv2d: Arc<dyn Kernel>,
    batch_dims: usize,
    groups: usize,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let strides: Vec<i64> = init.attrs.list("strides")?;
    if strides.len() != 4 {
        bail!(Unimplemented, "Conv is implemented for two spatial dimensions: strides must have 4 values, not {}", strides.len());
    }
    let positive = |name: &str| -> Result<usize> {
        match init.attrs.get_or::<i64>(name, 1)? {
            n if n > 0 => Ok(n as usize),
            n => bail!(InvalidArgument, "{name} must be positive, not {n}"),
        }
    };
    let format = match init.attrs.get_or("data_format", "CHANNELS_LAST")? {
        "CHANNELS_LAST" => "NHWC",
        _ => "NCHW",
    };
    let dilations: Vec<i64> = init.attrs.list("dilations")?;
    let ints = |values: Vec<i64>| AttrValue::from(Value::List(Box::new(ListValue { i: values, ..ListValue::default() })));
    let mut attrs = Attrs::default();
    for name in ["T", "padding", "explicit_paddings", "strides"] {
        if let Some(value) = init.attrs.0.get(name) {
            attrs.set(name, value.clone());
        }
    }
    attrs.set("dilations", ints(if dilations.is_empty() { vec![1; 4] } else { dilations }));
    attrs.set("data_format", format);
    let conv2d = make_conv2d(&KernelInit { attrs: &attrs, ..*init }, Fused::default())?;
    Ok(Arc::new(Conv { conv2d, batch_dims: positive("batch_dims")?, groups: positive("groups")? }))
}

impl Kernel for Conv {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
        let (batch, image) = match input.shape().dims() {
            dims if dims.len() == self.batch_dims + 3 => dims.split_at(self.batch_dims),
            _ => bail!(InvalidArgument, "input must have {} dimensions: {}", self.batch_dims + 3, input.shape()),
        };
        let (batch, channels) = (batch.to_vec(), image[2]);
        if filter.shape().get(2).is_none_or(|depth| depth.checked_mul(self.groups) != Some(channels)) {
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
        self.conv2d.compute(&mut KernelContext::new(&mut inputs, &mut outputs, ctx.step()))?;
        let [Some(output)] = outputs else { bail!(Internal, "the convolution gave nothing") };
        let shape = Shape::new(&[&batch[..], &output.shape()[1..]].concat());
        ctx.set_output(0, output.reshaped(shape)?);
        Ok(())
    }

    fn cost(&self) -> Cost {
        self.conv2d.cost()
    }
}
