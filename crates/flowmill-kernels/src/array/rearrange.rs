//! The arguments of ops that rearrange elements: checks, and the resulting shapes and strides. Every device's kernels begin with them.

use super::args::{Indices, indices, scalar_index, shape_argument};
use super::nd::{Dims, Strides, row_major};
use super::slice_spec::Region;
use flowmill_graph::Attrs;
use flowmill_tensor::{Result, Shape, Tensor, bail};
use smallvec::SmallVec;

/// Returns the strides with which row-major data of shape `from` is read as if it had shape `to`, or `None` if `from` does not broadcast to `to`.
pub fn broadcast_strides(from: &Shape, to: &Shape) -> Option<Strides> {
    let added = to.rank().checked_sub(from.rank())?;
    let own = row_major(from);
    let mut strides: Strides = SmallVec::from_elem(0, to.rank());
    for (i, (&size, &stride)) in from.iter().zip(&own).enumerate() {
        if size == to[added + i] {
            strides[added + i] = stride;
        } else if size != 1 {
            return None;
        }
    }
    Some(strides)
}

/// Returns the argument `perm` of a transposition of a tensor of this shape, after a check that it names every axis exactly once.
///
/// # Errors
/// Returns `InvalidArgument` for any other argument.
pub fn permutation(permutation: &Tensor, shape: &Shape) -> Result<Dims> {
    let rank = shape.rank();
    if permutation.rank() != 1 {
        bail!(InvalidArgument, "perm must be rank 1, got shape {}", permutation.shape());
    }
    if permutation.num_elements() != rank {
        bail!(
            InvalidArgument,
            "transpose expects a vector of size {rank}. But input(1) is a vector of size {}",
            permutation.num_elements()
        );
    }
    let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
    let mut axes = Dims::new();
    for axis in indices(permutation)? {
        let Some(i) = shape.axis(axis) else { bail!(InvalidArgument, "{axis} is out of range [0 .. {rank})") };
        seen[i] = true;
        axes.push(i);
    }
    match seen.iter().position(|&seen| !seen) {
        Some(missing) => {
            bail!(InvalidArgument, "{missing} is missing from {{{}}}.", axes.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
        }
        None => Ok(axes),
    }
}

/// Returns the region of `Slice`. A size of −1 means the rest of a dimension.
///
/// # Errors
/// Returns `InvalidArgument` for arguments of other shapes, and for a region that leaves the tensor.
pub fn slice_region(shape: &Shape, begin: &Tensor, size: &Tensor) -> Result<Region> {
    let rank = shape.rank();
    if begin.rank() != 1 || size.rank() != 1 || begin.num_elements() != rank || size.num_elements() != rank {
        bail!(
            InvalidArgument,
            "Expected begin and size arguments to be 1-D tensors of size {rank}, but got shapes {} and {} instead.",
            begin.shape(),
            size.shape()
        );
    }
    let mut begins: Indices = indices(begin)?;
    let mut sizes: SmallVec<[usize; 8]> = SmallVec::new();
    for (i, (begin, size)) in begins.iter_mut().zip(indices(size)?).enumerate() {
        let dim = shape[i] as i64;
        if !(0..=dim).contains(begin) {
            bail!(InvalidArgument, "Expected begin[{i}] in [0, {dim}], but got {begin}");
        }
        let left = dim - *begin;
        let size = if size == -1 { left } else { size };
        if !(0..=left).contains(&size) {
            bail!(InvalidArgument, "Expected size[{i}] in [0, {left}], but got {size}");
        }
        sizes.push(size as usize);
    }
    Ok(Region { steps: SmallVec::from_elem(1, rank), begins, sizes })
}

/// Returns the strides with which a value is read to fill a slice. A value of higher rank than the slice is accepted if its outer dimensions have
/// size one; otherwise the rules are those of broadcasting.
pub fn value_strides(value: &Shape, slice: &Shape) -> Option<Strides> {
    let (extra, inner) = value.split_at(value.rank().saturating_sub(slice.rank()));
    extra.iter().all(|&size| size == 1).then(|| broadcast_strides(&Shape::new(inner), slice)).flatten()
}

/// Returns the shape of tensors of these shapes concatenated along `axis`, which counts from the end if it is negative.
///
/// # Errors
/// Returns `InvalidArgument` if there is no such axis, if sizes of other dimensions differ, or if there are no shapes.
pub fn joined_shape<'a>(shapes: impl IntoIterator<Item = &'a Shape>, axis: i64) -> Result<Shape> {
    let mut shapes = shapes.into_iter();
    let Some(first) = shapes.next() else { bail!(InvalidArgument, "ConcatOp : at least one value is needed") };
    let rank = first.rank();
    if rank == 0 {
        bail!(InvalidArgument, "ConcatOp : Can't concatenate scalars (use tf.stack instead)");
    }
    let Some(axis) = first.axis(axis) else {
        bail!(InvalidArgument, "ConcatOp : Expected concatenating dimensions in the range [{}, {rank}), but got {axis}", -(rank as i64));
    };
    let mut shape = first.clone();
    for (i, other) in shapes.enumerate() {
        check_joinable(first, other, i + 1, axis)?;
        let Some(sum) = shape[axis].checked_add(other[axis]) else {
            bail!(InvalidArgument, "ConcatOp : the sizes of dimension {axis} overflow")
        };
        shape[axis] = sum;
    }
    Ok(shape)
}

