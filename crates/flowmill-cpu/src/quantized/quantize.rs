//! `QuantizeV2` and `Dequantize`, which convert floats to the elements of quantised types and back.

use super::range::{FromFloats, Quantized, Range, ToFloats, integers};
use crate::array::args::Slices;
use crate::elementwise::{CHUNK, for_blocks};
use crate::from_fn::linear_from_fn;
use flowmill_numeric::elementwise::{Truncate, Word};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail, bf16};
use std::ops;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Dequantize", make_dequantize);
    registry.add("QuantizeV2", make_quantize);
}

/// The mapping between floats and integers.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// The limits of the range map to those of the integers.
    MinCombined,
    /// Like `MinCombined`, with the range shifted so that its minimum maps to an integer exactly.
    MinFirst,
    /// Zero maps to zero.
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
        let name = attrs.get_or("mode", "MIN_COMBINED")?;
        let mode = match name {
            "MIN_COMBINED" => Mode::MinCombined,
            "MIN_FIRST" => Mode::MinFirst,
            "SCALED" => Mode::Scaled,
            other => bail!(InvalidArgument, "Mode string must be 'MIN_COMBINED', 'MIN_FIRST', or 'SCALED', is '{other}'"),
        };
        let to_even = attrs.get_or("round_mode", "HALF_AWAY_FROM_ZERO")? == "HALF_TO_EVEN";
        if to_even && mode != Mode::Scaled {
            bail!(InvalidArgument, "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{name}'.");
        }
        Ok(Quantization {
            mode,
            to_even,
            narrow: attrs.get_or("narrow_range", false)?,
            axis: usize::try_from(attrs.get_or("axis", -1i64)?).ok(),
            minimum_range: attrs.get_or("ensure_minimum_range", 0.01)?,
        })
    }

    /// Returns the least and the greatest integer that are used.
    fn ends<T: Quantized>(self) -> (f32, f32) {
        ((T::LEAST + i64::from(self.narrow)) as f32, T::GREATEST as f32)
    }
}

/// Returns the ranges in inputs 1 and 2.
fn ranges(ctx: &KernelContext<'_>) -> Result<impl Iterator<Item = Range>> {
    let (min, max) = (ctx.input(1)?.as_slice::<f32>()?, ctx.input(2)?.as_slice::<f32>()?);
    Ok(min.iter().zip(max).map(|(&min, &max)| Range { min, max }))
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

/// Checks the inputs, and returns the slices of an input of this shape, one per range.
fn check_quantize(ctx: &KernelContext<'_>, q: Quantization, shape: &Shape) -> Result<Slices> {
    if let Some(axis) = q.axis
        && axis >= shape.rank()
    {
        bail!(
            InvalidArgument,
            "Axis is on a zero-based index, so its value must always be less than number of input's dims, but given axis value was {axis} and \
             input's dims was {}",
            shape.rank()
        );
    }
    let slices = Slices::new(shape, q.axis);
    for (input, name) in [(1, "min_range"), (2, "max_range")] {
        match ctx.input(input)?.num_elements() {
            found if found == slices.count => {}
            found if q.axis.is_none() => {
                bail!(
                    InvalidArgument,
                    "If axis is not specified, {name} must contain a single float element, but it contains {found} elements"
                )
            }
            found => bail!(InvalidArgument, "{name} must have as many elements as there are slices: {found} for {}", slices.count),
        }
    }
    if q.mode == Mode::MinFirst && slices.count != 1 {
        bail!(Unimplemented, "MIN_FIRST mode is not implemented for Quantize with axis != -1.");
    }
    Ok(slices)
}

fn quantize<T: Quantized>(ctx: &mut KernelContext<'_>, q: Quantization) -> Result<()> {
    let input = ctx.input(0)?;
    let slices = check_quantize(ctx, q, input.shape())?;
    let x = input.as_slice::<f32>()?;
    let mut out = ctx.allocator().uninit(T::DTYPE, input.shape().clone())?;
    let target = out.as_mut_slice::<T>()?;
    let (mut least, mut greatest) = (Vec::new(), Vec::new());
    for (i, Range { min: low, max: high }) in ranges(ctx)?.enumerate() {
        if low > high {
            bail!(InvalidArgument, "input_max_range must be larger than input_min_range.");
        }
        let (min, apart) = (low.min(0.0), 1f32.max(low.abs().max(high.abs())) * q.minimum_range);
        let range = quantize_runs(q, Range { min, max: high.max(min + apart).max(0.0) }, slices.runs(i), x, target);
        least.push(range.min);
        greatest.push(range.max);
    }
    let shape = if q.axis.is_some() { Shape::from([slices.count]) } else { Shape::scalar() };
    ctx.set_output(0, out.bitcast(T::QUANTIZED)?);
    ctx.set_output(1, ctx.allocator().from_slice(shape.clone(), &least)?);
    ctx.set_output(2, ctx.allocator().from_slice(shape, &greatest)?);
    Ok(())
}

/// Flushes denormal numbers to zero, like the threads of TensorFlow's kernels.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0 } else { x }
}

