//! Convolutions as matrix products with a row for the elements under each window ("im2col"), for as many windows at a time as the rows may take memory.

use super::matmul;
use super::reduce::Reducer;
use super::types::WORDS;
use crate::backend::Address;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::volume::Axis;
use flowmill_runtime::Device;
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, error};
use std::ops::Range;

/// A product has at most this many rows.
const MOST_ROWS: usize = 4 << 20;

/// The windows of a convolution over a batch of images or volumes with channels last.
pub(super) trait Windows: Sized {
    /// The text of the kernels that copy the elements under windows to rows.
    const TO_ROWS: &'static str;
    /// The text of the kernels that add rows to the elements under windows.
    const FROM_ROWS: &'static str;

    /// Returns the number of inputs.
    fn batch(&self) -> usize;

    /// Returns the windows with another number of channels.
    fn with_channels(&self, channels: usize) -> Self;

    /// Returns the number of channels of the input.
    fn channels(&self) -> usize;

    /// Returns the number of pixels of one input.
    fn num_pixels(&self) -> usize;

    /// Returns the number of windows over one input.
    fn num_windows(&self) -> usize;

    /// Returns the positions of the windows along the outermost dimension of space.
    fn outermost(&self) -> Axis;

    /// Returns the number of pixels under a window.
    fn taps(&self) -> usize;

    /// Returns true if the window number `i` is over the pixel number `i` alone.
    fn is_pointwise(&self) -> bool;

    /// Returns the structure of the kernels that describes the windows.
    ///
    /// # Errors
    /// Returns `Unimplemented` for sizes that do not fit 32 bits.
    fn words(&self) -> Result<SmallVec<[u32; 20]>>;

    /// Returns the number of elements under a window.
    fn row(&self) -> usize {
        self.taps() * self.channels()
    }

    /// Returns a range of pixels that contains those under some windows. Pixels and windows are numbered through the batch.
    fn pixels_under(&self, windows: &Range<usize>) -> Range<usize> {
        let axis = self.outermost();
        let (windows_per_line, pixels_per_line) = (self.num_windows() / axis.output, self.num_pixels() / axis.input);
        let line = |window: usize| {
            let line = window / windows_per_line;
            (line / axis.output * axis.input, line % axis.output * axis.stride)
        };
        let ((first_input, first), (last_input, last)) = (line(windows.start), line(windows.end - 1));
        let reach = (axis.window - 1) * axis.dilation + 1;
        let start = first_input + first.saturating_sub(axis.pad).min(axis.input);
        let end = last_input + (last + reach).saturating_sub(axis.pad).min(axis.input);
        start * pixels_per_line..end.max(start) * pixels_per_line
    }
}

/// The kernels that copy the elements under windows to rows.
pub(super) struct RowCopies {
    size: usize,
    /// The copies of words of each size in `WORDS`.
    kernels: [CompiledKernel; WORDS.len()],
}

impl RowCopies {
    /// Returns the kernels for a kind of windows and a type, of which only the size of elements matters.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new<W: Windows>(dtype: DType) -> Result<RowCopies> {
        let size = dtype.size().filter(|&size| size.is_power_of_two() && size <= 16);
        let size = size.ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {dtype}"))?;
        Ok(RowCopies { size, kernels: WORDS.map(|element| CompiledKernel::new(W::TO_ROWS, "windows_to_rows", &[("T", element)])) })
    }

    /// Enqueues copies of the elements under each window of a range to a row.
    ///
    /// # Errors
    /// Returns `Unimplemented` for more elements than a 32-bit number counts.
    pub(super) fn enqueue<W: Windows>(
        &self,
        device: &GpuDevice,
        windows: &W,
        range: Range<usize>,
        from: Address,
        to: Address,
    ) -> Result<()> {
        // Channels are copied in words of up to 16 bytes.
        let channels = windows.channels();
        let is_aligned = |address: Address, run: usize| address.0.is_multiple_of((run * self.size) as u64);
        let fits = |run: &usize| channels.is_multiple_of(*run) && is_aligned(from, *run) && is_aligned(to, *run);
        let run = [8, 4, 2].into_iter().filter(|run| run * self.size <= 16).find(fits).unwrap_or(1);
        let (words, n) = (windows.with_channels(channels / run).words()?, range.len() * windows.row() / run);
        let numbers = [Argument::U32(word(n)?), Argument::U32(word(range.start)?)];
        let arguments = [Argument::Address(to), Argument::Address(from), numbers[0], numbers[1], Argument::Words(&words)];
        self.kernels[(run * self.size).ilog2() as usize].launch(device, device.linear_grid(n), &arguments)
    }
}

