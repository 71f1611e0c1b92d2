//! `NonMaxSuppression` in its five versions, `NonMaxSuppressionWithOverlaps`, `CombinedNonMaxSuppression`, which select, among boxes that overlap,
//! the box with the highest score.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail, f16};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("NonMaxSuppression", |init| make(init, 1));
    registry.add("NonMaxSuppressionV2", |init| make(init, 2));
    registry.add("NonMaxSuppressionV3", |init| make(init, 3));
    registry.add("NonMaxSuppressionV4", |init| make(init, 4));
    registry.add("NonMaxSuppressionV5", |init| make(init, 5));
    registry.add("NonMaxSuppressionWithOverlaps", |_| make_with_overlaps());
    registry.add("CombinedNonMaxSuppression", make_combined);
}

/// A box that may be selected.
struct Candidate {
    index: usize,
    score: f32,
    /// The number of selected boxes for which its score was reduced.
    num_seen: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        // Positive and negative zero are equal.
        (self.score + 0.0).total_cmp(&(other.score + 0.0)).then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

pub(super) struct Thresholds {
    pub(super) max_output: usize,
    pub(super) iou: f32,
    pub(super) score: f32,
    pub(super) soft_sigma: f32,
}

impl Thresholds {
    /// Returns the factor for the score of a box that overlaps with a better box. Without a sigma, a box is kept or suppressed as a whole.
    fn weight(&self, overlap: f32) -> f32 {
        if self.soft_sigma > 0.0 {
            return (-0.5 / self.soft_sigma * overlap * overlap).exp();
        }
        match overlap <= self.iou {
            true if overlap.is_infinite() => f32::NAN,
            true => 1.0,
            false => 0.0,
        }
    }
}

/// Returns the smaller value, or `a` if either is NaN.
fn smaller(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// Returns the larger value, or `a` if either is NaN.
fn larger(a: f32, b: f32) -> f32 {
    if a < b { b } else { a }
}

/// Returns the intersection of two boxes over their union. A box is given by any two opposite corners.
fn intersection_over_union(a: &[f32], b: &[f32]) -> f32 {
    let ordered = |v: &[f32]| (smaller(v[0], v[2]), smaller(v[1], v[3]), larger(v[0], v[2]), larger(v[1], v[3]));
    let ((ay1, ax1, ay2, ax2), (by1, bx1, by2, bx2)) = (ordered(a), ordered(b));
    let (area_a, area_b) = ((ay2 - ay1) * (ax2 - ax1), (by2 - by1) * (bx2 - bx1));
    if area_a <= 0.0 || area_b <= 0.0 {
        return 0.0;
    }
    let shared = larger(smaller(ay2, by2) - larger(ay1, by1), 0.0) * larger(smaller(ax2, bx2) - larger(ax1, bx1), 0.0);
    shared / (area_a + area_b - shared)
}

/// Returns the selected boxes with their scores, best first.
pub(super) fn select(boxes: &[f32], scores: &[f32], limits: &Thresholds) -> Vec<(usize, f32)> {
    select_by(scores, limits, |a, b| intersection_over_union(&boxes[a * 4..][..4], &boxes[b * 4..][..4]))
}

/// Like [`select`], with a function that returns the overlap of two boxes.
fn select_by(scores: &[f32], limits: &Thresholds, overlap: impl Fn(usize, usize) -> f32) -> Vec<(usize, f32)> {
    let is_soft = limits.soft_sigma > 0.0;
    let mut candidates: BinaryHeap<Candidate> = scores
        .iter()
        .enumerate()
        .filter(|&(_, &score)| score > limits.score)
        .map(|(index, &score)| Candidate { index, score, num_seen: 0 })
        .collect();
    let mut selected: Vec<(usize, f32)> = Vec::new();
    while selected.len() < limits.max_output
        && let Some(mut candidate) = candidates.pop()
    {
        let before = candidate.score;
        let mut suppressed = false;
        for &(index, _) in selected[candidate.num_seen..].iter().rev() {
            let overlap = overlap(candidate.index, index);
            if !is_soft && overlap > limits.iou {
                suppressed = true;
                break;
            }
            candidate.score *= limits.weight(overlap);
            if candidate.score <= limits.score {
                break;
            }
        }
        candidate.num_seen = selected.len();
        if suppressed {
            continue;
        }
        if candidate.score == before {
            selected.push((candidate.index, candidate.score));
        } else if candidate.score > limits.score {
            candidates.push(candidate);
        }
    }
    selected
}

/// Returns a scalar as `float32`.
fn scalar(ctx: &KernelContext<'_>, i: usize, name: &str) -> Result<f32> {
    let tensor = ctx.input(i)?;
    if tensor.rank() != 0 {
        bail!(InvalidArgument, "{name} must be 0-D, got shape {}", tensor.shape());
    }
    if tensor.dtype() == DType::F16 { Ok(tensor.to_scalar::<f16>()?.to_f32()) } else { tensor.to_scalar() }
}

fn floats(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(match tensor.dtype() {
        DType::F16 => tensor.as_slice::<f16>()?.iter().map(|v| v.to_f32()).collect(),
        _ => tensor.as_slice::<f32>()?.to_vec(),
    })
}

/// Checks that there is one score per box.
fn check_scores(scores: &Tensor, num_boxes: usize) -> Result<()> {
    match *scores.shape().dims() {
        [n] if n == num_boxes => Ok(()),
        [n] => bail!(InvalidArgument, "scores has incompatible shape (Dimensions must be equal, but are {num_boxes} and {n})"),
        _ => bail!(InvalidArgument, "scores must be 1-D{} (Shape must be rank 1 but is rank {})", scores.shape(), scores.rank()),
    }
}

/// Returns input 2, the most boxes that may be selected.
fn output_size(ctx: &KernelContext<'_>) -> Result<usize> {
    let size = ctx.input(2)?;
    if size.rank() != 0 {
        bail!(InvalidArgument, "max_output_size must be 0-D, got shape {}", size.shape());
    }
    match usize::try_from(size.to_scalar::<i32>()?) {
        Ok(size) => Ok(size),
        Err(_) => bail!(InvalidArgument, "output size must be non-negative"),
    }
}

fn make_with_overlaps() -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let (overlaps, scores) = (ctx.input(0)?, ctx.input(1)?);
        let num_boxes = match *overlaps.shape().dims() {
            [rows, columns] if rows == columns => rows,
            [_, _] => bail!(InvalidArgument, "overlaps must be square{}", overlaps.shape()),
            _ => bail!(InvalidArgument, "overlaps must be 2-D{}", overlaps.shape()),
        };
        check_scores(scores, num_boxes)?;
        let limits = Thresholds {
            max_output: output_size(ctx)?,
            iou: scalar(ctx, 3, "overlap_threshold")?,
            score: scalar(ctx, 4, "score_threshold")?,
            soft_sigma: 0.0,
        };
        let overlaps = overlaps.as_slice::<f32>()?;
        let selected = select_by(scores.as_slice()?, &limits, |a, b| overlaps[a * num_boxes + b]);
        let indices: Vec<i32> = selected.iter().map(|s| s.0 as i32).collect();
        ctx.set_output(0, ctx.allocator().vector(&indices)?);
        Ok(())
    })
}

