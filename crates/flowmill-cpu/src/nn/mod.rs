//! Kernels of neural networks.

mod activation;
mod bias;
mod softmax;
#[cfg(test)]
mod tests;

use flowmill_runtime::KernelRegistry;

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    activation::register(registry);
    bias::register(registry);
    softmax::register(registry);
}
