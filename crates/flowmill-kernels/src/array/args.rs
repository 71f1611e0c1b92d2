//! Readers of the small integer arguments of array ops: axes, sizes, indices.

use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use smallvec::SmallVec;
use std::ops::Range;

/// A short list of indices or sizes from an op's inputs.
pub type Indices = SmallVec<[i64; 8]>;

/// Returns the elements of an integer tensor, widened to `i64`.
///
/// # Errors
/// Returns `InvalidArgument` for another type.
pub fn indices(tensor: &Tensor) -> Result<Indices> {
    Ok(match tensor.dtype() {
        DType::I32 => tensor.as_slice::<i32>()?.iter().map(|&x| i64::from(x)).collect(),
        DType::I64 => SmallVec::from_slice(tensor.as_slice::<i64>()?),
        DType::I16 => tensor.as_slice::<i16>()?.iter().map(|&x| i64::from(x)).collect(),
        DType::I8 => tensor.as_slice::<i8>()?.iter().map(|&x| i64::from(x)).collect(),
        DType::U8 => tensor.as_slice::<u8>()?.iter().map(|&x| i64::from(x)).collect(),
        DType::U16 => tensor.as_slice::<u16>()?.iter().map(|&x| i64::from(x)).collect(),
        t => bail!(InvalidArgument, "expected an integer tensor of indices, got {t}"),
    })
}

/// Returns the only element of an integer tensor of any rank.
///
/// # Errors
/// Returns `InvalidArgument` if there is not exactly one element; the message names the argument `name`.
pub fn scalar_index(tensor: &Tensor, name: &str) -> Result<i64> {
    if let Some(bits) = tensor.scalar_bits(DType::I32) {
        return Ok(i64::from(bits as u32 as i32));
    }
    match indices(tensor)?[..] {
        [x] => Ok(x),
        _ => bail!(InvalidArgument, "{name} must be a scalar, got shape {}", tensor.shape()),
    }
}

/// Returns the shape that a vector of sizes describes.
///
/// # Errors
/// Returns `InvalidArgument` for another rank or type, or a negative size.
pub fn shape_argument(tensor: &Tensor, name: &str) -> Result<Shape> {
    if tensor.rank() != 1 {
        bail!(InvalidArgument, "{name} must be a vector of {{int32,int64}}, got shape {}", tensor.shape());
    }
    Shape::from_i64(&indices(tensor)?)
}

/// Returns the product of sizes. It saturates, which happens only for shapes without elements: the products of all other shapes were checked.
pub fn product(dims: &[usize]) -> usize {
    dims.iter().fold(1, |n: usize, &d| n.saturating_mul(d))
}

/// The slices of a tensor along one axis, or the whole tensor as a single slice. A slice consists of runs of adjacent elements.
pub struct Slices {
    /// The number of slices.
    pub count: usize,
    /// The number of runs in a slice.
    pub outer: usize,
    /// The number of elements in a run.
    pub inner: usize,
}

impl Slices {
    /// Returns the slices of a tensor of this shape, which has the axis.
    pub fn new(shape: &Shape, axis: Option<usize>) -> Slices {
        let Some(axis) = axis else { return Slices { count: 1, outer: 1, inner: shape.num_elements() } };
        let inner = product(&shape[axis + 1..]);
        // Empty runs are skipped: there may be more of them than could be visited in a reasonable time.
        let outer = if inner == 0 { 0 } else { product(&shape[..axis]) };
        Slices { count: shape[axis], outer, inner }
    }

    /// Returns the runs of elements in slice `i`.
    pub fn runs(&self, i: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (count, inner) = (self.count, self.inner);
        (0..self.outer).map(move |o| (o * count + i) * inner..(o * count + i + 1) * inner)
    }
}
