//! Shape functions that many families share, and how shape functions read constants.

use super::dims;
use flowmill_graph::{InferenceContext as Context, ValueInfo};
use flowmill_tensor::{DType, PartialShape, Result, bail};

/// The op has no outputs, or nothing is known of them before it runs.
pub(crate) fn unknown(_: &mut Context<'_>) -> Result<()> {
    Ok(())
}

/// Every output is a scalar.
pub(crate) fn scalars(c: &mut Context<'_>) -> Result<()> {
    for i in 0..c.num_outputs() {
        c.set_output(i, PartialShape::scalar());
    }
    Ok(())
}

/// Every output is a vector of `N` elements.
pub(crate) fn vectors_of<const N: i64>(c: &mut Context<'_>) -> Result<()> {
    for i in 0..c.num_outputs() {
        c.set_output(i, PartialShape::new(&[N]));
    }
    Ok(())
}

/// Every output is a vector of unknown length.
pub(crate) fn vectors(c: &mut Context<'_>) -> Result<()> {
    vectors_of::<{ dims::UNKNOWN }>(c)
}

/// Every output has the shape of the first input, and what a handle refers to stays known.
pub(crate) fn unchanged(c: &mut Context<'_>) -> Result<()> {
    for i in 0..c.num_outputs() {
        pass(c, 0, i);
    }
    Ok(())
}

/// Output `i` has the shape of input `i`.
pub(crate) fn unchanged_each(c: &mut Context<'_>) -> Result<()> {
    for i in 0..c.num_outputs() {
        pass(c, i, i);
    }
    Ok(())
}

/// Like [`unchanged`], for an input of rank `RANK`.
pub(crate) fn unchanged_with_rank<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let shape = dims::with_rank(&c.input(0), RANK)?;
    set_all(c, &shape)
}

/// The output is like input `I`, of rank `RANK`.
pub(crate) fn input_of_rank<const I: usize, const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(I), RANK)?;
    c.set_output(0, input);
    Ok(())
}

/// Like [`unchanged`], for an input of rank `RANK` or more.
pub(crate) fn unchanged_with_rank_at_least<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let shape = dims::with_rank_at_least(&c.input(0), RANK)?;
    set_all(c, &shape)
}

/// The outputs are the inputs: their shapes, their values, and what they refer to. Of a value that is known in part nothing is, as in TensorFlow.
pub(crate) fn identity(c: &mut Context<'_>) -> Result<()> {
    for i in 0..c.num_outputs() {
        if let (Some(value), Some(output)) = (c.value(i), c.output_mut(i)) {
            *output = ValueInfo { as_shape: None, ..value.clone() };
        }
    }
    Ok(())
}

/// All inputs and the output have one shape.
pub(crate) fn merged(c: &mut Context<'_>) -> Result<()> {
    let mut shape = c.input(0);
    for i in 1..c.num_inputs() {
        shape = shape.merge(&c.input(i))?;
    }
    set_all(c, &shape)
}

/// The outputs have the shape of attribute `shape`.
pub(crate) fn shape_attr(c: &mut Context<'_>) -> Result<()> {
    let shape = shape_of_attr(c, "shape")?;
    set_all(c, &shape)
}

/// The shape that an attribute states, which must be one that a tensor can have.
pub(crate) fn shape_of_attr(c: &Context<'_>, attr: &str) -> Result<PartialShape> {
    let shape: PartialShape = c.attrs().get(attr)?;
    let known = shape.dims().unwrap_or_default().iter().take_while(|&&d| d >= 0);
    if known.filter(|&&d| d > 0).try_fold(1i64, |n, &d| n.checked_mul(d)).is_none() {
        bail!(InvalidArgument, "Shape {shape} is too large (more than 2**63 - 1 entries)");
    }
    Ok(shape)
}

/// The output has the shape that the value of input `I` gives.
pub(crate) fn shape_input<const I: usize>(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input_as_shape(I)?;
    set_all(c, &shape)
}

/// Every output has this shape.
pub(crate) fn set_all(c: &mut Context<'_>, shape: &PartialShape) -> Result<()> {
    for i in 0..c.num_outputs() {
        c.set_output(i, shape.clone());
    }
    Ok(())
}

/// Output `output` has the shape and the elements of input `input`.
pub(crate) fn pass(c: &mut Context<'_>, input: usize, output: usize) {
    if let (Some(value), Some(out)) = (c.value(input), c.output_mut(output)) {
        out.shape = value.shape.clone();
        out.elements = value.elements.clone();
    }
}

/// Input `i` must be a scalar.
pub(crate) fn expect_scalar(c: &Context<'_>, i: usize) -> Result<()> {
    dims::with_rank(&c.input(i), 0).map(drop)
}

/// Input `i` must be a vector; its length.
pub(crate) fn expect_vector(c: &Context<'_>, i: usize) -> Result<i64> {
    Ok(dims::size(&dims::with_rank(&c.input(i), 1)?, 0))
}

/// The value of input `i`, if it is a known integer of one element.
pub(crate) fn int(c: &Context<'_>, i: usize) -> Result<Option<i64>> {
    match c.constant(i) {
        Some(t) if t.num_elements() == 1 => Ok(t.to_i64_vec()?.first().copied()),
        Some(_) => bail!(InvalidArgument, "Shape must be rank 0 but is rank {}", c.input(i).rank().unwrap_or(0)),
        None => Ok(None),
    }
}

/// The value of input `i`, if it is a known list of integers.
pub(crate) fn ints(c: &Context<'_>, i: usize) -> Result<Option<Vec<i64>>> {
    c.constant(i).map(|t| t.to_i64_vec()).transpose()
}

/// The integer in scalar input `i`, unknown if its value is. An integer for which `refusal` returns a message is an error.
pub(crate) fn int_input(c: &Context<'_>, i: usize, refusal: impl FnOnce(i64) -> Option<String>) -> Result<i64> {
    expect_scalar(c, i)?;
    let Some(n) = int(c, i)? else { return Ok(dims::UNKNOWN) };
    match refusal(n) {
        Some(message) => bail!(InvalidArgument, "{message}"),
        None => Ok(n),
    }
}

/// The size that scalar input `i` gives, unknown if its value is.
pub(crate) fn size_input(c: &Context<'_>, i: usize) -> Result<i64> {
    int_input(c, i, |n| (n < 0).then(|| format!("Dimension size, given by scalar input {i}, must be non-negative but is {n}")))
}

/// The shape of the variable that input `i` is a handle to.
pub(crate) fn variable_shape_of(c: &Context<'_>, i: usize) -> PartialShape {
    c.value(i).and_then(|v| v.elements.as_ref()?.first()).map_or_else(PartialShape::unknown, |(_, shape)| shape.clone())
}

/// All inputs and the output have one shape, of rank `RANK`.
pub(crate) fn merged_first<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let mut shape = dims::with_rank(&c.input(0), RANK)?;
    for i in 1..c.num_inputs() {
        shape = shape.merge(&c.input(i))?;
    }
    set_all(c, &shape)
}

/// The type's name in TensorFlow's messages.
pub(crate) fn cpp_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::F16 => "half",
        _ => dtype.name(),
    }
}
