//! Matrix products, factorisations, and diagonals of matrices.

mod banded;
mod batch_matmul;
mod decompose;
mod diagonal;
mod eig;
mod einsum;
mod elimination;
mod exponential;
mod least_squares;
mod logarithm;
mod lu;
mod matmul;
pub(crate) mod part_products;
mod product;
mod schur;
mod square_root;
mod systems;
mod tridiagonal;

use crate::fused_ops::FusedOps;
use flowmill_runtime::{KernelDef, KernelRegistry};
pub(crate) use matmul::FusedMatMul;
pub(crate) use product::{Beside, Sizes, StableRhs};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    banded::register(registry);
    registry.add("BatchMatMul", batch_matmul::make_v1);
    registry.add("BatchMatMulV2", batch_matmul::make_v2);
    registry.add("BatchMatMulV3", batch_matmul::make_v3);
    for op in ["Cholesky", "BatchCholesky"] {
        registry.add(op, systems::make_cholesky);
    }
    for op in ["CholeskyGrad", "BatchCholeskyGrad"] {
        registry.add(op, decompose::make_cholesky_grad);
    }
    registry.add("Diag", diagonal::make_tensor_diag);
    registry.add("DiagPart", diagonal::make_tensor_diag_part);
    eig::register(registry);
    registry.add("Einsum", einsum::make_einsum);
    exponential::register(registry);
    registry.add("LogMatrixDeterminant", decompose::make_log_determinant);
    least_squares::register(registry);
    logarithm::register(registry);
    lu::register(registry);
    registry.add("MatMul", matmul::make_matmul);
    for op in ["MatrixBandPart", "BatchMatrixBandPart"] {
        registry.add(op, diagonal::make_band_part);
    }
    for op in ["MatrixDeterminant", "BatchMatrixDeterminant"] {
        registry.add(op, decompose::make_determinant);
    }
    for op in ["MatrixDiag", "BatchMatrixDiag"] {
        registry.add(op, diagonal::make_diag);
    }
    for op in ["MatrixDiagPart", "BatchMatrixDiagPart"] {
        registry.add(op, diagonal::make_diag_part);
    }
    registry.add("MatrixDiagPartV2", diagonal::make_diag_part);
    registry.add("MatrixDiagPartV3", diagonal::make_diag_part);
    registry.add("MatrixDiagV2", diagonal::make_diag);
    registry.add("MatrixDiagV3", diagonal::make_diag);
    for op in ["MatrixInverse", "BatchMatrixInverse"] {
        registry.add(op, systems::make_inverse);
    }
    for op in ["MatrixSetDiag", "BatchMatrixSetDiag"] {
        registry.add(op, diagonal::make_set_diag);
    }
    registry.add("MatrixSetDiagV2", diagonal::make_set_diag);
    registry.add("MatrixSetDiagV3", diagonal::make_set_diag);
    square_root::register(registry);
    for op in ["MatrixSolve", "BatchMatrixSolve"] {
        registry.add(op, systems::make_solve);
    }
    for op in ["MatrixTriangularSolve", "BatchMatrixTriangularSolve"] {
        registry.add(op, systems::make_triangular_solve);
    }
    for op in ["SelfAdjointEig", "BatchSelfAdjointEig"] {
        registry.add(op, decompose::make_self_adjoint_eig_v1);
    }
    registry.add("Qr", decompose::make_qr);
    for op in ["SelfAdjointEigV2", "BatchSelfAdjointEigV2"] {
        registry.add(op, decompose::make_self_adjoint_eig);
    }
    for op in ["Svd", "BatchSvd"] {
        registry.add(op, decompose::make_svd);
    }
    tridiagonal::register(registry);
    registry.add("_HoistedMatMul", part_products::make_hoisted);
    registry.add("_PartMatMul", part_products::make_of_part);
    registry.register("_FusedMatMul", KernelDef::new(matmul::make_fused_matmul).fuses(FusedOps::can_be_of_product));
}
