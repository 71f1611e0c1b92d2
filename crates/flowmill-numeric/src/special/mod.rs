//! Special functions of real numbers, in double precision: one file per kind.
//!
//! Relative errors are about 1e-14 where the function is well conditioned. Outside of their domains, the functions return the same values as in
//! TensorFlow, mostly NaN. The loops over slices of `f32` have no branches, so that they are compiled to vector
//! instructions.

mod bessel;
mod gamma;
mod incomplete;
mod integrals;
mod normal;

pub use bessel::{
    bessel_i0, bessel_i0e, bessel_i0e_of_slice, bessel_i1, bessel_i1e, bessel_i1e_of_slice, bessel_j0, bessel_j1, bessel_k0, bessel_k0e,
    bessel_k1, bessel_k1e, bessel_y0, bessel_y1,
};
pub use gamma::{digamma, polygamma, zeta};
pub use incomplete::{betainc, gamma_sample_slope, igamma, igamma_grad_a, igammac};
pub use integrals::{dawsn, expint, fresnel_cos, fresnel_sin, spence};
pub use normal::{erfinv, erfinv_of_slice, ndtri, ndtri_of_slice};

/// The relative size of a term below which a series has converged.
const EPSILON: f64 = 1e-16;
/// The most terms of a series or steps of a continued fraction.
const MAX_TERMS: usize = 20_000;

fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Like [`polynomial`], without a loop.
#[inline(always)]
fn short_polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum * x + coefficients[i];
    }
    sum
}

/// The elements that [`in_blocks`] computes at a time.
const BLOCK: usize = 64;

/// Computes `dst[i] = f(src[i])` in double precision. Blocks have a constant length, so that compilers make no second copy of `f` for the rest of a slice.
#[inline(always)]
fn in_blocks(src: &[f32], dst: &mut [f32], f: impl Fn(f64) -> f64) {
    let mut block = [0.0; BLOCK];
    for (src, dst) in src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK)) {
        block.iter_mut().zip(src).for_each(|(wide, x)| *wide = f64::from(*x));
        for x in &mut block {
            *x = f(*x);
        }
        dst.iter_mut().zip(&block).for_each(|(y, wide)| *y = *wide as f32);
    }
}

#[cfg(test)]
mod tests {
    /// Asserts that `f`, computed in single precision, is within `limit` units of the last place of a value in double precision, for any length of slices.
    #[track_caller]
    pub(super) fn within(limit: f64, f: fn(&[f32], &mut [f32]), exact: fn(f64) -> f64, arguments: impl Iterator<Item = f32>) {
        let arguments: Vec<f32> = arguments.collect();
        let (mut results, mut one) = (arguments.clone(), [0.0]);
        f(&arguments, &mut results);
        for (i, (&x, &found)) in arguments.iter().zip(&results).enumerate() {
            let expected = exact(x.into());
            let size = (expected.abs() as f32).max(f32::MIN_POSITIVE);
            let unit = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
            let error = (f64::from(found) - expected).abs() / unit;
            let equal = f64::from(found) == expected || found.is_nan() && expected.is_nan();
            assert!(equal || error <= limit, "{x:e}: {found:e} and {expected:e}, {error} ulp");
            if i % 97 == 0 {
                f(&[x], &mut one);
                assert!(one[0].to_bits() == found.to_bits() || found.is_nan(), "{x:e}: {found:e} and {:e} alone", one[0]);
            }
        }
    }

    /// Compares a result with a value that TensorFlow computes in double precision.
    #[track_caller]
    pub(super) fn close(found: f64, expected: f64) {
        let equal = found == expected || (found.is_nan() && expected.is_nan()) || (found - expected).abs() <= 2e-14 * expected.abs();
        assert!(equal, "{found:e} for {expected:e}");
    }
}
