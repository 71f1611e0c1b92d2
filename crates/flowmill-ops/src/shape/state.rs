//! Variables, by reference and by handle, and the steps of optimisers on them.

use super::{common, dims, value};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, bail};

/// A variable by reference. The oldest form means "unknown" by the shape of a scalar.
pub(crate) fn variable(c: &mut Context<'_>) -> Result<()> {
    let shape = common::shape_of_attr(c, "shape")?;
    if c.op_def().name != "Variable" || shape.rank() != Some(0) {
        c.set_output(0, shape);
    }
    Ok(())
}

/// An assignment by reference: the value's shape, which must be the variable's if the node validates it.
pub(crate) fn assign(c: &mut Context<'_>) -> Result<()> {
    let shape = if c.attrs().get("validate_shape")? { c.input(0).merge(&c.input(1))? } else { c.input(1) };
    c.set_output(0, shape);
    Ok(())
}

/// A handle to a variable whose type and shape are attributes.
pub(crate) fn var_handle(c: &mut Context<'_>) -> Result<()> {
    let (dtype, shape) = (c.attrs().get("dtype")?, common::shape_of_attr(c, "shape")?);
    c.set_output(0, PartialShape::scalar());
    if let Some(output) = c.output_mut(0) {
        output.elements = Some(vec![(dtype, shape)]);
    }
    Ok(())
}

/// The shape of the variable that input 0 is a handle to, where it must hold the type in attribute `attr`.
fn typed_variable_shape(c: &Context<'_>, attr: &str, verb: &str) -> Result<PartialShape> {
    let Some((have, shape)) = c.value(0).and_then(|v| v.elements.as_ref()?.first()) else { return Ok(PartialShape::unknown()) };
    let want: DType = c.attrs().get(attr)?;
    if *have != want {
        bail!(
            InvalidArgument,
            "Trying to {verb} variable with wrong dtype. Expected {} got {}",
            common::cpp_name(*have),
            common::cpp_name(want)
        );
    }
    Ok(shape.clone())
}

/// The variable's value.
pub(crate) fn read_variable(c: &mut Context<'_>) -> Result<()> {
    let shape = typed_variable_shape(c, "dtype", "read")?;
    c.set_output(0, shape);
    Ok(())
}

/// A new value, of the variable's shape.
pub(crate) fn assign_variable(c: &mut Context<'_>) -> Result<()> {
    typed_variable_shape(c, "dtype", "initialize")?.merge(&c.input(1))?;
    Ok(())
}

/// The variable's shape as a vector.
pub(crate) fn variable_shape(c: &mut Context<'_>) -> Result<()> {
    let shape = common::variable_shape_of(c, 0);
    c.set_output(0, PartialShape::new(&[shape.rank().map_or(dims::UNKNOWN, |r| r as i64)]));
    value::set_shape(c, 0, c.attrs().get("out_type")?, shape);
    Ok(())
}

/// Slices of the variable at indices.
pub(crate) fn resource_gather(c: &mut Context<'_>) -> Result<()> {
    let params = dims::with_rank_at_least(&typed_variable_shape(c, "dtype", "read")?, 1)?;
    let indices = c.input(1);
    let batch_dims: i64 = c.attrs().get_or("batch_dims", 0)?;
    if batch_dims < 0 {
        bail!(InvalidArgument, "batch_dims is negative ({batch_dims})");
    }
    if let Some(rank) = indices.rank().filter(|&rank| batch_dims > rank as i64) {
        bail!(InvalidArgument, "Expected batch_dims in the range [0, {rank}], but got {batch_dims}");
    }
    let batch = usize::try_from(batch_dims).unwrap_or(0);
    let (Some(p), Some(i)) = (params.dims(), indices.dims()) else { return Ok(()) };
    if p.len() <= batch {
        bail!(InvalidArgument, "Shape must be at least rank {} but is rank {}", batch + 1, p.len());
    }
    for at in 0..batch {
        dims::merge(p[at], i[at])?;
    }
    let shape: PartialShape = p[..batch].iter().chain(&i[batch..]).chain(&p[batch + 1..]).copied().collect();
    c.set_output(0, shape);
    Ok(())
}

/// Slices of the variable at coordinates.
pub(crate) fn resource_gather_nd(c: &mut Context<'_>) -> Result<()> {
    let params = typed_variable_shape(c, "dtype", "read")?;
    let shape = super::index::gathered_nd(&params, &c.input(1))?;
    c.set_output(0, shape);
    Ok(())
}

/// Updates (input 2) for rows (input 1) of a variable by handle; a scalar goes to all.
pub(crate) fn resource_scatter(c: &mut Context<'_>) -> Result<()> {
    let variable = typed_variable_shape(c, "dtype", "read")?;
    check_scatter(&variable, &c.input(1), &c.input(2))
}

/// Like [`resource_scatter`], for a variable by reference, which is also the output.
pub(crate) fn scatter(c: &mut Context<'_>) -> Result<()> {
    check_scatter(&c.input(0), &c.input(1), &c.input(2))?;
    common::unchanged(c)
}

fn check_scatter(variable: &PartialShape, indices: &PartialShape, updates: &PartialShape) -> Result<()> {
    if updates.rank() == Some(0) {
        return Ok(());
    }
    let variable = dims::with_rank_at_least(variable, 1)?;
    updates.merge(&indices.concat(&dims::suffix(&variable, 1)))?;
    Ok(())
}

/// One more than before, up to a limit: a scalar.
pub(crate) fn count_up_to(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 0)?;
    common::scalars(c)
}

/// Like [`count_up_to`], for a variable by handle.
pub(crate) fn resource_count_up_to(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&typed_variable_shape(c, "T", "read")?, 0)?;
    common::scalars(c)
}

/// An optimiser's step. Variable, slots and gradient (`grad` or `delta`) have one shape, everything else is a scalar; with `indices`, the gradient
/// has only some of the rows.
pub(crate) fn optimizer_step(c: &mut Context<'_>) -> Result<()> {
    let mut shape = PartialShape::unknown();
    let mut gradient = None;
    let sparse = c.op_def().inputs.iter().any(|a| a.name == "indices");
    let first_by_handle = c.op_def().inputs.first().is_some_and(|a| a.ty == flowmill_graph::ArgType::Fixed(DType::Resource));
    for (i, arg) in c.op_def().inputs.iter().enumerate() {
        let by_handle = arg.ty == flowmill_graph::ArgType::Fixed(DType::Resource);
        match arg.name.as_str() {
            "grad" if sparse => gradient = Some(i),
            "indices" => drop(common::expect_vector(c, i)?),
            "grad" | "delta" => shape = shape.merge(&c.input(i))?,
            _ if by_handle => shape = shape.merge(&common::variable_shape_of(c, i))?,
            _ if arg.is_ref => shape = shape.merge(&c.input(i))?,
            _ => common::expect_scalar(c, i)?,
        }
    }
    if let Some(gradient) = gradient {
        let gradient = dims::with_rank_at_least(&c.input(gradient), 1)?;
        // By handle, the rows are only compared when the step runs.
        if !first_by_handle {
            dims::suffix(&shape, 1).merge(&dims::suffix(&gradient, 1))?;
        }
    }
    common::set_all(c, &shape)
}
