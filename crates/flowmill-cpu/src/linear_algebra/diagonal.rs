//! Bands and diagonals of batches of matrices, and tensors with a diagonal.

use crate::elementwise::{Word, for_whole_parts};
use crate::from_fn::from_fn;
use flowmill_kernels::array::diagonal::{Alignment, Band, band_of, diag_band, kept_diagonals};
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Complex, Result, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// Returns the functions for the element type of a node. The diagonal ops support the types that this lists.
macro_rules! by_type {
    ($init:ident, $T:ident => $functions:expr) => {
        for_dtype!(
            $init.dtype("T")?,
            [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>],
            $T => $functions,
            _ => return $init.unsupported()
        )
    };
}

/// Sets all elements of a tensor to the padding, or to zero.
type Fill = fn(target: &mut Tensor, padding: Option<&Tensor>) -> Result<()>;
/// Writes the diagonals of matrices in packed form.
type Pack = fn(band: &Band, matrices: &Tensor, packed: &mut Tensor) -> Result<()>;
/// Writes packed diagonals to matrices.
type Unpack = fn(band: &Band, longest: usize, packed: &Tensor, matrices: &mut Tensor) -> Result<()>;

/// Sets all elements to the padding value in an input, or to zero if there is no such input.
fn fill<T: Word>(target: &mut Tensor, padding: Option<&Tensor>) -> Result<()> {
    target.as_mut_slice::<T>()?.fill(padding.map_or(Ok(T::default()), Tensor::to_scalar)?);
    Ok(())
}

fn padding<'a>(ctx: &'a KernelContext<'_>, input: usize) -> Result<Option<&'a Tensor>> {
    if input < ctx.num_inputs() { ctx.input(input).map(Some) } else { Ok(None) }
}

/// Copies the elements of a band from matrices to packed diagonals.
fn pack<T: Word>(band: &Band, matrices: &Tensor, packed: &mut Tensor) -> Result<()> {
    let matrices = matrices.as_slice::<T>()?.chunks_exact((band.rows * band.columns).max(1));
    for (packed, matrix) in packed.as_mut_slice::<T>()?.chunks_exact_mut((band.count() * band.longest()).max(1)).zip(matrices) {
        band.for_each(|p, m| packed[p] = matrix[m]);
    }
    Ok(())
}

/// Copies the elements of a band from packed diagonals, which have `longest` elements, to matrices.
fn unpack<T: Word>(band: &Band, longest: usize, packed: &Tensor, matrices: &mut Tensor) -> Result<()> {
    let packed = packed.as_slice::<T>()?.chunks_exact((band.count() * longest).max(1));
    for (matrix, packed) in matrices.as_mut_slice::<T>()?.chunks_exact_mut((band.rows * band.columns).max(1)).zip(packed) {
        band.for_each(|p, m| matrix[m] = packed[p]);
    }
    Ok(())
}

/// Makes the kernel of `MatrixDiagPart` and its later versions, which take the band and a padding value.
pub(super) fn make_diag_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let alignment = Alignment::new(init)?;
    let (fill, pack) = by_type!(init, T => (fill::<T> as Fill, pack::<T> as Pack));
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let k = if ctx.num_inputs() > 1 { Some(ctx.input(1)?) } else { None };
        let band = band_of(input.shape(), k, alignment)?;
        let mut out = ctx.allocator().uninit(input.dtype(), band.packed_shape(input.shape()))?;
        fill(&mut out, padding(ctx, 2)?)?;
        pack(&band, input, &mut out)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Makes the kernel of `MatrixSetDiag` and its later versions.
pub(super) fn make_set_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let alignment = Alignment::new(init)?;
    let unpack = by_type!(init, T => unpack::<T>);
    from_fn(move |ctx| {
        let (mut input, diagonal) = (ctx.take_writable(0)?, ctx.take(1)?);
        let k = if ctx.num_inputs() > 2 { Some(ctx.input(2)?) } else { None };
        let band = band_of(input.shape(), k, alignment)?;
        let expected = band.packed_shape(input.shape());
        if diagonal.rank() == 0 {
            bail!(InvalidArgument, "diagonal must be at least 1-dim, received shape: {}", diagonal.shape());
        }
        if *diagonal.shape() != expected {
            bail!(
                InvalidArgument,
                "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to the longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: {}\nDiagonal shape: {}\nExpected diagonal shape: {expected}",
                input.shape(),
                diagonal.shape()
            );
        }
        unpack(&band, band.longest(), &diagonal, &mut input)?;
        ctx.set_output(0, input);
        Ok(())
    })
}

