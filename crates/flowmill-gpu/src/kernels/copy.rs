//! Copies of elements between strided places, on which transposes, slices, concatenations and repetitions are built.

use super::types::WORDS;
use crate::backend::{Address, Grid};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use crate::elementwise::MAX_RANK;
use flowmill_kernels::array::nd::{Dims, Strides, row_major};
use flowmill_tensor::{DType, Result, bail, error};
use smallvec::SmallVec;

/// The number of sizes of elements, from 1 byte on, each twice the one before.
const SIZES: usize = WORDS.len();

/// Both dimensions of an exchange through shared memory have at least this many elements.
const LEAST_EXCHANGED: usize = 8;

/// One launch copies at most this many elements, and its strides reach at most this far.
const MOST_ELEMENTS: usize = 1 << 30;

/// The kernels that copy the elements of one type.
pub(super) struct Copier {
    size: usize,
    strided: [CompiledKernel; SIZES],
    exchanged: [CompiledKernel; SIZES],
}

/// A place in memory: the address of its first element, and the distance to the next element in each dimension, in elements.
pub(super) type Place<'a> = (Address, &'a [isize]);

/// Dimensions of a copy, without those of one element, and merged where both sides walk them as one.
#[derive(Clone, Debug, PartialEq)]
struct Walk {
    dims: Dims,
    to: Strides,
    from: Strides,
}

impl Walk {
    fn new(dims: &[usize], to: &[isize], from: &[isize]) -> Walk {
        let mut walk = Walk { dims: Dims::new(), to: Strides::new(), from: Strides::new() };
        for ((&dim, &to), &from) in dims.iter().zip(to).zip(from).filter(|((dim, _), _)| **dim != 1) {
            match (walk.dims.last_mut(), walk.to.last_mut(), walk.from.last_mut()) {
                (Some(last), Some(last_to), Some(last_from)) if *last_to == to * dim as isize && *last_from == from * dim as isize => {
                    (*last, *last_to, *last_from) = (*last * dim, to, from);
                }
                _ => {
                    walk.dims.push(dim);
                    walk.to.push(to);
                    walk.from.push(from);
                }
            }
        }
        walk
    }

    fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns the greatest distance between two elements of one side.
    fn reach(&self) -> usize {
        let reach = |strides: &Strides| self.dims.iter().zip(strides).map(|(dim, stride)| (dim - 1) * stride.unsigned_abs()).sum::<usize>();
        reach(&self.to).max(reach(&self.from))
    }

    /// Returns the greatest number of adjacent elements that can be copied as one, where all distances are multiples of that number.
    fn run(&self, (to, from): (Address, Address), size: usize) -> usize {
        let (Some((&dim, _)), Some((&1, outer_to)), Some((&1, outer_from))) =
            (self.dims.split_last(), self.to.split_last(), self.from.split_last())
        else {
            return 1;
        };
        let fits = |run: usize| {
            dim.is_multiple_of(run)
                && [to, from].iter().all(|address| address.0.is_multiple_of((run * size) as u64))
                && outer_to.iter().chain(outer_from).all(|stride| stride.unsigned_abs().is_multiple_of(run))
        };
        let mut run = 1;
        while run * size < 1 << (SIZES - 1) && fits(run * 2) {
            run *= 2;
        }
        run
    }

    fn widen(&mut self, run: usize) {
        let Some(last) = self.dims.len().checked_sub(1) else { return };
        self.dims[last] /= run;
        self.to[..last].iter_mut().chain(&mut self.from[..last]).for_each(|stride| *stride /= run as isize);
    }

    fn without(&self, axes: [usize; 2]) -> Walk {
        let kept = |i: &usize| !axes.contains(i);
        let all = 0..self.dims.len();
        Walk {
            dims: all.clone().filter(kept).map(|i| self.dims[i]).collect(),
            to: all.clone().filter(kept).map(|i| self.to[i]).collect(),
            from: all.filter(kept).map(|i| self.from[i]).collect(),
        }
    }

    /// Returns the words of the structure `Walk` of kernels.
    fn words(&self) -> Result<SmallVec<[u32; 32]>> {
        if self.dims.len() > MAX_RANK {
            bail!(Unimplemented, "GPU kernels copy elements of at most {MAX_RANK} dimensions");
        }
        let mut words = SmallVec::from_elem(self.dims.len() as u32, 1);
        words.extend((0..MAX_RANK).map(|i| self.dims.get(i).map_or(1, |&dim| dim as u32)));
        for strides in [&self.to, &self.from] {
            words.extend((0..MAX_RANK).map(|i| strides.get(i).map_or(0, |&stride| stride as i32 as u32)));
        }
        Ok(words)
    }
}

impl Copier {
    /// Returns the kernels for elements of a type, of which only the size matters.
    ///
    /// # Errors
    /// Returns `Internal` for a type whose elements have no size of their own.
    pub(super) fn new(dtype: DType) -> Result<Copier> {
        let size = dtype.size().filter(|size| size.is_power_of_two() && *size < 1 << SIZES);
        let size = size.ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {dtype}"))?;
        let programs = |name| std::array::from_fn(|i| CompiledKernel::new(include_str!("copy.cu"), name, &[("T", WORDS[i])]));
        Ok(Copier { size, strided: programs("copy_strided"), exchanged: programs("copy_exchanged") })
    }

