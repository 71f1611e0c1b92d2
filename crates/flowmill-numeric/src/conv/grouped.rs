//! Convolutions of few output channels in a group, computed group by group without copies of patches. A convolution without groups is one of a single group.
//!
//! Few output channels are few columns for a matrix product: copies of its patches would take as long as their products. Here a register holds a vector of a group's
//! output channels at one position, and several positions share each vector of weights. Patches are read in place, from images that are copied with their
//! padding where windows reach into it.

use super::padding::for_bands;
use super::runs::Run;
use crate::gemm::{Buffer, Epilogue};
use crate::parallel;
use crate::simd::vector::Vector;
use crate::simd::{Isa, for_each_isa};
use crate::window::Window;
use std::fmt;

/// The numbers of positions that a kernel computes at a time.
const POSITIONS: [usize; 4] = [1, 4, 7, 14];
/// The most positions on a processor with 16 vector registers, where 14 sums are spilled.
const FEW_POSITIONS: usize = 7;
/// Elements of a copy of padded rows: a part of a core's L2 cache.
const BAND_ELEMENTS: usize = 1 << 16;
/// The approximate number of multiply-adds of one core per nanosecond.
const SPEED: usize = 40;
/// The most output channels of a group: more are columns enough for a product.
const MAX_OUTPUTS: usize = 16;

/// Returns true if groups have few output channels.
pub(super) fn can_compute(out_channels: usize, groups: usize) -> bool {
    out_channels / groups <= MAX_OUTPUTS
}

/// A filter in vectors of output channels: `[groups, vectors, height, width, channels / groups, lanes]`.
#[derive(Clone)]
pub(super) struct Filter {
    isa: Isa,
    groups: usize,
    /// Input and output channels of a group.
    depth: usize,
    outputs: usize,
    weights: Buffer<f32>,
}

impl Filter {
    /// Rearranges an HWIO filter of `taps` positions.
    pub(super) fn new(isa: Isa, filter: &[f32], taps: usize, depth: usize, out_channels: usize, groups: usize) -> Filter {
        let outputs = out_channels / groups;
        // Half a vector takes as long as a whole one, and stores behind masks take longer.
        let isa = if outputs <= Isa::Avx2.lanes() { isa.min(Isa::Avx2) } else { isa };
        let lanes = isa.lanes();
        let firsts = (0..groups).flat_map(|group| (0..outputs).step_by(lanes).map(move |n| (group * outputs, n)));
        let vectors = firsts.map(|(group, n)| group + n..group + outputs.min(n + lanes));
        let mut weights = Buffer::zeroed(groups * outputs.next_multiple_of(lanes) * taps * depth);
        let rows = vectors.flat_map(|channels| filter.chunks_exact(out_channels).take(taps * depth).map(move |row| &row[channels.clone()]));
        for (to, from) in weights.as_mut_slice().chunks_exact_mut(lanes).zip(rows) {
            to[..from.len()].copy_from_slice(from);
        }
        Filter { isa, groups, depth, outputs, weights }
    }

    /// Returns the size of the filter in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.weights.as_slice())
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter of {} groups from {} to {} channels", self.groups, self.depth, self.outputs)
    }
}

/// Computes the convolution. The sizes have been checked.
pub(super) fn conv2d(w: &Window, input: &[f32], filter: &Filter, output: &mut [f32], epilogue: &Epilogue<'_>) {
    let channels = filter.groups * filter.outputs;
    let forks = parallel::is_worth_forking(w.work(channels).saturating_mul(filter.depth) / SPEED);
    for_bands(w, channels, BAND_ELEMENTS, forks, input, output, |rows, window, input, output| {
        compute_rows(window, input, filter, output, epilogue);
        if epilogue.residual.is_some() {
            epilogue.apply(rows.start * w.out_width, channels, output);
        } else if epilogue.activation.needs_pass() {
            epilogue.activation.apply(output);
        }
    });
}

