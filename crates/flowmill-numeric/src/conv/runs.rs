//! Rows of depthwise convolutions, computed in runs of output columns whose sums stay in registers for the whole window.

use super::blocks::{BLOCK, Shape, channels_of_block};
use crate::gemm::Epilogue;
use crate::simd::vector::Vector;
use crate::simd::{Isa, for_each_isa};
use crate::window::Window;

/// The most output columns of a run.
const COLUMNS: usize = 6;
/// The fewest columns at the end of a row that are worth a block, which computes some of the columns before them again.
const LEAST_REST: usize = 3;

/// A run of up to [`COLUMNS`] output columns whose windows have the same columns inside the image.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// The first channel of the first tap inside the image, for the first output column.
    pub(super) input: *const f32,
    /// The filter element of that tap.
    pub(super) filter: *const f32,
    pub(super) output: *mut f32,
    pub(super) bias: *const f32,
    pub(super) channels: usize,
    pub(super) planes: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Distances in elements: of planes, window rows and columns in the input and in the filter, of output columns in the input and in the output.
    pub(super) input_plane: usize,
    pub(super) input_row: usize,
    pub(super) input_column: usize,
    pub(super) filter_plane: usize,
    pub(super) filter_row: usize,
    pub(super) filter_column: usize,
    pub(super) input_step: usize,
    pub(super) output_column: usize,
    pub(super) low: Option<f32>,
    pub(super) high: Option<f32>,
}

impl Run {
    /// Adds the bias of the channels from `c` on to sums and clamps them.
    ///
    /// # Safety
    /// The CPU has V's instruction set, and `load` may read a vector of the bias at `c`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    pub(super) unsafe fn finish<V: Vector<Elem = f32>, const P: usize>(
        &self,
        c: usize,
        mut sums: [V; P],
        load: impl Fn(*const f32) -> V,
    ) -> [V; P] {
        // SAFETY: the caller guarantees the requirements of the vector methods.
        unsafe {
            if !self.bias.is_null() {
                let bias = load(self.bias.add(c));
                for p in 0..P {
                    sums[p] = sums[p].add(bias);
                }
            }
            if let Some(low) = self.low {
                for p in 0..P {
                    sums[p] = V::splat(low).max(sums[p]);
                }
            }
            if let Some(high) = self.high {
                for p in 0..P {
                    sums[p] = V::splat(high).min(sums[p]);
                }
            }
            sums
        }
    }
}

/// The places of the elements of a convolution that is the sum of the depthwise convolutions of some planes.
pub(super) struct Layout {
    /// Inputs of one shape whose convolutions are added up.
    pub(super) planes: usize,
    /// Elements between the planes.
    pub(super) input_plane: usize,
    /// Elements between the filters of planes, and between the columns of a filter.
    pub(super) filter_plane: usize,
    pub(super) filter_column: usize,
    /// Elements between output positions.
    pub(super) output_column: usize,
}

