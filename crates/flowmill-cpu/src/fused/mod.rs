//! Kernels of ops that only the optimiser makes.

mod blocks;
mod elementwise;
mod layer_norm;
mod program;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("_FusedElementwise", elementwise::make);
    registry.add("_FusedLayerNorm", layer_norm::make);
}
