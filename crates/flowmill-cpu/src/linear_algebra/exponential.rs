//! `MatrixExponential`, by scaling, a Padé approximant and squaring (Higham: "The scaling and squaring method for the matrix exponential revisited",
//! 2005).

use super::schur::{Wide, of_matrices};
use super::systems::solve;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, bail, for_dtype};
use nalgebra::DMatrix;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("MatrixExponential", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f32, f64, Complex<f32>, Complex<f64>], T => from_fn(|ctx| {
        let out = of_matrices::<T>(ctx.allocator(), ctx.input(0)?, exponential)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

/// The largest column sum up to which the approximant of degree 6 is exact except for the last bits.
const NEAR: f64 = 0.5;
/// The degree of the approximant's numerator and denominator.
const DEGREE: u32 = 6;
/// The number of squarings that is enough for every finite matrix.
const MAX_SQUARINGS: i32 = 1024;

fn exponential(matrix: DMatrix<Wide>) -> Result<DMatrix<Wide>> {
    let n = matrix.nrows();
    let size = matrix.column_iter().map(|c| c.iter().map(|v| v.norm()).sum()).fold(0.0, f64::max);
    if !matrix.iter().all(|v| v.re.is_finite() && v.im.is_finite()) {
        return Ok(DMatrix::from_element(n, n, Complex::new(f64::NAN, f64::NAN)));
    }
    let squarings = if size > NEAR { ((size / NEAR).log2().ceil() as i32).min(MAX_SQUARINGS) } else { 0 };
    let x = matrix * Complex::new(f64::powi(0.5, squarings), 0.0);
    let mut power = DMatrix::<Wide>::identity(n, n);
    let (mut numerator, mut denominator) = (power.clone(), power.clone());
    let mut factor = 1.0;
    for k in 1..=DEGREE {
        factor *= f64::from(DEGREE - k + 1) / f64::from(k * (2 * DEGREE - k + 1));
        power *= &x;
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        numerator.zip_apply(&power, |sum, p| *sum += p * factor);
        denominator.zip_apply(&power, |sum, p| *sum += p * (factor * sign));
    }
    let Some(mut found) = solve(&denominator, numerator) else { bail!(InvalidArgument, "The matrix exponential did not converge.") };
    for _ in 0..squarings {
        found = &found * &found;
    }
    Ok(found)
}
