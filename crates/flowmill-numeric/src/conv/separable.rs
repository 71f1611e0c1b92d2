//! Depthwise convolutions between pointwise ones, computed block by block.
//!
//! The tensors between the convolutions are several times as large as input and output. They are never stored as a whole: the rows that some rows of output
//! need are computed into the cache, used and overwritten. Every element is computed as by the convolutions one after the other, to the bit.

use super::depthwise::depthwise_conv2d;
use crate::gemm::{Epilogue, PackedRhs, gemm_packed, with_scratch};
use crate::parallel;
use crate::window::Window;
use std::ops::Range;

/// The bytes of the tensors between the convolutions that are computed at a time. With the weights, they fit in the second-level caches of usual cores.
const BLOCK_BYTES: usize = 384 << 10;
/// The least number of output rows of a part of an image that a thread computes.
const LEAST_ROWS: usize = 4;

/// A convolution of a window of one position, with what follows it.
#[derive(Clone, Copy, Debug)]
pub struct Pointwise<'a> {
    /// The filter, `[input channels, output channels]`.
    pub filter: &'a PackedRhs,
    /// The functions of its results.
    pub epilogue: Epilogue<'a>,
}

/// A depthwise convolution with a pointwise one in front of it, behind it, or both.
#[derive(Clone, Copy, Debug)]
pub struct Separable<'a> {
    /// The window of the depthwise convolution over its own input, whose channels are the outputs of the expansion.
    pub window: Window,
    /// The number of outputs of each channel.
    pub multiplier: usize,
    /// The convolution in front.
    pub expansion: Option<Pointwise<'a>>,
    /// The depthwise filter, `[height, width, channels, multiplier]`.
    pub filter: &'a [f32],
    /// The bias and the activation of the depthwise convolution.
    pub epilogue: Epilogue<'a>,
    /// The convolution behind.
    pub projection: Option<Pointwise<'a>>,
}

/// Some rows of the output of one image, or all rows of several images.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    images: Range<usize>,
    rows: Range<usize>,
}