/// Computes one output row for a multiplier of 1. Of an activation, only a clamp is applied.
#[allow(clippy::too_many_arguments)]
pub(super) fn row(
    isa: Isa,
    w: &Window,
    layout: &Layout,
    image: usize,
    y: usize,
    input: &[f32],
    filter: &[f32],
    output: &mut [f32],
    epilogue: &Epilogue<'_>,
) {
    let rows = w.rows_inside(y);
    let (low, high) = epilogue.activation.clamp();
    // The first pixel of the first row of the input that the windows cover, and the first row of the filter that lies inside the image.
    let (pixels, filter) = if rows.is_empty() {
        (input.as_ptr(), filter.as_ptr())
    } else {
        let row = image * w.in_height + w.input_row(y, rows.start);
        (input[row * w.in_width * w.channels..].as_ptr(), filter[rows.start * w.width * layout.filter_column..].as_ptr())
    };
    let whole = Run {
        input: pixels,
        filter,
        output: output.as_mut_ptr(),
        bias: epilogue.bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
        channels: w.channels,
        planes: layout.planes,
        rows: rows.len(),
        columns: 0,
        input_plane: layout.input_plane,
        input_row: w.dilation_height * w.in_width * w.channels,
        input_column: w.dilation_width * w.channels,
        filter_plane: layout.filter_plane,
        filter_row: w.width * layout.filter_column,
        filter_column: layout.filter_column,
        output_column: layout.output_column,
        input_step: w.stride_width * w.channels,
        low,
        high,
    };
    let shape = Shape::of(w).filter(|_| w.out_width >= BLOCK);
    let mut x = 0;
    while x < w.out_width {
        if let Some(shape) = shape.filter(|_| w.out_width - x >= LEAST_REST) {
            x = x.min(w.out_width - BLOCK);
            let start = x * w.stride_width;
            let inside = w.pad_left.saturating_sub(start)..(w.in_width + w.pad_left).saturating_sub(start);
            let run = Run {
                input: pixels.wrapping_add(start * w.channels).wrapping_sub(w.pad_left * w.channels),
                output: output[x * layout.output_column..].as_mut_ptr(),
                ..whole
            };
            // SAFETY: the CPU has `isa`; the block has the width and stride of the shape, `inside` are the positions of its windows in the image,
            // and input, filter, bias and output row were checked to be whole.
            unsafe { channels_of_block(isa, &run, shape, &inside) };
            x += BLOCK;
            continue;
        }
        let columns = w.columns_inside(x);
        let mut count = 1;
        while count < COLUMNS && x + count < w.out_width && w.columns_inside(x + count) == columns {
            count += 1;
        }
        let mut run = Run { output: output[x * layout.output_column..].as_mut_ptr(), columns: columns.len(), ..whole };
        if !columns.is_empty() {
            run.input = pixels.wrapping_add(w.input_column(x, columns.start) * w.channels);
            run.filter = filter.wrapping_add(columns.start * layout.filter_column);
        }
        // SAFETY: the CPU has `isa`; every tap of every window of the run lies inside the image (`rows_inside`,
        // `columns_inside`), and input, filter, bias and output row were checked to be whole.
        unsafe { channels_of_run(isa, &run, count) };
        x += count;
    }
}

/// The distances between elements of the input of [`wide_row`], in elements.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// The distance of the inputs of neighbouring wide positions, and the number of elements of a wide position.
    pub(super) position: usize,
    /// The distance of the rows of a window.
    pub(super) row: usize,
    /// The distance of the columns of a window.
    pub(super) column: usize,
}

/// Computes the elements of `output` as positions of `steps.position` channels, of which the last may have fewer. The window has `height` rows and `width`
/// columns, all inside the image. `filter` is `[height, width, steps.position]`. Of an activation, only a clamp is applied.
///
/// # Panics
/// If a slice is too short.
pub(super) fn wide_row(
    isa: Isa,
    (height, width): (usize, usize),
    steps: Steps,
    input: &[f32],
    filter: &[f32],
    output: &mut [f32],
    epilogue: &Epilogue<'_>,
) {
    let channels = steps.position;
    assert!(height * width > 0, "a window without taps");
    assert!(input.len() >= (height - 1) * steps.row + (width - 1) * steps.column + output.len(), "an input of {} elements", input.len());
    assert!(
        filter.len() >= height * width * channels && epilogue.bias.is_none_or(|bias| bias.len() >= channels),
        "a filter or bias is too short"
    );
    let (low, high) = epilogue.activation.clamp();
    let mut run = Run {
        input: input.as_ptr(),
        filter: filter.as_ptr(),
        output: output.as_mut_ptr(),
        bias: epilogue.bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
        channels,
        planes: 1,
        rows: height,
        columns: width,
        input_plane: 0,
        input_row: steps.row,
        input_column: steps.column,
        filter_plane: 0,
        filter_row: width * channels,
        filter_column: channels,
        input_step: channels,
        output_column: channels,
        low,
        high,
    };
    let (positions, rest) = (output.len() / channels, output.len() % channels);
    let mut x = 0;
    while x < positions {
        let count = (positions - x).min(COLUMNS);
        run.input = input[x * channels..].as_ptr();
        run.output = output[x * channels..].as_mut_ptr();
        // SAFETY: the CPU has `isa`; `input`, `filter` and bias were checked to have all that the positions read.
        unsafe { channels_of_run(isa, &run, count) };
        x += count;
    }
    if rest > 0 {
        run = Run { channels: rest, input: input[x * channels..].as_ptr(), output: output[x * channels..].as_mut_ptr(), ..run };
        // SAFETY: as above; a position of fewer channels reads and writes only these.
        unsafe { channels_of_run(isa, &run, 1) };
    }
}

