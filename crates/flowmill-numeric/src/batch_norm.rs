//! Batch normalisation of rows of channels, and its gradient.
//!
//! Sums over rows are those of blocks, whose size depends on the shape alone, so that results do not depend on the number of threads. Few rows at a time are
//! summed in `f32`, and these sums in `f64`.

use crate::parallel;
use std::ops::Range;

/// The number of elements that one task processes.
const GRAIN: usize = 1 << 15;
/// The most blocks of rows that are summed by themselves.
const MAX_BLOCKS: usize = 64;
/// The number of rows that are summed in `f32`.
const ROWS_AT_ONCE: usize = 32;
/// The most rows of which the means are close to those of all rows.
const SAMPLED_ROWS: usize = 64;
/// Rows of fewer channels are processed several at a time, as one row.
const MIN_WIDTH: usize = 64;

crate::dispatch! {
    fn add_rows(x: &[f32], sums: &mut [f32]) {
        for x in x.chunks(sums.len()) {
            for (sum, x) in sums.iter_mut().zip(x) {
                *sum += x;
            }
        }
    }

    fn add_squares(x: &[f32], means: &[f32], squares: &mut [f32]) {
        for x in x.chunks(squares.len()) {
            for ((square, x), mean) in squares.iter_mut().zip(x).zip(means) {
                *square += (x - mean) * (x - mean);
            }
        }
    }

    fn add_deviations(x: &[f32], pivots: &[f32], deviations: &mut [f32], squares: &mut [f32]) {
        for x in x.chunks(squares.len()) {
            for (((deviation, square), x), pivot) in deviations.iter_mut().zip(&mut *squares).zip(x).zip(pivots) {
                let d = x - pivot;
                *deviation += d;
                *square += d * d;
            }
        }
    }

    fn add_products(dy: &[f32], x: &[f32], means: &[f32], sums: &mut [f32], products: &mut [f32]) {
        for (dy, x) in dy.chunks(sums.len()).zip(x.chunks(sums.len())) {
            for ((((sum, product), dy), x), mean) in sums.iter_mut().zip(&mut *products).zip(dy).zip(x).zip(means) {
                *sum += dy;
                *product += dy * (x - mean);
            }
        }
    }

    fn scale_rows(x: &[f32], scale: &[f32], offset: &[f32], out: &mut [f32]) {
        for (out, x) in out.chunks_mut(scale.len()).zip(x.chunks(scale.len())) {
            for (((out, x), scale), offset) in out.iter_mut().zip(x).zip(scale).zip(offset) {
                *out = x * scale + offset;
            }
        }
    }

    fn gradient_rows(dy: &[f32], x: &[f32], f: &Factors, dx: &mut [f32]) {
        let width = f.of_dy.len();
        for ((dx, dy), x) in dx.chunks_mut(width).zip(dy.chunks(width)).zip(x.chunks(width)) {
            let factors = f.of_dy.iter().zip(&f.of_x).zip(&f.means).zip(&f.constants);
            for (((dx, dy), x), (((of_dy, of_x), mean), constant)) in dx.iter_mut().zip(dy).zip(x).zip(factors) {
                *dx = dy * of_dy + (x - mean) * of_x + constant;
            }
        }
    }
}

/// The gradient of an element: `dy * of_dy + (x - means) * of_x + constants`, one value of each per channel.
struct Factors {
    of_dy: Vec<f32>,
    of_x: Vec<f32>,
    means: Vec<f32>,
    constants: Vec<f32>,
}

/// Returns the number of elements, of one row or of several short ones, that are processed as one row.
fn width(channels: usize) -> usize {
    MIN_WIDTH.div_ceil(channels.max(1)) * channels.max(1)
}

/// Returns the values of the channels, one row after the other, for all elements that are processed as one row.
fn repeated(values: &[f32]) -> Vec<f32> {
    let values = if values.is_empty() { &[0.0] } else { values };
    values.repeat(width(values.len()) / values.len())
}

/// Returns sums of `N` kinds for each of `channels`. `add` adds those of a range of elements to a slice of several rows of channels per kind.
fn sums<const N: usize>(len: usize, channels: usize, add: impl Fn(Range<usize>, [&mut [f32]; N]) + Sync) -> [Vec<f64>; N] {
    let width = width(channels);
    let rows = len.div_ceil(width);
    let block = (GRAIN / width).max(rows.div_ceil(MAX_BLOCKS)).max(1) * width;
    let mut blocks = vec![0f64; len.div_ceil(block) * N * width];
    parallel::chunks(&mut blocks, N * width, |i, block_sums| {
        let mut part = vec![0f32; N * width];
        let end = len.min((i + 1) * block);
        for start in (i * block..end).step_by(ROWS_AT_ONCE * width) {
            part.fill(0.0);
            let mut kinds = part.chunks_exact_mut(width);
            add(start..end.min(start + ROWS_AT_ONCE * width), std::array::from_fn(|_| kinds.next().unwrap_or_default()));
            block_sums.iter_mut().zip(&part).for_each(|(sum, &part)| *sum += f64::from(part));
        }
    });
    std::array::from_fn(|kind| {
        let mut sums = vec![0f64; channels];
        for block in blocks.chunks_exact(N * width) {
            for row in block[kind * width..][..width].chunks(channels.max(1)) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
        }
        sums
    })
}

