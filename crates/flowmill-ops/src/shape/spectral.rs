//! Fourier transforms.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result};

/// A Fourier transform over the last `RANK` dimensions, whose sizes stay.
pub(crate) fn fft<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    common::unchanged_with_rank_at_least::<RANK>(c)
}

/// One between real and complex numbers: the last `RANK` dimensions have the sizes in input 1, the last one of complex numbers half of that and one.
pub(crate) fn rfft<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), RANK)?;
    dims::expect(common::expect_vector(c, 1)?, RANK as i64)?;
    let forward = c.op_def().name.starts_with("RFFT");
    let mut sizes = common::ints(c, 1)?.filter(|sizes| sizes.len() == RANK).unwrap_or_else(|| vec![dims::UNKNOWN; RANK]);
    if let Some(last) = sizes.last_mut()
        && forward
        && *last > 0
    {
        *last = *last / 2 + 1;
    }
    let outer = dims::without_last(&input, RANK);
    c.set_output(0, outer.concat(&PartialShape::new(&sizes)));
    Ok(())
}

/// A transform along the dimensions that input 2 names. They get the sizes in input 1; where complex numbers represent the transform of real ones,
/// the last dimension has half its size plus one.
pub(crate) fn fft_nd(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 1)?;
    let Some(sizes) = input.dims() else { return Ok(()) };
    let mut sizes = sizes.to_vec();
    let forward = c.op_def().name.starts_with("RFFT");
    let lengths = common::ints(c, 1)?;
    match common::ints(c, 2)? {
        None => sizes.fill(dims::UNKNOWN),
        Some(axes) => {
            for (i, &axis) in axes.iter().enumerate() {
                let mut size = lengths.as_ref().and_then(|lengths| lengths.get(i).copied()).filter(|&n| n >= 0).unwrap_or(dims::UNKNOWN);
                if forward && i + 1 == axes.len() && size > 0 {
                    size = size / 2 + 1;
                }
                // The kernel says what is wrong with others.
                if let Ok(axis) = dims::axis(axis, sizes.len()) {
                    sizes[axis] = size;
                }
            }
        }
    }
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}
