//! Updates of slices that are selected by index, each slice's in the order of the indices.

use crate::backend::Grid;
use crate::compiled_kernel::word;
use crate::elementwise::MAX_RANK;
use flowmill_kernels::array::args::product;
use flowmill_tensor::{Result, Shape, SmallVec, bail};

/// The arguments of a kernel that updates slices: see `ordered.cu`.
pub(super) struct Slices {
    /// The words of the structure `Slices`.
    pub(super) words: SmallVec<[u32; 20]>,
    updates: u32,
}

impl Slices {
    /// Describes `updates` updates of slices of a tensor, which its first `depth` dimensions index. With `is_scalar`, all updates are one number.
    ///
    /// # Errors
    /// Returns `Unimplemented` for more dimensions or slices than kernels count.
    pub(super) fn new(shape: &Shape, depth: usize, updates: usize, is_scalar: bool) -> Result<Slices> {
        if depth > MAX_RANK {
            bail!(Unimplemented, "GPU kernels index at most {MAX_RANK} dimensions");
        }
        let (dims, inner) = shape.split_at(depth);
        word(product(dims))?;
        let strides = Shape::new(dims).strides();
        let mut words: SmallVec<[u32; 20]> =
            SmallVec::from_slice(&[word(updates)?, word(depth)?, word(product(inner))?, u32::from(is_scalar)]);
        words.extend((0..MAX_RANK).map(|i| dims.get(i).map_or(0, |&dim| dim as u32)));
        words.extend((0..MAX_RANK).map(|i| strides.get(i).map_or(0, |&stride| stride as u32)));
        Ok(Slices { words, updates: updates as u32 })
    }

    /// Returns the grid: a block for each update.
    pub(super) fn grid(&self) -> Grid {
        Grid { blocks: [self.updates, 1, 1], threads: [256, 1, 1] }
    }
}