/// A function of floats. It is the same for all types of integers, so that its loops exist once.
#[derive(Clone, Copy)]
enum Formula {
    /// The nearest integer of `(x - min) scale - shift`, for x within the range.
    Levels { range: Range, scale: f32, shift: f32 },
    /// The formula of [`FromFloats`], for integers from `least` to `greatest`.
    FirstLevels { from: FromFloats, least: f32, greatest: f32 },
    /// The nearest integer of `x scale`, for x within the range; halves are rounded to even or away from zero.
    ScaledLevels { range: Range, scale: f32, to_even: bool },
    /// The number `(x + shift) scale + min`.
    Numbers { shift: f32, scale: f32, min: f32 },
    /// The formula of [`ToFloats`].
    FirstNumbers(ToFloats),
    /// The number `x scale`.
    ScaledNumbers { scale: f32 },
}

impl Formula {
    /// Computes the function of each element of `x`.
    fn apply(self, x: &[f32], out: &mut [f32]) {
        match self {
            Formula::Levels { range: Range { min, max }, scale, shift } => {
                f32::map(x, out, |x| ((x.min(max).max(min) - min) * scale - shift).round());
            }
            Formula::FirstLevels { from, least, greatest } => f32::map(x, out, |x| from.level(x, least, greatest)),
            Formula::ScaledLevels { range: Range { min, max }, scale, to_even: true } => {
                f32::map(x, out, |x| (x.min(max).max(min) * scale).round_ties_even());
            }
            Formula::ScaledLevels { range: Range { min, max }, scale, to_even: false } => {
                f32::map(x, out, |x| (x.min(max).max(min) * scale).round());
            }
            Formula::Numbers { shift, scale, min } => f32::map(x, out, |x| (x + shift) * scale + min),
            Formula::FirstNumbers(to) => f32::map(x, out, |x| to.number(x)),
            Formula::ScaledNumbers { scale } => f32::map(x, out, |x| x * scale),
        }
    }
}

/// Calls `convert(x, out)` for the parts of these runs that fit into a buffer, on several threads if there are many.
fn for_parts<A: Sync, B: Send>(
    runs: impl Iterator<Item = ops::Range<usize>>,
    x: &[A],
    out: &mut [B],
    convert: &(dyn Fn(&[A], &mut [B]) + Sync),
) {
    for run in runs {
        let from = &x[run.clone()];
        for_blocks(&mut out[run], 2, &|start, block| {
            for (i, out) in block.chunks_mut(CHUNK).enumerate() {
                convert(&from[start + i * CHUNK..][..out.len()], out);
            }
        });
    }
}

/// Quantises the floats in these runs, and returns the range that was used.
fn quantize_runs<T: Quantized>(
    q: Quantization,
    range: Range,
    runs: impl Iterator<Item = ops::Range<usize>>,
    x: &[f32],
    out: &mut [T],
) -> Range {
    let Range { min, max } = range;
    let (formula, used) = match q.mode {
        Mode::MinCombined => {
            let scale = (T::GREATEST - T::LEAST) as f32 / (max - min);
            (Formula::Levels { range, scale, shift: T::half() }, range)
        }
        Mode::MinFirst => {
            let from = FromFloats::new::<T>(range);
            (Formula::FirstLevels { from, least: T::LEAST as f32, greatest: FromFloats::greatest::<T>() }, range)
        }
        Mode::Scaled => {
            let (least, greatest) = q.ends::<T>();
            let side = |end: f32, of: f32| if end * of > 0.0 { end / of } else { f32::MAX };
            let scale = side(least, min).min(side(greatest, max));
            let used = Range { min: flushed(least / scale), max: flushed(greatest / scale) };
            (Formula::ScaledLevels { range: used, scale, to_even: q.to_even }, used)
        }
    };
    for_parts(runs, x, out, &|x, out| {
        let mut levels = [0.0; CHUNK];
        let levels = &mut levels[..x.len()];
        formula.apply(x, levels);
        // Like x86: NaN and values out of range become the least 32-bit integer.
        out.iter_mut().zip(levels).for_each(|(out, level)| *out = T::wrapped(level.truncate32()));
    });
    used
}

