//! Resolution of a strided slice (`begin`, `end`, `strides` and five masks) to a region of a tensor.

use super::args::{Indices, indices};
use super::nd::{Strides, row_major};
use flowmill_graph::Attrs;
use flowmill_tensor::{Result, Shape, Tensor, bail};
use smallvec::SmallVec;

/// The most entries a slice specification may have: the masks are 32 bits wide.
const MAX_ENTRIES: usize = 32;

/// The masks of a strided slice; bit `i` refers to entry `i` of the specification.
#[derive(Clone, Copy, Debug, Default)]
pub struct Masks {
    /// If set, `begin[i]` is ignored and the slice begins at the first element in the stride's direction.
    pub begin: i64,
    /// If set, `end[i]` is ignored and the slice ends after the last element in the stride's direction.
    pub end: i64,
    /// If set, entry `i` is `...`: as many whole dimensions as the other entries leave.
    pub ellipsis: i64,
    /// If set, entry `i` adds a dimension of size one.
    pub new_axis: i64,
    /// If set, entry `i` is a single index, and its dimension is removed.
    pub shrink_axis: i64,
}

impl Masks {
    /// Reads the masks from a node's attributes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for an attribute of another kind, or more than one ellipsis.
    pub fn from_attrs(attrs: &Attrs) -> Result<Masks> {
        let masks = Masks {
            begin: attrs.get_or("begin_mask", 0)?,
            end: attrs.get_or("end_mask", 0)?,
            ellipsis: attrs.get_or("ellipsis_mask", 0)?,
            new_axis: attrs.get_or("new_axis_mask", 0)?,
            shrink_axis: attrs.get_or("shrink_axis_mask", 0)?,
        };
        if masks.ellipsis.count_ones() > 1 {
            bail!(InvalidArgument, "Multiple ellipses in slice spec not allowed");
        }
        Ok(masks)
    }
}

/// A regular part of a tensor. Each list has one entry per dimension of the tensor.
#[derive(Clone, Debug)]
pub struct Region {
    /// The first index.
    pub begins: Indices,
    /// The distance between two consecutive indices, negative if they descend.
    pub steps: Indices,
    /// The number of indices.
    pub sizes: SmallVec<[usize; 8]>,
}

impl Region {
    /// Returns true if the region is all of a tensor of this shape, in order.
    pub fn is_whole(&self, shape: &Shape) -> bool {
        self.sizes[..] == shape[..] && self.steps.iter().zip(shape.iter()).all(|(&step, &dim)| step == 1 || dim <= 1)
    }

    /// Returns the offset of the first element and the strides of the region in a row-major tensor of this shape.
    pub fn strides(&self, shape: &[usize]) -> (isize, Strides) {
        let inner = row_major(shape);
        // The offset can wrap around only for shapes without elements, and nothing is read or written there.
        let offset = self
            .begins
            .iter()
            .zip(&inner)
            .fold(0isize, |offset, (&begin, &stride)| offset.wrapping_add((begin as isize).wrapping_mul(stride)));
        (offset, self.steps.iter().zip(&inner).map(|(&step, &stride)| (step as isize).saturating_mul(stride)).collect())
    }

    /// Returns true if the region is a single run of elements in a row-major tensor of this shape.
    pub fn is_contiguous(&self, shape: &[usize]) -> bool {
        let outermost = self.sizes.iter().position(|&size| size != 1).unwrap_or(self.sizes.len());
        self.sizes.iter().zip(shape).skip(outermost + 1).all(|(size, dim)| size == dim)
            && self.sizes.iter().zip(&self.steps).all(|(&size, &step)| size == 1 || step == 1)
    }
}

/// The specification of one dimension of the sliced tensor.
#[derive(Clone, Copy)]
struct Entry {
    begin: i64,
    end: i64,
    step: i64,
    begin_masked: bool,
    end_masked: bool,
    shrink: bool,
}

const WHOLE: Entry = Entry { begin: 0, end: 0, step: 1, begin_masked: true, end_masked: true, shrink: false };

/// The origin of a dimension of the result.
#[derive(Clone, Copy)]
enum ResultDim {
    /// This dimension of the sliced tensor.
    Of(usize),
    /// A new dimension of size one.
    New,
}

