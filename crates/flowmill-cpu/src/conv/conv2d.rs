//! `Conv2D`, `_FusedConv2D` and the gradients of `Conv2D`.

use super::choice::{self, MethodChooser};
use super::{checked_type, from_zeros, in_float32, products};
use crate::cast::cast_tensor;
use crate::from_fn::from_fn;
use crate::fused_ops::{EpilogueArgs, FusedOps};
use crate::gemm::{Epilogue, Precision};
use crate::linear::{Linear, LinearCall, RowGrid, WholeResult};
use crate::nn::layout::in_any_layout;
use crate::number::Number;
use crate::packed_weights::{LastForm, precision_of};
use crate::window::Geometry;
use flowmill_numeric::conv::{PackedFilter, PackedTransposed, conv2d, conv2d_backprop_filter, conv2d_backprop_input, conv2d_rows};
use flowmill_numeric::window::Window;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Allocator, DType, PartialShape, Result, Shape, Tensor, bail, for_dtype};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("Conv2D", KernelDef::new(|init| in_any_layout(init, |init| make(init, FusedOps::default()))).channels_last());
    registry.register(
        "_FusedConv2D",
        KernelDef::new(|init| in_any_layout(init, |init| make(init, FusedOps::new(init)?))).channels_last().fuses(FusedOps::can_be),
    );
    registry.register(
        "Conv2DBackpropFilter",
        KernelDef::new(|init| in_any_layout(init, |init| make_backprop_filter(init, sizes))).channels_last(),
    );
    registry.register(
        "Conv2DBackpropFilterV2",
        KernelDef::new(|init| in_any_layout(init, |init| make_backprop_filter(init, shape_of))).channels_last(),
    );
    registry.register(
        "Conv2DBackpropInput",
        KernelDef::new(|init| in_any_layout(init, |init| make_backprop_input(init, input_sizes))).channels_last(),
    );
    registry.register(
        "Conv2DBackpropInputV2",
        KernelDef::new(|init| in_any_layout(init, |init| make_backprop_input(init, |input, _, _| shape_of(input)))).channels_last(),
    );
}

pub(super) fn make(init: &KernelInit<'_>, fused: FusedOps) -> Result<Arc<dyn Kernel>> {
    let geometry = Geometry::new(init)?;
    match init.dtype("T")? {
        DType::F32 => Ok(Arc::new(WholeResult(Conv2d::new(init, fused)?))),
        _ if fused.bias => init.unsupported(),
        DType::BF16 => Ok(Arc::new(NarrowConv2d(Conv2d::with_precision(init, fused, Precision::Bf16)?))),
        DType::F16 => Ok(Arc::new(NarrowConv2d(Conv2d::with_precision(init, fused, Precision::F32)?))),
        DType::F64 | DType::I32 => from_fn(move |ctx| {
            let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
            let (window, groups, n) = checked_window(&geometry, input.shape(), filter.shape())?;
            let shape = output_shape(&window, n);
            from_zeros(ctx, input.dtype(), shape, |out| {
                if input.dtype() == DType::F64 && groups == 1 {
                    products::convolve(&window.volume(), n, input.as_slice()?, filter.as_slice()?, out.as_mut_slice()?);
                } else {
                    by_definition(&window, groups, n, [&input, &filter], out, |at| at)?;
                }
                Ok(())
            })
        }),
        _ => init.unsupported(),
    }
}

/// Checks the filter `[height, width, in_channels / groups, out_channels]` against the input. Returns the sliding window, the number of groups, and
/// that of output channels.
fn checked_window(geometry: &Geometry, input: &Shape, filter: &Shape) -> Result<(Window, usize, usize)> {
    let &[height, width, depth, out_channels] = filter.dims() else {
        bail!(InvalidArgument, "filter must be 4-dimensional: {filter}");
    };
    if input.rank() != 4 {
        bail!(InvalidArgument, "input must be 4-dimensional{input}");
    }
    let channels = input[3];
    if depth == 0 || !channels.is_multiple_of(depth) {
        bail!(InvalidArgument, "input depth must be evenly divisible by filter depth: {channels} vs {depth}");
    }
    let groups = channels / depth;
    if groups > 0 && !out_channels.is_multiple_of(groups) {
        bail!(InvalidArgument, "output depth must be evenly divisible by number of groups: {out_channels} vs {groups}");
    }
    Ok((geometry.window(input, height, width)?, groups.max(1), out_channels))
}

