//! `QuantizedConv2D` and `QuantizedMatMul`: sums of products of bytes, after the zero point is subtracted.

use super::range::{Quantized, Range, integers, quantized};
use crate::from_fn::from_fn;
use crate::gemm::{MatrixRef, PackedBytes, gemm_bytes, matmul_generic};
use crate::packed_weights::LastForm;
use crate::parallel;
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
/// The least number of elements of the patch matrix that a thread copies.
const PATCH_GRAIN: usize = 1 << 14;

/// The filter or the right-hand side, packed for zero points.
type Weights = LastForm<PackedMatrix>;

/// A packed matrix, which may be the transpose of the tensor that it is packed from.
struct PackedMatrix {
    transposed: bool,
    bytes: PackedBytes,
}

impl PackedMatrix {
    fn is_for(&self, (k, n): (usize, usize), transposed: bool, zero: i32) -> bool {
        self.transposed == transposed && (self.bytes.k(), self.bytes.n()) == (k, n) && self.bytes.is_for(zero)
    }
}

/// A type of the integers of a filter.
trait Weight: Quantized {
    /// Packs a matrix `[k, n]`.
    fn pack(matrix: MatrixRef<'_, Self>, k: usize, n: usize, zero: i32) -> PackedBytes;
}

impl Weight for u8 {
    fn pack(matrix: MatrixRef<'_, u8>, k: usize, n: usize, zero: i32) -> PackedBytes {
        PackedBytes::pack_unsigned(matrix, k, n, zero)
    }
}

impl Weight for i8 {
    fn pack(matrix: MatrixRef<'_, i8>, k: usize, n: usize, zero: i32) -> PackedBytes {
        PackedBytes::pack_signed(matrix, k, n, zero)
    }
}

/// Returns a tensor's integers minus the zero point.
fn centred<T: Quantized>(alloc: &Allocator, tensor: &Tensor, zero: i32) -> Result<Vec<i32>> {
    let x = tensor.as_slice::<T>()?;
    let _reserved = alloc.reserve::<i32>(x.len())?;
    Ok(x.iter().map(|&x| (T::wide(x) as i32).wrapping_sub(zero)).collect())
}

fn make_matmul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let transposed = [init.attrs.get_or("transpose_a", false)?, init.attrs.get_or("transpose_b", false)?];
    match (init.dtype("T1")?, init.dtype("T2")?, init.attrs.get_or("Toutput", DType::QI32)?) {
        (DType::QU8, DType::QU8, DType::QI32) => {
            let weights = Weights::default();
            from_fn(move |ctx| matmul(ctx, transposed, &weights))
        }
        _ => init.unsupported(),
    }
}

