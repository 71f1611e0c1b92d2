//! Images: batches of height × width × channels.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail};

/// Height and width from input `i`.
fn size_input(c: &Context<'_>, i: usize) -> Result<(i64, i64)> {
    dims::expect(common::expect_vector(c, i)?, 2)?;
    let size = c.input_as_shape(i)?;
    Ok((dims::size(&size, 0), dims::size(&size, 1)))
}

fn resized(c: &mut Context<'_>, height: i64, width: i64) -> Result<()> {
    let images = dims::with_rank(&c.input(0), 4)?;
    c.set_output(0, PartialShape::new(&[dims::size(&images, 0), height, width, dims::size(&images, 3)]));
    Ok(())
}

/// Images of the size in input 1.
pub(crate) fn resize(c: &mut Context<'_>) -> Result<()> {
    let (height, width) = size_input(c, 1)?;
    resized(c, height, width)
}

/// The gradient of a resize: the size it had before is input 1.
pub(crate) fn resize_nearest_grad(c: &mut Context<'_>) -> Result<()> {
    resize(c)
}

/// The gradient of a resize: the shape of the image it had before, which is input 1.
pub(crate) fn resize_bilinear_grad(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, c.input(1));
    Ok(())
}

/// One crop per box, of the size in input 3.
pub(crate) fn crop_and_resize(c: &mut Context<'_>) -> Result<()> {
    let (images, boxes) = (dims::with_rank(&c.input(0), 4)?, dims::with_rank(&c.input(1), 2)?);
    let count = dims::merge(dims::size(&boxes, 0), common::expect_vector(c, 2)?)?;
    dims::expect(dims::size(&boxes, 1), 4)?;
    let (height, width) = size_input(c, 3)?;
    c.set_output(0, PartialShape::new(&[count, height, width, dims::size(&images, 3)]));
    Ok(())
}

/// The shape in input 3.
pub(crate) fn crop_and_resize_grad_image(c: &mut Context<'_>) -> Result<()> {
    let shape = dims::with_rank(&c.input_as_shape(3)?, 4)?;
    c.set_output(0, shape);
    Ok(())
}

/// The shape of the boxes in input 2.
pub(crate) fn crop_and_resize_grad_boxes(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, c.input(2));
    Ok(())
}

/// The boxes that are kept, at most input 2 of them; exactly so many if the node pads.
pub(crate) fn non_max_suppression(c: &mut Context<'_>) -> Result<()> {
    let boxes = dims::with_rank(&c.input(0), 2)?;
    dims::merge(dims::size(&boxes, 0), common::expect_vector(c, 1)?)?;
    dims::expect(dims::size(&boxes, 1), 4)?;
    for i in 2..c.num_inputs() {
        common::expect_scalar(c, i)?;
    }
    let padded: bool = c.attrs().get_or("pad_to_max_output_size", false)?;
    let count = if padded { common::size_input(c, 2)? } else { dims::UNKNOWN };
    c.set_output(0, PartialShape::new(&[count]));
    // The fourth form adds the number of valid indices, the fifth their scores before it.
    match c.num_outputs() {
        2 => c.set_output(1, PartialShape::scalar()),
        3 => {
            c.set_output(1, PartialShape::new(&[count]));
            c.set_output(2, PartialShape::scalar());
        }
        _ => {}
    }
    Ok(())
}