fn output_shape(window: &Window, out_channels: usize) -> Shape {
    Shape::from([window.batch, window.out_height, window.out_width, out_channels])
}

/// The convolution of `float32`.
pub(crate) struct Conv2d {
    geometry: Geometry,
    fused: FusedOps,
    /// The least precision in which to compute.
    precision: Precision,
    methods: MethodChooser,
    packed: LastForm<PackedFilter>,
}

impl Conv2d {
    pub(crate) fn new(init: &KernelInit<'_>, fused: FusedOps) -> Result<Conv2d> {
        Conv2d::with_precision(init, fused, precision_of(init, 1))
    }

    fn with_precision(init: &KernelInit<'_>, fused: FusedOps, precision: Precision) -> Result<Conv2d> {
        let methods = MethodChooser::new(init.tuner, precision);
        let conv = Conv2d { geometry: Geometry::new(init)?, fused, precision, methods, packed: LastForm::default() };
        // With known sizes, the method is chosen now, so that no step waits for measurements. Sizes that do not fit together are an error of the step.
        if !init.tuner.is_off()
            && let (Some(input), Some(filter)) = (one_image(&init.input_shape(0)), init.input_shape(1).to_shape())
            && let Ok((window, groups, out_channels)) = checked_window(&conv.geometry, &input, &filter)
        {
            conv.methods.prepare(&window, out_channels, groups);
        }
        Ok(conv)
    }

    fn packed(&self, alloc: &Allocator, window: &Window, filter: &Tensor, out_channels: usize, groups: usize) -> Result<Arc<PackedFilter>> {
        let method = self.methods.choose(window, out_channels, groups);
        let pack = || {
            let weights = cast_tensor(alloc, filter, DType::F32)?;
            Ok(PackedFilter::pack_for(method, self.precision, window, weights.as_slice()?, out_channels, groups))
        };
        self.packed.get(filter, |form| form.is_for(method, self.precision, window, out_channels, groups), pack)
    }
}

/// Returns the shape of one image of a batch; `None` if another size than the batch's is unknown.
fn one_image(input: &PartialShape) -> Option<Shape> {
    let image = input.dims()?.get(1..)?;
    PartialShape::new(&[&[1], image].concat()).to_shape()
}

/// The inputs of a convolution.
pub(crate) struct Conv2dCall {
    window: Window,
    input: Tensor,
    /// The packed filter; `None` if the result has no elements.
    filter: Option<Arc<PackedFilter>>,
    epilogue: EpilogueArgs,
    shape: Shape,
}

impl Linear for Conv2d {
    type Call = Conv2dCall;

    fn call(&self, ctx: &mut KernelContext<'_>) -> Result<Conv2dCall> {
        let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
        let (window, groups, out_channels) = checked_window(&self.geometry, input.shape(), filter.shape())?;
        let shape = output_shape(&window, out_channels);
        let epilogue = self.fused.args(ctx, &shape)?;
        let is_empty = shape.checked_num_elements()? == 0;
        let filter = if is_empty { None } else { Some(self.packed(ctx.allocator(), &window, &filter, out_channels, groups)?) };
        Ok(Conv2dCall { window, input, filter, epilogue, shape })
    }

    /// Returns the images and the residual.
    fn batched_inputs(&self) -> u32 {
        self.fused.batched_inputs()
    }

    fn algorithm(&self) -> Option<&'static str> {
        let packed = self.packed.last()?;
        Some(choice::algorithm(packed.algorithm(), packed.method(), self.methods.source(packed.method())))
    }
}

impl LinearCall for Conv2dCall {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn grid(&self) -> RowGrid {
        let (step, weights) = self.filter.as_ref().map_or((1, 0), |filter| (filter.rows_together(), filter.bytes()));
        RowGrid { images: self.window.batch, height: self.window.out_height, step, weights }
    }

