//! Kernels of convolutions, based on `flowmill_numeric::conv`.

mod any_rank;
mod choice;
mod conv2d;
mod conv3d;
mod depthwise;
mod dilation;
mod padded;
mod separable;

pub(crate) use conv2d::Conv2d;
pub(crate) use depthwise::Depthwise;
use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    any_rank::register(registry);
    conv2d::register(registry);
    conv3d::register(registry);
    depthwise::register(registry);
    dilation::register(registry);
    padded::register(registry);
    separable::register(registry);
}
