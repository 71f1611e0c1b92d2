//! Kernels of neural networks, except for convolutions and pooling.

mod activation;
mod batch_norm;
mod batch_norm_global;
mod bias;
mod cross_entropy;
mod fake_quant;
mod format;
mod isotonic;
pub(crate) mod layout;
mod lrn;
mod softmax;

use flowmill_graph::ElementwiseFunction;
use flowmill_runtime::KernelRegistry;

/// Returns the code of a function of this family on `float32` that can be fused with others.
pub(crate) fn function(function: ElementwiseFunction) -> Option<crate::elementwise::Function> {
    activation::function(function)
}

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    isotonic::register(registry);
    activation::register(registry);
    batch_norm::register(registry);
    batch_norm_global::register(registry);
    bias::register(registry);
    cross_entropy::register(registry);
    fake_quant::register(registry);
    format::register(registry);
    lrn::register(registry);
    softmax::register(registry);
}