    fn compute(&self, rows: Range<usize>, output: &mut [f32]) -> Result<()> {
        if let Some(filter) = &self.filter {
            let epilogue = self.epilogue.epilogue(filter.out_channels())?;
            conv2d_rows(&self.window, rows, self.input.as_slice()?, filter, output, &epilogue);
        }
        Ok(())
    }
}

/// The kernel for a type of 16 bits: sums are `float32`, and rounded once.
struct NarrowConv2d(Conv2d);

impl Kernel for NarrowConv2d {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let NarrowConv2d(conv) = self;
        let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
        let (window, groups, out_channels) = checked_window(&conv.geometry, input.shape(), filter.shape())?;
        let shape = output_shape(&window, out_channels);
        let filter = if shape.checked_num_elements()? == 0 {
            None
        } else {
            Some(conv.packed(ctx.allocator(), &window, &filter, out_channels, groups)?)
        };
        in_float32(ctx, input.dtype(), [input], shape, |[input], sums| {
            if let Some(filter) = filter {
                conv2d(&window, input, &filter, sums, &Epilogue::default());
            }
        })
    }

    fn algorithm(&self) -> Option<&'static str> {
        Linear::algorithm(&self.0)
    }
}

/// Calls `f(input pixel, output pixel, tap)` for every tap of every window that is inside the input. All three are counted in vectors of channels.
fn for_each_tap(w: &Window, mut f: impl FnMut(usize, usize, usize)) {
    for image in 0..w.batch {
        for y in 0..w.out_height {
            for x in 0..w.out_width {
                let output = (image * w.out_height + y) * w.out_width + x;
                for i in w.rows_inside(y) {
                    for j in w.columns_inside(x) {
                        f((image * w.in_height + w.input_row(y, i)) * w.in_width + w.input_column(x, j), output, i * w.width + j);
                    }
                }
            }
        }
    }
}

/// Calls `f` with the positions of every product's factors and sum: in the input, the filter and the output.
fn for_each_product(w: &Window, groups: usize, out_channels: usize, mut f: impl FnMut(usize, usize, usize)) {
    let (depth, per_group) = (w.channels / groups, out_channels / groups);
    for_each_tap(w, |input, output, tap| {
        for c in 0..w.channels {
            let (group, row) = (c / depth, (tap * depth + c % depth) * out_channels);
            for o in group * per_group..(group + 1) * per_group {
                f(input * w.channels + c, row + o, output * out_channels + o);
            }
        }
    });
}

/// Adds all products of two of input, filter and output to the third, for types that models rarely convolve in. `order` puts the positions of a product's
/// input, filter and output in the order of the factors and the sum.
fn by_definition(
    window: &Window,
    groups: usize,
    out_channels: usize,
    factors: [&Tensor; 2],
    sums: &mut Tensor,
    order: fn([usize; 3]) -> [usize; 3],
) -> Result<()> {
    for_dtype!(sums.dtype(), [f64, i32], T => {
        let [a, b] = [factors[0].as_slice::<T>()?, factors[1].as_slice::<T>()?];
        let sums = sums.as_mut_slice::<T>()?;
        for_each_product(window, groups, out_channels, |input, filter, output| {
            let [first, second, sum] = order([input, filter, output]);
            sums[sum] = sums[sum].plus(a[first].times(b[second]));
        });
        Ok(())
    }, _ => bail!(Unimplemented, "convolutions of {}", sums.dtype()))
}

/// Returns the shape of a tensor whose gradient is computed, from the input of the op that has its sizes.
fn sizes(tensor: &Tensor) -> Result<Shape> {
    if tensor.rank() != 1 {
        bail!(InvalidArgument, "input_sizes must be 1-dimensional, got {}", tensor.shape());
    }
    tensor.to_shape()
}

fn check_gradient(window: &Window, out_channels: usize, gradient: &Shape) -> Result<()> {
    let expected = output_shape(window, out_channels);
    if *gradient != expected {
        bail!(InvalidArgument, "Conv2DBackprop: the gradient's shape is {gradient}, but the convolution's output is {expected}");
    }
    Ok(())
}

/// Returns the shape of a tensor whose gradient is computed, for ops that have the tensor itself instead of its sizes.
fn shape_of(tensor: &Tensor) -> Result<Shape> {
    Ok(tensor.shape().clone())
}

