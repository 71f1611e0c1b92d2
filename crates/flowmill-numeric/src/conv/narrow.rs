//! Convolutions with few output channels.
//!
//! A matrix product would leave most lanes of its vectors without a column. Here the lanes are elements of a patch instead: a row of a patch is
//! contiguous in the image, and each output is the dot product of its patch with the filter. Several positions are computed at a time, so that a part of
//! the filter is read once for all of them.

use crate::gemm::Epilogue;
use crate::parallel;
use crate::simd::vector::Vector;
use crate::simd::{Isa, for_each_isa};
use crate::window::Window;

/// The most output channels.
pub(super) const MAX_OUTPUTS: usize = 8;

/// Returns true if convolutions over the window can be computed by dot products.
pub(super) fn can_compute(w: &Window, out_channels: usize, groups: usize) -> bool {
    groups == 1 && out_channels <= MAX_OUTPUTS && (w.dilation_width == 1 || w.width == 1)
}

/// A filter with the taps of each output channel side by side: `[out_channels, height, width, channels]`.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    isa: Isa,
    taps: Vec<f32>,
}

impl Filter {
    /// Rearranges an HWIO filter.
    pub(super) fn new(isa: Isa, filter: &[f32], len: usize, out_channels: usize) -> Filter {
        let taps = (0..out_channels).flat_map(|o| (0..len).map(move |i| filter[i * out_channels + o])).collect();
        Filter { isa, taps }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.taps[..])
    }
}

/// Computes the convolution. The sizes have been checked.
pub(super) fn conv2d(w: &Window, input: &[f32], filter: &Filter, out_channels: usize, output: &mut [f32], epilogue: &Epilogue<'_>) {
    let row_len = w.out_width * out_channels;
    let rows = w.batch * w.out_height;
    let work = w.work(w.channels).saturating_mul(out_channels) / 50;
    let at_once = if parallel::is_worth_forking(work) { rows.div_ceil(4 * parallel::threads()) } else { rows };
    parallel::chunks(&mut output[..rows * row_len], at_once * row_len, |chunk, output| {
        for (i, output) in output.chunks_exact_mut(row_len).enumerate() {
            let row = chunk * at_once + i;
            dots_of_row(w, (row / w.out_height, row % w.out_height), input, filter, out_channels, output);
            epilogue.apply(row * w.out_width, out_channels, output);
        }
    });
}

fn dots_of_row(w: &Window, (image, y): (usize, usize), input: &[f32], filter: &Filter, outputs: usize, output: &mut [f32]) {
    let rows = w.rows_inside(y);
    let mut x = 0;
    while x < w.out_width {
        let columns = w.columns_inside(x);
        let mut count = 1;
        while count < MAX_POSITIONS && x + count < w.out_width && w.columns_inside(x + count) == columns {
            count += 1;
        }
        let to = &mut output[x * outputs..][..count * outputs];
        x += count;
        if rows.is_empty() || columns.is_empty() {
            to.fill(0.0);
            continue;
        }
        let position = (image * w.in_height + w.input_row(y, rows.start)) * w.in_width + w.input_column(x - count, columns.start);
        let run = Run {
            input: input[position * w.channels..].as_ptr(),
            filter: filter.taps[(rows.start * w.width + columns.start) * w.channels..].as_ptr(),
            output: to.as_mut_ptr(),
            rows: rows.len(),
            len: columns.len() * w.channels,
            input_row: w.dilation_height * w.in_width * w.channels,
            input_step: w.stride_width * w.channels,
            filter_row: w.width * w.channels,
            filter_output: w.height * w.width * w.channels,
        };
        // SAFETY: the CPU has the filter's instruction set; all taps of the run's windows lie inside the image, and within the filter.
        unsafe { dots(filter.isa, &run, count, outputs) };
    }
}

