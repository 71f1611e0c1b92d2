//! Local response normalisation.

crate::dispatch! {
    /// Computes `bias + alpha * sum` for each channel of a pixel, where `sum` is that of the squares of the channels within `radius` of it. `squares` has
    /// `radius` elements more than the pixel on each side, which are zero.
    pub fn norms_of_pixel(pixel: &[f32], radius: usize, bias: f32, alpha: f32, squares: &mut [f32], norms: &mut [f32]) {
        for (square, x) in squares[radius..].iter_mut().zip(pixel) {
            *square = x * x;
        }
        // The squares around a channel are added in the order of the channels.
        norms.fill(0.0);
        for first in 0..=2 * radius {
            for (sum, square) in norms.iter_mut().zip(&squares[first..]) {
                *sum += square;
            }
        }
        for norm in norms {
            *norm = bias + alpha * *norm;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_added_in_the_order_of_the_channels() {
        for (depth, radius) in [(1, 0), (1, 3), (7, 1), (37, 5), (5, 9), (130, 2)] {
            let pixel: Vec<f32> = (0..depth).map(|i| 1.0 / (i as f32 - 2.3)).collect();
            let (mut squares, mut norms) = (vec![0.0; depth + 2 * radius], vec![f32::NAN; depth]);
            norms_of_pixel(&pixel, radius, 0.7, 1.3, &mut squares, &mut norms);
            for (c, norm) in norms.iter().enumerate() {
                let around = &pixel[c.saturating_sub(radius)..depth.min(c + radius + 1)];
                let want = 0.7 + 1.3 * around.iter().map(|x| x * x).sum::<f32>();
                assert_eq!(norm.to_bits(), want.to_bits(), "channel {c} of {depth}, radius {radius}");
            }
        }
    }
}
