//! Local response normalisation: sums over windows of channels.

/// The number of channels whose sums are in registers at once.
const BLOCK: usize = 32;
/// Half of these channels.
const HALF: usize = BLOCK / 2;

/// The channels around each channel of a pixel.
#[derive(Clone, Copy)]
pub struct Window {
    depth: usize,
    radius: usize,
}

impl Window {
    /// The window of the channels at most `radius` from each of `depth` ones; `depth` is not zero.
    #[must_use]
    pub fn new(depth: usize, radius: usize) -> Window {
        Window { depth, radius: radius.min(depth - 1) }
    }

    /// Returns zeros for the channels of a pixel and for what windows and blocks read outside of it.
    fn padded(self) -> Vec<f32> {
        vec![0.0; self.depth.next_multiple_of(BLOCK) + 2 * self.radius]
    }

    /// Stores `values`, one for each channel.
    #[inline(always)]
    fn store(self, padded: &mut [f32], values: impl Iterator<Item = f32>) {
        for (to, value) in padded[self.radius..][..self.depth].iter_mut().zip(values) {
            *to = value;
        }
    }

    /// Returns the sums of the windows of a block of channels. The values of each are added in the order of the channels.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    fn sums(self, padded: &[f32], block: usize) -> [f32; BLOCK] {
        // Half a block at a time stays in registers.
        let mut sums = [0.0; BLOCK];
        for (half, sums) in sums.as_chunks_mut::<HALF>().0.iter_mut().enumerate() {
            let values = &padded[block * BLOCK + half * HALF..][..2 * self.radius + HALF];
            for from in 0..=2 * self.radius {
                let Some(values) = values[from..].first_chunk::<HALF>() else { break };
                for l in 0..HALF {
                    sums[l] += values[l];
                }
            }
        }
        sums
    }
}

crate::dispatch! {
    /// Computes `bias + alpha * sum` for each channel of some pixels, where `sum` is that of the squares in the channel's window.
    pub fn norms(window: Window, bias: f32, alpha: f32, x: &[f32], norms: &mut [f32]) {
        let mut squares = window.padded();
        for (x, norms) in x.chunks_exact(window.depth).zip(norms.chunks_exact_mut(window.depth)) {
            window.store(&mut squares, x.iter().map(|x| x * x));
            for (block, norms) in norms.chunks_mut(BLOCK).enumerate() {
                for (norm, sum) in norms.iter_mut().zip(window.sums(&squares, block)) {
                    *norm = bias + alpha * sum;
                }
            }
        }
    }

    /// Computes the gradient by `x` of `y = x * scale`, where `scale` is `norm^-beta`: `scale * g + x * sum`, where `sum` is that of
    /// `-2 * alpha * beta * g * y / norm` in the channel's window. `factor` is `-2 * alpha * beta`, and `values` are `g`, `x`, `y`, norms and scales.
    pub fn gradient(window: Window, factor: f32, values: [&[f32]; 5], out: &mut [f32]) {
        let (mut shares, depth) = (window.padded(), window.depth);
        for (at, out) in out.chunks_exact_mut(depth).enumerate() {
            let [g, x, y, norms, scales] = values.map(|values| &values[at * depth..][..depth]);
            window.store(&mut shares, g.iter().zip(y).zip(norms).map(|((g, y), norm)| factor * y / norm * g));
            for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                let [g, x, scales] = [g, x, scales].map(|values| &values[block * BLOCK..][..out.len()]);
                for (((out, sum), x), (scale, g)) in out.iter_mut().zip(window.sums(&shares, block)).zip(x).zip(scales.iter().zip(g)) {
                    *out = scale * g + x * sum;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [(usize, usize); 7] = [(1, 0), (1, 3), (7, 1), (37, 5), (5, 9), (64, 4), (130, 2)];

    fn around(c: usize, depth: usize, radius: usize) -> std::ops::Range<usize> {
        c.saturating_sub(radius)..depth.min(c + radius + 1)
    }

    #[test]
    fn squares_are_added_in_the_order_of_the_channels() {
        for (depth, radius) in SIZES {
            let pixels: Vec<f32> = (0..3 * depth).map(|i| 1.0 / (i as f32 - 2.3)).collect();
            let mut found = vec![f32::NAN; pixels.len()];
            norms(Window::new(depth, radius), 0.7, 1.3, &pixels, &mut found);
            for (i, norm) in found.iter().enumerate() {
                let pixel = &pixels[i - i % depth..][..depth];
                let want = 0.7 + 1.3 * pixel[around(i % depth, depth, radius)].iter().map(|x| x * x).sum::<f32>();
                assert_eq!(norm.to_bits(), want.to_bits(), "element {i} of depth {depth}, radius {radius}");
            }
        }
    }

    #[test]
    fn gradients_are_those_of_small_differences() {
        let (bias, alpha, beta) = (0.9, 0.2, 0.6);
        let normalized = |x: &[f64], radius: usize, depth: usize| -> Vec<f64> {
            let norm = |i: usize| bias + alpha * x[i - i % depth..][around(i % depth, depth, radius)].iter().map(|x| x * x).sum::<f64>();
            (0..x.len()).map(|i| x[i] * norm(i).powf(-beta)).collect()
        };
        for (depth, radius) in SIZES {
            let len = 2 * depth;
            let x: Vec<f64> = (0..len).map(|i| f64::from(((i * 7 % 23) as f32 - 11.0) / 9.0)).collect();
            let g: Vec<f64> = (0..len).map(|i| f64::from(((i * 5 % 17) as f32 - 8.0) / 6.0)).collect();
            let single = |values: &[f64]| -> Vec<f32> { values.iter().map(|&x| x as f32).collect() };
            let y = normalized(&x, radius, depth);
            let mut norm = vec![0.0; len];
            norms(Window::new(depth, radius), bias as f32, alpha as f32, &single(&x), &mut norm);
            let scale: Vec<f32> = norm.iter().map(|norm| norm.powf(-beta as f32)).collect();
            let mut found = vec![f32::NAN; len];
            let values = [&single(&g)[..], &single(&x), &single(&y), &norm, &scale];
            gradient(Window::new(depth, radius), (-2.0 * alpha * beta) as f32, values, &mut found);
            for i in 0..len {
                let step = 1e-5;
                let [less, more] = [-step, step].map(|step| {
                    let mut x = x.clone();
                    x[i] += step;
                    normalized(&x, radius, depth).iter().zip(&g).map(|(y, g)| y * g).sum::<f64>()
                });
                let want = (more - less) / (2.0 * step);
                assert!(
                    (f64::from(found[i]) - want).abs() < 1e-4,
                    "element {i} of depth {depth}, radius {radius}: {} and {want}",
                    found[i]
                );
            }
        }
    }
}
