//! Convolutions as matrix products with a row for the elements under each window ("im2col"), for a few images or volumes at a time.

use super::matmul;
use super::reduce::Reducer;
use super::types::WORDS;
use crate::backend::Address;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_runtime::Device;
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, error};

/// The rows of a product may take this many bytes, unless one input takes more.
const ROW_BYTES: usize = 256 << 20;
/// A product has at most this many rows.
const MOST_ROWS: usize = 4 << 20;

/// The windows of a convolution over a batch of images or volumes with channels last.
pub(super) trait Windows: Sized {
    /// Returns the number of inputs.
    fn batch(&self) -> usize;

    /// Returns the windows over this many inputs of these channels.
    fn over(&self, batch: usize, channels: usize) -> Self;

    /// Returns the number of channels of the input.
    fn channels(&self) -> usize;

    /// Returns the number of pixels of one input.
    fn num_pixels(&self) -> usize;

    /// Returns the number of windows over one input.
    fn num_windows(&self) -> usize;

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

    /// Returns the number of inputs whose rows are computed at once.
    fn at_once(&self, element_size: usize) -> usize {
        let rows = self.num_windows().max(1);
        let bytes = if self.is_pointwise() { 1 } else { (rows * self.row() * element_size).max(1) };
        (ROW_BYTES / bytes).min(MOST_ROWS / rows).clamp(1, self.batch().max(1))
    }
}

/// The kernels that copy the elements under windows to rows.
pub(super) struct RowCopies {
    size: usize,
    /// The copies of words of each size in `WORDS`.
    kernels: [CompiledKernel; WORDS.len()],
}

impl RowCopies {
    /// Returns the kernels `windows_to_rows` of a text, for which only the size of elements matters.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new(dtype: DType, text: &'static str) -> Result<RowCopies> {
        let size = dtype.size().filter(|&size| size.is_power_of_two() && size <= 16);
        let size = size.ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {dtype}"))?;
        Ok(RowCopies { size, kernels: WORDS.map(|element| CompiledKernel::new(text, "windows_to_rows", &[("T", element)])) })
    }

    /// Enqueues copies of the elements under each window to a row. `n` is the number of elements of all rows.
    ///
    /// # Errors
    /// Returns `Unimplemented` for more elements than a 32-bit number counts.
    pub(super) fn enqueue<W: Windows>(&self, device: &GpuDevice, windows: &W, from: Address, to: Address, n: usize) -> Result<()> {
        // Channels are copied in words of up to 16 bytes.
        let channels = windows.channels();
        let is_aligned = |address: Address, run: usize| address.0.is_multiple_of((run * self.size) as u64);
        let fits = |run: &usize| channels.is_multiple_of(*run) && is_aligned(from, *run) && is_aligned(to, *run);
        let run = [8, 4, 2].into_iter().filter(|run| run * self.size <= 16).find(fits).unwrap_or(1);
        let (words, n) = (windows.over(windows.batch(), channels / run).words()?, n / run);
        let arguments = [Argument::Address(to), Argument::Address(from), Argument::U32(word(n)?), Argument::Words(&words)];
        self.kernels[(run * self.size).ilog2() as usize].launch(device, device.linear_grid(n), &arguments)
    }
}

/// The kernels that copy the elements under windows to rows, and add rows to the elements.
pub(super) struct Im2Col {
    dtype: DType,
    size: usize,
    to_rows: RowCopies,
    from_rows: CompiledKernel,
}

/// Some inputs of a convolution: the first one's number, and the windows over them.
struct Part<W> {
    first: usize,
    windows: W,
}

