//! Functions of whole rows of `f32`: softmax (`softmax`), normalisation, moments; and per-channel scaling.
//!
//! Each row is computed by one thread in a fixed order, so results do not depend on the number of threads. A sum has as many lanes as the
//! instruction set's vectors, so another instruction set may return different last digits.

mod entropy;
mod softmax;

pub use entropy::{cross_entropy, sparse_cross_entropy};
pub use softmax::{log_softmax, log_softmax_in_place, softmax, softmax_in_place};

use super::vector::MathVector;
use super::{Isa, for_each_isa, isa};
use crate::parallel;

/// Rows with fewer elements in total are processed on one thread.
const FORK_ELEMENTS: usize = 1 << 14;

/// Calls `f(first row, rows, dst)` for groups of rows of `dst`, which is `dst_cols` wide.
fn for_each_piece<F>(rows: usize, cols: usize, dst: &mut [f32], dst_cols: usize, f: F)
where
    F: Fn(usize, usize, &mut [f32]) + Sync,
{
    if rows.saturating_mul(cols) < FORK_ELEMENTS || parallel::threads() == 1 || rows == 1 {
        f(0, rows, dst);
    } else {
        let at_once = rows.div_ceil(2 * parallel::threads()).max(FORK_ELEMENTS / 4 / cols.max(1)).max(1);
        parallel::chunks(&mut dst[..rows * dst_cols], at_once * dst_cols, |i, dst| {
            f(i * at_once, dst.len() / dst_cols, dst);
        });
    }
}

/// Returns the number of rows of `src`, which have `cols` columns each.
///
/// # Panics
/// If `cols` does not divide the length, or `dst` has another length.
fn rows_of(dst: &[f32], src: &[f32], cols: usize) -> usize {
    assert_eq!(dst.len(), src.len(), "lengths of destination and source");
    if cols == 0 {
        return 0;
    }
    assert!(src.len().is_multiple_of(cols), "{} elements in rows of {cols}", src.len());
    src.len() / cols
}

/// Computes the mean and the (biased) variance of each row of `cols` elements, in two passes.
///
/// # Panics
/// If `cols` is zero or does not divide the length of `src`, or `mean` and `variance` do not have one value per row.
pub fn moments(mean: &mut [f32], variance: &mut [f32], src: &[f32], cols: usize) {
    assert!(cols > 0 && src.len().is_multiple_of(cols), "{} elements in rows of {cols}", src.len());
    let rows = src.len() / cols;
    assert_eq!((mean.len(), variance.len()), (rows, rows), "one mean and one variance a row");
    let isa = isa();
    for ((src, mean), variance) in src.chunks_exact(cols).zip(mean).zip(variance) {
        // SAFETY: the CPU has `isa`; the row has `cols >= 1` elements.
        (*mean, *variance) = unsafe { row_moments(isa, src.as_ptr(), cols) };
    }
}

/// Computes `(x - mean) / sqrt(variance + epsilon) * gamma + beta` of each row of `cols` elements; `gamma` and `beta` have one value per column.
///
/// # Panics
/// If `cols` does not divide the length, the lengths differ, or `gamma` or `beta` is shorter than a row.
pub fn layer_norm(dst: &mut [f32], src: &[f32], cols: usize, gamma: Option<&[f32]>, beta: Option<&[f32]>, epsilon: f32) {
    layer_norm_for(isa(), dst, src, cols, gamma, beta, epsilon);
}

fn layer_norm_for(isa: Isa, dst: &mut [f32], src: &[f32], cols: usize, gamma: Option<&[f32]>, beta: Option<&[f32]>, epsilon: f32) {
    let rows = rows_of(dst, src, cols);
    for factor in [gamma, beta].into_iter().flatten() {
        assert!(factor.len() >= cols, "{} factors for {cols} columns", factor.len());
    }
    let pointer = |x: Option<&[f32]>| x.map_or(std::ptr::null(), <[f32]>::as_ptr);
    if rows > 0 {
        for_each_piece(rows, cols, dst, cols, |first, rows, dst| {
            let src = &src[first * cols..][..rows * cols];
            let (gamma, beta) = (pointer(gamma), pointer(beta));
            // SAFETY: the CPU has `isa`; both slices hold `rows` rows of `cols`; factors are null or as long as a row.
            unsafe { layer_norm_rows(isa, dst.as_mut_ptr(), src.as_ptr(), rows, cols, gamma, beta, epsilon) }
        });
    }
}

