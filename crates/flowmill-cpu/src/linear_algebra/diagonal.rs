//! Bands and diagonals of batches of matrices, and tensors with a diagonal.

use crate::elementwise::Word;
use crate::from_fn::from_fn;
use flowmill_kernels::array::diagonal::{Alignment, band_of, diag_band, kept_diagonals};
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Complex, Element, Result, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// Calls `for_dtype!` with the types that the diagonal ops support.
macro_rules! by_type {
    ($init:ident, $T:ident => $body:expr) => {
        for_dtype!($init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>], $T => $body, _ => $init.unsupported())
    };
}

fn padding<T: Word>(ctx: &KernelContext<'_>, input: usize) -> Result<T> {
    if input < ctx.num_inputs() { ctx.input(input)?.to_scalar() } else { Ok(T::default()) }
}

/// Makes the kernel of `MatrixDiagPart` and its later versions, which take the band and a padding value.
pub(super) fn make_diag_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let alignment = Alignment::new(init)?;
    by_type!(init, T => from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let k = if ctx.num_inputs() > 1 { Some(ctx.input(1)?) } else { None };
        let band = band_of(input.shape(), k, alignment)?;
        let mut out = ctx.allocator().uninit(T::DTYPE, band.packed_shape(input.shape()))?;
        let target = out.as_mut_slice::<T>()?;
        target.fill(padding(ctx, 2)?);
        let matrices = input.as_slice::<T>()?.chunks_exact((band.rows * band.columns).max(1));
        for (packed, matrix) in target.chunks_exact_mut((band.count() * band.longest()).max(1)).zip(matrices) {
            band.for_each(|p, m| packed[p] = matrix[m]);
        }
        ctx.set_output(0, out);
        Ok(())
    }))
}

/// Makes the kernel of `MatrixSetDiag` and its later versions.
pub(super) fn make_set_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let alignment = Alignment::new(init)?;
    by_type!(init, T => from_fn(move |ctx| {
        let (mut input, diagonal) = (ctx.take_writable(0)?, ctx.take(1)?);
        let k = if ctx.num_inputs() > 2 { Some(ctx.input(2)?) } else { None };
        let band = band_of(input.shape(), k, alignment)?;
        let expected = band.packed_shape(input.shape());
        if diagonal.rank() == 0 {
            bail!(InvalidArgument, "diagonal must be at least 1-dim, received shape: {}", diagonal.shape());
        }
        if *diagonal.shape() != expected {
            bail!(InvalidArgument, "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to the longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: {}\nDiagonal shape: {}\nExpected diagonal shape: {expected}", input.shape(), diagonal.shape());
        }
        let packed = diagonal.as_slice::<T>()?.chunks_exact((band.count() * band.longest()).max(1));
        for (matrix, packed) in input.as_mut_slice::<T>()?.chunks_exact_mut((band.rows * band.columns).max(1)).zip(packed) {
            band.for_each(|p, m| matrix[m] = packed[p]);
        }
        ctx.set_output(0, input);
        Ok(())
    }))
}

/// Makes the kernel of `MatrixDiag` and its later versions, which take the band, the matrices' sizes (-1 for the least that fits) and a padding value.
pub(super) fn make_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let alignment = Alignment::new(init)?;
    by_type!(init, T => from_fn(move |ctx| {
        let (band, shape) = diag_band(ctx, alignment)?;
        let diagonal = ctx.input(0)?;
        let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
        let target = out.as_mut_slice::<T>()?;
        target.fill(padding(ctx, 4)?);
        let longest = diagonal.shape().last().copied().unwrap_or(0);
        let packed = diagonal.as_slice::<T>()?.chunks_exact((band.count() * longest).max(1));
        for (matrix, packed) in target.chunks_exact_mut((band.rows * band.columns).max(1)).zip(packed) {
            band.for_each(|p, m| matrix[m] = packed[p]);
        }
        ctx.set_output(0, out);
        Ok(())
    }))
}

/// Makes the kernel of `MatrixBandPart`: everything outside of the band becomes zero; a negative number keeps the whole triangle on its side.
pub(super) fn make_band_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    by_type!(init, T => from_fn(|ctx| {
        let mut input = ctx.take_writable(0)?;
        let (lower, upper) = kept_diagonals(ctx, input.shape())?;
        let &[.., rows, columns] = input.shape().dims() else { bail!(Internal, "a matrix of shape {}", input.shape()) };
        for matrix in input.as_mut_slice::<T>()?.chunks_exact_mut((rows * columns).max(1)) {
            for (i, row) in matrix.chunks_exact_mut(columns).enumerate() {
                let from = if lower < 0 { 0 } else { i.saturating_sub(lower as usize).min(columns) };
                let to = if upper < 0 { columns } else { (i + upper as usize + 1).min(columns) };
                row[..from].fill(T::default());
                row[to..].fill(T::default());
            }
        }
        ctx.set_output(0, input);
        Ok(())
    }))
}

/// Makes the kernel of `Diag`: a tensor of twice the rank with the input on its diagonal.
pub(super) fn make_tensor_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i32, i64, Complex<f32>, Complex<f64>], T => from_fn(|ctx| {
        let x = ctx.input(0)?;
        if x.rank() == 0 {
            bail!(InvalidArgument, "Input must be at least rank 1, got 0");
        }
        let shape = [x.shape().dims(), x.shape().dims()].concat();
        let mut out = ctx.allocator().zeros(T::DTYPE, shape)?;
        let n = x.num_elements();
        for (i, (row, &x)) in out.as_mut_slice::<T>()?.chunks_exact_mut(n.max(1)).zip(x.as_slice::<T>()?).enumerate() {
            row[i] = x;
        }
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

/// Makes the kernel of `DiagPart`, the inverse of `Diag`.
pub(super) fn make_tensor_diag_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i32, i64, Complex<f32>, Complex<f64>], T => from_fn(|ctx| {
        let x = ctx.input(0)?;
        let half = x.rank() / 2;
        if x.rank() == 0 || x.rank() % 2 != 0 {
            bail!(InvalidArgument, "The rank of the tensor should be even and positive, got shape {}", x.shape());
        }
        let (left, right) = x.shape().split_at(half);
        if let Some(i) = (0..half).find(|&i| left[i] != right[i]) {
            bail!(InvalidArgument, "Invalid shape {}: dimensions {i} and {} do not match.", x.shape(), i + half);
        }
        let n: usize = left.iter().product();
        let data = x.as_slice::<T>()?;
        let values: Vec<T> = (0..n).map(|i| data[i * (n + 1)]).collect();
        let out = ctx.allocator().from_slice(left, &values)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}