fn num_rows(x: &[f32], channels: usize) -> f64 {
    (x.len() / channels.max(1)).max(1) as f64
}

/// Returns the means of some rows, spread over all of them.
fn sampled_means(x: &[f32], channels: usize) -> Vec<f32> {
    let mut sums = vec![0.0; channels];
    let rows = x.len() / channels.max(1);
    let step = rows.div_ceil(SAMPLED_ROWS).max(1);
    for row in (0..rows).step_by(step) {
        add_rows(&x[row * channels..][..channels], &mut sums);
    }
    let sampled = rows.div_ceil(step).max(1) as f32;
    sums.iter().map(|sum| sum / sampled).map(|mean| if mean.is_finite() { mean } else { 0.0 }).collect()
}

/// Returns the mean and the variance, that of a population, of each channel of `x: [.., channels]`.
///
/// One pass sums deviations from the means of some rows, and their squares. If these means are so far from those of all rows that the variance would be the
/// difference of large numbers, a second pass sums the squares of deviations from the means.
pub fn moments(x: &[f32], channels: usize) -> (Vec<f32>, Vec<f32>) {
    let rows = num_rows(x, channels);
    let pivots = sampled_means(x, channels);
    let repeated_pivots = repeated(&pivots);
    let [deviations, squares] = sums(x.len(), channels, |range, [deviations, squares]| {
        add_deviations(&x[range], &repeated_pivots, deviations, squares);
    });
    let shifts: Vec<f64> = deviations.iter().map(|sum| sum / rows).collect();
    let variances: Vec<f64> = squares.iter().zip(&shifts).map(|(square, shift)| square / rows - shift * shift).collect();
    let means: Vec<f32> = pivots.iter().zip(&shifts).map(|(pivot, shift)| (f64::from(*pivot) + shift) as f32).collect();
    if shifts.iter().zip(&variances).all(|(shift, variance)| shift * shift <= *variance) {
        return (means, variances.iter().map(|variance| *variance as f32).collect());
    }
    let repeated_means = repeated(&means);
    let [squares] = sums(x.len(), channels, |range, [squares]| add_squares(&x[range], &repeated_means, squares));
    (means, squares.iter().map(|square| (square / rows) as f32).collect())
}

/// Computes `out[.., c] = x[.., c] * scale[c] + offset[c]`.
///
/// # Panics
/// If `x` is shorter than `out`.
pub fn scale_and_shift(x: &[f32], scale: &[f32], offset: &[f32], out: &mut [f32]) {
    let (scale, offset) = (repeated(scale), repeated(offset));
    let at_once = GRAIN.div_ceil(scale.len()) * scale.len();
    parallel::chunks(out, at_once, |i, out| scale_rows(&x[i * at_once..], &scale, &offset, out));
}

/// The inputs of [`gradient`] that have one value per channel.
#[derive(Clone, Copy, Debug)]
pub struct Statistics<'a> {
    /// The factors that scaled the normalised values.
    pub scale: &'a [f32],
    /// The means that were subtracted.
    pub mean: &'a [f32],
    /// One over the standard deviations.
    pub inverse: &'a [f32],
    /// True if the means and deviations are those of `x`, which depend on it.
    pub of_batch: bool,
}

