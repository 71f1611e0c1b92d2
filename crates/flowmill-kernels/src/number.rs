//! Arithmetic with uniform rules for every numeric element type: integers wrap around, `float16` and `bfloat16` are computed in `float32` and
//! rounded once.

use crate::half_bits;
use crate::word::Word;
use flowmill_numeric::elementwise::complex::ComplexFunctions;
use flowmill_numeric::float16::Float16;
use flowmill_tensor::{Complex, DType, bf16, f16, for_dtype};
use num_traits::Float;

/// A numeric element type.
pub trait Number: Word {
    /// The type in which sums and products are accumulated: `f32` for the 16-bit floats, otherwise the type itself.
    type Acc: Number<Acc = Self::Acc>;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Returns `self + other`.
    fn plus(self, other: Self) -> Self;
    /// Returns `self - other`.
    fn minus(self, other: Self) -> Self;
    /// Returns `self * other`.
    fn times(self, other: Self) -> Self;
    /// Returns `self / other`. Integers round towards zero; a zero divisor, which callers reject, gives 0.
    fn over(self, other: Self) -> Self;
    /// Returns the quotient, or zero for a zero divisor.
    fn over_no_nan(self, other: Self) -> Self {
        if other == Self::ZERO { Self::ZERO } else { self.over(other) }
    }
    /// Returns `n` in this type, rounded or wrapped.
    fn from_count(n: usize) -> Self;
    /// Converts the value to the accumulator's type.
    fn widen(self) -> Self::Acc;
    /// Converts the accumulator's value to this type, with rounding.
    fn narrow(acc: Self::Acc) -> Self;
    /// Returns the complex conjugate; real numbers are their own.
    fn conj(self) -> Self {
        self
    }
    /// Computes `dst[i] = src[i].widen()`.
    fn widen_all(src: &[Self], dst: &mut [Self::Acc]) {
        dst.iter_mut().zip(src).for_each(|(dst, src)| *dst = src.widen());
    }
    /// Computes `dst[i] = narrow(src[i])`.
    fn narrow_all(src: &[Self::Acc], dst: &mut [Self]) {
        dst.iter_mut().zip(src).for_each(|(dst, src)| *dst = Self::narrow(*src));
    }
    /// Computes `dst[i] = f(src[i])` for a function that rounds once. A type for which blocks are faster computes it by `in_f32`, the function of `f32`.
    fn map_rounded(src: &[Self], dst: &mut [Self], f: impl Fn(Self) -> Self, in_f32: fn(&[f32], &mut [f32])) {
        let _ = in_f32;
        Self::map(src, dst, f);
    }
    /// Like [`Number::map_rounded`], for a function of two numbers.
    fn zip_rounded(a: &[Self], b: &[Self], dst: &mut [Self], f: impl Fn(Self, Self) -> Self, in_f32: fn(&[f32], &[f32], &mut [f32])) {
        let _ = in_f32;
        Self::zip(a, b, dst, f);
    }
    /// Computes `dst[i] = a[i].over(b[i])`. A type for which blocks are faster computes it by `in_f32`, the function of `f32`.
    fn zip_over(a: &[Self], b: &[Self], dst: &mut [Self], in_f32: fn(&[f32], &[f32], &mut [f32])) {
        Self::zip_rounded(a, b, dst, Self::over, in_f32);
    }
}

/// The elements of a 16-bit type that are computed in `f32` at a time.
const WIDENED: usize = 256;

/// Computes `dst[i] = f(src[i])` in the accumulator's type, rounded once.
pub fn map_widened<T: Number<Acc = f32>>(src: &[T], dst: &mut [T], f: fn(&[f32], &mut [f32])) {
    let (mut x, mut y) = ([0.0; WIDENED], [0.0; WIDENED]);
    for (src, dst) in src.chunks(WIDENED).zip(dst.chunks_mut(WIDENED)) {
        let n = dst.len();
        T::widen_all(src, &mut x[..n]);
        f(&x[..n], &mut y[..n]);
        T::narrow_all(&y[..n], dst);
    }
}

