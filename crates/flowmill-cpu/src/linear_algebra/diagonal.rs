//! Bands and diagonals of batches of matrices, and tensors with a diagonal.

use crate::elementwise::Word;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Complex, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// Calls `for_dtype!` with the types that the diagonal ops support.
macro_rules! by_type {
    ($init:ident, $T:ident => $body:expr) => {
        for_dtype!($init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>], $T => $body, _ => $init.unsupported())
    };
}

/// The alignment within their rows of diagonals that are shorter than the longest one.
#[derive(Clone, Copy)]
struct Alignment {
    super_left: bool,
    sub_left: bool,
}

impl Alignment {
    /// Reads the attribute `align`. The ops before version 3 lack it and align all diagonals to the left.
    fn new(init: &KernelInit<'_>) -> Result<Alignment> {
        let (super_left, sub_left) = match init.attrs.get_or("align", "LEFT_LEFT")? {
            "LEFT_LEFT" => (true, true),
            "LEFT_RIGHT" => (true, false),
            "RIGHT_LEFT" => (false, true),
            "RIGHT_RIGHT" => (false, false),
            other => bail!(InvalidArgument, "Value for attr 'align' of \"{other}\" is not in the list of allowed values"),
        };
        Ok(Alignment { super_left, sub_left })
    }
}

/// A band of diagonals of matrices with `rows` rows and `columns` columns; diagonal `d` starts `d` columns to the right of the main one.
#[derive(Clone, Copy)]
struct Band {
    rows: usize,
    columns: usize,
    lower: i64,
    upper: i64,
    alignment: Alignment,
}

impl Band {
    fn count(&self) -> usize {
        (self.upper - self.lower + 1) as usize
    }

    fn len(&self, d: i64) -> usize {
        (self.rows as i64 + d.min(0)).min(self.columns as i64 - d.max(0)).max(0) as usize
    }

    fn longest(&self) -> usize {
        (self.rows as i64 + self.upper.min(0)).min(self.columns as i64 - self.lower.max(0)).max(0) as usize
    }

    /// Calls `f(index in the packed diagonals, index in the matrix)` for every element of the band.
    fn for_each(&self, mut f: impl FnMut(usize, usize)) {
        let longest = self.longest();
        for (row, d) in (self.lower..=self.upper).rev().enumerate() {
            let len = self.len(d);
            let left = (d >= 0 && self.alignment.super_left) || (d <= 0 && self.alignment.sub_left);
            let offset = if left { 0 } else { longest - len };
            for n in 0..len {
                let (i, j) = (n + (-d).max(0) as usize, n + d.max(0) as usize);
                f(row * longest + offset + n, i * self.columns + j);
            }
        }
    }
}

/// Returns the lowest and the highest diagonal in `k`, which has one number or two.
fn diagonals(k: &Tensor) -> Result<(i64, i64)> {
    let (lower, upper) = match k.to_i64_vec()?[..] {
        [d] => (d, d),
        [lower, upper] => (lower, upper),
        ref all => bail!(InvalidArgument, "diag_index must have only one or two elements, received {} elements.", all.len()),
    };
    if lower > upper {
        bail!(InvalidArgument, "lower_diag_index must not be larger than upper_diag_index: {lower} > {upper}");
    }
    Ok((lower, upper))
}

/// Returns the band `k` of the matrices in `input`, after a check that its diagonals exist.
fn band_of(input: &Tensor, k: Option<&Tensor>, alignment: Alignment) -> Result<Band> {
    let &[.., rows, columns] = input.shape().dims() else {
        bail!(InvalidArgument, "input must be at least 2-dim, received shape: {}", input.shape());
    };
    let (lower, upper) = k.map_or(Ok((0, 0)), diagonals)?;
    for (d, name) in [(lower, "lower_diag_index"), (upper, "upper_diag_index")] {
        let inside = -(rows as i64) < d && d < columns as i64;
        if !inside && d != 0 {
            bail!(InvalidArgument, "{name} is out of bound: {d}. It must be between -{rows} and {columns}");
        }
    }
    Ok(Band { rows, columns, lower, upper, alignment })
}

/// Returns the dimensions before the last `n`.
fn batch(shape: &Shape, n: usize) -> &[usize] {
    &shape[..shape.rank().saturating_sub(n)]
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
        let band = band_of(input, k, alignment)?;
        let mut shape = Shape::new(batch(input.shape(), 2));
        if band.count() > 1 {
            shape.push(band.count());
        }
        shape.push(band.longest());
        let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
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
        let band = band_of(&input, k, alignment)?;
        let mut expected = Shape::new(batch(input.shape(), 2));
        if band.count() > 1 {
            expected.push(band.count());
        }
        expected.push(band.longest());
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
        let diagonal = ctx.input(0)?;
        let Some(&longest) = diagonal.shape().last() else { bail!(InvalidArgument, "diagonal must be at least 1-dim, received shape: []") };
        let versioned = ctx.num_inputs() > 1;
        let (lower, upper) = if versioned { diagonals(ctx.input(1)?)? } else { (0, 0) };
        let inner = if lower == upper { 1 } else { 2 };
        let count = upper.checked_sub(lower).and_then(|n| n.checked_add(1));
        if inner == 2 && (diagonal.rank() < 2 || Some(diagonal.shape()[diagonal.rank() - 2] as i64) != count) {
            bail!(InvalidArgument, "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range.");
        }
        let least = |extra: i64| (longest as i64).checked_add(extra.max(0));
        let (Some(least_rows), Some(least_columns)) = (least(upper.min(0).saturating_neg()), least(lower.max(0))) else {
            bail!(InvalidArgument, "diagonal index {lower} or {upper} is out of bound");
        };
        let size = |i: usize| if versioned { ctx.input(i)?.to_i64() } else { Ok(-1) };
        let (rows, columns) = match (size(2)?, size(3)?) {
            (-1, -1) => (least_rows.max(least_columns), least_rows.max(least_columns)),
            (-1, columns) => (least_rows, columns),
            (rows, -1) => (rows, least_columns),
            given => given,
        };
        if rows < least_rows {
            bail!(InvalidArgument, "The number of rows is too small.");
        }
        if columns < least_columns {
            bail!(InvalidArgument, "The number of columns is too small.");
        }
        if rows != least_rows && columns != least_columns {
            bail!(InvalidArgument, "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.");
        }
        let mut shape = batch(diagonal.shape(), inner).iter().map(|&n| n as i64).collect::<Vec<_>>();
        shape.extend([rows, columns]);
        let mut out = ctx.allocator().uninit(T::DTYPE, Shape::from_i64(&shape)?)?;
        let band = Band { rows: rows as usize, columns: columns as usize, lower, upper, alignment };
        let target = out.as_mut_slice::<T>()?;
        target.fill(padding(ctx, 4)?);
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
        let &[.., rows, columns] = input.shape().dims() else {
            bail!(InvalidArgument, "input must be at least 2-dim, received shape: {}", input.shape());
        };
        let (lower, upper) = (ctx.input(1)?.to_i64()?, ctx.input(2)?.to_i64()?);
        if lower > rows as i64 {
            bail!(InvalidArgument, "num_lower must be negative or less or equal to number of rows ({rows}) got: {lower}");
        }
        if upper > columns as i64 {
            bail!(InvalidArgument, "num_upper must be negative or less or equal to number of columns ({columns}) got: {upper}");
        }
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
