//! Arithmetic on quantised tensors: tensors of integers, each with the two limits of the range that the integers represent.

mod activation;
mod binary;
mod concat;
mod conv;
mod norm;
mod pool;
mod quantize;
mod range;
mod requantize;
mod requantize_channels;
mod resize;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    activation::register(registry);
    binary::register(registry);
    concat::register(registry);
    conv::register(registry);
    norm::register(registry);
    pool::register(registry);
    quantize::register(registry);
    requantize::register(registry);
    requantize_channels::register(registry);
    resize::register(registry);
}
