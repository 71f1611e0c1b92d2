//! `Dilation2D`, the maximum of sums with a filter, and its gradients.

use crate::from_fn::from_fn;
use crate::number::Ordered;
use crate::parallel;
use flowmill_kernels::dilation::{geometry, window};
use flowmill_numeric::window::Window;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Dilation2D", |init| make(init, Part::Output));
    registry.add("Dilation2DBackpropFilter", |init| make(init, Part::FilterGradient));
    registry.add("Dilation2DBackpropInput", |init| make(init, Part::InputGradient));
}

/// The result that a kernel computes.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Output,
    InputGradient,
    FilterGradient,
}

/// The computation of a part for one type.
type Dilate = fn(&KernelContext<'_>, &Window, Shape, Part) -> Result<Tensor>;

fn make(init: &KernelInit<'_>, part: Part) -> Result<Arc<dyn Kernel>> {
    let geometry = geometry(init)?;
    let dilate: Dilate = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64],
        T => if part == Part::Output { dilated::<T> } else { gradient::<T> },
        _ => return init.unsupported()
    );
    from_fn(move |ctx| {
        let w = window(&geometry, ctx.input(0)?.shape(), ctx.input(1)?.shape())?;
        let shape = Shape::from([w.batch, w.out_height, w.out_width, w.channels]);
        let out = dilate(ctx, &w, shape, part)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Computes, for each channel at an output position, the greatest sum, and the positions of its summands in the filter and in the image.
fn greatest<T: Ordered>(w: &Window, image: &[T], filter: &[T], y: usize, x: usize, out: &mut [(T, usize, usize)]) {
    out.fill((T::LOWEST_FINITE, 0, 0));
    let mut first = true;
    for i in w.rows_inside(y) {
        for j in w.columns_inside(x) {
            let pixel = (w.input_row(y, i) * w.in_width + w.input_column(x, j)) * w.channels;
            let tap = (i * w.width + j) * w.channels;
            for (c, best) in out.iter_mut().enumerate() {
                let sum = image[pixel + c].plus(filter[tap + c]);
                if sum > best.0 || first {
                    *best = (sum, tap + c, pixel + c);
                }
            }
            first = false;
        }
    }
}

/// Computes the greatest sum for each channel at an output position.
fn greatest_sums<T: Ordered>(w: &Window, image: &[T], filter: &[T], y: usize, x: usize, out: &mut [T]) {
    let mut first = true;
    for i in w.rows_inside(y) {
        for j in w.columns_inside(x) {
            let pixel = (w.input_row(y, i) * w.in_width + w.input_column(x, j)) * w.channels;
            let summands = image[pixel..].iter().zip(&filter[(i * w.width + j) * w.channels..]);
            if first {
                out.iter_mut().zip(summands).for_each(|(best, (&a, &b))| *best = a.plus(b));
            } else {
                out.iter_mut().zip(summands).for_each(|(best, (&a, &b))| {
                    let sum = a.plus(b);
                    *best = if sum > *best { sum } else { *best };
                });
            }
            first = false;
        }
    }
    if first {
        out.fill(T::LOWEST_FINITE);
    }
}

/// The elements of the image at position `b` of the batch.
fn image<'a, T>(w: &Window, x: &'a [T], b: usize) -> &'a [T] {
    let len = w.in_height * w.in_width * w.channels;
    &x[b * len..][..len]
}

fn dilated<T: Ordered>(ctx: &KernelContext<'_>, w: &Window, shape: Shape, _: Part) -> Result<Tensor> {
    let (x, f) = (ctx.input(0)?.as_slice::<T>()?, ctx.input(1)?.as_slice::<T>()?);
    let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
    if out.num_elements() > 0 {
        parallel::chunks(out.as_mut_slice::<T>()?, w.out_width * w.channels, |row, out| {
            for (column, out) in out.chunks_exact_mut(w.channels).enumerate() {
                greatest_sums(w, image(w, x, row / w.out_height), f, row % w.out_height, column, out);
            }
        });
    }
    Ok(out)
}

fn gradient<T: Ordered>(ctx: &KernelContext<'_>, w: &Window, shape: Shape, part: Part) -> Result<Tensor> {
    let (input, filter, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    if *gradient.shape() != shape {
        bail!(InvalidArgument, "out_backprop has incompatible size: expected {shape}, got {}", gradient.shape());
    }
    let (x, f, g) = (input.as_slice::<T>()?, filter.as_slice::<T>()?, gradient.as_slice::<T>()?);
    let is_of_input = part == Part::InputGradient;
    let mut out = ctx.allocator().zeros(T::DTYPE, if is_of_input { input } else { filter }.shape().clone())?;
    let target = out.as_mut_slice::<T>()?;
    let mut best = vec![(T::LOWEST_FINITE, 0, 0); w.channels];
    for (position, g) in g.chunks_exact(w.channels.max(1)).enumerate() {
        let (row, column) = (position / w.out_width, position % w.out_width);
        let b = row / w.out_height;
        greatest(w, image(w, x, b), f, row % w.out_height, column, &mut best);
        let first = b * w.in_height * w.in_width * w.channels;
        for (&g, &(_, tap, pixel)) in g.iter().zip(&best) {
            let to = &mut target[if is_of_input { first + pixel } else { tap }];
            *to = to.plus(g);
        }
    }
    Ok(out)
}