/// A function that returns the shape of the input, from the first input of the op, the filter and the gradient.
type InputShape = fn(&Tensor, &Shape, &Shape) -> Result<Shape>;

/// Returns the shape of the input whose gradient `Conv2DBackpropInput` computes.
fn input_sizes(sizes_input: &Tensor, filter: &Shape, gradient: &Shape) -> Result<Shape> {
    Ok(match sizes(sizes_input)? {
        // The sizes are only height and width; the other sizes follow from the gradient and the filter.
        s if s.rank() == 2 && gradient.rank() == 4 && filter.rank() == 4 => Shape::from([gradient[0], s[0], s[1], filter[2]]),
        s => s,
    })
}

fn make_backprop_input(init: &KernelInit<'_>, input_shape: InputShape) -> Result<Arc<dyn Kernel>> {
    let geometry = Geometry::new(init)?;
    let dtype = checked_type(init, &[DType::I32])?;
    // The filter of a transposed convolution is packed once. One that is trained changes between steps, and would only be kept from being updated in place.
    let packed = init.constant(1).is_some().then(|| Mutex::new(None::<Arc<PackedTransposed>>));
    from_fn(move |ctx| {
        let (filter, gradient) = (ctx.take(1)?, ctx.take(2)?);
        let shape = input_shape(ctx.input(0)?, filter.shape(), gradient.shape())?;
        let (window, groups, out_channels) = checked_window(&geometry, &shape, filter.shape())?;
        check_gradient(&window, out_channels, gradient.shape())?;
        if matches!(dtype, DType::F64 | DType::I32) {
            return from_zeros(ctx, dtype, shape, |out| {
                if dtype == DType::F64 && groups == 1 {
                    let (filter, gradient) = (filter.as_slice()?, gradient.as_slice()?);
                    products::input_gradient(&window.volume(), out_channels, filter, gradient, out.as_mut_slice()?);
                } else {
                    by_definition(&window, groups, out_channels, [&filter, &gradient], out, |[input, filter, output]| {
                        [filter, output, input]
                    })?;
                }
                Ok(())
            });
        }
        in_float32(ctx, dtype, [filter, gradient], shape, |[weights, gradient], out| {
            if out.is_empty() || gradient.is_empty() {
                return out.fill(0.0);
            }
            let kept = packed.as_ref().and_then(|packed| {
                let mut packed = packed.lock();
                if !packed.as_ref().is_some_and(|packed| packed.is_for(&window)) {
                    *packed = PackedTransposed::pack(&window, weights, out_channels, groups).map(Arc::new);
                }
                packed.clone()
            });
            match kept {
                Some(packed) => packed.apply(&window, out_channels, gradient, out),
                None => conv2d_backprop_input(&window, weights, out_channels, groups, gradient, out),
            }
        })
    })
}

fn make_backprop_filter(init: &KernelInit<'_>, filter_shape: fn(&Tensor) -> Result<Shape>) -> Result<Arc<dyn Kernel>> {
    let geometry = Geometry::new(init)?;
    let dtype = checked_type(init, &[DType::I32])?;
    from_fn(move |ctx| {
        let (input, gradient) = (ctx.take(0)?, ctx.take(2)?);
        let shape = filter_shape(ctx.input(1)?)?;
        let (window, groups, out_channels) = checked_window(&geometry, input.shape(), &shape)?;
        check_gradient(&window, out_channels, gradient.shape())?;
        if matches!(dtype, DType::F64 | DType::I32) {
            return from_zeros(ctx, dtype, shape, |out| {
                if dtype == DType::F64 && groups == 1 {
                    let (input, gradient) = (input.as_slice()?, gradient.as_slice()?);
                    products::filter_gradient(&window.volume(), out_channels, input, gradient, out.as_mut_slice()?);
                } else {
                    by_definition(&window, groups, out_channels, [&input, &gradient], out, |[input, filter, output]| {
                        [input, output, filter]
                    })?;
                }
                Ok(())
            });
        }
        in_float32(ctx, dtype, [input, gradient], shape, |[input, gradient], out| {
            out.fill(0.0);
            if !out.is_empty() && !gradient.is_empty() {
                conv2d_backprop_filter(&window, input, out_channels, groups, gradient, out);
            }
        })
    })
}
