//! `BandedTriangularSolve`: triangular systems whose matrices have few diagonals, each stored as a row. Lower triangles begin with the main
//! diagonal, upper ones end with it; column `i` of the rows has the elements of row `i` of the matrix.

use super::decompose::{Batch, Field, broadcast, by_type, joined, map};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};
use nalgebra::ComplexField;
use num_traits::Zero;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BandedTriangularSolve", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (lower, adjoint) = (init.attrs.get_or("lower", true)?, init.attrs.get_or("adjoint", false)?);
    by_type!(init, T => from_fn(move |ctx| {
        let out = solve::<T>(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, lower, adjoint)?;
        ctx.set_output(0, out);
        Ok(())
    }))
}

fn solve<T: Field>(alloc: &Allocator, bands: &Tensor, rhs: &Tensor, lower: bool, adjoint: bool) -> Result<Tensor> {
    for (i, tensor) in [bands, rhs].into_iter().enumerate() {
        if tensor.rank() < 2 {
            bail!(InvalidArgument, "In[{i}] ndims must be >= 2: {}", tensor.rank());
        }
        if tensor.num_elements() == 0 {
            bail!(InvalidArgument, "In[{i}] must not be an empty tensor: shape {}", tensor.shape());
        }
    }
    let (a, b) = (Batch::<T>::new(bands)?, Batch::<T>::new(rhs)?);
    let outer = joined(a.outer, b.outer)?;
    let (count, n, columns) = (a.rows, a.columns, b.columns);
    if n != b.rows {
        bail!(InvalidArgument, "In[0] mismatch In[1] shape: {n} vs. {}: {} {} {lower} {adjoint}", b.rows, bands.shape(), rhs.shape());
    }
    let main = if lower { 0 } else { count - 1 };
    // Only the first matrix of a batch is checked, as in TensorFlow: singular matrices after it result in infinite numbers.
    if a.values[main * n..][..n].iter().any(|v| !(v.widen().modulus() > <T::Wide as ComplexField>::RealField::zero())) {
        bail!(InvalidArgument, "Input matrix is not invertible.");
    }
    let mut shape = Shape::new(&outer);
    shape.push(n);
    shape.push(columns);
    let mut out = alloc.uninit(T::DTYPE, shape)?;
    let found = map(alloc, Shape::new(&outer).checked_num_elements()?, [n, count, columns], |i| {
        let bands = &a.values[broadcast(a.outer, &outer, i) * count * n..][..count * n];
        let mut x: Vec<T::Wide> =
            b.values[broadcast(b.outer, &outer, i) * n * columns..][..n * columns].iter().map(|v| v.widen()).collect();
        // Returns the element in row `i` and column `j` of the matrix, or of its adjoint; `distance` is the distance of its diagonal from the main one.
        let element = |i: usize, j: usize, distance: usize| {
            let row = if adjoint { j } else { i };
            let value = bands[if lower { distance } else { count - 1 - distance } * n + row].widen();
            if adjoint { value.conjugate() } else { value }
        };
        for step in 0..n {
            // The adjoint of a lower triangle is an upper one, which is solved from its end.
            let forward = lower != adjoint;
            let i = if forward { step } else { n - 1 - step };
            for distance in 1..=step.min(count - 1) {
                let j = if forward { i - distance } else { i + distance };
                let factor = element(i, j, distance);
                for k in 0..columns {
                    let solved = x[j * columns + k];
                    x[i * columns + k] -= factor * solved;
                }
            }
            let divisor = element(i, i, 0);
            x[i * columns..][..columns].iter_mut().for_each(|x| *x /= divisor);
        }
        Ok(x)
    })?;
    for (out, x) in out.as_mut_slice::<T>()?.chunks_exact_mut(n * columns).zip(found) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = T::narrow(x));
    }
    Ok(out)
}
