//! Positions of broadcast elements.

use flowmill_tensor::{Result, Shape, SmallVec, bail};

/// The most dimensions of a kernel's loop. Dimensions that can be merged count once.
pub(crate) const MAX_RANK: usize = 8;

/// The dimensions of a loop over an output's elements, and the strides of the operands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    dims: SmallVec<[usize; 4]>,
    /// The strides in elements for each operand.
    strides: SmallVec<[SmallVec<[usize; 4]>; 4]>,
}

impl Layout {
    /// Returns the layout of operands, given by their shapes and strides, that are broadcast to `output`.
    pub(crate) fn broadcast<'a>(output: &Shape, operands: impl IntoIterator<Item = (&'a Shape, &'a [usize])>) -> Layout {
        let strides = operands.into_iter().map(|(shape, strides)| broadcast_strides(shape, strides, output)).collect();
        Layout::new(output.dims(), strides)
    }

    /// Merges dimensions that all operands walk as one, and leaves out dimensions of size 1.
    pub(crate) fn new(dims: &[usize], strides: SmallVec<[SmallVec<[usize; 4]>; 4]>) -> Layout {
        let mut merged = Layout { dims: SmallVec::new(), strides: strides.iter().map(|_| SmallVec::new()).collect() };
        for (i, &dim) in dims.iter().enumerate().filter(|&(_, &dim)| dim != 1) {
            let follows = |(own, all): (&SmallVec<[usize; 4]>, &SmallVec<[usize; 4]>)| own.last() == Some(&(all[i] * dim));
            match merged.dims.last_mut() {
                Some(last) if merged.strides.iter().zip(&strides).all(follows) => {
                    *last *= dim;
                    merged.strides.iter_mut().zip(&strides).for_each(|(own, all)| {
                        if let Some(last) = own.last_mut() {
                            *last = all[i];
                        }
                    });
                }
                _ => {
                    merged.dims.push(dim);
                    merged.strides.iter_mut().zip(&strides).for_each(|(own, all)| own.push(all[i]));
                }
            }
        }
        merged
    }

    /// Returns the step of each operand if the layout is one loop in which each operand advances by one element or not at all.
    pub(crate) fn steps(&self) -> Option<SmallVec<[u32; 4]>> {
        if self.dims.len() > 1 {
            return None;
        }
        self.strides.iter().map(|strides| strides.first().map_or(Some(0), |&n| u32::try_from(n).ok().filter(|&n| n <= 1))).collect()
    }

    /// Returns the words of the structure `Layout` of kernels: the rank, the dimensions, and each operand's strides.
    ///
    /// # Errors
    /// Returns `Unimplemented` for more than eight dimensions, and for more elements than 32 bits count.
    pub(crate) fn words(&self) -> Result<SmallVec<[u32; 32]>> {
        if self.dims.len() > MAX_RANK {
            bail!(Unimplemented, "GPU kernels broadcast tensors of at most {MAX_RANK} dimensions");
        }
        let count = self.dims.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim));
        if count.is_none_or(|n| n > u32::MAX as usize) {
            bail!(Unimplemented, "GPU kernels broadcast to at most {} elements", u32::MAX);
        }
        let mut words = SmallVec::from_elem(self.dims.len() as u32, 1);
        let mut add = |values: &[usize]| words.extend((0..MAX_RANK).map(|i| values.get(i).map_or(0, |&n| n as u32)));
        add(&self.dims);
        self.strides.iter().for_each(|strides| add(strides));
        Ok(words)
    }
}

/// Returns the strides of a tensor's elements in a loop over the elements of `output`, to which it is broadcast.
pub(crate) fn broadcast_strides(shape: &Shape, strides: &[usize], output: &Shape) -> SmallVec<[usize; 4]> {
    let missing = output.rank() - shape.rank();
    (0..output.rank()).map(|i| if i < missing || shape.dims()[i - missing] == 1 { 0 } else { strides[i - missing] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(output: &[usize], operands: &[&[usize]]) -> Layout {
        let operands: Vec<_> = operands.iter().map(|dims| (Shape::new(dims), Shape::new(dims).strides())).collect();
        Layout::broadcast(&Shape::new(output), operands.iter().map(|(shape, strides)| (shape, &strides[..])))
    }

    #[test]
    fn equal_shapes_and_scalars_are_one_loop() {
        let steps = layout(&[2, 3, 4], &[&[2, 3, 4], &[], &[1, 1, 1]]).steps();
        assert_eq!(steps.as_deref(), Some(&[1, 0, 0][..]));
        assert_eq!(layout(&[], &[&[], &[]]).steps().as_deref(), Some(&[0, 0][..]));
    }

    #[test]
    fn dimensions_merge_where_all_operands_allow_it() {
        let bias = layout(&[2, 3, 4, 5], &[&[2, 3, 4, 5], &[5]]);
        assert_eq!((bias.dims.as_slice(), bias.strides[1].as_slice(), bias.steps()), (&[24, 5][..], &[0, 1][..], None));
        let planes = layout(&[2, 3, 4, 5], &[&[2, 3, 4, 5], &[3, 1, 1]]);
        assert_eq!((planes.dims.as_slice(), planes.strides[1].as_slice()), (&[2, 3, 20][..], &[0, 1, 0][..]));
    }
}
