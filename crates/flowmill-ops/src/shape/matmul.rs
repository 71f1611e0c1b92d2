//! Matrix products and factorisations.

use super::{common, dims};
use flowmill_graph::{ElementwiseFunction, InferenceContext as Context};
use flowmill_tensor::{PartialShape, Result, bail};

/// The product of two matrices, each transposed if the node says so.
pub(crate) fn matmul(c: &mut Context<'_>) -> Result<()> {
    let (a, b) = (dims::with_rank(&c.input(0), 2)?, dims::with_rank(&c.input(1), 2)?);
    let (ta, tb): (bool, bool) = (c.attrs().get_or("transpose_a", false)?, c.attrs().get_or("transpose_b", false)?);
    let (rows, inner_a) = pick(&a, ta);
    let (inner_b, columns) = pick(&b, tb);
    dims::merge(inner_a, inner_b)?;
    c.set_output(0, PartialShape::new(&[rows, columns]));
    Ok(())
}

/// The last two sizes, swapped for a transposed matrix.
fn pick(shape: &PartialShape, transposed: bool) -> (i64, i64) {
    let rank = shape.rank().unwrap_or(2);
    let (rows, columns) = (dims::size(shape, rank - 2), dims::size(shape, rank - 1));
    if transposed { (columns, rows) } else { (rows, columns) }
}

/// Products of the matrices in the last two dimensions; the others broadcast, or in the oldest form are equal.
pub(crate) fn batch_matmul(c: &mut Context<'_>) -> Result<()> {
    let (a, b) = (dims::with_rank_at_least(&c.input(0), 2)?, dims::with_rank_at_least(&c.input(1), 2)?);
    let (ta, tb): (bool, bool) = (c.attrs().get("adj_x")?, c.attrs().get("adj_y")?);
    let (Some(_), Some(_)) = (a.rank(), b.rank()) else {
        // One known rank tells the inner sizes, not the batch's.
        c.set_min_rank(0, 2);
        return Ok(());
    };
    let (rows, inner_a) = pick(&a, ta);
    let (inner_b, columns) = pick(&b, tb);
    let (batch_a, batch_b) = (dims::without_last(&a, 2), dims::without_last(&b, 2));
    let batch = if c.op_def().name == "BatchMatMul" { batch_a.merge(&batch_b)? } else { PartialShape::broadcast(&batch_a, &batch_b)? };
    dims::merge(inner_a, inner_b)?;
    c.set_output(0, batch.concat(&PartialShape::new(&[rows, columns])));
    Ok(())
}

/// All products of the parts of a tensor, or the parts: how many axes there are depends on the number of rows of a part.
pub(crate) fn hoisted_matmul(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank_at_least(&c.input(0), 3)?;
    dims::with_rank(&c.input(1), 2)?;
    c.set_min_rank(0, 3);
    Ok(())
}

/// Rows times a matrix, or rows that are products already.
pub(crate) fn part_matmul(c: &mut Context<'_>) -> Result<()> {
    let (part, matrix) = (c.input(0), dims::with_rank(&c.input(1), 2)?);
    let rank = dims::as_rank(c.attrs().get("rank")?).unwrap_or(2);
    let (_, columns) = pick(&matrix, c.attrs().get_or("transpose_b", false)?);
    let rows = part.rank().map(|_| dims::without_last(&part, part.rank().unwrap_or(0).saturating_sub(rank - 1)));
    let rows = rows.unwrap_or_else(|| PartialShape::unknown_of_rank(rank - 1));
    c.set_output(0, rows.concat(&PartialShape::new(&[columns])));
    Ok(())
}

/// A product with an epilogue. With `AccumulatePart`, the left operand has fewer columns than the right one has rows.
pub(crate) fn fused_matmul(c: &mut Context<'_>) -> Result<()> {
    let functions: Vec<&str> = c.attrs().list("fused_ops")?;
    if functions.first().copied() != Some(ElementwiseFunction::AccumulatePart.name()) {
        return matmul(c);
    }
    let (a, b) = (dims::with_rank(&c.input(0), 2)?, dims::with_rank(&c.input(1), 2)?);
    let (_, columns) = pick(&b, c.attrs().get_or("transpose_b", false)?);
    c.set_output(0, PartialShape::new(&[dims::size(&a, 0), columns]));
    Ok(())
}

/// A batch of square matrices, unchanged.
pub(crate) fn square(c: &mut Context<'_>) -> Result<()> {
    let shape = as_square(&c.input(0))?;
    common::set_all(c, &shape)
}

