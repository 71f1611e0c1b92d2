//! Ops on two sparse tensors: `SparseAdd` and its gradient, `SparseSparseMaximum`, `SparseSparseMinimum`.

use super::{Sparse, index_matrix, matrix};
use crate::from_fn::from_fn;
use crate::number::{Number, Ordered};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, bail, bf16, f16, for_dtype};
use std::cmp::Ordering;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseAdd", make_add);
    registry.add("SparseAddGrad", make_add_grad);
    registry.add("SparseSparseMaximum", |init| make_extreme(init, true));
    registry.add("SparseSparseMinimum", |init| make_extreme(init, false));
}

/// A number with an absolute value.
trait Magnitude: Number {
    /// The type of absolute values.
    type Real: Number + PartialOrd;
    fn magnitude(self) -> Self::Real;
}

macro_rules! magnitudes {
    ($($t:ty, |$x:ident| $size:expr;)*) => {
        $(impl Magnitude for $t {
            type Real = $t;
            fn magnitude(self) -> $t { let $x = self; $size }
        })*
    };
}
magnitudes! {
    f16, |x| f16::from_f32(x.to_f32().abs());
    bf16, |x| bf16::from_f32(x.to_f32().abs());
    f32, |x| x.abs();
    f64, |x| x.abs();
    i8, |x| x.wrapping_abs();
    i16, |x| x.wrapping_abs();
    i32, |x| x.wrapping_abs();
    i64, |x| x.wrapping_abs();
}

impl Magnitude for Complex<f32> {
    type Real = f32;
    fn magnitude(self) -> f32 {
        self.re.hypot(self.im)
    }
}

impl Magnitude for Complex<f64> {
    type Real = f64;
    fn magnitude(self) -> f64 {
        self.re.hypot(self.im)
    }
}

/// Merges the indices of two sparse tensors in ascending order. Calls `f(index, a, b)` with the positions of the values that the tensors have there.
fn merge<'a>(a: &Sparse<'a>, b: &Sparse<'a>, mut f: impl FnMut(&'a [i64], Option<usize>, Option<usize>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let order = match (i < a.len(), j < b.len()) {
            (true, true) => a.row(i).cmp(b.row(j)),
            (true, false) => Ordering::Less,
            _ => Ordering::Greater,
        };
        match order {
            Ordering::Less => f(a.row(i), Some(i), None),
            Ordering::Equal => f(a.row(i), Some(i), Some(j)),
            Ordering::Greater => f(b.row(j), None, Some(j)),
        }
        i += usize::from(order != Ordering::Greater);
        j += usize::from(order != Ordering::Less);
    }
}

/// Returns the operands of a binary op, which must have one shape.
fn operands<'a>(ctx: &'a KernelContext<'_>) -> Result<(Sparse<'a>, Sparse<'a>)> {
    let (a, b) = (Sparse::input(ctx, 0)?, Sparse::input(ctx, 3)?);
    if a.rank() != b.rank() {
        bail!(InvalidArgument, "Operands do not have the same ranks; got shapes: {:?} and {:?}", a.dims, b.dims);
    }
    if let Some(i) = (0..a.rank()).find(|&i| a.dims[i] != b.dims[i]) {
        bail!(InvalidArgument, "Operands' shapes do not match: got {} and {} for dimension {i}", a.dims[i], b.dims[i]);
    }
    Ok((a, b))
}

fn make_add(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, Complex<f32>, Complex<f64>], T => {
        from_fn(add::<T>)
    }, _ => init.unsupported())
}

/// Outputs the sum. A sum of two elements is dropped if it is smaller than a threshold; an element that only one operand has is kept, as in TensorFlow.
fn add<T: Magnitude>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (a, b) = operands(ctx)?;
    let threshold = ctx.input(6)?;
    if threshold.rank() != 0 {
        bail!(InvalidArgument, "The magnitude threshold must be a scalar: got shape {}", threshold.shape());
    }
    let threshold = threshold.to_scalar::<T::Real>()?;
    let (x, y) = (a.values.as_slice::<T>()?, b.values.as_slice::<T>()?);
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    merge(&a, &b, |place, i, j| {
        let sum = match (i, j) {
            (Some(i), Some(j)) => x[i].plus(y[j]),
            (Some(i), None) => x[i],
            (None, Some(j)) => y[j],
            (None, None) => return,
        };
        if i.is_none() || j.is_none() || sum.magnitude() >= threshold {
            indices.extend_from_slice(place);
            values.push(sum);
        }
    });
    let indices = index_matrix(ctx.allocator(), &indices, a.rank(), values.len())?;
    let shape = ctx.input(2)?.clone();
    ctx.set_output(0, indices);
    ctx.set_output(1, ctx.allocator().vector(&values)?);
    ctx.set_output(2, shape);
    Ok(())
}

fn make_add_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => {
        from_fn(add_grad::<T>)
    }, _ => init.unsupported())
}

/// Outputs, for each element of an operand, the gradient of the sum at its index, or zero if the sum has no element there.
fn add_grad<T: Number>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let gradient = ctx.input(0)?;
    if gradient.rank() != 1 {
        bail!(InvalidArgument, "Input backprop_val_grad should be a vector but received shape: {}", gradient.shape());
    }
    let (sums, rank) = matrix(ctx.input(3)?, "Input sum_indices")?;
    if gradient.num_elements() != sums {
        bail!(
            InvalidArgument,
            "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): got {} and {sums}",
            gradient.num_elements()
        );
    }
    let (g, sum) = (gradient.as_slice::<T>()?, ctx.input(3)?.as_slice::<i64>()?);
    let mut outputs = Vec::new();
    for (input, name) in [(1, "Input a_indices"), (2, "Input b_indices")] {
        let (count, width) = matrix(ctx.input(input)?, name)?;
        if width != rank {
            bail!(InvalidArgument, "The densified operands should have the same ndims; for {name}: {width}, sum: {rank}");
        }
        let indices = ctx.input(input)?.as_slice::<i64>()?;
        let mut out = vec![T::ZERO; count];
        let mut k = 0;
        for (i, out) in out.iter_mut().enumerate() {
            let row = &indices[i * rank..][..rank];
            while k < sums && &sum[k * rank..][..rank] < row {
                k += 1;
            }
            if k < sums && &sum[k * rank..][..rank] == row {
                *out = g[k];
            }
        }
        outputs.push(ctx.allocator().vector(&out)?);
    }
    outputs.into_iter().enumerate().for_each(|(i, out)| ctx.set_output(i, out));
    Ok(())
}

fn make_extreme(init: &KernelInit<'_>, maximum: bool) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => {
        from_fn(move |ctx| extreme::<T>(ctx, maximum))
    }, _ => init.unsupported())
}

/// Outputs the greater or the smaller elements. Elements that an operand does not have are zero.
fn extreme<T: Ordered>(ctx: &mut KernelContext<'_>, maximum: bool) -> Result<()> {
    let (a, b) = operands(ctx)?;
    let (x, y) = (a.values.as_slice::<T>()?, b.values.as_slice::<T>()?);
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    merge(&a, &b, |place, i, j| {
        let (x, y) = (i.map_or(T::ZERO, |i| x[i]), j.map_or(T::ZERO, |j| y[j]));
        indices.extend_from_slice(place);
        values.push(if maximum { x.larger(y) } else { x.smaller(y) });
    });
    let indices = index_matrix(ctx.allocator(), &indices, a.rank(), values.len())?;
    ctx.set_output(0, indices);
    ctx.set_output(1, ctx.allocator().vector(&values)?);
    Ok(())
}
