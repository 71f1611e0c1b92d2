//! Ops on two sparse tensors: `SparseAdd` and its gradient, `SparseSparseMaximum`, `SparseSparseMinimum`.

use super::{Sparse, index_matrix, matrix, pick_or_zero};
use crate::from_fn::from_fn;
use crate::number::{Number, Ordered, is_number};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, Result, Tensor, bail, bf16, check_memory, f16, for_dtype};
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

/// The positions of the values that two sparse tensors have at one index. At least one of them is `Some`.
type Pair = (Option<usize>, Option<usize>);

/// Merges the indices of two sparse tensors in ascending order, and returns the positions of the values at each index.
fn merge(a: &Sparse<'_>, b: &Sparse<'_>) -> Vec<Pair> {
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::with_capacity(a.len().max(b.len()));
    while i < a.len() || j < b.len() {
        let order = match (i < a.len(), j < b.len()) {
            (true, true) => a.row(i).cmp(b.row(j)),
            (true, false) => Ordering::Less,
            _ => Ordering::Greater,
        };
        pairs.push(((order != Ordering::Greater).then_some(i), (order != Ordering::Less).then_some(j)));
        i += usize::from(order != Ordering::Greater);
        j += usize::from(order != Ordering::Less);
    }
    pairs
}

/// Returns the indices that the values of `pairs` have.
fn indices_of(alloc: &Allocator, a: &Sparse<'_>, b: &Sparse<'_>, pairs: &[Pair]) -> Result<Tensor> {
    let mut indices = Vec::with_capacity(pairs.len() * a.rank());
    for pair in pairs {
        match *pair {
            (Some(i), _) => indices.extend_from_slice(a.row(i)),
            (None, Some(j)) => indices.extend_from_slice(b.row(j)),
            (None, None) => {}
        }
    }
    index_matrix(alloc, &indices, a.rank(), pairs.len())
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
    let sums = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i8, i16, i32, i64, Complex<f32>, Complex<f64>],
        T => sums::<T>,
        _ => return init.unsupported()
    );
    from_fn(move |ctx| add(ctx, sums))
}

/// A function that returns the sums of `x` and `y` at `pairs`, from which it removes the sums of two elements that are smaller than a threshold.
type Sums = fn(alloc: &Allocator, pairs: &mut Vec<Pair>, x: &Tensor, y: &Tensor, threshold: &Tensor) -> Result<Tensor>;

/// Outputs the sum. A sum of two elements is dropped if it is smaller than a threshold; an element that only one operand has is kept, as in TensorFlow.
fn add(ctx: &mut KernelContext<'_>, sums: Sums) -> Result<()> {
    let (a, b) = operands(ctx)?;
    let threshold = ctx.input(6)?;
    if threshold.rank() != 0 {
        bail!(InvalidArgument, "The magnitude threshold must be a scalar: got shape {}", threshold.shape());
    }
    let mut pairs = merge(&a, &b);
    let values = sums(ctx.allocator(), &mut pairs, a.values, b.values, threshold)?;
    let indices = indices_of(ctx.allocator(), &a, &b, &pairs)?;
    let shape = ctx.input(2)?.clone();
    ctx.set_output(0, indices);
    ctx.set_output(1, values);
    ctx.set_output(2, shape);
    Ok(())
}

fn sums<T: Magnitude>(alloc: &Allocator, pairs: &mut Vec<Pair>, x: &Tensor, y: &Tensor, threshold: &Tensor) -> Result<Tensor> {
    let threshold = threshold.to_scalar::<T::Real>()?;
    let (x, y) = (x.as_slice::<T>()?, y.as_slice::<T>()?);
    let mut values = Vec::with_capacity(pairs.len());
    pairs.retain(|pair| {
        let (sum, is_kept) = match *pair {
            (Some(i), Some(j)) => (x[i].plus(y[j]), false),
            (Some(i), None) => (x[i], true),
            (None, Some(j)) => (y[j], true),
            (None, None) => return false,
        };
        let is_kept = is_kept || sum.magnitude() >= threshold;
        if is_kept {
            values.push(sum);
        }
        is_kept
    });
    alloc.vector(&values)
}

fn make_add_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if is_number(init.dtype("T")?) { from_fn(add_grad) } else { init.unsupported() }
}

/// Outputs, for each element of an operand, the gradient of the sum at its index, or zero if the sum has no element there.
fn add_grad(ctx: &mut KernelContext<'_>) -> Result<()> {
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
    let sum = ctx.input(3)?.as_slice::<i64>()?;
    let mut outputs = Vec::new();
    for (input, name) in [(1, "Input a_indices"), (2, "Input b_indices")] {
        let (count, width) = matrix(ctx.input(input)?, name)?;
        if width != rank {
            bail!(InvalidArgument, "The densified operands should have the same ndims; for {name}: {width}, sum: {rank}");
        }
        let indices = ctx.input(input)?.as_slice::<i64>()?;
        check_memory::<Option<usize>>(count)?;
        let mut positions = vec![None; count];
        let mut k = 0;
        for (i, position) in positions.iter_mut().enumerate() {
            let row = &indices[i * rank..][..rank];
            while k < sums && &sum[k * rank..][..rank] < row {
                k += 1;
            }
            if k < sums && &sum[k * rank..][..rank] == row {
                *position = Some(k);
            }
        }
        outputs.push(pick_or_zero(ctx.allocator(), gradient, &positions)?);
    }
    outputs.into_iter().enumerate().for_each(|(i, out)| ctx.set_output(i, out));
    Ok(())
}

fn make_extreme(init: &KernelInit<'_>, maximum: bool) -> Result<Arc<dyn Kernel>> {
    let extremes = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64],
        T => extremes::<T>,
        _ => return init.unsupported()
    );
    from_fn(move |ctx| {
        let (a, b) = operands(ctx)?;
        let pairs = merge(&a, &b);
        let values = extremes(ctx.allocator(), &pairs, a.values, b.values, maximum)?;
        let indices = indices_of(ctx.allocator(), &a, &b, &pairs)?;
        ctx.set_output(0, indices);
        ctx.set_output(1, values);
        Ok(())
    })
}

/// Returns the greater or the smaller element of each pair. Elements that an operand does not have are zero.
fn extremes<T: Ordered>(alloc: &Allocator, pairs: &[Pair], x: &Tensor, y: &Tensor, maximum: bool) -> Result<Tensor> {
    let (x, y) = (x.as_slice::<T>()?, y.as_slice::<T>()?);
    let extreme = |&(i, j): &Pair| {
        let (x, y) = (i.map_or(T::ZERO, |i| x[i]), j.map_or(T::ZERO, |j| y[j]));
        if maximum { x.larger(y) } else { x.smaller(y) }
    };
    alloc.vector(&pairs.iter().map(extreme).collect::<Vec<T>>())
}