fn check_joinable(first: &Shape, other: &Shape, i: usize, axis: usize) -> Result<()> {
    if first.rank() != other.rank() {
        bail!(InvalidArgument, "ConcatOp : Ranks of all input tensors should match: shape[0] = {first} vs. shape[{i}] = {other}");
    }
    for (d, (a, b)) in first.iter().zip(other.iter()).enumerate() {
        if d != axis && a != b {
            bail!(InvalidArgument, "ConcatOp : Dimension {d} in both shapes must be equal: shape[0] = {first} vs. shape[{i}] = {other}");
        }
    }
    Ok(())
}

/// Returns sizes that add up to `total`. One of the given sizes may be −1, which is replaced by the remainder.
///
/// # Errors
/// Returns `InvalidArgument` for other sizes.
pub fn complete_sizes(mut sizes: Indices, total: usize) -> Result<Indices> {
    let mut missing = None;
    let mut sum: i64 = 0;
    for (i, &size) in sizes.iter().enumerate() {
        if size == -1 {
            if missing.replace(i).is_some() {
                bail!(InvalidArgument, "There can only be one -1 in the input.");
            }
            continue;
        }
        if size < 0 {
            bail!(InvalidArgument, "Split size at index {i} must be >= 0. Got: {size}");
        }
        sum = sum.saturating_add(size);
    }
    let total = total as i64;
    if (missing.is_none() && sum != total) || sum > total {
        bail!(
            InvalidArgument,
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the size of the input along split_dim if not fully specified.  Got: {sum}"
        );
    }
    if let Some(i) = missing {
        sizes[i] = total - sum;
    }
    Ok(sizes)
}

/// For each dimension, the numbers of elements to add before and after.
pub type Paddings = SmallVec<[(usize, usize); 8]>;

/// Returns the argument `paddings` for an input of shape `shape`.
///
/// # Errors
/// Returns `InvalidArgument` for another shape than a row of two for each dimension, and for negative paddings.
pub fn paddings(argument: &Tensor, shape: &Shape) -> Result<Paddings> {
    if argument.rank() != 2 || argument.shape()[1] != 2 {
        bail!(InvalidArgument, "paddings must be a matrix with 2 columns: {}", argument.shape());
    }
    if argument.shape()[0] != shape.rank() {
        bail!(InvalidArgument, "The first dimension of paddings must be the rank of inputs{} {shape}", argument.shape());
    }
    let flat = indices(argument)?;
    let mut out = Paddings::new();
    for pair in flat.chunks_exact(2) {
        match (usize::try_from(pair[0]), usize::try_from(pair[1])) {
            (Ok(before), Ok(after)) => out.push((before, after)),
            _ => bail!(InvalidArgument, "Paddings must be non-negative: {} {}", pair[0], pair[1]),
        }
    }
    Ok(out)
}

