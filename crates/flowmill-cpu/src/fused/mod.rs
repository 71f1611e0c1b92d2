//! Kernels of ops that only the optimiser makes.

mod attention;
mod blocks;
mod elementwise;
mod first_plan;
mod layer_norm;
mod linear;
mod plan;
mod product;
mod program;
mod reduction;

use crate::fused_ops::FusedOps;
use flowmill_runtime::{KernelDef, KernelRegistry};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.register("_FusedAttention", KernelDef::new(attention::make).fuses(attention::can_be));
    registry.register("_FusedElementwise", KernelDef::new(elementwise::make).fuses(|function| program::code_of(function).is_some()));
    registry.register("_FusedElementwiseProduct", KernelDef::new(product::make).fuses(FusedOps::can_be));
    registry.add("_FusedLayerNorm", layer_norm::make);
    linear::register(registry);
    registry.register("_FusedReduction", KernelDef::new(reduction::make).fuses(reduction::can_be));
}
