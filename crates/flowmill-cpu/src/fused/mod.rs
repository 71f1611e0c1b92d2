//! Kernels of the ops that only the optimizer makes.

mod blocks;
mod elementwise;
mod layer_norm;
mod program;

use flowmill_runtime::KernelRegistry;

/// Registers the family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("_FusedElementwise", elementwise::make);
    registry.add("_FusedLayerNorm", layer_norm::make);
}