/// The kernels of a convolution by products of rows.
pub(super) struct Im2Col {
    dtype: DType,
    size: usize,
    to_rows: RowCopies,
    from_rows: CompiledKernel,
    store_sums: CompiledKernel,
}

impl Im2Col {
    /// Returns the kernels for a kind of windows.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new<W: Windows>(dtype: DType) -> Result<Im2Col> {
        let to_rows = RowCopies::new::<W>(dtype)?;
        let program = |name| CompiledKernel::of(W::FROM_ROWS, name, dtype);
        Ok(Im2Col { dtype, size: to_rows.size, to_rows, from_rows: program("rows_to_windows")?, store_sums: program("store_sums")? })
    }

    /// Returns the ranges of windows whose rows are computed at once: the rows of several windows take at most `GpuOptions::patch_bytes`.
    fn parts<W: Windows>(&self, device: &GpuDevice, windows: &W) -> impl ExactSizeIterator<Item = Range<usize>> + use<W> {
        let (count, row) = (windows.batch() * windows.num_windows(), windows.row().max(1));
        // Kernels count elements in 32 bits.
        let most_of_row = (device.options().patch_bytes / (row * self.size)).min(u32::MAX as usize / row);
        let at_once = if windows.is_pointwise() { MOST_ROWS } else { most_of_row.clamp(1, MOST_ROWS) };
        (0..count).step_by(at_once).map(move |first| first..count.min(first + at_once))
    }

    /// Allocates the rows of a part.
    fn rows<W: Windows>(&self, device: &GpuDevice, windows: &W, part: &Range<usize>) -> Result<Tensor> {
        device.allocate(self.dtype, &Shape::new(&[part.len(), windows.row()]))
    }

    /// Returns the address of the first output of a part, which has `n` channels.
    fn output(&self, part: &Range<usize>, n: usize, base: Address) -> Address {
        base.offset(part.start * n * self.size)
    }

    /// Returns the address of the rows of a part, which are the input's own pixels, or copied to a scratch tensor.
    fn load_rows<W: Windows>(
        &self,
        device: &GpuDevice,
        windows: &W,
        part: &Range<usize>,
        input: Address,
    ) -> Result<(Address, Option<Tensor>)> {
        if windows.is_pointwise() {
            return Ok((self.output(part, windows.channels(), input), None));
        }
        let rows = self.rows(device, windows, part)?;
        let to = device.address(&rows)?;
        self.to_rows.enqueue(device, windows, part.clone(), input, to)?;
        Ok((to, Some(rows)))
    }

    fn multiply(&self, device: &GpuDevice, sizes: (usize, usize, usize), transposed: [bool; 2], matrices: [Address; 3]) -> Result<()> {
        matmul::multiply(device, self.dtype, sizes, transposed, matrices)
    }

    /// Enqueues a convolution with a filter of `n` output channels. The input, the filter and the output must not be empty.
    pub(super) fn forward<W: Windows>(
        &self,
        device: &GpuDevice,
        windows: &W,
        n: usize,
        [input, filter, output]: [Address; 3],
    ) -> Result<()> {
        for part in self.parts(device, windows) {
            let (rows, _scratch) = self.load_rows(device, windows, &part, input)?;
            let sizes = (part.len(), n, windows.row());
            self.multiply(device, sizes, [false, false], [rows, filter, self.output(&part, n, output)])?;
        }
        Ok(())
    }

    /// Enqueues the gradient of a convolution's input. Sums over several parts are kept in the type of sums, and are added in the order of one part.
    pub(super) fn backward_input<W: Windows>(
        &self,
        device: &GpuDevice,
        windows: &W,
        n: usize,
        [filter, gradient, output]: [Address; 3],
    ) -> Result<()> {
        let parts = self.parts(device, windows);
        if windows.is_pointwise() {
            for part in parts {
                let (from, to) = (self.output(&part, n, gradient), self.output(&part, windows.channels(), output));
                self.multiply(device, (part.len(), windows.row(), n), [false, true], [from, filter, to])?;
            }
            return Ok(());
        }
        let (words, elements) = (windows.words()?, windows.batch() * windows.num_pixels() * windows.channels());
        let is_whole = parts.len() == 1;
        let of_sums = match self.dtype {
            DType::F16 | DType::BF16 if !is_whole => Some(device.allocate(DType::F32, &Shape::new(&[elements]))?),
            _ => None,
        };
        let sums = of_sums.as_ref().map_or(Ok(output), |sums| device.address(sums))?;
        if !is_whole {
            device.gpu().fill(sums, 0, elements * self.size.max(4))?;
        }
        for part in parts {
            let rows = self.rows(device, windows, &part)?;
            let at = device.address(&rows)?;
            self.multiply(device, (part.len(), windows.row(), n), [false, true], [self.output(&part, n, gradient), filter, at])?;
            let (pixels, to) = match is_whole {
                true => (0..windows.batch() * windows.num_pixels(), [output, Address(0)]),
                false => (windows.pixels_under(&part), [Address(0), sums]),
            };
            let count = pixels.len() * windows.channels();
            let [n, first_pixel, first, windows_of_part] =
                [count, pixels.start, part.start, part.len()].map(|n| word(n).map(Argument::U32));
            let [to, sums, at] = [to[0], to[1], at].map(Argument::Address);
            let arguments = [to, sums, at, n?, first_pixel?, first?, windows_of_part?, Argument::Words(&words)];
            self.from_rows.launch(device, device.linear_grid(count), &arguments)?;
        }
        if of_sums.is_none() {
            return Ok(());
        }
        let arguments = [Argument::Address(output), Argument::Address(sums), Argument::U32(word(elements)?)];
        self.store_sums.launch(device, device.linear_grid(elements), &arguments)
    }

    /// Enqueues the gradient of a convolution's filter.
    pub(super) fn backward_filter<W: Windows>(
        &self,
        device: &GpuDevice,
        windows: &W,
        n: usize,
        [input, gradient, output]: [Address; 3],
    ) -> Result<()> {
        let filter = windows.row() * n;
        let product = |part: Range<usize>, to: Address| -> Result<()> {
            let (rows, _scratch) = self.load_rows(device, windows, &part, input)?;
            let sizes = (windows.row(), n, part.len());
            self.multiply(device, sizes, [true, false], [rows, self.output(&part, n, gradient), to])
        };
        let mut parts = self.parts(device, windows);
        if parts.len() == 1 {
            return parts.try_for_each(|part| product(part, output));
        }
        // Products of several parts are summed in the type of sums, as many at once as rows may take memory.
        let most = parts.len().min((device.options().patch_bytes / (filter * self.size).max(1)).max(2));
        let products = device.allocate(self.dtype, &Shape::new(&[most, filter]))?;
        let (base, reducer) = (device.address(&products)?, Reducer::new("Sum", self.dtype)?);
        let mut used = 0;
        for part in parts {
            if used == most {
                reducer.reduce_rows(device, &products, output)?;
                device.gpu().copy(base, output, filter * self.size)?;
                used = 1;
            }
            product(part, base.offset(used * filter * self.size))?;
            used += 1;
        }
        reducer.reduce_rows(device, &device.view(&products, 0, Shape::new(&[used, filter]))?, output)
    }
}
