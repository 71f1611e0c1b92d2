//! The work of families of ops with several members.

use flowmill_graph::{Operand, Work};

/// Convolutions: `(input, filter) -> output`.
pub(crate) const CONVOLUTION: Work = Work::Convolution { image: Operand::Output(0), filter: Operand::Input(1) };
/// Gradients of convolutions with respect to the input: `(input, filter, out_backprop) -> output`.
pub(crate) const CONVOLUTION_INPUT_GRADIENT: Work = Work::Convolution { image: Operand::Input(2), filter: Operand::Input(1) };
/// Gradients of convolutions with respect to the filter: `(input, filter, out_backprop) -> output`.
pub(crate) const CONVOLUTION_FILTER_GRADIENT: Work = Work::Convolution { image: Operand::Input(2), filter: Operand::Output(0) };
/// Like [`CONVOLUTION`], of each channel alone.
pub(crate) const DEPTHWISE: Work = Work::DepthwiseConvolution { image: Operand::Output(0), filter: Operand::Input(1) };
/// Like [`CONVOLUTION_INPUT_GRADIENT`], of each channel alone.
pub(crate) const DEPTHWISE_INPUT_GRADIENT: Work = Work::DepthwiseConvolution { image: Operand::Input(2), filter: Operand::Input(1) };
/// Like [`CONVOLUTION_FILTER_GRADIENT`], of each channel alone.
pub(crate) const DEPTHWISE_FILTER_GRADIENT: Work = Work::DepthwiseConvolution { image: Operand::Input(2), filter: Operand::Output(0) };
/// Recurrent cells: `(x, h_prev, weights, ...)` and `(x, cs_prev, h_prev, weights, ...)`, with the weights at input `N`.
pub(crate) const fn recurrent(x: u8, weights: u8) -> Work {
    Work::Rows { rows: Operand::Input(x), matrix: Operand::Input(weights) }
}
