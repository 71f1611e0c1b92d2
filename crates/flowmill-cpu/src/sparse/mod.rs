//! Products and segment sums with sparse operands.

#![forbid(unsafe_code)]

mod matmul;
mod segment;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    matmul::register(registry);
    segment::register(registry);
}
