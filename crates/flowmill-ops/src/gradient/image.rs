//! Gradients of images' resizing and colours.

use super::formula::Formula;
use super::{Grads, first, like};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, Tensor};

type B<'a> = ScopedBuilder<'a>;

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

/// The gradient of a pixel's colours. Let `M` be the greatest channel, `m` the least, `C = M - m`, and `n` the channel after the greatest minus the
/// one before it, cyclically: the value is `M`, the saturation `C / M`, the hue `n / 6C` and a constant. Of equal channels the first is the
/// greatest, the last the least. As in TensorFlow, channels that are not positive have no gradient by saturation, and pixels whose greatest channel
/// is not positive have none by hue.
pub(crate) fn rgb_to_hsv(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let rgb = op.inputs[0];
    let dtype = b.dtype(rgb);
    let (last, axis, depth) = (b.int(-1)?, b.ints(&[-1])?, b.int(3)?);
    let (one, zero) = (b.number(rgb, 1.0)?, b.number(rgb, 0.0)?);
    let greatest = b.call("ArgMax", &[rgb, last])?;
    let turned = b.call("ReverseV2", &[rgb, axis])?;
    let from_the_end = b.call("ArgMin", &[turned, last])?;
    let is_greatest = b.call("OneHot", &[greatest, depth, one, zero])?;
    let is_least = b.call("OneHot", &[from_the_end, depth, one, zero])?;
    let is_least = b.call("ReverseV2", &[is_least, axis])?;
    let most = b.op("Max").inputs(&[rgb, axis]).attr("keep_dims", true).output()?;
    let least = b.op("Min").inputs(&[rgb, axis]).attr("keep_dims", true).output()?;
    let chroma = b.sub(most, least)?;

    // By hue: the channel after the greatest minus the one before it.
    let behind = b.constant("Const", &Tensor::from_slice([3usize, 3], &[0i32, 1, -1, -1, 0, 1, 1, -1, 0])?)?;
    let (behind, first_axis) = (b.cast(behind, dtype)?, b.int(0)?);
    let signs = b.call("GatherV2", &[behind, greatest, first_axis])?;
    let signed = b.mul(rgb, signs)?;
    let difference = b.op("Sum").inputs(&[signed, axis]).attr("keep_dims", true).output()?;
    let slope = b.call("DivNoNan", &[difference, chroma])?;
    let ends = b.sub(is_least, is_greatest)?;
    let through_chroma = b.mul(slope, ends)?;
    let by_hue = b.add(signs, through_chroma)?;
    let by_hue = b.call("DivNoNan", &[by_hue, chroma])?;
    let by_hue = b.times(by_hue, 1.0 / 6.0)?;
    let is_positive = positive(b, most, zero)?;
    let by_hue = b.mul(by_hue, is_positive)?;

    let ratio = b.call("DivNoNan", &[least, most])?;
    let by_saturation = b.mul(is_greatest, ratio)?;
    let by_saturation = b.sub(by_saturation, is_least)?;
    let by_saturation = b.call("DivNoNan", &[by_saturation, most])?;
    let is_positive = positive(b, rgb, zero)?;
    let by_saturation = b.mul(by_saturation, is_positive)?;

    let parts = b.op("Split").inputs(&[last, dy]).attr("num_split", 3i64).finish()?;
    let hue = b.mul(parts.output(0), by_hue)?;
    let saturation = b.mul(parts.output(1), by_saturation)?;
    let value = b.mul(parts.output(2), is_greatest)?;
    let sum = b.add(hue, saturation)?;
    first(b.add(sum, value)?, 0)
}

/// One where `x` is greater than zero, zero elsewhere.
fn positive(b: &mut B<'_>, x: OutputId, zero: OutputId) -> Result<OutputId> {
    let is_greater = b.call("Greater", &[x, zero])?;
    let dtype = b.dtype(x);
    b.cast(is_greater, dtype)
}

/// (image, size, scales, translations).
pub(crate) fn scale_and_translate(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let inputs = [dy, op.inputs[0], op.inputs[2], op.inputs[3]];
    first(like(b, op, "ScaleAndTranslateGrad", &inputs, &["kernel_type", "antialias"])?, 3)
}

/// (images, transforms, size, and in the third version the value outside): the gradients seen through the inverse transforms.
pub(crate) fn image_projective_transform(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (images, transforms) = (op.inputs[0], op.inputs[1]);
    // The ninth number of the matrices is one.
    let (begin, end, step) = (b.ints(&[0])?, b.ints(&[1])?, b.ints(&[1])?);
    let shape = b.dynamic_shape_of(transforms)?;
    let count = b.call("StridedSlice", &[shape, begin, end, step])?;
    let (column, axis) = (b.ints(&[1])?, b.int(0)?);
    let ones = b.op("ConcatV2").inputs(&[count, column, axis]).output()?;
    let one = b.number(transforms, 1.0)?;
    let ones = b.call("Fill", &[ones, one])?;
    let axis = b.int(1)?;
    let nine = b.op("ConcatV2").inputs(&[transforms, ones, axis]).output()?;
    let (square, flat) = (b.ints(&[-1, 3, 3])?, b.ints(&[-1, 9])?);
    let matrices = b.reshape(nine, square)?;
    let inverse = b.call("MatrixInverse", &[matrices])?;
    let inverse = b.reshape(inverse, flat)?;
    let (begin, all) = (b.ints(&[0, 8])?, b.ints(&[-1, 1])?);
    let last = b.call("Slice", &[inverse, begin, all])?;
    let inverse = b.div(inverse, last)?;
    let (begin, all) = (b.ints(&[0, 0])?, b.ints(&[-1, 8])?);
    let inverse = b.call("Slice", &[inverse, begin, all])?;
    let shape = b.dynamic_shape_of(images)?;
    let (begin, end, step) = (b.ints(&[1])?, b.ints(&[3])?, b.ints(&[1])?);
    let size = b.call("StridedSlice", &[shape, begin, end, step])?;
    let mut inputs = vec![dy, inverse, size];
    let kind = if op.inputs.len() > 3 {
        inputs.push(b.number(transforms, 0.0)?);
        "ImageProjectiveTransformV3"
    } else {
        "ImageProjectiveTransformV2"
    };
    first(like(b, op, kind, &inputs, &["interpolation", "fill_mode"])?, op.inputs.len() - 1)
}
