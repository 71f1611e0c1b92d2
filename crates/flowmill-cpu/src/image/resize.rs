//! `ResizeBilinear` and `ResizeNearestNeighbor`.

use super::{image_dims, size_of};
use crate::from_fn::from_fn;
use crate::parallel;
pub(crate) use flowmill_numeric::interpolate::Between;
use flowmill_numeric::interpolate::bilinear_row;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Element, Result, Tensor, bail, bf16, f16, for_dtype};
use num_traits::AsPrimitive;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ResizeBilinear", make_bilinear);
    registry.add("ResizeNearestNeighbor", make_nearest);
}

/// The mapping from pixels of the output to positions in the input.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    align_corners: bool,
    pub(super) half_pixel_centers: bool,
}

impl Grid {
    pub(crate) fn new(init: &KernelInit<'_>) -> Result<Grid> {
        let grid = Grid {
            align_corners: init.attrs.get_or("align_corners", false)?,
            half_pixel_centers: init.attrs.get_or("half_pixel_centers", false)?,
        };
        if grid.align_corners && grid.half_pixel_centers {
            bail!(InvalidArgument, "If half_pixel_centers is True, align_corners must be False.");
        }
        Ok(grid)
    }

    /// Returns a grid that maps the corners of the output to those of the input if `align_corners`, without half-pixel centres.
    pub(crate) fn of_corners(align_corners: bool) -> Grid {
        Grid { align_corners, half_pixel_centers: false }
    }

    /// Returns the number of input pixels per output pixel.
    pub(super) fn scale(self, input: usize, output: usize) -> f32 {
        if self.align_corners && output > 1 { (input - 1) as f32 / (output - 1) as f32 } else { input as f32 / output as f32 }
    }
}

impl Grid {
    /// Returns the position of output pixel `i` in the input.
    pub(super) fn position(self, i: usize, scale: f32) -> f32 {
        if self.half_pixel_centers { (i as f32 + 0.5) * scale - 0.5 } else { i as f32 * scale }
    }

    pub(crate) fn between(self, input: usize, output: usize) -> Vec<Between> {
        let scale = self.scale(input, output);
        let last = (input - 1) as i64;
        let of = |i: usize| {
            let at = self.position(i, scale);
            let floor = at.floor();
            let clamped = |v: f32| (v as i64).clamp(0, last) as usize;
            Between { lower: clamped(floor), upper: clamped(at.ceil()), lerp: at - floor }
        };
        (0..output).map(of).collect()
    }

    pub(super) fn nearest(self, input: usize, output: usize) -> Vec<usize> {
        let scale = self.scale(input, output);
        let of = |i: usize| {
            let at = match self {
                Grid { half_pixel_centers: true, .. } => ((i as f32 + 0.5) * scale).floor(),
                Grid { align_corners: true, .. } => (i as f32 * scale).round(),
                _ => (i as f32 * scale).floor(),
            };
            (at as i64).clamp(0, input as i64 - 1) as usize
        };
        (0..output).map(of).collect()
    }
}

/// Checks that tables of [`Between`] for these rows and columns are within the memory limit. If the batch is empty, there need not be pixels for them.
pub(super) fn check_tables(alloc: &Allocator, sizes: [usize; 4]) -> Result<()> {
    alloc.reserve::<[Between; 4]>(sizes.into_iter().fold(0, usize::saturating_add)).map(drop)
}

/// Returns the dimensions of the images, and the requested size.
pub(crate) fn sizes(alloc: &Allocator, images: &Tensor, size: &Tensor) -> Result<([usize; 4], (usize, usize))> {
    let dims = image_dims(images)?;
    let size = size_of(size, "shape_t")?;
    if dims[1] == 0 || dims[2] == 0 || dims[3] == 0 {
        bail!(InvalidArgument, "input image must be of non-zero size");
    }
    check_tables(alloc, [dims[1], dims[2], size.0, size.1])?;
    Ok((dims, size))
}

fn make_bilinear(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grid = Grid::new(init)?;
    for_dtype!(init.dtype("T")?, [i8, u8, i16, u16, i32, i64, f16, bf16, f32, f64], T => bilinear::<T>(grid), _ => init.unsupported())
}

fn bilinear<T: Element + AsPrimitive<f32>>(grid: Grid) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let images = ctx.input(0)?;
        let ([batch, height, width, channels], (out_height, out_width)) = sizes(ctx.allocator(), images, ctx.input(1)?)?;
        let mut output = ctx.allocator().uninit(DType::F32, [batch, out_height, out_width, channels])?;
        let (rows, columns) = (grid.between(height, out_height), grid.between(width, out_width));
        let input = images.as_slice::<T>()?;
        parallel::chunks(output.as_mut_slice::<f32>()?, out_width * channels, |i, row| {
            let y = rows[i % out_height];
            let line = |y: usize| &input[(i / out_height * height + y) * width * channels..][..width * channels];
            let (top, bottom) = (line(y.lower), line(y.upper));
            bilinear_row(row, top, bottom, channels, &columns, y.lerp);
        });
        ctx.set_output(0, output);
        Ok(())
    })
}

fn make_nearest(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grid = Grid::new(init)?;
    for_dtype!(init.dtype("T")?, [i8, u8, i16, u16, i32, i64, f16, bf16, f32, f64], T => nearest::<T>(grid), _ => init.unsupported())
}

fn nearest<T: Element>(grid: Grid) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let images = ctx.input(0)?;
        let ([batch, height, width, channels], (out_height, out_width)) = sizes(ctx.allocator(), images, ctx.input(1)?)?;
        let mut output = ctx.allocator().uninit(T::DTYPE, [batch, out_height, out_width, channels])?;
        let (rows, columns) = (grid.nearest(height, out_height), grid.nearest(width, out_width));
        let input = images.as_slice::<T>()?;
        parallel::chunks(output.as_mut_slice::<T>()?, out_width * channels, |i, row| {
            let line = &input[(i / out_height * height + rows[i % out_height]) * width * channels..][..width * channels];
            for (pixel, &x) in row.chunks_exact_mut(channels).zip(&columns) {
                pixel.copy_from_slice(&line[x * channels..][..channels]);
            }
        });
        ctx.set_output(0, output);
        Ok(())
    })
}