impl Im2Col {
    /// Returns the kernels `windows_to_rows` of the text `copies` and `rows_to_windows` of the text `sums`.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new(dtype: DType, copies: &'static str, sums: &'static str) -> Result<Im2Col> {
        let to_rows = RowCopies::new(dtype, copies)?;
        Ok(Im2Col { dtype, size: to_rows.size, to_rows, from_rows: CompiledKernel::of(sums, "rows_to_windows", dtype)? })
    }

    /// Returns the parts of a batch whose rows are computed at once.
    fn parts<W: Windows>(&self, windows: &W) -> impl ExactSizeIterator<Item = Part<W>> {
        let (batch, at_once) = (windows.batch(), windows.at_once(self.size));
        (0..batch).step_by(at_once).map(move |first| Part { first, windows: windows.over(at_once.min(batch - first), windows.channels()) })
    }

    /// Allocates the rows of a part.
    fn rows<W: Windows>(&self, device: &GpuDevice, windows: &W) -> Result<Tensor> {
        device.allocate(self.dtype, &Shape::new(&[windows.batch() * windows.num_windows(), windows.row()]))
    }

    /// Returns the address of the first input of a part.
    fn input<W: Windows>(&self, part: &Part<W>, base: Address) -> Address {
        base.offset(part.first * part.windows.num_pixels() * part.windows.channels() * self.size)
    }

    /// Returns the address of the first output of a part, which has `n` channels.
    fn output<W: Windows>(&self, part: &Part<W>, n: usize, base: Address) -> Address {
        base.offset(part.first * part.windows.num_windows() * n * self.size)
    }

    /// Returns the address of the rows of a part, which are the input's own pixels, or copied to a scratch tensor.
    fn load_rows<W: Windows>(&self, device: &GpuDevice, part: &Part<W>, input: Address) -> Result<(Address, Option<Tensor>)> {
        let (windows, from) = (&part.windows, self.input(part, input));
        if windows.is_pointwise() {
            return Ok((from, None));
        }
        let rows = self.rows(device, windows)?;
        let to = device.address(&rows)?;
        self.to_rows.enqueue(device, windows, from, to, rows.num_elements())?;
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
        for part in self.parts(windows) {
            let (rows, _scratch) = self.load_rows(device, &part, input)?;
            let sizes = (part.windows.batch() * part.windows.num_windows(), n, part.windows.row());
            self.multiply(device, sizes, [false, false], [rows, filter, self.output(&part, n, output)])?;
        }
        Ok(())
    }

    /// Enqueues the gradient of a convolution's input.
    pub(super) fn backward_input<W: Windows>(
        &self,
        device: &GpuDevice,
        windows: &W,
        n: usize,
        [filter, gradient, output]: [Address; 3],
    ) -> Result<()> {
        for part in self.parts(windows) {
            let windows = &part.windows;
            let sizes = (windows.batch() * windows.num_windows(), windows.row(), n);
            let (from, to) = (self.output(&part, n, gradient), self.input(&part, output));
            if windows.is_pointwise() {
                self.multiply(device, sizes, [false, true], [from, filter, to])?;
                continue;
            }
            let rows = self.rows(device, windows)?;
            let at = device.address(&rows)?;
            self.multiply(device, sizes, [false, true], [from, filter, at])?;
            let (count, words) = (windows.batch() * windows.num_pixels() * windows.channels(), windows.words()?);
            let arguments = [Argument::Address(to), Argument::Address(at), Argument::U32(word(count)?), Argument::Words(&words)];
            self.from_rows.launch(device, device.linear_grid(count), &arguments)?;
        }
        Ok(())
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
        let parts = self.parts(windows);
        // Products of several parts are summed in the type of sums.
        let products = match parts.len() {
            1 => None,
            count => Some(device.allocate(self.dtype, &Shape::new(&[count, filter]))?),
        };
        let base = products.as_ref().map_or(Ok(output), |products| device.address(products))?;
        for (i, part) in parts.enumerate() {
            let (rows, _scratch) = self.load_rows(device, &part, input)?;
            let sizes = (windows.row(), n, part.windows.batch() * part.windows.num_windows());
            let to = base.offset(i * filter * self.size);
            self.multiply(device, sizes, [true, false], [rows, self.output(&part, n, gradient), to])?;
        }
        let Some(products) = products else { return Ok(()) };
        Reducer::new("Sum", self.dtype)?.reduce_rows(device, &products, output)
    }
}
