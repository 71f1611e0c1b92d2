//! Ops on quantised integers: the shape of the op on numbers, then two scalars, the range of the result.

use super::{array, common, dims, elementwise, image, matmul, nn, window};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result};
use std::ops::Range;

/// Checks that these inputs are scalars and makes outputs 1 and 2 such.
fn with_range(c: &mut Context<'_>, scalars: impl IntoIterator<Item = usize>) -> Result<()> {
    for i in scalars {
        common::expect_scalar(c, i)?;
    }
    c.set_output(1, PartialShape::scalar());
    c.set_output(2, PartialShape::scalar());
    Ok(())
}

/// Two operands that broadcast, then their ranges.
pub(crate) fn quantized_binary(c: &mut Context<'_>) -> Result<()> {
    elementwise::broadcast_binary(c)?;
    with_range(c, 2..6)
}

/// Each element by itself; of the inputs from `FIRST` on, two are the range.
pub(crate) fn quantized_unchanged<const FIRST: usize>(c: &mut Context<'_>) -> Result<()> {
    common::pass(c, 0, 0);
    with_range(c, FIRST..FIRST + 2)
}

/// Like [`quantized_unchanged`], with a bound before the range.
pub(crate) fn quantized_relu_x(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)?;
    quantized_unchanged::<2>(c)
}

/// A pool and its input's range.
pub(crate) fn quantized_pool(c: &mut Context<'_>) -> Result<()> {
    window::pool::<4>(c)?;
    with_range(c, 1..3)
}

/// Four vectors over the last dimension, each with a range behind it.
pub(crate) fn quantized_batch_norm(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 4)?;
    let mut depth = dims::size(&input, 3);
    for vector in [3, 6, 9, 12] {
        depth = dims::merge(depth, common::expect_vector(c, vector)?)?;
    }
    c.set_output(0, dims::replaced(&input, 3, depth));
    with_range(c, [])
}

/// A vector added to the channels, then the ranges.
pub(crate) fn quantized_bias_add(c: &mut Context<'_>) -> Result<()> {
    nn::bias_add(c)?;
    with_range(c, 2..6)
}

/// The axis, the tensors to join, the least and the greatest numbers of each.
pub(crate) fn quantized_concat(c: &mut Context<'_>) -> Result<()> {
    let count = c.num_inputs().saturating_sub(1) / 3;
    array::concat_along(c, 0, 1..count + 1)?;
    with_range(c, count + 1..c.num_inputs())
}

/// A convolution and the ranges of image and filter.
pub(crate) fn quantized_conv(c: &mut Context<'_>) -> Result<()> {
    window::conv::<4>(c)?;
    with_range(c, 2..6)
}

/// Images of four dimensions and their range.
pub(crate) fn quantized_instance_norm(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 4)?;
    quantized_unchanged::<1>(c)
}

/// A product of matrices and their ranges.
pub(crate) fn quantized_matmul(c: &mut Context<'_>) -> Result<()> {
    matmul::matmul(c)?;
    with_range(c, 2..6)
}

/// The shape that input 1 gives, then the range.
pub(crate) fn quantized_reshape(c: &mut Context<'_>) -> Result<()> {
    array::reshape(c)?;
    with_range(c, 2..4)
}

/// Images of the size in input 1, then their range.
pub(crate) fn quantized_resize(c: &mut Context<'_>) -> Result<()> {
    image::resize(c)?;
    with_range(c, 2..4)
}

/// The range alone.
pub(crate) fn requantization_range(c: &mut Context<'_>) -> Result<()> {
    range_of(c, 1..3, 0)
}

/// The range of what has a range for each channel.
pub(crate) fn requantization_range_per_channel(c: &mut Context<'_>) -> Result<()> {
    range_of(c, 1..3, 1)
}

fn range_of(c: &mut Context<'_>, inputs: Range<usize>, rank: usize) -> Result<()> {
    for i in inputs {
        dims::with_rank(&c.input(i), rank)?;
    }
    common::scalars(c)
}

/// Each element by itself; the range it has and the one it gets.
pub(crate) fn requantize(c: &mut Context<'_>) -> Result<()> {
    common::pass(c, 0, 0);
    with_range(c, 1..5)
}

/// Each element by itself; the ranges of the channels and the one that all get.
pub(crate) fn requantize_per_channel(c: &mut Context<'_>) -> Result<()> {
    common::pass(c, 0, 0);
    for i in 1..3 {
        dims::with_rank(&c.input(i), 1)?;
    }
    with_range(c, 3..5)
}
