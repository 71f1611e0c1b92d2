//! Blocking and parallel splitting of a product whose B is already in panels.

use std::ops::Range;

use smallvec::SmallVec;

use super::block::{BlockRows, Group, TileRows, steps_piece};
use super::buffer::with_scratch;
use super::direct::{Segments, part};
use super::finish::{Destination, Finish};
use super::in_place::InPlace;
use super::tile::{KC, Kernels, LDA, Operand, Tile};
use crate::parallel;

/// The source of the rows of A: a matrix, or the patches of an image that a convolution multiplies. Its elements are the steps of the product.
pub trait Rows<T>: Sync {
    /// Writes element `(row0 + i, k0 + p)` to `dst[i * LDA + p]` for `i < rows`, `p < kc`.
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [T]);

    /// Returns the memory that rows can be read from in place, and the segments that all rows consist of, in the order of the columns of A. `None` if
    /// rows are better packed.
    fn in_place(&self) -> Option<(&[T], Segments)> {
        None
    }

    /// Returns true if neighbouring rows compete for the same lines of the cache, so that tiles of a few rows alone are read in place.
    fn crowds_cache(&self) -> bool {
        false
    }

    /// Adds the element of that memory at which each of these rows begins, or [`NOWHERE`] if a row is not there as a whole.
    fn add_places(&self, _rows: Range<usize>, _places: &mut Places) {}
}

/// The beginnings of rows.
pub type Places = SmallVec<[usize; 64]>;

/// The place of a row that cannot be read in place.
pub const NOWHERE: usize = usize::MAX;

/// Matrix B in panels of columns; every panel except the last has the full width of the kernels.
#[derive(Clone, Copy)]
pub(crate) struct Panels<T> {
    pub data: *const T,
    /// Distance of two rows inside a panel.
    pub ldb: usize,
    pub panel_stride: usize,
    /// The last panel, whose width is `tail_width` and whose rows are `tail_width` apart.
    pub tail: *const T,
    /// The width of one or two vectors, or 0 if the full panels hold all columns.
    pub tail_width: usize,
}

/// A function that is applied to a part of a row.
pub(crate) type RowFunction<'a, T> = dyn Fn(&mut [T]) + Sync + 'a;

/// A product to compute: `C = finish(C * load + A B)`.
pub(crate) struct Job<'a, T: Operand, A> {
    pub kernels: &'static Kernels<T::Step, T::Sum>,
    pub a: &'a A,
    pub m: usize,
    /// The number of steps.
    pub k: usize,
    pub n: usize,
    pub b: Panels<T::Step>,
    pub c: *mut T::Sum,
    pub ldc: usize,
    pub load: bool,
    pub finish: Option<Finish<T::Sum>>,
    /// The function that is applied to each finished part of a row of C.
    pub then: Option<&'a RowFunction<'a, T::Sum>>,
    /// If true, panels are processed from the last to the first.
    pub backwards: bool,
}

// SAFETY: the pointers are to memory that the caller of `run` borrows for the whole run (`b`, `finish` shared, `c` exclusively), and the tasks of a
// run write disjoint parts of C.
unsafe impl<T: Operand, A: Sync> Sync for Job<'_, T, A> {}

/// The limit in bytes on the packed rows of A of one block, so that they stay in L2 beside the panel that they are multiplied with.
const A_BLOCK_BYTES: usize = 512 << 10;
/// The limit for kernels of 64-byte vectors, whose processors have more L2. Each block reads B again, from memory if it is large: a layer of 3 × 3 × 256 × 512 weights and
/// 64 positions takes 0.92 of its time in one block.
const WIDE_A_BLOCK_BYTES: usize = 1 << 20;
/// The most bytes of B that stay in the L1 cache beside a tile's rows.
const NEAR_BYTES: usize = 24 << 10;
/// The most bytes of B that stay in a core's L2 cache beside all else. A larger result is not in the cache when it is written.
const L2_SHARE: usize = 640 << 10;
/// The bytes of the panels that each tile's rows are multiplied with in turn, if not all panels stay in L2 beside the rows of a block.
const PANELS_BYTES: usize = 256 << 10;
/// The most rows of A which compete for the same lines of the L1 cache, and stay there: the ways of the cache.
const CROWDED_ROWS: usize = 8;
/// The least bytes of an unpacked B that is read in the order of memory. In the caches, reading it panel by panel takes a third of the time and more; from
/// memory, 1.4 to 2.4 times the time.
const FAR_BYTES: usize = 4 << 20;
/// The rows of A of which all elements are packed before those of others.
const PACKED_TOGETHER: usize = 8;
/// The longest range of `k` for which rows of A are packed at once.
const K_BLOCK: usize = 9 * KC;