/// Overwrites `dx` with the gradient of the input `x: [.., channels]`, and returns the gradients of scale and offset.
///
/// # Panics
/// If a slice is too short.
pub fn gradient(dy: &[f32], x: &[f32], statistics: &Statistics<'_>, dx: &mut [f32]) -> (Vec<f32>, Vec<f32>) {
    let Statistics { scale, mean, inverse, of_batch } = *statistics;
    let (channels, rows) = (scale.len(), num_rows(x, scale.len()));
    let means = repeated(mean);
    let [totals, products] = sums(x.len(), channels, |range, [sums, products]| {
        add_products(&dy[range.clone()], &x[range], &means, sums, products);
    });
    let products: Vec<f64> = products.iter().zip(inverse).map(|(product, &inverse)| product * f64::from(inverse)).collect();
    let of_dy: Vec<f32> = scale.iter().zip(inverse).map(|(scale, inverse)| scale * inverse).collect();
    let of_batch = if of_batch { 1.0 } else { 0.0 };
    let of_x = |c: usize| -f64::from(of_dy[c]) * f64::from(inverse[c]) * products[c] / rows * of_batch;
    let constant = |c: usize| -f64::from(of_dy[c]) * totals[c] / rows * of_batch;
    let vector = |value: &dyn Fn(usize) -> f64| repeated(&(0..channels).map(|c| value(c) as f32).collect::<Vec<f32>>());
    let factors = Factors { of_x: vector(&of_x), constants: vector(&constant), means, of_dy: repeated(&of_dy) };
    let width = factors.of_dy.len();
    let at_once = GRAIN.div_ceil(width) * width;
    parallel::chunks(dx, at_once, |i, dx| gradient_rows(&dy[i * at_once..], &x[i * at_once..], &factors, dx));
    (products.iter().map(|&p| p as f32).collect(), totals.iter().map(|&s| s as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7919 + seed * 104_729) % 1009) as f32 / 252.0 - 2.0).collect()
    }

    fn check(found: &[f32], expected: impl Fn(usize) -> f64) {
        for (i, &found) in found.iter().enumerate() {
            let expected = expected(i);
            assert!((f64::from(found) - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{i}: {found} and {expected}");
        }
    }

    #[test]
    fn sums_and_gradients_equal_plain_loops() {
        for (rows, channels) in [(1, 1), (7, 3), (1000, 5), (333, 64), (70, 130), (5000, 17), (1, 300), (4, 0)] {
            let (x, dy) = (values(rows * channels, 1), values(rows * channels, 2));
            let column =
                |x: &[f32], c: usize, f: &dyn Fn(f64) -> f64| x.iter().skip(c).step_by(channels).map(|&v| f(v.into())).sum::<f64>();
            let (means, variances) = moments(&x, channels);
            check(&means, |c| column(&x, c, &|v| v) / rows as f64);
            check(&variances, |c| column(&x, c, &|v| (v - f64::from(means[c])).powi(2)) / rows as f64);
            let scale = values(channels, 3);
            let inverse: Vec<f32> = variances.iter().map(|v| 1.0 / (v + 0.1).sqrt()).collect();
            for of_batch in [false, true] {
                let mut dx = vec![f32::NAN; x.len()];
                let statistics = Statistics { scale: &scale, mean: &means, inverse: &inverse, of_batch };
                let (of_scale, of_offset) = gradient(&dy, &x, &statistics, &mut dx);
                let normal = |i: usize| f64::from(x[i] - means[i % channels]) * f64::from(inverse[i % channels]);
                let product = |c: usize| (c..x.len()).step_by(channels).map(|i| f64::from(dy[i]) * normal(i)).sum::<f64>();
                check(&of_scale, product);
                check(&of_offset, |c| column(&dy, c, &|v| v));
                check(&dx, |i| {
                    let c = i % channels;
                    let mean = (column(&dy, c, &|v| v) + normal(i) * product(c)) / rows as f64;
                    f64::from(scale[c]) * f64::from(inverse[c]) * (f64::from(dy[i]) - if of_batch { mean } else { 0.0 })
                });
            }
            let mut out = vec![f32::NAN; x.len()];
            scale_and_shift(&x, &scale, &means, &mut out);
            check(&out, |i| f64::from(x[i] * scale[i % channels] + means[i % channels]));
        }
        assert_eq!(moments(&[], 3), (vec![0.0; 3], vec![0.0; 3]));
        assert_eq!(moments(&[], 0), (vec![], vec![]));
    }

    #[test]
    fn moments_far_from_zero_and_from_the_sampled_rows() {
        let (rows, channels) = (6400, 3);
        // Of the channels, one is constant, one has a small deviation around a large mean, and one is large in every hundredth row, the rows of the sample.
        let x: Vec<f32> = (0..rows)
            .flat_map(|row| {
                let near = 1000.0 + (row * 7919 % 101) as f32 / 128.0;
                let rare = if row % 100 == 0 { 4096.0 } else { (row % 2) as f32 / 4.0 };
                [0.3, near, rare]
            })
            .collect();
        let (means, variances) = moments(&x, channels);
        let column = |c: usize| x.iter().skip(c).step_by(channels).map(|&v| f64::from(v));
        for c in 0..channels {
            let mean = column(c).sum::<f64>() / rows as f64;
            let variance = column(c).map(|v| (v - mean).powi(2)).sum::<f64>() / rows as f64;
            assert!((f64::from(means[c]) - mean).abs() <= 1e-6 * mean, "mean {c}: {} and {mean}", means[c]);
            assert!((f64::from(variances[c]) - variance).abs() <= 1e-5 * variance + 1e-12, "variance {c}: {} and {variance}", variances[c]);
        }
        let (means, _) = moments(&[f32::INFINITY, 1.0, 2.0, 3.0], 2);
        assert_eq!(means, [f32::INFINITY, 2.0]);
    }
}