/// Computes some rows of an image. All windows lie inside the image. If there is a residual, the epilogue is left to the caller.
///
/// # Panics
/// If a slice is too short.
fn compute_rows(w: &Window, input: &[f32], filter: &Filter, output: &mut [f32], epilogue: &Epilogue<'_>) {
    let (lanes, channels) = (filter.isa.lanes(), filter.groups * filter.outputs);
    let line = w.in_width * w.channels;
    let windows = (w.out_height.max(1) - 1) * w.stride_height + (w.height - 1) * w.dilation_height + 1;
    let is_whole = input.len() >= windows * line && output.len() >= w.out_height * w.out_width * channels;
    let has_bias = epilogue.bias.is_none_or(|bias| bias.len() >= channels);
    assert!(is_whole && has_bias, "a slice is too short for {w:?}");
    let (bias, (low, high)) = match epilogue.residual {
        None => (epilogue.bias, epilogue.activation.clamp()),
        Some(_) => (None, (None, None)),
    };
    let weights_len = w.height * w.width * filter.depth * lanes;
    for group in 0..filter.groups {
        for (vector, n) in (0..filter.outputs).step_by(lanes).enumerate() {
            let first = group * filter.outputs + n;
            let weights = &filter.weights.as_slice()[(group * filter.outputs.div_ceil(lanes) + vector) * weights_len..][..weights_len];
            for (y, output) in output.chunks_exact_mut(w.out_width * channels).enumerate() {
                let mut x = 0;
                while x < w.out_width {
                    let count = positions_at_once(filter.isa, w.out_width - x, w.out_width);
                    x = x.min(w.out_width - count);
                    let run = Run {
                        input: input[y * w.stride_height * line + x * w.stride_width * w.channels + group * filter.depth..].as_ptr(),
                        filter: weights.as_ptr(),
                        output: output[x * channels + first..].as_mut_ptr(),
                        bias: bias.map_or(std::ptr::null(), |bias| bias[first..].as_ptr()),
                        channels: lanes.min(filter.outputs - n),
                        planes: filter.depth,
                        rows: w.height,
                        columns: w.width,
                        input_plane: 1,
                        input_row: w.dilation_height * line,
                        input_column: w.dilation_width * w.channels,
                        filter_plane: lanes,
                        filter_row: w.width * filter.depth * lanes,
                        filter_column: filter.depth * lanes,
                        input_step: w.stride_width * w.channels,
                        output_column: channels,
                        low,
                        high,
                    };
                    // SAFETY: the CPU has the filter's instruction set; all windows of the positions lie in the input, whose length was checked, as was the
                    // output's; the weights are those of the vector.
                    unsafe { vector_of_group(filter.isa, &run, count) };
                    x += count;
                }
            }
        }
    }
}

/// Returns the number of positions to compute at a time if `rest` are left of a row of `width`: all of them, with some of those before, if a kernel does.
fn positions_at_once(isa: Isa, rest: usize, width: usize) -> usize {
    let most = if isa == Isa::Avx512 { width } else { width.min(FEW_POSITIONS) };
    let mut counts = POSITIONS.into_iter().filter(|&count| count <= most);
    let enough = counts.clone().find(|&count| count >= rest);
    enough.or_else(|| counts.rfind(|&count| count <= rest)).unwrap_or(1)
}

for_each_isa! {
    unsafe fn vector_of_group(run: &Run, count: usize) = vector_kernel::<f32>;
}

/// Computes a vector of the output channels of a group, of which `run.planes` are the input channels, at `count` positions.
///
/// # Safety
/// The requirements of [`positions`] hold; `count` is one of [`POSITIONS`].
#[inline(always)]
unsafe fn vector_kernel<V: Vector<Elem = f32>>(run: &Run, count: usize) {
    // SAFETY: the caller guarantees the requirements of the callees.
    unsafe {
        match count {
            14 => positions::<V, 14>(run),
            7 => positions::<V, 7>(run),
            4 => positions::<V, 4>(run),
            _ => positions::<V, 1>(run),
        }
    }
}

/// Computes `P` positions.
///
/// # Safety
/// The CPU has V's instruction set; the pointers of `run` are good for its sizes and `P` positions, and its weights lie side by side.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn positions<V: Vector<Elem = f32>, const P: usize>(run: &Run) {
    /// Positions that are addressed from one pointer.
    const NEAR: usize = 3;
    // SAFETY: all offsets stay inside the memory that the caller guarantees.
    unsafe {
        let mut sums = [V::zero(); P];
        let (mut weights, step) = (run.filter, run.input_step);
        for row in 0..run.rows {
            for column in 0..run.columns {
                let input = run.input.add(row * run.input_row + column * run.input_column);
                for plane in 0..run.planes {
                    let weight = V::load(weights);
                    weights = weights.add(V::LANES);
                    for p in 0..P {
                        let x = *input.add(p / NEAR * NEAR * step).add(plane).add(p % NEAR * step);
                        sums[p] = V::splat(x).mul_add(weight, sums[p]);
                    }
                }
            }
        }
        let sums = run.finish(0, sums, |bias| V::load_part(bias, run.channels));
        for (p, sum) in sums.into_iter().enumerate() {
            sum.store_part(run.output.add(p * run.output_column), run.channels);
        }
    }
}
