//! Special functions of real numbers, in double precision: one file per kind.
//!
//! Relative errors are about 1e-14 where the function is well conditioned. Outside of their domains, the functions return the same values as in
//! TensorFlow, mostly NaN.

mod bessel;
mod gamma;
mod incomplete;
mod integrals;
mod normal;

pub use bessel::{
    bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, bessel_j0, bessel_j1, bessel_k0, bessel_k0e, bessel_k1, bessel_k1e, bessel_y0, bessel_y1,
};
pub use gamma::{digamma, polygamma, zeta};
pub use incomplete::{betainc, gamma_sample_slope, igamma, igamma_grad_a, igammac};
pub use integrals::{dawsn, expint, fresnel_cos, fresnel_sin, spence};
pub use normal::{erfinv, ndtri};

/// The relative size of a term below which a series has converged.
const EPSILON: f64 = 1e-16;
/// The most terms of a series or steps of a continued fraction.
const MAX_TERMS: usize = 20_000;

fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

#[cfg(test)]
mod tests {
    /// Compares a result with a value that TensorFlow computes in double precision.
    #[track_caller]
    pub(super) fn close(found: f64, expected: f64) {
        let equal = found == expected || (found.is_nan() && expected.is_nan()) || (found - expected).abs() <= 2e-14 * expected.abs();
        assert!(equal, "{found:e} for {expected:e}");
    }
}
