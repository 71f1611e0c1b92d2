//! Ops that the optimizer makes of others.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail, error};

/// Element-wise functions of the arguments and of each other: attribute `program` has one a line, with the numbers of its operands.
pub(crate) fn fused_elementwise(c: &mut Context<'_>) -> Result<()> {
    let pieces: Vec<i64> = c.attrs().list("pieces")?;
    let mut values = Vec::with_capacity(c.num_inputs());
    for i in 0..c.num_inputs() {
        let count = pieces.get(2 * i + 1).copied().unwrap_or(1);
        values.push(if count == 1 { c.input(i) } else { piece(c, &c.input(i), count)? });
    }
    for instruction in c.attrs().list::<&str>("program")? {
        let mut shape = PartialShape::scalar();
        for operand in instruction.split(' ').skip(1) {
            let value = operand.parse::<usize>().ok().and_then(|i| values.get(i));
            let value = value.ok_or_else(|| error!(InvalidArgument, "'{instruction}' has an operand that is no earlier value"))?;
            shape = PartialShape::broadcast(&shape, value)?;
        }
        values.push(shape);
    }
    for (i, value) in c.attrs().list::<i64>("outputs")?.into_iter().enumerate() {
        let Some(shape) = usize::try_from(value).ok().and_then(|value| values.get(value)) else {
            bail!(InvalidArgument, "output {i} is value {value}, which there is not")
        };
        c.set_output(i, shape.clone());
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

/// Infers a matrix with the rows of the matrix beside the element and the columns of the weights.
pub(crate) fn fused_read_matmul(c: &mut Context<'_>) -> Result<()> {
    let (x, weights) = (dims::with_rank(&c.input(3), 2)?, dims::with_rank(&c.input(4), 2)?);
    c.set_output(0, PartialShape::new(&[dims::size(&x, 0), dims::size(&weights, 1)]));
    Ok(())
}

/// The input, normalised over its last dimension, times and plus vectors.
pub(crate) fn fused_layer_norm(c: &mut Context<'_>) -> Result<()> {
    let x = dims::with_rank_at_least(&c.input(0), 1)?;
    let shape = PartialShape::broadcast(&x, &c.input(1))?;
    common::set_all(c, &shape)
}
