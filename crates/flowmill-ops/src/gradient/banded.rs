//! Gradients of matrices with few diagonals, and of the square root of a matrix.

use super::formula::Formula;
use super::linear_algebra::Matrices;
use super::math::{batch_of, summed_batches};
use super::{Grads, all, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;
type Out = Result<OutputId>;

/// `x` moved by one along an axis that counts from the end, -1 or -2: towards its beginning if `forward` is false. Zero comes in.
fn shifted(b: &mut B<'_>, x: OutputId, axis: i32, forward: bool) -> Out {
    // An ellipsis in front of one range or of two.
    let depth = -axis as usize;
    let mut part = |from: i32, to: i32| {
        let range = |at: i32| [&[0, at][..], &vec![0; depth - 1]].concat();
        let (begin, end, step) = (b.ints(&range(from))?, b.ints(&range(to))?, b.ints(&vec![1; depth + 1])?);
        // Bits of the dimensions that begin at their first element, and of those that end with their last.
        let behind = (0..depth - 1).fold(0i64, |mask, i| mask | 4 << i);
        let (from_first, to_last) = (behind | if from == 0 { 2 } else { 0 }, behind | if to == 0 { 2 } else { 0 });
        b.op("StridedSlice")
            .inputs(&[x, begin, end, step])
            .attr("ellipsis_mask", 1i64)
            .attr("begin_mask", from_first)
            .attr("end_mask", to_last)
            .output()
    };
    let (kept, lost) = if forward { (part(0, -1)?, part(-1, 0)?) } else { (part(1, 0)?, part(0, 1)?) };
    let zeros = b.call("ZerosLike", &[lost])?;
    let axis = b.int(axis)?;
    if forward { b.call("ConcatV2", &[zeros, kept, axis]) } else { b.call("ConcatV2", &[kept, zeros, axis]) }
}

/// The diagonals `[..., n]` above the main one, the main one, and below it, of `x yᴴ`.
fn three_diagonals(b: &mut B<'_>, x: OutputId, y: OutputId) -> Result<[OutputId; 3]> {
    let y = b.conj(y)?;
    let (above, below) = (shifted(b, y, -2, false)?, shifted(b, y, -2, true)?);
    let mut diagonal = |other: OutputId| {
        let products = b.mul(x, other)?;
        let axis = b.int(-1)?;
        b.call("Sum", &[products, axis])
    };
    Ok([diagonal(above)?, diagonal(y)?, diagonal(below)?])
}

/// `A⁻ᴴ dY` and minus the three diagonals of that times `Yᴴ`.
pub(crate) fn tridiagonal_solve(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let row = |b: &mut B<'_>, at: i32| {
        let (begin, end, step) = (b.ints(&[0, at, 0])?, b.ints(&[0, at + 1, 0])?, b.ints(&[1, 1, 1])?);
        let slice = b.op("StridedSlice").inputs(&[op.inputs[0], begin, end, step]);
        slice.attr("ellipsis_mask", 1i64).attr("begin_mask", 4i64).attr("end_mask", 4i64).output()
    };
    let (above, main, below) = (row(b, 0)?, row(b, 1)?, row(b, 2)?);
    let (new_above, new_below) = (shifted(b, below, -1, false)?, shifted(b, above, -1, true)?);
    let axis = b.int(-2)?;
    let adjoint = b.op("ConcatV2").inputs(&[new_above, main, new_below]).input(axis).output()?;
    let adjoint = b.conj(adjoint)?;
    let dr = super::like(b, op, "TridiagonalSolve", &[adjoint, dy], &["partial_pivoting", "perturb_singular"])?;
    let diagonals = three_diagonals(b, dr, op.output(0))?;
    let da = b.op("Pack").inputs(&diagonals).attr("axis", -2i64).output()?;
    all([b.neg(da)?, dr])
}

/// The three diagonals of `dY Xᴴ`, and `Aᴴ dY`.
pub(crate) fn tridiagonal_mat_mul(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let &[above, main, below, x] = &op.inputs[..] else { flowmill_tensor::bail!(InvalidArgument, "TridiagonalMatMul has four inputs") };
    let mut grads = Vec::with_capacity(4);
    for diagonal in three_diagonals(b, dy, x)? {
        grads.push(b.rows(diagonal)?);
    }
    let (new_above, new_below) = (shifted(b, below, -1, false)?, shifted(b, above, -1, true)?);
    let (new_above, main, new_below) = (b.conj(new_above)?, b.conj(main)?, b.conj(new_below)?);
    grads.push(b.call("TridiagonalMatMul", &[new_above, main, new_below, dy])?);
    all(grads)
}

