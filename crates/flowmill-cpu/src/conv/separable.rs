//! `_FusedSeparableConv2D`.

use crate::fused_ops::FusedOps;
use crate::gemm::Epilogue;
use crate::packed_weights::{PackedWeights, precision_of};
use crate::window::Geometry;
use flowmill_numeric::conv::separable::{Pointwise, Separable};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("_FusedSeparableConv2D", KernelDef::new(make).constrain("T", &[DType::F32]).fuses(FusedOps::can_be));
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let count = |name: &str| -> Result<usize> { Ok(usize::try_from(init.attrs.get::<i64>(name)?).unwrap_or(0)) };
    let stage = |ops: FusedOps, first: usize, count: usize| -> Result<Option<Stage>> {
        if count != 0 && count != 1 + usize::from(ops.bias) + usize::from(ops.residual) {
            bail!(InvalidArgument, "a convolution of one position has {count} inputs, which its functions do not take");
        }
        Ok((count > 0).then(|| Stage { ops, first, weights: PackedWeights::new(precision_of(init, first)) }))
    };
    let (num_expansion, num_args, num_projection) = (count("num_expansion")?, count("num_args")?, count("num_projection")?);
    let depthwise = FusedOps::new(init)?;
    let (expansion_ops, projection_ops) = (FusedOps::of_list("expansion_ops", init)?, FusedOps::of_list("projection_ops", init)?);
    if depthwise.residual || expansion_ops.residual || num_args != usize::from(depthwise.bias) {
        bail!(Unimplemented, "Fusion is not implemented: a residual before the last convolution");
    }
    Ok(Arc::new(SeparableConv2d {
        geometry: Geometry::new(init)?,
        expansion: stage(expansion_ops, 2, num_expansion)?,
        bias: depthwise.bias.then_some(2 + num_expansion),
        depthwise,
        projection: stage(projection_ops, 2 + num_expansion + num_args, num_projection)?,
    }))
}

/// A convolution of one position: its inputs are a filter, a bias and a residual, from input `first` on.
struct Stage {
    ops: FusedOps,
    first: usize,
    weights: PackedWeights,
}

struct SeparableConv2d {
    geometry: Geometry,
    expansion: Option<Stage>,
    depthwise: FusedOps,
    /// The input that is the bias of the depthwise convolution.
    bias: Option<usize>,
    projection: Option<Stage>,
}

impl Stage {
    /// Returns what is applied to results of so many channels. A residual has the shape of the node's output.
    fn epilogue<'a>(&self, ctx: &'a KernelContext<'_>, channels: usize, output: &Shape) -> Result<Epilogue<'a>> {
        let bias = if self.ops.bias { Some(bias(ctx, self.first + 1, channels)?) } else { None };
        let mut epilogue = Epilogue::bias_activation(bias, self.ops.activation);
        if self.ops.residual {
            let residual = ctx.input(self.first + 1 + usize::from(self.ops.bias))?;
            if residual.shape() != output {
                bail!(InvalidArgument, "Incompatible shapes: {output} vs. {}", residual.shape());
            }
            epilogue.residual = Some((residual.as_slice()?, channels));
        }
        Ok(epilogue)
    }
}

/// Returns input `i`, which is a bias of so many channels.
fn bias<'a>(ctx: &'a KernelContext<'_>, i: usize, channels: usize) -> Result<&'a [f32]> {
    let bias = ctx.input(i)?;
    if bias.num_elements() != channels {
        bail!(InvalidArgument, "Must provide as many biases as there are channels: {} vs. {channels}", bias.shape());
    }
    bias.as_slice()
}

impl Kernel for SeparableConv2d {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let output = {
            let (input, filter) = (ctx.input(0)?, ctx.input(1)?);
            let &[batch, height, width, in_channels] = input.shape().dims() else {
                bail!(InvalidArgument, "input must be 4-dimensional: {}", input.shape());
            };
            let &[rows, columns, channels, multiplier] = filter.shape().dims() else {
                bail!(InvalidArgument, "filter must be 4-dimensional: {}", filter.shape());
            };
            let expansion = self.expansion.as_ref().map(|stage| stage.weights.get(ctx.input(stage.first)?, in_channels)).transpose()?;
            let between = expansion.as_ref().map_or(in_channels, |filter| filter.matrix.n());
            if channels != between {
                bail!(InvalidArgument, "input and filter must have the same depth: {between} vs {channels}");
            }
            let Some(depth) = channels.checked_mul(multiplier).filter(|&depth| depth > 0) else {
                bail!(InvalidArgument, "a filter of the shape {} has no elements, or too many", filter.shape());
            };
            let window = self.geometry.window(&Shape::from([batch, height, width, channels]), rows, columns)?;
            let projection = self.projection.as_ref().map(|stage| stage.weights.get(ctx.input(stage.first)?, depth)).transpose()?;
            let out_channels = projection.as_ref().map_or(depth, |filter| filter.matrix.n());
            let shape = Shape::from([batch, window.out_height, window.out_width, out_channels]);
            let mut output = ctx.allocator().uninit(DType::F32, shape.clone())?;
            let before = self.expansion.as_ref().map(|stage| stage.epilogue(ctx, between, &shape)).transpose()?;
            let after = self.projection.as_ref().map(|stage| stage.epilogue(ctx, out_channels, &shape)).transpose()?;
            let separable = Separable {
                window,
                multiplier,
                expansion: expansion.as_deref().zip(before).map(|(form, epilogue)| Pointwise { filter: &form.matrix, epilogue }),
                filter: filter.as_slice()?,
                epilogue: Epilogue::bias_activation(self.bias.map(|i| bias(ctx, i, depth)).transpose()?, self.depthwise.activation),
                projection: projection.as_deref().zip(after).map(|(form, epilogue)| Pointwise { filter: &form.matrix, epilogue }),
            };
            if output.num_elements() > 0 {
                separable.compute(input.as_slice()?, output.as_mut_slice()?);
            }
            output
        };
        ctx.set_output(0, output);
        Ok(())
    }

    /// Returns the images and the residual.
    fn batched_inputs(&self) -> u32 {
        let residual = self.projection.as_ref().filter(|stage| stage.ops.residual);
        residual.map_or(1, |stage| 1 | 1u32.checked_shl((stage.first + 1 + usize::from(stage.ops.bias)) as u32).unwrap_or(0))
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some("blocks of rows")
    }
}
