//! `QuantizeAndDequantize`, its versions 2 to 4, and the gradient of the last: floats are rounded to values that a quantised type can represent.

use super::args::Slices;
use crate::elementwise::Word;
use crate::from_fn::linear_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use num_traits::Float;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizeAndDequantize", make_quantize_and_dequantize_v1);
    registry.add("QuantizeAndDequantizeV2", make_quantize_and_dequantize);
    registry.add("QuantizeAndDequantizeV3", make_quantize_and_dequantize_v3);
    registry.add("QuantizeAndDequantizeV4", make_quantize_and_dequantize);
    registry.add("QuantizeAndDequantizeV4Grad", make_gradient);
}

#[derive(Clone, Copy)]
struct Quantization {
    signed: bool,
    num_bits: u32,
    range_given: bool,
    narrow: bool,
    half_up: bool,
    axis: i64,
}

fn make_quantize_and_dequantize(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let signed = attrs.get_or("signed_input", true)?;
    let num_bits = check_bits(attrs.get_or("num_bits", 8)?, signed)?;
    let half_up = match attrs.get_or("round_mode", "HALF_TO_EVEN")? {
        "HALF_TO_EVEN" => false,
        "HALF_UP" => true,
        other => bail!(InvalidArgument, "Round mode string must be 'HALF_TO_EVEN' or 'HALF_UP', is '{other}'"),
    };
    let axis: i64 = attrs.get_or("axis", -1)?;
    if axis < -1 {
        bail!(InvalidArgument, "Axis must be at least -1. Found {axis}");
    }
    let q = Quantization {
        signed,
        num_bits,
        range_given: attrs.get_or("range_given", false)?,
        narrow: attrs.get_or("narrow_range", false)?,
        half_up,
        axis,
    };
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => linear_from_fn(init, move |ctx| {
        let output = quantize::<T>(ctx, q)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

/// Makes the kernel of the first version, whose range is in the attributes.
fn make_quantize_and_dequantize_v1(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let signed = attrs.get_or("signed_input", true)?;
    let (min, max): (f32, f32) = (attrs.get_or("input_min", 0.0)?, attrs.get_or("input_max", 0.0)?);
    let q = Quantization {
        signed,
        num_bits: check_bits(attrs.get_or("num_bits", 8)?, signed)?,
        range_given: attrs.get_or("range_given", false)?,
        narrow: false,
        half_up: false,
        axis: -1,
    };
    if q.range_given && !(min <= max) {
        bail!(InvalidArgument, "Invalid range: input_min {min} > input_max {max}");
    }
    fn kernel<T: Element + Rounding>(init: &KernelInit<'_>, q: Quantization, range: [f32; 2]) -> Result<Arc<dyn Kernel>> {
        let [min, max] = range.map(|end| <T as num_traits::NumCast>::from(end).unwrap_or_else(T::zero));
        linear_from_fn(init, move |ctx| {
            let given = ([min], [max]);
            let output = quantize_within::<T>(ctx.allocator(), ctx.input(0)?, q, q.range_given.then_some((&given.0, &given.1)))?;
            ctx.set_output(0, output);
            Ok(())
        })
    }
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => kernel::<T>(init, q, [min, max]), _ => init.unsupported())
}

fn make_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis: i64 = init.attrs.get_or("axis", -1)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => linear_from_fn(init, move |ctx| gradient::<T>(ctx, axis)), _ => init.unsupported())
}

/// Outputs the gradient, which is zero for elements outside of the range. The gradients of the range's limits are zero.
fn gradient<T: Element + Rounding>(ctx: &mut KernelContext<'_>, axis: i64) -> Result<()> {
    let (gradient, input) = (ctx.input(0)?, ctx.input(1)?);
    if gradient.shape() != input.shape() {
        bail!(InvalidArgument, "gradients and input must be the same size");
    }
    let Slices { count: channels, outer, inner } = slices(input.shape(), axis)?;
    let (low, high) = (range_argument::<T>(ctx, 2, "input_min", channels)?, range_argument::<T>(ctx, 3, "input_max", channels)?);
    if low.len() != high.len() {
        bail!(InvalidArgument, "input_min and input_max must have the same shape");
    }
    let range = ctx.allocator().zeros(T::DTYPE, if axis == -1 { Shape::scalar() } else { Shape::new(&[channels]) })?;
    let mut output = ctx.allocator().uninit(T::DTYPE, input.shape().clone())?;
    let (g, x, out) = (gradient.as_slice::<T>()?, input.as_slice::<T>()?, output.as_mut_slice::<T>()?);
    for i in 0..outer * channels {
        let (low, high) = (low[i % channels % low.len()], high[i % channels % high.len()]);
        for at in i * inner..(i + 1) * inner {
            let passes = x[at] >= low && x[at] <= high;
            out[at] = g[at] * if passes { T::one() } else { T::zero() };
        }
    }
    ctx.set_output(0, output);
    ctx.set_output(1, range.clone());
    ctx.set_output(2, range);
    Ok(())
}

fn check_bits(num_bits: i64, signed: bool) -> Result<u32> {
    if !(1..if signed { 62 } else { 63 }).contains(&num_bits) {
        bail!(InvalidArgument, "num_bits is out of range: {num_bits} with signed_input_ {}", i32::from(signed));
    }
    Ok(num_bits as u32)
}

