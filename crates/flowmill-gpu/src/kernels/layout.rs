//! Kernels for images with channels first, based on the kernels for images with channels last.

use super::copy::Copier;
use crate::device::GpuDevice;
use flowmill_graph::image_layout::{ImageLayout, channels_first_rank, channels_last_attrs, to_channels_first, to_channels_last};
use flowmill_runtime::{Device, Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Result, Shape, Tensor, bail};
use std::sync::Arc;

/// Makes the kernel of a node of any format. `make` makes the kernel of the op for images with channels last.
///
/// # Errors
/// Returns `Unimplemented` for the format `NCHW_VECT_C`, and any error of `make`.
pub(super) fn in_any_layout(
    init: &KernelInit<'_>,
    make: impl FnOnce(&KernelInit<'_>) -> Result<Arc<dyn Kernel>>,
) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let Some(rank) = channels_first_rank(op, init.attrs)? else { return make(init) };
    let Some(layout) = init.op_def.traits.image_layout else { bail!(Internal, "{op} has a data format but no layout") };
    let attrs = channels_last_attrs(init.attrs, rank)?;
    let copier = Copier::new(init.dtype("T")?)?;
    // The inner kernel must not get the shapes, because their dimensions are in another order. Filters have the same layout in all formats.
    let has_format = |i: &usize| layout.images.contains(i) || layout.sizes.contains(i);
    let constants: Vec<_> = init.constants.iter().enumerate().map(|(i, value)| value.clone().filter(|_| !has_format(&i))).collect();
    let inner = make(&KernelInit { attrs: &attrs, input_shapes: &[], constants: &constants, ..*init })?;
    Ok(Arc::new(ChannelsFirst { inner, layout, rank, copier }))
}

/// A kernel for channels last, between transposes from and to the other layout.
struct ChannelsFirst {
    inner: Arc<dyn Kernel>,
    layout: &'static ImageLayout,
    rank: usize,
    copier: Copier,
}

impl ChannelsFirst {
    fn permuted(&self, device: &GpuDevice, input: &Tensor, permutation: &[usize]) -> Result<Tensor> {
        let shape: Shape = permutation.iter().map(|&axis| input.shape()[axis]).collect();
        let output = device.allocate(input.dtype(), &shape)?;
        self.copier.transpose(device, input.shape(), permutation, device.address(&output)?, device.address(input)?)?;
        Ok(output)
    }

    /// Returns input `i` in the inner kernel's layout. A tensor of another rank is left unchanged, for that kernel to reject.
    fn convert(&self, device: &GpuDevice, i: usize, tensor: Tensor) -> Result<Tensor> {
        if self.layout.images.contains(&i) && tensor.rank() == self.rank {
            return self.permuted(device, &tensor, &to_channels_last(self.rank));
        }
        if self.layout.sizes.contains(&i) && tensor.rank() == 1 && tensor.num_elements() == self.rank {
            let sizes = tensor.to_i64_vec()?;
            let moved: Vec<i64> = to_channels_last(self.rank).iter().map(|&axis| sizes[axis]).collect();
            return Tensor::index_vector(tensor.dtype(), &moved);
        }
        Ok(tensor)
    }
}

impl Kernel for ChannelsFirst {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let device = GpuDevice::of(ctx.device())?;
        let mut inputs = Vec::with_capacity(ctx.num_inputs());
        for i in 0..ctx.num_inputs() {
            let input = ctx.take(i)?;
            inputs.push(Some(self.convert(device, i, input)?));
        }
        let mut outputs = vec![None; ctx.num_outputs()];
        self.inner.compute(&mut KernelContext::new(&mut inputs, &mut outputs, ctx.device_step()))?;
        for (i, output) in outputs.into_iter().enumerate() {
            let Some(output) = output else { continue };
            let is_image = i == 0 && self.layout.image_output && output.rank() == self.rank;
            let output = if is_image { self.permuted(device, &output, &to_channels_first(self.rank))? } else { output };
            ctx.set_output(i, output);
        }
        Ok(())
    }
}
