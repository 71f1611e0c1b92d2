//! Kernels of neural networks.

mod activation;
mod batch_norm;
mod bias;
mod conv;
mod conv_any;
mod depthwise;
mod pool;
mod softmax;
#[cfg(test)]
mod tests;
mod window;

use flowmill_runtime::KernelRegistry;

/// The family's functions of `float32` that can be fused with others, by their ops.
pub(crate) fn function(op: &str) -> Option<crate::elementwise::Function> {
    activation::function(op)
}

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    activation::register(registry);
    batch_norm::register(registry);
    bias::register(registry);
    conv::register(registry);
    conv_any::register(registry);
    depthwise::register(registry);
    pool::register(registry);
    softmax::register(registry);
}
