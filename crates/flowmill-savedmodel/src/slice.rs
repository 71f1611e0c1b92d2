use flowmill_proto::{TensorSliceProto, tensor_slice_proto};
use flowmill_tensor::{Error, Result, Shape, bail};

/// A box-shaped part of a tensor: for each dimension a range, or all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSlice(Vec<Option<Extent>>);

/// A range of indices of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: i64,
    pub(crate) len: i64,
}

impl TensorSlice {
    /// Returns all of a tensor.
    pub fn full(rank: usize) -> TensorSlice {
        TensorSlice(vec![None; rank])
    }

    /// For each dimension `Some((start, len))`, or `None` for all of it.
    ///
    /// # Errors
    /// `InvalidArgument` if a start is negative, a length is not positive, or the end passes 63 bits.
    pub fn new(extents: impl IntoIterator<Item = Option<(i64, i64)>>) -> Result<TensorSlice> {
        let extent = |extent: Option<(i64, i64)>| match extent {
            Some((start, len)) if start < 0 || len < 1 || start.checked_add(len).is_none() => Err(Error::invalid_argument(format!(
                "Expected a non-negative start and positive length but got start = {start}, length = {len}"
            ))),
            extent => Ok(extent.map(|(start, len)| Extent { start, len })),
        };
        Ok(TensorSlice(extents.into_iter().map(extent).collect::<Result<_>>()?))
    }

