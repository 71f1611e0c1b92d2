//! Interpolation between the pixels of NHWC images.

use num_traits::AsPrimitive;

/// The two input pixels between which an output pixel lies, and its relative distance from the first.
#[derive(Clone, Copy)]
pub struct Between {
    /// The pixel before.
    pub lower: usize,
    /// The pixel after; the pixel before if there is none.
    pub upper: usize,
    /// The distance from the first, relative to the distance between the two.
    pub lerp: f32,
}

/// The number of channels from which those of a pixel are computed side by side.
const WIDE_PIXEL: usize = 8;

crate::dispatch! {
    /// Computes one row of the output from the rows above and below it, which are `lerp` of their distance apart from it.
    pub fn bilinear_row<'a, T>(row: &mut [f32], top: &'a [T], bottom: &'a [T], channels: usize, columns: &[Between], lerp: f32) where [T: AsPrimitive<f32>] {
        for (pixel, x) in row.chunks_exact_mut(channels).zip(columns) {
            let mix = |left: T, right: T| -> f32 {
                let (left, right): (f32, f32) = (left.as_(), right.as_());
                left + (right - left) * x.lerp
            };
            let (left, right) = (x.lower * channels, x.upper * channels);
            if channels < WIDE_PIXEL {
                for (c, out) in pixel.iter_mut().enumerate() {
                    let (top, bottom) = (mix(top[left + c], top[right + c]), mix(bottom[left + c], bottom[right + c]));
                    *out = top + (bottom - top) * lerp;
                }
            } else {
                let pairs = |line: &'a [T]| line[left..left + channels].iter().zip(&line[right..right + channels]);
                for ((out, (a, b)), (c, d)) in pixel.iter_mut().zip(pairs(top)).zip(pairs(bottom)) {
                    let (top, bottom) = (mix(*a, *b), mix(*c, *d));
                    *out = top + (bottom - top) * lerp;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_depth_are_interpolated() {
        let columns = [(0, 0, 0.25), (0, 1, 0.5), (2, 1, 0.0), (1, 2, 0.875)].map(|(lower, upper, lerp)| Between { lower, upper, lerp });
        for channels in [1, 3, 7, 8, 13, 40] {
            let top: Vec<f32> = (0..3 * channels).map(|i| 1.0 / (i as f32 + 0.3)).collect();
            let bottom: Vec<f32> = top.iter().map(|x| x * -3.7).collect();
            let mut got = vec![f32::NAN; 4 * channels];
            bilinear_row(&mut got, &top, &bottom, channels, &columns, 0.3);
            for (i, got) in got.iter().enumerate() {
                let (x, c) = (columns[i / channels], i % channels);
                let mix = |line: &[f32]| {
                    let (left, right) = (line[x.lower * channels + c], line[x.upper * channels + c]);
                    left + (right - left) * x.lerp
                };
                let want = mix(&top) + (mix(&bottom) - mix(&top)) * 0.3;
                assert_eq!(got.to_bits(), want.to_bits(), "element {i} of {channels} channels");
            }
        }
    }
}
