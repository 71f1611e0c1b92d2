//! Control flow: what is known on both sides of a branch, a frame, or a call.

use super::{common, dims};
use flowmill_graph::{InferenceContext as Context, ValueInfo};
use flowmill_tensor::{PartialShape, Result, bail};

/// Both outputs are the data.
pub(crate) fn switch(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)?;
    for i in 0..c.num_outputs() {
        common::pass(c, 0, i);
    }
    Ok(())
}

/// The part of the shape that all inputs share; the second output is the number of the input that arrived.
pub(crate) fn merge(c: &mut Context<'_>) -> Result<()> {
    let mut shape = c.input(0);
    let mut elements = c.value(0).and_then(|v| v.elements.clone());
    for i in 1..c.num_inputs() {
        shape = shape.relax(&c.input(i));
        elements = elements.filter(|e| c.value(i).is_some_and(|v| v.elements.as_ref() == Some(e)));
    }
    if let Some(output) = c.output_mut(0) {
        *output = ValueInfo { shape, elements, ..ValueInfo::default() };
    }
    c.set_output(1, PartialShape::scalar());
    Ok(())
}

/// Into a frame. The first iteration says nothing of the shapes of later ones, so only a loop invariant stays what it is; what a handle refers to
/// stays known.
pub(crate) fn enter(c: &mut Context<'_>) -> Result<()> {
    if c.attrs().get("is_constant")? {
        return common::identity(c);
    }
    let elements = c.value(0).and_then(|v| v.elements.clone());
    if let Some(output) = c.output_mut(0) {
        output.elements = elements;
    }
    Ok(())
}

/// A condition, passed on.
pub(crate) fn loop_cond(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 0)?;
    common::scalars(c)
}

/// The outputs of a branch: what attribute `output_shapes` says, if anything.
pub(crate) fn branch(c: &mut Context<'_>) -> Result<()> {
    let shapes: Vec<PartialShape> = c.attrs().list("output_shapes")?;
    if shapes.is_empty() {
        return Ok(());
    }
    set_declared(c, shapes)
}

/// The outputs of a loop: what attribute `output_shapes` says, or the shapes that go in.
pub(crate) fn while_loop(c: &mut Context<'_>) -> Result<()> {
    let shapes: Vec<PartialShape> = c.attrs().list("output_shapes")?;
    if shapes.is_empty() {
        return common::unchanged_each(c);
    }
    set_declared(c, shapes)
}

fn set_declared(c: &mut Context<'_>, shapes: Vec<PartialShape>) -> Result<()> {
    if shapes.len() != c.num_outputs() {
        bail!(InvalidArgument, "`output_shapes` must be the same length as num outputs ({} vs. {})", shapes.len(), c.num_outputs());
    }
    for (i, shape) in shapes.into_iter().enumerate() {
        c.set_output(i, shape);
    }
    Ok(())
}

/// The gradients of a function's inputs have the inputs' shapes.
pub(crate) fn symbolic_gradient(c: &mut Context<'_>) -> Result<()> {
    if c.num_inputs() < c.num_outputs() {
        bail!(InvalidArgument, "len(inputs) < len(outputs)");
    }
    common::unchanged_each(c)
}

/// A function's argument: what the caller's node was told of it.
pub(crate) fn arg(c: &mut Context<'_>) -> Result<()> {
    if c.attrs().contains("_output_shapes") {
        let shapes: Vec<PartialShape> = c.attrs().list("_output_shapes")?;
        c.set_output(0, shapes.into_iter().next().unwrap_or_default());
    }
    if c.attrs().contains("_handle_dtypes") && c.attrs().contains("_handle_shapes") {
        let (dtypes, shapes) = (c.attrs().list("_handle_dtypes")?, c.attrs().list("_handle_shapes")?);
        c.set_output(0, PartialShape::scalar());
        if let Some(output) = c.output_mut(0) {
            output.elements = Some(dtypes.into_iter().zip(shapes).collect());
        }
    }
    Ok(())
}

/// Tensors of several callers in one batch, where each came from, and the batch's id.
pub(crate) fn batch(c: &mut Context<'_>) -> Result<()> {
    for i in 0..c.num_inputs() {
        let rows = dims::with_rank_at_least(&c.input(i), 1)?;
        c.set_output(i, PartialShape::new(&[dims::UNKNOWN]).concat(&dims::suffix(&rows, 1)));
    }
    c.set_output(c.num_inputs(), PartialShape::new(&[dims::UNKNOWN, 3]));
    c.set_output(c.num_inputs() + 1, PartialShape::scalar());
    Ok(())
}

/// The gradients of a batch's callers.
pub(crate) fn unbatch_grad(c: &mut Context<'_>) -> Result<()> {
    if let Some(rank) = c.input(2).rank() {
        c.set_output(0, PartialShape::new(&vec![dims::UNKNOWN; rank]));
    }
    Ok(())
}

/// One caller's rows of a batch.
pub(crate) fn unbatch(c: &mut Context<'_>) -> Result<()> {
    let rows = dims::with_rank_at_least(&c.input(0), 1)?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]).concat(&dims::suffix(&rows, 1)));
    Ok(())
}

/// One of the references from input 1 on: their shape if all have one that is known.
pub(crate) fn ref_select(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    let shape = c.input(1);
    if shape.is_fully_defined() && (2..c.num_inputs()).all(|i| c.input(i) == shape) {
        c.set_output(0, shape);
    }
    Ok(())
}
