//! `Conv3D`, `_FusedConv3D` and the gradients of `Conv3D`: in `float32` by convolutions of planes, in `float64` by matrix products with patches.

use super::{checked_type, from_zeros, in_float32, products};
use crate::from_fn::from_fn;
use crate::fused_ops::FusedOps;
use crate::gemm::{Epilogue, Precision};
use crate::nn::layout::in_any_layout;
use crate::packed_weights::{LastForm, precision_of};
use crate::window::volume::{Steps, check_gradient, convolution, output_shape};
use flowmill_numeric::conv::volume::{PackedVolumeFilter, conv3d, conv3d_backprop_filter, conv3d_backprop_input};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("Conv3D", KernelDef::new(|init| in_any_layout(init, |init| make(init, FusedOps::default()))).channels_last());
    registry.register(
        "_FusedConv3D",
        KernelDef::new(|init| in_any_layout(init, |init| make(init, FusedOps::new(init)?))).channels_last().fuses(FusedOps::can_be),
    );
    registry.add("Conv3DBackpropFilter", |init| make_filter_grad(init, |filter| Ok(filter.shape().clone())));
    registry.register(
        "Conv3DBackpropFilterV2",
        KernelDef::new(|init| in_any_layout(init, |init| make_filter_grad(init, Tensor::to_shape))).channels_last(),
    );
    registry.add("Conv3DBackpropInput", |init| make_input_grad(init, |input| Ok(input.shape().clone())));
    registry.register(
        "Conv3DBackpropInputV2",
        KernelDef::new(|init| in_any_layout(init, |init| make_input_grad(init, Tensor::to_shape))).channels_last(),
    );
}

/// A function that returns the shape of a gradient from an input of the op: from its values, or for the first versions, whose input is the tensor
/// itself, from its shape.
type ShapeOf = fn(&Tensor) -> Result<Shape>;

pub(super) fn make(init: &KernelInit<'_>, fused: FusedOps) -> Result<Arc<dyn Kernel>> {
    let (steps, dtype) = (Steps::new(init)?, checked_type(init, &[])?);
    match dtype {
        DType::F32 => Ok(Arc::new(Conv3d { steps, fused, precision: precision_of(init, 1), packed: LastForm::default() })),
        _ if fused.bias => init.unsupported(),
        DType::F64 => from_fn(move |ctx| {
            let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
            let (volume, n) = convolution(steps, input.shape(), filter.shape())?;
            from_zeros(ctx, dtype, output_shape(&volume, n), |out| {
                products::convolve(&volume, n, input.as_slice()?, filter.as_slice()?, out.as_mut_slice()?);
                Ok(())
            })
        }),
        _ => from_fn(move |ctx| {
            let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
            let (volume, n) = convolution(steps, input.shape(), filter.shape())?;
            in_float32(ctx, dtype, [input, filter], output_shape(&volume, n), |[input, filter], sums| {
                if !sums.is_empty() {
                    let filter = PackedVolumeFilter::pack(Precision::F32, &volume, filter, n);
                    conv3d(&volume, input, &filter, sums, &Epilogue::default());
                }
            })
        }),
    }
}

fn make_input_grad(init: &KernelInit<'_>, shape_of: ShapeOf) -> Result<Arc<dyn Kernel>> {
    let (steps, dtype) = (Steps::new(init)?, checked_type(init, &[])?);
    from_fn(move |ctx| {
        let (filter, gradient) = (ctx.take(1)?, ctx.take(2)?);
        let shape = shape_of(ctx.input(0)?)?;
        let (volume, n) = convolution(steps, &shape, filter.shape())?;
        check_gradient(&volume, n, gradient.shape())?;
        if dtype == DType::F64 {
            return from_zeros(ctx, dtype, shape, |out| {
                products::input_gradient(&volume, n, filter.as_slice()?, gradient.as_slice()?, out.as_mut_slice()?);
                Ok(())
            });
        }
        in_float32(ctx, dtype, [filter, gradient], shape, |[filter, gradient], out| {
            if !out.is_empty() {
                conv3d_backprop_input(&volume, filter, n, gradient, out);
            }
        })
    })
}

fn make_filter_grad(init: &KernelInit<'_>, shape_of: ShapeOf) -> Result<Arc<dyn Kernel>> {
    let (steps, dtype) = (Steps::new(init)?, checked_type(init, &[])?);
    from_fn(move |ctx| {
        let (input, gradient) = (ctx.take(0)?, ctx.take(2)?);
        let shape = shape_of(ctx.input(1)?)?;
        let (volume, n) = convolution(steps, input.shape(), &shape)?;
        check_gradient(&volume, n, gradient.shape())?;
        if dtype == DType::F64 {
            return from_zeros(ctx, dtype, shape, |out| {
                products::filter_gradient(&volume, n, input.as_slice()?, gradient.as_slice()?, out.as_mut_slice()?);
                Ok(())
            });
        }
        in_float32(ctx, dtype, [input, gradient], shape, |[input, gradient], out| {
            if !out.is_empty() {
                conv3d_backprop_filter(&volume, input, n, gradient, out);
            }
        })
    })
}

/// The kernel for `float32`.
struct Conv3d {
    steps: Steps,
    fused: FusedOps,
    /// The least precision in which to compute.
    precision: Precision,
    packed: LastForm<PackedVolumeFilter>,
}

impl Kernel for Conv3d {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
        let (volume, n) = convolution(self.steps, input.shape(), filter.shape())?;
        let mut out = ctx.allocator().uninit(DType::F32, output_shape(&volume, n))?;
        let args = self.fused.args(ctx, out.shape())?;
        if out.num_elements() > 0 {
            let pack = || Ok(PackedVolumeFilter::pack(self.precision, &volume, filter.as_slice()?, n));
            let packed = self.packed.get(&filter, |form| form.is_for(self.precision, &volume, n), pack)?;
            conv3d(&volume, input.as_slice()?, &packed, out.as_mut_slice()?, &args.epilogue(n)?);
        }
        ctx.set_output(0, out);
        Ok(())
    }

    /// Returns the volumes and the residual.
    fn batched_inputs(&self) -> u32 {
        self.fused.batched_inputs()
    }

    fn algorithm(&self) -> Option<&'static str> {
        self.packed.last()?.algorithm()
    }
}