/// Makes the kernel of version 3, in which the number of bits is an input.
fn make_quantize_and_dequantize_v3(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let axis: i64 = attrs.get_or("axis", -1)?;
    if axis < -1 {
        bail!(InvalidArgument, "Axis must be at least -1. Found {axis}");
    }
    let q = Quantization {
        signed: attrs.get_or("signed_input", true)?,
        num_bits: 8,
        range_given: attrs.get_or("range_given", true)?,
        narrow: attrs.get_or("narrow_range", false)?,
        half_up: false,
        axis,
    };
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => linear_from_fn(init, move |ctx| {
        let num_bits = check_bits(ctx.input(3)?.to_i64()?, q.signed)?;
        let output = quantize::<T>(ctx, Quantization { num_bits, ..q })?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

/// Returns the slices along `axis`, or the whole tensor as one slice.
fn slices(shape: &Shape, axis: i64) -> Result<Slices> {
    let axis = usize::try_from(axis).ok();
    if let Some(axis) = axis
        && axis >= shape.rank()
    {
        bail!(InvalidArgument, "Axis requested is larger than input dimensions. Axis: {axis} Input Dimensions: {}", shape.rank());
    }
    Ok(Slices::new(shape, axis))
}

/// Quantises with one range for the whole tensor, or one for each index along `axis`.
fn quantize<T: Element + Rounding>(ctx: &KernelContext<'_>, q: Quantization) -> Result<Tensor> {
    let input = ctx.input(0)?;
    let channels = slices(input.shape(), q.axis)?.count;
    let given = if q.range_given && input.num_elements() > 0 {
        Some((range_argument::<T>(ctx, 1, "input_min", channels)?, range_argument::<T>(ctx, 2, "input_max", channels)?))
    } else {
        None
    };
    quantize_within(ctx.allocator(), input, q, given)
}

/// Like [`quantize`], with the given limits of ranges instead of those of the input, if any.
fn quantize_within<T: Element + Rounding>(
    alloc: &Allocator,
    input: &Tensor,
    q: Quantization,
    given: Option<(&[T], &[T])>,
) -> Result<Tensor> {
    let slices = slices(input.shape(), q.axis)?;
    let source = input.as_slice::<T>()?;
    let mut output = alloc.uninit(T::DTYPE, input.shape().clone())?;
    if source.is_empty() {
        return Ok(output);
    }
    let out = output.as_mut_slice::<T>()?;
    for channel in 0..slices.count {
        let (low, high) = match &given {
            Some((low, high)) => (low[channel % low.len()], high[channel % high.len()]),
            None => slices
                .runs(channel)
                .flat_map(|run| &source[run])
                .fold((T::max_value(), T::min_value()), |(low, high), &x| (low.min(x), high.max(x))),
        };
        if q.range_given && low > high {
            bail!(
                InvalidArgument,
                "Invalid range: input_min {} > input_max {}",
                low.to_f64().unwrap_or(f64::NAN),
                high.to_f64().unwrap_or(f64::NAN)
            );
        }
        let scale = Scale::new(low, high, q);
        for run in slices.runs(channel) {
            T::map(&source[run.clone()], &mut out[run], |x| scale.round(x, q));
        }
    }
    Ok(output)
}

fn range_argument<'a, T: Element>(ctx: &'a KernelContext<'_>, i: usize, name: &str, channels: usize) -> Result<&'a [T]> {
    let values = ctx.input(i)?.as_slice::<T>()?;
    if values.len() != 1 && values.len() != channels {
        bail!(
            InvalidArgument,
            "{name} must be a scalar or have one element for each of {channels} channels, got shape {}",
            ctx.input(i)?.shape()
        );
    }
    Ok(values)
}

/// The factors that map a range to the integers of the quantised type.
struct Scale<T> {
    low: T,
    high: T,
    scale: T,
    inverse: T,
}

impl<T: Rounding> Scale<T> {
    fn new(low: T, high: T, q: Quantization) -> Scale<T> {
        let number = |x: i64| T::from(x).unwrap_or_else(T::zero);
        let least = number(match (q.signed, q.narrow) {
            (true, true) => -(1 << (q.num_bits - 1)) + 1,
            (true, false) => -(1 << (q.num_bits - 1)),
            (false, _) => 0,
        });
        let most = number(if q.signed { (1 << (q.num_bits - 1)) - 1 } else { ((1u64 << q.num_bits) - 1) as i64 });
        let from_low = if least * low > T::zero() { least / low } else { T::max_value() };
        let from_high = if most * high > T::zero() { most / high } else { T::max_value() };
        if from_low < from_high {
            let inverse = low / least;
            Scale { low, high: most * inverse, scale: from_low, inverse }
        } else {
            let inverse = high / most;
            Scale { low: least * inverse, high, scale: from_high, inverse }
        }
    }

    #[inline(always)]
    fn round(&self, x: T, q: Quantization) -> T {
        let x = if q.range_given { x.min(self.high).max(self.low) } else { x };
        let scaled = x * self.scale;
        let rounded = if q.half_up { (scaled + T::from(0.5).unwrap_or_else(T::zero)).floor() } else { scaled.half_to_even() };
        rounded * self.inverse
    }
}

/// A floating-point type whose values can be rounded to integers.
trait Rounding: Float + Word {
    /// Returns the nearest integer, ties to even. A value that is rounded to zero keeps its sign.
    fn half_to_even(self) -> Self;
}

macro_rules! rounding {
    ($($t:ty, |$x:ident| $rounded:expr;)*) => {
        $(impl Rounding for $t {
            #[inline(always)]
            fn half_to_even(self) -> $t {
                let $x = self;
                $rounded
            }
        })*
    };
}

rounding! {
    f32, |x| x.round_ties_even();
    f64, |x| x.round_ties_even();
    f16, |x| f16::from_f32(x.to_f32().round_ties_even());
    bf16, |x| bf16::from_f32(x.to_f32().round_ties_even());
}
