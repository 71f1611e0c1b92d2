//! Slices, plain and strided.

use super::{common, dims, value};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, bail, error};

/// `size` elements from `begin` on, along each axis; −1 means all that are left.
pub(crate) fn slice(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    let begin_shape = dims::with_rank(&c.input(1), 1)?;
    let lengths = begin_shape.merge(&dims::with_rank(&c.input(2), 1)?)?;
    let (begin, size) = (common::ints(c, 1)?, common::ints(c, 2)?);
    // What comes from other shapes is known in part.
    let (partial_begin, partial_size) = (value::sizes(c, 1), if size.is_none() { value::sizes(c, 2) } else { None });
    let Some(rank) = dims::as_rank(dims::size(&lengths, 0)).or(input.rank()) else { return Ok(()) };
    let input = dims::with_rank(&input, rank)?;
    let mut sizes = Vec::with_capacity(rank);
    for i in 0..rank {
        let available = dims::size(&input, i);
        let at = |v: &Option<Vec<i64>>| v.as_ref().and_then(|v| v.get(i).copied());
        sizes.push(match (at(&partial_begin), at(&size)) {
            (Some(begin), Some(-1)) => dims::difference(c, available, begin)?,
            (_, Some(size)) if size < -1 => {
                return Err(c.complete(error!(InvalidArgument, "Invalid value in tensor used for shape: {size}")));
            }
            (_, Some(size)) => size,
            (_, None) => at(&partial_size).unwrap_or(dims::UNKNOWN),
        });
    }
    c.set_output(0, PartialShape::new(&sizes));
    if let (1, Some(from), Some(&[begin]), Some(&[size])) = (rank, value::sizes(c, 0), begin.as_deref(), size.as_deref()) {
        let start = usize::try_from(begin).unwrap_or(usize::MAX);
        let part = match usize::try_from(size) {
            Ok(size) => start.checked_add(size).and_then(|end| from.get(start..end)),
            Err(_) => from.get(start..),
        };
        set_part(c, part.map(<[i64]>::to_vec));
    }
    Ok(())
}

/// The value of a part of input 0, known as far as input 0 is.
fn set_part(c: &mut Context<'_>, part: Option<Vec<i64>>) {
    match (c.known(0), c.attrs().get::<DType>("T")) {
        (Some(_), Ok(dtype @ (DType::I32 | DType::I64))) => value::set_ints(c, dtype, part),
        (None, Ok(dtype @ (DType::I32 | DType::I64))) => value::set_sizes(c, dtype, part),
        _ => {}
    }
}

/// The masks of a strided slice: bit `i` speaks of the specification's `i`-th entry.
struct Masks {
    begin: i64,
    end: i64,
    ellipsis: i64,
    new_axis: i64,
    shrink_axis: i64,
}

/// The part of one input dimension that is kept.
struct Interval {
    begin: Option<i64>,
    end: Option<i64>,
    stride: i64,
    begin_masked: bool,
    end_masked: bool,
    shrink: bool,
}

impl Interval {
    const ALL: Interval = Interval { begin: None, end: None, stride: 1, begin_masked: true, end_masked: true, shrink: false };

    /// First and last index (exclusive) in a dimension of `size` elements, where they follow.
    fn bounds(&self, size: i64) -> Option<(i64, i64)> {
        // TensorFlow takes a mask's word only where the other bound is known or masked too.
        if !(self.begin_masked && self.end_masked) && (self.begin.is_none() || self.end.is_none()) {
            return None;
        }
        let (low, high) = if self.stride > 0 { (0, size) } else { (-1, size - 1) };
        let clamp = |x: i64| (if x < 0 { x.saturating_add(size) } else { x }).clamp(low, high);
        let begin = if self.begin_masked { if self.stride > 0 { low } else { high } } else { clamp(self.begin?) };
        let end = if self.end_masked { if self.stride > 0 { high } else { low } } else { clamp(self.end?) };
        Some((begin, end))
    }

    /// The number of elements taken from dimension `axis` of `size` elements; −1 if unknown.
    fn len(&self, axis: usize, size: i64) -> Result<i64> {
        if self.shrink {
            if self.stride <= 0 {
                bail!(InvalidArgument, "only stride 1 allowed on non-range indexing.");
            }
            if let (Some(begin), true) = (self.begin, size >= 0) {
                let index = if begin < 0 { begin.saturating_add(size) } else { begin };
                if index < 0 || index >= size {
                    bail!(InvalidArgument, "slice index {begin} of dimension {axis} out of bounds.");
                }
            }
            return Ok(1);
        }
        if size < 0 {
            let is_whole = self.stride == 1 && self.end_masked && (self.begin_masked || self.begin == Some(0));
            return Ok(if is_whole { size } else { dims::UNKNOWN });
        }
        let Some((begin, end)) = self.bounds(size) else { return Ok(dims::UNKNOWN) };
        let span = end - begin;
        if span == 0 || (span < 0) != (self.stride < 0) {
            return Ok(0);
        }
        Ok(span / self.stride + i64::from(span % self.stride != 0))
    }
}

