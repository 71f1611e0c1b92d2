//! `QuantizedConv2D` and `QuantizedMatMul`: sums of products of bytes, after the zero point is subtracted.

use super::range::{Quantized, Range, integers, quantized};
use crate::from_fn::from_fn;
use crate::gemm::{MatrixRef, matmul_generic};
use crate::window::extent;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizedConv2D", make_conv);
    registry.add("QuantizedMatMul", make_matmul);
}

/// The number of elements of the patch matrix that are computed at a time.
const PATCHES: usize = 1 << 20;

/// Returns a tensor's integers minus the zero point.
fn centred<T: Quantized>(alloc: &Allocator, tensor: &Tensor, zero: i32) -> Result<Vec<i32>> {
    let x = tensor.as_slice::<T>()?;
    let _reserved = alloc.reserve::<i32>(x.len())?;
    Ok(x.iter().map(|&x| (T::wide(x) as i32).wrapping_sub(zero)).collect())
}

fn make_matmul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let transposed = [init.attrs.get_or("transpose_a", false)?, init.attrs.get_or("transpose_b", false)?];
    match (init.dtype("T1")?, init.dtype("T2")?, init.attrs.get_or("Toutput", DType::QI32)?) {
        (DType::QU8, DType::QU8, DType::QI32) => from_fn(move |ctx| matmul(ctx, transposed)),
        _ => init.unsupported(),
    }
}

