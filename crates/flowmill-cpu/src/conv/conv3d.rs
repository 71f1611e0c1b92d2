//! `Conv3D`, `_FusedConv3D` and the gradients of `Conv3D`: for `float32` by convolutions of planes, for other types by matrix products with patches of the input
//! as rows, a few at a time.

use crate::from_fn::from_fn;
use crate::fused_ops::FusedOps;
use crate::gemm::{self, MatrixRef, Precision, gemm};
use crate::nn::layout::in_any_layout;
use crate::number::Number;
use crate::packed_weights::{LastForm, precision_of};
use crate::parallel;
use crate::window::volume::{Steps, check_gradient, convolution, output_shape};
use flowmill_numeric::conv::volume::{PackedVolumeFilter, conv3d, conv3d_backprop_filter, conv3d_backprop_input};
use flowmill_numeric::window::Volume;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Element, Result, Shape, Tensor, bf16, f16, for_dtype};
use std::sync::Arc;

/// The number of elements of patches that are copied at a time.
const PATCH_ELEMENTS: usize = 1 << 20;
/// The number of elements that one task copies.
const CHUNK: usize = 1 << 14;

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

macro_rules! kernel {
    ($init:expr, $run:ident $(, $shape:ident)?) => {{
        let steps = Steps::new($init)?;
        for_dtype!($init.dtype("T")?, [f16, bf16, f64], T => from_fn(move |ctx| $run::<T>(ctx, steps $(, $shape)?)), _ => $init.unsupported())
    }};
}

/// A function that returns the shape of a gradient from an input of the op: from its values, or for the first versions, whose input is the tensor
/// itself, from its shape.
type ShapeOf = fn(&Tensor) -> Result<Shape>;

pub(super) fn make(init: &KernelInit<'_>, fused: FusedOps) -> Result<Arc<dyn Kernel>> {
    match init.dtype("T")? {
        DType::F32 => {
            Ok(Arc::new(Conv3d { steps: Steps::new(init)?, fused, precision: precision_of(init, 1), packed: LastForm::default() }))
        }
        _ if fused.bias => init.unsupported(),
        _ => kernel!(init, convolve),
    }
}

fn make_input_grad(init: &KernelInit<'_>, shape_of: ShapeOf) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? == DType::F32 {
        let steps = Steps::new(init)?;
        return from_fn(move |ctx| input_grad_by_planes(ctx, steps, shape_of));
    }
    kernel!(init, input_grad, shape_of)
}

fn make_filter_grad(init: &KernelInit<'_>, shape_of: ShapeOf) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? == DType::F32 {
        let steps = Steps::new(init)?;
        return from_fn(move |ctx| filter_grad_by_planes(ctx, steps, shape_of));
    }
    kernel!(init, filter_grad, shape_of)
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

fn input_grad_by_planes(ctx: &mut KernelContext<'_>, steps: Steps, shape_of: ShapeOf) -> Result<()> {
    let (filter, gradient) = (ctx.take(1)?, ctx.take(2)?);
    let shape = shape_of(ctx.input(0)?)?;
    let (volume, n) = convolution(steps, &shape, filter.shape())?;
    check_gradient(&volume, n, gradient.shape())?;
    let mut out = ctx.allocator().uninit(DType::F32, shape)?;
    if out.num_elements() > 0 {
        conv3d_backprop_input(&volume, filter.as_slice()?, n, gradient.as_slice()?, out.as_mut_slice()?);
    }
    ctx.set_output(0, out);
    Ok(())
}

