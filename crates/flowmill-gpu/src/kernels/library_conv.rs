//! Convolutions by a library. It has filters with their output channels first, and the same padding on both sides of an image.

use super::copy::Copier;
use super::im2col::RowCopies;
use crate::backend::{Activation, Address, Convolution, ConvolutionResult};
use crate::device::GpuDevice;
use flowmill_kernels::window::Window;
use flowmill_runtime::Device;
use flowmill_tensor::{Code, DType, Result, Shape, Tensor};
use std::sync::OnceLock;

/// The most bytes of a workspace.
const WORKSPACE_LIMIT: usize = 512 << 20;

/// The convolutions of a node.
pub(super) struct LibraryConvolver {
    dtype: DType,
    copier: Copier,
    /// Copies of images with more padding, or with less.
    borders: RowCopies,
    /// True if the filter has the same elements in every step.
    filter_is_constant: bool,
    /// A constant filter with its output channels first.
    kept: OnceLock<Tensor>,
}

/// A convolution with its extra rows and columns of padding behind the input.
struct Padded {
    convolution: Convolution,
    /// The windows over the input, one for each pixel with the extra ones.
    window: Window,
    extra: [usize; 2],
}

impl LibraryConvolver {
    /// Returns the convolutions of a node. `filter_is_constant` is true if the filter has the same elements in every step.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new(dtype: DType, filter_is_constant: bool) -> Result<LibraryConvolver> {
        let borders = RowCopies::new::<Window>(dtype)?;
        Ok(LibraryConvolver { dtype, copier: Copier::new(dtype)?, borders, filter_is_constant, kept: OnceLock::new() })
    }

    /// Returns the convolution of `window` with filters that read `depth` channels, or `None` if no padding makes it one of the library's.
    fn padded(
        &self,
        device: &GpuDevice,
        window: &Window,
        [depth, n]: [usize; 2],
        result: ConvolutionResult,
        epilogue: Option<Activation>,
    ) -> Option<Padded> {
        let w = window;
        let down = extra(w.in_height, w.height, w.stride_height, w.dilation_height, w.pad_top, w.out_height)?;
        let across = extra(w.in_width, w.width, w.stride_width, w.dilation_width, w.pad_left, w.out_width)?;
        let convolution = Convolution {
            result,
            dtype: self.dtype,
            input: [w.batch, w.in_height + down, w.in_width + across, w.channels],
            filter: [n, w.height, w.width, depth],
            output: [w.batch, w.out_height, w.out_width, n],
            strides: [w.stride_height, w.stride_width],
            dilations: [w.dilation_height, w.dilation_width],
            padding: [w.pad_top, w.pad_left],
            epilogue,
            allow_tf32: device.options().allow_tf32,
            is_deterministic: device.options().is_deterministic,
        };
        Some(Padded { convolution, window: *window, extra: [down, across] })
    }

    /// Enqueues a convolution, or a gradient of one, with the addresses of the input, the filter and the output, of which the one with the result is written.
    /// Returns false if the library does not compute it.
    pub(super) fn convolve(
        &self,
        device: &GpuDevice,
        window: &Window,
        channels: [usize; 2],
        result: ConvolutionResult,
        [input, filter, output]: [Address; 3],
        epilogue: Option<(Address, Activation)>,
    ) -> Result<bool> {
        // The library refuses images without elements, of which padding may make windows.
        if !matches!(self.dtype, DType::F32 | DType::F16 | DType::BF16) || window.input_len() == 0 {
            return Ok(false);
        }
        let Some(padded) = self.padded(device, window, channels, result, epilogue.map(|(_, activation)| activation)) else {
            return Ok(false);
        };
        let convolution = &padded.convolution;
        let Some(bytes) = device.gpu().convolution_workspace(convolution, WORKSPACE_LIMIT)? else { return Ok(false) };
        let Some(workspace) = if_there_is_room(device.allocate(DType::U8, &Shape::new(&[bytes.max(1)])))? else { return Ok(false) };
        let of_input = match padded.extra {
            [0, 0] => None,
            _ => match if_there_is_room(device.allocate(self.dtype, &Shape::new(&convolution.input)))? {
                None => return Ok(false),
                room => room,
            },
        };
        let [n, height, width, depth] = convolution.filter;
        let own_filter = match result {
            ConvolutionResult::FilterGradient => device.allocate(self.dtype, &Shape::new(&convolution.filter))?,
            _ => self.filter(device, &[height, width, depth, n], filter)?,
        };
        let own_input = of_input.as_ref().map_or(Ok(input), |tensor| device.address(tensor))?;
        if of_input.is_some() && result != ConvolutionResult::InputGradient {
            padded.copy_border(device, &self.borders, input, own_input, true)?;
        }
        let addresses = [own_input, device.address(&own_filter)?, output];
        let workspace = (device.address(&workspace)?, bytes);
        if !device.gpu().convolve(convolution, addresses, epilogue.map(|(bias, _)| bias), workspace)? {
            return Ok(false);
        }
        match result {
            ConvolutionResult::Output => {}
            ConvolutionResult::InputGradient if of_input.is_some() => {
                padded.copy_border(device, &self.borders, own_input, input, false)?;
            }
            ConvolutionResult::InputGradient => {}
            ConvolutionResult::FilterGradient => {
                let from = device.address(&own_filter)?;
                self.copier.transpose(device, own_filter.shape(), &[1, 2, 3, 0], filter, from)?;
            }
        }
        Ok(true)
    }

    /// Returns a filter with its output channels first. One that is constant is transposed once.
    fn filter(&self, device: &GpuDevice, dims: &[usize; 4], from: Address) -> Result<Tensor> {
        if let Some(kept) = self.kept.get() {
            return Ok(kept.clone());
        }
        let [height, width, depth, n] = *dims;
        let transposed = device.allocate(self.dtype, &Shape::from([n, height, width, depth]))?;
        self.copier.transpose(device, &Shape::new(dims), &[3, 0, 1, 2], device.address(&transposed)?, from)?;
        if self.filter_is_constant {
            let _ = self.kept.set(transposed.clone());
        }
        Ok(transposed)
    }
}

