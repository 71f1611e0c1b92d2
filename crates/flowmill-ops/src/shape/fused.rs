//! Ops that the optimizer makes of others.

use super::{common, dims};
use flowmill_graph::{ElementwiseProgram, InferenceContext as Context, ReductionInstruction, ReductionProgram};
use flowmill_tensor::{PartialShape, Result, bail, error};

/// Infers the results of a program of element-wise functions, whose operands broadcast.
pub(crate) fn fused_elementwise(c: &mut Context<'_>) -> Result<()> {
    let program = ElementwiseProgram::from_attrs(c.attrs(), c.num_inputs())?;
    let values = program_values(c, &program, 0)?;
    for (i, &value) in program.outputs.iter().enumerate() {
        c.set_output(i, values[value].clone());
        // Scalars are not fused.
        c.set_min_rank(i, 1);
    }
    Ok(())
}

/// Returns the shapes of all values of a program, whose arguments are inputs from `first` on.
fn program_values(c: &Context<'_>, program: &ElementwiseProgram, first: usize) -> Result<Vec<PartialShape>> {
    let mut values = Vec::with_capacity(program.pieces.len() + program.instructions.len());
    for (i, piece) in program.pieces.iter().enumerate() {
        let arg = c.input(first + i);
        values.push(if piece.is_whole() { arg } else { self::piece(c, &arg, piece.count as i64)? });
    }
    for instruction in &program.instructions {
        let shape = instruction
            .operands
            .iter()
            .try_fold(PartialShape::scalar(), |shape, &value| PartialShape::broadcast(&shape, &values[value]))?;
        values.push(shape);
    }
    Ok(values)
}

/// The rows of the result of a program of element-wise functions, times a matrix.
pub(crate) fn elementwise_product(c: &mut Context<'_>) -> Result<()> {
    let num_args = usize::try_from(c.attrs().get::<i64>("N")?).unwrap_or(0);
    let program = ElementwiseProgram::from_attrs(c.attrs(), num_args)?;
    let [output] = program.outputs[..] else { bail!(InvalidArgument, "a program with {} results, not 1", program.outputs.len()) };
    let rows = dims::with_rank_at_least(&program_values(c, &program, 1)?[output], 2)?;
    let matrix = dims::with_rank_at_least(&c.input(0), 2)?;
    let (Some(sizes), Some(&[.., depth, columns])) = (rows.dims(), matrix.dims()) else { return Ok(()) };
    let Some((&last, before)) = sizes.split_last() else { return Ok(()) };
    dims::merge(last, depth)?;
    let product: Vec<i64> = before.iter().copied().chain([columns]).collect();
    c.set_output(0, PartialShape::new(&product));
    Ok(())
}

/// The shape of the last value of a program in which some instructions reduce the program's axes to one element.
pub(crate) fn fused_reduction(c: &mut Context<'_>) -> Result<()> {
    let program = ReductionProgram::from_attrs(c.attrs(), c.num_inputs())?;
    let mut values: Vec<PartialShape> = (0..program.num_args).map(|i| c.input(i)).collect();
    for instruction in &program.instructions {
        let mut operands = instruction.operands().iter();
        let mut shape = operands.try_fold(PartialShape::scalar(), |shape, &value| PartialShape::broadcast(&shape, &values[value]))?;
        if let ReductionInstruction::Reduce(..) = instruction {
            for axis in &program.axes {
                let Some(rank) = shape.rank() else { break };
                let Some(axis) = rank.checked_sub(*axis) else { bail!(InvalidArgument, "{shape} has no axis {axis} from the end") };
                shape = dims::replaced(&shape, axis, 1);
            }
        }
        values.push(shape);
    }
    if let Some(shape) = values.pop() {
        c.set_output(0, shape);
    }
    Ok(())
}

/// The leading dimensions and rows of the query, with the row size of the value.
pub(crate) fn fused_attention(c: &mut Context<'_>) -> Result<()> {
    let interleaved: Vec<bool> = c.attrs().list("interleaved")?;
    let [query_is, _, _, result_is] = interleaved[..] else {
        bail!(InvalidArgument, "interleaved has {} values, not 4", interleaved.len());
    };
    let (query, value) = (dims::with_rank_at_least(&c.input(0), 2)?, dims::with_rank_at_least(&c.input(2), 2)?);
    let (Some(sizes), Some(last)) = (query.dims(), value.dims().and_then(<[i64]>::last)) else { return Ok(()) };
    let mut sizes = sizes.to_vec();
    let rank = sizes.len();
    if query_is != result_is {
        if rank < 3 {
            bail!(InvalidArgument, "{query} has no dimension of heads");
        }
        sizes.swap(rank - 2, rank - 3);
    }
    sizes[rank - 1] = *last;
    c.set_output(0, PartialShape::new(&sizes));
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
