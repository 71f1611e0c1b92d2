//! Conversion between quantised integers and the numbers that they represent. TensorFlow computes it in two ways with different rounding: one
//! number at a time, and for whole tensors at once ([`ToFloats`], [`FromFloats`]). Each op here uses the same way as TensorFlow's, so that results
//! agree bit for bit.

use flowmill_numeric::elementwise::Truncate;
use flowmill_runtime::KernelContext;
use flowmill_tensor::{Allocator, DType, Element, Result, Shape, Tensor, bail};

/// The integer type that stores a quantised type.
pub(super) trait Quantized: Element + Ord {
    /// The quantised type.
    const QUANTIZED: DType;
    const LEAST: i64;
    const GREATEST: i64;
    /// The number of integers.
    const STEPS: f64 = (Self::GREATEST - Self::LEAST + 1) as f64;

    fn wide(self) -> i64;

    /// Returns the nearest integer of this type.
    fn saturated(x: i64) -> Self;

    /// Returns the low bits.
    fn wrapped(x: i32) -> Self;

    /// Returns the offset between signed and unsigned integers: half of their number.
    fn half() -> f32 {
        if Self::LEAST == 0 { 0.0 } else { (Self::STEPS / 2.0) as f32 }
    }
}

macro_rules! quantized {
    ($($t:ty => $dtype:ident),*) => {
        $(impl Quantized for $t {
            const QUANTIZED: DType = DType::$dtype;
            const LEAST: i64 = <$t>::MIN as i64;
            const GREATEST: i64 = <$t>::MAX as i64;

            #[inline(always)]
            fn wide(self) -> i64 {
                i64::from(self)
            }

            fn saturated(x: i64) -> $t {
                x.clamp(Self::LEAST, Self::GREATEST) as $t
            }

            #[inline(always)]
            fn wrapped(x: i32) -> $t {
                x as $t
            }
        })*
    };
}
quantized!(i8 => QI8, u8 => QU8, i16 => QI16, u16 => QU16, i32 => QI32);

/// The numbers that the least and the greatest integer represent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) min: f32,
    pub(super) max: f32,
}

impl Range {
    /// Returns the range in inputs `at` and `at + 1`, which have these names in errors.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the inputs are not scalars.
    pub(super) fn of(ctx: &KernelContext<'_>, at: usize, names: [&str; 2]) -> Result<Range> {
        Ok(Range { min: scalar(ctx, at, names[0])?, max: scalar(ctx, at + 1, names[1])? })
    }

    /// Sets outputs `at` and `at + 1` to the range.
    pub(super) fn set(self, ctx: &mut KernelContext<'_>, at: usize) {
        ctx.set_output(at, Tensor::scalar(self.min));
        ctx.set_output(at + 1, Tensor::scalar(self.max));
    }

    /// Returns the number that an integer represents.
    pub(super) fn to_float<T: Quantized>(self, x: T) -> f32 {
        if self.min == self.max {
            return self.min;
        }
        let width = f64::from(self.max - self.min) * (T::STEPS / (T::STEPS - 1.0));
        let scale = width / T::STEPS;
        let single = scale as f32;
        let first = (self.min / single).round() * single;
        // TensorFlow converts the integers to single precision first.
        let steps = f64::from(T::wide(x) as f32) - T::LEAST as f64;
        (f64::from(first) + steps * scale) as f32
    }

    /// Returns the integer that represents a number, which may be out of the type's range.
    pub(super) fn unclamped<T: Quantized>(self, x: f32) -> i64 {
        if self.min == self.max {
            return T::LEAST;
        }
        let width = f64::from(self.max - self.min) * (T::STEPS / (T::STEPS - 1.0));
        let scale = T::STEPS / width;
        ((f64::from(x) * scale).round() - (f64::from(self.min) * scale).round()).truncate64().wrapping_add(T::LEAST)
    }

    /// Returns the integer that represents a number.
    pub(super) fn quantized<T: Quantized>(self, x: f32) -> T {
        T::saturated(self.unclamped::<T>(x))
    }

    /// Returns the zero point, truncated to 32 bits, which products subtract.
    pub(super) fn zero<T: Quantized>(self) -> i32 {
        self.unclamped::<T>(0.0) as i32
    }

    /// Returns the distance between the numbers of consecutive integers.
    fn level<T: Quantized>(self) -> f32 {
        (self.max - self.min) / (T::GREATEST - T::LEAST) as f32
    }

    /// Returns the range of 32-bit sums of products of integers with these ranges.
    pub(super) fn product<A: Quantized, B: Quantized>(a: Range, b: Range) -> Range {
        let level = a.level::<A>() * b.level::<B>();
        Range { min: level * i32::MIN as f32, max: level * i32::MAX as f32 }
    }
}