fn matmul(ctx: &mut KernelContext<'_>, transposed: [bool; 2], weights: &Weights) -> Result<()> {
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
    let matrix = |i: usize| -> Result<MatrixRef<'_, u8>> {
        Ok(MatrixRef { data: operands[i].as_slice()?, ld: operands[i].shape()[1], transposed: transposed[i] })
    };
    let (a, b, zero) = (matrix(0)?, matrix(1)?, of_b.zero::<u8>());
    let pack = || Ok(PackedMatrix { transposed: transposed[1], bytes: PackedBytes::pack_unsigned(b, k, n, zero) });
    let b = weights.get(&operands[1], |packed| packed.is_for((k, n), transposed[1], zero), pack)?;
    let out = quantized::<i32>(ctx.allocator(), [m, n].into(), |out| gemm_bytes(m, a, of_a.zero::<u8>(), &b.bytes, out))?;
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
    let weights = Weights::default();
    match (init.dtype("Tinput")?, init.dtype("Tfilter")?, init.attrs.get_or("out_type", DType::QI32)?) {
        (DType::QU8, DType::QU8, DType::QI32) => from_fn(move |ctx| conv::<u8>(ctx, stride, same, &weights)),
        (DType::QU8, DType::QI8, DType::QI32) => from_fn(move |ctx| conv::<i8>(ctx, stride, same, &weights)),
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

fn conv<F: Weight>(ctx: &mut KernelContext<'_>, stride: usize, same: bool, weights: &Weights) -> Result<()> {
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
    let (zero, filter_zero) = (of_input.zero::<u8>(), of_filter.zero::<F>());
    let patch = rows * columns * depth;
    if batch == 0 || y.output == 0 || x.output == 0 || count == 0 {
        bail!(InvalidArgument, "Invalid input: Shapes dimension cannot be 0.");
    }
    if patch == 0 {
        bail!(InvalidArgument, "filter patch must contain at least one element");
    }
    let shape = [batch, y.output, x.output, count].into();
    let matrix = MatrixRef { data: filter.as_slice::<F>()?, ld: count, transposed: false };
    let out = if zero < 0 {
        // The padding around the image is the number 0, which no byte represents: the range is above zero.
        let pixels = centred::<u8>(ctx.allocator(), &input, zero)?;
        let filter = centred::<F>(ctx.allocator(), &filter, filter_zero)?;
        let image = Image { pixels: &pixels, height, width, depth, border: 0 };
        let matrix = MatrixRef { data: &filter[..], ld: count, transposed: false };
        quantized::<i32>(ctx.allocator(), shape, |out| {
            image.for_patches(y, x, count, out, |patches, out| matmul_generic(out.len() / count, patch, count, patches, matrix, out));
        })?
    } else {
        // The padding is the zero point as a byte. If the range is below zero, the byte represents another number.
        let image = Image { pixels: input.as_slice::<u8>()?, height, width, depth, border: zero as u8 };
        let pack = || Ok(PackedMatrix { transposed: false, bytes: F::pack(matrix, patch, count, filter_zero) });
        let weights = weights.get(&filter, |packed| packed.is_for((patch, count), false, filter_zero), pack)?;
        quantized::<i32>(ctx.allocator(), shape, |out| {
            image.for_patches(y, x, count, out, |patches, out| gemm_bytes(out.len() / count, patches, zero, &weights.bytes, out));
        })?
    };
    ctx.set_output(0, out);
    Range::product::<u8, F>(of_input, of_filter).set(ctx, 1);
    Ok(())
}

/// Images, of bytes or of the numbers that they represent.
struct Image<'a, T> {
    pixels: &'a [T],
    height: usize,
    width: usize,
    depth: usize,
    /// The value of the padding around the image.
    border: T,
}

impl<T: Quantized> Image<'_, T> {
    /// Calls `multiply` with the patches of some positions of the output, and the output there, until all of it is computed.
    fn for_patches(&self, y: Extent, x: Extent, count: usize, out: &mut [i32], multiply: impl Fn(MatrixRef<'_, T>, &mut [i32])) {
        let patch = y.window * x.window * self.depth;
        if patch == self.depth && (y.stride, x.stride) == (1, 1) {
            return multiply(MatrixRef { data: self.pixels, ld: patch, transposed: false }, out);
        }
        let some = (PATCHES / patch).clamp(1, out.len() / count);
        let mut patches = vec![T::default(); some * patch];
        for (i, out) in out.chunks_mut(some * count).enumerate() {
            let patches = &mut patches[..out.len() / count * patch];
            let at_once = PATCH_GRAIN.div_ceil(patch);
            parallel::chunks(patches, at_once * patch, |part, patches| {
                let first = i * some + part * at_once;
                patches.chunks_exact_mut(patch).enumerate().for_each(|(at, patch)| self.copy_patch(first + at, y, x, patch));
            });
            multiply(MatrixRef { data: patches, ld: patch, transposed: false }, out);
        }
    }

    /// Copies the patch for position `at` of the output.
    fn copy_patch(&self, at: usize, y: Extent, x: Extent, patch: &mut [T]) {
        let (image, row, column) = (at / x.output / y.output, at / x.output % y.output, at % x.output);
        for (tap, to) in patch.chunks_exact_mut(self.depth).enumerate() {
            match (y.input(row, tap / x.window), x.input(column, tap % x.window)) {
                (Some(row), Some(column)) => {
                    let pixel = (image * self.height + row) * self.width + column;
                    to.copy_from_slice(&self.pixels[pixel * self.depth..][..self.depth]);
                }
                _ => to.fill(self.border),
            }
        }
    }
}
