//! The operations of reductions.

use crate::number::{Number, Ordered};
pub(super) use flowmill_numeric::reduce::Reducer;
use flowmill_tensor::{Complex, bf16, f16};

/// The sum; integers wrap around.
pub(crate) struct Sum;
/// The product; integers wrap around.
pub(super) struct Prod;
/// The greatest element, or NaN if there is one.
pub(crate) struct Max;
/// The least element, or NaN if there is one.
pub(crate) struct Min;
/// The mean. Integers are summed in 64 bits, and the quotient is rounded towards zero.
pub(crate) struct Mean;
/// The square root of the sum of squared absolute values.
pub(super) struct EuclideanNorm;
/// The logical and of all elements.
pub(super) struct All;
/// The logical or of all elements.
pub(super) struct Any;

impl<T: Number> Reducer<T> for Sum {
    type Acc = T::Acc;
    const EMPTY: T::Acc = T::Acc::ZERO;
    const KEEPS_SINGLE: bool = true;
    #[inline(always)]
    fn load(x: T) -> T::Acc {
        x.widen()
    }
    #[inline(always)]
    fn merge(a: T::Acc, b: T::Acc) -> T::Acc {
        a.plus(b)
    }
    fn finish(acc: T::Acc, _: usize) -> T {
        T::narrow(acc)
    }
}

impl<T: Number> Reducer<T> for Prod {
    type Acc = T::Acc;
    const EMPTY: T::Acc = T::Acc::ONE;
    const KEEPS_SINGLE: bool = true;
    #[inline(always)]
    fn load(x: T) -> T::Acc {
        x.widen()
    }
    #[inline(always)]
    fn merge(a: T::Acc, b: T::Acc) -> T::Acc {
        a.times(b)
    }
    fn finish(acc: T::Acc, _: usize) -> T {
        T::narrow(acc)
    }
}

impl<T: Ordered> Reducer<T> for Max {
    type Acc = T;
    const EMPTY: T = T::LOWEST;
    const KEEPS_SINGLE: bool = true;
    #[inline(always)]
    fn load(x: T) -> T {
        x
    }
    #[inline(always)]
    fn merge(a: T, b: T) -> T {
        a.larger(b)
    }
    #[inline(always)]
    fn merge_stored(a: T, b: T) -> T {
        a.larger_stored(b)
    }
    fn finish(acc: T, _: usize) -> T {
        acc
    }
}

impl<T: Ordered> Reducer<T> for Min {
    type Acc = T;
    const EMPTY: T = T::HIGHEST;
    const KEEPS_SINGLE: bool = true;
    #[inline(always)]
    fn load(x: T) -> T {
        x
    }
    #[inline(always)]
    fn merge(a: T, b: T) -> T {
        a.smaller(b)
    }
    #[inline(always)]
    fn merge_stored(a: T, b: T) -> T {
        a.smaller_stored(b)
    }
    fn finish(acc: T, _: usize) -> T {
        acc
    }
}

macro_rules! means {
    ($($t:ty => $acc:ty, |$x:ident| $load:expr, |$sum:ident, $count:ident| $finish:expr;)*) => {
        $(impl Reducer<$t> for Mean {
            type Acc = $acc;
            const EMPTY: $acc = <$acc as Number>::ZERO;
            #[inline(always)]
            fn load($x: $t) -> $acc { $load }
            #[inline(always)]
            fn merge(a: $acc, b: $acc) -> $acc { a.plus(b) }
            fn finish($sum: $acc, $count: usize) -> $t { $finish }
        })*
    };
}

means! {
    f32 => f32, |x| x, |sum, count| sum / count as f32;
    f64 => f64, |x| x, |sum, count| sum / count as f64;
    f16 => f32, |x| x.to_f32(), |sum, count| f16::from_f32(sum / count as f32);
    bf16 => f32, |x| x.to_f32(), |sum, count| bf16::from_f32(sum / count as f32);
    i8 => i64, |x| i64::from(x), |sum, count| sum.over(count as i64) as i8;
    i16 => i64, |x| i64::from(x), |sum, count| sum.over(count as i64) as i16;
    i32 => i64, |x| i64::from(x), |sum, count| sum.over(count as i64) as i32;
    i64 => i64, |x| x, |sum, count| sum.over(count as i64);
    u8 => u64, |x| u64::from(x), |sum, count| sum.over(count as u64) as u8;
    u16 => u64, |x| u64::from(x), |sum, count| sum.over(count as u64) as u16;
    u32 => u64, |x| u64::from(x), |sum, count| sum.over(count as u64) as u32;
    u64 => u64, |x| x, |sum, count| sum.over(count as u64);
    Complex<f32> => Complex<f32>, |x| x, |sum, count| if count == 0 { sum } else { sum / count as f32 };
    Complex<f64> => Complex<f64>, |x| x, |sum, count| if count == 0 { sum } else { sum / count as f64 };
}

/// A type with the square root of a sum of squares.
pub(crate) trait Root: Number {
    fn root(acc: Self::Acc) -> Self;
}

macro_rules! roots {
    ($($t:ty, |$acc:ident| $root:expr;)*) => {
        $(impl Root for $t {
            fn root($acc: <$t as Number>::Acc) -> $t { $root }
        })*
    };
}

roots! {
    f32, |acc| acc.sqrt();
    f64, |acc| acc.sqrt();
    f16, |acc| f16::from_f32(acc.sqrt());
    bf16, |acc| bf16::from_f32(acc.sqrt());
    i8, |acc| f64::from(acc).sqrt() as i8;
    i16, |acc| f64::from(acc).sqrt() as i16;
    i32, |acc| f64::from(acc).sqrt() as i32;
    i64, |acc| (acc as f64).sqrt() as i64;
    u8, |acc| f64::from(acc).sqrt() as u8;
    u16, |acc| f64::from(acc).sqrt() as u16;
    u32, |acc| f64::from(acc).sqrt() as u32;
    u64, |acc| (acc as f64).sqrt() as u64;
    Complex<f32>, |acc| Complex::new(acc.re.sqrt(), 0.0);
    Complex<f64>, |acc| Complex::new(acc.re.sqrt(), 0.0);
}

impl<T: Root> Reducer<T> for EuclideanNorm {
    type Acc = T::Acc;
    const EMPTY: T::Acc = T::Acc::ZERO;
    #[inline(always)]
    fn load(x: T) -> T::Acc {
        let x = x.widen();
        x.times(x.conj())
    }
    #[inline(always)]
    fn merge(a: T::Acc, b: T::Acc) -> T::Acc {
        a.plus(b)
    }
    fn finish(acc: T::Acc, _: usize) -> T {
        T::root(acc)
    }
}

impl Reducer<bool> for All {
    // Compilers make vectors of bytes, and branches of `bool`.
    type Acc = u8;
    const EMPTY: u8 = true as u8;
    #[inline(always)]
    fn load(x: bool) -> u8 {
        x.into()
    }
    #[inline(always)]
    fn merge(a: u8, b: u8) -> u8 {
        a & b
    }
    fn finish(acc: u8, _: usize) -> bool {
        acc != 0
    }
}

impl Reducer<bool> for Any {
    // Compilers make vectors of bytes, and branches of `bool`.
    type Acc = u8;
    const EMPTY: u8 = false as u8;
    #[inline(always)]
    fn load(x: bool) -> u8 {
        x.into()
    }
    #[inline(always)]
    fn merge(a: u8, b: u8) -> u8 {
        a | b
    }
    fn finish(acc: u8, _: usize) -> bool {
        acc != 0
    }
}
