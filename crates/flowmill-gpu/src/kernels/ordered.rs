//! Updates of slices that are selected by index, each slice's in the order of the indices.

use crate::backend::{Address, Grid};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use crate::elementwise::MAX_RANK;
use crate::text::element_name;
use flowmill_kernels::array::args::product;
use flowmill_runtime::Device;
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail, error};

/// The number of updates from which on they are sorted first. The blocks of fewer updates look for those of the same slice among all.
const SORTED_UPDATES: usize = 2048;
/// The number of keys that a block sorts in shared memory: `TILE` in `sort.cu`.
const TILE: usize = 1024;

/// The arguments of a kernel that updates slices: see `ordered.cu`.
pub(super) struct Slices {
    /// The words of the structure `Slices`.
    pub(super) words: SmallVec<[u32; 20]>,
    updates: u32,
}

/// The kernels that sort updates by slice.
pub(super) struct Sorter {
    make_keys: CompiledKernel,
    sort_tiles: CompiledKernel,
    sort_pairs: CompiledKernel,
}

impl Sorter {
    /// Makes the kernels for indices of a type.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new(indices: DType) -> Result<Sorter> {
        let index = element_name(indices).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {indices}"))?;
        let kernel = |name| CompiledKernel::new(concat!(include_str!("ordered.cu"), include_str!("sort.cu")), name, &[("I", index)]);
        Ok(Sorter { make_keys: kernel("make_keys"), sort_tiles: kernel("sort_tiles"), sort_pairs: kernel("sort_pairs") })
    }

    /// Returns the sorted keys of updates, or `None` if there are so few that blocks find them without.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(super) fn sort(&self, device: &GpuDevice, slices: &Slices, indices: &Tensor) -> Result<Option<Tensor>> {
        let updates = slices.updates as usize;
        if updates < SORTED_UPDATES {
            return Ok(None);
        }
        let n = updates.next_power_of_two();
        let keys = device.allocate(DType::U64, &Shape::new(&[n]))?;
        let address = Argument::Address(device.address(&keys)?);
        let words = [address, Argument::U64(n as u64), Argument::Address(device.address(indices)?), Argument::Words(&slices.words)];
        self.make_keys.launch(device, device.linear_grid(n), &words)?;
        let tiles = Grid { blocks: [word(n / TILE)?, 1, 1], threads: [TILE as u32 / 2, 1, 1] };
        self.sort_tiles.launch(device, tiles, &[address, Argument::U64(0)])?;
        let mut size = 2 * TILE;
        while size <= n {
            let mut distance = size / 2;
            while distance >= TILE {
                let arguments = [n / 2, size, distance].map(|number| Argument::U64(number as u64));
                self.sort_pairs.launch(device, device.linear_grid(n / 2), &[address, arguments[0], arguments[1], arguments[2]])?;
                distance /= 2;
            }
            self.sort_tiles.launch(device, tiles, &[address, Argument::U64(size as u64)])?;
            size *= 2;
        }
        Ok(Some(keys))
    }
}

/// Returns the address of sorted keys as an argument, which is null without them.
///
/// # Errors
/// Returns `Internal` if the keys are on another device.
pub(super) fn sorted_argument(device: &GpuDevice, keys: Option<&Tensor>) -> Result<Argument<'static>> {
    Ok(Argument::Address(keys.map_or(Ok(Address(0)), |keys| device.address(keys))?))
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

    /// Describes `updates` updates of slices of `inner` elements, which two indices select: a slice's number is the sum of the indices, each times the
    /// second number of its dimension, whose first number is its size.
    ///
    /// # Errors
    /// Returns `Unimplemented` for more elements than kernels count.
    pub(super) fn with_strides(dims: [(usize, usize); 2], inner: usize, updates: usize) -> Result<Slices> {
        let mut words: SmallVec<[u32; 20]> = SmallVec::from_slice(&[word(updates)?, 2, word(inner)?, 0]);
        for at in 0..MAX_RANK {
            words.push(word(dims.get(at).map_or(0, |dim| dim.0))?);
        }
        words.extend((0..MAX_RANK).map(|at| dims.get(at).map_or(0, |dim| dim.1 as u32)));
        Ok(Slices { words, updates: updates as u32 })
    }

    /// Returns the grid: a block for each update.
    pub(super) fn grid(&self) -> Grid {
        Grid { blocks: [self.updates, 1, 1], threads: [256, 1, 1] }
    }
}