for_each_isa! {
    unsafe fn channels_of_run(run: &Run, count: usize) = run_kernel::<f32>;
}

/// # Safety
/// The requirements of [`run_columns`] hold.
#[inline(always)]
unsafe fn run_kernel<V: Vector<Elem = f32>>(run: &Run, count: usize) {
    // SAFETY: the caller guarantees the requirements of the callees.
    unsafe {
        match count {
            1 => run_columns::<V, 1>(run),
            2 => run_columns::<V, 2>(run),
            3 => run_columns::<V, 3>(run),
            4 => run_columns::<V, 4>(run),
            5 => run_columns::<V, 5>(run),
            _ => run_columns::<V, COLUMNS>(run),
        }
    }
}

/// Computes all channels of `P` output columns.
///
/// # Safety
/// The CPU has V's instruction set; the pointers of `run` are good for its sizes and `P` columns.
#[inline(always)]
unsafe fn run_columns<V: Vector<Elem = f32>, const P: usize>(run: &Run) {
    // SAFETY: all offsets stay inside the memory that the caller guarantees.
    unsafe {
        let mut c = 0;
        while c + V::LANES <= run.channels {
            let load = |p: *const f32| V::load(p);
            let sums = run.finish(c, run_sums::<V, P>(run, c, load), load);
            for (p, sum) in sums.into_iter().enumerate() {
                sum.store(run.output.add(p * run.output_column + c));
            }
            c += V::LANES;
        }
        if c < run.channels {
            let rest = run.channels - c;
            let load = |p: *const f32| V::load_part(p, rest);
            let sums = run.finish(c, run_sums::<V, P>(run, c, load), load);
            for (p, sum) in sums.into_iter().enumerate() {
                sum.store_part(run.output.add(p * run.output_column + c), rest);
            }
        }
    }
}

/// Returns the sums over the windows for the channels from `c` on.
///
/// # Safety
/// The requirements of [`run_columns`] hold.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn run_sums<V: Vector<Elem = f32>, const P: usize>(run: &Run, c: usize, load: impl Fn(*const f32) -> V) -> [V; P] {
    // SAFETY: the caller guarantees the requirements of the vector methods.
    unsafe {
        let mut sums = [V::zero(); P];
        for plane in 0..run.planes {
            let mut input = run.input.wrapping_add(plane * run.input_plane + c);
            let mut filter = run.filter.wrapping_add(plane * run.filter_plane + c);
            for _ in 0..run.rows {
                let (mut at, mut weight) = (input, filter);
                for _ in 0..run.columns {
                    let w = load(weight);
                    for p in 0..P {
                        sums[p] = load(at.wrapping_add(p * run.input_step)).mul_add(w, sums[p]);
                    }
                    at = at.wrapping_add(run.input_column);
                    weight = weight.wrapping_add(run.filter_column);
                }
                input = input.wrapping_add(run.input_row);
                filter = filter.wrapping_add(run.filter_row);
            }
        }
        sums
    }
}