impl Separable<'_> {
    /// Returns the number of channels of the input.
    pub fn in_channels(&self) -> usize {
        self.expansion.map_or(self.window.channels, |expansion| expansion.filter.k())
    }

    /// Returns the number of channels of the output.
    pub fn out_channels(&self) -> usize {
        self.projection.map_or(self.depthwise_channels(), |projection| projection.filter.n())
    }

    fn depthwise_channels(&self) -> usize {
        self.window.channels * self.multiplier
    }

    /// Computes the convolutions of NHWC images. Residuals of the projection have the shape of the output.
    ///
    /// # Panics
    /// If a slice is too short, or the sizes of the filters do not fit together.
    pub fn compute(&self, input: &[f32], output: &mut [f32]) {
        self.compute_in_blocks(BLOCK_BYTES, input, output);
    }

    fn compute_in_blocks(&self, block: usize, input: &[f32], output: &mut [f32]) {
        let w = &self.window;
        let (positions, in_channels) = (w.batch * w.in_height * w.in_width, self.in_channels());
        assert!(input.len() >= positions * in_channels, "{} elements of input for {w:?}", input.len());
        assert!(self.expansion.is_none_or(|expansion| expansion.filter.n() == w.channels), "an expansion to other channels than {w:?}");
        assert!(
            self.projection.is_none_or(|projection| projection.filter.k() == self.depthwise_channels()),
            "a projection of other channels"
        );
        let output = &mut output[..w.positions() * self.out_channels()];
        if output.is_empty() {
            return;
        }
        let Some(parts) = self.parts(block, parallel::threads()) else { return self.compute_whole(0..w.batch, input, output) };
        let row_len = w.out_width * self.out_channels();
        parallel::parts(output, parts.iter().map(|part| part.images.len() * part.rows.len() * row_len), |i, output| {
            parallel::alone(|| self.compute_part(block, &parts[i], input, output));
        });
    }

    /// Returns the bytes between the convolutions for an image of which this many output rows are computed.
    fn bytes_between(&self, rows: usize) -> usize {
        let w = &self.window;
        let expanded = if self.expansion.is_some() { self.rows_of(rows) * w.in_width * w.channels } else { 0 };
        let depthwise = if self.projection.is_some() { rows * w.out_width * self.depthwise_channels() } else { 0 };
        size_of::<f32>() * (expanded + depthwise)
    }

    /// Returns the input rows that this many output rows need at most.
    fn rows_of(&self, rows: usize) -> usize {
        let w = &self.window;
        (rows.saturating_sub(1) * w.stride_height + (w.height - 1) * w.dilation_height + 1).min(w.in_height)
    }

    /// Returns the parts for a number of threads: groups of images, or parts of images. `None` means that all fits in a block.
    fn parts(&self, block: usize, threads: usize) -> Option<Vec<Part>> {
        let w = &self.window;
        let of_image = self.bytes_between(w.out_height).max(1);
        let is_small = w.batch.saturating_mul(of_image) <= block;
        // A window that lies wholly in the padding has no rows of its own.
        let has_empty_windows = (0..w.out_height).any(|y| w.rows_inside(y).is_empty());
        if is_small || has_empty_windows || (w.batch < threads && of_image <= block) {
            return None;
        }
        if of_image <= block {
            let each = (block / of_image).min(w.batch.div_ceil(threads)).max(1);
            let group = |first: usize| Part { images: first..(first + each).min(w.batch), rows: 0..w.out_height };
            return Some((0..w.batch).step_by(each).map(group).collect());
        }
        let per_image = self.parts_of_image(threads)?;
        let of_image = |image: usize| {
            (0..per_image).map(move |i| Part { images: image..image + 1, rows: parallel::piece(w.out_height, per_image, i) })
        };
        Some((0..w.batch).flat_map(of_image).collect())
    }

    /// Returns the least number of parts of an image that give each thread as much to do; `None` if images are too small to be divided so.
    fn parts_of_image(&self, threads: usize) -> Option<usize> {
        let w = &self.window;
        if w.batch >= 4 * threads {
            return Some(1);
        }
        // Each part expands rows that its neighbour expands, too: at most a fourth of its own.
        let shared = ((w.height - 1) * w.dilation_height + 1).saturating_sub(w.stride_height);
        let again = if self.expansion.is_some() { 4 * shared / w.stride_height } else { 0 };
        let parts = (1..=threads).find(|parts| (w.batch * parts).is_multiple_of(threads))?;
        (parts == 1 || parts <= w.out_height / LEAST_ROWS.max(again)).then_some(parts)
    }

    /// Computes one part into its slice of the output.
    fn compute_part(&self, block: usize, part: &Part, input: &[f32], output: &mut [f32]) {
        let w = &self.window;
        let row_len = w.out_width * self.out_channels();
        if part.images.len() > 1 || part.rows.len() == w.out_height && self.bytes_between(w.out_height) <= block {
            return self.compute_whole(part.images.clone(), input, output);
        }
        let mut at_once = part.rows.len();
        while at_once > 1 && self.bytes_between(at_once) > block {
            at_once -= 1;
        }
        let line = w.in_width * w.channels;
        let expanded_len = if self.expansion.is_some() { self.rows_of(at_once) * line } else { 0 };
        let depthwise_len = if self.projection.is_some() { at_once * w.out_width * self.depthwise_channels() } else { 0 };
        with_scratch(expanded_len + depthwise_len, |scratch: &mut [f32]| {
            let (expanded, depthwise) = scratch.split_at_mut(expanded_len);
            let mut held = 0..0;
            for (i, output) in output.chunks_mut(at_once * row_len).enumerate() {
                let first = part.rows.start + i * at_once;
                let rows = first..first + output.len() / row_len;
                let needed = self.input_rows(&rows);
                let image = part.images.start;
                let images = &input[image * w.in_height * w.in_width * self.in_channels()..];
                if let Some(expansion) = &self.expansion {
                    // Rows of the block before that this one needs, too.
                    let kept = held.end.clamp(needed.start, needed.end);
                    if kept > needed.start {
                        expanded.copy_within((needed.start - held.start) * line..(kept - held.start) * line, 0);
                    }
                    expand(expansion, w.in_width, images, kept..needed.end, &mut expanded[(kept - needed.start) * line..]);
                }
                held = needed.clone();
                let window = Window {
                    batch: 1,
                    in_height: needed.len(),
                    pad_top: w.pad_top + needed.start - rows.start * w.stride_height,
                    out_height: rows.len(),
                    ..*w
                };
                let source = if self.expansion.is_some() { &expanded[..] } else { &images[needed.start * line..] };
                let first_position = (image * w.out_height + rows.start) * w.out_width;
                self.finish(&window, source, depthwise, first_position, output);
            }
        });
    }

    /// Computes whole images, one convolution after the other.
    fn compute_whole(&self, images: Range<usize>, input: &[f32], output: &mut [f32]) {
        let w = Window { batch: images.len(), ..self.window };
        let positions = w.batch * w.in_height * w.in_width;
        let expanded_len = if self.expansion.is_some() { positions * w.channels } else { 0 };
        let depthwise_len = if self.projection.is_some() { w.positions() * self.depthwise_channels() } else { 0 };
        let input = &input[images.start * w.in_height * w.in_width * self.in_channels()..];
        let first_position = images.start * w.out_height * w.out_width;
        with_scratch(expanded_len + depthwise_len, |scratch: &mut [f32]| {
            let (expanded, depthwise) = scratch.split_at_mut(expanded_len);
            if let Some(expansion) = &self.expansion {
                expand(expansion, w.in_width, input, 0..w.batch * w.in_height, expanded);
            }
            let source = if self.expansion.is_some() { &expanded[..] } else { input };
            self.finish(&w, source, depthwise, first_position, output);
        });
    }

    /// Computes the depthwise convolution and the one behind it. `first` is the number of the output's first position.
    fn finish(&self, window: &Window, source: &[f32], between: &mut [f32], first: usize, output: &mut [f32]) {
        let Some(projection) = &self.projection else {
            return depthwise_conv2d(window, self.multiplier, source, self.filter, output, &self.epilogue);
        };
        depthwise_conv2d(window, self.multiplier, source, self.filter, between, &self.epilogue);
        let epilogue = projection.epilogue.from_row(first);
        let (k, n) = (projection.filter.k(), projection.filter.n());
        gemm_packed(between, k, window.positions(), projection.filter, output, n, &epilogue);
    }

    /// Returns the input rows that windows of these output rows cover.
    fn input_rows(&self, rows: &Range<usize>) -> Range<usize> {
        let w = &self.window;
        let start = (rows.start * w.stride_height).saturating_sub(w.pad_top);
        let end = (rows.end - 1) * w.stride_height + (w.height - 1) * w.dilation_height + 1;
        start..end.saturating_sub(w.pad_top).min(w.in_height)
    }
}