fn matmul(ctx: &mut KernelContext<'_>, transposed: [bool; 2]) -> Result<()> {
    let (of_a, of_b) = (Range::of(ctx, 2, ["min_a", "max_a"])?, Range::of(ctx, 4, ["min_b", "max_b"])?);
    for (range, name) in [(of_a, "a"), (of_b, "b")] {
        if !(range.max > range.min) {
            bail!(InvalidArgument, "max_{name} must be larger than min_{name}.");
        }
    }
    let operands = [integers::<u8>(ctx, 0)?, integers::<u8>(ctx, 1)?];
    let mut sizes = [[0; 2]; 2];
    for (i, operand) in operands.iter().enumerate() {
        let &[rows, columns] = operand.shape().dims() else { bail!(InvalidArgument, "In[{i}] is not a matrix") };
        sizes[i] = if transposed[i] { [columns, rows] } else { [rows, columns] };
    }
    let [[m, k], [inner, n]] = sizes;
    if k != inner {
        bail!(InvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", operands[0].shape(), operands[1].shape());
    }
    let (a, b) = (
        centred::<u8>(ctx.allocator(), &operands[0], of_a.zero::<u8>())?,
        centred::<u8>(ctx.allocator(), &operands[1], of_b.zero::<u8>())?,
    );
    let matrix = |data, i: usize| MatrixRef { data, ld: operands[i].shape()[1], transposed: transposed[i] };
    let out = quantized::<i32>(ctx.allocator(), [m, n].into(), |out| matmul_generic(m, k, n, matrix(&a, 0), matrix(&b, 1), out))?;
    ctx.set_output(0, out);
    Range::product::<u8, u8>(of_a, of_b).set(ctx, 1);
    Ok(())
}

fn make_conv(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let &[batch, rows, columns, depth] = init.attrs.list::<i64>("strides")?.as_slice() else {
        bail!(InvalidArgument, "Sliding window strides field must specify 4 dimensions")
    };
    if rows != columns {
        bail!(InvalidArgument, "Current implementation only supports equal length strides in the row and column dimensions.");
    }
    if batch != 1 || depth != 1 {
        bail!(InvalidArgument, "Current implementation does not yet support strides in the batch and depth dimensions.");
    }
    let Some(stride) = usize::try_from(rows).ok().filter(|stride| (1..1 << 31).contains(stride)) else {
        bail!(InvalidArgument, "Stride must be > 0, but got {rows}")
    };
    if init.attrs.contains("dilations") {
        let dilations = init.attrs.list::<i64>("dilations")?;
        if dilations.len() != 4 {
            bail!(InvalidArgument, "Dilations field must specify 4 dimensions");
        }
        if dilations[1..3] != [1, 1] {
            bail!(InvalidArgument, "Current implementation only supports dilated rate as 1 in the row and column dimensions.");
        }
        if dilations != [1; 4] {
            bail!(InvalidArgument, "Current implementation does not yet support dilations in the batch and depth dimensions.");
        }
    }
    let same = init.attrs.get::<&str>("padding")? == "SAME";
    match (init.dtype("Tinput")?, init.dtype("Tfilter")?, init.attrs.get_or("out_type", DType::QI32)?) {
        (DType::QU8, DType::QU8, DType::QI32) => from_fn(move |ctx| conv::<u8>(ctx, stride, same)),
        (DType::QU8, DType::QI8, DType::QI32) => from_fn(move |ctx| conv::<i8>(ctx, stride, same)),
        _ => init.unsupported(),
    }
}

/// The positions of windows along one dimension. TensorFlow centres the covered part, also if it leaves elements out.
#[derive(Clone, Copy)]
struct Extent {
    input: usize,
    window: usize,
    output: usize,
    stride: usize,
    before: i64,
}

impl Extent {
    fn new(input: usize, window: usize, stride: usize, same: bool) -> Result<Extent> {
        let (output, _) = extent(input, window, stride, 1, same, (0, 0))?;
        let beyond = (output as i64 - 1) * stride as i64 - input as i64 + window as i64;
        let before = (beyond + i64::from(!same)) / 2;
        Ok(Extent { input, window, output, stride, before })
    }

    /// Returns the input element at element `tap` of window `at`, or `None` outside of the input.
    fn input(self, at: usize, tap: usize) -> Option<usize> {
        let i = (at * self.stride + tap) as i64 - self.before;
        usize::try_from(i).ok().filter(|&i| i < self.input)
    }
}

fn conv<F: Quantized>(ctx: &mut KernelContext<'_>, stride: usize, same: bool) -> Result<()> {
    let (input, filter) = (integers::<u8>(ctx, 0)?, integers::<F>(ctx, 1)?);
    let &[batch, height, width, depth] = input.shape().dims() else {
        bail!(InvalidArgument, "input must be rank 4 but is rank {}", input.rank())
    };
    let &[rows, columns, filter_depth, count] = filter.shape().dims() else {
        bail!(InvalidArgument, "filter must be rank 4 but is rank {}", filter.rank())
    };
    let (of_input, of_filter) = (Range::of(ctx, 2, ["min_input", "max_input"])?, Range::of(ctx, 4, ["min_filter", "max_filter"])?);
    if depth != filter_depth {
        bail!(InvalidArgument, "input and filter must have the same depth: {depth} vs {filter_depth}");
    }
    let (y, x) = (Extent::new(height, rows, stride, same)?, Extent::new(width, columns, stride, same)?);
    let zero = of_input.zero::<u8>();
    // The padding around the image is the zero point as a byte. If the range is above zero, the byte represents another number.
    let border = if zero < 0 { 0 } else { i32::from(zero as u8).wrapping_sub(zero) };
    let (pixels, filter) = (centred::<u8>(ctx.allocator(), &input, zero)?, centred::<F>(ctx.allocator(), &filter, of_filter.zero::<F>())?);
    let image = Image { pixels: &pixels, height, width, depth, border };
    let patch = rows * columns * depth;
    if batch == 0 || y.output == 0 || x.output == 0 || count == 0 {
        bail!(InvalidArgument, "Invalid input: Shapes dimension cannot be 0.");
    }
    if patch == 0 {
        bail!(InvalidArgument, "filter patch must contain at least one element");
    }
    let _reserved = ctx.allocator().reserve::<i32>(patch)?;
    let out = quantized::<i32>(ctx.allocator(), [batch, y.output, x.output, count].into(), |out| {
        let some = (PATCHES / patch).clamp(1, out.len() / count);
        let mut patches = Vec::with_capacity(some * patch);
        for (i, out) in out.chunks_mut(some * count).enumerate() {
            let m = out.len() / count;
            patches.clear();
            (i * some..i * some + m).for_each(|at| image.add_patch(at, y, x, &mut patches));
            let a = MatrixRef { data: &patches, ld: patch, transposed: false };
            let b = MatrixRef { data: &filter, ld: count, transposed: false };
            matmul_generic(m, patch, count, a, b, out);
        }
    })?;
    ctx.set_output(0, out);
    Range::product::<u8, F>(of_input, of_filter).set(ctx, 1);
    Ok(())
}

struct Image<'a> {
    pixels: &'a [i32],
    height: usize,
    width: usize,
    depth: usize,
    /// The value of the padding around the image.
    border: i32,
}

impl Image<'_> {
    /// Appends the patch for position `at` of the output.
    fn add_patch(&self, at: usize, y: Extent, x: Extent, patches: &mut Vec<i32>) {
        let (image, row, column) = (at / x.output / y.output, at / x.output % y.output, at % x.output);
        for i in 0..y.window {
            for j in 0..x.window {
                match (y.input(row, i), x.input(column, j)) {
                    (Some(row), Some(column)) => {
                        let pixel = (image * self.height + row) * self.width + column;
                        patches.extend_from_slice(&self.pixels[pixel * self.depth..][..self.depth]);
                    }
                    _ => patches.extend(std::iter::repeat_n(self.border, self.depth)),
                }
            }
        }
    }
}
