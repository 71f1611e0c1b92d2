//! Kernels of neural networks.

mod activation;
mod batch_norm;
mod batch_norm_global;
mod bias;
mod conv;
mod conv3d;
mod conv_any;
mod depthwise;
mod dilation;
mod fake_quant;
mod format;
mod fractional_pool;
mod fractional_pool_grad;
mod isotonic;
mod layout;
mod lrn;
mod max_pool;
mod padded_conv;
mod pool;
mod pool3d;
mod softmax;
mod volume;
mod window;

pub(crate) use pool::Pool;
pub(crate) use window::extent;

use flowmill_runtime::KernelRegistry;

/// The family's functions of `float32` that can be fused with others, by their ops.
pub(crate) fn function(op: &str) -> Option<crate::elementwise::Function> {
    activation::function(op)
}

/// Registers the family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    isotonic::register(registry);
    activation::register(registry);
    batch_norm::register(registry);
    batch_norm_global::register(registry);
    bias::register(registry);
    conv::register(registry);
    conv3d::register(registry);
    conv_any::register(registry);
    depthwise::register(registry);
    dilation::register(registry);
    fake_quant::register(registry);
    format::register(registry);
    fractional_pool::register(registry);
    fractional_pool_grad::register(registry);
    lrn::register(registry);
    max_pool::register(registry);
    padded_conv::register(registry);
    pool::register(registry);
    pool3d::register(registry);
    softmax::register(registry);
}
