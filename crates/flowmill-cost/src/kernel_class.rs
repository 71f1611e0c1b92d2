//! Classes of kernels that reach a similar share of a device's speed.

use serde::{Deserialize, Serialize};

/// A class of kernels. The kernels of one class compute at about the same rate, whatever their sizes, after a fixed time per call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelClass {
    /// A product of matrices that both have at least [`THIN_PRODUCT_ROWS`] rows.
    Product,
    /// A product of fewer rows, which reads each element of the other matrix for little work.
    ThinProduct,
    /// A convolution.
    Convolution,
    /// A convolution with fewer than [`THIN_CONVOLUTION_CHANNELS`] input channels, such as the first one of an image model.
    ThinConvolution,
    /// A convolution with a window of one element.
    PointwiseConvolution,
    /// A convolution of each channel alone.
    DepthwiseConvolution,
    /// A function of all elements of a window, such as a pooling.
    Window,
    /// A function of each element.
    Elementwise,
    /// Any other kernel.
    #[default]
    Other,
}

/// Products of fewer rows are [`KernelClass::ThinProduct`].
pub const THIN_PRODUCT_ROWS: u64 = 16;
/// Convolutions of fewer input channels are [`KernelClass::ThinConvolution`].
pub const THIN_CONVOLUTION_CHANNELS: u64 = 16;

/// The speed of the kernels of one class on one device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelRate {
    /// Arithmetic operations per second.
    pub operations_per_second: f64,
    /// Seconds per call besides, such as for the allocation of the output and the preparation of tiles.
    #[serde(default)]
    pub seconds_per_call: f64,
}

impl KernelClass {
    /// All classes.
    pub const ALL: [KernelClass; 9] = [
        KernelClass::Product,
        KernelClass::ThinProduct,
        KernelClass::Convolution,
        KernelClass::ThinConvolution,
        KernelClass::PointwiseConvolution,
        KernelClass::DepthwiseConvolution,
        KernelClass::Window,
        KernelClass::Elementwise,
        KernelClass::Other,
    ];

    /// Returns the usual share of the rate of large matrix products that kernels of this class reach.
    pub(crate) const fn usual_share(self) -> f64 {
        match self {
            KernelClass::Product | KernelClass::Other => 1.0,
            KernelClass::Convolution | KernelClass::PointwiseConvolution => 0.8,
            KernelClass::ThinProduct | KernelClass::ThinConvolution => 0.4,
            KernelClass::DepthwiseConvolution | KernelClass::Elementwise => 0.25,
            KernelClass::Window => 0.1,
        }
    }
}