/// Returns the shape after padding.
///
/// # Errors
/// Returns `InvalidArgument` if the shape has too many elements.
pub fn padded(shape: &Shape, paddings: &Paddings) -> Result<Shape> {
    let mut sizes: SmallVec<[i64; 8]> = SmallVec::new();
    for (&dim, &(before, after)) in shape.iter().zip(paddings) {
        let size = dim.checked_add(before).and_then(|n| n.checked_add(after)).and_then(|n| i64::try_from(n).ok());
        match size {
            Some(size) => sizes.push(size),
            None => bail!(InvalidArgument, "a dimension of {dim} with paddings {before} and {after} has too many elements"),
        }
    }
    Shape::from_i64(&sizes)
}

/// The mode in which a border mirrors the inside.
#[derive(Clone, Copy)]
pub struct Mirror {
    /// 1 if the edge itself is not repeated (`REFLECT`), 0 if it is (`SYMMETRIC`).
    pub offset: usize,
}

impl Mirror {
    /// Reads the attribute `mode`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for another mode than `REFLECT` and `SYMMETRIC`.
    pub fn from_attrs(attrs: &Attrs) -> Result<Mirror> {
        match attrs.get("mode")? {
            "REFLECT" => Ok(Mirror { offset: 1 }),
            "SYMMETRIC" => Ok(Mirror { offset: 0 }),
            other => bail!(InvalidArgument, "mode must be either REFLECT or SYMMETRIC, got {other}"),
        }
    }

    /// Checks that `size` elements are enough to mirror a border.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if they are not; the message calls the dimension `which`.
    pub fn check(self, (before, after): (usize, usize), size: usize, which: &str) -> Result<()> {
        if before.max(after) + self.offset <= size || (before == 0 && after == 0) {
            return Ok(());
        }
        match self.offset {
            1 => bail!(InvalidArgument, "paddings must be less than the {which}dimension size: {before}, {after} not less than {size}"),
            _ => {
                bail!(InvalidArgument, "paddings must be no greater than the {which}dimension size: {before}, {after} greater than {size}")
            }
        }
    }

    /// Returns, for each index of the padded dimension, the index of the element that is copied there.
    pub fn map(self, (before, after): (usize, usize), size: usize) -> Vec<usize> {
        let left = (0..before).rev().map(|i| i + self.offset);
        let right = (0..after).map(|i| size - 1 - self.offset - i);
        left.chain(0..size).chain(right).collect()
    }
}

/// Returns the axis argument of a split of a tensor of this shape into `count` parts.
///
/// # Errors
/// Returns `InvalidArgument` for an axis that the tensor does not have.
pub fn split_axis(shape: &Shape, axis: &Tensor, count: usize) -> Result<usize> {
    if axis.num_elements() != 1 {
        bail!(InvalidArgument, "split_dim tensor must have exactly one element, not {}", axis.num_elements());
    }
    let axis = scalar_index(axis, "split_dim")?;
    match shape.axis(axis) {
        Some(axis) if count > 0 => Ok(axis),
        _ => bail!(InvalidArgument, "-input rank({}) <= split_dim < input rank ({}), but got {axis}", -(shape.rank() as i64), shape.rank()),
    }
}

