//! Matrix products and matrices' diagonals.

mod batch_matmul;
mod matmul;
pub(crate) mod product;

use flowmill_runtime::KernelRegistry;

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    registry.add("BatchMatMul", batch_matmul::make_v1);
    registry.add("BatchMatMulV2", batch_matmul::make_v2);
    registry.add("BatchMatMulV3", batch_matmul::make_v3);
    registry.add("MatMul", matmul::make_matmul);
    registry.add("_FusedMatMul", matmul::make_fused_matmul);
}
