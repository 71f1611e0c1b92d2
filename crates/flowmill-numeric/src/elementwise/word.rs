//! Element types as scalars in 64-bit words, and element-wise loops over them.

use half::{bf16, f16};
use num_complex::Complex;

/// An element type that element-wise loops compute with.
pub trait Word: Copy + Default + Send + Sync + 'static {
    /// Returns the value in the low bytes of `word`. Types wider than eight bytes are never passed as words and return zero.
    fn from_word(word: u64) -> Self;
    /// Returns the value's bits, zero-extended.
    fn to_word(self) -> u64;
    /// True if loops over the type are compiled for each instruction set; false for types that are not worth the code.
    const WIDE: bool;
    /// True for `f32` and `f64`, for which more special cases are worth the code.
    const FLOAT: bool;
    /// Computes `dst[i] = f(src[i])`.
    fn map<D: Word>(src: &[Self], dst: &mut [D], f: impl Fn(Self) -> D) {
        if Self::WIDE { map_wide(src, dst, f) } else { map_baseline(src, dst, f) }
    }
    /// Computes `dst[i] = f(a[i], b[i])`.
    fn zip<D: Word>(a: &[Self], b: &[Self], dst: &mut [D], f: impl Fn(Self, Self) -> D) {
        if Self::WIDE { zip_wide(a, b, dst, f) } else { zip_baseline(a, b, dst, f) }
    }
}

crate::dispatch! {
    fn map_wide<A, D, F>(src: &[A], dst: &mut [D], f: F)
    where [A: Copy, F: Fn(A) -> D] {
        for (d, s) in dst.iter_mut().zip(src) {
            *d = f(*s);
        }
    }

    fn zip_wide<A, D, F>(a: &[A], b: &[A], dst: &mut [D], f: F)
    where [A: Copy, F: Fn(A, A) -> D] {
        for ((d, a), b) in dst.iter_mut().zip(a).zip(b) {
            *d = f(*a, *b);
        }
    }
}

fn map_baseline<A: Copy, D>(src: &[A], dst: &mut [D], f: impl Fn(A) -> D) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d = f(*s);
    }
}

fn zip_baseline<A: Copy, D>(a: &[A], b: &[A], dst: &mut [D], f: impl Fn(A, A) -> D) {
    for ((d, a), b) in dst.iter_mut().zip(a).zip(b) {
        *d = f(*a, *b);
    }
}

macro_rules! word {
    ($($t:ty, $wide:literal, $float:literal, |$w:ident| $from:expr, |$x:ident| $to:expr;)*) => {
        $(impl Word for $t {
            #[inline(always)]
            fn from_word($w: u64) -> Self { $from }
            #[inline(always)]
            fn to_word(self) -> u64 { let $x = self; $to }
            const WIDE: bool = $wide;
            const FLOAT: bool = $float;
        })*
    };
}

word! {
    f32, true, true, |w| f32::from_bits(w as u32), |x| u64::from(x.to_bits());
    f64, true, true, |w| f64::from_bits(w), |x| x.to_bits();
    f16, false, false, |w| f16::from_bits(w as u16), |x| u64::from(x.to_bits());
    bf16, false, false, |w| bf16::from_bits(w as u16), |x| u64::from(x.to_bits());
    i8, false, false, |w| w as i8, |x| u64::from(x as u8);
    i16, false, false, |w| w as i16, |x| u64::from(x as u16);
    i32, true, false, |w| w as i32, |x| u64::from(x as u32);
    i64, true, false, |w| w as i64, |x| x as u64;
    u8, false, false, |w| w as u8, |x| u64::from(x);
    u16, false, false, |w| w as u16, |x| u64::from(x);
    u32, false, false, |w| w as u32, |x| u64::from(x);
    u64, false, false, |w| w, |x| x;
    bool, false, false, |w| w & 1 != 0, |x| u64::from(x);
    Complex<f32>, false, false,
        |w| Complex::new(f32::from_bits(w as u32), f32::from_bits((w >> 32) as u32)),
        |x| u64::from(x.re.to_bits()) | u64::from(x.im.to_bits()) << 32;
    Complex<f64>, false, false, |_w| Complex::default(), |_x| 0;
}