/// Computes rows of images of a width into `output`.
fn expand(expansion: &Pointwise<'_>, width: usize, images: &[f32], rows: Range<usize>, output: &mut [f32]) {
    let (k, n) = (expansion.filter.k(), expansion.filter.n());
    gemm_packed(&images[rows.start * width * k..], k, rows.len() * width, expansion.filter, output, n, &expansion.epilogue);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::tests::{values, windows};
    use super::*;
    use crate::gemm::{Activation, Precision};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Blocks of any size on any number of threads compute what the convolutions compute one after the other.
        #[test]
        fn blocks_compute_what_the_convolutions_do(
            w in windows(),
            (expands, projects, multiplier) in (any::<bool>(), any::<bool>(), 1usize..3),
            (inputs, outputs) in (1usize..7, 1usize..40),
            block in prop_oneof![Just(0usize), Just(600), Just(3000), Just(usize::MAX)],
            threads in 1usize..4,
            precision in prop_oneof![Just(Precision::F32), Just(Precision::Bf16)],
            seed in any::<u64>(),
        ) {
            let inputs = if expands { inputs } else { w.channels };
            let between = w.channels * multiplier;
            let outputs = if projects { outputs } else { between };
            let input = values(seed, w.batch * w.in_height * w.in_width * inputs);
            let residual = values(seed + 1, w.positions() * outputs);
            let biases = values(seed + 2, 100);
            let expansion = PackedRhs::pack(precision, &values(seed + 3, inputs * w.channels), inputs, w.channels, false);
            let filter = values(seed + 4, w.height * w.width * between);
            let projection = PackedRhs::pack(precision, &values(seed + 5, between * outputs), between, outputs, false);
            let relu = Epilogue::bias_activation(Some(&biases), Activation::Relu);
            let added = Epilogue { residual: Some((&residual, outputs)), ..relu };
            let separable = Separable {
                window: w,
                multiplier,
                expansion: expands.then_some(Pointwise { filter: &expansion, epilogue: relu }),
                filter: &filter,
                epilogue: relu,
                projection: projects.then_some(Pointwise { filter: &projection, epilogue: added }),
            };
            let mut expanded = vec![0.0; w.batch * w.in_height * w.in_width * w.channels];
            if expands {
                gemm_packed(&input, inputs, w.batch * w.in_height * w.in_width, &expansion, &mut expanded, w.channels, &relu);
            } else {
                expanded.copy_from_slice(&input);
            }
            let mut expected = vec![0.0; w.positions() * between];
            depthwise_conv2d(&w, multiplier, &expanded, &filter, &mut expected, &relu);
            if projects {
                let depthwise = std::mem::replace(&mut expected, vec![0.0; w.positions() * outputs]);
                gemm_packed(&depthwise, between, w.positions(), &projection, &mut expected, outputs, &added);
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut output = vec![f32::NAN; expected.len()];
            pool.install(|| separable.compute_in_blocks(block, &input, &mut output));
            prop_assert_eq!(output, expected);
        }
    }
}
