//! Elementwise ops of several tensors.

use super::{common, dims, value};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, bail};

/// Two inputs broadcast by NumPy's rules.
pub(crate) fn broadcast_binary(c: &mut Context<'_>) -> Result<()> {
    let shape = PartialShape::broadcast(&c.input(0), &c.input(1))?;
    common::set_all(c, &shape)
}

/// Like [`broadcast_binary`], but if an attribute of the node says so, shapes that do not broadcast are no error: the comparison is then a scalar.
pub(crate) fn equality(c: &mut Context<'_>) -> Result<()> {
    match PartialShape::broadcast(&c.input(0), &c.input(1)) {
        Ok(shape) => common::set_all(c, &shape),
        Err(_) if !c.attrs().get_or("incompatible_shape_error", true)? => common::scalars(c),
        Err(e) => Err(e),
    }
}

/// All inputs have one shape, whatever their number; the first to contradict the later ones is named.
pub(crate) fn add_n(c: &mut Context<'_>) -> Result<()> {
    let n = c.num_inputs();
    let mut shape = c.input(n.saturating_sub(1));
    for i in (0..n.saturating_sub(1)).rev() {
        shape = c.input(i).merge(&shape).map_err(|e| e.append(format!("\n\tFrom merging shape {i} with other shapes.")))?;
    }
    common::set_all(c, &shape)?;
    let elements = c.value(0).and_then(|v| v.elements.clone());
    if let Some(output) = c.output_mut(0) {
        output.elements = elements;
    }
    Ok(())
}

/// Two branches of one shape; the condition has it too, or is a scalar, or a vector over the first dimension.
pub(crate) fn select(c: &mut Context<'_>) -> Result<()> {
    let data = c.input(1).merge(&c.input(2))?;
    let cond = c.input(0);
    let data = match (cond.rank(), data.rank()) {
        (None, _) | (_, None) | (Some(0), _) => data,
        (Some(1), Some(rank)) if rank > 1 => {
            let first = cond.merge(&PartialShape::new(&[dims::size(&data, 0)]))?;
            dims::replaced(&data, 0, dims::size(&first, 0))
        }
        _ => data.merge(&cond)?,
    };
    common::set_all(c, &data)?;
    value::select(c);
    Ok(())
}

/// Condition and branches broadcast.
pub(crate) fn select_v2(c: &mut Context<'_>) -> Result<()> {
    let branches = PartialShape::broadcast(&c.input(1), &c.input(2))?;
    let shape = PartialShape::broadcast(&c.input(0), &branches)?;
    common::set_all(c, &shape)?;
    value::select(c);
    Ok(())
}

/// Three inputs of one shape, scalars apart.
pub(crate) fn betainc(c: &mut Context<'_>) -> Result<()> {
    let mut shape = PartialShape::scalar();
    for i in 0..c.num_inputs() {
        let input = c.input(i);
        shape = match (shape.rank(), input.rank()) {
            (_, Some(0)) => shape,
            (Some(0), _) => input,
            _ => shape.merge(&input)?,
        };
    }
    let unsure = (0..c.num_inputs()).any(|i| c.input(i).rank().is_none());
    let any_ranked = (0..c.num_inputs()).any(|i| c.input(i).rank().is_some_and(|r| r > 0));
    common::set_all(c, &if unsure && !any_ranked { PartialShape::unknown() } else { shape })
}

/// Vectors of three components.
pub(crate) fn cross(c: &mut Context<'_>) -> Result<()> {
    let a = dims::with_rank_at_least(&c.input(0), 1)?;
    let b = dims::with_rank_at_least(&c.input(1), 1)?;
    let shape = a.merge(&b)?;
    if let Some(rank) = shape.rank() {
        dims::expect(dims::size(&shape, rank - 1), 3)?;
    }
    common::set_all(c, &shape)
}

/// Elements of another width: the last dimension grows or shrinks with them.
pub(crate) fn bitcast(c: &mut Context<'_>) -> Result<()> {
    let width = |name: &str| -> Result<i64> {
        let dtype: DType = c.attrs().get(name)?;
        match dtype.size() {
            Some(n) => Ok(n as i64),
            None => bail!(InvalidArgument, "Cannot bitcast types {} and {} because one of the type sizes is zero", dtype, name),
        }
    };
    let (from, to) = (width("T")?, width("type")?);
    let input = c.input(0);
    let shape = match input.rank() {
        None => input,
        Some(_) if from == to => input,
        Some(0) if from < to => bail!(InvalidArgument, "Shape must be at least rank 1 but is rank 0"),
        Some(rank) if from < to => {
            let last = dims::size(&input, rank - 1);
            if last >= 0 && last != to / from {
                let number = |name| c.attrs().get::<DType>(name).map(DType::number);
                bail!(
                    InvalidArgument,
                    "Cannot bitcast from {} to {} due to shape. {last} does not match {}",
                    number("T")?,
                    number("type")?,
                    to / from
                );
            }
            dims::without_last(&input, 1)
        }
        Some(_) => input.concat(&PartialShape::new(&[from / to])),
    };
    common::set_all(c, &shape)
}

/// [`broadcast_binary`] of integers that may be known.
pub(crate) fn broadcast_binary_of(c: &mut Context<'_>, f: fn(i64, i64) -> Option<i64>) -> Result<()> {
    broadcast_binary(c)?;
    value::binary(c, f)?;
    value::symbolic_binary(c);
    Ok(())
}

/// [`common::unchanged`] for a function of integers that may be known.
pub(crate) fn unchanged_of(c: &mut Context<'_>, f: fn(i64) -> Option<i64>) -> Result<()> {
    common::unchanged(c)?;
    value::unary(c, f)
}

/// Input 0 with elements of another type. Known sizes and small constants are converted among the index types.
pub(crate) fn cast(c: &mut Context<'_>) -> Result<()> {
    common::unchanged(c)?;
    let (from, to): (DType, DType) = (c.attrs().get("SrcT")?, c.attrs().get("DstT")?);
    if !matches!(to, DType::I32 | DType::I64) {
        return Ok(());
    }
    if c.known(0).is_some() {
        let values = value::whole_numbers(c, 0, to);
        value::set_ints(c, to, values);
    } else if matches!(from, DType::I32 | DType::I64) {
        let sizes = value::sizes(c, 0);
        value::set_sizes(c, to, sizes);
    }
    Ok(())
}
