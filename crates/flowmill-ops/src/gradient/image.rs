//! Gradients of image resizing.

use super::formula::Formula;
use super::{Grads, first, like};
use flowmill_graph::builder::GraphBuilder;
use flowmill_graph::builder::gradients::Backward;

type B<'a> = GraphBuilder<'a>;

const RESIZE: &[&str] = &["align_corners", "half_pixel_centers"];

pub(crate) fn resize_bilinear(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(like(b, op, "ResizeBilinearGrad", &[dy, op.inputs[0]], RESIZE)?, 1)
}

pub(crate) fn resize_nearest_neighbor(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let shape = b.shape_of(op.inputs[0])?;
    let (begin, end, step) = (b.ints(&[1])?, b.ints(&[3])?, b.ints(&[1])?);
    let size = b.call("StridedSlice", &[shape, begin, end, step])?;
    first(like(b, op, "ResizeNearestNeighborGrad", &[dy, size], RESIZE)?, 1)
}
