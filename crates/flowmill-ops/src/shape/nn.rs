//! Biases, normalisation, losses.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail};

fn channels_first(c: &Context<'_>) -> Result<bool> {
    Ok(c.attrs().get_or("data_format", "NHWC")?.starts_with("NC"))
}

/// Returns the axis of the channels in a shape of rank `rank`.
fn channel_axis(c: &Context<'_>, rank: usize) -> Result<usize> {
    Ok(if channels_first(c)? { 1 } else { rank.saturating_sub(1) })
}

/// A vector added to the channels.
pub(crate) fn bias_add(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), if channels_first(c)? { 3 } else { 2 })?;
    let bias = dims::with_rank(&c.input(1), 1)?;
    let Some(rank) = input.rank() else {
        c.set_output(0, input);
        return Ok(());
    };
    let axis = channel_axis(c, rank)?;
    let depth = dims::merge(dims::size(&input, axis), dims::size(&bias, 0))?;
    c.set_output(0, dims::replaced(&input, axis, depth));
    Ok(())
}

/// A vector over the channels.
pub(crate) fn bias_add_grad(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), if channels_first(c)? { 3 } else { 2 })?;
    let depth = match input.rank() {
        Some(rank) => dims::size(&input, channel_axis(c, rank)?),
        None => dims::UNKNOWN,
    };
    c.set_output(0, PartialShape::new(&[depth]));
    Ok(())
}

/// Batch normalisation: the image, then vectors over its channels.
pub(crate) fn fused_batch_norm(c: &mut Context<'_>) -> Result<()> {
    let (image, depth) = normalised(c, 1)?;
    c.set_output(0, image);
    for i in 1..c.num_outputs() {
        // The last output of the third form is scratch, of unknown shape.
        let shape = if i == 5 { PartialShape::unknown() } else { PartialShape::new(&[depth]) };
        c.set_output(i, shape);
    }
    Ok(())
}

/// The normalised image and its number of channels, merged with the vectors from input `first_vector` on.
fn normalised(c: &Context<'_>, first_vector: usize) -> Result<(PartialShape, i64)> {
    let ranked = match c.input(0).rank() {
        Some(5) if c.attrs().get_or("data_format", "NHWC")?.len() == 5 => 5,
        _ => c.attrs().get_or("data_format", "NHWC")?.len(),
    };
    let image = dims::with_rank(&c.input(0), ranked)?;
    let axis = channel_axis(c, ranked)?;
    let mut depth = dims::size(&image, axis);
    let vectors = if c.attrs().get_or("is_training", true)? { 2 } else { 4 };
    for i in first_vector..(first_vector + vectors).min(c.num_inputs()) {
        depth = dims::merge(depth, common::expect_vector(c, i)?)?;
    }
    Ok((dims::replaced(&image, axis, depth), depth))
}

/// The gradient of batch normalisation: image, scale, offset, and two unused outputs.
pub(crate) fn fused_batch_norm_grad(c: &mut Context<'_>) -> Result<()> {
    let rank = c.attrs().get_or("data_format", "NHWC")?.len();
    let (dy, x) = (dims::with_rank(&c.input(0), rank)?, dims::with_rank(&c.input(1), rank)?);
    let axis = channel_axis(c, rank)?;
    let mut depth = dims::merge(dims::size(&dy, axis), dims::size(&x, axis))?;
    for i in 2..5.min(c.num_inputs()) {
        depth = dims::merge(depth, common::expect_vector(c, i)?)?;
    }
    c.set_output(0, dims::replaced(&dy, axis, depth));
    c.set_output(1, PartialShape::new(&[depth]));
    c.set_output(2, PartialShape::new(&[depth]));
    c.set_output(3, PartialShape::new(&[0]));
    c.set_output(4, PartialShape::new(&[0]));
    Ok(())
}

/// The older batch normalisation: four vectors over the last dimension.
pub(crate) fn batch_norm_with_global_normalization(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 4)?;
    let mut depth = dims::size(&input, 3);
    for i in 1..5 {
        depth = dims::merge(depth, common::expect_vector(c, i)?)?;
    }
    c.set_output(0, dims::replaced(&input, 3, depth));
    Ok(())
}