/// Makes the kernel of `MatrixDiag` and its later versions, which take the band, the matrices' sizes (-1 for the least that fits) and a padding value.
pub(super) fn make_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let alignment = Alignment::new(init)?;
    let (fill, unpack) = by_type!(init, T => (fill::<T> as Fill, unpack::<T> as Unpack));
    from_fn(move |ctx| {
        let (band, shape) = diag_band(ctx, alignment)?;
        let diagonal = ctx.input(0)?;
        let mut out = ctx.allocator().uninit(diagonal.dtype(), shape)?;
        fill(&mut out, padding(ctx, 4)?)?;
        unpack(&band, diagonal.shape().last().copied().unwrap_or(0), diagonal, &mut out)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Makes the kernel of `MatrixBandPart`: everything outside of the band becomes zero; a negative number keeps the whole triangle on its side.
pub(super) fn make_band_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let clear = by_type!(init, T => clear_outside::<T>);
    from_fn(move |ctx| {
        let mut input = ctx.take_writable(0)?;
        let kept = kept_diagonals(ctx, input.shape())?;
        let &[.., rows, columns] = input.shape().dims() else { bail!(Internal, "a matrix of shape {}", input.shape()) };
        clear(&mut input, (rows, columns), kept)?;
        ctx.set_output(0, input);
        Ok(())
    })
}

/// Sets the elements of matrices below the lowest and above the highest diagonal that is kept to zero.
fn clear_outside<T: Word>(matrices: &mut Tensor, (rows, columns): (usize, usize), (lower, upper): (i64, i64)) -> Result<()> {
    for_whole_parts(matrices.as_mut_slice::<T>()?, columns, &|start, block| {
        for (i, row) in block.chunks_exact_mut(columns.max(1)).enumerate() {
            let i = (start / columns + i) % rows;
            let from = if lower < 0 { 0 } else { i.saturating_sub(lower as usize).min(columns) };
            let to = if upper < 0 { columns } else { (i + upper as usize + 1).min(columns) };
            row[..from].fill(T::default());
            row[to..].fill(T::default());
        }
    });
    Ok(())
}

/// Makes the kernel of `Diag`: a tensor of twice the rank with the input on its diagonal.
pub(super) fn make_tensor_diag(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let spread = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i32, i64, Complex<f32>, Complex<f64>],
        T => write_diagonal::<T>,
        _ => return init.unsupported()
    );
    from_fn(move |ctx| {
        let x = ctx.input(0)?;
        if x.rank() == 0 {
            bail!(InvalidArgument, "Input must be at least rank 1, got 0");
        }
        let shape = [x.shape().dims(), x.shape().dims()].concat();
        let mut out = ctx.allocator().zeros(x.dtype(), shape)?;
        spread(x, &mut out)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Writes the elements of `x` to the diagonal of `matrix`.
fn write_diagonal<T: Word>(x: &Tensor, matrix: &mut Tensor) -> Result<()> {
    let rows = matrix.as_mut_slice::<T>()?.chunks_exact_mut(x.num_elements().max(1));
    for (i, (row, &x)) in rows.zip(x.as_slice::<T>()?).enumerate() {
        row[i] = x;
    }
    Ok(())
}

/// Makes the kernel of `DiagPart`, the inverse of `Diag`.
pub(super) fn make_tensor_diag_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let diagonal = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i32, i64, Complex<f32>, Complex<f64>],
        T => read_diagonal::<T>,
        _ => return init.unsupported()
    );
    from_fn(move |ctx| {
        let x = ctx.input(0)?;
        let half = x.rank() / 2;
        if x.rank() == 0 || x.rank() % 2 != 0 {
            bail!(InvalidArgument, "The rank of the tensor should be even and positive, got shape {}", x.shape());
        }
        let (left, right) = x.shape().split_at(half);
        if let Some(i) = (0..half).find(|&i| left[i] != right[i]) {
            bail!(InvalidArgument, "Invalid shape {}: dimensions {i} and {} do not match.", x.shape(), i + half);
        }
        let mut out = ctx.allocator().uninit(x.dtype(), left)?;
        diagonal(x, &mut out)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Writes the diagonal of `matrix` to `out`.
fn read_diagonal<T: Word>(matrix: &Tensor, out: &mut Tensor) -> Result<()> {
    let (data, n) = (matrix.as_slice::<T>()?, out.num_elements());
    for (i, out) in out.as_mut_slice::<T>()?.iter_mut().enumerate() {
        *out = data[i * (n + 1)];
    }
    Ok(())
}