/// Returns the region of a tensor of shape `shape` that a specification describes, and the shape of the slice.
///
/// # Errors
/// Returns `InvalidArgument` for vectors of different lengths, too many entries, a stride of zero, or an index out of range.
pub fn resolve(shape: &Shape, begin: &Tensor, end: &Tensor, strides: &Tensor, masks: &Masks) -> Result<(Region, Shape)> {
    let n = begin.num_elements();
    if begin.rank() != 1
        || end.rank() != 1
        || strides.rank() != 1
        || end.num_elements() != n
        || strides.num_elements() != n
        || n >= MAX_ENTRIES
    {
        bail!(
            InvalidArgument,
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {}, {}, and {} instead.",
            begin.shape(),
            end.shape(),
            strides.shape()
        );
    }
    let (begin, end, strides) = (indices(begin)?, indices(end)?, indices(strides)?);
    let (entries, result) = assign_entries(shape.rank(), &begin, &end, &strides, masks)?;
    let mut region = Region { begins: Indices::new(), steps: Indices::new(), sizes: SmallVec::new() };
    for (i, entry) in entries.iter().enumerate() {
        let (begin, size) = resolve_entry(entry, shape[i] as i64, i)?;
        region.begins.push(begin);
        region.steps.push(entry.step);
        region.sizes.push(size);
    }
    let slice_shape: Shape = result.iter().map(|dim| if let ResultDim::Of(i) = dim { region.sizes[*i] } else { 1 }).collect();
    if slice_shape.rank() > Shape::MAX_RANK {
        bail!(InvalidArgument, "shape has {} dimensions, more than {}", slice_shape.rank(), Shape::MAX_RANK);
    }
    Ok((region, slice_shape))
}

/// Returns the entry for each dimension of the tensor, and the dimensions of the result.
fn assign_entries(
    rank: usize,
    begin: &[i64],
    end: &[i64],
    strides: &[i64],
    masks: &Masks,
) -> Result<(SmallVec<[Entry; 8]>, SmallVec<[ResultDim; 8]>)> {
    let bit = |mask: i64, i: usize| mask >> i & 1 != 0;
    let n = begin.len();
    let ellipsis = (0..n).find(|&i| bit(masks.ellipsis, i));
    let new_axes_after = |at: usize| (at + 1..n).filter(|&i| bit(masks.new_axis, i)).count();
    let mut entries: SmallVec<[Entry; 8]> = SmallVec::new();
    let mut result: SmallVec<[ResultDim; 8]> = SmallVec::new();
    for i in 0..n {
        if Some(i) == ellipsis {
            let dims_after = n - i - 1 - new_axes_after(i);
            while entries.len() + dims_after < rank {
                result.push(ResultDim::Of(entries.len()));
                entries.push(WHOLE);
            }
        } else if bit(masks.new_axis, i) {
            result.push(ResultDim::New);
        } else if rank == 0 {
            bail!(InvalidArgument, "Attempting to slice scalar input.");
        } else if entries.len() == rank {
            bail!(InvalidArgument, "Index out of range using input dim {rank}; input has only {rank} dims");
        } else {
            let shrink = bit(masks.shrink_axis, i);
            if !shrink {
                result.push(ResultDim::Of(entries.len()));
            }
            entries.push(Entry {
                begin: begin[i],
                end: end[i],
                step: strides[i],
                begin_masked: bit(masks.begin, i),
                end_masked: bit(masks.end, i),
                shrink,
            });
        }
    }
    while entries.len() < rank {
        result.push(ResultDim::Of(entries.len()));
        entries.push(WHOLE);
    }
    Ok((entries, result))
}

/// Returns the first index and the number of elements for one dimension of size `dim`.
fn resolve_entry(entry: &Entry, dim: i64, i: usize) -> Result<(i64, usize)> {
    let step = entry.step;
    if step == 0 {
        bail!(InvalidArgument, "strides[{i}] must be non-zero");
    }
    let from_front = |x: i64| if x < 0 { x.saturating_add(dim) } else { x };
    if entry.shrink {
        if step <= 0 {
            bail!(InvalidArgument, "only stride 1 allowed on non-range indexing.");
        }
        let begin = from_front(entry.begin);
        if !(0..dim).contains(&begin) {
            bail!(InvalidArgument, "slice index {} of dimension {i} out of bounds.", entry.begin);
        }
        return Ok((begin, 1));
    }
    let (low, high) = if step > 0 { (0, dim) } else { (-1, dim - 1) };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let begin = if entry.begin_masked { first } else { from_front(entry.begin).clamp(low, high) };
    let end = if entry.end_masked { last } else { from_front(entry.end).clamp(low, high) };
    let length = if step > 0 { end - begin } else { begin - end };
    if length <= 0 {
        return Ok((begin.max(0), 0));
    }
    let size = (length as u64).div_ceil(step.unsigned_abs());
    Ok((begin, size as usize))
}