/// A loss for each row and its gradient; labels are distributions that broadcast with the logits.
pub(crate) fn softmax_cross_entropy(c: &mut Context<'_>) -> Result<()> {
    let (features, labels) = (c.input(0), c.input(1));
    let shape = match (features.rank(), labels.rank()) {
        (Some(2), Some(2)) => features.merge(&labels).or_else(|_| PartialShape::broadcast(&features, &labels))?,
        (Some(_), Some(_)) => PartialShape::broadcast(&features, &labels)?,
        _ => features.merge(&labels)?,
    };
    if let Some(rank) = shape.rank().filter(|&rank| rank != 2) {
        bail!(InvalidArgument, "Shape must be broadcasted with rank 2, but is rank {rank}");
    }
    c.set_output(0, PartialShape::new(&[dims::size(&shape, 0)]));
    c.set_output(1, dims::with_rank(&shape, 2)?);
    Ok(())
}

/// Like [`softmax_cross_entropy`], with a class number per row.
pub(crate) fn sparse_softmax_cross_entropy(c: &mut Context<'_>) -> Result<()> {
    let features = dims::with_rank(&c.input(0), 2)?;
    let rows = dims::merge(dims::size(&features, 0), common::expect_vector(c, 1)?)?;
    c.set_output(0, PartialShape::new(&[rows]));
    c.set_output(1, dims::replaced(&features, 0, rows));
    Ok(())
}

/// Quantised and dequantised again, with a scalar range, or one for each slice along `axis`.
pub(crate) fn quantize_and_dequantize(c: &mut Context<'_>) -> Result<()> {
    let axis: i64 = c.attrs().get_or("axis", -1)?;
    if axis < -1 {
        bail!(InvalidArgument, "axis should be at least -1, got {axis}");
    }
    let minmax_rank = usize::from(axis != -1);
    let (min, max) = (dims::with_rank(&c.input(1), minmax_rank)?, dims::with_rank(&c.input(2), minmax_rank)?);
    max.merge(&min)?;
    if c.num_inputs() > 3 {
        common::expect_scalar(c, 3)?;
    }
    if axis >= 0 {
        let input = dims::with_rank_at_least(&c.input(0), axis as usize + 1)?;
        dims::merge(dims::size(&input, axis as usize), dims::size(&min, 0))?;
    }
    common::unchanged(c)
}

/// The gradients of what is quantised and dequantised again, and of the ends of the range.
pub(crate) fn quantize_and_dequantize_grad(c: &mut Context<'_>) -> Result<()> {
    let axis: i64 = c.attrs().get_or("axis", -1)?;
    if axis < -1 {
        bail!(InvalidArgument, "axis should be at least -1, got {axis}");
    }
    let rank = usize::from(axis != -1);
    let inputs = c.input(0).merge(&c.input(1))?;
    let range = dims::with_rank(&c.input(2), rank)?.merge(&dims::with_rank(&c.input(3), rank)?)?;
    c.set_output(0, inputs);
    c.set_output(1, range.clone());
    c.set_output(2, range);
    Ok(())
}

/// Quantised or dequantised: outputs 1 and 2, if there are any, are the range.
pub(crate) fn quantize(c: &mut Context<'_>) -> Result<()> {
    let axis: i64 = c.attrs().get_or("axis", -1)?;
    let range = if axis < 0 { PartialShape::scalar() } else { PartialShape::new(&[dims::size(&c.input(0), axis as usize)]) };
    for i in 1..3 {
        dims::with_rank(&c.input(i), usize::from(axis >= 0))?;
        c.set_output(i, range.clone());
    }
    common::pass(c, 0, 0);
    Ok(())
}

/// Simulated quantisation with a scalar range.
pub(crate) fn fake_quant_vars(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)?;
    common::expect_scalar(c, 2)?;
    common::unchanged(c)
}

