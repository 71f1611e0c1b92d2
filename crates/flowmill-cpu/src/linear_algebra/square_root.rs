//! `MatrixSquareRoot`, by the Schur form (Björck and Hammarling: "A Schur method for the square root of a matrix", 1983).

use super::schur::{Wide, of_matrices, schur, triangular_root};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, for_dtype};
use nalgebra::DMatrix;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("MatrixSquareRoot", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f32, f64, Complex<f32>, Complex<f64>], T => from_fn(|ctx| {
        let out = of_matrices::<T>(ctx.allocator(), ctx.input(0)?, root)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

/// Returns the square root whose eigenvalues have no negative real parts.
fn root(matrix: DMatrix<Wide>) -> Result<DMatrix<Wide>> {
    let (q, t) = schur(matrix)?;
    Ok(&q * triangular_root(&t) * q.adjoint())
}
