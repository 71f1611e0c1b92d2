//! Kernels of pooling, based on `flowmill_numeric::pool`.

mod fractional;
mod fractional_grad;
mod max_pool;
mod pool2d;
mod pool3d;
mod tensors;

pub(crate) use pool2d::Pool;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    fractional::register(registry);
    fractional_grad::register(registry);
    max_pool::register(registry);
    pool2d::register(registry);
    pool3d::register(registry);
}
