//! `_IntegerConv2D`, `_IntegerDepthwiseConv2d` and `_IntegerMatMul`.

use super::{limits, zero_byte};
use crate::from_fn::batched_from_fn;
use crate::packed_weights::LastForm;
use crate::window::Geometry;
use flowmill_numeric::integer::{DepthwiseFilter, IntegerFilter, Rescale, Rescaled};
use flowmill_numeric::window::Window;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("_IntegerConv2D", |init| {
        let geometry = Geometry::new(init)?;
        make(init, move |input, filter| conv_window(&geometry, input, filter))
    });
    registry.add("_IntegerDepthwiseConv2d", |init| {
        let geometry = Geometry::new(init)?;
        make(init, move |input, filter| depthwise_window(&geometry, input, filter))
    });
    registry.add("_IntegerMatMul", |init| make(init, rows_window));
}

/// The positions of a layer's windows, the number of its output channels, and the shape of its result.
struct Places {
    window: Window,
    channels: usize,
    shape: Shape,
    is_depthwise: bool,
}

/// The packed form of a layer's weights.
enum Form {
    Full(IntegerFilter),
    Depthwise(DepthwiseFilter),
}

impl Form {
    fn pack(weights: &[i16], places: &Places, zero: u8) -> Result<Form> {
        if weights.is_empty() {
            bail!(InvalidArgument, "the filter must not be empty");
        }
        if let Some(weight) = weights.iter().find(|weight| !(-255..=255).contains(*weight)) {
            bail!(InvalidArgument, "weights must be integers from -255 to 255, not {weight}");
        }
        let Window { height, width, channels, .. } = places.window;
        Ok(match places.is_depthwise {
            true => Form::Depthwise(DepthwiseFilter::pack(weights, [height, width, channels], zero)),
            false => Form::Full(IntegerFilter::pack(weights, [height, width, channels, places.channels], zero)),
        })
    }

    fn is_for(&self, is_depthwise: bool, zero: u8) -> bool {
        match self {
            Form::Full(filter) => !is_depthwise && filter.is_for(zero),
            Form::Depthwise(filter) => is_depthwise && filter.is_for(zero),
        }
    }

    fn apply<O: Rescaled>(&self, window: &Window, input: &[u8], finish: &Rescale<'_>, out: &mut [O]) {
        match self {
            Form::Full(filter) => filter.apply(window, input, finish, out),
            Form::Depthwise(filter) => filter.apply(window, input, finish, out),
        }
    }
}

fn conv_window(geometry: &Geometry, input: &Shape, filter: &Shape) -> Result<Places> {
    let &[height, width, depth, channels] = filter.dims() else { bail!(InvalidArgument, "filter must be 4-dimensional: {filter}") };
    let window = geometry.window(input, height, width)?;
    if depth != window.channels {
        bail!(InvalidArgument, "input and filter must have the same depth: {} vs {depth}", window.channels);
    }
    let shape = Shape::from([window.batch, window.out_height, window.out_width, channels]);
    Ok(Places { window, channels, shape, is_depthwise: false })
}

fn depthwise_window(geometry: &Geometry, input: &Shape, filter: &Shape) -> Result<Places> {
    let &[height, width, channels, 1] = filter.dims() else {
        bail!(InvalidArgument, "filter must be 4-dimensional with a multiplier of 1: {filter}")
    };
    let window = geometry.window(input, height, width)?;
    if channels != window.channels {
        bail!(InvalidArgument, "input and filter must have the same depth: {} vs {channels}", window.channels);
    }
    let shape = Shape::from([window.batch, window.out_height, window.out_width, channels]);
    Ok(Places { window, channels, shape, is_depthwise: true })
}

/// Returns the rows of a matrix as images of one pixel.
fn rows_window(a: &Shape, b: &Shape) -> Result<Places> {
    let (&[rows, depth], &[inner, channels]) = (a.dims(), b.dims()) else {
        bail!(InvalidArgument, "factors must be matrices: {a} and {b}")
    };
    if depth != inner {
        bail!(InvalidArgument, "Matrix size-incompatible: In[0]: {a}, In[1]: {b}");
    }
    let image = Shape::from([rows, 1, 1, depth]);
    let window = Geometry::of([1, 1], [1, 1], false).window(&image, 1, 1)?;
    Ok(Places { window, channels, shape: Shape::from([rows, channels]), is_depthwise: false })
}

/// Makes a layer's kernel from the function that checks the shapes of its input and filter.
fn make(init: &KernelInit<'_>, places: impl Fn(&Shape, &Shape) -> Result<Places> + Send + Sync + 'static) -> Result<Arc<dyn Kernel>> {
    let zero = zero_byte(init.attrs.get("zero")?)?;
    let dtype = init.dtype("T")?;
    let limits = limits(init, dtype == DType::U8)?;
    let packed = LastForm::<Form>::default();
    match dtype {
        DType::U8 => batched_from_fn(None, 1, move |ctx| compute::<u8>(ctx, &places, zero, limits, &packed)),
        DType::F32 => batched_from_fn(None, 1, move |ctx| compute::<f32>(ctx, &places, zero, limits, &packed)),
        _ => init.unsupported(),
    }
}

fn compute<O: Element + Rescaled>(
    ctx: &mut KernelContext<'_>,
    places: &impl Fn(&Shape, &Shape) -> Result<Places>,
    zero: u8,
    (low, high): (f32, f32),
    packed: &LastForm<Form>,
) -> Result<()> {
    let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
    let places = places(input.shape(), filter.shape())?;
    let (factor, bias) = (per_channel(ctx, 2, "factor", places.channels)?, per_channel(ctx, 3, "bias", places.channels)?);
    let mut out = ctx.allocator().uninit(O::DTYPE, places.shape.clone())?;
    if out.num_elements() > 0 {
        let pack = || Form::pack(filter.as_slice()?, &places, zero);
        let form = packed.get(&filter, |form| form.is_for(places.is_depthwise, zero), pack)?;
        let finish = Rescale { factor: factor.as_slice()?, bias: bias.as_slice()?, low, high };
        form.apply(&places.window, input.as_slice()?, &finish, out.as_mut_slice::<O>()?);
    }
    ctx.set_output(0, out);
    Ok(())
}

/// Takes an input with one number per channel.
fn per_channel(ctx: &mut KernelContext<'_>, i: usize, name: &str, channels: usize) -> Result<Tensor> {
    let values = ctx.take(i)?;
    if values.shape().dims() != [channels] {
        bail!(InvalidArgument, "{name} must have one number for each of {channels} channels: {}", values.shape());
    }
    Ok(values)
}
