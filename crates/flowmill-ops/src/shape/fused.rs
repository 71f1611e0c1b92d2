//! Ops that the optimizer makes of others.

use super::{common, dims};
use flowmill_graph::{ElementwiseProgram, InferenceContext as Context};
use flowmill_tensor::{PartialShape, Result, error};

/// Infers the results of a program of element-wise functions, whose operands broadcast.
pub(crate) fn fused_elementwise(c: &mut Context<'_>) -> Result<()> {
    let program = ElementwiseProgram::from_attrs(c.attrs(), c.num_inputs())?;
    let mut values = Vec::with_capacity(program.pieces.len() + program.instructions.len());
    for (i, piece) in program.pieces.iter().enumerate() {
        values.push(if piece.is_whole() { c.input(i) } else { self::piece(c, &c.input(i), piece.count as i64)? });
    }
    for instruction in &program.instructions {
        let shape = instruction
            .operands
            .iter()
            .try_fold(PartialShape::scalar(), |shape, &value| PartialShape::broadcast(&shape, &values[value]))?;
        values.push(shape);
    }
    for (i, &value) in program.outputs.iter().enumerate() {
        c.set_output(i, values[value].clone());
        // Scalars are not fused.
        c.set_min_rank(i, 1);
    }
    Ok(())
}

/// One of `count` equal parts of the last dimension.
fn piece(c: &Context<'_>, shape: &PartialShape, count: i64) -> Result<PartialShape> {
    let Some(rank) = shape.rank().filter(|_| count > 0) else { return Ok(PartialShape::unknown()) };
    let last = rank.checked_sub(1).ok_or_else(|| error!(InvalidArgument, "a scalar has no {count} parts"))?;
    let size = dims::size(shape, last);
    Ok(dims::replaced(shape, last, if size < 0 { c.symbolic_quotient(size, count) } else { size / count }))
}

/// The input, normalised over its last dimension, times and plus vectors.
pub(crate) fn fused_layer_norm(c: &mut Context<'_>) -> Result<()> {
    let x = dims::with_rank_at_least(&c.input(0), 1)?;
    let shape = PartialShape::broadcast(&x, &c.input(1))?;
    common::set_all(c, &shape)
}
