//! `DrawBoundingBoxes` and `DrawBoundingBoxesV2`.

use super::image_dims;
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail, f16};
use std::sync::Arc;

/// The colours that boxes have in turn if none are given.
const COLORS: [[f32; 4]; 10] = [
    [1.0, 1.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 1.0],
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.0, 1.0],
    [0.5, 0.0, 0.5, 1.0],
    [0.5, 0.5, 0.0, 1.0],
    [0.5, 0.0, 0.0, 1.0],
    [0.0, 0.0, 0.5, 1.0],
    [0.0, 1.0, 1.0, 1.0],
    [1.0, 0.0, 1.0, 1.0],
];

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DrawBoundingBoxes", make);
    registry.add("DrawBoundingBoxesV2", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match init.attrs.get_or("T", DType::F32)? {
        DType::F16 => from_fn(draw::<f16>),
        DType::F32 => from_fn(draw::<f32>),
        _ => init.unsupported(),
    }
}

/// Returns the colours in input 2, or the default ones, which are white in images of one channel.
fn colors(ctx: &KernelContext<'_>, depth: usize) -> Result<Vec<[f32; 4]>> {
    let mut colors = COLORS.to_vec();
    if depth == 1 {
        colors.iter_mut().for_each(|color| color[0] = 1.0);
    }
    if ctx.num_inputs() > 2 {
        let table = ctx.input(2)?;
        let &[rows, columns] = table.shape().dims() else {
            bail!(InvalidArgument, "colors must be a 2-D matrix, got {}", table.shape());
        };
        if columns < depth {
            bail!(InvalidArgument, "colors must have equal or more channels than the image provided: {columns} vs {depth}");
        }
        if rows > 0 {
            let values = table.as_slice::<f32>()?.chunks_exact(columns.max(1));
            colors = values.map(|row| std::array::from_fn(|c| row.get(c).copied().unwrap_or(0.0))).collect();
        }
    }
    Ok(colors)
}

fn draw<T: Number<Acc = f32>>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let boxes = ctx.input(1)?.clone();
    let [batch, height, width, depth] = image_dims(ctx.input(0)?)?;
    if !matches!(depth, 1 | 3 | 4) {
        bail!(InvalidArgument, "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
    }
    let &[box_batch, num_boxes, 4] = boxes.shape().dims() else {
        bail!(InvalidArgument, "boxes must be of shape [batch, num_bounding_boxes, 4], got {}", boxes.shape());
    };
    if box_batch != batch {
        bail!(InvalidArgument, "The batch sizes should be the same: {batch} images, boxes for {box_batch}");
    }
    let colors = colors(ctx, depth)?;
    let mut out = ctx.take_writable(0)?;
    let pixels = out.as_mut_slice::<T>()?;
    let (rows, columns) = (height as i64, width as i64);
    for (i, corners) in boxes.as_slice::<f32>()?.as_chunks::<4>().0.iter().enumerate() {
        let color = colors[i % num_boxes % colors.len()];
        let image = &mut pixels[i / num_boxes * height * width * depth..][..height * width * depth];
        let [top, left, bottom, right] = [
            (corners[0] * (rows - 1) as f32) as i64,
            (corners[1] * (columns - 1) as f32) as i64,
            (corners[2] * (rows - 1) as f32) as i64,
            (corners[3] * (columns - 1) as f32) as i64,
        ];
        let drawn = top <= bottom && left <= right && top < rows && bottom >= 0 && left < columns && right >= 0;
        if !drawn {
            continue;
        }
        let mut paint = |y: i64, x: i64| {
            let at = (y as usize * width + x as usize) * depth;
            image[at..][..depth].iter_mut().zip(color).for_each(|(pixel, c)| *pixel = T::narrow(c));
        };
        for y in [top, bottom].into_iter().filter(|y| (0..rows).contains(y)) {
            (left.max(0)..=right.min(columns - 1)).for_each(|x| paint(y, x));
        }
        for x in [left, right].into_iter().filter(|x| (0..columns).contains(x)) {
            (top.max(0)..=bottom.min(rows - 1)).for_each(|y| paint(y, x));
        }
    }
    ctx.set_output(0, out);
    Ok(())
}