/// Some of the boxes that input 0 says the overlaps of, each with each.
pub(crate) fn non_max_suppression_with_overlaps(c: &mut Context<'_>) -> Result<()> {
    let overlaps = dims::with_rank(&c.input(0), 2)?;
    let num_scores = common::expect_vector(c, 1)?;
    (2..5).try_for_each(|i| common::expect_scalar(c, i))?;
    dims::merge(dims::size(&overlaps, 0), num_scores)?;
    dims::merge(dims::size(&overlaps, 0), dims::size(&overlaps, 1))?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// The position and size of a part of a three-dimensional image, and that part as one box.
pub(crate) fn sampled_bounding_box(c: &mut Context<'_>) -> Result<()> {
    let num_dims = common::expect_vector(c, 0)?;
    let boxes = dims::with_rank(&c.input(1), 3)?;
    (2..c.num_inputs().min(3)).try_for_each(|i| common::expect_scalar(c, i))?;
    let num_seeds = if c.num_inputs() > 3 { common::expect_vector(c, 3)? } else { 2 };
    dims::expect(num_dims, 3)?;
    dims::expect(dims::size(&boxes, 2), 4)?;
    dims::expect(num_seeds, 2)?;
    c.set_output(0, PartialShape::new(&[3]));
    c.set_output(1, PartialShape::new(&[3]));
    c.set_output(2, PartialShape::new(&[1, 1, 4]));
    Ok(())
}

/// A part of an image, of the sizes in input 1.
pub(crate) fn random_crop(c: &mut Context<'_>) -> Result<()> {
    let channels = dims::size(&dims::with_rank(&c.input(0), 3)?, 2);
    c.input(1).merge(&PartialShape::new(&[2]))?;
    let (height, width) = match common::ints(c, 1)?.as_deref() {
        Some(&[height, width]) => (height, width),
        _ => (dims::UNKNOWN, dims::UNKNOWN),
    };
    c.set_output(0, PartialShape::new(&[height, width, channels]));
    Ok(())
}

/// Boxes, scores and classes for each image of the batch, and how many are valid.
pub(crate) fn combined_non_max_suppression(c: &mut Context<'_>) -> Result<()> {
    let (boxes, scores) = (dims::with_rank(&c.input(0), 4)?, dims::with_rank(&c.input(1), 3)?);
    for i in 2..6 {
        common::expect_scalar(c, i)?;
    }
    dims::expect(dims::size(&boxes, 3), 4)?;
    let batch = dims::merge(dims::size(&boxes, 0), dims::size(&scores, 0))?;
    let total = common::size_input(c, 3)?;
    let per_class = common::int(c, 2)?;
    let count = match (c.attrs().get::<bool>("pad_per_class")?, per_class) {
        (false, _) => total,
        (true, Some(n)) if total >= 0 && dims::size(&scores, 2) >= 0 => total.min(dims::multiply(n.max(0), dims::size(&scores, 2))?),
        (true, _) => dims::UNKNOWN,
    };
    c.set_output(0, PartialShape::new(&[batch, count, 4]));
    c.set_output(1, PartialShape::new(&[batch, count]));
    c.set_output(2, PartialShape::new(&[batch, count]));
    c.set_output(3, PartialShape::new(&[batch]));
    Ok(())
}

/// An image of unknown size; attribute `channels` says how many, zero leaving it to the file.
pub(crate) fn decode_image(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    let channels: i64 = c.attrs().get("channels")?;
    let channels = if channels == 0 { dims::UNKNOWN } else { channels };
    // A window that was asked for is the size.
    let (height, width) = match (c.op_def().name.as_str(), common::ints(c, 1)?.as_deref()) {
        ("DecodeAndCropJpeg", Some(&[_, _, height, width])) => (height, width),
        _ => (dims::UNKNOWN, dims::UNKNOWN),
    };
    c.set_output(0, PartialShape::new(&[height, width, channels]));
    Ok(())
}

/// Boxes and their scores; an attribute says how many per image.
pub(crate) fn bounding_box_proposals(c: &mut Context<'_>) -> Result<()> {
    let scores = dims::with_rank(&c.input(0), 4)?;
    dims::with_rank(&c.input(1), 4)?;
    let info = dims::with_rank(&c.input(2), 2)?;
    dims::with_rank(&c.input(3), 3)?;
    (4..7).try_for_each(|i| common::expect_scalar(c, i))?;
    dims::expect(dims::size(&info, 1), 5)?;
    let (images, count) = (dims::size(&scores, 0), c.attrs().get::<i64>("post_nms_topn")?.max(dims::UNKNOWN));
    c.set_output(0, PartialShape::new(&[images, count, 4]));
    c.set_output(1, PartialShape::new(&[images, count]));
    Ok(())
}

/// Frames of three channels.
pub(crate) fn decode_gif(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN, dims::UNKNOWN, dims::UNKNOWN, 3]));
    Ok(())
}

/// Frames of the channels that are asked for.
pub(crate) fn decode_web_p(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    let channels: i64 = c.attrs().get("channels")?;
    let channels = if channels == 0 { dims::UNKNOWN } else { channels.max(dims::UNKNOWN) };
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN, dims::UNKNOWN, dims::UNKNOWN, channels]));
    Ok(())
}

/// A string for each image.
pub(crate) fn encode_png(c: &mut Context<'_>) -> Result<()> {
    let images = dims::with_rank_at_least(&c.input(0), 3)?;
    c.set_output(0, dims::without_last(&images, 3));
    Ok(())
}

/// Colours have three components.
pub(crate) fn colorspace(c: &mut Context<'_>) -> Result<()> {
    let images = dims::with_rank_at_least(&c.input(0), 1)?;
    if let Some(rank) = images.rank() {
        dims::expect(dims::size(&images, rank - 1), 3)?;
        c.set_output(0, dims::replaced(&images, rank - 1, 3));
    }
    Ok(())
}

/// Height, width and channels.
pub(crate) fn extract_jpeg_shape(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    c.set_output(0, PartialShape::new(&[3]));
    Ok(())
}

/// A file of an image, by a quality.
pub(crate) fn encode_jpeg_variable_quality(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 3)?;
    common::scalars(c)
}

/// A window of the size in input 1 for each image.
pub(crate) fn extract_glimpse(c: &mut Context<'_>) -> Result<()> {
    let (images, offsets) = (dims::with_rank(&c.input(0), 4)?, dims::with_rank(&c.input(2), 2)?);
    let batch = dims::merge(dims::size(&images, 0), dims::size(&offsets, 0))?;
    dims::expect(dims::size(&offsets, 1), 2)?;
    let noise: &str = c.attrs().get_or("noise", "uniform")?;
    if !matches!(noise, "" | "uniform") && c.attrs().get_or("uniform_noise", true)? {
        bail!(InvalidArgument, "The uniform_noise should not be True when noise is not uniform");
    }
    let (height, width) = size_input(c, 1)?;
    c.set_output(0, PartialShape::new(&[batch, height, width, dims::size(&images, 3)]));
    Ok(())
}

/// An image with factor, least and greatest value, which are scalars.
pub(crate) fn adjust_contrast_v1(c: &mut Context<'_>) -> Result<()> {
    (1..4).try_for_each(|i| common::expect_scalar(c, i))?;
    common::unchanged_with_rank_at_least::<3>(c)
}

/// Images of the size in input 2.
pub(crate) fn image_projective_transform(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 4)?;
    let (height, width) = size_input(c, 2)?;
    resized(c, height, width)
}