/// Returns the number of positions behind the input that the last window reaches beyond a padding of `pad` on both sides, or `None` if that padding makes
/// more windows than there are.
fn extra(input: usize, window: usize, stride: usize, dilation: usize, pad: usize, output: usize) -> Option<usize> {
    let reach = (window - 1) * dilation + 1;
    let needed = (output.checked_sub(1)? * stride + reach).saturating_sub(input + 2 * pad);
    let padded = input + needed + 2 * pad;
    ((padded.checked_sub(reach)?) / stride + 1 == output).then_some(needed)
}

impl Padded {
    /// Enqueues a copy of the input to a tensor with the extra rows and columns, or back.
    fn copy_border(&self, device: &GpuDevice, copies: &RowCopies, from: Address, to: Address, adds: bool) -> Result<()> {
        let (w, [_, rows, columns, _]) = (&self.window, self.convolution.input);
        let [(in_height, in_width), (out_height, out_width)] =
            if adds { [(w.in_height, w.in_width), (rows, columns)] } else { [(rows, columns), (w.in_height, w.in_width)] };
        // A window of one pixel for each pixel of the result: those behind the input are zero.
        let pixels = Window {
            in_height,
            in_width,
            height: 1,
            width: 1,
            stride_height: 1,
            stride_width: 1,
            dilation_height: 1,
            dilation_width: 1,
            pad_top: 0,
            pad_left: 0,
            out_height,
            out_width,
            ..*w
        };
        copies.enqueue(device, &pixels, 0..pixels.positions(), from, to)
    }
}

/// Returns `None` instead of the error for a full memory: other kernels need less of it.
fn if_there_is_room(allocated: Result<Tensor>) -> Result<Option<Tensor>> {
    match allocated {
        Err(e) if e.code() == Code::ResourceExhausted => Ok(None),
        allocated => allocated.map(Some),
    }
}
