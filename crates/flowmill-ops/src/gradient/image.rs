//! Gradients of image resizing.

use super::formula::Formula;
use super::{Grads, first, like};
use flowmill_graph::builder::GraphBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::DType;

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

/// Cubic interpolation weights rows and columns by matrices, which are what resized unit matrices are: `Wᵀ dy W'`.
pub(crate) fn resize_bicubic(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (image, size) = (op.inputs[0], op.inputs[1]);
    let shape = b.dynamic_shape_of(image)?;
    let (zero, one) = (b.int(0)?, b.int(1)?);
    let mut weights = Vec::with_capacity(2);
    for axis in [1, 2] {
        let place = b.int(axis)?;
        let length = b.call("GatherV2", &[shape, place, zero])?;
        let diagonal = b.op("Pack").input(length).output()?;
        let unit = b.number(dy, 1.0)?;
        let ones = b.call("Fill", &[diagonal, unit])?;
        let identity = b.call("MatrixDiag", &[ones])?;
        // An image of one row, or of one column, with a channel for each pixel.
        let (rows, columns) = if axis == 1 { (length, one) } else { (one, length) };
        let image = b.op("Pack").inputs(&[one, rows, columns, length]).output()?;
        let identity = b.reshape(identity, image)?;
        let place = b.int(axis - 1)?;
        let length = b.call("GatherV2", &[size, place, zero])?;
        let (rows, columns) = if axis == 1 { (length, one) } else { (one, length) };
        let wanted = b.op("Pack").inputs(&[rows, columns]).output()?;
        let resized = like(b, op, "ResizeBicubic", &[identity, wanted], RESIZE)?;
        let squeezed: &[i64] = if axis == 1 { &[0, 2] } else { &[0, 1] };
        weights.push(b.op("Squeeze").input(resized).attr("squeeze_dims", squeezed.to_vec()).output()?);
    }
    let rows = b.op("Einsum").inputs(&[dy, weights[0]]).attr("equation", "bqwc,qh->bhwc").output()?;
    let grad = b.op("Einsum").inputs(&[rows, weights[1]]).attr("equation", "bhpc,pw->bhwc").output()?;
    let dtype = b.dtype(image);
    first(b.cast(grad, dtype)?, 1)
}

/// (image, boxes, numbers of images, size). Images of integers have none, and boxes only where pixels are mixed.
pub(crate) fn crop_and_resize(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (image, boxes, index) = (op.inputs[0], op.inputs[1], op.inputs[2]);
    let dtype = b.dtype(image);
    let dimage = if matches!(dtype, DType::F16 | DType::F32 | DType::F64) {
        let shape = b.shape_of(image)?;
        let method: String = b.graph().node(op.node)?.attrs().get_or("method", "bilinear")?.to_owned();
        let node = b
            .op("CropAndResizeGradImage")
            .inputs(&[dy, boxes, index, shape])
            .attr("T", AttrValue::from(Value::Type(dtype.number())))
            .attr("method", method.as_str());
        Some(node.output()?.into())
    } else {
        None
    };
    let dboxes = b.call("CropAndResizeGradBoxes", &[dy, image, boxes, index])?;
    Ok(vec![dimage, Some(dboxes.into()), None, None])
}