impl<T: Operand, A: Rows<T::Step>> Job<'_, T, A> {
    /// Computes the product, on several threads if it is large enough.
    ///
    /// # Safety
    /// `b` holds `k` rows of panels for `n` columns; `c` is writable for `m` rows of `n` columns `ldc` apart and not
    /// otherwise used; the pointers of `finish` are null or readable for as much.
    pub(crate) unsafe fn run(&self) {
        let (mut row_pieces, panel_pieces) = self.split(parallel::threads());
        if row_pieces * panel_pieces > 1 {
            // Each block is a task: it reads B anew anyway, and a thread that was busy at first takes those that are left.
            row_pieces *= self.row_blocks(self.m.div_ceil(row_pieces), self.k.div_ceil(self.k_blocks()));
        }
        let panels = self.panel_count();
        parallel::run(row_pieces * panel_pieces, |i| {
            let rows = parallel::piece(self.m, row_pieces, i % row_pieces);
            let panels = parallel::piece(panels, panel_pieces, i / row_pieces);
            // SAFETY: the caller guarantees it, and no other task has this part of the rows and columns.
            unsafe { self.block(rows, panels) };
        });
    }

    /// Returns how many panels each tile's rows are best multiplied with in turn, so that C is written in order. `None` if one panel is best multiplied with all
    /// rows first.
    fn panels_in_turn(&self) -> Option<usize> {
        let bytes = |rows: usize, columns: usize| rows.saturating_mul(columns).saturating_mul(size_of::<T::Step>());
        let (matrix, result) = (bytes(self.k, self.n), bytes(self.m, self.n));
        if matrix <= NEAR_BYTES || (matrix <= L2_SHARE && result > L2_SHARE) {
            return Some(self.panel_count());
        }
        let panels = PANELS_BYTES / bytes(self.k, self.kernels.panel_width()).max(1);
        (result > L2_SHARE && panels > 1).then_some(panels)
    }

    /// Returns true if B is not packed and most likely lies in memory, where a panel's rows are far from each other.
    fn is_far(&self) -> bool {
        self.b.ldb != self.kernels.panel_width() && self.k.saturating_mul(self.n).saturating_mul(size_of::<T::Step>()) >= FAR_BYTES
    }

    pub(super) fn full_panels(&self) -> usize {
        self.panel_count() - usize::from(self.b.tail_width > 0)
    }

    fn panel_count(&self) -> usize {
        self.n.div_ceil(self.kernels.panel_width())
    }

    /// Returns the numbers of parts into which rows and panels are split for `threads` threads.
    fn split(&self, threads: usize) -> (usize, usize) {
        let (m, k, n) = (self.m, self.k, self.n);
        // A core does about 50 multiply-adds per nanosecond and reads about 30 bytes per nanosecond from its cache.
        let nanoseconds = (m.saturating_mul(k).saturating_mul(n) / 50).max(k.saturating_mul(n).saturating_mul(size_of::<T::Step>()) / 30);
        if threads <= 1 || !parallel::is_worth_forking(nanoseconds) {
            return (1, 1);
        }
        let tiles = m.div_ceil(self.kernels.max_rows());
        let panels = self.panel_count();
        let mut best = (1, 1);
        let mut best_cost = f64::INFINITY;
        for row_pieces in (1..=threads.min(tiles)).filter(|r| threads.is_multiple_of(*r) || *r == tiles) {
            let panel_pieces = (threads / row_pieces).min(panels);
            // The cost per thread consists of the tiles it computes, the part of B it reads, and the part of A it packs.
            let tile_steps = tiles.div_ceil(row_pieces) * panels.div_ceil(panel_pieces) * k;
            let cost = (tile_steps * 2 * self.kernels.max_rows().min(m)) as f64
                + (k * n / panel_pieces) as f64 / 4.0
                + (m * k / row_pieces) as f64 / 2.0;
            if cost < best_cost {
                (best, best_cost) = ((row_pieces, panel_pieces), cost);
            }
        }
        best
    }

    /// Returns the number of ranges of steps that are multiplied one after the other.
    fn k_blocks(&self) -> usize {
        self.k.div_ceil(K_BLOCK).max(1)
    }

    /// Returns the number of blocks of rows, for `steps` steps of which packed rows stay in the cache.
    fn row_blocks(&self, rows: usize, steps: usize) -> usize {
        let is_wide = self.kernels.lanes * size_of::<T::Step>() == 64;
        let bytes = if is_wide { WIDE_A_BLOCK_BYTES } else { A_BLOCK_BYTES };
        let room = bytes / (size_of::<T::Step>() * steps.next_multiple_of(KC).max(KC));
        rows.div_ceil(room.max(self.kernels.max_rows())).max(1)
    }

    /// Computes the product of `rows` and `panels` on this thread.
    ///
    /// # Safety
    /// The requirements of [`Job::run`] hold, and no other thread writes this part of C.
    unsafe fn block(&self, rows: Range<usize>, panels: Range<usize>) {
        let k_blocks = self.k_blocks();
        for k_block in 0..k_blocks {
            let ks = steps_piece(self.k, k_blocks, k_block);
            let row_blocks = self.row_blocks(rows.len(), ks.len());
            for row_block in 0..row_blocks {
                let part = parallel::piece(rows.len(), row_blocks, row_block);
                let part = rows.start + part.start..rows.start + part.end;
                // SAFETY: this is a part of the caller's rows.
                unsafe { self.packed_block(part, ks.clone(), panels.clone()) };
            }
        }
    }

    /// Multiplies `rows` of A with each of `panels`, for `ks`. Tiles whose rows can be read in place are; the others are packed first.
    ///
    /// # Safety
    /// The requirements of [`Job::block`] hold.
    unsafe fn packed_block(&self, rows: Range<usize>, ks: Range<usize>, panels: Range<usize>) {
        let block = self.rows_of_block(rows, ks);
        let groups = self.groups(&block, &panels);
        let is_packed = block.parts.iter().any(|part| !part.in_place);
        with_scratch(if is_packed { block.chunks * block.rows.len() * LDA } else { 0 }, |packed: &mut [T::Step]| {
            self.pack_rows(&block, packed);
            // Whatever panel comes first finds the rows of A in memory, the others find them in the cache.
            let first_panel = groups.first().map_or(0, |group| group.panel);
            let multiply_packed = |part: &TileRows, tile: usize, group: Group, chunk: usize| {
                let steps = block.chunk(chunk);
                // SAFETY: the caller guarantees it; the rows that are not in place were packed above.
                unsafe { self.multiply(&block, packed, part, tile, group, chunk, steps) };
            };
            if self.is_far() {
                for (chunk, steps) in block.short_steps() {
                    let ks = block.ks.start + steps.start..block.ks.start + steps.end;
                    let segments = part(&block.segments, ks.start, ks.len());
                    let mut in_place = InPlace::new(self, &block, &segments, &ks);
                    for &group in &groups {
                        self.prefetch_rows(ks.end, steps.len(), &panels, group);
                        in_place.set_panel(group.panel);
                        for (tile, part) in block.parts.iter().enumerate() {
                            // SAFETY: as above.
                            unsafe {
                                if part.in_place {
                                    in_place.multiply(part, group.panel == first_panel);
                                } else {
                                    self.multiply(&block, packed, part, tile, group, chunk, steps.clone());
                                }
                            }
                        }
                    }
                }
                return;
            }
            // Rows in place are multiplied for all chunks at once.
            let mut in_place = InPlace::new(self, &block, &block.segments, &block.ks);
            if let Some(in_turn) = self.panels_in_turn() {
                // Several panels are one group only for blocks of a few rows, which have one tile.
                for groups in groups.chunks(in_turn.max(1)) {
                    let columns = self.columns(groups);
                    for (tile, part) in block.parts.iter().enumerate() {
                        let mut ahead = self.result_ahead(part.row + part.height, part.height, &columns, groups.len());
                        for &group in groups {
                            ahead.prefetch_share();
                            if part.in_place {
                                in_place.set_panel(group.panel);
                                // SAFETY: the caller guarantees it.
                                unsafe { in_place.multiply(part, group.panel == first_panel) };
                            } else {
                                (0..block.chunks).for_each(|chunk| multiply_packed(part, tile, group, chunk));
                            }
                        }
                    }
                }
            } else {
                for (i, &group) in groups.iter().enumerate() {
                    in_place.set_panel(group.panel);
                    in_place.set_next(groups.get(i + 1).map(|next| next.panel));
                    for chunk in 0..block.chunks {
                        for (tile, part) in block.parts.iter().enumerate() {
                            if !part.in_place {
                                multiply_packed(part, tile, group, chunk);
                            } else if chunk == 0 {
                                // SAFETY: the caller guarantees it.
                                unsafe { in_place.multiply(part, group.panel == first_panel) };
                            }
                        }
                    }
                }
            }
        });
    }

    /// Divides rows into tiles, and finds those that can be read in place.
    fn rows_of_block(&self, rows: Range<usize>, ks: Range<usize>) -> BlockRows<'_, T::Step> {
        let is_crowded = self.a.crowds_cache();
        // Packing pays if the rows are multiplied with many panels.
        let reads_crowded = is_crowded && self.n <= 2 * self.kernels.panel_width();
        let most_rows = if reads_crowded { CROWDED_ROWS.min(self.kernels.max_rows()) } else { self.kernels.max_rows() };
        let tiles = rows.len().div_ceil(most_rows).max(1);
        // If the tiles do not divide the rows evenly, the first tiles have one row more.
        let tallest = rows.len().div_ceil(tiles);
        let (data, segments) = match self.a.in_place() {
            // Tiles of few rows take several panels at a time, for which there are packed forms only.
            Some((data, segments)) if (!is_crowded || reads_crowded) && self.kernels.widest(tallest, 2) == 1 => {
                (data, part(&segments, ks.start, ks.len()))
            }
            _ => (&[][..], Segments::new()),
        };
        let mut places = Places::new();
        if !segments.is_empty() {
            self.a.add_places(rows.clone(), &mut places);
        }
        // What the kernels read of a row must lie within the memory, whatever places an implementation of `Rows` returns.
        let extent = segments.iter().map(|s| s.a + s.len).max().unwrap_or(0);
        let last_place = data.len().checked_sub(extent);
        let (least, taller) = (rows.len() / tiles, rows.len() % tiles);
        let mut parts: SmallVec<[TileRows; 32]> = SmallVec::with_capacity(tiles);
        let mut row = rows.start;
        for tile in 0..tiles {
            let height = least + usize::from(tile < taller);
            let own = places.get(row - rows.start..).and_then(|places| places.get(..height));
            let in_place = own.zip(last_place).is_some_and(|(places, last)| places.iter().all(|&place| place <= last));
            parts.push(TileRows { row, height, in_place });
            row += height;
        }
        BlockRows { chunks: ks.len().div_ceil(KC).max(1), rows, ks, data, segments, places, parts }
    }

    /// Returns the panels that are multiplied at a time, in order.
    fn groups(&self, block: &BlockRows<'_, T::Step>, panels: &Range<usize>) -> SmallVec<[Group; 64]> {
        let tallest = block.parts.first().map_or(0, |part| part.height);
        let full = self.full_panels();
        let mut groups: SmallVec<[Group; 64]> = SmallVec::new();
        let mut panel = panels.start;
        while panel < panels.end {
            let count = if panel < full { self.kernels.widest(tallest, panels.end.min(full) - panel) } else { 1 };
            groups.push(Group { panel, count });
            panel += count;
        }
        if self.backwards {
            groups.reverse();
        }
        groups
    }

    /// Packs the rows of a block that cannot be read in place. Rows are packed as a whole, so that they are read in the order of memory.
    fn pack_rows(&self, block: &BlockRows<'_, T::Step>, packed: &mut [T::Step]) {
        for run in block.parts.chunk_by(|a, b| a.in_place == b.in_place).filter(|run| !run[0].in_place) {
            let end = run[0].row + run.iter().map(|part| part.height).sum::<usize>();
            for first in (run[0].row..end).step_by(PACKED_TOGETHER) {
                let count = PACKED_TOGETHER.min(end - first);
                for chunk in 0..block.chunks {
                    let steps = block.chunk(chunk);
                    let to = &mut packed[block.place_of(chunk, first)..][..count * LDA];
                    self.a.pack(first, count, block.ks.start + steps.start, steps.len(), to);
                }
            }
        }
    }

    /// Multiplies a tile of packed rows with some panels, for `steps` of the block: a part of the chunk.
    ///
    /// # Safety
    /// The requirements of [`Job::block`] hold, and `packed` holds what [`Job::pack_rows`] has packed.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    unsafe fn multiply(
        &self,
        block: &BlockRows<'_, T::Step>,
        packed: &[T::Step],
        part: &TileRows,
        tile: usize,
        group: Group,
        chunk: usize,
        steps: Range<usize>,
    ) {
        let k0 = block.ks.start + steps.start;
        if group.count == 1 {
            self.prefetch(group.panel, k0, steps.len(), tile, block.parts.len());
        }
        let a = packed[block.place_of(chunk, part.row) + steps.start - block.chunk(chunk).start..].as_ptr();
        // SAFETY: the tile lies inside the block and the panels; its rows were packed for these steps.
        unsafe { self.tile(part.row, part.height, group.panel, group.count, k0, steps.len(), a) };
    }

    /// Applies the function of finished rows to a tile.
    ///
    /// # Safety
    /// `c` is writable for these rows and columns.
    #[inline]
    pub(super) unsafe fn apply_then(&self, c: *mut T::Sum, rows: usize, cols: usize) {
        if let Some(then) = self.then {
            for i in 0..rows {
                // SAFETY: the caller guarantees it.
                then(unsafe { std::slice::from_raw_parts_mut(c.add(i * self.ldc), cols) });
            }
        }
    }

    /// Computes one tile: `rows` rows from `row`, `group` panels from `panel`, `steps` steps from `k0`.
    ///
    /// # Safety
    /// The requirements of [`Job::block`] hold; `a` is the packed block of those rows and steps.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    unsafe fn tile(&self, row: usize, rows: usize, panel: usize, group: usize, k0: usize, steps: usize, a: *const T::Step) {
        let width = self.kernels.panel_width();
        let column = panel * width;
        let cols = (self.n - column).min(group * width);
        let in_tail = panel >= self.full_panels();
        let kernel =
            if in_tail && self.b.tail_width <= self.kernels.lanes { self.kernels.narrow(rows) } else { self.kernels.exactly(rows, group) };
        let last = k0 + steps == self.k;
        // SAFETY: `row`, `column`, `k0` lie inside the operands that the caller guarantees.
        unsafe {
            let (b, ldb) = if in_tail {
                (self.b.tail.add(k0 * self.b.tail_width), self.b.tail_width)
            } else {
                (self.b.data.add(panel * self.b.panel_stride + k0 * self.b.ldb), self.b.ldb)
            };
            let c = self.c.add(row * self.ldc + column);
            kernel(&Tile {
                rows,
                k: steps,
                a,
                b,
                ldb,
                panel_stride: self.b.panel_stride,
                to: Destination {
                    c,
                    ldc: self.ldc,
                    cols,
                    load: self.load || k0 > 0,
                    finish: if last { self.finish.map(|f| f.at(row, column)) } else { None },
                },
            });
            if last {
                self.apply_then(c, rows, cols);
            }
        }
    }
}
