//! `FractionalMaxPoolGrad` and `FractionalAvgPoolGrad`.

use super::fractional::windows;
use crate::from_fn::from_fn;
use crate::number::{Number, Ordered};
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail, for_dtype};
use num_traits::AsPrimitive;
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("FractionalAvgPoolGrad", make_avg);
    registry.add("FractionalMaxPoolGrad", make_max);
}

fn make_avg(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let overlapping: bool = init.attrs.get_or("overlapping", false)?;
    for_dtype!(init.dtype("T")?, [f32, f64, i32, i64], T => from_fn(move |ctx| avg::<T>(ctx, overlapping)), _ => init.unsupported())
}

fn make_max(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let overlapping: bool = init.attrs.get_or("overlapping", false)?;
    for_dtype!(init.dtype("T")?, [f32, f64, i32, i64], T => from_fn(move |ctx| max::<T>(ctx, overlapping)), _ => init.unsupported())
}

/// The windows of a pool's output along both dimensions.
struct Windows {
    rows: Vec<Range<usize>>,
    columns: Vec<Range<usize>>,
}

impl Windows {
    /// Reads the windows' starts from the tensors `rows` and `columns`, which must have at least one element more than there are windows.
    fn new(rows: (&Tensor, usize, usize), columns: (&Tensor, usize, usize), overlapping: bool) -> Result<Windows> {
        let along = |name: &str, (starts, count, len): (&Tensor, usize, usize)| -> Result<Vec<Range<usize>>> {
            let Some(starts) = starts.as_slice::<i64>()?.get(..=count) else {
                bail!(
                    InvalidArgument,
                    "{}_seq_tensor must have at least {} elements, but got {}",
                    if name == "Row" { "row" } else { "col" },
                    count + 1,
                    starts.num_elements()
                );
            };
            if let Some(start) = starts.iter().find(|&&start| start < 0) {
                bail!(InvalidArgument, "{name} sequence tensor values must not be negative, got {start}");
            }
            Ok(windows(starts, len, overlapping))
        };
        Ok(Windows { rows: along("Row", rows)?, columns: along("Column", columns)? })
    }

    /// Calls `f(position, pixels)` for each window, in order; positions are relative to one output row, pixels to one image.
    fn of_row(&self, row: usize, width: usize, mut f: impl FnMut(usize, &mut dyn Iterator<Item = usize>)) {
        for (position, columns) in self.columns.iter().enumerate() {
            f(position, &mut self.rows[row].clone().flat_map(|y| columns.clone().map(move |x| y * width + x)));
        }
    }
}

