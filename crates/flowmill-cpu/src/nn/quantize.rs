//! `QuantizeV2` and `Dequantize`: floats to the elements of quantised types and back.

use crate::from_fn::linear_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, Shape, Tensor, bail, bf16};
use num_traits::{AsPrimitive, Bounded};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Dequantize", make_dequantize);
    registry.add("QuantizeV2", make_quantize);
}

/// How floats and integers correspond.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// The range's ends are those of the integers.
    MinCombined,
    /// The same, moved so that the least value is an integer.
    MinFirst,
    /// Zero is zero.
    Scaled,
}

#[derive(Clone, Copy)]
struct Quantization {
    mode: Mode,
    to_even: bool,
    narrow: bool,
    axis: Option<usize>,
    minimum_range: f32,
}

impl Quantization {
    fn new(init: &KernelInit<'_>) -> Result<Quantization> {
        let attrs = init.attrs;
        let mode = match attrs.get_or("mode", "MIN_COMBINED")? {
            "MIN_COMBINED" => Mode::MinCombined,
            "MIN_FIRST" => Mode::MinFirst,
            "SCALED" => Mode::Scaled,
            other => bail!(InvalidArgument, "Mode string must be 'MIN_COMBINED', 'MIN_FIRST', or 'SCALED', is '{other}'"),
        };
        let to_even = attrs.get_or("round_mode", "HALF_AWAY_FROM_ZERO")? == "HALF_TO_EVEN";
        if to_even && mode != Mode::Scaled {
            bail!(InvalidArgument, "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is another.");
        }
        Ok(Quantization {
            mode,
            to_even,
            narrow: attrs.get_or("narrow_range", false)?,
            axis: usize::try_from(attrs.get_or("axis", -1i64)?).ok(),
            minimum_range: attrs.get_or("ensure_minimum_range", 0.01)?,
        })
    }
}

/// The integers behind a quantised type.
trait Quantized: Element + Bounded + AsPrimitive<f32> + AsPrimitive<f64> {
    /// The quantised type.
    const QUANTIZED: DType;
    /// Rounded towards zero; the nearest there is where there is none.
    fn from_float(x: f32) -> Self;
}

macro_rules! quantized {
    ($($t:ty => $d:ident),*) => {
        $(impl Quantized for $t {
            const QUANTIZED: DType = DType::$d;
            fn from_float(x: f32) -> $t { x as $t }
        })*
    };
}
quantized!(i8 => QI8, u8 => QU8, i16 => QI16, u16 => QU16, i32 => QI32);

/// The least and the greatest integer.
fn bounds<T: Quantized>() -> (f64, f64) {
    (T::min_value().as_(), T::max_value().as_())
}

/// What is added to unsigned integers to make them signed: half of how many there are.
fn half_range<T: Quantized>() -> f32 {
    let (least, greatest) = bounds::<T>();
    if least == 0.0 { 0.0 } else { ((greatest - least + 1.0) / 2.0) as f32 }
}

/// The elements that share a range: those of one index along an axis, or all.
struct Slices {
    count: usize,
    outer: usize,
    inner: usize,
}

impl Slices {
    fn new(shape: &Shape, axis: Option<usize>) -> Result<Slices> {
        let Some(axis) = axis else { return Ok(Slices { count: 1, outer: 1, inner: shape.num_elements() }) };
        if axis >= shape.rank() {
            bail!(InvalidArgument, "Axis must be less than input dimension({})", shape.rank());
        }
        let inner: usize = shape[axis + 1..].iter().product();
        // Runs without elements can be more than there is time for.
        let outer: usize = if inner == 0 { 0 } else { shape[..axis].iter().product() };
        Ok(Slices { count: shape[axis], outer, inner })
    }

    /// The runs of elements in slice `i`.
    fn runs(&self, i: usize) -> impl Iterator<Item = Range<usize>> {
        let (count, inner) = (self.count, self.inner);
        (0..self.outer).map(move |o| (o * count + i) * inner..(o * count + i + 1) * inner)
    }
}

/// The ranges in inputs 1 and 2, one for each slice.
fn ranges(ctx: &KernelContext<'_>, count: usize) -> Result<Vec<(f32, f32)>> {
    for (input, name) in [(1, "min_range"), (2, "max_range")] {
        let found = ctx.input(input)?.num_elements();
        if found != count {
            bail!(InvalidArgument, "{name} must have as many elements as there are slices: {found} for {count}");
        }
    }
    let (min, max) = (ctx.input(1)?.as_slice::<f32>()?, ctx.input(2)?.as_slice::<f32>()?);
    Ok(min.iter().copied().zip(max.iter().copied()).collect())
}

macro_rules! for_quantized {
    ($init:expr, $T:ident => $body:expr) => {
        for_quantized!($init, $T => $body, [QI8: i8, QU8: u8, QI16: i16, QU16: u16, QI32: i32])
    };
    ($init:expr, $T:ident => $body:expr, [$($dtype:ident: $t:ty),*]) => {
        match $init.dtype("T")? {
            $(DType::$dtype => {
                type $T = $t;
                $body
            })*
            _ => $init.unsupported(),
        }
    };
}

fn make_quantize(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let q = Quantization::new(init)?;
    for_quantized!(init, T => linear_from_fn(init, move |ctx| quantize::<T>(ctx, q)))
}

