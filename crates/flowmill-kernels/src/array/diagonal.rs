//! The shapes of ops on bands and diagonals of batches of matrices.

use flowmill_runtime::{KernelContext, KernelInit};
use flowmill_tensor::{Result, Shape, Tensor, bail};

/// The alignment within their rows of diagonals that are shorter than the longest one.
#[derive(Clone, Copy)]
pub struct Alignment {
    super_left: bool,
    sub_left: bool,
}

impl Alignment {
    /// Reads the attribute `align`. The ops before version 3 lack it and align all diagonals to the left.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for other alignments than those that there are.
    pub fn new(init: &KernelInit<'_>) -> Result<Alignment> {
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
pub struct Band {
    /// The rows of a matrix.
    pub rows: usize,
    /// The columns of a matrix.
    pub columns: usize,
    /// The lowest diagonal.
    pub lower: i64,
    /// The highest diagonal.
    pub upper: i64,
    alignment: Alignment,
}

impl Band {
    /// Returns the number of diagonals.
    pub fn count(&self) -> usize {
        (self.upper - self.lower + 1) as usize
    }

    fn len(&self, d: i64) -> usize {
        (self.rows as i64 + d.min(0)).min(self.columns as i64 - d.max(0)).max(0) as usize
    }

    /// Returns the number of elements of the longest diagonal.
    pub fn longest(&self) -> usize {
        (self.rows as i64 + self.upper.min(0)).min(self.columns as i64 - self.lower.max(0)).max(0) as usize
    }

    /// Returns the runs of elements of the diagonals.
    pub fn runs(self) -> impl Iterator<Item = Run> {
        let longest = self.longest();
        (self.lower..=self.upper).rev().enumerate().map(move |(row, d)| {
            let len = self.len(d);
            let left = (d >= 0 && self.alignment.super_left) || (d <= 0 && self.alignment.sub_left);
            let offset = if left { 0 } else { longest - len };
            let (i, j) = ((-d).max(0) as usize, d.max(0) as usize);
            Run { packed: row * longest + offset, in_matrix: i * self.columns + j, len }
        })
    }

    /// Calls `f(index in the packed diagonals, index in the matrix)` for every element of the band.
    pub fn for_each(&self, mut f: impl FnMut(usize, usize)) {
        for run in self.runs() {
            (0..run.len).for_each(|n| f(run.packed + n, run.in_matrix + n * (self.columns + 1)));
        }
    }

    /// Returns the shape of the packed diagonals of matrices in `input`.
    pub fn packed_shape(&self, input: &Shape) -> Shape {
        let mut shape = Shape::new(batch(input, 2));
        if self.count() > 1 {
            shape.push(self.count());
        }
        shape.push(self.longest());
        shape
    }
}

/// The elements of a diagonal: the first one's index in the packed diagonals, where they are adjacent, and in the matrix, and their number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The index of the first element in the packed diagonals.
    pub packed: usize,
    /// The index of the first element in the matrix.
    pub in_matrix: usize,
    /// The number of elements.
    pub len: usize,
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
///
/// # Errors
/// Returns `InvalidArgument` if they do not.
pub fn band_of(input: &Shape, k: Option<&Tensor>, alignment: Alignment) -> Result<Band> {
    let &[.., rows, columns] = input.dims() else {
        bail!(InvalidArgument, "input must be at least 2-dim, received shape: {input}");
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

/// Returns the band of the matrices that a node of `MatrixDiag` or its later versions makes of the packed diagonals in input 0, and the shape of all
/// matrices. The inputs are the diagonals, the band, and the matrices' sizes, of which -1 is the least that fits.
///
/// # Errors
/// Returns `InvalidArgument` for sizes that do not fit the diagonals.
pub fn diag_band(ctx: &KernelContext<'_>, alignment: Alignment) -> Result<(Band, Shape)> {
    let diagonal = ctx.input(0)?;
    let Some(&longest) = diagonal.shape().last() else { bail!(InvalidArgument, "diagonal must be at least 1-dim, received shape: []") };
    let versioned = ctx.num_inputs() > 1;
    let (lower, upper) = if versioned { diagonals(ctx.input(1)?)? } else { (0, 0) };
    let inner = if lower == upper { 1 } else { 2 };
    let count = upper.checked_sub(lower).and_then(|n| n.checked_add(1));
    if inner == 2 && (diagonal.rank() < 2 || Some(diagonal.shape()[diagonal.rank() - 2] as i64) != count) {
        bail!(
            InvalidArgument,
            "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range."
        );
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
    let band = Band { rows: rows as usize, columns: columns as usize, lower, upper, alignment };
    Ok((band, Shape::from_i64(&shape)?))
}

/// Returns the numbers of lower and upper diagonals that `MatrixBandPart` keeps of matrices of this shape, inputs 1 and 2; a negative number keeps all.
///
/// # Errors
/// Returns `InvalidArgument` for a vector or a scalar, and for more diagonals than there are.
pub fn kept_diagonals(ctx: &KernelContext<'_>, input: &Shape) -> Result<(i64, i64)> {
    let &[.., rows, columns] = input.dims() else {
        bail!(InvalidArgument, "input must be at least 2-dim, received shape: {input}");
    };
    let (lower, upper) = (ctx.input(1)?.to_i64()?, ctx.input(2)?.to_i64()?);
    if lower > rows as i64 {
        bail!(InvalidArgument, "num_lower must be negative or less or equal to number of rows ({rows}) got: {lower}");
    }
    if upper > columns as i64 {
        bail!(InvalidArgument, "num_upper must be negative or less or equal to number of columns ({columns}) got: {upper}");
    }
    Ok((lower, upper))
}
