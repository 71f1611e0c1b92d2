//! `FractionalMaxPool` and `FractionalAvgPool`, whose windows have sizes that differ by one, in random order.

use crate::from_fn::from_fn;
use crate::number::Ordered;
use crate::parallel;
use crate::random::WindowStarts;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail, for_dtype};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("FractionalAvgPool", |init| make(init, false));
    registry.add("FractionalMaxPool", |init| make(init, true));
}

#[derive(Clone, Copy)]
struct Pool {
    ratios: [f32; 4],
    pseudo_random: bool,
    overlapping: bool,
    /// The random state of every call, if all calls have the same windows.
    starts: Option<WindowStarts>,
    is_max: bool,
}

fn make(init: &KernelInit<'_>, is_max: bool) -> Result<Arc<dyn Kernel>> {
    let Ok(ratios) = <[f32; 4]>::try_from(init.attrs.list::<f32>("pooling_ratio")?) else {
        bail!(InvalidArgument, "pooling_ratio field must specify 4 dimensions");
    };
    // NaN is rejected, because it is not greater than or equal to 1.
    if let Some(ratio) = ratios.iter().find(|&&ratio| ratio.is_nan() || ratio < 1.0) {
        bail!(InvalidArgument, "pooling_ratio cannot be smaller than 1, got: {ratio}");
    }
    if ratios[0] != 1.0 || ratios[3] != 1.0 {
        let kind = if is_max { "max" } else { "average" };
        bail!(Unimplemented, "Fractional {kind} pooling is not yet supported on the batch nor channel dimension.");
    }
    let (seed, seed2): (i64, i64) = (init.attrs.get_or("seed", 0)?, init.attrs.get_or("seed2", 0)?);
    let deterministic: bool = init.attrs.get_or("deterministic", false)?;
    if !deterministic && (seed, seed2) != (0, 0) {
        bail!(InvalidArgument, "Both seed and seed2 should be 0 if deterministic is false.");
    }
    let pool = Pool {
        ratios,
        pseudo_random: init.attrs.get_or("pseudo_random", false)?,
        overlapping: init.attrs.get_or("overlapping", false)?,
        starts: deterministic.then(|| WindowStarts::from_seeds(seed, seed2)),
        is_max,
    };
    for_dtype!(init.dtype("T")?, [f32, f64, i32, i64], T => from_fn(move |ctx| compute::<T>(ctx, &pool)), _ => init.unsupported())
}

impl Pool {
    /// Returns the number of windows along dimension `i` of `size` elements.
    fn count(&self, i: usize, size: usize) -> Result<usize> {
        let ratio = self.ratios[i];
        if size as f32 >= ratio {
            // Conversion to `float32` rounds, which may make a large size larger.
            return Ok(((size as f32 / ratio).floor() as usize).clamp(1, size));
        }
        bail!(
            InvalidArgument,
            "Pooling ratio is higher than input dimension size for dimension {i}. Input dim size: {size} pooling ratio: {ratio}"
        )
    }
}

/// Returns the elements of each window along a dimension of `len` elements. Overlapping windows have the first element of the second one in common.
pub(super) fn windows(starts: &[i64], len: usize, overlapping: bool) -> Vec<Range<usize>> {
    let inside = |at: i64| usize::try_from(at).unwrap_or(0).min(len);
    starts.windows(2).map(|pair| inside(pair[0])..inside(pair[1].saturating_add(i64::from(overlapping)))).collect()
}

fn compute<T: Ordered>(ctx: &mut KernelContext<'_>, pool: &Pool) -> Result<()> {
    let input = ctx.input(0)?;
    let &[batch, height, width, channels] = input.shape().dims() else {
        bail!(InvalidArgument, "tensor_in must be 4-dimensional");
    };
    pool.count(0, batch)?;
    let (out_height, out_width) = (pool.count(1, height)?, pool.count(2, width)?);
    pool.count(3, channels)?;
    let mut starts = pool.starts.unwrap_or_else(|| WindowStarts::from_seeds(0, 0));
    let row_starts = starts.next(height, out_height, pool.pseudo_random);
    let column_starts = starts.next(width, out_width, pool.pseudo_random);
    let (rows, columns) = (windows(&row_starts, height, pool.overlapping), windows(&column_starts, width, pool.overlapping));
    let x = input.as_slice::<T>()?;
    let mut out = ctx.allocator().uninit(T::DTYPE, [batch, out_height, out_width, channels])?;
    parallel::chunks(out.as_mut_slice::<T>()?, out_width * channels, |row, out| {
        let (image, rows) = (row / out_height, &rows[row % out_height]);
        for (out, columns) in out.chunks_exact_mut(channels).zip(&columns) {
            let pixels = rows.clone().flat_map(|y| columns.clone().map(move |x| (image * height + y) * width + x));
            let windows = pixels.map(|pixel| &x[pixel * channels..][..channels]);
            if pool.is_max {
                out.fill(T::LOWEST_FINITE);
                windows.for_each(|from| out.iter_mut().zip(from).for_each(|(out, &x)| *out = if *out < x { x } else { *out }));
            } else {
                out.fill(T::ZERO);
                windows.for_each(|from| out.iter_mut().zip(from).for_each(|(out, &x)| *out = out.plus(x)));
                let count = T::from_count(rows.len() * columns.len());
                out.iter_mut().for_each(|out| *out = out.over(count));
            }
        }
    });
    ctx.set_output(0, out);
    ctx.set_output(1, ctx.allocator().vector(&row_starts)?);
    ctx.set_output(2, ctx.allocator().vector(&column_starts)?);
    Ok(())
}