fn quantize<T: Quantized>(ctx: &mut KernelContext<'_>, q: Quantization) -> Result<()> {
    let input = ctx.input(0)?;
    let slices = Slices::new(input.shape(), q.axis)?;
    let x = input.as_slice::<f32>()?;
    let mut out = Tensor::uninit(T::DTYPE, input.shape().clone())?;
    let target = out.as_mut_slice::<T>()?;
    let (mut least, mut greatest) = (Vec::new(), Vec::new());
    for (i, (low, high)) in ranges(ctx, slices.count)?.into_iter().enumerate() {
        if low > high {
            bail!(InvalidArgument, "input_max_range must be larger than input_min_range.");
        }
        let (min, apart) = (low.min(0.0), 1f32.max(low.abs().max(high.abs())) * q.minimum_range);
        let max = high.max(min + apart).max(0.0);
        let (min, max, f) = mapping::<T>(q, min, max);
        for run in slices.runs(i) {
            target[run.clone()].iter_mut().zip(&x[run.clone()]).for_each(|(to, &x)| *to = T::from_float(f(x)));
        }
        least.push(min);
        greatest.push(max);
    }
    let shape = if q.axis.is_some() { Shape::from([slices.count]) } else { Shape::scalar() };
    ctx.set_output(0, out.bitcast(T::QUANTIZED)?);
    ctx.set_output(1, Tensor::from_slice(shape.clone(), &least)?);
    ctx.set_output(2, Tensor::from_slice(shape, &greatest)?);
    Ok(())
}

/// The range in effect, and the integer of a float.
fn mapping<T: Quantized>(q: Quantization, min: f32, max: f32) -> (f32, f32, Box<dyn Fn(f32) -> f32>) {
    let (least, greatest) = bounds::<T>();
    match q.mode {
        Mode::MinCombined => {
            let scale = ((greatest - least) / (f64::from(max) - f64::from(min))) as f32;
            let half = half_range::<T>();
            (min, max, Box::new(move |x| ((x.min(max).max(min) - min) * scale - half).round()))
        }
        Mode::MinFirst => {
            let steps = greatest - least + 1.0;
            let range = f64::from((f64::from(max - min) * (steps / (steps - 1.0))) as f32);
            let scale = (steps / range) as f32;
            let offset = (min * scale).round() - least as f32;
            (min, max, Box::new(move |x| ((x * scale).round() - offset).max(least as f32).min(greatest as f32)))
        }
        Mode::Scaled => {
            let least = if q.narrow { least + 1.0 } else { least } as f32;
            let greatest = greatest as f32;
            let side = |end: f32, of: f32| if end * of > 0.0 { end / of } else { f32::MAX };
            let scale = side(least, min).min(side(greatest, max));
            let (min, max) = (least / scale, greatest / scale);
            let round = if q.to_even { f32::round_ties_even } else { f32::round };
            (min, max, Box::new(move |x| round(x.min(max).max(min) * scale)))
        }
    }
}

fn make_dequantize(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let q = Quantization::new(init)?;
    let dtype = init.attrs.get_or("dtype", DType::F32)?;
    if !matches!(dtype, DType::F32 | DType::BF16) {
        bail!(InvalidArgument, "Output type must be bfloat16 or float, is '{dtype}'");
    }
    if dtype == DType::BF16 && q.mode == Mode::MinFirst {
        bail!(InvalidArgument, "MIN_FIRST mode is not supported for bfloat16 output");
    }
    for_quantized!(init, T => linear_from_fn(init, move |ctx| dequantize::<T>(ctx, q, dtype)))
}

fn dequantize<T: Quantized>(ctx: &mut KernelContext<'_>, q: Quantization, dtype: DType) -> Result<()> {
    let input = ctx.input(0)?.clone().bitcast(T::DTYPE)?;
    let slices = Slices::new(input.shape(), q.axis)?;
    let (least, greatest) = bounds::<T>();
    let x = input.as_slice::<T>()?;
    let mut out = vec![0f32; x.len()];
    for (i, (min, max)) in ranges(ctx, slices.count)?.into_iter().enumerate() {
        let (scale, from, to): (f32, f32, f32) = match q.mode {
            Mode::MinCombined => (((f64::from(max) - f64::from(min)) / (greatest - least)) as f32, half_range::<T>(), min),
            Mode::MinFirst => {
                let scale = (f64::from(max - min) / (greatest - least)) as f32;
                (scale, -least as f32, if max == min { min } else { (min / scale).round() * scale })
            }
            Mode::Scaled => {
                let low = if q.narrow { least + 1.0 } else { least } as f32;
                let high = max / greatest as f32;
                (if low == 0.0 { high } else { high.max(min / low) }, 0.0, 0.0)
            }
        };
        for run in slices.runs(i) {
            for (out, &x) in out[run.clone()].iter_mut().zip(&x[run.clone()]) {
                let x: f32 = x.as_();
                *out = (x + from) * scale + to;
            }
        }
    }
    let shape = input.shape().clone();
    let out = if dtype == DType::BF16 {
        Tensor::from_slice(shape, &out.into_iter().map(bf16::from_f32).collect::<Vec<_>>())?
    } else {
        Tensor::from_slice(shape, &out)?
    };
    ctx.set_output(0, out);
    Ok(())
}
