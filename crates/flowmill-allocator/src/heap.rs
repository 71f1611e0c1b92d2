//! The bookkeeping of an address space: the granules of 4 KiB that are in use.
//!
//! A block is the first run of free granules that is long enough, so that blocks lie side by side from the start of the space on, and few huge pages
//! are used in part.

/// The unit of a block's size and address in bytes: a page of x86-64 and most Arm systems.
pub(crate) const GRANULE: usize = 4 << 10;
/// A huge page of x86-64 and of Arm with pages of 4 KiB, in bytes.
pub(crate) const HUGE_PAGE: usize = 2 << 20;
/// The size of the address space in bytes. Blocks for which it has no room come from `mimalloc`.
pub(crate) const SPACE: usize = 4 << 30;

const WORDS: usize = SPACE / GRANULE / 64;
const PAGES: usize = SPACE / HUGE_PAGE;
const WORDS_OF_PAGE: usize = WORDS / PAGES;
/// The free huge pages that are kept: a temporary of a step that is freed and allocated again then costs no page faults.
const KEPT_PAGES: usize = 8;

/// The granules of an address space that are in use, and the huge pages that have memory.
pub(crate) struct Heap {
    /// One bit per granule.
    used: [u64; WORDS],
    /// The pages that have been written to since the system last took their memory back.
    has_memory: [bool; PAGES],
    /// No word before this one has a free granule.
    first_free: usize,
}

/// A run of granules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The distance of its start from the start of the space, in bytes.
    pub(crate) offset: usize,
    /// True if all its bytes are zero.
    pub(crate) is_zero: bool,
}

impl Heap {
    pub(crate) const fn new() -> Heap {
        Heap { used: [0; WORDS], has_memory: [false; PAGES], first_free: 0 }
    }

    /// Takes a run of `size` bytes; `None` if no free run is long enough.
    pub(crate) fn take(&mut self, size: usize) -> Option<Run> {
        let count = size.div_ceil(GRANULE).max(1);
        let start = self.find(count)?;
        self.mark(start, count, true);
        while self.used.get(self.first_free) == Some(&u64::MAX) {
            self.first_free += 1;
        }
        let offset = start * GRANULE;
        let pages = &mut self.has_memory[offset / HUGE_PAGE..(offset + count * GRANULE).div_ceil(HUGE_PAGE)];
        let is_zero = pages.iter().all(|has_memory| !has_memory);
        pages.fill(true);
        Some(Run { offset, is_zero })
    }

    /// Frees the run of `size` bytes at `offset`. Returns true if whole pages became free.
    pub(crate) fn free(&mut self, offset: usize, size: usize) -> bool {
        let (start, count) = (offset / GRANULE, size.div_ceil(GRANULE).max(1));
        self.mark(start, count, false);
        self.first_free = self.first_free.min(start / 64);
        (offset / HUGE_PAGE..(offset + count * GRANULE).div_ceil(HUGE_PAGE)).any(|page| self.is_free(page))
    }

    /// Calls `take_back` with the offset of each free page that has memory, but for the first [`KEPT_PAGES`] of them. A page of which `take_back` returns true
    /// has no memory after that.
    pub(crate) fn purge(&mut self, mut take_back: impl FnMut(usize) -> bool) {
        let mut idle = 0;
        for page in 0..PAGES {
            if self.has_memory[page] && self.is_free(page) {
                idle += 1;
                if idle > KEPT_PAGES {
                    self.has_memory[page] = !take_back(page * HUGE_PAGE);
                }
            }
        }
    }

    fn is_free(&self, page: usize) -> bool {
        self.used[page * WORDS_OF_PAGE..][..WORDS_OF_PAGE].iter().all(|&word| word == 0)
    }

    /// Returns the start of the first free run of `count` granules.
    fn find(&self, count: usize) -> Option<usize> {
        let (mut start, mut at) = (self.first_free * 64, self.first_free * 64);
        while let Some(word) = self.used.get(at / 64) {
            let (rest, left) = (word >> (at % 64), 64 - at % 64);
            let free = (rest.trailing_zeros() as usize).min(left);
            at += free;
            if at - start >= count {
                return Some(start);
            }
            if free < left {
                at += ((rest >> free).trailing_ones() as usize).min(left - free);
                start = at;
            }
        }
        None
    }

