//! Permutation of dimensions: `Transpose`, `ConjugateTranspose`, and `InvertPermutation`.

use super::args::{Indices, indices};
use super::item::{Item, for_item};
use super::nd::{Strides, read_strided, row_major};
use super::rearrange::permutation;
use crate::from_fn::{from_fn, linear_from_fn};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, DType, Result, Shape, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ConjugateTranspose", |init| make_transpose(init, true));
    registry.add("InvertPermutation", make_invert_permutation);
    registry.add("Transpose", |init| make_transpose(init, false));
}

fn make_transpose(init: &KernelInit<'_>, conjugate: bool) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| {
        let permutation = permutation(ctx.input(1)?, ctx.input(0)?.shape())?;
        // No element moves if the permutation keeps the order of all dimensions of more than one element.
        let shape = ctx.input(0)?.shape();
        let moved = permutation.iter().copied().filter(|&axis| shape[axis] != 1);
        let output = if moved.is_sorted() {
            let to: Shape = permutation.iter().map(|&axis| shape[axis]).collect();
            ctx.take(0)?.reshaped(to)?
        } else {
            transposed::<T>(ctx.allocator(), ctx.input(0)?, &permutation)?
        };
        ctx.set_output(0, if conjugate { conjugated(ctx.allocator().writable(output)?)? } else { output });
        Ok(())
    }))
}

/// Returns the tensor whose dimension `i` is dimension `permutation[i]` of `input`.
pub(super) fn transposed<T: Item>(alloc: &Allocator, input: &Tensor, permutation: &[usize]) -> Result<Tensor> {
    let source = T::items(input)?;
    let from = row_major(input.shape());
    let shape: Shape = permutation.iter().map(|&axis| input.shape()[axis]).collect();
    let strides: Strides = permutation.iter().map(|&axis| from[axis]).collect();
    T::build(alloc, input.dtype(), shape.clone(), source, |out| {
        read_strided(out, source, 0, &shape, &strides);
        Ok(())
    })
}

/// Like [`transposed`], for every element type.
pub(crate) fn permuted(alloc: &Allocator, input: &Tensor, permutation: &[usize]) -> Result<Tensor> {
    for_item!(input.dtype(), T => transposed::<T>(alloc, input, permutation))
}

/// Returns the conjugates of complex elements; tensors of other types are unchanged.
fn conjugated(mut tensor: Tensor) -> Result<Tensor> {
    match tensor.dtype() {
        DType::C64 => tensor.as_mut_slice::<Complex<f32>>()?.iter_mut().for_each(|z| *z = z.conj()),
        DType::C128 => tensor.as_mut_slice::<Complex<f64>>()?.iter_mut().for_each(|z| *z = z.conj()),
        _ => {}
    }
    Ok(tensor)
}

fn make_invert_permutation(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        if input.rank() != 1 {
            bail!(InvalidArgument, "invert_permutation expects a 1D vector.");
        }
        let output = ctx.allocator().index_vector(dtype, &inverse(&indices(input)?)?)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn inverse(permutation: &[i64]) -> Result<Indices> {
    let mut inverse: Indices = SmallVec::from_elem(-1, permutation.len());
    for (i, &to) in permutation.iter().enumerate() {
        match usize::try_from(to).ok().and_then(|to| inverse.get_mut(to)) {
            Some(slot) if *slot == -1 => *slot = i as i64,
            Some(_) => bail!(InvalidArgument, "{to} is duplicated in the input."),
            None => bail!(InvalidArgument, "{to} is not between 0 and {}", permutation.len()),
        }
    }
    Ok(inverse)
}
