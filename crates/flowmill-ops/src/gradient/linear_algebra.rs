//! Gradients of factorisations, inverses, determinants and solutions of linear systems, over the last two dimensions.
//!
//! Formulas: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation"; Murray, "Differentiation of the
//! Cholesky decomposition"; Townsend, "Differentiating the singular value decomposition"; Walter and Lehmann, "Algorithmic differentiation of
//! linear algebra functions" (QR).

use super::formula::Formula;
use super::math::summed_batches;
use super::{Grads, all, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::{Result, bail};

type B<'a> = ScopedBuilder<'a>;
type Out = Result<OutputId>;

/// Matrices as a formula writes them.
pub(super) trait Matrices {
    /// `x y`.
    fn product(&mut self, x: OutputId, y: OutputId) -> Out;
    /// `xᴴ y`.
    fn adjoint_product(&mut self, x: OutputId, y: OutputId) -> Out;
    /// `x yᴴ`.
    fn product_adjoint(&mut self, x: OutputId, y: OutputId) -> Out;
    /// `xᴴ`.
    fn adjoint(&mut self, x: OutputId) -> Out;
    /// Numbers per matrix, shaped `[...]`, as matrices of one element, shaped `[..., 1, 1]`.
    fn per_matrix(&mut self, x: OutputId) -> Out;
    /// Vectors `[..., n]` as rows, `[..., 1, n]`.
    fn rows(&mut self, x: OutputId) -> Out;
    /// Vectors `[..., n]` as columns, `[..., n, 1]`.
    fn columns(&mut self, x: OutputId) -> Out;
    /// The triangle on and below the diagonal, or on and above.
    fn triangle(&mut self, x: OutputId, is_lower: bool) -> Out;
    /// The triangle on and below the diagonal, the diagonal halved.
    fn half_lower(&mut self, x: OutputId) -> Out;
    /// `1 / (v_j - v_i)`, zero on the diagonal and where both are equal.
    fn inverse_differences(&mut self, v: OutputId) -> Out;
}

fn multiply(b: &mut B<'_>, x: OutputId, y: OutputId, adj_x: bool, adj_y: bool) -> Out {
    b.op("BatchMatMulV2").inputs(&[x, y]).attr("adj_x", adj_x).attr("adj_y", adj_y).output()
}

impl Matrices for B<'_> {
    fn product(&mut self, x: OutputId, y: OutputId) -> Out {
        multiply(self, x, y, false, false)
    }

    fn adjoint_product(&mut self, x: OutputId, y: OutputId) -> Out {
        multiply(self, x, y, true, false)
    }

    fn product_adjoint(&mut self, x: OutputId, y: OutputId) -> Out {
        multiply(self, x, y, false, true)
    }

    fn adjoint(&mut self, x: OutputId) -> Out {
        // The last two of all axes, swapped.
        let rank = self.rank_of(x)?;
        let (zero, one, two) = (self.int(0)?, self.int(1)?, self.int(2)?);
        let (row, column) = (self.sub(rank, two)?, self.sub(rank, one)?);
        let batch = self.call("Range", &[zero, row, one])?;
        let swapped = self.op("Pack").inputs(&[column, row]).output()?;
        let order = self.call("ConcatV2", &[batch, swapped, zero])?;
        let op = if matches!(self.dtype(x), flowmill_tensor::DType::C64 | flowmill_tensor::DType::C128) {
            "ConjugateTranspose"
        } else {
            "Transpose"
        };
        self.call(op, &[x, order])
    }

    fn per_matrix(&mut self, x: OutputId) -> Out {
        let column = self.columns(x)?;
        self.columns(column)
    }

    fn rows(&mut self, x: OutputId) -> Out {
        let axis = self.int(-2)?;
        self.call("ExpandDims", &[x, axis])
    }

    fn columns(&mut self, x: OutputId) -> Out {
        let axis = self.int(-1)?;
        self.call("ExpandDims", &[x, axis])
    }

    fn triangle(&mut self, x: OutputId, is_lower: bool) -> Out {
        let (all, none) = (self.scalar(-1i64)?, self.scalar(0i64)?);
        let (lower, upper) = if is_lower { (all, none) } else { (none, all) };
        self.call("MatrixBandPart", &[x, lower, upper])
    }

    fn half_lower(&mut self, x: OutputId) -> Out {
        let lower = self.triangle(x, true)?;
        let diagonal = self.call("MatrixDiagPart", &[x])?;
        let half = self.times(diagonal, 0.5)?;
        self.call("MatrixSetDiag", &[lower, half])
    }

    fn inverse_differences(&mut self, v: OutputId) -> Out {
        let (rows, columns) = (self.rows(v)?, self.columns(v)?);
        let differences = self.sub(rows, columns)?;
        let one = self.number(differences, 1.0)?;
        self.call("DivNoNan", &[one, differences])
    }
}

