//! Sums of many tensors of one shape.

use super::arithmetic::Add;
use crate::elementwise::{CHUNK, for_blocks};
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_kernels::arithmetic::add_to;
use flowmill_numeric::segment::merge_rows;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, Complex, DType, PartialShape, Result, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// Makes the kernel of `AddN` and `AccumulateNV2`, which adds from left to right. Variants define their own addition.
pub(super) fn make_add_n(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (name, op) = (init.name.to_owned(), init.op_def.name.clone());
    let shape: PartialShape = init.attrs.get_or("shape", PartialShape::unknown())?;
    let dtype = init.dtype("T")?;
    type Adders = (fn(&KernelContext<'_>) -> Option<Tensor>, fn(&Allocator, Vec<Tensor>) -> Result<Tensor>);
    let (add_scalars, add): Adders = match dtype {
        DType::Variant => (|_| None, add_variants),
        _ => {
            for_dtype!(dtype, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => (add_scalars::<T>, add_dense::<T>), _ => return init.unsupported())
        }
    };
    from_fn(move |ctx| {
        if !shape.is_compatible_with(ctx.input(0)?.shape()) {
            bail!(InvalidArgument, "Inputs to operation {name} of type {op} have shape {}, not {shape}", ctx.input(0)?.shape());
        }
        if let Some(sum) = add_scalars(ctx) {
            ctx.set_output(0, sum);
            return Ok(());
        }
        check_shapes(ctx, &name, &op)?;
        let inputs = (0..ctx.num_inputs()).map(|i| ctx.take(i)).collect::<Result<_>>()?;
        let sum = add(ctx.allocator(), inputs)?;
        ctx.set_output(0, sum);
        Ok(())
    })
}

fn check_shapes(ctx: &KernelContext<'_>, name: &str, op: &str) -> Result<()> {
    let first = ctx.input(0)?.shape();
    for (i, tensor) in ctx.inputs_from(1).enumerate() {
        if tensor.shape() != first {
            bail!(
                InvalidArgument,
                "Inputs to operation {name} of type {op} must have the same size and shape.  Input 0: {first} != input {}: {}",
                i + 1,
                tensor.shape()
            );
        }
    }
    Ok(())
}

/// Returns the sum if all inputs are inline scalars.
fn add_scalars<T: Number>(ctx: &KernelContext<'_>) -> Option<Tensor> {
    let mut inputs = ctx.inputs_from(0);
    let mut sum = T::from_word(inputs.next()?.scalar_bits(T::DTYPE)?);
    for input in inputs {
        sum = sum.plus(T::from_word(input.scalar_bits(T::DTYPE)?));
    }
    Tensor::from_scalar_bits(T::DTYPE, sum.to_word())
}

fn add_dense<T: Number>(alloc: &Allocator, mut inputs: Vec<Tensor>) -> Result<Tensor> {
    let num_inputs = inputs.len();
    // The first two tensors can be exchanged, so that the memory of either can be reused.
    if let [a, b, ..] = &mut inputs[..]
        && !a.is_unique()
    {
        std::mem::swap(a, b);
    }
    let Some(first) = inputs.first_mut() else { bail!(InvalidArgument, "a sum needs at least one input") };
    let mut out = if first.is_unique() { inputs.remove(0) } else { alloc.uninit(T::DTYPE, first.shape().clone())? };
    let terms = inputs.iter().map(|input| input.as_slice::<T>()).collect::<Result<Vec<_>>>()?;
    let (copied, added) = terms.split_at(usize::from(terms.len() == num_inputs));
    for_blocks(out.as_mut_slice::<T>()?, terms.len(), &|start, out| {
        // Elements stay in the cache until every tensor is added.
        for (i, out) in out.chunks_mut(CHUNK).enumerate() {
            let range = start + i * CHUNK..start + i * CHUNK + out.len();
            copied.iter().for_each(|term| out.copy_from_slice(&term[range.clone()]));
            added.iter().for_each(|term| merge_rows(out, &term[range.clone()], T::plus));
        }
    });
    Ok(out)
}

fn add_variants(_: &Allocator, inputs: Vec<Tensor>) -> Result<Tensor> {
    let mut inputs = inputs.into_iter();
    let Some(mut sum) = inputs.next() else { bail!(InvalidArgument, "a sum needs at least one input") };
    for input in inputs {
        add_to(&mut sum, &input)?;
    }
    Ok(sum)
}

/// Makes the kernel of `Add` and `AddV2`; `Add` of strings concatenates them.
pub(super) fn make_add(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? == DType::String {
        return from_fn(add_strings);
    }
    crate::elementwise::binary!(Add, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>])(init)
}

fn add_strings(ctx: &mut KernelContext<'_>) -> Result<()> {
    use crate::elementwise::{broadcast_positions, broadcast_shape};
    let (a, b) = (ctx.input(0)?, ctx.input(1)?);
    let shape = broadcast_shape(a.shape(), b.shape())?;
    let (x, y) = (a.as_strings()?, b.as_strings()?);
    let pairs = broadcast_positions(a.shape(), &shape).into_iter().zip(broadcast_positions(b.shape(), &shape));
    let joined = pairs.map(|(i, j)| [x[i].as_ref(), y[j].as_ref()].concat().into()).collect();
    let out = ctx.allocator().from_strings(shape, joined)?;
    ctx.set_output(0, out);
    Ok(())
}

/// Makes the kernel of `Cross`: cross products of the 3-vectors along the innermost dimension.
pub(super) fn make_cross(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => from_fn(cross::<T>), _ => init.unsupported())
}

fn cross<T: Number>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (a, b) = (ctx.input(0)?, ctx.input(1)?);
    if a.shape() != b.shape() {
        bail!(InvalidArgument, "Both inputs must be of same shape: {} vs. {}", a.shape(), b.shape());
    }
    if a.rank() == 0 {
        bail!(InvalidArgument, "Input must be at least 1D");
    }
    if a.shape().last() != Some(&3) {
        bail!(FailedPrecondition, "Cross-products are only defined for 3-element vectors.");
    }
    let mut out = ctx.allocator().uninit(T::DTYPE, a.shape().clone())?;
    let vectors = a.as_slice::<T>()?.chunks_exact(3).zip(b.as_slice::<T>()?.chunks_exact(3));
    for (d, (u, v)) in out.as_mut_slice::<T>()?.chunks_exact_mut(3).zip(vectors) {
        for (i, d) in d.iter_mut().enumerate() {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            *d = u[j].times(v[k]).minus(u[k].times(v[j]));
        }
    }
    ctx.set_output(0, out);
    Ok(())
}
