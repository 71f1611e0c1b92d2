//! Kernels of neural networks, except for convolutions and pooling.

mod activation;
mod batch_norm;
mod batch_norm_global;
mod bias;
mod fake_quant;
mod format;
mod isotonic;
pub(crate) mod layout;
mod lrn;
mod softmax;

use flowmill_runtime::KernelRegistry;

/// Returns the function of `float32` of an op of this family that can be fused with others.
pub(crate) fn function(op: &str) -> Option<crate::elementwise::Function> {
    activation::function(op)
}

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    isotonic::register(registry);
    activation::register(registry);
    batch_norm::register(registry);
    batch_norm_global::register(registry);
    bias::register(registry);
    fake_quant::register(registry);
    format::register(registry);
    lrn::register(registry);
    softmax::register(registry);
}