/// Returns the size of each of `count` equal parts of dimension `axis`, which has `size` elements.
///
/// # Errors
/// Returns `InvalidArgument` if the parts are not equal.
pub fn equal_parts(axis: usize, size: usize, count: usize) -> Result<usize> {
    if !size.is_multiple_of(count) {
        bail!(
            InvalidArgument,
            "Number of ways to split should evenly divide the split dimension, but got split_dim {axis} (size = {size}) and num_split {count}"
        );
    }
    Ok(size / count)
}

/// Returns the axis and the shape of the result of `Pack` for elements of these shapes.
///
/// # Errors
/// Returns `InvalidArgument` for different shapes, and for an axis that the result does not have.
pub fn packed_shape<'a>(shapes: impl IntoIterator<Item = &'a Shape>, axis: i64) -> Result<(usize, Shape)> {
    let mut shapes = shapes.into_iter();
    let Some(first) = shapes.next() else { bail!(InvalidArgument, "Pack needs at least one value") };
    let rank = first.rank() as i64 + 1;
    if !(-rank..rank).contains(&axis) || rank > Shape::MAX_RANK as i64 {
        bail!(InvalidArgument, "axis = {axis} not in [{}, {rank})", -rank);
    }
    let at = (if axis < 0 { axis + rank } else { axis }) as usize;
    let mut count = 1;
    for other in shapes {
        if other != first {
            bail!(InvalidArgument, "Shapes of all inputs must match: values[0].shape = {first} != values[{count}].shape = {other}");
        }
        count += 1;
    }
    let mut shape = first.clone();
    shape.insert(at, count);
    Ok((at, shape))
}

/// Returns the axis along which `Unpack` takes a tensor of this shape apart into `count` elements, and the shape of each.
///
/// # Errors
/// Returns `InvalidArgument` for an axis that the tensor does not have or that has another size.
pub fn unpacked_shape(shape: &Shape, axis: i64, count: usize) -> Result<(usize, Shape)> {
    let rank = shape.rank() as i64;
    let Some(axis) = shape.axis(axis) else { bail!(InvalidArgument, "axis = {axis} not in [{}, {rank})", -rank) };
    if shape[axis] != count {
        bail!(InvalidArgument, "Input shape axis {axis} must equal {count}, got shape {shape}");
    }
    let mut part = shape.clone();
    part.remove(axis);
    Ok((axis, part))
}

/// A tensor that is read by strides: the shape of the result, the dimensions of the loop, and the stride in each.
pub struct Repetition {
    /// The shape of the result, which has as many elements as the loop.
    pub shape: Shape,
    /// The dimensions of the loop.
    pub dims: Dims,
    /// The stride in each dimension, 0 for those that repeat elements.
    pub strides: Strides,
}

/// Returns the way in which `Tile` repeats a tensor of this shape.
///
/// # Errors
/// Returns `InvalidArgument` for multiples that are not one for each dimension, or negative.
pub fn tiling(shape: &Shape, multiples: &Tensor) -> Result<Repetition> {
    if multiples.rank() != 1 {
        bail!(InvalidArgument, "Expected multiples to be 1-D, but got shape {}", multiples.shape());
    }
    if multiples.num_elements() != shape.rank() {
        bail!(
            InvalidArgument,
            "Expected multiples argument to be a vector of length {} but got length {}",
            shape.rank(),
            multiples.num_elements()
        );
    }
    let own = row_major(shape);
    let mut sizes = Indices::new();
    // Each dimension becomes two: the repetitions, whose stride is zero, and the elements.
    let (mut dims, mut strides) = (Dims::new(), Strides::new());
    for (i, multiple) in indices(multiples)?.into_iter().enumerate() {
        let Ok(repeat) = usize::try_from(multiple) else { bail!(InvalidArgument, "Expected multiples[{i}] >= 0, but got {multiple}") };
        let Some(size) = multiple.checked_mul(shape[i] as i64) else { bail!(InvalidArgument, "the size of dimension {i} overflows") };
        sizes.push(size);
        dims.extend([repeat, shape[i]]);
        strides.extend([0, own[i]]);
    }
    Ok(Repetition { shape: Shape::from_i64(&sizes)?, dims, strides })
}