fn flag(b: &B<'_>, op: &Backward, name: &str, default: bool) -> Result<bool> {
    b.graph().node(op.node)?.attrs().get_or(name, default)
}

/// `L⁻ᴴ Φ(Lᴴ dL) L⁻¹`, made symmetric, where `Φ` takes the lower triangle with half of the diagonal.
pub(crate) fn cholesky(b: &mut B<'_>, op: &Backward) -> Grads {
    let (l, dl) = (op.output(0), op.dy(b, 0)?);
    let inner = b.adjoint_product(l, dl)?;
    let inner = b.half_lower(inner)?;
    // L⁻ᴴ inner, and the same from the other side: (L⁻ᴴ (L⁻ᴴ inner)ᴴ)ᴴ.
    let solve =
        |b: &mut B<'_>, rhs: OutputId| b.op("MatrixTriangularSolve").inputs(&[l, rhs]).attr("lower", true).attr("adjoint", true).output();
    let left = solve(b, inner)?;
    let left = b.adjoint(left)?;
    let both = solve(b, left)?;
    let other = b.adjoint(both)?;
    let sum = b.add(both, other)?;
    first(b.times(sum, 0.5)?, 0)
}

/// `-Yᴴ dY Yᴴ`; for the inverse of the adjoint `-Y dYᴴ Y`.
pub(crate) fn matrix_inverse(b: &mut B<'_>, op: &Backward) -> Grads {
    let (y, dy) = (op.output(0), op.dy(b, 0)?);
    let grad = if flag(b, op, "adjoint", false)? {
        let right = b.adjoint_product(dy, y)?;
        b.product(y, right)?
    } else {
        let right = b.product_adjoint(dy, y)?;
        b.adjoint_product(y, right)?
    };
    first(b.neg(grad)?, 0)
}

/// `A⁻ᴴ`.
fn inverse_adjoint(b: &mut B<'_>, matrix: OutputId) -> Out {
    b.op("MatrixInverse").input(matrix).attr("adjoint", true).output()
}

/// `det(A) A⁻ᴴ`.
pub(crate) fn matrix_determinant(b: &mut B<'_>, op: &Backward) -> Grads {
    let (y, dy) = (b.conj(op.output(0))?, op.dy(b, 0)?);
    let scale = b.mul(dy, y)?;
    let scale = b.per_matrix(scale)?;
    let inverse = inverse_adjoint(b, op.inputs[0])?;
    first(b.mul(scale, inverse)?, 0)
}

/// `A⁻ᴴ`, for the logarithm; the sign does not change.
pub(crate) fn log_matrix_determinant(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 1)?;
    let scale = b.per_matrix(dy)?;
    let inverse = inverse_adjoint(b, op.inputs[0])?;
    first(b.mul(scale, inverse)?, 0)
}

/// The gradient of `A` from that of the right side of `A Y = R` (or `Aᴴ Y = R`): `-dR Yᴴ` (or `-Y dRᴴ`).
fn of_matrix(b: &mut B<'_>, y: OutputId, dr: OutputId, is_adjoint: bool) -> Out {
    let product = if is_adjoint { b.product_adjoint(y, dr)? } else { b.product_adjoint(dr, y)? };
    b.neg(product)
}

pub(crate) fn matrix_solve(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let is_adjoint = flag(b, op, "adjoint", false)?;
    let dr = b.op("MatrixSolve").inputs(&[op.inputs[0], dy]).attr("adjoint", !is_adjoint).output()?;
    let da = of_matrix(b, op.output(0), dr, is_adjoint)?;
    all([da, dr])
}

/// Only the triangle counts. The batch dimensions broadcast.
pub(crate) fn matrix_triangular_solve(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (is_adjoint, is_lower) = (flag(b, op, "adjoint", false)?, flag(b, op, "lower", true)?);
    let (matrix, rhs) = (op.inputs[0], op.inputs[1]);
    let dr = b.op("MatrixTriangularSolve").inputs(&[matrix, dy]).attr("adjoint", !is_adjoint).attr("lower", is_lower).output()?;
    let da = of_matrix(b, op.output(0), dr, is_adjoint)?;
    let da = b.triangle(da, is_lower)?;
    let (sa, sr) = (b.dynamic_shape_of(matrix)?, b.dynamic_shape_of(rhs)?);
    all(summed_batches(b, [da, dr], [sa, sr])?)
}