/// Adjacent output positions whose windows have the same columns inside the image.
struct Run {
    /// The first element of the first patch that lies inside the image.
    input: *const f32,
    filter: *const f32,
    output: *mut f32,
    /// The rows of a patch, and the contiguous elements of each.
    rows: usize,
    len: usize,
    /// Elements between rows of a patch, between patches, between rows of the filter, and between its output channels.
    input_row: usize,
    input_step: usize,
    filter_row: usize,
    filter_output: usize,
}

/// The most positions that are computed at a time.
const MAX_POSITIONS: usize = 6;

for_each_isa! {
    unsafe fn dots(run: &Run, count: usize, outputs: usize) = dots_kernel::<f32>;
}

/// # Safety
/// The CPU has V's instruction set; the pointers of `run` are good for `count` positions and `outputs` channels.
#[inline(always)]
unsafe fn dots_kernel<V: Vector<Elem = f32>>(run: &Run, count: usize, outputs: usize) {
    // The sums of a call stay in registers, of which there are 32 or 16.
    // SAFETY: the caller guarantees it.
    unsafe {
        match outputs {
            1 => in_steps::<V, 6, 1>(run, count),
            2 => in_steps::<V, 6, 2>(run, count),
            3 => in_steps::<V, 3, 3>(run, count),
            4 => in_steps::<V, 3, 4>(run, count),
            5 => in_steps::<V, 3, 5>(run, count),
            6 => in_steps::<V, 3, 6>(run, count),
            7 => in_steps::<V, 3, 7>(run, count),
            _ => in_steps::<V, 3, 8>(run, count),
        }
    }
}

/// Computes `P` positions at a time, and the rest one by one.
///
/// # Safety
/// The requirements of [`dots_kernel`] hold.
#[inline(always)]
unsafe fn in_steps<V: Vector<Elem = f32>, const P: usize, const N: usize>(run: &Run, count: usize) {
    let mut x = 0;
    // SAFETY: all positions are of the run.
    unsafe {
        while x + P <= count {
            positions::<V, P, N>(run, x);
            x += P;
        }
        while x < count {
            positions::<V, 1, N>(run, x);
            x += 1;
        }
    }
}

/// Computes `P` positions from position `first` of the run.
///
/// # Safety
/// The requirements of [`dots_kernel`] hold.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn positions<V: Vector<Elem = f32>, const P: usize, const N: usize>(run: &Run, first: usize) {
    // SAFETY: all offsets stay inside the memory that the caller guarantees.
    unsafe {
        let mut sums = [[V::zero(); N]; P];
        for i in 0..run.rows {
            let input = run.input.add(first * run.input_step + i * run.input_row);
            let filter = run.filter.add(i * run.filter_row);
            let mut at = 0;
            while at + V::LANES <= run.len {
                add_products(&mut sums, run, input.add(at), filter.add(at), |p| V::load(p));
                at += V::LANES;
            }
            if at < run.len {
                let rest = run.len - at;
                add_products(&mut sums, run, input.add(at), filter.add(at), |p| V::load_part(p, rest));
            }
        }
        for p in 0..P {
            for n in 0..N {
                *run.output.add((first + p) * N + n) = sums[p][n].sum();
            }
        }
    }
}

/// # Safety
/// `load` can read at `input` and `filter`, for all positions and outputs.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn add_products<V: Vector<Elem = f32>, const P: usize, const N: usize>(
    sums: &mut [[V; N]; P],
    run: &Run,
    input: *const f32,
    filter: *const f32,
    load: impl Fn(*const f32) -> V,
) {
    // SAFETY: the caller guarantees it.
    unsafe {
        let mut xs = [V::zero(); P];
        for p in 0..P {
            xs[p] = load(input.add(p * run.input_step));
        }
        for n in 0..N {
            let weight = load(filter.add(n * run.filter_output));
            for p in 0..P {
                sums[p][n] = xs[p].mul_add(weight, sums[p][n]);
            }
        }
    }
}