fn make(init: &KernelInit<'_>, version: u8) -> Result<Arc<dyn Kernel>> {
    let iou_attr: f32 = init.attrs.get_or("iou_threshold", 0.5)?;
    let pads = init.attrs.get_or("pad_to_max_output_size", false)?;
    from_fn(move |ctx| {
        let (boxes, scores) = (ctx.input(0)?, ctx.input(1)?);
        let num_boxes = match *boxes.shape().dims() {
            [n, 4] => n,
            [_, _] => bail!(InvalidArgument, "boxes must have 4 columns"),
            _ => bail!(InvalidArgument, "boxes must be 2-D{}", boxes.shape()),
        };
        check_scores(scores, num_boxes)?;
        let max_output = output_size(ctx)?;
        let limits = Thresholds {
            max_output: max_output.min(num_boxes),
            iou: if version == 1 { iou_attr } else { scalar(ctx, 3, "iou_threshold")? },
            score: if version < 3 { f32::MIN } else { scalar(ctx, 4, "score_threshold")? },
            soft_sigma: if version < 5 { 0.0 } else { scalar(ctx, 5, "soft_nms_sigma")? },
        };
        if !(0.0..=1.0).contains(&limits.iou) {
            bail!(InvalidArgument, "iou_threshold must be in [0, 1]");
        }
        if limits.soft_sigma < 0.0 {
            bail!(InvalidArgument, "soft_nms_sigma_val must be >= 0");
        }
        let half = scores.dtype() == DType::F16;
        let mut selected = select(&floats(boxes)?, &floats(scores)?, &limits);
        let num_valid = selected.len();
        if version >= 4 && pads {
            // The size is checked against the memory limit, because the caller may request any number.
            ctx.allocator().uninit(DType::I32, [max_output])?;
            selected.resize(max_output, (0, 0.0));
        }
        let indices: Vec<i32> = selected.iter().map(|s| s.0 as i32).collect();
        ctx.set_output(0, ctx.allocator().vector(&indices)?);
        if version == 5 {
            let kept: Vec<f32> = selected.iter().map(|s| s.1).collect();
            let kept = match half {
                true => ctx.allocator().vector(&kept.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>())?,
                false => ctx.allocator().vector(&kept)?,
            };
            ctx.set_output(1, kept);
        }
        if version >= 4 {
            ctx.set_output(usize::from(version) - 3, Tensor::scalar(num_valid as i32));
        }
        Ok(())
    })
}

