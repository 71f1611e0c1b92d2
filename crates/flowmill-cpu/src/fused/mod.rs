//! Kernels of the ops that only the optimizer makes.

mod blocks;
mod elementwise;
mod layer_norm;
mod program;

use flowmill_runtime::{KernelDef, KernelRegistry};

/// Registers the family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.register("_FusedElementwise", KernelDef::new(elementwise::make).fuses(|op| program::function(op).is_some()));
    registry.add("_FusedLayerNorm", layer_norm::make);
}