    /// Reads an element of the `shape_and_slices` input of the ops that save and restore: empty for a whole tensor
    /// (`None`), otherwise the whole tensor's sizes and a slice, as in `"4 10 0,2:-"`.
    ///
    /// # Errors
    /// `InvalidArgument` if the text is not of this form or the slice is not within the sizes.
    pub fn parse_spec(spec: &str) -> Result<Option<(Shape, TensorSlice)>> {
        if spec.is_empty() {
            return Ok(None);
        }
        let bad = || {
            Error::invalid_argument(format!(
                "Could not parse shape and slice specification '{spec}': expected sizes and a slice, as in '4 10 0,2:-'"
            ))
        };
        let mut words: Vec<&str> = spec.split(' ').collect();
        let slice = words.pop().ok_or_else(bad)?;
        let sizes = words.iter().map(|size| size.parse()).collect::<Result<Vec<i64>, _>>().map_err(|_| bad())?;
        let extents = slice.split(':').filter(|text| !text.is_empty()).map(|text| match text {
            "-" => Ok(None),
            _ => {
                let (start, len) = text.split_once(',').ok_or_else(bad)?;
                Ok(Some((start.parse().map_err(|_| bad())?, len.parse().map_err(|_| bad())?)))
            }
        });
        let slice = TensorSlice::new(extents.collect::<Result<Vec<_>>>()?)?;
        let shape = Shape::from_i64(&sizes)?;
        slice.bounds(&shape)?;
        Ok(Some((shape, slice)))
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Returns the shape of this part of a tensor of shape `shape`.
    ///
    /// # Errors
    /// `InvalidArgument` if the slice is not within the shape.
    pub fn shape(&self, shape: &Shape) -> Result<Shape> {
        Ok(self.bounds(shape)?.iter().map(|(_, len)| *len).collect())
    }

    pub(crate) fn extents(&self) -> impl Iterator<Item = Option<Extent>> {
        self.0.iter().copied()
    }

    /// Start and length in each dimension of a tensor of shape `shape`.
    pub(crate) fn bounds(&self, shape: &Shape) -> Result<Vec<(usize, usize)>> {
        if self.rank() != shape.rank() {
            bail!(InvalidArgument, "a slice of rank {} of a tensor of shape {shape}", self.rank());
        }
        let bounds = |(extent, &size): (&Option<Extent>, &usize)| match extent {
            None => Ok((0, size)),
            Some(Extent { start, len }) => {
                let (start, len) = (*start as usize, *len as usize);
                if start + len > size {
                    bail!(InvalidArgument, "Extent in dimension of size {size} out of bounds: start = {start}, length = {len}");
                }
                Ok((start, len))
            }
        };
        self.0.iter().zip(shape.dims()).map(bounds).collect()
    }

    pub(crate) fn from_proto(proto: &TensorSliceProto) -> Result<TensorSlice> {
        TensorSlice::new(proto.extent.iter().map(|extent| {
            let tensor_slice_proto::extent::HasLengthHack::Length(len) = extent.has_length_hack.as_ref()?;
            Some((extent.start, *len))
        }))
    }

    pub(crate) fn to_proto(&self) -> TensorSliceProto {
        let extent = |extent: &Option<Extent>| match *extent {
            None => tensor_slice_proto::Extent::default(),
            Some(Extent { start, len }) => tensor_slice_proto::Extent {
                start,
                has_length_hack: Some(tensor_slice_proto::extent::HasLengthHack::Length(len)),
                ..Default::default()
            },
        };
        TensorSliceProto { extent: self.0.iter().map(extent).collect(), ..Default::default() }
    }
}

/// Calls `visit(index in a, index in b, count)` for each run of consecutive elements that two boxes of one
/// tensor share. A box is given by start and length in each dimension; indices are row-major within the box.
pub(crate) fn for_each_shared_run(a: &[(usize, usize)], b: &[(usize, usize)], mut visit: impl FnMut(usize, usize, usize)) {
    let Some(shared) = intersection(a, b) else { return };
    let Some((&(inner_start, run), outer)) = shared.split_last() else {
        return visit(0, 0, 1);
    };
    let mut position: Vec<usize> = outer.iter().map(|(start, _)| *start).collect();
    position.push(inner_start);
    let index = |bounds: &[(usize, usize)], position: &[usize]| {
        bounds.iter().zip(position).fold(0, |index, ((start, len), at)| index * len + (at - start))
    };
    loop {
        visit(index(a, &position), index(b, &position), run);
        let Some(dim) = (0..outer.len()).rev().find(|&dim| position[dim] + 1 < outer[dim].0 + outer[dim].1) else {
            return;
        };
        position[dim] += 1;
        for later in dim + 1..outer.len() {
            position[later] = outer[later].0;
        }
    }
}

/// Returns the number of elements that two boxes share.
pub(crate) fn num_shared(a: &[(usize, usize)], b: &[(usize, usize)]) -> usize {
    intersection(a, b).map_or(0, |shared| shared.iter().map(|(_, len)| len).product())
}

/// Returns the box that two boxes share, if it has an element.
fn intersection(a: &[(usize, usize)], b: &[(usize, usize)]) -> Option<Vec<(usize, usize)>> {
    let shared = |(a, b): (&(usize, usize), &(usize, usize))| {
        let start = a.0.max(b.0);
        let end = (a.0 + a.1).min(b.0 + b.1);
        (start < end).then(|| (start, end - start))
    };
    a.iter().zip(b).map(shared).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn specifications_of_the_saving_ops_parse() {
        let (shape, slice) = TensorSlice::parse_spec("4 10 1,2:-").unwrap().unwrap();
        assert_eq!(shape.dims(), [4, 10]);
        assert_eq!(slice, TensorSlice::new([Some((1, 2)), None]).unwrap());
        assert_eq!(slice.shape(&shape).unwrap().dims(), [2, 10]);
        assert_eq!(TensorSlice::from_proto(&slice.to_proto()).unwrap(), slice);
        assert_eq!(TensorSlice::parse_spec("").unwrap(), None);
        for bad in ["4", "x 0,1", "4 0,5", "4 0,0", "4 -1,2", "4 1", "4 4 0,1", "9223372036854775807 1,9223372036854775807"] {
            assert!(TensorSlice::parse_spec(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shared_runs_are_rows() {
        let mut runs = Vec::new();
        let (a, b) = ([(0, 3), (0, 4)], [(1, 5), (2, 7)]);
        for_each_shared_run(&a, &b, |a, b, len| runs.push((a, b, len)));
        assert_eq!(runs, [(6, 0, 2), (10, 7, 2)]);
        assert_eq!(num_shared(&a, &b), 4);
        for_each_shared_run(&[(0, 2)], &[(2, 2)], |_, _, _| runs.clear());
        assert_eq!(runs.len(), 2);
    }
}