fn as_square(shape: &PartialShape) -> Result<PartialShape> {
    let shape = dims::with_rank_at_least(shape, 2)?;
    let Some(rank) = shape.rank() else { return Ok(shape) };
    let size = dims::merge(dims::size(&shape, rank - 2), dims::size(&shape, rank - 1))?;
    Ok(dims::replaced(&dims::replaced(&shape, rank - 2, size), rank - 1, size))
}

/// One number for each of a batch of square matrices.
pub(crate) fn determinant(c: &mut Context<'_>) -> Result<()> {
    let shape = dims::without_last(&as_square(&c.input(0))?, 2);
    common::set_all(c, &shape)
}

/// Solutions of linear systems: matrices on the left, square ones but for those solved with least squares, right-hand sides as columns.
pub(crate) fn solve(c: &mut Context<'_>) -> Result<()> {
    let (is_least_squares, broadcasts) = (c.op_def().name == "MatrixSolveLs", c.op_def().name == "MatrixTriangularSolve");
    let lhs = if is_least_squares {
        dims::with_rank(&c.input(2), 0)?;
        dims::with_rank_at_least(&c.input(0), 2)?
    } else {
        as_square(&c.input(0))?
    };
    let rhs = dims::with_rank_at_least(&c.input(1), 2)?;
    let (lhs, rhs) = match (lhs.rank(), rhs.rank()) {
        (None, Some(rank)) if !broadcasts => (PartialShape::unknown_of_rank(rank), rhs),
        (Some(rank), None) if !broadcasts => (lhs, PartialShape::unknown_of_rank(rank)),
        _ => (lhs, rhs),
    };
    let (Some(l), Some(r)) = (lhs.rank(), rhs.rank()) else { return Ok(()) };
    let (batch_l, batch_r) = (dims::without_last(&lhs, 2), dims::without_last(&rhs, 2));
    let batch = if broadcasts { PartialShape::broadcast(&batch_l, &batch_r)? } else { batch_l.merge(&batch_r)? };
    let rows = dims::merge(dims::size(&lhs, l - 2), dims::size(&rhs, r - 2))?;
    let size = if is_least_squares { dims::size(&lhs, l - 1) } else { rows };
    c.set_output(0, batch.concat(&PartialShape::new(&[size, dims::size(&rhs, r - 1)])));
    Ok(())
}

/// Systems whose triangular matrices are stored as bands.
pub(crate) fn banded_triangular_solve(c: &mut Context<'_>) -> Result<()> {
    let (lhs, rhs) = (dims::with_rank_at_least(&c.input(0), 2)?, dims::with_rank_at_least(&c.input(1), 2)?);
    if let Some(l) = lhs.rank() {
        let (bands, size) = (dims::size(&lhs, l - 2), dims::size(&lhs, l - 1));
        if bands == 0 {
            bail!(InvalidArgument, "Number of bands must be positive, but is 0");
        }
        if bands > size && size >= 0 {
            bail!(InvalidArgument, "Number of bands {bands} cannot exceed the size of the matrix {size}");
        }
    }
    let (Some(l), Some(r)) = (lhs.rank(), rhs.rank()) else { return Ok(()) };
    let batch = PartialShape::broadcast(&dims::without_last(&lhs, 2), &dims::without_last(&rhs, 2))?;
    let rows = dims::merge(dims::size(&lhs, l - 1), dims::size(&rhs, r - 2))?;
    c.set_output(0, batch.concat(&PartialShape::new(&[rows, dims::size(&rhs, r - 1)])));
    Ok(())
}

/// Systems whose matrices are stored as three diagonals.
pub(crate) fn tridiagonal_solve(c: &mut Context<'_>) -> Result<()> {
    let (lhs, rhs) = (dims::with_rank_at_least(&c.input(0), 2)?, dims::with_rank_at_least(&c.input(1), 2)?);
    dims::without_last(&lhs, 2).merge(&dims::without_last(&rhs, 2))?;
    if let Some(rank) = lhs.rank() {
        dims::expect(dims::size(&lhs, rank - 2), 3)?;
        if let Some(r) = rhs.rank() {
            dims::merge(dims::size(&lhs, rank - 1), dims::size(&rhs, r - 2))?;
        }
    }
    c.set_output(0, rhs);
    Ok(())
}

