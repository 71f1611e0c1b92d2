//! Prefetches of the operands and of the result of a product.

use super::block::Group;
use super::driver::{Job, Rows};
use super::tile::Operand;
use crate::simd::prefetch::{self, LINE};
use std::ops::Range;

impl<T: Operand, A: Rows<T::Step>> Job<'_, T, A> {
    /// Returns the columns of adjacent groups of panels, which are in any order.
    pub(super) fn columns(&self, groups: &[Group]) -> Range<usize> {
        let width = self.kernels.panel_width();
        let first = groups.iter().map(|group| group.panel).min().unwrap_or(0);
        let end = groups.iter().map(|group| group.panel + group.count).max().unwrap_or(0);
        first * width..self.n.min(end * width)
    }

    /// Returns the prefetches of some columns of some rows of C, to be made in `shares` shares. Lines in order make the processor fetch more of them by itself:
    /// results that are larger than the caches are written up to 1.7 times as fast. Stores past the caches were not faster.
    pub(super) fn result_ahead(&self, row: usize, rows: usize, columns: &Range<usize>, shares: usize) -> ResultAhead {
        // Adjacent rows are one. Of rows that are far from each other, nothing between them is fetched.
        let (rows, elements) = if columns.len() == self.ldc { (1, rows * self.ldc) } else { (rows, columns.len()) };
        let lines = elements * size_of::<T::Sum>() / LINE;
        ResultAhead {
            next: self.c.wrapping_add(row * self.ldc + columns.start).cast(),
            row_bytes: self.ldc * size_of::<T::Sum>(),
            rows,
            lines,
            // Most products have one panel, and divisions take as long as a few steps of a tile.
            share: if shares == 1 { lines } else { lines.div_ceil(shares) },
        }
    }

    /// Prefetches a share of `count` rows of an unpacked B from row `first` on; the shares of all groups together, in the order of memory, are the
    /// columns of `panels` in these rows.
    #[inline]
    pub(super) fn prefetch_rows(&self, first: usize, count: usize, panels: &Range<usize>, group: Group) {
        let lines = self.kernels.panel_width() * size_of::<T::Step>() / LINE;
        let lines_a_row = panels.len() * lines;
        let rows = self.b.data.wrapping_add(panels.start * self.b.panel_stride + first * self.b.ldb);
        let first = (group.panel - panels.start) * lines * count;
        for line in first..first + group.count * lines * count {
            let (row, line) = (line / lines_a_row, line % lines_a_row);
            prefetch::for_later(rows.wrapping_add(row * self.b.ldb).cast::<u8>().wrapping_add(line * LINE));
        }
    }

    /// Prefetches a share of the part of B that follows the one of `steps` steps from `k0`; all tiles of a block together prefetch all of it. Only
    /// tiles of one panel prefetch. Wider tiles are used for products of a few rows, whose time is mostly spent reading B, and which do not read
    /// that part next: there, prefetching costs 7 %.
    #[inline]
    pub(super) fn prefetch(&self, panel: usize, k0: usize, steps: usize, tile: usize, tiles: usize) {
        if self.b.ldb == self.kernels.panel_width() && panel < self.full_panels() {
            let lines = steps * self.b.ldb * size_of::<T::Step>() / LINE;
            let share = lines.div_ceil(tiles);
            let next = self.b.data.wrapping_add(panel * self.b.panel_stride + (k0 + steps) * self.b.ldb).cast::<u8>();
            for line in tile * share..lines.min((tile + 1) * share) {
                prefetch::for_later(next.wrapping_add(line * LINE));
            }
        }
    }
}

/// Prefetches of parts of some rows of C.
pub(super) struct ResultAhead {
    /// The next line of the first row.
    next: *const u8,
    /// The distance between two rows.
    row_bytes: usize,
    rows: usize,
    /// The lines of a row that are left.
    lines: usize,
    /// The lines of a share.
    share: usize,
}

impl ResultAhead {
    /// Prefetches the next share.
    #[inline]
    pub(super) fn prefetch_share(&mut self) {
        let lines = self.share.min(self.lines);
        for row in 0..self.rows {
            let first = self.next.wrapping_add(row * self.row_bytes);
            for line in 0..lines {
                prefetch::for_write(first.wrapping_add(line * LINE));
            }
        }
        self.next = self.next.wrapping_add(lines * LINE);
        self.lines -= lines;
    }
}
