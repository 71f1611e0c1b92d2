//! `MatrixLogarithm`, by the Schur form: square roots until the triangle is near the identity, then a Padé approximant (Higham: "Functions of
//! matrices", algorithm 11.9).

use super::schur::{Wide, of_matrices, schur, triangular_root};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, for_dtype};
use nalgebra::DMatrix;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("MatrixLogarithm", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [Complex<f32>, Complex<f64>], T => from_fn(|ctx| {
        let out = of_matrices::<T>(ctx.allocator(), ctx.input(0)?, logarithm)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

/// The largest distance from the identity, as a column sum, up to which the approximant of seven terms is exact except for the last bits.
const NEAR: f64 = 0.25;
/// The number of square roots that brings every non-zero number near to one.
const MAX_ROOTS: i32 = 60;

/// The points between 0 and 1 and the weights of the Gauss-Legendre quadrature with seven points: applied to `∫ x / (1 + t x) dt`, it is the Padé
/// approximant of `ln(1 + x)`.
const POINTS: [(f64, f64); 7] = [
    (0.025446043828620757, 0.06474248308443491),
    (0.12923440720030277, 0.13985269574463838),
    (0.2970774243113014, 0.1909150252525595),
    (0.5, 0.20897959183673470),
    (0.7029225756886985, 0.1909150252525595),
    (0.8707655927996972, 0.13985269574463838),
    (0.9745539561713792, 0.06474248308443491),
];

/// Returns the logarithm whose eigenvalues have imaginary parts between -π and π.
fn logarithm(matrix: DMatrix<Wide>) -> Result<DMatrix<Wide>> {
    let n = matrix.nrows();
    let (q, mut t) = schur(matrix)?;
    let diagonal: Vec<Wide> = (0..n).map(|i| t[(i, i)].ln()).collect();
    let mut roots = 0;
    let identity = DMatrix::<Wide>::identity(n, n);
    let distance = |t: &DMatrix<Wide>| (t - &identity).column_iter().map(|c| c.iter().map(|v| v.norm()).sum()).fold(0.0, f64::max);
    while roots < MAX_ROOTS && distance(&t) > NEAR {
        t = triangular_root(&t);
        roots += 1;
    }
    let x = &t - &identity;
    let mut sum = DMatrix::<Wide>::zeros(n, n);
    for (point, weight) in POINTS {
        let mut divisor = identity.clone();
        divisor.zip_apply(&x, |d, x| *d += x * point);
        let part = divisor.solve_upper_triangular_unchecked(&x);
        sum.zip_apply(&part, |s, p| *s += p * weight);
    }
    let mut found = sum * Complex::new(f64::powi(2.0, roots), 0.0);
    for (i, &value) in diagonal.iter().enumerate() {
        found[(i, i)] = value;
    }
    Ok(&q * found * q.adjoint())
}
