//! The kernels of GPUs, a family a file.

mod elementwise;
mod fused;
mod host;
mod matmul;

use flowmill_runtime::KernelRegistry;

/// Returns the kernels of devices of type `GPU`.
pub(crate) fn registry() -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    elementwise::register(&mut registry);
    fused::register(&mut registry);
    host::register(&mut registry);
    matmul::register(&mut registry);
    registry
}
