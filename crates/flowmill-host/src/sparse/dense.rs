//! Ops on a sparse and a dense tensor: `SparseTensorDenseAdd`, `SparseDenseCwiseAdd`, `SparseDenseCwiseDiv`, `SparseDenseCwiseMul`.

use super::{Sparse, check_parts, describe, position};
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseDenseCwiseAdd", |init| make(init, Operation::Add));
    registry.add("SparseDenseCwiseDiv", |init| make(init, Operation::Div));
    registry.add("SparseDenseCwiseMul", |init| make(init, Operation::Mul));
    registry.add("SparseTensorDenseAdd", make_add);
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Div,
    Mul,
}

fn make(init: &KernelInit<'_>, operation: Operation) -> Result<Arc<dyn Kernel>> {
    let combine = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => combine::<T>,
        _ => return init.unsupported()
    );
    from_fn(move |ctx| element_wise(ctx, operation, combine))
}

/// A function that combines each element of `values` with the element of `dense` at the same index of `positions`.
type Combine = fn(alloc: &Allocator, operation: Operation, values: &Tensor, dense: &Tensor, positions: &[usize]) -> Result<Tensor>;

fn combine<T: Number>(alloc: &Allocator, operation: Operation, values: &Tensor, dense: &Tensor, positions: &[usize]) -> Result<Tensor> {
    let y = dense.as_slice::<T>()?;
    let mut out = Vec::with_capacity(positions.len());
    for (&value, &at) in values.as_slice::<T>()?.iter().zip(positions) {
        let y = y[at];
        if matches!(operation, Operation::Div) && y == T::ZERO && T::DTYPE.is_integer() {
            bail!(InvalidArgument, "Integer division by zero");
        }
        out.push(match operation {
            Operation::Add => value.plus(y),
            Operation::Div => value.over(y),
            Operation::Mul => value.times(y),
        });
    }
    alloc.vector(&out)
}

/// Combines each value with the dense operand's element at its index. The dense operand is broadcast to the sparse one's shape.
fn element_wise(ctx: &mut KernelContext<'_>, operation: Operation, combine: Combine) -> Result<()> {
    let sparse = Sparse::input(ctx, 0)?;
    let dense = ctx.input(3)?;
    let shape = sparse.shape()?;
    // Dimensions of size one are broadcast, and so are leading dimensions that the dense operand lacks.
    let Some(missing) = sparse.rank().checked_sub(dense.rank()) else { return incompatible(&shape, dense.shape()) };
    if dense.shape().iter().zip(&shape[missing..]).any(|(&d, &s)| d != s && d != 1) {
        return incompatible(&shape, dense.shape());
    }
    let mut positions = Vec::with_capacity(sparse.len());
    for i in 0..sparse.len() {
        let row = sparse.row(i);
        if position(row, &shape).is_none() {
            bail!(
                InvalidArgument,
                "Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape: {} in {shape}",
                describe(i, row)
            );
        }
        let at = dense.shape().iter().zip(&row[missing..]);
        positions.push(at.fold(0, |at, (&d, &i)| at * d + if d == 1 { 0 } else { i as usize }));
    }
    let out = combine(ctx.allocator(), operation, sparse.values, dense, &positions)?;
    ctx.set_output(0, out);
    Ok(())
}

fn incompatible(sparse: &Shape, dense: &Shape) -> Result<()> {
    bail!(InvalidArgument, "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: {sparse} vs. {dense}")
}

fn make_add(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let add_at = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => add_at::<T>,
        _ => return init.unsupported()
    );
    from_fn(move |ctx| add(ctx, add_at))
}

/// Adds each value to the element at its position.
fn add_at<T: Number>(target: &mut Tensor, positions: &[usize], values: &Tensor) -> Result<()> {
    let target = target.as_mut_slice::<T>()?;
    for (&at, &value) in positions.iter().zip(values.as_slice::<T>()?) {
        target[at] = target[at].plus(value);
    }
    Ok(())
}

/// Outputs the dense operand with the values added at their indices, which may be `int32` here.
fn add(ctx: &mut KernelContext<'_>, add_at: fn(&mut Tensor, &[usize], &Tensor) -> Result<()>) -> Result<()> {
    let (indices, values, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let (_, width) = check_parts(indices, values, shape)?;
    let (indices, sizes) = (indices.to_i64_vec()?, shape.to_i64_vec()?);
    let b = ctx.input(3)?;
    if b.rank() != width {
        bail!(InvalidArgument, "Two operands have different ranks; received: {width} and {}", b.rank());
    }
    for (i, (&a, &b)) in sizes.iter().zip(b.shape().iter()).enumerate() {
        if usize::try_from(a) != Ok(b) {
            bail!(InvalidArgument, "Dimension {i} does not equal (no broadcasting is supported): sparse side {a} vs dense side {b}");
        }
    }
    let row = |i: usize| &indices[i * width..][..width];
    let mut positions = Vec::with_capacity(values.num_elements());
    for i in 0..values.num_elements() {
        match position(row(i), b.shape()) {
            Some(at) => positions.push(at),
            None => bail!(InvalidArgument, "Sparse tensor has some invalid index on dimension: {} in {}", describe(i, row(i)), b.shape()),
        }
    }
    let values = values.clone();
    let mut out = ctx.take_writable(3)?;
    add_at(&mut out, &positions, &values)?;
    ctx.set_output(0, out);
    Ok(())
}