/// A box that was selected for a class.
struct Detection {
    score: f32,
    class: usize,
    corners: [f32; 4],
}

fn make_combined(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pad_per_class = init.attrs.get_or("pad_per_class", false)?;
    let clip = init.attrs.get_or("clip_boxes", true)?;
    from_fn(move |ctx| combined(ctx, pad_per_class, clip))
}

/// Computes `CombinedNonMaxSuppression`. Inputs: boxes, `[batch, boxes, 1 or classes, 4]`; scores, `[batch, boxes, classes]`; limits per class and
/// in total; thresholds.
fn combined(ctx: &mut KernelContext<'_>, pad_per_class: bool, clip: bool) -> Result<()> {
    let (boxes, scores) = (ctx.input(0)?, ctx.input(1)?);
    let &[batch, num_boxes, per_box, 4] = boxes.shape().dims() else {
        bail!(InvalidArgument, "boxes must be 4-D with 4 columns, got shape {}", boxes.shape());
    };
    let &[score_batch, score_boxes, classes] = scores.shape().dims() else {
        bail!(InvalidArgument, "scores must be 3-D, got shape {}", scores.shape());
    };
    if (score_batch, score_boxes) != (batch, num_boxes) {
        bail!(InvalidArgument, "boxes and scores must have same batch size and number of boxes: {} vs. {}", boxes.shape(), scores.shape());
    }
    if per_box != 1 && per_box != classes {
        bail!(InvalidArgument, "third dimension of boxes must be either 1 or num classes");
    }
    let limit = |i: usize, name: &str| -> Result<usize> {
        let tensor = ctx.input(i)?;
        if tensor.rank() != 0 {
            bail!(InvalidArgument, "{name} must be 0-D, got shape {}", tensor.shape());
        }
        match usize::try_from(tensor.to_scalar::<i32>()?) {
            Ok(n @ 1..) => Ok(n),
            _ => bail!(InvalidArgument, "{name} must be positive"),
        }
    };
    let (per_class, total) = (limit(2, "max_size_per_class")?, limit(3, "max_total_size")?);
    let (iou, score) = (scalar(ctx, 4, "iou_threshold")?, scalar(ctx, 5, "score_threshold")?);
    if !(0.0..=1.0).contains(&iou) {
        bail!(InvalidArgument, "iou_threshold must be in [0, 1]");
    }
    let slots = if pad_per_class { total.min(per_class.saturating_mul(classes)) } else { total };
    let limits = Thresholds { max_output: per_class.min(num_boxes), iou, score, soft_sigma: 0.0 };
    let mut out_boxes = ctx.allocator().zeros(DType::F32, [batch, slots, 4])?;
    let mut out_scores = ctx.allocator().zeros(DType::F32, [batch, slots])?;
    let mut out_classes = ctx.allocator().zeros(DType::F32, [batch, slots])?;
    let mut valid = vec![0i32; batch];
    let (all_boxes, all_scores) = (boxes.as_slice::<f32>()?, scores.as_slice::<f32>()?);
    for image in 0..batch {
        let corners = |of: usize, class: usize| -> [f32; 4] {
            let at = ((image * num_boxes + of) * per_box + if per_box > 1 { class } else { 0 }) * 4;
            std::array::from_fn(|i| all_boxes[at + i])
        };
        let mut found: Vec<Detection> = Vec::new();
        for class in 0..classes {
            let boxes: Vec<f32> = (0..num_boxes).flat_map(|of| corners(of, class)).collect();
            let scores: Vec<f32> = (0..num_boxes).map(|of| all_scores[(image * num_boxes + of) * classes + class]).collect();
            // In this op, boxes whose overlap is NaN count as not overlapping.
            let selected = select_by(&scores, &limits, |a, b| intersection_over_union(&boxes[a * 4..][..4], &boxes[b * 4..][..4]).max(0.0));
            found.extend(selected.into_iter().map(|(of, score)| Detection { score, class, corners: corners(of, class) }));
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(slots);
        valid[image] = found.len() as i32;
        for (i, detection) in found.iter().enumerate() {
            let at = image * slots + i;
            let corners = if clip { detection.corners.map(|v| v.clamp(0.0, 1.0)) } else { detection.corners };
            out_boxes.as_mut_slice::<f32>()?[at * 4..][..4].copy_from_slice(&corners);
            out_scores.as_mut_slice::<f32>()?[at] = detection.score;
            out_classes.as_mut_slice::<f32>()?[at] = detection.class as f32;
        }
    }
    ctx.set_output(0, out_boxes);
    ctx.set_output(1, out_scores);
    ctx.set_output(2, out_classes);
    ctx.set_output(3, ctx.allocator().vector(&valid)?);
    Ok(())
}
