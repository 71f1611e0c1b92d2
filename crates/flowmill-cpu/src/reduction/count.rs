//! Counts of values: `Bincount`, `DenseBincount`, `HistogramFixedWidth`, `Bucketize`.

use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_kernels::bincount::Bincount;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail, for_dtype};
use num_traits::ToPrimitive;
use std::sync::Arc;

/// Makes the kernel of `Bincount`: the sum of the weights for each value below `size`, or the number of occurrences if there are no weights.
pub(super) fn make_bincount(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [i32, i64, f32, f64], T => from_fn(|ctx| bincount::<T>(ctx, false, false)), _ => init.unsupported())
}

/// Makes the kernel of `DenseBincount`, which counts each row of a matrix separately.
pub(super) fn make_dense_bincount(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let binary = init.attrs.get_or("binary_output", false)?;
    for_dtype!(init.dtype("T")?, [i32, i64, f32, f64], T => from_fn(move |ctx| bincount::<T>(ctx, true, binary)), _ => init.unsupported())
}

fn bincount<T: Number>(ctx: &mut KernelContext<'_>, counts_rows: bool, binary: bool) -> Result<()> {
    let Bincount { bins, width, shape, .. } = Bincount::new(ctx, counts_rows)?;
    let (values, weights) = (ctx.input(0)?, ctx.input(2)?.as_slice::<T>()?);
    let mut out = ctx.allocator().zeros(T::DTYPE, shape)?;
    let counts = out.as_mut_slice::<T>()?;
    for_dtype!(values.dtype(), [i32, i64], I => {
        let values = values.as_slice::<I>()?;
        if values.iter().min().is_some_and(|&least| least < 0) {
            bail!(InvalidArgument, "Input arr must be non-negative!");
        }
        // Without bins, there is nothing to count.
        for (row, counts) in counts.chunks_exact_mut(bins.max(1)).enumerate() {
            let range = row * width..(row + 1) * width;
            let of_row = values[range.clone()].iter().map(|&value| value as u64);
            match weights.get(range) {
                _ if binary => count(of_row, counts, |at, _| *at = T::ONE),
                Some(weights) if !weights.is_empty() => count(of_row, counts, |at, i| *at = at.plus(weights[i])),
                _ => count(of_row, counts, |at, _| *at = at.plus(T::ONE)),
            }
        }
    }, _ => bail!(InvalidArgument, "values of type {}", values.dtype()));
    ctx.set_output(0, out);
    Ok(())
}

/// Calls `add` with the bin and the place of each value that has a bin.
fn count<T>(values: impl Iterator<Item = u64>, bins: &mut [T], add: impl Fn(&mut T, usize)) {
    for (i, value) in values.enumerate() {
        if value < bins.len() as u64 {
            add(&mut bins[value as usize], i);
        }
    }
}

/// Makes the kernel of `HistogramFixedWidth`: values outside of the range are counted in the first or the last bin.
pub(super) fn make_histogram_fixed_width(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let out = init.attrs.get_or("dtype", DType::I32)?;
    let widen: fn(&Tensor) -> Result<Vec<f64>> = for_dtype!(
        init.dtype("T")?,
        [i32, i64, f32, f64],
        T => |values| Ok(values.as_slice::<T>()?.iter().map(|x| ToPrimitive::to_f64(x).unwrap_or(f64::NAN)).collect()),
        _ => return init.unsupported()
    );
    from_fn(move |ctx| {
        let counts = histogram(ctx.allocator(), &widen(ctx.input(0)?)?, &widen(ctx.input(1)?)?, ctx.input(2)?)?;
        let out = ctx.allocator().index_vector(out, &counts)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn histogram(alloc: &Allocator, values: &[f64], range: &[f64], bins: &Tensor) -> Result<Vec<i64>> {
    let &[low, high] = range else { bail!(InvalidArgument, "value_range should have two elements, not {}", range.len()) };
    if low.is_nan() || high.is_nan() || low >= high {
        bail!(InvalidArgument, "value_range should satisfy value_range[0] < value_range[1], but got '[{low}, {high}]'");
    }
    let bins = bins.to_i64()?;
    if bins <= 0 {
        bail!(InvalidArgument, "nbins should be a positive number, but got '{bins}'");
    }
    let checked = alloc.zeros(DType::I64, Shape::from_i64(&[bins])?)?;
    let mut counts = checked.as_slice::<i64>()?.to_vec();
    let step = (high - low) / bins as f64;
    for &value in values {
        let bin = ((value - low) / step).floor().clamp(0.0, (bins - 1) as f64);
        counts[bin as usize] += 1;
    }
    Ok(counts)
}

/// Makes the kernel of `Bucketize`: the number of boundaries, which are in ascending order, that are not greater than each value.
pub(super) fn make_bucketize(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let boundaries: Vec<f32> = init.attrs.list("boundaries")?;
    if !boundaries.is_sorted() {
        bail!(InvalidArgument, "Expected sorted boundaries");
    }
    for_dtype!(init.dtype("T")?, [f32, f64, i32, i64], T => from_fn(move |ctx| {
        let x = ctx.input(0)?;
        // NaN is in the last bucket, because it is not less than any boundary.
        let buckets: Vec<i32> = x.as_slice::<T>()?.iter().map(|&x| boundaries.partition_point(|&b| !((x as f64) < f64::from(b))) as i32).collect();
        let out = ctx.allocator().from_slice(x.shape().clone(), &buckets)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}