/// Products of matrices stored as three diagonals.
pub(crate) fn tridiagonal_mat_mul(c: &mut Context<'_>) -> Result<()> {
    let rhs = dims::with_rank_at_least(&c.input(3), 2)?;
    let mut diagonal = dims::with_rank_at_least(&c.input(0), 2)?;
    for i in 1..3 {
        diagonal = diagonal.merge(&dims::with_rank_at_least(&c.input(i), 2)?)?;
    }
    dims::without_last(&diagonal, 2).merge(&dims::without_last(&rhs, 2))?;
    if let Some(rank) = diagonal.rank() {
        dims::expect(dims::size(&diagonal, rank - 2), 1)?;
        if let Some(r) = rhs.rank() {
            dims::merge(dims::size(&diagonal, rank - 1), dims::size(&rhs, r - 2))?;
        }
    }
    c.set_output(0, rhs);
    Ok(())
}

/// Both triangles of each of a batch of square matrices, and the order of its rows.
pub(crate) fn lu(c: &mut Context<'_>) -> Result<()> {
    let input = as_square(&c.input(0))?;
    c.set_output(1, dims::without_last(&input, 1));
    c.set_output(0, input);
    Ok(())
}

/// Q and R of each of a batch of matrices.
pub(crate) fn qr(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 2)?;
    let Some(rank) = input.rank() else { return Ok(()) };
    let (m, n) = (dims::size(&input, rank - 2), dims::size(&input, rank - 1));
    let batch = dims::without_last(&input, 2);
    let small = if m < 0 || n < 0 { dims::UNKNOWN } else { m.min(n) };
    let (q, r) = if c.attrs().get("full_matrices")? { ([m, m], [m, n]) } else { ([m, small], [small, n]) };
    c.set_output(0, batch.concat(&PartialShape::new(&q)));
    c.set_output(1, batch.concat(&PartialShape::new(&r)));
    Ok(())
}

/// Singular values and, if asked for, U and V of each of a batch of matrices.
pub(crate) fn svd(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 2)?;
    let Some(rank) = input.rank() else { return Ok(()) };
    let (m, n) = (dims::size(&input, rank - 2), dims::size(&input, rank - 1));
    let batch = dims::without_last(&input, 2);
    let p = if m < 0 || n < 0 { dims::UNKNOWN } else { m.min(n) };
    c.set_output(0, batch.concat(&PartialShape::new(&[p])));
    let (u, v) = match (c.attrs().get("compute_uv")?, c.attrs().get("full_matrices")?) {
        (true, true) => (batch.concat(&PartialShape::new(&[m, m])), batch.concat(&PartialShape::new(&[n, n]))),
        (true, false) => (batch.concat(&PartialShape::new(&[m, p])), batch.concat(&PartialShape::new(&[n, p]))),
        (false, _) => (PartialShape::new(&[0]), PartialShape::new(&[0])),
    };
    c.set_output(1, u);
    c.set_output(2, v);
    Ok(())
}

/// Eigenvalues and, if asked for, eigenvectors of each of a batch of matrices.
pub(crate) fn self_adjoint_eig(c: &mut Context<'_>) -> Result<()> {
    let input = as_square(&c.input(0))?;
    c.set_output(0, dims::without_last(&input, 1));
    let vectors = if c.attrs().get("compute_v")? { input } else { PartialShape::new(&[0]) };
    c.set_output(1, vectors);
    Ok(())
}

/// Diagonals become matrices.
pub(crate) fn matrix_diag(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 1)?;
    let Some(rank) = input.rank() else { return Ok(()) };
    c.set_output(0, input.concat(&PartialShape::new(&[dims::size(&input, rank - 1)])));
    Ok(())
}

/// The main diagonals of matrices.
pub(crate) fn matrix_diag_part(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 2)?;
    let Some(rank) = input.rank() else { return Ok(()) };
    let (m, n) = (dims::size(&input, rank - 2), dims::size(&input, rank - 1));
    let length = if m < 0 || n < 0 { dims::UNKNOWN } else { m.min(n) };
    c.set_output(0, dims::without_last(&input, 2).concat(&PartialShape::new(&[length])));
    Ok(())
}

/// A tensor whose diagonal is the input: its dimensions twice.
pub(crate) fn diag(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 1)?;
    c.set_output(0, input.concat(&input));
    Ok(())
}