crate::dispatch! {
    /// Computes `row[c] = row[c] * scale[c] + shift[c]`.
    fn scale_shift_row(dst: &mut [f32], src: &[f32], scale: &[f32], shift: &[f32]) {
        for (((d, s), scale), shift) in dst.iter_mut().zip(src).zip(scale).zip(shift) {
            *d = s * scale + shift;
        }
    }
}

/// Computes `x * scale[c] + shift[c]` with channels last: batch normalisation in inference, with `scale = gamma / sqrt(variance + epsilon)` and
/// `shift = beta - mean * scale`.
///
/// # Panics
/// If `scale` and `shift` have different lengths, that length does not divide `src`'s, or the lengths of `dst` and
/// `src` differ.
pub fn scale_shift(dst: &mut [f32], src: &[f32], scale: &[f32], shift: &[f32]) {
    assert_eq!(scale.len(), shift.len(), "channels of scale and shift");
    let cols = scale.len();
    let rows = rows_of(dst, src, cols);
    if rows > 0 {
        for_each_piece(rows, cols, dst, cols, |first, rows, dst| {
            let src = &src[first * cols..][..rows * cols];
            for (dst, src) in dst.chunks_exact_mut(cols).zip(src.chunks_exact(cols)) {
                scale_shift_row(dst, src, scale, shift);
            }
        });
    }
}

for_each_isa! {
    unsafe fn row_moments(src: *const f32, cols: usize) -> (f32, f32) = moments_kernel::<f32>;
}

for_each_isa! {
    unsafe fn layer_norm_rows(
        dst: *mut f32, src: *const f32, rows: usize, cols: usize, gamma: *const f32, beta: *const f32, epsilon: f32,
    ) = layer_norm_kernel::<f32>;
}

/// Runs a block for each vector of a row: `for_each_vector!(V, row, n, fill, |x, i, lanes| block)`, where `x` holds the elements from `i` on; the
/// lanes after the first `lanes` ones are `fill`.
///
/// A macro because a closure would be compiled without the instruction set of the function around it.
///
/// `row` must be readable for `n` elements.
macro_rules! for_each_vector {
    ($v:ident, $row:expr, $n:expr, $fill:expr, |$x:ident, $i:ident, $lanes:ident| $body:block) => {{
        let (row, n): (*const f32, usize) = ($row, $n);
        let mut $i = 0;
        let $lanes = $v::LANES;
        while $i + $v::LANES <= n {
            let $x = $v::load(row.add($i));
            $body
            $i += $v::LANES;
        }
        if $i < n {
            let $lanes = n - $i;
            let $x = $v::load_part_or(row.add($i), $lanes, $fill);
            $body
        }
    }};
}
use for_each_vector;

