//! `Eig`: the eigenvalues and eigenvectors of any square matrix, by the Schur form.

use super::decompose::{Batch, is_finite, map};
use super::schur::{Number, Wide, schur};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, DType, Result, Shape, Tensor, bail, for_dtype};
use nalgebra::DMatrix;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Eig", make);
}

/// Returns the eigenvalues in ascending order of their absolute values, which is TensorFlow's order for complex matrices, and the eigenvectors as
/// columns of length one.
fn eigen(matrix: DMatrix<Wide>) -> Result<(Vec<Wide>, DMatrix<Wide>)> {
    let n = matrix.nrows();
    if !is_finite(&matrix) {
        bail!(InvalidArgument, "Eigen decomposition was not successful. The input might not be valid.");
    }
    let (q, t) = schur(matrix)?;
    let scale = t.iter().map(|v| v.norm()).fold(0.0, f64::max);
    let mut vectors = DMatrix::<Wide>::zeros(n, n);
    for k in 0..n {
        vectors[(k, k)] = Complex::new(1.0, 0.0);
        for i in (0..k).rev() {
            let known: Wide = (i + 1..=k).map(|j| t[(i, j)] * vectors[(j, k)]).sum();
            let difference = t[(k, k)] - t[(i, i)];
            // If eigenvalues are equal, a number of the order of the rounding error replaces zero.
            let divisor =
                if difference.norm() <= f64::EPSILON * scale { Complex::new(f64::EPSILON * scale.max(1.0), 0.0) } else { difference };
            vectors[(i, k)] = known / divisor;
        }
    }
    let mut vectors = q * vectors;
    for mut column in vectors.column_iter_mut() {
        let length = column.norm();
        column.unscale_mut(length);
    }
    let order = ascending(&(0..n).map(|i| t[(i, i)].norm()).collect::<Vec<_>>());
    Ok((order.iter().map(|&i| t[(i, i)]).collect(), vectors.select_columns(&order)))
}

/// Returns the positions of the values in ascending order. Equal values keep their order.
pub(super) fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    // The sum makes one zero of both.
    order.sort_by(|&i, &j| (values[i] + 0.0).total_cmp(&(values[j] + 0.0)));
    order
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let with_vectors = init.attrs.get_or("compute_v", true)?;
    let (from, to) = (init.dtype("T")?, init.dtype("Tout")?);
    let is_single = |dtype| matches!(dtype, DType::F32 | DType::C64);
    if is_single(from) != is_single(to) {
        bail!(InvalidArgument, "Invalid output dtype {to} for the eigenvalues of a matrix of type {from}");
    }
    for_dtype!(from, [f32, f64, Complex<f32>, Complex<f64>], T => from_fn(move |ctx| {
        let input = Batch::<T>::square(ctx.input(0)?)?;
        let n = input.rows;
        let found = match n {
            0 => Vec::new(),
            _ => map(ctx.allocator(), input.len(), [n; 3], |i| {
                let values = &input.values[i * n * n..][..n * n];
                eigen(DMatrix::from_row_iterator(n, n, values.iter().map(|v| Number::widen(*v))))
            })?,
        };
        let values: Vec<Wide> = found.iter().flat_map(|(e, _)| e.iter().copied()).collect();
        let vectors: Vec<Wide> = found.iter().filter(|_| with_vectors).flat_map(|(_, v)| v.transpose().iter().copied().collect::<Vec<_>>()).collect();
        let shape = if with_vectors { ctx.input(0)?.shape().clone() } else { Shape::new(&[0]) };
        let (values, vectors) = (complex(ctx.allocator(), to, input.shape(&[n]), &values)?, complex(ctx.allocator(), to, shape, &vectors)?);
        ctx.set_output(0, values);
        ctx.set_output(1, vectors);
        Ok(())
    }), _ => init.unsupported())
}

fn complex(alloc: &Allocator, dtype: DType, shape: Shape, values: &[Wide]) -> Result<Tensor> {
    match dtype {
        DType::C64 => alloc.from_slice(shape, &values.iter().map(|&v| <Complex<f32> as Number>::narrow(v)).collect::<Vec<_>>()),
        _ => alloc.from_slice(shape, values),
    }
}
