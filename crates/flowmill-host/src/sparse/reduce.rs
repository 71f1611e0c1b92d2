//! Reductions of sparse tensors: `SparseReduceSum`, `SparseReduceMax`, both to dense and to sparse, and `SparseSoftmax`.

use super::{Sparse, index_matrix, position};
use crate::from_fn::from_fn;
use crate::number::{Number, Ordered};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseReduceMax", |init| make_max(init, false));
    registry.add("SparseReduceMaxSparse", |init| make_max(init, true));
    registry.add("SparseReduceSum", |init| make_sum(init, false));
    registry.add("SparseReduceSumSparse", |init| make_sum(init, true));
    registry.add("SparseSoftmax", make_softmax);
}

fn make_sum(init: &KernelInit<'_>, sparse: bool) -> Result<Arc<dyn Kernel>> {
    let keep_dims = init.attrs.get_or("keep_dims", false)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => {
        from_fn(move |ctx| reduce::<T>(ctx, keep_dims, sparse, T::plus))
    }, _ => init.unsupported())
}

fn make_max(init: &KernelInit<'_>, sparse: bool) -> Result<Arc<dyn Kernel>> {
    let keep_dims = init.attrs.get_or("keep_dims", false)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => {
        from_fn(move |ctx| reduce::<T>(ctx, keep_dims, sparse, T::larger))
    }, _ => init.unsupported())
}

/// Returns, for each dimension, true if it is reduced.
fn reduced(axes: &Tensor, rank: usize) -> Result<Vec<bool>> {
    if axes.rank() > 1 {
        bail!(InvalidArgument, "Expected reduction_axes to be a scalar or vector, got shape {}", axes.shape());
    }
    let mut reduced = vec![false; rank];
    for axis in axes.to_i64_vec()? {
        let index = if axis < 0 { axis + rank as i64 } else { axis };
        match usize::try_from(index).ok().and_then(|i| reduced.get_mut(i)) {
            Some(reduced) => *reduced = true,
            None => bail!(InvalidArgument, "Invalid reduction dimension {axis}, for input with {rank} dimensions."),
        }
    }
    Ok(reduced)
}

/// Merges values whose indices differ only in reduced dimensions. Results are in row-major order of the other dimensions. A dense result is zero
/// where there are no values.
fn reduce<T: Number>(ctx: &mut KernelContext<'_>, keep_dims: bool, to_sparse: bool, merge: fn(T, T) -> T) -> Result<()> {
    let sparse = Sparse::input(ctx, 0)?;
    let reduced = reduced(ctx.input(3)?, sparse.rank())?;
    let dims = sparse.shape()?;
    let kept: Vec<usize> = (0..sparse.rank()).filter(|&d| !reduced[d]).collect();
    let group = |i: usize| -> Vec<i64> { kept.iter().map(|&d| sparse.row(i)[d]).collect() };
    let shape: Shape = (0..sparse.rank()).filter_map(|d| if reduced[d] { keep_dims.then_some(1) } else { Some(dims[d]) }).collect();
    let group_dims: Vec<usize> = kept.iter().map(|&d| dims[d]).collect();
    let mut groups: Vec<(Vec<i64>, usize)> = (0..sparse.len()).map(|i| (group(i), i)).collect();
    groups.sort();
    let x = sparse.values.as_slice::<T>()?;
    let (mut places, mut values): (Vec<&[i64]>, Vec<T>) = (Vec::new(), Vec::new());
    for run in groups.chunk_by(|a, b| a.0 == b.0) {
        let merged = run[1..].iter().fold(x[run[0].1].widen(), |acc, &(_, i)| merge(T::narrow(acc), x[i]).widen());
        places.push(&run[0].0);
        values.push(T::narrow(merged));
    }
    if !to_sparse {
        let mut out = ctx.allocator().zeros(T::DTYPE, shape)?;
        let target = out.as_mut_slice::<T>()?;
        for (place, &value) in places.iter().zip(&values) {
            match position(place, &group_dims) {
                Some(at) => target[at] = value,
                None => bail!(InvalidArgument, "a reduced index {place:?} is out of bounds of {group_dims:?}"),
            }
        }
        ctx.set_output(0, out);
        return Ok(());
    }
    let mut indices = Vec::with_capacity(values.len() * shape.rank());
    for place in &places {
        if keep_dims {
            let mut place = place.iter();
            indices.extend(reduced.iter().map(|&reduced| if reduced { 0 } else { place.next().copied().unwrap_or(0) }));
        } else {
            indices.extend_from_slice(place);
        }
    }
    let indices = index_matrix(ctx.allocator(), &indices, shape.rank(), values.len())?;
    ctx.set_output(0, indices);
    ctx.set_output(1, ctx.allocator().vector(&values)?);
    ctx.set_output(2, ctx.allocator().vector(&shape.to_i64())?);
    Ok(())
}

fn make_softmax(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match init.dtype("T")? {
        flowmill_tensor::DType::F64 => from_fn(|ctx| softmax::<f64>(ctx, f64::exp)),
        flowmill_tensor::DType::F32 => from_fn(|ctx| softmax::<f32>(ctx, f32::exp)),
        flowmill_tensor::DType::F16 => from_fn(|ctx| softmax::<f16>(ctx, f32::exp)),
        _ => init.unsupported(),
    }
}

/// Computes the softmax over values whose indices differ only in the last dimension. Such values must be adjacent.
fn softmax<T: Ordered>(ctx: &mut KernelContext<'_>, exp: fn(T::Acc) -> T::Acc) -> Result<()> {
    let sparse = Sparse::input(ctx, 0)?;
    let rank = sparse.rank();
    if rank < 2 {
        bail!(InvalidArgument, "Input should have rank >= 2, but got: {rank}");
    }
    sparse.shape()?.checked_num_elements()?;
    if (1..sparse.len()).any(|i| sparse.row(i)[..rank - 1] < sparse.row(i - 1)[..rank - 1]) {
        bail!(
            InvalidArgument,
            "indices are out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
        );
    }
    let mut out = sparse.values.as_slice::<T>()?.to_vec();
    let mut start = 0;
    while start < out.len() {
        let row = &sparse.row(start)[..rank - 1];
        let end = start + (start..out.len()).take_while(|&i| &sparse.row(i)[..rank - 1] == row).count();
        let group = &mut out[start..end];
        let max = group.iter().copied().reduce(T::larger).unwrap_or(T::ZERO).widen();
        let terms: Vec<T::Acc> = group.iter().map(|x| exp(x.widen().minus(max))).collect();
        let sum = terms.iter().fold(T::ZERO.widen(), |sum, &term| sum.plus(term));
        group.iter_mut().zip(terms).for_each(|(x, term)| *x = T::narrow(term.over(sum)));
        start = end;
    }
    let out = ctx.allocator().vector(&out)?;
    ctx.set_output(0, out);
    Ok(())
}