/// The origin of each dimension of the result.
enum Source {
    Input(usize),
    New,
}

/// NumPy's slicing, from vectors of begins, ends and strides and five masks.
pub(crate) fn strided_slice(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    let mut spec = dims::with_rank(&c.input(1), 1)?;
    for i in 2..4 {
        spec = spec.merge(&dims::with_rank(&c.input(i), 1)?)?;
    }
    let (Some(input_sizes), Some(strides)) = (input.dims(), common::ints(c, 3)?) else { return Ok(()) };
    let (begin, end) = (common::ints(c, 1)?, common::ints(c, 2)?);
    let lists_agree = begin.as_ref().is_none_or(|v| v.len() == strides.len()) && end.as_ref().is_none_or(|v| v.len() == strides.len());
    if !lists_agree || strides.len() >= 32 {
        bail!(
            InvalidArgument,
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {}, {}, and {} instead.",
            c.input(1),
            c.input(2),
            c.input(3)
        );
    }
    let (sources, intervals) = intervals(c, input_sizes.len(), begin.as_deref(), end.as_deref(), &strides)?;
    let mut lengths = Vec::with_capacity(intervals.len());
    for (axis, (interval, &size)) in intervals.iter().zip(input_sizes).enumerate() {
        lengths.push(interval.len(axis, size)?);
    }
    let sizes: PartialShape = sources
        .iter()
        .filter_map(|source| match source {
            Source::New => Some(1),
            Source::Input(axis) if intervals[*axis].shrink => None,
            Source::Input(axis) => Some(lengths[*axis]),
        })
        .collect();
    c.set_output(0, sizes);
    if let ([interval], [Source::Input(_)], Some(from)) = (intervals.as_slice(), sources.as_slice(), value::sizes(c, 0)) {
        let part = take(&from, interval);
        set_part(c, part);
    }
    Ok(())
}

/// The elements of a vector that an interval takes.
fn take(from: &[i64], interval: &Interval) -> Option<Vec<i64>> {
    let size = from.len() as i64;
    if interval.shrink {
        let begin = interval.begin?;
        return from.get(usize::try_from(if begin < 0 { begin.saturating_add(size) } else { begin }).ok()?).map(|&v| vec![v]);
    }
    let (mut at, end) = interval.bounds(size)?;
    let mut taken = Vec::new();
    while if interval.stride > 0 { at < end } else { at > end } {
        taken.push(*from.get(usize::try_from(at).ok()?)?);
        at = at.checked_add(interval.stride)?;
    }
    Some(taken)
}

/// The specification's entries, spread over the input's dimensions.
fn intervals(
    c: &Context<'_>,
    rank: usize,
    begin: Option<&[i64]>,
    end: Option<&[i64]>,
    strides: &[i64],
) -> Result<(Vec<Source>, Vec<Interval>)> {
    let mask = |name: &str| c.attrs().get::<i64>(name);
    let masks = Masks {
        begin: mask("begin_mask")?,
        end: mask("end_mask")?,
        ellipsis: mask("ellipsis_mask")?,
        new_axis: mask("new_axis_mask")?,
        shrink_axis: mask("shrink_axis_mask")?,
    };
    let bit = |mask: i64, i: usize| mask >> i & 1 == 1;
    let count = strides.len();
    let ellipses = (0..count).filter(|&i| bit(masks.ellipsis, i)).count();
    if ellipses > 1 {
        bail!(InvalidArgument, "Multiple ellipses in slice spec not allowed");
    }
    let (mut sources, mut intervals) = (Vec::new(), Vec::new());
    let take_all_until = |intervals: &mut Vec<Interval>, sources: &mut Vec<Source>, until: usize| {
        while intervals.len() < until.min(rank) {
            sources.push(Source::Input(intervals.len()));
            intervals.push(Interval::ALL);
        }
    };
    for i in 0..count {
        if bit(masks.ellipsis, i) {
            // As many dimensions as the entries after it leave over; new axes among those take none.
            let after = (i + 1..count).filter(|&j| !bit(masks.new_axis, j)).count();
            take_all_until(&mut intervals, &mut sources, rank.saturating_sub(after));
        } else if bit(masks.new_axis, i) {
            sources.push(Source::New);
        } else {
            let axis = intervals.len();
            if rank == 0 {
                bail!(InvalidArgument, "Attempting to slice scalar input.");
            }
            if axis == rank {
                bail!(InvalidArgument, "Index out of range using input dim {axis}; input has only {rank} dims");
            }
            if strides[i] == 0 {
                bail!(InvalidArgument, "strides[{i}] must be non-zero");
            }
            sources.push(Source::Input(axis));
            intervals.push(Interval {
                begin: begin.map(|v| v[i]),
                end: end.map(|v| v[i]),
                stride: strides[i],
                begin_masked: bit(masks.begin, i),
                end_masked: bit(masks.end, i),
                shrink: bit(masks.shrink_axis, i),
            });
        }
    }
    if ellipses == 0 {
        take_all_until(&mut intervals, &mut sources, rank);
    }
    Ok((sources, intervals))
}