fn filter_grad_by_planes(ctx: &mut KernelContext<'_>, steps: Steps, shape_of: ShapeOf) -> Result<()> {
    let (input, gradient) = (ctx.take(0)?, ctx.take(2)?);
    let shape = shape_of(ctx.input(1)?)?;
    let (volume, n) = convolution(steps, input.shape(), &shape)?;
    check_gradient(&volume, n, gradient.shape())?;
    let mut out = ctx.allocator().uninit(DType::F32, shape)?;
    if out.num_elements() > 0 {
        conv3d_backprop_filter(&volume, input.as_slice()?, n, gradient.as_slice()?, out.as_mut_slice()?);
    }
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the elements in the accumulator's type.
fn widened<T: Number>(tensor: &Tensor) -> Result<Vec<T::Acc>> {
    Ok(tensor.as_slice::<T>()?.iter().map(|x| x.widen()).collect())
}

fn narrowed<T: Number>(alloc: &Allocator, shape: Shape, values: &[T::Acc]) -> Result<Tensor> {
    let mut out = alloc.uninit(T::DTYPE, shape)?;
    out.as_mut_slice::<T>()?.iter_mut().zip(values).for_each(|(out, &x)| *out = T::narrow(x));
    Ok(out)
}

/// Calls `f(first, count, patches)` for all positions, a few at a time. A patch is a row, with zeros outside of the input.
fn for_patches<A: Element>(volume: &Volume, input: &[A], mut f: impl FnMut(usize, usize, &[A])) {
    let channels = volume.channels;
    let width = volume.taps() * channels;
    let positions = volume.positions();
    let each = (PATCH_ELEMENTS / width.max(1)).max(1).min(positions);
    let mut patches = vec![A::default(); each * width];
    for first in (0..positions).step_by(each.max(1)) {
        let count = each.min(positions - first);
        let rows = (CHUNK / width).max(1);
        parallel::chunks(&mut patches[..count * width], rows * width, |i, chunk| {
            for (row, patch) in chunk.chunks_exact_mut(width).enumerate() {
                patch.fill(A::default());
                volume.for_each_tap(first + i * rows + row, |tap, pixel| {
                    patch[tap * channels..][..channels].copy_from_slice(&input[pixel * channels..][..channels]);
                });
            }
        });
        f(first, count, &patches[..count * width]);
    }
}

fn convolve<T: Number<Acc: gemm::Element>>(ctx: &mut KernelContext<'_>, steps: Steps) -> Result<()> {
    let (input, filter) = (ctx.input(0)?, ctx.input(1)?);
    let (volume, n) = convolution(steps, input.shape(), filter.shape())?;
    let shape = output_shape(&volume, n);
    // The sums have the output's shape, so that a shape that is too large is an error before anything is computed.
    let mut sums = ctx.allocator().zeros(<T::Acc as Element>::DTYPE, shape.clone())?;
    let width = volume.taps() * volume.channels;
    if sums.num_elements() > 0 && width > 0 {
        let (input, filter) = (widened::<T>(input)?, widened::<T>(filter)?);
        let filter = MatrixRef { data: &filter[..], ld: n, transposed: false };
        let sums = sums.as_mut_slice::<T::Acc>()?;
        for_patches(&volume, &input, |first, count, patches| {
            let patches = MatrixRef { data: patches, ld: width, transposed: false };
            gemm(count, width, n, patches, filter, &mut sums[first * n..][..count * n], n, false);
        });
    }
    let out = narrowed::<T>(ctx.allocator(), shape, sums.as_slice::<T::Acc>()?)?;
    ctx.set_output(0, out);
    Ok(())
}

fn filter_grad<T: Number<Acc: gemm::Element>>(ctx: &mut KernelContext<'_>, steps: Steps, shape_of: ShapeOf) -> Result<()> {
    let (input, gradient) = (ctx.input(0)?, ctx.input(2)?);
    let filter = shape_of(ctx.input(1)?)?;
    let (volume, n) = convolution(steps, input.shape(), &filter)?;
    check_gradient(&volume, n, gradient.shape())?;
    let mut sums = ctx.allocator().zeros(<T::Acc as Element>::DTYPE, filter.clone())?;
    let width = volume.taps() * volume.channels;
    if sums.num_elements() > 0 {
        let (input, gradient) = (widened::<T>(input)?, widened::<T>(gradient)?);
        let sums = sums.as_mut_slice::<T::Acc>()?;
        for_patches(&volume, &input, |first, count, patches| {
            let patches = MatrixRef { data: patches, ld: width, transposed: true };
            let gradient = MatrixRef { data: &gradient[first * n..][..count * n], ld: n, transposed: false };
            gemm(width, count, n, patches, gradient, sums, n, true);
        });
    }
    let out = narrowed::<T>(ctx.allocator(), filter, sums.as_slice::<T::Acc>()?)?;
    ctx.set_output(0, out);
    Ok(())
}

fn input_grad<T: Number<Acc: gemm::Element>>(ctx: &mut KernelContext<'_>, steps: Steps, shape_of: ShapeOf) -> Result<()> {
    let (filter, gradient) = (ctx.input(1)?, ctx.input(2)?);
    let shape = shape_of(ctx.input(0)?)?;
    let (volume, n) = convolution(steps, &shape, filter.shape())?;
    check_gradient(&volume, n, gradient.shape())?;
    let mut sums = ctx.allocator().zeros(<T::Acc as Element>::DTYPE, shape.clone())?;
    let channels = volume.channels;
    let width = volume.taps() * channels;
    if sums.num_elements() > 0 && width > 0 && n > 0 {
        let (filter, gradient) = (widened::<T>(filter)?, widened::<T>(gradient)?);
        let filter = MatrixRef { data: &filter[..], ld: n, transposed: true };
        let sums = sums.as_mut_slice::<T::Acc>()?;
        let positions = volume.positions();
        let each = (PATCH_ELEMENTS / width).max(1).min(positions.max(1));
        let mut patches = vec![T::Acc::default(); each * width];
        for first in (0..positions).step_by(each) {
            let count = each.min(positions - first);
            let gradient = MatrixRef { data: &gradient[first * n..][..count * n], ld: n, transposed: false };
            gemm(count, n, width, gradient, filter, &mut patches[..count * width], width, false);
            for (row, patch) in patches[..count * width].chunks_exact(width).enumerate() {
                volume.for_each_tap(first + row, |tap, pixel| {
                    let from = &patch[tap * channels..][..channels];
                    sums[pixel * channels..][..channels].iter_mut().zip(from).for_each(|(sum, &x)| *sum = sum.plus(x));
                });
            }
        }
    }
    let out = narrowed::<T>(ctx.allocator(), shape, sums.as_slice::<T::Acc>()?)?;
    ctx.set_output(0, out);
    Ok(())
}