/// The diagonal of a tensor whose dimensions come twice.
pub(crate) fn diag_part(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    let Some(rank) = input.rank() else { return Ok(()) };
    if rank % 2 != 0 || rank == 0 {
        bail!(InvalidArgument, "Input must have even and non-zero rank, input rank is {rank}");
    }
    let half = rank / 2;
    let sizes = (0..half).map(|i| dims::merge(dims::size(&input, i), dims::size(&input, i + half))).collect::<Result<Vec<_>>>()?;
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}

/// The product that `equation` describes; `...` means dimensions that broadcast.
pub(crate) fn einsum(c: &mut Context<'_>) -> Result<()> {
    let equation: String = c.attrs().get::<&str>("equation")?.chars().filter(|ch| !ch.is_whitespace()).collect();
    let Some((inputs, output)) = equation.split_once("->") else {
        bail!(InvalidArgument, "Expecting exactly one '->' in einsum equation: {equation}")
    };
    let inputs: Vec<&str> = inputs.split(',').collect();
    if inputs.len() != c.num_inputs() {
        bail!(InvalidArgument, "Expected {} inputs for equation {equation} but got: {}", inputs.len(), c.num_inputs());
    }
    let mut sizes: Vec<(char, i64)> = Vec::new();
    let mut broadcast = PartialShape::scalar();
    for (i, labels) in inputs.iter().enumerate() {
        let shape = c.input(i);
        let (before, after) = match labels.split_once("...") {
            Some((before, after)) => (before, Some(after)),
            None => (*labels, None),
        };
        let named = before.chars().count() + after.map_or(0, |a| a.chars().count());
        let Some(rank) = shape.rank() else {
            if after.is_some() {
                broadcast = PartialShape::unknown();
            }
            label_all(&mut sizes, before.chars().chain(after.unwrap_or("").chars()), std::iter::repeat(dims::UNKNOWN))?;
            continue;
        };
        let ranked = if after.is_none() { dims::with_rank(&shape, named) } else { dims::with_rank_at_least(&shape, named) };
        ranked.map_err(|e| e.append(format!("\n\t for {i}th input and equation: {equation}")))?;
        let leading = before.chars().count();
        label_all(&mut sizes, before.chars(), (0..leading).map(|d| dims::size(&shape, d)))?;
        if let Some(after) = after {
            let trailing = after.chars().count();
            let middle: PartialShape = (leading..rank - trailing).map(|d| dims::size(&shape, d)).collect();
            broadcast = PartialShape::broadcast(&broadcast, &middle)?;
            label_all(&mut sizes, after.chars(), (rank - trailing..rank).map(|d| dims::size(&shape, d)))?;
        }
    }
    let named = |labels: &str| -> Result<PartialShape> {
        labels
            .chars()
            .map(|label| match sizes.iter().find(|(l, _)| *l == label) {
                Some(&(_, size)) => Ok(size),
                None => bail!(
                    InvalidArgument,
                    "Einsum output subscripts for equation '{equation}' has label '{label}' which is not present in the input subscripts"
                ),
            })
            .collect::<Result<Vec<_>>>()
            .map(|sizes| PartialShape::new(&sizes))
    };
    let shape = match output.split_once("...") {
        Some((before, after)) => named(before)?.concat(&broadcast).concat(&named(after)?),
        None if broadcast.rank().is_some_and(|rank| rank > 0) => {
            bail!(InvalidArgument, "Einsum output subscripts for equation '{equation}' need an ellipsis for the dimensions {broadcast}")
        }
        None => named(output)?,
    };
    c.set_output(0, shape);
    Ok(())
}

/// Records the sizes of labelled dimensions.
fn label_all(sizes: &mut Vec<(char, i64)>, labels: impl Iterator<Item = char>, found: impl Iterator<Item = i64>) -> Result<()> {
    for (label, size) in labels.zip(found) {
        match sizes.iter_mut().find(|(l, _)| *l == label) {
            Some((_, known)) => *known = dims::merge(*known, size)?,
            None => sizes.push((label, size)),
        }
    }
    Ok(())
}