/// Computes `dst[i] = f(a[i], b[i])` in the accumulator's type, rounded once.
pub fn zip_widened<T: Number<Acc = f32>>(a: &[T], b: &[T], dst: &mut [T], f: fn(&[f32], &[f32], &mut [f32])) {
    let (mut x, mut y, mut z) = ([0.0; WIDENED], [0.0; WIDENED], [0.0; WIDENED]);
    for ((a, b), dst) in a.chunks(WIDENED).zip(b.chunks(WIDENED)).zip(dst.chunks_mut(WIDENED)) {
        let n = dst.len();
        T::widen_all(a, &mut x[..n]);
        T::widen_all(b, &mut y[..n]);
        f(&x[..n], &y[..n], &mut z[..n]);
        T::narrow_all(&z[..n], dst);
    }
}

/// Returns true if the elements of a type are [`Number`]s.
pub fn is_number(dtype: DType) -> bool {
    for_dtype!(dtype, [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], _T => true, _ => false)
}

/// A numeric type whose values are ordered.
pub trait Ordered: Number + PartialOrd {
    /// The least value: minus infinity for floats.
    const LOWEST: Self;
    /// The greatest value: infinity for floats.
    const HIGHEST: Self;
    /// The least finite value.
    const LOWEST_FINITE: Self;
    /// The greatest finite value.
    const HIGHEST_FINITE: Self;
    /// Returns true if the value is NaN.
    fn is_nan_value(self) -> bool;
    /// Returns an integer that sorts like the value: equal for equal values, and greatest for NaN.
    fn rank(self) -> u64;
    /// Returns the larger value, the first one if both are equal; NaN if either is NaN.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self < other || other.is_nan_value() { other } else { self }
    }
    /// Returns the smaller value, the first one if both are equal; NaN if either is NaN.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if other < self || other.is_nan_value() { other } else { self }
    }
    /// Like [`Ordered::larger`], in a form of which compilers make no masked store.
    #[inline(always)]
    fn larger_stored(self, other: Self) -> Self {
        self.larger(other)
    }
    /// Like [`Ordered::smaller`], in a form of which compilers make no masked store.
    #[inline(always)]
    fn smaller_stored(self, other: Self) -> Self {
        self.smaller(other)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {
        $(impl Number for $t {
            type Acc = $t;
            const ZERO: $t = 0;
            const ONE: $t = 1;
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn minus(self, other: $t) -> $t { self.wrapping_sub(other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
            #[inline(always)]
            fn over(self, other: $t) -> $t { if other == 0 { 0 } else { self.wrapping_div(other) } }
            fn from_count(n: usize) -> $t { n as $t }
            #[inline(always)]
            fn widen(self) -> $t { self }
            #[inline(always)]
            fn narrow(acc: $t) -> $t { acc }
        }
        impl Ordered for $t {
            const LOWEST: $t = <$t>::MIN;
            const HIGHEST: $t = <$t>::MAX;
            const LOWEST_FINITE: $t = <$t>::MIN;
            const HIGHEST_FINITE: $t = <$t>::MAX;
            #[inline(always)]
            fn is_nan_value(self) -> bool { false }
            #[inline(always)]
            fn rank(self) -> u64 { (self as u64) ^ if <$t>::MIN == 0 { 0 } else { 1 << 63 } }
        })*
    };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! plain_arithmetic {
    ($t:ty, |$a:ident, $b:ident| $over:expr) => {
        type Acc = $t;
        #[inline(always)]
        fn plus(self, other: $t) -> $t {
            self + other
        }
        #[inline(always)]
        fn minus(self, other: $t) -> $t {
            self - other
        }
        #[inline(always)]
        fn times(self, other: $t) -> $t {
            self * other
        }
        #[inline(always)]
        fn over(self, other: $t) -> $t {
            let ($a, $b) = (self, other);
            $over
        }
        #[inline(always)]
        fn widen(self) -> $t {
            self
        }
        #[inline(always)]
        fn narrow(acc: $t) -> $t {
            acc
        }
    };
}

macro_rules! ordered_float {
    ($t:ty) => {
        const LOWEST: $t = <$t>::NEG_INFINITY;
        const HIGHEST: $t = <$t>::INFINITY;
        const LOWEST_FINITE: $t = <$t>::MIN;
        const HIGHEST_FINITE: $t = <$t>::MAX;
        #[inline(always)]
        fn is_nan_value(self) -> bool {
            self.is_nan()
        }
        #[inline(always)]
        fn rank(self) -> u64 {
            rank_of_float(f64::from(self))
        }
    };
}

macro_rules! floats {
    ($($t:ty),*) => {
        $(impl Number for $t {
            plain_arithmetic!($t, |a, b| a / b);
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            fn from_count(n: usize) -> $t { n as $t }
        }
        impl Ordered for $t {
            ordered_float!($t);
            #[inline(always)]
            fn larger_stored(self, other: $t) -> $t {
                let nan = if other.is_nan() { <$t>::NAN.to_bits() } else { 0 };
                <$t>::from_bits(nan | if self < other { other } else { self }.to_bits())
            }
            #[inline(always)]
            fn smaller_stored(self, other: $t) -> $t {
                let nan = if other.is_nan() { <$t>::NAN.to_bits() } else { 0 };
                <$t>::from_bits(nan | if other < self { other } else { self }.to_bits())
            }
        }
        impl Number for Complex<$t> {
            plain_arithmetic!(Complex<$t>, |a, b| checked_quotient(a, b, a.usual_quotient(b)));
            fn zip_over(a: &[Self], b: &[Self], dst: &mut [Self], _: fn(&[f32], &[f32], &mut [f32])) {
                Self::usual_quotients(a, b, dst);
                dst.iter_mut().zip(a).zip(b).for_each(|((q, a), b)| *q = checked_quotient(*a, *b, *q));
            }
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);
            fn from_count(n: usize) -> Self { Complex::new(n as $t, 0.0) }
            // Like TensorFlow, also return zero if the divisor is not zero but its squared norm underflows to zero.
            fn over_no_nan(self, other: Self) -> Self {
                if other == Self::ZERO || self * other.conj() == Self::ZERO { Self::ZERO } else { self.over(other) }
            }
            #[inline(always)]
            fn conj(self) -> Self { Complex::new(self.re, -self.im) }
        })*
    };
}
floats!(f32, f64);

/// Returns the rank of a float. Of two negative numbers, the one with the greater bits is less.
fn rank_of_float(x: f64) -> u64 {
    // Adding zero turns a negative zero into a positive one.
    let bits = (x + 0.0).to_bits();
    match x {
        _ if x.is_nan() => u64::MAX,
        _ if bits >> 63 == 1 => !bits,
        _ => bits | 1 << 63,
    }
}

/// Returns `log(1 + z)` without cancellation.
pub fn complex_log_1p<F: Float>(z: Complex<F>) -> Complex<F> {
    let two = F::one() + F::one();
    if (z.re.abs().max(z.im.abs())) * two > F::one() {
        return (z + F::one()).ln();
    }
    // log|1 + z| = log1p(2 a + a² + b²) / 2
    Complex::new((z.re * (two + z.re) + z.im * z.im).ln_1p() / two, z.im.atan2(F::one() + z.re))
}

/// Returns `quotient`, which the usual formula produced for `a / b`, unless both parts are NaN.
#[inline(always)]
fn checked_quotient<F: Float>(a: Complex<F>, b: Complex<F>, quotient: Complex<F>) -> Complex<F> {
    if quotient.re.is_nan() && quotient.im.is_nan() { quotient_of_extremes(a, b) } else { quotient }
}

/// Returns `a / b` when the usual formula produces NaN: infinity for a zero divisor, zero for an infinite one, as annex G of the C standard
/// requires.
#[cold]
#[inline(never)]
fn quotient_of_extremes<F: Float>(a: Complex<F>, b: Complex<F>) -> Complex<F> {
    let unit = |x: F| if x.is_infinite() { F::one().copysign(x) } else { F::zero().copysign(x) };
    if b.re.is_zero() && b.im.is_zero() && !(a.re.is_nan() && a.im.is_nan()) {
        let infinity = F::infinity().copysign(b.re);
        Complex::new(infinity * a.re, infinity * a.im)
    } else if (a.re.is_infinite() || a.im.is_infinite()) && b.re.is_finite() && b.im.is_finite() {
        let (x, y) = (unit(a.re), unit(a.im));
        Complex::new(F::infinity() * (x * b.re + y * b.im), F::infinity() * (y * b.re - x * b.im))
    } else if (b.re.is_infinite() || b.im.is_infinite()) && a.re.is_finite() && a.im.is_finite() {
        let (x, y) = (unit(b.re), unit(b.im));
        Complex::new(F::zero() * (a.re * x + a.im * y), F::zero() * (a.im * x - a.re * y))
    } else {
        a / b
    }
}

macro_rules! small_floats {
    ($($t:ty, $widen:expr, $narrow:expr, { $($more:tt)* };)*) => {
        $(impl Number for $t {
            type Acc = f32;
            const ZERO: $t = <$t>::ZERO;
            const ONE: $t = <$t>::ONE;
            #[inline(always)]
            fn plus(self, other: $t) -> $t { Self::narrow(self.widen() + other.widen()) }
            #[inline(always)]
            fn minus(self, other: $t) -> $t { Self::narrow(self.widen() - other.widen()) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { Self::narrow(self.widen() * other.widen()) }
            #[inline(always)]
            fn over(self, other: $t) -> $t { Self::narrow(self.widen() / other.widen()) }
            fn from_count(n: usize) -> $t { <$t>::from_f32(n as f32) }
            #[inline(always)]
            fn widen(self) -> f32 { $widen(self) }
            #[inline(always)]
            fn narrow(acc: f32) -> $t { $narrow(acc) }
            fn widen_all(src: &[$t], dst: &mut [f32]) { <$t>::widen_slice(src, dst) }
            fn narrow_all(src: &[f32], dst: &mut [$t]) { <$t>::narrow_slice(src, dst) }
            $($more)*
        }
        impl Ordered for $t { ordered_float!($t); })*
    };
}
small_floats! {
    // Processors convert blocks of `f16`. Every `f16` is a normal number of `f32`, so that modes for denormals make no difference.
    f16, |x: f16| half_bits::widened(x.to_bits()), |x| f16::from_bits(half_bits::narrowed(x)), {
        fn map_rounded(src: &[f16], dst: &mut [f16], _: impl Fn(f16) -> f16, in_f32: fn(&[f32], &mut [f32])) {
            map_widened(src, dst, in_f32);
        }
        fn zip_rounded(a: &[f16], b: &[f16], dst: &mut [f16], _: impl Fn(f16, f16) -> f16, in_f32: fn(&[f32], &[f32], &mut [f32])) {
            zip_widened(a, b, dst, in_f32);
        }
    };
    bf16, bf16::to_f32, bf16::from_f32, {};
}

#[cfg(test)]
mod tests {
    use super::Ordered;

    #[test]
    fn ranks_are_in_the_order_of_the_values() {
        let floats = [f32::NEG_INFINITY, -2.0, -1e-40, 0.0, 1e-40, 1.5, f32::INFINITY, f32::NAN].map(Ordered::rank);
        assert!(floats.is_sorted_by(|a, b| a < b));
        assert_eq!((-0.0f64).rank(), 0.0f64.rank());
        assert!([i8::MIN, -1, 0, i8::MAX].map(Ordered::rank).is_sorted_by(|a, b| a < b));
        assert!([0, 1, u64::MAX].map(Ordered::rank).is_sorted_by(|a, b| a < b));
    }
}