/// Simulated quantisation with a range for each channel.
pub(crate) fn fake_quant_per_channel(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 1)?;
    let channels = dims::merge(common::expect_vector(c, 1)?, common::expect_vector(c, 2)?)?;
    let Some(rank) = input.rank() else { return Ok(()) };
    let channels = dims::merge(dims::size(&input, rank - 1), channels)?;
    c.set_output(0, dims::replaced(&input, rank - 1, channels));
    Ok(())
}

/// Gradients of simulated quantisation with a scalar range: of the input and of the range's ends.
pub(crate) fn fake_quant_vars_grad(c: &mut Context<'_>) -> Result<()> {
    let inputs = c.input(0).merge(&c.input(1))?;
    common::expect_scalar(c, 2)?;
    common::expect_scalar(c, 3)?;
    c.set_output(0, inputs);
    c.set_output(1, PartialShape::scalar());
    c.set_output(2, PartialShape::scalar());
    Ok(())
}

/// Like [`fake_quant_vars_grad`], with a range per channel.
pub(crate) fn fake_quant_per_channel_grad(c: &mut Context<'_>) -> Result<()> {
    let inputs = dims::with_rank_at_least(&c.input(0).merge(&c.input(1))?, 1)?;
    let channels = PartialShape::new(&[inputs.rank().map_or(dims::UNKNOWN, |rank| dims::size(&inputs, rank - 1))]);
    let range = dims::with_rank(&c.input(2), 1)?.merge(&channels)?;
    let range = dims::with_rank(&c.input(3), 1)?.merge(&range)?;
    c.set_output(0, inputs);
    c.set_output(1, range.clone());
    c.set_output(2, range);
    Ok(())
}

/// The shape of input 1.
pub(crate) fn input_1(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, c.input(1));
    Ok(())
}

/// Sampled classes, how often the true ones were expected, and how often the sampled ones.
pub(crate) fn candidate_sampler(c: &mut Context<'_>) -> Result<()> {
    let (num_sampled, num_true): (i64, i64) = (c.attrs().get("num_sampled")?, c.attrs().get("num_true")?);
    let rows = dims::size(&dims::with_rank(&c.input(0), 2)?, 0);
    c.set_output(0, PartialShape::new(&[num_sampled]));
    c.set_output(1, PartialShape::new(&[rows, num_true]));
    c.set_output(2, PartialShape::new(&[num_sampled]));
    Ok(())
}

/// The sampled classes that are true classes: vectors of equal lengths with rows, places and weights.
pub(crate) fn accidental_hits(c: &mut Context<'_>) -> Result<()> {
    let num_true: i64 = c.attrs().get("num_true")?;
    dims::expect(dims::size(&dims::with_rank(&c.input(0), 2)?, 1), num_true)?;
    common::set_all(c, &PartialShape::new(&[dims::UNKNOWN]))
}

/// The numbers that quantised integers represent, in a scalar range or in one range per slice along `axis`.
pub(crate) fn dequantize(c: &mut Context<'_>) -> Result<()> {
    let axis: i64 = c.attrs().get_or("axis", -1)?;
    if axis < -1 {
        bail!(InvalidArgument, "axis should be at least -1, got {axis}");
    }
    for i in 1..3 {
        dims::with_rank(&c.input(i), usize::from(axis >= 0))?;
    }
    common::unchanged(c)
}

/// The gradients of the input and of four vectors of its depth. Inputs: the input, three vectors, the gradient of the output.
pub(crate) fn batch_norm_with_global_normalization_grad(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 4)?.merge(&c.input(4))?;
    let mut depth = dims::size(&input, 3);
    for i in 1..4 {
        depth = dims::merge(depth, common::expect_vector(c, i)?)?;
    }
    common::set_all(c, &PartialShape::new(&[depth]))?;
    c.set_output(0, dims::replaced(&input, 3, depth));
    Ok(())
}

/// Two tensors of the input's shape.
pub(crate) fn isotonic_regression(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input(0);
    common::set_all(c, &shape)
}
