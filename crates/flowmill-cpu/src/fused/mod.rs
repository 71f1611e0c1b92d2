//! Kernels of ops that only the optimiser makes.

mod blocks;
mod elementwise;
mod layer_norm;
mod program;

use flowmill_runtime::{KernelDef, KernelRegistry};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.register("_FusedElementwise", KernelDef::new(elementwise::make).fuses(|function| program::code_of(function).is_some()));
    registry.add("_FusedLayerNorm", layer_norm::make);
}
