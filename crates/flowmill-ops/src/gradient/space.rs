//! Gradients of what moves elements between space, depth and batch, and of mirrored paddings.

use super::formula::Formula;
use super::{Grads, first, like};
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::DType;

type B<'a> = ScopedBuilder<'a>;

/// An op that another one undoes, given the same further inputs and these attributes.
macro_rules! undone_by {
    ($($name:ident => $op:literal $attrs:expr;)*) => {$(
        pub(crate) fn $name(b: &mut B<'_>, op: &Backward) -> Grads {
            let dy = op.dy(b, 0)?;
            let rest = &op.inputs[1..];
            first(like(b, op, $op, &[&[dy], rest].concat(), $attrs)?, rest.len())
        }
    )*};
}

undone_by! {
    space_to_batch => "BatchToSpace" &["block_size"];
    batch_to_space => "SpaceToBatch" &["block_size"];
    space_to_batch_nd => "BatchToSpaceND" &[];
    batch_to_space_nd => "SpaceToBatchND" &[];
    space_to_depth => "DepthToSpace" &["block_size", "data_format"];
    depth_to_space => "SpaceToDepth" &["block_size", "data_format"];
    mirror_pad => "MirrorPadGrad" &["mode"];
    mirror_pad_grad => "MirrorPad" &["mode"];
    reverse => "Reverse" &[];
}

pub(crate) fn roll(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let back = b.neg(op.inputs[1])?;
    first(b.call("Roll", &[dy, back, op.inputs[2]])?, 2)
}

pub(crate) fn conjugate_transpose(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let back = b.call("InvertPermutation", &[op.inputs[1]])?;
    first(b.call("ConjugateTranspose", &[dy, back])?, 1)
}

/// Each pixel gets the sum over the patches that it is in: the patches of an image of the pixels' numbers say which pixel is where.
pub(crate) fn extract_image_patches(b: &mut B<'_>, op: &Backward) -> Grads {
    of_patches(b, op, "ExtractImagePatches", 2)
}

pub(crate) fn extract_volume_patches(b: &mut B<'_>, op: &Backward) -> Grads {
    of_patches(b, op, "ExtractVolumePatches", 3)
}

/// The gradient of an op that cuts patches: the op is applied to the numbers of the pixels, which tells each element's source. `rank` is the
/// image's.
fn of_patches(b: &mut B<'_>, op: &Backward, kind: &str, rank: i32) -> Grads {
    let dy = op.dy(b, 0)?;
    let shape = b.dynamic_shape_of(op.inputs[0])?;
    let (zero, one) = (b.int(0)?, b.int(1)?);
    let part = |b: &mut B<'_>, i: i32| {
        let i = b.int(i)?;
        b.call("GatherV2", &[shape, i, zero])
    };
    let (batch, depth) = (part(b, 0)?, part(b, rank + 1)?);
    let mut image = vec![one];
    let mut pixels = one;
    for i in 1..=rank {
        let size = part(b, i)?;
        image.push(size);
        pixels = if i == 1 { size } else { b.mul(pixels, size)? };
    }
    image.push(one);
    // From 1 on: what lies on the padding is 0.
    let end = b.add(pixels, one)?;
    let numbers = b.call("Range", &[one, end, one])?;
    let image = b.op("Pack").inputs(&image).output()?;
    let numbers = b.reshape(numbers, image)?;
    let numbers = b.cast(numbers, DType::I64)?;
    let places = like(b, op, kind, &[numbers], &["ksizes", "strides", "rates", "padding"])?;
    let (flat, once) = (b.ints(&[-1])?, b.constant("Const", &flowmill_tensor::Tensor::scalar(1i64))?);
    let places = b.reshape(places, flat)?;
    let places = b.sub(places, once)?;
    // [batch, place, depth] to [place, batch, depth], summed by pixel, and back.
    let all = b.int(-1)?;
    let by_place = b.op("Pack").inputs(&[batch, all, depth]).output()?;
    let values = b.reshape(dy, by_place)?;
    let swapped = b.ints(&[1, 0, 2])?;
    let values = b.call("Transpose", &[values, swapped])?;
    let sums = b.call("UnsortedSegmentSum", &[values, places, pixels])?;
    let sums = b.call("Transpose", &[sums, swapped])?;
    first(b.reshape(sums, shape)?, 0)
}
