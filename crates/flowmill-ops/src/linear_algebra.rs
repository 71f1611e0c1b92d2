//! Matrix products, factorisations, and matrices with a diagonal structure.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::Work;

pub(crate) const OPS: &[Op] = &[
    op("MatMul", "(a: T, b: T) -> (product: T)").costly().work(Work::Product("transpose_a")).gradient(gradient::mat_mul)
        .attrs("transpose_a: bool = false; transpose_b: bool = false;
                T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}; grad_a: bool = false;
                grad_b: bool = false")
        .shape(shape::matmul),
    op("BatchMatMul", "(x: T, y: T) -> (output: T)").costly().work(Work::Product("adj_x")).gradient(gradient::batch_mat_mul)
        .attrs("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}; adj_x: bool = false; adj_y: bool = false;
                grad_x: bool = false; grad_y: bool = false")
        .shape(shape::batch_matmul),
    op("BatchMatMulV2", "(x: T, y: T) -> (output: T)").costly().work(Work::Product("adj_x")).gradient(gradient::batch_mat_mul_v2)
        .attrs("T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128};
                adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; grad_y: bool = false")
        .shape(shape::batch_matmul),
    op("BatchMatMulV3", "(x: Ta, y: Tb) -> (output: Tout)").costly().work(Work::Product("adj_x")).gradient(gradient::batch_mat_mul_v3)
        .attrs("Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128};
                Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128};
                Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}; adj_x: bool = false; adj_y: bool = false;
                grad_x: bool = false; grad_y: bool = false")
        .shape(shape::batch_matmul),
    op("Einsum", "(inputs: N * T) -> (output: T)").costly().work(Work::Einsum).gradient(gradient::einsum).attrs("equation: string; N: int >= 1; T: type").shape(shape::einsum),
    op("SparseMatMul", "(a: Ta, b: Tb) -> (product: float)").costly().work(Work::Product("transpose_a")).gradient(gradient::sparse_mat_mul)
        .attrs("transpose_a: bool = false; transpose_b: bool = false; a_is_sparse: bool = false; b_is_sparse: bool = false;
                Ta: {float, bfloat16} = float; Tb: {float, bfloat16} = float")
        .shape(shape::matmul),
    op("Cholesky", "(input: T) -> (output: T)").costly().work(Work::Cubic(1)).gradient(gradient::cholesky).attrs("T: {double, float, half, complex64, complex128}").shape(shape::square),
    op("CholeskyGrad", "(l: T, grad: T) -> (output: T)").costly().work(Work::Cubic(1)).attrs("T: {half, float, double}").shape(shape::square),
    op("MatrixInverse", "(input: T) -> (output: T)").costly().work(Work::Cubic(2)).gradient(gradient::matrix_inverse)
        .attrs("adjoint: bool = false; T: {double, float, half, complex64, complex128}")
        .shape(shape::square),
    op("MatrixDeterminant", "(input: T) -> (output: T)").costly().work(Work::Cubic(1)).gradient(gradient::matrix_determinant).attrs("T: {half, float, double, complex64, complex128}").shape(shape::determinant),
    op("LogMatrixDeterminant", "(input: T) -> (sign: T, log_abs_determinant: T)").costly().work(Work::Cubic(1)).gradient(gradient::log_matrix_determinant)
        .attrs("T: {half, float, double, complex64, complex128}")
        .shape(shape::determinant),
    op("MatrixSolve", "(matrix: T, rhs: T) -> (output: T)").costly().work(Work::Cubic(1)).gradient(gradient::matrix_solve)
        .attrs("adjoint: bool = false; T: {double, float, half, complex64, complex128}")
        .shape(shape::solve),
    op("MatrixSolveLs", "(matrix: T, rhs: T, l2_regularizer: double) -> (output: T)").costly().work(Work::Cubic(2)).gradient(gradient::matrix_solve_ls)
        .attrs("T: {double, float, half, complex64, complex128}; fast: bool = true")
        .shape(shape::solve),
    op("MatrixTriangularSolve", "(matrix: T, rhs: T) -> (output: T)").costly().work(Work::Cubic(1)).gradient(gradient::matrix_triangular_solve)
        .attrs("lower: bool = true; adjoint: bool = false; T: {bfloat16, double, float, half, complex64, complex128}")
        .shape(shape::solve),
    op("MatrixBandPart", "(input: T, num_lower: Tindex, num_upper: Tindex) -> (band: T)").gradient(gradient::matrix_band_part)
        .attrs("T: type; Tindex: index = int64")
        .shape(shape::unchanged_with_rank_at_least::<2>),
    op("MatrixDiag", "(diagonal: T) -> (output: T)").gradient(gradient::matrix_diag).attrs("T: type").shape(shape::matrix_diag),
    op("MatrixDiagV2", "(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> (output: T)").gradient(gradient::matrix_diag)
        .attrs("T: type")
        .shape(shape::matrix_diag_v2),
    op("MatrixDiagV3", "(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> (output: T)").gradient(gradient::matrix_diag)
        .attrs("T: type; align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
        .shape(shape::matrix_diag_v2),
    op("MatrixDiagPart", "(input: T) -> (diagonal: T)").gradient(gradient::matrix_diag_part).attrs("T: type").shape(shape::matrix_diag_part),
    op("MatrixDiagPartV2", "(input: T, k: int32, padding_value: T) -> (diagonal: T)").gradient(gradient::matrix_diag_part).attrs("T: type").shape(shape::matrix_diag_part_v2),
    op("MatrixDiagPartV3", "(input: T, k: int32, padding_value: T) -> (diagonal: T)").gradient(gradient::matrix_diag_part)
        .attrs("T: type; align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
        .shape(shape::matrix_diag_part_v2),
    op("MatrixSetDiag", "(input: T, diagonal: T) -> (output: T)").gradient(gradient::matrix_set_diag).attrs("T: type").shape(shape::matrix_set_diag),
    op("MatrixSetDiagV2", "(input: T, diagonal: T, k: int32) -> (output: T)").gradient(gradient::matrix_set_diag).attrs("T: type").shape(shape::matrix_set_diag),
    op("MatrixSetDiagV3", "(input: T, diagonal: T, k: int32) -> (output: T)").gradient(gradient::matrix_set_diag)
        .attrs("T: type; align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
        .shape(shape::matrix_set_diag),
    op("Diag", "(diagonal: T) -> (output: T)").gradient(gradient::diag).attrs("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}").shape(shape::diag),
    op("DiagPart", "(input: T) -> (diagonal: T)").gradient(gradient::diag_part)
        .attrs("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
        .shape(shape::diag_part),
    op("Qr", "(input: T) -> (q: T, r: T)").costly().work(Work::Cubic(2)).gradient(gradient::qr).attrs("full_matrices: bool = false; T: {double, float, half, complex64, complex128}").shape(shape::qr),
    op("Svd", "(input: T) -> (s: T, u: T, v: T)").costly().work(Work::Cubic(20)).gradient(gradient::svd)
        .attrs("compute_uv: bool = true; full_matrices: bool = false; T: {double, float, half, complex64, complex128}")
        .shape(shape::svd),
    op("SelfAdjointEigV2", "(input: T) -> (e: T, v: T)").costly().work(Work::Cubic(20)).gradient(gradient::self_adjoint_eig)
        .attrs("compute_v: bool = true; T: {double, float, half, complex64, complex128}")
        .shape(shape::self_adjoint_eig),
    op("MatrixSquareRoot", "(input: T) -> (output: T)").costly().work(Work::Cubic(20))
        .gradient(gradient::matrix_square_root)
        .attrs("T: {double, float, half, complex64, complex128}")
        .shape(shape::square),
    op("MatrixLogarithm", "(input: T) -> (output: T)").costly().work(Work::Cubic(20)).attrs("T: {complex64, complex128}").shape(shape::square),
    op("Lu", "(input: T) -> (lu: T, p: output_idx_type)").costly().work(Work::Cubic(1))
        .attrs("T: {double, float, half, complex64, complex128}; output_idx_type: index = int32")
        .shape(shape::lu),
    op("BandedTriangularSolve", "(matrix: T, rhs: T) -> (output: T)").costly()
        .gradient(gradient::banded_triangular_solve)
        .attrs("lower: bool = true; adjoint: bool = false; T: {double, float, half, complex64, complex128}")
        .shape(shape::banded_triangular_solve),
    op("TridiagonalMatMul", "(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> (output: T)").costly()
        .gradient(gradient::tridiagonal_mat_mul)
        .attrs("T: {double, float, complex64, complex128}")
        .shape(shape::tridiagonal_mat_mul),
    op("TridiagonalSolve", "(diagonals: T, rhs: T) -> (output: T)").costly()
        .gradient(gradient::tridiagonal_solve)
        .attrs("partial_pivoting: bool = true; perturb_singular: bool = false; T: {double, float, complex64, complex128}")
        .shape(shape::tridiagonal_solve),
    op("Eig", "(input: T) -> (e: Tout, v: Tout)").costly().work(Work::Cubic(20))
        .gradient(gradient::eig)
        .attrs("compute_v: bool = true; T: {float, double, complex64, complex128}; Tout: {complex64, complex128}")
        .shape(shape::self_adjoint_eig),
    op("MatrixExponential", "(input: T) -> (output: T)").costly().work(Work::Cubic(20))
        .attrs("T: {double, float, half, complex64, complex128}")
        .deprecated(27, "Padé approximants made of products and solutions replace it")
        .shape(shape::square),
];
