//! Selection of vector instructions at run time.
//!
//! Nothing in this crate is built for the machine that compiles it: every hot loop is compiled for the baseline of the target and, on x86-64, also
//! for AVX2+FMA and for AVX-512. [`isa`] returns the one that this process uses.
//!
//! There are two ways to write such a loop:
//! - [`dispatch!`](crate::dispatch) compiles a plain Rust loop for every instruction set and lets the compiler
//!   vectorise each copy: right for element-wise work and simple reductions over lanes;
//! - modules with hand-written kernels (`gemm`, `conv`, …) match on [`Isa`] themselves.

use std::sync::OnceLock;

mod math;
pub(crate) mod prefetch;
pub mod rows;
pub mod transpose;
pub mod unary;
pub(crate) mod vector;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

pub(crate) use vector::for_each_isa;

/// An instruction set for which this crate has a copy of its hot loops, in ascending order of width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// The baseline of the compilation target (SSE2 on x86-64, NEON on aarch64).
    Portable,
    /// AVX2 with FMA and F16C: x86-64-v3, 256-bit vectors.
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL: x86-64-v4, 512-bit vectors.
    Avx512,
}

impl Isa {
    /// Returns the widest instruction set of this CPU.
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx2 && avx512 {
                return Self::Avx512;
            }
            if avx2 {
                return Self::Avx2;
            }
        }
        Self::Portable
    }

    /// Returns the number of `f32` elements of a vector.
    pub fn lanes(self) -> usize {
        match self {
            Self::Avx512 => 16,
            Self::Avx2 => 8,
            Self::Portable => 4,
        }
    }

    /// Returns the instruction sets that this CPU can run, narrowest first. A test iterates over them to cover every copy.
    pub fn available() -> impl Iterator<Item = Self> {
        let widest = Self::detect();
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(move |isa| *isa <= widest)
    }
}

/// Returns the instruction set that this process uses: the widest of the CPU, or a narrower one named by the environment
/// variable `FLOWMILL_MAX_ISA` (`portable`, `avx2`, `avx512`; anything else is ignored). Read once. A process whose variable says `avx512` does not use AMX.
#[inline]
pub fn isa() -> Isa {
    static ISA: OnceLock<Isa> = OnceLock::new();
    *ISA.get_or_init(|| limit().map_or(Isa::detect(), |limit| limit.min(Isa::detect())))
}

/// Returns the instruction set that the environment names.
pub(crate) fn limit() -> Option<Isa> {
    match std::env::var("FLOWMILL_MAX_ISA").as_deref() {
        Ok("portable") => Some(Isa::Portable),
        Ok("avx2") => Some(Isa::Avx2),
        Ok("avx512") => Some(Isa::Avx512),
        _ => None,
    }
}

/// Defines functions whose bodies are compiled for every [`Isa`] and chosen at run time.
///
/// ```
/// flowmill_numeric::dispatch! {
///     /// `dst[i] = f(a[i], b[i])`.
///     pub fn zip_map<A, B, D, F>(dst: &mut [D], a: &[A], b: &[B], f: F)
///     where [A: Copy, B: Copy, F: Fn(A, B) -> D] {
///         for ((d, a), b) in dst.iter_mut().zip(a).zip(b) {
///             *d = f(*a, *b);
///         }
///     }
///
///     /// `dst[i] += s`.
///     pub fn add_scalar(dst: &mut [f32], s: f32) {
///         for d in dst {
///             *d += s;
///         }
///     }
/// }
/// let mut out = [0i32; 3];
/// zip_map(&mut out, &[1, 2, 3], &[10, 20, 30], |a, b| a + b);
/// assert_eq!(out, [11, 22, 33]);
/// ```
///
/// - Generic parameters are plain names (types or lifetimes); their bounds follow in `where [ … ]`. They are inferred
///   from the arguments, so each must occur in an argument's type. Arguments are `name: Type`, without `mut`.
/// - `, if [T::WIDE]` after the bounds leaves one portable copy for the types for which the constant is false.
/// - The body should be the loop itself; what it calls must be `#[inline]` (better `#[inline(always)]`) or a closure
///   small enough to be inlined, else the callee runs without the wide instructions.
/// - One call costs 1–2 ns: dispatch outside of the loop, not inside of it.
/// - Rust neither reorders nor contracts floating-point operations, so every copy returns the same bits. For the same
///   reason `iter().sum::<f32>()` does not vectorise: keep several accumulators.
/// - A module that uses the macro can `#![deny(unsafe_code)]`, not `forbid` it.
#[macro_export]
macro_rules! dispatch {
    ($(
        $(#[$meta:meta])*
        $vis:vis fn $name:ident $(<$($generic:tt),+>)? ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)?
        $(where [$($bounds:tt)*])? $(, if [$wide:expr])? $body:block
    )+) => {$(
        $(#[$meta])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        #[inline]
        $vis fn $name $(<$($generic),+>)? ($($arg: $ty),*) $(-> $ret)? $(where $($bounds)*)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512 $(<$($generic),+>)? ($($arg: $ty),*) $(-> $ret)? $(where $($bounds)*)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2 $(<$($generic),+>)? ($($arg: $ty),*) $(-> $ret)? $(where $($bounds)*)? $body

            fn portable $(<$($generic),+>)? ($($arg: $ty),*) $(-> $ret)? $(where $($bounds)*)? $body

            let is_wide = true $(&& $wide)?;
            if !is_wide {
                return portable($($arg),*);
            }
            match $crate::simd::isa() {
                // SAFETY: `isa` returns `Avx512` only if the CPU has every feature enabled on `avx512`.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: `isa` returns `Avx2` only if the CPU has every feature enabled on `avx2`.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx2 => unsafe { avx2($($arg),*) },
                _ => portable($($arg),*),
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::*;

    dispatch! {
        fn zip_map<A, B, D, F>(dst: &mut [D], a: &[A], b: &[B], f: F)
        where [A: Copy, B: Copy, F: Fn(A, B) -> D] {
            for ((d, a), b) in dst.iter_mut().zip(a).zip(b) {
                *d = f(*a, *b);
            }
        }

        fn sum_lanes(a: &[f32]) -> f32 {
            let mut lanes = [0.0f32; 16];
            for chunk in a.chunks(16) {
                for (lane, x) in lanes.iter_mut().zip(chunk) {
                    *lane += x;
                }
            }
            lanes.iter().sum()
        }
    }

    #[test]
    fn dispatched_loops_compute() {
        let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let mut out = vec![0.0f32; 1000];
        zip_map(&mut out, &a, &a, |x, y| x + y);
        assert!(out.iter().zip(&a).all(|(o, x)| *o == 2.0 * x));
        assert_eq!(sum_lanes(&a), 499_500.0);
    }

    #[test]
    fn available_ends_with_the_one_in_use_or_wider() {
        let all: Vec<Isa> = Isa::available().collect();
        assert_eq!(all[0], Isa::Portable);
        assert!(all.contains(&isa()));
    }
}