fn make_dequantize(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let q = Quantization::new(init)?;
    let dtype = init.attrs.get_or("dtype", DType::F32)?;
    if !matches!(dtype, DType::F32 | DType::BF16) {
        bail!(InvalidArgument, "Output type must be bfloat16 or float, is '{dtype}'");
    }
    if dtype == DType::BF16 && q.mode != Mode::MinCombined {
        let mode = init.attrs.get_or("mode", "")?;
        bail!(InvalidArgument, "When output type is bfloat16, Mode string must be 'MIN_COMBINED', is '{mode}'");
    }
    for_quantized!(init, T => linear_from_fn(init, move |ctx| dequantize::<T>(ctx, q, dtype)))
}

fn dequantize<T: Quantized>(ctx: &mut KernelContext<'_>, q: Quantization, dtype: DType) -> Result<()> {
    let input = integers::<T>(ctx, 0)?;
    if let Some(axis) = q.axis
        && axis >= input.rank()
    {
        bail!(InvalidArgument, "Axis must be less than input dimension({}), got {axis}", input.rank());
    }
    let slices = Slices::new(input.shape(), q.axis);
    for (at, name) in [(1, "input_min_tensor"), (2, "input_max_tensor")] {
        let found = ctx.input(at)?.num_elements();
        if found != slices.count {
            let axis = q.axis.map_or(-1, |axis| axis as i64);
            bail!(
                InvalidArgument,
                "{name} must have as many elements as input on the dequantization axis ({axis}), got {found}, expected {}",
                slices.count
            );
        }
    }
    if q.mode == Mode::MinFirst && slices.count != 1 {
        bail!(Unimplemented, "MIN_FIRST mode is not implemented for Dequantize with axis != -1.");
    }
    let x = input.as_slice::<T>()?;
    let mut floats = ctx.allocator().uninit(DType::F32, input.shape().clone())?;
    let out = floats.as_mut_slice::<f32>()?;
    for (i, range) in ranges(ctx)?.enumerate() {
        dequantize_runs(q, range, slices.runs(i), x, out);
    }
    let out = if dtype == DType::BF16 {
        let mut rounded = ctx.allocator().uninit(DType::BF16, input.shape().clone())?;
        rounded.as_mut_slice::<bf16>()?.iter_mut().zip(&*out).for_each(|(to, &x)| *to = bf16::from_f32(x));
        rounded
    } else {
        floats
    };
    ctx.set_output(0, out);
    Ok(())
}

/// Dequantises the integers in these runs.
fn dequantize_runs<T: Quantized>(q: Quantization, range: Range, runs: impl Iterator<Item = ops::Range<usize>>, x: &[T], out: &mut [f32]) {
    let Range { min, max } = range;
    let formula = match q.mode {
        Mode::MinCombined => {
            let scale = (max - min) / (T::GREATEST as f32 - T::LEAST as f32);
            Formula::Numbers { shift: T::half(), scale, min }
        }
        Mode::MinFirst => Formula::FirstNumbers(ToFloats::new::<T>(range)),
        Mode::Scaled => {
            let (least, greatest) = q.ends::<T>();
            let high = max / greatest;
            Formula::ScaledNumbers { scale: if T::LEAST == 0 { high } else { high.max(min / least) } }
        }
    };
    for_parts(runs, x, out, &|x, out| {
        let mut integers = [0.0; CHUNK];
        let integers = &mut integers[..x.len()];
        integers.iter_mut().zip(x).for_each(|(to, x)| *to = T::wide(*x) as f32);
        formula.apply(integers, out);
    });
}
