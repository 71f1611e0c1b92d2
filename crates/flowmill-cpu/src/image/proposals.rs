//! `GenerateBoundingBoxProposals`, which applies a network's deltas to anchors and outputs the resulting boxes, best first, without overlapping ones.

use super::non_max_suppression::{Thresholds, select};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

/// The logarithm of the greatest factor by which a delta stretches an anchor.
const MAX_STRETCH: f32 = 4.135_166_6;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("GenerateBoundingBoxProposals", make);
}

/// The arguments that are common to all images of a call.
struct Call<'a> {
    anchors: &'a [[f32; 4]],
    overlap: f32,
    /// The number of boxes that are considered; `after` is the number of boxes to output.
    before: usize,
    after: usize,
    min_size: f32,
}

/// The inputs for one image.
struct Image<'a> {
    scores: &'a [f32],
    deltas: &'a [[f32; 4]],
    height: f32,
    width: f32,
    scale: f32,
}

impl Call<'_> {
    /// Returns the boxes of an image with their scores.
    fn proposals(&self, image: &Image<'_>) -> Vec<([f32; 4], f32)> {
        let mut order: Vec<usize> = (0..image.scores.len()).collect();
        order.sort_by(|&a, &b| image.scores[b].total_cmp(&image.scores[a]));
        order.truncate(self.before);
        let least = self.min_size * image.scale;
        let boxes = order.iter().map(|&i| (decoded(&self.anchors[i], &image.deltas[i], image.height, image.width), image.scores[i]));
        let kept: Vec<([f32; 4], f32)> = boxes.filter(|(b, _)| (b[2] - b[0]).min(b[3] - b[1]) >= least).collect();
        let corners: Vec<f32> = kept.iter().flat_map(|(b, _)| *b).collect();
        // The boxes are sorted by score, so their positions can be used as scores.
        let ranks: Vec<f32> = (0..kept.len()).map(|i| -(i as f32)).collect();
        let limits = Thresholds { max_output: self.after.min(kept.len()), iou: self.overlap, score: f32::NEG_INFINITY, soft_sigma: 0.0 };
        select(&corners, &ranks, &limits).into_iter().map(|(i, _)| kept[i]).collect()
    }
}

/// Returns an anchor that is moved and stretched by a delta, and clipped to the image.
fn decoded(anchor: &[f32; 4], delta: &[f32; 4], image_height: f32, image_width: f32) -> [f32; 4] {
    let along = |low: f32, high: f32, shift: f32, stretch: f32, end: f32| {
        let size = high - low;
        let centre = low + 0.5 * size + size * shift;
        let size = size * stretch.min(MAX_STRETCH).exp();
        let inside = |x: f32| x.min(end).max(0.0);
        (inside(centre - 0.5 * size), inside(centre + 0.5 * size))
    };
    let (y1, y2) = along(anchor[0], anchor[2], delta[0], delta[2], image_height);
    let (x1, x2) = along(anchor[1], anchor[3], delta[1], delta[3], image_width);
    [y1, x1, y2, x2]
}

fn scalar<'a>(ctx: &'a KernelContext<'_>, i: usize) -> Result<&'a Tensor> {
    let tensor = ctx.input(i)?;
    if tensor.rank() != 0 {
        bail!(InvalidArgument, "Expected a scalar in input {i}but got shape {}", tensor.shape());
    }
    Ok(tensor)
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let after: i64 = init.attrs.get("post_nms_topn")?;
    let Some(after) = usize::try_from(after).ok().filter(|&n| n > 0) else {
        bail!(InvalidArgument, "post_nms_topn can't be 0 or less");
    };
    from_fn(move |ctx| {
        let (scores, deltas, info, anchors) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
        let &[images, height, width, per_place] = scores.shape().dims() else {
            bail!(InvalidArgument, "scores must be 4-dimensional, got shape {}", scores.shape());
        };
        let wanted = [height, width, per_place.saturating_mul(4)];
        if anchors.shape().dims() != wanted {
            bail!(OutOfRange, "Box dimensions need to be 4");
        }
        if deltas.rank() != 4 || deltas.shape()[0] != images || deltas.shape().dims()[1..] != wanted {
            bail!(InvalidArgument, "bbox_deltas must have four numbers for each score, got shape {}", deltas.shape());
        }
        if info.shape().dims() != [images, 5] {
            bail!(InvalidArgument, "image_info must have five numbers for each image, got shape {}", info.shape());
        }
        let overlap: f32 = scalar(ctx, 4)?.to_scalar()?;
        if !(0.0..=1.0).contains(&overlap) {
            bail!(InvalidArgument, "nms_threshold should be between 0 and 1. Got {overlap}");
        }
        let before: i32 = scalar(ctx, 5)?.to_scalar()?;
        let Some(before) = usize::try_from(before).ok().filter(|&n| n > 0) else {
            bail!(InvalidArgument, "pre_nms_topn should be greater than 0{before}");
        };
        let min_size: f32 = scalar(ctx, 6)?.to_scalar()?;
        let call = Call { anchors: anchors.as_slice::<f32>()?.as_chunks::<4>().0, overlap, before, after, min_size };
        let mut rois = ctx.allocator().zeros(DType::F32, [images, after, 4])?;
        let mut probabilities = ctx.allocator().zeros(DType::F32, [images, after])?;
        let each = height * width * per_place;
        let (scores, deltas) = (scores.as_slice::<f32>()?, deltas.as_slice::<f32>()?.as_chunks::<4>().0);
        let outputs =
            rois.as_mut_slice::<f32>()?.chunks_exact_mut(4 * after).zip(probabilities.as_mut_slice::<f32>()?.chunks_exact_mut(after));
        for (i, ((rois, probabilities), info)) in outputs.zip(info.as_slice::<f32>()?.chunks_exact(5)).enumerate() {
            let of_image = i * each..(i + 1) * each;
            let image =
                Image { scores: &scores[of_image.clone()], deltas: &deltas[of_image], height: info[0], width: info[1], scale: info[2] };
            for (k, (corners, score)) in call.proposals(&image).into_iter().enumerate() {
                rois[4 * k..][..4].copy_from_slice(&corners);
                probabilities[k] = score;
            }
        }
        ctx.set_output(0, rois);
        ctx.set_output(1, probabilities);
        Ok(())
    })
}