    /// Marks a run as used or free.
    fn mark(&mut self, start: usize, count: usize, is_used: bool) {
        let mut at = start;
        while at < start + count {
            let bits = (64 - at % 64).min(start + count - at);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            let word = &mut self.used[at / 64];
            debug_assert_eq!(*word & mask, if is_used { 0 } else { mask }, "granules {at}..{}", at + bits);
            *word = if is_used { *word | mask } else { *word & !mask };
            at += bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_lie_side_by_side_and_the_first_hole_is_filled() {
        let mut heap = Heap::new();
        let sizes = [GRANULE, 3 * GRANULE - 5, 70 * GRANULE, 1, HUGE_PAGE];
        let offsets: Vec<usize> = sizes.iter().map(|&size| heap.take(size).map_or(usize::MAX, |run| run.offset)).collect();
        assert_eq!(offsets, [0, 1, 4, 74, 75].map(|granules| granules * GRANULE));
        heap.free(offsets[2], sizes[2]);
        assert_eq!(heap.take(71 * GRANULE).map(|run| run.offset), Some(offsets[4] + HUGE_PAGE));
        assert_eq!(heap.take(70 * GRANULE).map(|run| run.offset), Some(offsets[2]));
        assert_eq!(heap.take(SPACE), None);
        assert_eq!(heap.take(SPACE - HUGE_PAGE).map(|run| run.offset), None);
    }

    #[test]
    fn free_pages_are_given_back_but_for_the_first() {
        let mut heap = Heap::new();
        let count = KEPT_PAGES + 3;
        let whole = heap.take(count * HUGE_PAGE + 1);
        assert_eq!(whole, Some(Run { offset: 0, is_zero: true }));
        let mut taken = Vec::new();
        heap.purge(|page| {
            taken.push(page);
            true
        });
        assert!(taken.is_empty());
        assert!(heap.free(0, count * HUGE_PAGE + 1));
        // The system keeps the memory of one of them.
        heap.purge(|page| {
            taken.push(page / HUGE_PAGE);
            page / HUGE_PAGE != KEPT_PAGES + 1
        });
        assert_eq!(taken, (KEPT_PAGES..=count).collect::<Vec<_>>());
        assert_eq!(heap.take(HUGE_PAGE), Some(Run { offset: 0, is_zero: false }));
        let rest = heap.take((KEPT_PAGES - 1) * HUGE_PAGE);
        assert_eq!(rest.map(|run| run.is_zero), Some(false));
        assert_eq!(heap.take(HUGE_PAGE), Some(Run { offset: KEPT_PAGES * HUGE_PAGE, is_zero: true }));
        assert_eq!(heap.take(GRANULE).map(|run| run.is_zero), Some(false));
    }

    proptest! {
        #[test]
        fn runs_never_overlap_and_zeros_are_zero(steps in proptest::collection::vec((any::<bool>(), 1usize..3 * HUGE_PAGE, any::<prop::sample::Index>()), 1..200)) {
            let mut heap = Box::new(Heap::new());
            let mut runs: Vec<(usize, usize)> = Vec::new();
            // The granules that have been written to since their page was taken back.
            let mut written = std::collections::BTreeSet::new();
            for (takes, size, index) in steps {
                if takes || runs.is_empty() {
                    let Some(run) = heap.take(size) else { continue };
                    let granules = run.offset / GRANULE..(run.offset + size).div_ceil(GRANULE);
                    for &(offset, size) in &runs {
                        let other = offset / GRANULE..(offset + size).div_ceil(GRANULE);
                        prop_assert!(granules.end <= other.start || other.end <= granules.start, "{granules:?} and {other:?}");
                    }
                    prop_assert!(!run.is_zero || written.range(granules.clone()).next().is_none(), "{granules:?}");
                    written.extend(granules);
                    runs.push((run.offset, size));
                } else {
                    let (offset, size) = runs.swap_remove(index.index(runs.len()));
                    if heap.free(offset, size) {
                        heap.purge(|page| {
                            written.retain(|granule| granule * GRANULE / HUGE_PAGE != page / HUGE_PAGE);
                            true
                        });
                    }
                }
            }
        }
    }
}