/// Folds the lanes of a vector with `f`, in halves, and returns the result.
///
/// # Safety
/// The CPU has V's instruction set.
#[inline(always)]
unsafe fn fold_lanes<V: MathVector>(v: V, f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; 16];
    // SAFETY: no vector has more lanes.
    unsafe { v.store(lanes.as_mut_ptr()) };
    let mut half = V::LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = f(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

fn greater_or_nan(a: f32, b: f32) -> f32 {
    if b > a || b.is_nan() { b } else { a }
}

/// # Safety
/// The CPU has V's instruction set; `src` is readable for `cols >= 1` elements.
#[inline(always)]
unsafe fn moments_kernel<V: MathVector>(src: *const f32, cols: usize) -> (f32, f32) {
    // SAFETY: the caller guarantees it.
    unsafe {
        let mut sum = V::zero();
        for_each_vector!(V, src, cols, 0.0, |x, i, _lanes| {
            sum = sum.add(x);
        });
        let mean = sum.sum() / cols as f32;
        let centre = V::splat(mean);
        let mut squares = V::zero();
        for_each_vector!(V, src, cols, mean, |x, i, _lanes| {
            let d = x.sub(centre);
            squares = d.mul_add(d, squares);
        });
        (mean, squares.sum() / cols as f32)
    }
}

/// # Safety
/// The CPU has V's instruction set; `dst` and `src` hold `rows` rows of `cols >= 1`; `gamma` and `beta` are null or
/// hold `cols` elements.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn layer_norm_kernel<V: MathVector>(
    dst: *mut f32,
    src: *const f32,
    rows: usize,
    cols: usize,
    gamma: *const f32,
    beta: *const f32,
    epsilon: f32,
) {
    for row in 0..rows {
        // SAFETY: the row lies inside both; partial loads and stores take as many lanes as the row has left.
        unsafe {
            let (src, dst) = (src.add(row * cols), dst.add(row * cols));
            let (mean, variance) = moments_kernel::<V>(src, cols);
            let scale = V::splat(1.0 / (variance + epsilon).sqrt());
            let mean = V::splat(mean);
            for_each_vector!(V, src, cols, 0.0, |x, i, lanes| {
                let mut y = x.sub(mean).mul(scale);
                if !gamma.is_null() {
                    y = y.mul(V::load_part(gamma.add(i), lanes));
                }
                if !beta.is_null() {
                    y = y.add(V::load_part(beta.add(i), lanes));
                }
                y.store_part(dst.add(i), lanes);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn values(len: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7919) % 1009) as f32 / 100.0 - 5.0).collect()
    }

    pub(super) fn assert_close(got: &[f32], want: &[f64], name: &str) {
        for (i, (g, w)) in got.iter().zip(want).enumerate() {
            let error = (f64::from(*g) - w).abs();
            assert!(error <= 1e-6 + 2e-6 * w.abs(), "{name}: element {i}: {g}, want {w}");
        }
    }

    #[test]
    fn layer_norm_and_moments() {
        for cols in [1, 3, 16, 50, 256] {
            let src = values(4 * cols);
            let (gamma, beta) = (values(cols), values(cols));
            let mut want = vec![];
            let mut want_moments = (vec![], vec![]);
            for row in src.chunks(cols) {
                let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / cols as f64;
                let variance = row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / cols as f64;
                want_moments.0.push(mean);
                want_moments.1.push(variance);
                let scale = 1.0 / (variance + 1e-3).sqrt();
                want.extend((0..cols).map(|c| (f64::from(row[c]) - mean) * scale * f64::from(gamma[c]) + f64::from(beta[c])));
            }
            for isa in Isa::available() {
                let mut dst = vec![f32::NAN; src.len()];
                layer_norm_for(isa, &mut dst, &src, cols, Some(&gamma), Some(&beta), 1e-3);
                assert_close(&dst, &want, "layer_norm");
            }
            let (mut mean, mut variance) = (vec![0.0; 4], vec![0.0; 4]);
            moments(&mut mean, &mut variance, &src, cols);
            assert_close(&mean, &want_moments.0, "mean");
            assert_close(&variance, &want_moments.1, "variance");
        }
    }

    #[test]
    fn scale_and_shift_by_channel() {
        let mut dst = [0.0; 6];
        scale_shift(&mut dst, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 10.0, 0.0], &[0.5, 0.0, 7.0]);
        assert_eq!(dst, [1.5, 20.0, 7.0, 4.5, 50.0, 7.0]);
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let src = values(999 * 70);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let Ok(pool) = pool else { return vec![] };
            pool.install(|| {
                let mut dst = vec![0.0; src.len()];
                softmax(&mut dst, &src, 70);
                let mut norm = vec![0.0; src.len()];
                layer_norm(&mut norm, &src, 70, None, None, 1e-5);
                dst.extend(norm);
                dst
            })
        };
        let one = run(1);
        assert_eq!(one.len(), 2 * src.len());
        for threads in [2, 3, 5] {
            assert!(run(threads) == one);
        }
    }
}
