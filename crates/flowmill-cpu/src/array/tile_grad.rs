//! `TileGrad`, the gradient of `Tile` in graphs of the first TensorFlow versions.

use super::args::indices;
use crate::from_fn::linear_from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("TileGrad", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sums = for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => sums::<T>, _ => return init.unsupported());
    linear_from_fn(init, move |ctx| grad(ctx, sums))
}

/// A function that returns the sums of the elements of a tensor of a tiled shape that come from one element of a tensor of `shape`.
type Sums = fn(alloc: &Allocator, input: &Tensor, shape: Shape) -> Result<Tensor>;

/// Outputs the sum over the repetitions. Inputs: the gradient of the tiled tensor, and the number of repetitions of each dimension.
fn grad(ctx: &mut KernelContext<'_>, sums: Sums) -> Result<()> {
    let (input, multiples) = (ctx.input(0)?, ctx.input(1)?);
    if multiples.rank() != 1 || multiples.num_elements() != input.rank() {
        bail!(InvalidArgument, "Expected multiples argument to be a vector of length {} but got shape {}", input.rank(), multiples.shape());
    }
    let mut shape = Shape::scalar();
    for (i, (&size, multiple)) in input.shape().iter().zip(indices(multiples)?).enumerate() {
        match usize::try_from(multiple) {
            Ok(multiple) if multiple > 0 && size % multiple == 0 => shape.push(size / multiple),
            _ => bail!(InvalidArgument, "Expected input_dim % multiple == 0 and multiples[{i}] > 0, but got {size} and {multiple}"),
        }
    }
    let output = sums(ctx.allocator(), input, shape)?;
    ctx.set_output(0, output);
    Ok(())
}

fn sums<T: Number>(alloc: &Allocator, input: &Tensor, shape: Shape) -> Result<Tensor> {
    let (from, to) = (input.shape().strides(), shape.strides());
    let mut sums = vec![T::Acc::ZERO; shape.checked_num_elements()?];
    for (i, x) in input.as_slice::<T>()?.iter().enumerate() {
        let target: usize = (0..shape.rank()).map(|axis| i / from[axis] % input.shape()[axis] % shape[axis] * to[axis]).sum();
        sums[target] = sums[target].plus(x.widen());
    }
    alloc.from_slice(shape, &sums.into_iter().map(T::narrow).collect::<Vec<T>>())
}
