//! Blocks of memory within regions: best fit, split, and coalesced when they are freed.

use crate::backend::Address;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The alignment of all blocks in bytes, which CUDA's own allocator has too.
pub(super) const ALIGNMENT: usize = 256;

#[derive(Clone, Debug)]
struct BlockState {
    bytes: usize,
    is_free: bool,
    /// The name of the graph node that allocated the block, if it is known.
    holder: Option<Arc<str>>,
    /// True for the first block of a region, which is never merged with the block before it.
    starts_region: bool,
}

/// The blocks of all regions.
///
/// Invariants: the blocks of a region cover it without gaps; no two neighbours in a region are both free; `free` lists exactly the free blocks.
#[derive(Default)]
pub(super) struct Blocks {
    by_address: BTreeMap<Address, BlockState>,
    free: BTreeSet<(usize, Address)>,
}

impl Blocks {
    /// Adds a region as one free block. Its size is a multiple of [`ALIGNMENT`].
    pub(super) fn add_region(&mut self, start: Address, bytes: usize) {
        self.by_address.insert(start, BlockState { bytes, is_free: true, holder: None, starts_region: true });
        self.free.insert((bytes, start));
    }

    /// Takes the smallest free block with room for `bytes`, which is a multiple of [`ALIGNMENT`], and frees the rest of it.
    pub(super) fn take(&mut self, bytes: usize, holder: Option<&Arc<str>>) -> Option<Address> {
        let &(found, start) = self.free.range((bytes, Address(0))..).next()?;
        self.free.remove(&(found, start));
        let block = self.by_address.get_mut(&start)?;
        (block.bytes, block.is_free, block.holder) = (bytes, false, holder.cloned());
        if found > bytes {
            let rest = start.offset(bytes);
            self.by_address.insert(rest, BlockState { bytes: found - bytes, is_free: true, holder: None, starts_region: false });
            self.free.insert((found - bytes, rest));
        }
        Some(start)
    }

    /// Frees a block that [`Blocks::take`] returned, and merges it with free neighbours. Returns its size.
    pub(super) fn give_back(&mut self, start: Address) -> usize {
        let Some(mut block) = self.by_address.get(&start).filter(|block| !block.is_free).cloned() else { return 0 };
        let (freed, mut start) = (block.bytes, start);
        let next = start.offset(block.bytes);
        if let Some(after) = self.by_address.get(&next).filter(|after| after.is_free && !after.starts_region).map(|after| after.bytes) {
            self.by_address.remove(&next);
            self.free.remove(&(after, next));
            block.bytes += after;
        }
        if !block.starts_region
            && let Some((&previous, before)) = self.by_address.range(..start).next_back()
            && before.is_free
        {
            let before = before.clone();
            self.by_address.remove(&start);
            self.free.remove(&(before.bytes, previous));
            block = BlockState { bytes: before.bytes + block.bytes, ..before };
            start = previous;
        }
        self.free.insert((block.bytes, start));
        self.by_address.insert(start, BlockState { is_free: true, holder: None, ..block });
        freed
    }

    /// Returns the size of the largest free block.
    pub(super) fn largest_free(&self) -> usize {
        self.free.last().map_or(0, |&(bytes, _)| bytes)
    }

    /// Returns the number of free blocks.
    pub(super) fn num_free(&self) -> usize {
        self.free.len()
    }

    /// Returns the bytes in use and the number of blocks of each holder, the `n` largest first. Blocks without a known holder are one entry, which is
    /// `None`.
    pub(super) fn largest_holders(&self, n: usize) -> Vec<(Option<Arc<str>>, usize, usize)> {
        let mut holders: BTreeMap<&Option<Arc<str>>, (usize, usize)> = BTreeMap::new();
        for block in self.by_address.values().filter(|block| !block.is_free) {
            let (bytes, count) = holders.entry(&block.holder).or_default();
            (*bytes, *count) = (*bytes + block.bytes, *count + 1);
        }
        let mut all: Vec<_> = holders.into_iter().map(|(holder, (bytes, count))| (holder.clone(), bytes, count)).collect();
        all.sort_by_key(|(_, bytes, _)| std::cmp::Reverse(*bytes));
        all.truncate(n);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn check(blocks: &Blocks, regions: &[(Address, usize)]) {
        for &(start, bytes) in regions {
            let (mut at, mut was_free) = (start, false);
            while at < start.offset(bytes) {
                let block = &blocks.by_address[&at];
                assert!(!(block.is_free && was_free), "two free neighbours");
                assert_eq!(blocks.free.contains(&(block.bytes, at)), block.is_free);
                assert_eq!(block.starts_region, at == start);
                (at, was_free) = (at.offset(block.bytes), block.is_free);
            }
            assert_eq!(at, start.offset(bytes), "the blocks cover the region");
        }
        assert_eq!(blocks.free.len(), blocks.by_address.values().filter(|block| block.is_free).count());
    }

    #[test]
    fn blocks_never_overlap_and_merge_when_they_are_freed() {
        // The second region follows the first without a gap.
        let regions = [(Address(0x1000), 1 << 16), (Address(0x1000 + (1 << 16)), 1 << 15), (Address(0x900_0000), 1 << 14)];
        let mut blocks = Blocks::default();
        regions.iter().for_each(|&(start, bytes)| blocks.add_region(start, bytes));
        let mut taken: HashMap<Address, usize> = HashMap::new();
        let mut random = 0x2545_f491_u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = (random >> 33) as usize;
            if value.is_multiple_of(3) {
                if let Some(&start) = taken.keys().min_by_key(|start| (start.0 ^ random) % 1009) {
                    assert_eq!(blocks.give_back(start), taken.remove(&start).unwrap_or(0));
                }
            } else if let Some(start) = blocks.take(ALIGNMENT * (1 + value % 17), None) {
                let bytes = ALIGNMENT * (1 + value % 17);
                assert!(taken.iter().all(|(&other, &size)| start.offset(bytes) <= other || other.offset(size) <= start), "blocks overlap");
                taken.insert(start, bytes);
            }
            check(&blocks, &regions);
        }
        for &start in taken.keys() {
            blocks.give_back(start);
        }
        check(&blocks, &regions);
        assert_eq!(
            blocks.free.iter().map(|&(bytes, _)| bytes).collect::<Vec<_>>(),
            [1 << 14, 1 << 15, 1 << 16],
            "each region is whole again"
        );
        assert_eq!(blocks.give_back(Address(0x1000)), 0, "a free block is not freed twice");
    }

    #[test]
    fn the_smallest_block_that_fits_is_taken() {
        let mut blocks = Blocks::default();
        blocks.add_region(Address(0), 16 * ALIGNMENT);
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let sizes = [(3, &a), (1, &b), (2, &a), (1, &b), (4, &a)];
        let taken: Vec<Address> = sizes.iter().filter_map(|(n, holder)| blocks.take(n * ALIGNMENT, Some(holder))).collect();
        blocks.give_back(taken[0]);
        blocks.give_back(taken[2]);
        assert_eq!(blocks.take(2 * ALIGNMENT, None), Some(taken[2]), "two of two rather than two of three");
        assert_eq!((blocks.largest_free(), blocks.num_free()), (5 * ALIGNMENT, 2));
        let holders = [(Some(a), 4 * ALIGNMENT, 1), (None, 2 * ALIGNMENT, 1), (Some(b), 2 * ALIGNMENT, 2)];
        assert_eq!(blocks.largest_holders(3), holders);
        assert_eq!(blocks.largest_holders(1), holders[..1]);
    }
}
