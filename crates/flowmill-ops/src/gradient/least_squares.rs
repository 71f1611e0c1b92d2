//! The gradient of solutions with least squares, by way of the normal equations: Giles, "Collected matrix derivative results for forward and reverse
//! mode algorithmic differentiation".

use super::Grads;
use super::formula::Formula;
use super::linear_algebra::Matrices;
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::{Backward, Grad};
use flowmill_tensor::{Result, bail};

type B<'a> = ScopedBuilder<'a>;
type Out = Result<OutputId>;

/// `A x ≈ b` with a regularizer.
#[derive(Clone, Copy)]
struct System {
    a: OutputId,
    b: OutputId,
    regularizer: OutputId,
    x: OutputId,
    dx: OutputId,
}

pub(crate) fn matrix_solve_ls(b: &mut B<'_>, op: &Backward) -> Grads {
    if !b.graph().node(op.node)?.attrs().get_or("fast", true)? {
        bail!(InvalidArgument, "Gradient not defined for fast=False");
    }
    let system = System { a: op.inputs[0], b: op.inputs[1], regularizer: op.inputs[2], x: op.output(0), dx: op.dy(b, 0)? };
    let shape = b.shape(system.a);
    let found = match shape.dims() {
        Some(&[.., m, n]) if m >= 0 && n >= 0 => system.gradients(b, m >= n)?,
        _ => {
            let is_tall = has_no_more_columns_than_rows(b, system.a)?;
            b.cond("cond", is_tall, |b| system.gradients(b, true), |b| system.gradients(b, false))?
        }
    };
    Ok(found.into_iter().map(|grad| Some(Grad::Dense(grad))).chain([None]).collect())
}

fn has_no_more_columns_than_rows(b: &mut B<'_>, matrix: OutputId) -> Out {
    let shape = b.call("Shape", &[matrix])?;
    let size = |b: &mut B<'_>, from_end: i32| {
        let (begin, end, step) = (b.ints(&[-from_end])?, b.ints(&[1 - from_end])?, b.ints(&[1])?);
        let to_end = i64::from(from_end == 1);
        b.op("StridedSlice").inputs(&[shape, begin, end, step]).attr("shrink_axis_mask", 1i64).attr("end_mask", to_end).output()
    };
    let (rows, columns) = (size(b, 2)?, size(b, 1)?);
    b.call("GreaterEqual", &[rows, columns])
}

impl System {
    /// The gradients of `A` and `b`. With `G` for `AᴴA + λ` of a tall matrix and `AAᴴ + λ` of a wide one: `z = G⁻¹ dx`, `dA = b zᴴ - A (x zᴴ + z
    /// xᴴ)`,
    /// `db = A z`, or `db = G⁻¹ A dx`, `z = G⁻¹ b`, `dA = z dxᴴ - (z dbᴴ + db zᴴ) A`.
    fn gradients(self, b: &mut B<'_>, is_tall: bool) -> Result<Vec<OutputId>> {
        let factor = self.factor(b, is_tall)?;
        let twice = |b: &mut B<'_>, x: OutputId| -> Out {
            let other = b.adjoint(x)?;
            b.add(x, other)
        };
        if is_tall {
            let z = solve(b, factor, self.dx)?;
            let across = b.product_adjoint(self.x, z)?;
            let across = twice(b, across)?;
            let (along, across) = (b.product_adjoint(self.b, z)?, b.product(self.a, across)?);
            return Ok(vec![b.sub(along, across)?, b.product(self.a, z)?]);
        }
        let along = b.product(self.a, self.dx)?;
        let db = solve(b, factor, along)?;
        let z = solve(b, factor, self.b)?;
        let across = b.product_adjoint(z, db)?;
        let across = twice(b, across)?;
        let (along, across) = (b.product_adjoint(z, self.dx)?, b.product(across, self.a)?);
        Ok(vec![b.sub(along, across)?, db])
    }

    /// The lower triangle whose product with its adjoint is `G`.
    fn factor(self, b: &mut B<'_>, is_tall: bool) -> Out {
        let product = if is_tall { b.adjoint_product(self.a, self.a)? } else { b.product_adjoint(self.a, self.a)? };
        let regularizer = b.cast(self.regularizer, b.dtype(self.a))?;
        let diagonal = b.call("MatrixDiagPart", &[product])?;
        let diagonal = b.add(diagonal, regularizer)?;
        let product = b.call("MatrixSetDiag", &[product, diagonal])?;
        b.call("Cholesky", &[product])
    }
}

/// `(L Lᴴ)⁻¹ y`.
fn solve(b: &mut B<'_>, l: OutputId, y: OutputId) -> Out {
    let half = b.op("MatrixTriangularSolve").inputs(&[l, y]).attr("lower", true).output()?;
    b.op("MatrixTriangularSolve").inputs(&[l, half]).attr("lower", true).attr("adjoint", true).output()
}