/// Adds the gradient of each window to the first of its greatest elements.
fn max<T: Ordered>(ctx: &mut KernelContext<'_>, overlapping: bool) -> Result<()> {
    const NONE: usize = usize::MAX;
    let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let sizes = |name: &str, tensor: &Tensor| -> Result<[usize; 4]> {
        match <[usize; 4]>::try_from(tensor.shape().dims()) {
            Ok(_) if tensor.num_elements() == 0 => bail!(InvalidArgument, "{name} must not be empty, got shape {}", tensor.shape()),
            Ok(sizes) => Ok(sizes),
            Err(_) => bail!(InvalidArgument, "{name} should be a tensor of rank 4, got shape {}", tensor.shape()),
        }
    };
    let [batch, height, width, channels] = sizes("orig_input", input)?;
    let [out_batch, out_height, out_width, out_channels] = sizes("orig_output", output)?;
    let (rows, columns) = (ctx.input(3)?, ctx.input(4)?);
    for (name, starts) in [("row_pooling_sequence", rows), ("col_pooling_sequence", columns)] {
        if starts.rank() != 1 {
            bail!(InvalidArgument, "{name} must be a vector, received shape {}", starts.shape());
        }
    }
    let windows = [rows.num_elements(), columns.num_elements()];
    if [batch, channels] != [out_batch, out_channels] || windows != [out_height + 1, out_width + 1] {
        bail!(InvalidArgument, "tensor_out_dup is not the same as tensor_out: orig_output has another shape, {}", output.shape());
    }
    if gradient.num_elements() != output.num_elements() {
        bail!(InvalidArgument, "out_backprop has shape {}, orig_output {}", gradient.shape(), output.shape());
    }
    let windows = Windows::new((rows, out_height, height), (columns, out_width, width), overlapping)?;
    let (x, y, g) = (input.as_slice::<T>()?, output.as_slice::<T>()?, gradient.as_slice::<T>()?);
    let _reserved = ctx.allocator().reserve::<usize>(y.len())?;
    let mut greatest = vec![NONE; y.len()];
    parallel::chunks(&mut greatest, out_width * channels, |row, greatest| {
        let first = row / out_height * height * width * channels;
        windows.of_row(row % out_height, width, |position, pixels| {
            let greatest = &mut greatest[position * channels..][..channels];
            for pixel in pixels {
                for (at, greatest) in (first + pixel * channels..).zip(greatest.iter_mut()) {
                    if *greatest == NONE || x[*greatest] < x[at] {
                        *greatest = at;
                    }
                }
            }
        });
    });
    let mut out = ctx.allocator().zeros(T::DTYPE, input.shape().clone())?;
    let to = out.as_mut_slice::<T>()?;
    for ((at, y), g) in greatest.into_iter().zip(y).zip(g) {
        if x.get(at).is_none_or(|x| x != y) {
            bail!(InvalidArgument, "tensor_out_dup is not the same as tensor_out");
        }
        to[at] = to[at].plus(*g);
    }
    ctx.set_output(0, out);
    Ok(())
}

/// Spreads the gradient of each window evenly over its elements. Sums are computed in `double`.
fn avg<T: Number + AsPrimitive<f64>>(ctx: &mut KernelContext<'_>, overlapping: bool) -> Result<()>
where
    f64: AsPrimitive<T>,
{
    let (sizes, gradient) = (ctx.input(0)?, ctx.input(1)?);
    if sizes.rank() != 1 || sizes.num_elements() != 4 {
        bail!(InvalidArgument, "original input tensor shape must be1-dimensional and 4 elements");
    }
    let shape = sizes.to_shape()?;
    let (Ok([batch, height, width, channels]), &[out_batch, out_height, out_width, out_channels]) =
        (<[usize; 4]>::try_from(shape.dims()), gradient.shape().dims())
    else {
        bail!(InvalidArgument, "out_backprop must be 4-dimensional");
    };
    if gradient.num_elements() == 0 {
        bail!(InvalidArgument, "out_backprop must be positive for all dimension, got:0");
    }
    for (name, size) in [("Batch", batch), ("Rows", height), ("Columns", width), ("Depth", channels)] {
        if size == 0 {
            bail!(InvalidArgument, "{name} dimension of input must not be 0");
        }
    }
    if [batch, channels] != [out_batch, out_channels] {
        bail!(InvalidArgument, "out_backprop of shape {} has another batch or depth than the input of shape {shape}", gradient.shape());
    }
    let windows = Windows::new((ctx.input(2)?, out_height, height), (ctx.input(3)?, out_width, width), overlapping)?;
    let g = gradient.as_slice::<T>()?;
    let mut sums = ctx.allocator().zeros(DType::F64, shape.clone())?;
    parallel::chunks(sums.as_mut_slice::<f64>()?, height * width * channels, |image, sums| {
        for row in 0..out_height {
            windows.of_row(row, width, |position, pixels| {
                let from = &g[((image * out_height + row) * out_width + position) * channels..][..channels];
                let count = (windows.rows[row].len() * windows.columns[position].len()) as f64;
                for pixel in pixels {
                    let to = &mut sums[pixel * channels..][..channels];
                    to.iter_mut().zip(from).for_each(|(to, &g)| *to += AsPrimitive::<f64>::as_(g) / count);
                }
            });
        }
    });
    let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
    out.as_mut_slice::<T>()?.iter_mut().zip(sums.as_slice::<f64>()?).for_each(|(out, &sum)| *out = sum.as_());
    ctx.set_output(0, out);
    Ok(())
}