/// Bands of diagonals become matrices; input 1 says which, inputs 2 and 3 how many rows and columns.
pub(crate) fn matrix_diag_v2(c: &mut Context<'_>) -> Result<()> {
    let diagonal = dims::with_rank_at_least(&c.input(0), 1)?;
    dims::with_rank_at_most(&c.input(1), 1)?;
    let (band, rows, columns) = (common::ints(c, 1)?, common::int(c, 2)?, common::int(c, 3)?);
    let Some(rank) = diagonal.rank() else { return Ok(()) };
    let Some((low, high)) = band.as_deref().and_then(limits) else { return Ok(()) };
    if low > high {
        bail!(InvalidArgument, "lower_diag_index is greater than upper_diag_index");
    }
    // A band of several diagonals has a dimension for them.
    let batch = dims::without_last(&diagonal, if low == high { 1 } else { 2.min(rank) });
    let length = dims::size(&diagonal, rank - 1);
    let (min_rows, min_columns) = (dims::add(length, high.saturating_neg().max(0))?, dims::add(length, low.max(0))?);
    let (rows, columns) = (rows.filter(|&n| n >= 0), columns.filter(|&n| n >= 0));
    let (rows, columns) = match (rows, columns) {
        (None, None) if min_rows >= 0 => (min_rows.max(min_columns), min_rows.max(min_columns)),
        (rows, columns) => (rows.unwrap_or(min_rows), columns.unwrap_or(min_columns)),
    };
    c.set_output(0, batch.concat(&PartialShape::new(&[rows, columns])));
    Ok(())
}

/// The band of diagonals that input 1 says, each as long as the longest.
pub(crate) fn matrix_diag_part_v2(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 2)?;
    dims::with_rank_at_most(&c.input(1), 1)?;
    let Some(rank) = input.rank() else { return Ok(()) };
    let Some((low, high)) = common::ints(c, 1)?.as_deref().and_then(limits) else { return Ok(()) };
    if low > high {
        bail!(InvalidArgument, "lower_diag_index is greater than upper_diag_index");
    }
    let (m, n) = (dims::size(&input, rank - 2), dims::size(&input, rank - 1));
    let length = if m < 0 || n < 0 { dims::UNKNOWN } else { m.saturating_add(high.min(0)).min(n.saturating_sub(low.max(0))) };
    let mut sizes = Vec::new();
    if low != high {
        sizes.push(high.saturating_sub(low).saturating_add(1));
    }
    sizes.push(length);
    c.set_output(0, dims::without_last(&input, 2).concat(&PartialShape::new(&sizes)));
    Ok(())
}

/// Matrices whose diagonals, those that input 2 says or else the main ones, come from input 1.
pub(crate) fn matrix_set_diag(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 2)?;
    let mut diagonal = dims::with_rank_at_least(&c.input(1), 1)?;
    let band = if c.num_inputs() > 2 {
        dims::with_rank_at_most(&c.input(2), 1)?;
        common::ints(c, 2)?.as_deref().and_then(limits)
    } else {
        Some((0, 0))
    };
    if band.is_some_and(|(low, high)| low > high) {
        bail!(InvalidArgument, "lower_diag_index is greater than upper_diag_index");
    }
    if let Some(rank) = input.rank() {
        diagonal = match band {
            Some((low, high)) => dims::with_rank(&diagonal, if low == high { rank - 1 } else { rank })?,
            None => dims::with_rank_at_most(&dims::with_rank_at_least(&diagonal, rank - 1)?, rank)?,
        };
        let (rows, columns) = (dims::size(&input, rank - 2), dims::size(&input, rank - 1));
        for (name, index) in band.map_or([("", 0); 2], |(low, high)| [("lower", low), ("upper", high)]) {
            if rows >= 0 && columns >= 0 && index != 0 && (index <= -rows || index >= columns) {
                bail!(InvalidArgument, "{name}_diag_index is out of bound.");
            }
        }
    }
    let output = match (diagonal.rank(), band) {
        (Some(rank), Some((low, high))) => {
            let batch = dims::without_last(&diagonal, if low == high { 1 } else { 2.min(rank) });
            input.merge(&batch.concat(&PartialShape::unknown_of_rank(2)))?
        }
        _ => input,
    };
    c.set_output(0, output);
    Ok(())
}

/// Lower and upper diagonal, from one number or two.
fn limits(band: &[i64]) -> Option<(i64, i64)> {
    match *band {
        [k] => Some((k, k)),
        [low, high] => Some((low, high)),
        _ => None,
    }
}

/// Eigenvalues as a row before the eigenvectors.
pub(crate) fn self_adjoint_eig_v1(c: &mut Context<'_>) -> Result<()> {
    let input = as_square(&c.input(0))?;
    if let Some(&[ref outer @ .., rows, columns]) = input.dims() {
        let shape = PartialShape::new(outer).concat(&PartialShape::new(&[dims::add(rows, 1)?, columns]));
        c.set_output(0, shape);
    }
    Ok(())
}
