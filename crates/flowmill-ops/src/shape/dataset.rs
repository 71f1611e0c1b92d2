//! Datasets and iterators: scalars themselves, whose elements have the shapes that attribute `output_shapes` states.

use super::{common, dims};
use flowmill_graph::{ArgDef, ArgType, InferenceContext as Context};
use flowmill_tensor::{PartialShape, Result, bail};

/// Returns the number of inputs that argument `arg` has.
fn arity(c: &Context<'_>, arg: &ArgDef) -> Result<usize> {
    if let Some(number) = &arg.number_attr {
        let count: i64 = c.attrs().get(number)?;
        return Ok(usize::try_from(count).unwrap_or(0));
    }
    match &arg.ty {
        ArgType::ListAttr(types) => Ok(c.attrs().list::<flowmill_tensor::DType>(types)?.len()),
        _ => Ok(1),
    }
}

/// Checks the ranks of arguments, which are bits by their place: `scalars` are scalars, `vectors` are vectors, `lists` are either.
fn check_ranks(c: &Context<'_>, scalars: u32, vectors: u32, lists: u32) -> Result<()> {
    let mut first = 0;
    for (k, arg) in c.op_def().inputs.iter().enumerate() {
        let count = arity(c, arg)?;
        for i in first..first + count {
            if scalars >> k & 1 == 1 {
                common::expect_scalar(c, i)?;
            } else if vectors >> k & 1 == 1 {
                common::expect_vector(c, i)?;
            } else if lists >> k & 1 == 1 {
                dims::with_rank_at_most(&c.input(i), 1)?;
            }
        }
        first += count;
    }
    Ok(())
}

/// Every output is a scalar, and so are the arguments whose bits are set in `SCALARS`.
pub(crate) fn dataset_of<const SCALARS: u32>(c: &mut Context<'_>) -> Result<()> {
    dataset_of_ranks::<SCALARS, 0, 0>(c)
}

/// Every output is a scalar. Arguments whose bits are set in `SCALARS` are scalars, in `VECTORS` vectors, in `LISTS` scalars or vectors.
pub(crate) fn dataset_of_ranks<const SCALARS: u32, const VECTORS: u32, const LISTS: u32>(c: &mut Context<'_>) -> Result<()> {
    check_ranks(c, SCALARS, VECTORS, LISTS)?;
    common::scalars(c)
}

/// The outputs have the shapes of attribute `output_shapes`. Arguments whose bits are set in `SCALARS` are scalars.
pub(crate) fn elements_of<const SCALARS: u32>(c: &mut Context<'_>) -> Result<()> {
    check_ranks(c, SCALARS, 0, 0)?;
    let shapes: Vec<PartialShape> = c.attrs().list("output_shapes")?;
    if shapes.len() != c.num_outputs() {
        bail!(InvalidArgument, "`output_shapes` must be the same length as `output_types` ({} vs. {})", shapes.len(), c.num_outputs());
    }
    for (i, shape) in shapes.into_iter().enumerate() {
        c.set_output(i, shape);
    }
    Ok(())
}
