//! Arithmetic on quantised integers: tensors of integers, each with the two ends of the range that they stand for.

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

/// Registers the family.
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