/// Solves like the gradients of other triangular systems; of the matrix's gradient only the bands are kept.
pub(crate) fn banded_triangular_solve(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let node = b.graph().node(op.node)?;
    let (is_lower, is_adjoint): (bool, bool) = (node.attrs().get_or("lower", true)?, node.attrs().get_or("adjoint", false)?);
    let (bands, rhs, y) = (op.inputs[0], op.inputs[1], op.output(0));
    let dr = b.op("BandedTriangularSolve").inputs(&[bands, dy]).attr("adjoint", !is_adjoint).attr("lower", is_lower).output()?;
    let da = if is_adjoint { b.product_adjoint(y, dr)? } else { b.product_adjoint(dr, y)? };
    let da = b.neg(da)?;
    let (sa, sr) = (b.dynamic_shape_of(bands)?, b.dynamic_shape_of(rhs)?);
    let count = last_size(b, sa, -2)?;
    let (one, zero) = (b.int(1)?, b.int(0)?);
    let most = b.sub(count, one)?;
    let limits = if is_lower { [b.neg(most)?, zero] } else { [zero, most] };
    let k = b.op("Pack").inputs(&limits).output()?;
    let padding = b.number(da, 0.0)?;
    let da = b.op("MatrixDiagPartV3").inputs(&[da, k, padding]).attr("align", "LEFT_RIGHT").output()?;
    // Of one diagonal the band's dimension is gone.
    all(summed_batches(b, [da, dr], [sa, sr])?)
}

/// One of the last elements of a shape, as a scalar.
fn last_size(b: &mut B<'_>, shape: OutputId, at: i32) -> Out {
    let (begin, end, step) = (b.ints(&[at])?, b.ints(&[at + 1])?, b.ints(&[1])?);
    b.op("StridedSlice").inputs(&[shape, begin, end, step]).attr("shrink_axis_mask", 1i64).output()
}

/// The gradient of `R = √A` is the solution `S` of `Rᴴ S + S Rᴴ = dR`, a linear system of `n²` unknowns: `(Rᴴ ⊗ 1 + 1 ⊗ R̄) vec(S) = vec(dR)`.
pub(crate) fn matrix_square_root(b: &mut B<'_>, op: &Backward) -> Grads {
    let (root, dy) = (op.output(0), op.dy(b, 0)?);
    let shape = b.dynamic_shape_of(root)?;
    let batch = batch_of(b, shape)?;
    let n = last_size(b, shape, -1)?;
    let one = b.number(root, 1.0)?;
    let sizes = b.op("Pack").inputs(&[n]).output()?;
    let ones = b.call("Fill", &[sizes, one])?;
    let identity = b.call("MatrixDiag", &[ones])?;
    let conjugate = b.conj(root)?;
    // Kronecker products, rows and columns each by a pair of indices.
    let adjoint_side = b.op("Einsum").inputs(&[conjugate, identity]).attr("equation", "...ji,kl->...ikjl").output()?;
    let other_side = b.op("Einsum").inputs(&[identity, conjugate]).attr("equation", "ij,...kl->...ikjl").output()?;
    let sum = b.add(adjoint_side, other_side)?;
    let (squared, axis, one) = (b.mul(n, n)?, b.int(0)?, b.int(1)?);
    let matrix_sizes = b.op("Pack").inputs(&[squared, squared]).output()?;
    let vector_sizes = b.op("Pack").inputs(&[squared, one]).output()?;
    let matrix_shape = b.call("ConcatV2", &[batch, matrix_sizes, axis])?;
    let vector_shape = b.call("ConcatV2", &[batch, vector_sizes, axis])?;
    let (matrix, vector) = (b.reshape(sum, matrix_shape)?, b.reshape(dy, vector_shape)?);
    let solution = b.call("MatrixSolve", &[matrix, vector])?;
    first(b.reshape(solution, shape)?, 0)
}