/// `V (diag(dE) + F ∘ Vᴴ dV) Vᴴ` with `F_ij = 1 / (e_j - e_i)`. The op reads the lower triangle alone, which gets what the upper one would.
pub(crate) fn self_adjoint_eig(b: &mut B<'_>, op: &Backward) -> Grads {
    let de = op.dy(b, 0)?;
    let mut inner = b.call("MatrixDiag", &[de])?;
    let v = if flag(b, op, "compute_v", true)? {
        let (e, v, dv) = (op.output(0), op.output(1), op.dy(b, 1)?);
        let differences = b.inverse_differences(e)?;
        let turned = b.adjoint_product(v, dv)?;
        let along = b.mul(differences, turned)?;
        inner = b.add(inner, along)?;
        v
    } else {
        b.op("SelfAdjointEigV2").input(op.inputs[0]).attr("compute_v", true).finish()?.output(1)
    };
    let right = b.product_adjoint(inner, v)?;
    let grad = b.product(v, right)?;
    let other = b.adjoint(grad)?;
    let sum = b.add(grad, other)?;
    first(b.half_lower(sum)?, 0)
}

/// The parts that singular values, left and right vectors give:
/// `U [(F ∘ (Uᴴ dU - dUᴴ U)) S + diag(dS) + S (F ∘ (Vᴴ dV - dVᴴ V))] Vᴴ + (1 - U Uᴴ) dU S⁻¹ Vᴴ + U S⁻¹ dVᴴ (1 - V Vᴴ)`
/// with `F_ij = 1 / (s_j² - s_i²)`.
pub(crate) fn svd(b: &mut B<'_>, op: &Backward) -> Grads {
    let (input, ds) = (op.inputs[0], op.dy(b, 0)?);
    if !flag(b, op, "compute_uv", true)? {
        let node = b.op("Svd").input(input).attr("compute_uv", true).attr("full_matrices", false).finish()?;
        let diagonal = b.call("MatrixDiag", &[ds])?;
        let right = b.product_adjoint(diagonal, node.output(2))?;
        return first(b.product(node.output(1), right)?, 0);
    }
    let is_square = matches!(b.shape(input).dims(), Some([.., m, n]) if m == n && *m >= 0);
    if flag(b, op, "full_matrices", false)? && !is_square {
        bail!(Unimplemented, "SVD gradient is not implemented for full_matrices of a matrix that is not known to be square");
    }
    let (s, u, v) = (op.output(0), op.output(1), op.output(2));
    let (du, dv) = (op.dy(b, 1)?, op.dy(b, 2)?);
    let squares = b.square(s)?;
    let differences = b.inverse_differences(squares)?;
    let skew = |b: &mut B<'_>, x: OutputId, dx: OutputId| -> Out {
        let inner = b.adjoint_product(x, dx)?;
        let other = b.adjoint(inner)?;
        let difference = b.sub(inner, other)?;
        b.mul(differences, difference)
    };
    let (of_u, of_v) = (skew(b, u, du)?, skew(b, v, dv)?);
    let (rows, columns) = (b.rows(s)?, b.columns(s)?);
    let (of_u, of_v) = (b.mul(of_u, rows)?, b.mul(columns, of_v)?);
    let diagonal = b.call("MatrixDiag", &[ds])?;
    let inner = b.add(of_u, of_v)?;
    let inner = b.add(inner, diagonal)?;
    let right = b.product_adjoint(inner, v)?;
    let mut grad = b.product(u, right)?;
    // What leaves the spaces that the vectors span: nothing where they span all.
    let (one, inverse) = (b.number(s, 1.0)?, rows);
    let inverse = b.call("DivNoNan", &[one, inverse])?;
    for (x, dx, y, is_left) in [(u, du, v, true), (v, dv, u, false)] {
        let along = b.adjoint_product(x, dx)?;
        let along = b.product(x, along)?;
        let across = b.sub(dx, along)?;
        let scaled = b.mul(across, inverse)?;
        let part = if is_left { b.product_adjoint(scaled, y)? } else { b.product_adjoint(y, scaled)? };
        grad = b.add(grad, part)?;
    }
    first(grad, 0)
}

