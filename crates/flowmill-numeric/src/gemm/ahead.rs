//! Prefetches of the operands and of the result of a product.

use super::block::Group;
use super::driver::{Job, Rows};
use super::tile::Operand;
use crate::parallel;
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

    /// Prefetches part `share` of `shares` of some columns of some rows of C. Lines in order make the processor fetch more of them by itself: results that are
    /// larger than the caches are written up to 1.7 times as fast. Stores past the caches were not faster.
    pub(super) fn prefetch_result(&self, row: usize, rows: usize, columns: &Range<usize>, share: usize, shares: usize) {
        // Adjacent rows are one. Of rows that are far from each other, nothing between them is fetched.
        let (rows, columns) =
            if columns.len() == self.ldc { (row..row + 1, 0..rows * self.ldc) } else { (row..row + rows, columns.clone()) };
        for row in rows {
            let next = self.c.wrapping_add(row * self.ldc + columns.start).cast::<u8>();
            for line in parallel::piece(columns.len() * size_of::<T::Sum>() / LINE, shares, share) {
                prefetch::for_write(next.wrapping_add(line * LINE));
            }
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
