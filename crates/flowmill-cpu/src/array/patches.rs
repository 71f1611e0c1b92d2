//! `ExtractImagePatches` and `ExtractVolumePatches`, which output the windows of a convolution, each as a row of channels.

use super::item::{Item, for_item};
use crate::from_fn::linear_from_fn;
use crate::window::extent;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ExtractImagePatches", make_extract_image_patches);
    registry.add("ExtractVolumePatches", make_extract_volume_patches);
}

/// The window along one dimension.
#[derive(Clone, Copy)]
struct Window {
    size: usize,
    stride: usize,
    rate: usize,
}

/// The windows over a dimension of a given size: their number, and the number of positions by which the first one extends before the image.
struct Extent {
    count: usize,
    before: usize,
}

impl Window {
    fn extent(self, dim: usize, same: bool) -> Result<Extent> {
        let (count, before) = extent(dim, self.size, self.stride, self.rate, same, (0, 0))?;
        Ok(Extent { count, before })
    }
}

fn make_extract_image_patches(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let window = |axis: usize| -> Result<Window> {
        let get = |name: &str| -> Result<usize> {
            let values: Vec<i64> = init.attrs.list(name)?;
            match values[..] {
                [1, height, width, 1] => {
                    let value = if axis == 1 { height } else { width };
                    match usize::try_from(value) {
                        Ok(value) if value > 0 => Ok(value),
                        _ => bail!(InvalidArgument, "{name} must be positive, got {value}"),
                    }
                }
                [_, _, _, _] => bail!(Unimplemented, "Only support {name} across space."),
                _ => bail!(InvalidArgument, "Sliding window {name} field must specify 4 dimensions"),
            }
        };
        Ok(Window { size: get("ksizes")?, stride: get("strides")?, rate: get("rates")? })
    };
    let windows = [window(1)?, window(2)?];
    let same = match init.attrs.get("padding")? {
        "SAME" => true,
        "VALID" => false,
        other => bail!(InvalidArgument, "padding must be SAME or VALID, got {other}"),
    };
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| {
        let output = extract::<T>(ctx.allocator(), ctx.input(0)?, windows, same)?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// Converts `[batch, rows, columns, depth]` to `[batch, windows down, windows across, window rows · window columns · depth]`.
fn extract<T: Item>(alloc: &Allocator, images: &Tensor, [down, across]: [Window; 2], same: bool) -> Result<Tensor> {
    let &[batch, rows, columns, depth] = images.shape().dims() else {
        bail!(InvalidArgument, "input must be 4-dimensional{}", images.shape())
    };
    let (rows_out, columns_out) = (down.extent(rows, same)?, across.extent(columns, same)?);
    let Some(patch) = down.size.checked_mul(across.size).and_then(|n| n.checked_mul(depth)) else {
        bail!(InvalidArgument, "the windows have too many elements")
    };
    let source = T::items(images)?;
    let zero = T::zero()?;
    T::build(alloc, images.dtype(), [batch, rows_out.count, columns_out.count, patch].into(), source, |out| {
        if depth == 0 || out.is_empty() {
            return Ok(());
        }
        for (i, pixel) in out.chunks_exact_mut(depth).enumerate() {
            let (place, k) = (i / (down.size * across.size), i % (down.size * across.size));
            let (image, place) = (place / (rows_out.count * columns_out.count), place % (rows_out.count * columns_out.count));
            let row =
                (place / columns_out.count * down.stride + k / across.size * down.rate).checked_sub(rows_out.before).filter(|&r| r < rows);
            let column = (place % columns_out.count * across.stride + k % across.size * across.rate)
                .checked_sub(columns_out.before)
                .filter(|&c| c < columns);
            match (row, column) {
                (Some(row), Some(column)) => pixel.clone_from_slice(&source[((image * rows + row) * columns + column) * depth..][..depth]),
                _ => pixel.fill(zero.clone()),
            }
        }
        Ok(())
    })
}

fn make_extract_volume_patches(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sizes = |name: &str| -> Result<[usize; 3]> {
        let values: Vec<i64> = init.attrs.list(name)?;
        let &[1, planes, rows, columns, 1] = &values[..] else {
            if values.len() == 5 {
                bail!(Unimplemented, "Only support {name} across space.");
            }
            bail!(InvalidArgument, "Sliding window {name} field must specify 5 dimensions");
        };
        let mut sizes = [0; 3];
        for (size, value) in sizes.iter_mut().zip([planes, rows, columns]) {
            match usize::try_from(value) {
                Ok(value) if value > 0 => *size = value,
                _ => bail!(InvalidArgument, "{name} must be positive, got {value}"),
            }
        }
        Ok(sizes)
    };
    let (sizes, strides) = (sizes("ksizes")?, sizes("strides")?);
    let windows = std::array::from_fn(|i| Window { size: sizes[i], stride: strides[i], rate: 1 });
    let same = match init.attrs.get("padding")? {
        "SAME" => true,
        "VALID" => false,
        other => bail!(InvalidArgument, "padding must be SAME or VALID, got {other}"),
    };
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| {
        let output = extract_volumes::<T>(ctx.allocator(), ctx.input(0)?, windows, same)?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// Converts `[batch, planes, rows, columns, depth]` to `[batch, windows in each direction …, elements of a window · depth]`.
fn extract_volumes<T: Item>(alloc: &Allocator, volumes: &Tensor, windows: [Window; 3], same: bool) -> Result<Tensor> {
    let &[batch, planes, rows, columns, depth] = volumes.shape().dims() else {
        bail!(InvalidArgument, "input must be 5-dimensional{}", volumes.shape())
    };
    let sizes = [planes, rows, columns];
    let mut extents = [const { Extent { count: 0, before: 0 } }; 3];
    for (i, extent) in extents.iter_mut().enumerate() {
        *extent = windows[i].extent(sizes[i], same)?;
    }
    let Some(patch) = windows.iter().try_fold(depth, |n, window| n.checked_mul(window.size)) else {
        bail!(InvalidArgument, "the windows have too many elements")
    };
    let source = T::items(volumes)?;
    let zero = T::zero()?;
    let counts = [extents[0].count, extents[1].count, extents[2].count];
    T::build(alloc, volumes.dtype(), [batch, counts[0], counts[1], counts[2], patch].into(), source, |out| {
        if depth == 0 || out.is_empty() {
            return Ok(());
        }
        for (i, voxel) in out.chunks_exact_mut(depth).enumerate() {
            // The index within the window and the index of the window, from the last dimension to the first.
            let (mut rest, mut places, mut windows_at) = (i, [0; 3], [0; 3]);
            for axis in (0..3).rev() {
                places[axis] = rest % windows[axis].size;
                rest /= windows[axis].size;
            }
            for axis in (0..3).rev() {
                windows_at[axis] = rest % counts[axis];
                rest /= counts[axis];
            }
            let at = (0..3).try_fold(rest, |at, axis| {
                let place = (windows_at[axis] * windows[axis].stride + places[axis]).checked_sub(extents[axis].before)?;
                if place < sizes[axis] { Some(at * sizes[axis] + place) } else { None }
            });
            match at {
                Some(at) => voxel.clone_from_slice(&source[at * depth..][..depth]),
                None => voxel.fill(zero.clone()),
            }
        }
        Ok(())
    })
}