/// For `m ≥ n`: `(dQ + Q copyltu(R dRᴴ - dQᴴ Q)) R⁻ᴴ`, where `copyltu` makes a matrix symmetric from its lower triangle.
fn qr_of_tall(b: &mut B<'_>, q: OutputId, r: OutputId, dq: OutputId, dr: OutputId) -> Out {
    let (left, right) = (b.product_adjoint(r, dr)?, b.adjoint_product(dq, q)?);
    let inner = b.sub(left, right)?;
    let half = b.half_lower(inner)?;
    let other = b.adjoint(half)?;
    let symmetric = b.add(half, other)?;
    let along = b.product(q, symmetric)?;
    let sum = b.add(dq, along)?;
    // X R⁻ᴴ = (R⁻¹ Xᴴ)ᴴ.
    let sum = b.adjoint(sum)?;
    let solved = b.op("MatrixTriangularSolve").inputs(&[r, sum]).attr("lower", false).attr("adjoint", false).output()?;
    b.adjoint(solved)
}

/// A wide matrix `[X Y]` has `R = [U W]` with `X = Q U` and `W = Qᴴ Y`.
pub(crate) fn qr(b: &mut B<'_>, op: &Backward) -> Grads {
    let input = op.inputs[0];
    let (q, r, dq, dr) = (op.output(0), op.output(1), op.dy(b, 0)?, op.dy(b, 1)?);
    let shape = b.shape(input);
    let Some(&[.., m, n]) = shape.dims() else { bail!(Unimplemented, "QrGrad not implemented with dynamic shapes.") };
    if m < 0 || n < 0 {
        bail!(Unimplemented, "QrGrad not implemented with dynamic shapes.");
    }
    if flag(b, op, "full_matrices", false)? && m > n {
        bail!(Unimplemented, "QrGrad not implemented when nrows > ncols and full_matrices is true.");
    }
    if m >= n {
        return first(qr_of_tall(b, q, r, dq, dr)?, 0);
    }
    let columns = |b: &mut B<'_>, x: OutputId, from: i64, to: i64| {
        let (begin, end, step) = (b.ints(&[0, from as i32])?, b.ints(&[0, to as i32])?, b.ints(&[1, 1])?);
        // An ellipsis in front of the columns.
        b.op("StridedSlice").inputs(&[x, begin, end, step]).attr("ellipsis_mask", 1i64).output()
    };
    let y = columns(b, input, m, n)?;
    let (u, du, dw) = (columns(b, r, 0, m)?, columns(b, dr, 0, m)?, columns(b, dr, m, n)?);
    let across = b.product_adjoint(y, dw)?;
    let dq = b.add(dq, across)?;
    let dx = qr_of_tall(b, q, u, dq, du)?;
    let dy = b.product(q, dw)?;
    let axis = b.int(-1)?;
    first(b.call("ConcatV2", &[dx, dy, axis])?, 0)
}

/// The gradient for distinct eigenvalues (Boeddeker et al.: "On the computation of complex-valued gradients with application to statistically
/// optimum beamforming", 2017, equation 4.77): `V⁻ᴴ (diag(de) + F̄ ∘ (Vᴴ dv - Vᴴ V Re(diag(Vᴴ dv)))) Vᴴ`.
pub(crate) fn eig(b: &mut B<'_>, op: &Backward) -> Grads {
    let de = op.dy(b, 0)?;
    let mut inner = b.call("MatrixDiag", &[de])?;
    let v = if flag(b, op, "compute_v", true)? {
        let (e, v, dv) = (op.output(0), op.output(1), op.dy(b, 1)?);
        let differences = b.inverse_differences(e)?;
        let differences = b.conj(differences)?;
        let turned = b.adjoint_product(v, dv)?;
        let diagonal = b.call("MatrixDiagPart", &[turned])?;
        let conjugate = b.conj(diagonal)?;
        let sum = b.add(diagonal, conjugate)?;
        let real = b.times(sum, 0.5)?;
        let real = b.call("MatrixDiag", &[real])?;
        let gram = b.adjoint_product(v, v)?;
        let along = b.product(gram, real)?;
        let rest = b.sub(turned, along)?;
        let rest = b.mul(differences, rest)?;
        inner = b.add(inner, rest)?;
        v
    } else {
        let tout = b.graph().node(op.node)?.attrs().attr("Tout").cloned();
        let mut again = b.op("Eig").input(op.inputs[0]).attr("compute_v", true);
        if let Some(tout) = tout {
            again = again.attr("Tout", tout);
        }
        again.finish()?.output(1)
    };
    let right = b.product_adjoint(inner, v)?;
    let turned = b.adjoint(v)?;
    let grad = b.call("MatrixSolve", &[turned, right])?;
    let dtype = b.dtype(op.inputs[0]);
    first(b.cast(grad, dtype)?, 0)
}