/// For each axis, true if it is reversed.
pub type Flags = SmallVec<[bool; 8]>;

/// Returns the axes that `ReverseV2` reverses in a tensor of this shape.
///
/// # Errors
/// Returns `InvalidArgument` for an axis that the tensor does not have or that is given twice.
pub fn reversed_axes(shape: &Shape, axes: &Tensor) -> Result<Flags> {
    if axes.rank() != 1 {
        bail!(InvalidArgument, "'dims' must be 1-dimension, not {}", axes.rank());
    }
    let mut flags: Flags = SmallVec::from_elem(false, shape.rank());
    for (i, axis) in indices(axes)?.into_iter().enumerate() {
        let Some(axis) = shape.axis(axis) else {
            bail!(InvalidArgument, "'axis'[{i}] = {axis} is out of valid range [0, {}", shape.rank() as i64 - 1);
        };
        if std::mem::replace(&mut flags[axis], true) {
            bail!(InvalidArgument, "axis {axis} specified more than once.");
        }
    }
    Ok(flags)
}

/// Returns the offset and the strides with which a tensor of this shape is read in reverse along some axes.
pub fn reversed_strides(shape: &Shape, flags: &[bool]) -> (isize, Strides) {
    let (mut offset, mut strides) = (0, row_major(shape));
    for ((stride, &dim), _) in strides.iter_mut().zip(shape.iter()).zip(flags).filter(|&((_, &dim), &flag)| flag && dim > 1) {
        offset += *stride * (dim as isize - 1);
        *stride = -*stride;
    }
    (offset, strides)
}

/// Returns the shape argument of `BroadcastTo` for a tensor of shape `from`, and the strides with which the tensor is read.
///
/// # Errors
/// Returns `InvalidArgument` if the tensor cannot be broadcast to the shape.
pub fn broadcast_target(from: &Shape, shape: &Tensor) -> Result<(Shape, Strides)> {
    let shape = if shape.num_elements() == 0 { Shape::scalar() } else { shape_argument(shape, "shape")? };
    if from.rank() > shape.rank() {
        bail!(InvalidArgument, "Rank of input ({}) must be no greater than rank of output shape ({}).", from.rank(), shape.rank());
    }
    match broadcast_strides(from, &shape) {
        Some(strides) => Ok((shape, strides)),
        None => bail!(InvalidArgument, "Incompatible shapes: {from} vs. {shape}"),
    }
}

/// Returns the dimensions of the sequences and of the batch that `ReverseSequence` reverses.
///
/// # Errors
/// Returns `InvalidArgument` for dimensions that the input does not have or that are equal, and for lengths that are not those of the batch.
pub fn sequence_axes(input: &Shape, lengths: &Shape, seq_dim: i64, batch_dim: i64) -> Result<(usize, usize)> {
    let rank = input.rank();
    if lengths.rank() != 1 {
        bail!(InvalidArgument, "seq_lengths must be 1-dim, not {}", lengths.rank());
    }
    if batch_dim == seq_dim {
        bail!(InvalidArgument, "batch_dim == seq_dim == {seq_dim}");
    }
    let Some(seq) = usize::try_from(seq_dim).ok().filter(|&d| d < rank) else {
        bail!(InvalidArgument, "seq_dim must be < input rank ( {seq_dim} vs. {rank})")
    };
    let Some(batch) = usize::try_from(batch_dim).ok().filter(|&d| d < rank) else {
        bail!(InvalidArgument, "batch_dim must be < input rank ( {batch_dim} vs. {rank})")
    };
    if lengths.num_elements() != input[batch] {
        bail!(InvalidArgument, "Length of seq_lengths != input.dims({batch}), ({} vs. {})", lengths.num_elements(), input[batch]);
    }
    Ok((seq, batch))
}