/// Returns the scalar in input `at`.
///
/// # Errors
/// Returns `InvalidArgument` if the input is not a scalar.
pub(super) fn scalar(ctx: &KernelContext<'_>, at: usize, name: &str) -> Result<f32> {
    let tensor = ctx.input(at)?;
    if tensor.rank() != 0 {
        bail!(InvalidArgument, "{name} must be rank 0 but is rank {}", tensor.rank());
    }
    tensor.to_scalar::<f32>()
}

/// Returns the tensor of integers in input `at`.
pub(super) fn integers<T: Quantized>(ctx: &KernelContext<'_>, at: usize) -> Result<Tensor> {
    ctx.input(at)?.clone().bitcast(T::DTYPE)
}

/// Returns a quantised tensor whose integers `fill` writes.
pub(super) fn quantized<T: Quantized>(alloc: &Allocator, shape: Shape, fill: impl FnOnce(&mut [T])) -> Result<Tensor> {
    let mut out = alloc.uninit(T::DTYPE, shape)?;
    fill(out.as_mut_slice::<T>()?);
    out.bitcast(T::QUANTIZED)
}

/// A conversion of a tensor's integers to the numbers that they represent.
#[derive(Clone, Copy)]
pub(super) struct ToFloats {
    first: f32,
    scale: f32,
}

impl ToFloats {
    pub(super) fn new<T: Quantized>(range: Range) -> ToFloats {
        let scale = (f64::from(range.max - range.min) / (T::STEPS - 1.0)) as f32;
        let least = if range.max == range.min { range.min } else { (range.min / scale).round() * scale };
        ToFloats { first: least - T::LEAST as f32 * scale, scale }
    }

    pub(super) fn of<T: Quantized>(self, x: T) -> f32 {
        self.number(T::wide(x) as f32)
    }

    /// Returns the number that an integer, which was converted to `f32`, represents.
    #[inline(always)]
    pub(super) fn number(self, integer: f32) -> f32 {
        self.first + integer * self.scale
    }
}

/// A conversion of a tensor's numbers to the integers that represent them.
#[derive(Clone, Copy)]
pub(super) struct FromFloats {
    scale: f32,
    shift: f32,
}

impl FromFloats {
    pub(super) fn new<T: Quantized>(range: Range) -> FromFloats {
        let scale = if range.max == range.min { 0.0 } else { ((T::STEPS - 1.0) / f64::from(range.max - range.min)) as f32 };
        FromFloats { scale, shift: (range.min * scale).round() - T::LEAST as f32 }
    }

    pub(super) fn of<T: Quantized>(self, x: f32) -> T {
        T::wrapped(self.level(x, T::LEAST as f32, Self::greatest::<T>()).truncate32())
    }

    /// Returns the greatest integer that is used: the greatest number of `f32` that fits into 32 bits, for a type of 32 bits.
    pub(super) fn greatest<T: Quantized>() -> f32 {
        (T::GREATEST as f32).min(2_147_483_520.0)
    }

    /// Returns the integer, between these limits, that represents a number, as `f32`.
    #[inline(always)]
    pub(super) fn level(self, x: f32, least: f32, greatest: f32) -> f32 {
        ((x * self.scale).round() - self.shift).max(least).min(greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { min: -1.0, max: 3.0 };

    #[test]
    fn integers_stand_for_numbers() {
        assert_eq!(RANGE.to_float(0u8), -1.003_921_6);
        assert_eq!(RANGE.quantized::<u8>(3.0), 255);
        assert_eq!(RANGE.quantized::<u8>(-7.0), 0);
        assert_eq!(RANGE.zero::<u8>(), 64);
        assert_eq!(RANGE.quantized::<i32>(RANGE.to_float(i32::MAX)), i32::MAX);
    }

    #[test]
    fn a_range_of_one_number_has_one_integer() {
        let one = Range { min: 2.0, max: 2.0 };
        assert_eq!((one.to_float(77u8), one.quantized::<i8>(5.0)), (2.0, -128));
        assert_eq!(FromFloats::new::<u8>(one).of::<u8>(1.0), 0);
    }

    #[test]
    fn what_no_integer_stands_for_becomes_one_all_the_same() {
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            for range in [RANGE, Range { min: f32::NAN, max: 0.0 }, Range { min: f32::MIN, max: f32::MAX }, Range { min: 1.0, max: -1.0 }] {
                let _: (u8, i8, i32) = (range.quantized(x), FromFloats::new::<i8>(range).of(x), FromFloats::new::<i32>(range).of(x));
            }
        }
    }
}
