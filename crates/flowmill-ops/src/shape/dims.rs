//! Arithmetic on sizes of which some are unknown, with TensorFlow's checks and phrases.
//!
//! An unknown size is a negative number: −1, or a [`Symbol`](flowmill_tensor::Symbol) of a shape analysis, which may be passed on but not computed with.
//! Functions that take the context compute with symbols too.

use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail};

/// A size that is not known.
pub(crate) const UNKNOWN: i64 = -1;

/// The size at `index`; unknown if it, or the rank, is.
pub(crate) fn size(shape: &PartialShape, index: usize) -> i64 {
    shape.dims().and_then(|d| d.get(index).copied()).unwrap_or(UNKNOWN)
}

/// The most dimensions a tensor has.
pub(crate) const MAX_RANK: usize = 254;

/// A size that is a rank, if it is known and one that a tensor can have.
pub(crate) fn as_rank(size: i64) -> Option<usize> {
    usize::try_from(size).ok().filter(|&rank| rank <= MAX_RANK)
}

/// Merges two statements about one size; an error if they contradict each other.
pub(crate) fn merge(a: i64, b: i64) -> Result<i64> {
    if a >= 0 && b >= 0 && a != b {
        bail!(InvalidArgument, "Dimensions must be equal, but are {a} and {b}");
    }
    Ok(if a >= 0 || b == UNKNOWN { a } else { b })
}

/// The size, which must be `value`.
pub(crate) fn expect(size: i64, value: i64) -> Result<i64> {
    if size >= 0 && size != value {
        bail!(InvalidArgument, "Dimension must be {value} but is {size}");
    }
    Ok(value)
}

/// The sum.
pub(crate) fn add(a: i64, b: i64) -> Result<i64> {
    if a == 0 || b == 0 {
        return Ok(if a == 0 { b } else { a });
    }
    if a < 0 || b < 0 {
        return Ok(UNKNOWN);
    }
    match a.checked_add(b) {
        Some(sum) => Ok(sum),
        None => bail!(InvalidArgument, "Dimension size overflow from adding {a} and {b}"),
    }
}

/// The difference, which must not be negative.
pub(crate) fn subtract(a: i64, b: i64) -> Result<i64> {
    if b == 0 {
        return Ok(a);
    }
    if a < 0 || b < 0 {
        return Ok(UNKNOWN);
    }
    if a < b {
        bail!(InvalidArgument, "Negative dimension size caused by subtracting {b} from {a}");
    }
    Ok(a - b)
}

/// The product; nothing times an unknown size is nothing.
pub(crate) fn multiply(a: i64, b: i64) -> Result<i64> {
    if a == 0 || b == 0 {
        return Ok(0);
    }
    if a == 1 || b == 1 {
        return Ok(if a == 1 { b } else { a });
    }
    if a < 0 || b < 0 {
        return Ok(UNKNOWN);
    }
    match a.checked_mul(b) {
        Some(product) => Ok(product),
        None => bail!(InvalidArgument, "Negative dimension size caused by overflow when multiplying {a} and {b}"),
    }
}

/// The quotient of sizes that divide evenly.
pub(crate) fn divide(a: i64, b: i64) -> Result<i64> {
    if b == 1 {
        return Ok(a);
    }
    if a < 0 {
        return Ok(UNKNOWN);
    }
    if b <= 0 {
        bail!(InvalidArgument, "Divisor must be positive but is {b}");
    }
    if a % b != 0 {
        bail!(InvalidArgument, "Dimension size must be evenly divisible by {b} but is {a}");
    }
    Ok(a / b)
}

/// Like [`add`], with symbols.
pub(crate) fn sum(c: &Context<'_>, a: i64, b: i64) -> Result<i64> {
    Ok(or_symbol(add(a, b)?, || c.symbolic_sum(a, b)))
}

/// Like [`subtract`], with symbols.
pub(crate) fn difference(c: &Context<'_>, a: i64, b: i64) -> Result<i64> {
    Ok(or_symbol(subtract(a, b)?, || c.symbolic_difference(a, b)))
}

/// `size`, or what a function with symbols returns if the size is unknown.
fn or_symbol(size: i64, symbolic: impl FnOnce() -> i64) -> i64 {
    if size == UNKNOWN { symbolic() } else { size }
}

/// The product of sizes.
pub(crate) fn product(sizes: &[i64]) -> Result<i64> {
    sizes.iter().try_fold(1, |a, &b| multiply(a, b))
}

/// `shape`, whose rank must be `rank`.
pub(crate) fn with_rank(shape: &PartialShape, rank: usize) -> Result<PartialShape> {
    match shape.of_rank(rank) {
        Some(shape) => Ok(shape),
        None => bail!(InvalidArgument, "Shape must be rank {rank} but is rank {}", shape.min_rank()),
    }
}

/// `shape`, whose rank must be at least `rank`.
pub(crate) fn with_rank_at_least(shape: &PartialShape, rank: usize) -> Result<PartialShape> {
    match shape.rank() {
        Some(r) if r < rank => bail!(InvalidArgument, "Shape must be at least rank {rank} but is rank {r}"),
        _ => Ok(shape.of_rank_at_least(rank)),
    }
}

/// `shape`, whose rank must be at most `rank`.
pub(crate) fn with_rank_at_most(shape: &PartialShape, rank: usize) -> Result<PartialShape> {
    match shape.rank() {
        Some(r) if r > rank => bail!(InvalidArgument, "Shape must be at most rank {rank} but is rank {r}"),
        _ => Ok(shape.clone()),
    }
}

/// The dimensions from `start` on; nothing is known if the rank is not.
pub(crate) fn suffix(shape: &PartialShape, start: usize) -> PartialShape {
    shape.dims().map_or_else(PartialShape::unknown, |d| PartialShape::new(d.get(start..).unwrap_or(&[])))
}

/// All dimensions but the last `count`.
pub(crate) fn without_last(shape: &PartialShape, count: usize) -> PartialShape {
    shape.dims().map_or_else(PartialShape::unknown, |d| PartialShape::new(&d[..d.len().saturating_sub(count)]))
}

/// `shape` with another size at `index`.
pub(crate) fn replaced(shape: &PartialShape, index: usize, size: i64) -> PartialShape {
    shape.dims().map_or_else(PartialShape::unknown, |d| d.iter().enumerate().map(|(i, &d)| if i == index { size } else { d }).collect())
}

/// `axis`, which may count from the end, of a tensor of rank `rank`.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize> {
    let r = rank as i64;
    if axis < -r || axis >= r {
        bail!(InvalidArgument, "Dimension size, given by scalar input {axis} must be in range [-{r}, {r})");
    }
    Ok(if axis < 0 { axis + r } else { axis } as usize)
}