    /// Returns the size of an element in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Enqueues a copy of the elements at all indices below `dims`.
    ///
    /// # Errors
    /// Returns the driver's errors, and `Unimplemented` for too many dimensions.
    pub(super) fn copy(&self, device: &GpuDevice, dims: &[usize], to: Place<'_>, from: Place<'_>) -> Result<()> {
        if dims.contains(&0) {
            return Ok(());
        }
        let walk = Walk::new(dims, to.1, from.1);
        let addresses = (to.0, from.0);
        match (&walk.dims[..], &walk.to[..], &walk.from[..]) {
            ([], ..) => device.gpu().copy(to.0, from.0, self.size),
            ([n], [1], [1]) => device.gpu().copy(to.0, from.0, n * self.size),
            _ => self.enqueue(device, walk, addresses),
        }
    }

    /// Enqueues a copy of a tensor with the dimensions `dims`, in which dimension `i` is number `permutation[i]` of the source's.
    ///
    /// # Errors
    /// Returns the errors of [`Copier::copy`].
    pub(super) fn transpose(&self, device: &GpuDevice, dims: &[usize], permutation: &[usize], to: Address, from: Address) -> Result<()> {
        let own = row_major(dims);
        let shape: Dims = permutation.iter().map(|&axis| dims[axis]).collect();
        let strides: Strides = permutation.iter().map(|&axis| own[axis]).collect();
        self.copy(device, &shape, (to, &row_major(&shape)), (from, &strides))
    }

    fn enqueue(&self, device: &GpuDevice, mut walk: Walk, (to, from): (Address, Address)) -> Result<()> {
        if walk.count() > MOST_ELEMENTS || walk.reach() > MOST_ELEMENTS {
            return self.enqueue_parts(device, &walk, (to, from));
        }
        let last = walk.dims.len() - 1;
        // The dimension that is adjacent in the source.
        let row = walk.from.iter().position(|&stride| stride == 1);
        match row {
            Some(row) if row != last && walk.to[last] == 1 && walk.dims[row].min(walk.dims[last]) >= LEAST_EXCHANGED => {
                return self.exchange(device, &walk, row, (to, from));
            }
            _ => {}
        }
        let run = walk.run((to, from), self.size);
        walk.widen(run);
        let n = walk.count();
        let words = walk.words()?;
        let arguments = [Argument::Address(to), Argument::Address(from), Argument::U32(word(n)?), Argument::Words(&words)];
        self.strided[(run * self.size).ilog2() as usize].launch(device, device.linear_grid(n), &arguments)
    }

    /// Enqueues the halves of a copy along the dimension that reaches farthest.
    fn enqueue_parts(&self, device: &GpuDevice, walk: &Walk, (to, from): (Address, Address)) -> Result<()> {
        let distance = |i: usize| walk.dims[i] * walk.to[i].unsigned_abs().max(walk.from[i].unsigned_abs()).max(1);
        let Some(axis) = (0..walk.dims.len()).filter(|&i| walk.dims[i] > 1).max_by_key(|&i| distance(i)) else {
            bail!(Internal, "a copy of one element reaches too far")
        };
        let half = walk.dims[axis] / 2;
        let (mut first, mut second) = (walk.clone(), walk.clone());
        (first.dims[axis], second.dims[axis]) = (half, walk.dims[axis] - half);
        let moved = |address: Address, stride: isize| Address(address.0.wrapping_add_signed((stride * (half * self.size) as isize) as i64));
        self.enqueue(device, first, (to, from))?;
        self.enqueue(device, second, (moved(to, walk.to[axis]), moved(from, walk.from[axis])))
    }

    fn exchange(&self, device: &GpuDevice, walk: &Walk, row: usize, (to, from): (Address, Address)) -> Result<()> {
        let column = walk.dims.len() - 1;
        let tile = if self.size <= 2 { 64 } else { 32 };
        let (rows, columns) = (walk.dims[row], walk.dims[column]);
        let (row_tiles, column_tiles) = (rows.div_ceil(tile), columns.div_ceil(tile));
        let outer = walk.without([row, column]);
        let blocks = word(row_tiles * column_tiles * outer.count())?;
        let (to_row, from_column) = (walk.to[row] as i32 as u32, walk.from[column] as i32 as u32);
        let mut words: SmallVec<[u32; 32]> =
            SmallVec::from_slice(&[word(rows)?, word(columns)?, to_row, from_column, word(row_tiles)?, word(column_tiles)?]);
        words.extend(outer.words()?);
        let arguments = [Argument::Address(to), Argument::Address(from), Argument::Words(&words)];
        let grid = Grid { blocks: [blocks, 1, 1], threads: [32, 8, 1] };
        self.exchanged[self.size.ilog2() as usize].launch(device, grid, &arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_merge_if_both_sides_walk_them_as_one() {
        let walk = Walk::new(&[2, 1, 3, 4], &[12, 7, 4, 1], &[24, 9, 4, 1]);
        assert_eq!(walk, Walk { dims: Dims::from_slice(&[2, 12]), to: Strides::from_slice(&[12, 1]), from: Strides::from_slice(&[24, 1]) });
    }

    #[test]
    fn elements_are_copied_in_wide_runs_only_if_all_distances_allow_it() {
        let walk = Walk::new(&[5, 8], &[8, 1], &[20, 1]);
        assert_eq!(walk.run((Address(256), Address(512)), 4), 4);
        assert_eq!(walk.run((Address(256), Address(520)), 4), 2, "the address");
        assert_eq!(Walk::new(&[5, 8], &[8, 1], &[21, 1]).run((Address(0), Address(0)), 4), 1, "the stride");
        assert_eq!(Walk::new(&[5, 6], &[8, 1], &[20, 1]).run((Address(0), Address(0)), 1), 2, "the size");
    }
}
