//! The tiles of a block that read their rows of A in place.

use super::block::{BlockRows, TileRows};
use super::direct::{Ahead, DirectTile, Segment};
use super::driver::{Job, NOWHERE, Rows};
use super::finish::{Destination, Finish};
use super::tile::Operand;
use crate::simd::prefetch::LINE;
use std::ops::Range;

/// Calls of the kernels that read rows in place. What calls have in common is computed once, because finding the operands of a tile of few steps takes
/// as long as computing it.
pub(super) struct InPlace<'a, T: Operand, A> {
    job: &'a Job<'a, T, A>,
    block: &'a BlockRows<'a, T::Step>,
    /// The operands of a call. Those that depend on the panel are the last panel's.
    call: DirectTile<'a, T::Step, T::Sum>,
    /// The epilogue of the panel's first row, if the call has the last steps.
    finish: Option<Finish<T::Sum>>,
    /// The first row of the panel in C.
    c: *mut T::Sum,
    /// The bytes that each step of a call for the first panel prefetches.
    step_ahead: usize,
    /// The part of the next panel for these steps, if there is one.
    next: Option<*const T::Step>,
    /// The bytes of that part for each row of the block.
    next_share: usize,
    /// The bytes of that part that each step of a call prefetches.
    next_step: usize,
    /// The panel that is set.
    panel: Option<usize>,
    /// The vectors of the panel.
    vectors: usize,
    /// If true, the sums of a call are finished.
    is_last: bool,
}

impl<'a, T: Operand, A: Rows<T::Step>> InPlace<'a, T, A> {
    /// Prepares calls for the steps `ks` of the product, which rows of `block` consist of `segments` for. A panel must be set before the first call.
    pub(super) fn new(job: &'a Job<'a, T, A>, block: &'a BlockRows<'a, T::Step>, segments: &'a [Segment], ks: &Range<usize>) -> Self {
        let call = DirectTile {
            segments,
            a: block.data.as_ptr(),
            rows: &[],
            step: 1,
            b: job.b.data,
            ldb: job.b.ldb,
            to: Destination { c: job.c, ldc: job.ldc, cols: 0, load: job.load || ks.start > 0, finish: None },
            ahead: Ahead::none(job.b.data),
        };
        let (rows, row_bytes) = (block.rows.len().max(1), job.b.ldb.saturating_mul(size_of::<T::Step>()));
        let tallest = block.parts.first().map_or(0, |part| part.height);
        Self {
            job,
            block,
            call,
            finish: None,
            c: job.c,
            step_ahead: step_ahead(block, segments),
            next: None,
            next_share: ks.len().saturating_mul(row_bytes) / rows,
            next_step: tallest.saturating_mul(row_bytes).div_ceil(rows),
            panel: None,
            vectors: 2,
            is_last: ks.end == job.k,
        }
    }

    /// Sets the panel that rows are multiplied with.
    #[inline]
    pub(super) fn set_panel(&mut self, panel: usize) {
        if self.panel.replace(panel) == Some(panel) {
            return;
        }
        let job = self.job;
        let width = job.kernels.panel_width();
        let column = panel * width;
        let in_tail = panel >= job.full_panels();
        self.vectors = if in_tail && job.b.tail_width <= job.kernels.lanes { 1 } else { 2 };
        (self.call.b, self.call.ldb) =
            if in_tail { (job.b.tail, job.b.tail_width) } else { (job.b.data.wrapping_add(panel * job.b.panel_stride), job.b.ldb) };
        self.call.to.cols = (job.n - column).min(width);
        self.c = job.c.wrapping_add(column);
        self.finish = job.finish.filter(|_| self.is_last).map(|f| f.at(0, column));
    }

    /// Sets the panel that rows are multiplied with after this one. Only packed panels, whose rows are adjacent, are prefetched.
    pub(super) fn set_next(&mut self, panel: Option<usize>) {
        let job = self.job;
        let is_packed = |panel: &usize| *panel < job.full_panels() && job.b.ldb == job.kernels.panel_width();
        let first = self.call.segments.first().map_or(0, |segment| segment.b);
        self.next = panel.filter(is_packed).map(|panel| job.b.data.wrapping_add(panel * job.b.panel_stride + first * job.b.ldb));
    }

    /// Returns a tile's share of the next panel. All tiles of a block together prefetch all of it.
    #[inline]
    fn share_of_next(&self, part: &TileRows) -> Option<Ahead<T::Step>> {
        let first = self.next?.wrapping_byte_add((part.row - self.block.rows.start) * self.next_share);
        Some(Ahead { first, step: self.next_step, skip: 0 })
    }

    /// Multiplies the rows of a tile with the panel. If `is_first_panel`, it prefetches the rows behind them, otherwise a share of the next panel.
    ///
    /// # Safety
    /// The requirements of [`Job::run`] hold, and no other thread writes this part of C; the panel is one of B, and the tile is one of the block that is
    /// in place.
    #[inline]
    pub(super) unsafe fn multiply(&mut self, part: &TileRows, is_first_panel: bool) {
        let (job, block) = (self.job, self.block);
        let places = &block.places[part.row - block.rows.start..][..part.height];
        self.call.rows = places;
        let ahead =
            if is_first_panel { behind(self.call.a, places, self.call.segments, self.step_ahead) } else { self.share_of_next(part) };
        self.call.ahead = ahead.unwrap_or(Ahead::none(self.call.b));
        self.call.to.c = self.c.wrapping_add(part.row * job.ldc);
        self.call.to.finish = self.finish.map(|f| f.at(part.row, 0));
        // SAFETY: the rows of the tile and the columns of the panel lie inside the operands that the caller guarantees; the function of finished rows writes the
        // same part of C.
        unsafe {
            job.kernels.direct(part.height, self.vectors)(&self.call);
            if self.is_last {
                job.apply_then(self.call.to.c, part.height, self.call.to.cols);
            }
        }
    }
}

/// Returns the bytes of each step in which the memory behind a segment comes to as much as the rows of the block's first tile read anew there.
fn step_ahead<S>(block: &BlockRows<'_, S>, segments: &[Segment]) -> usize {
    let (Some(part), Some(segment)) = (block.parts.first(), segments.first()) else { return 0 };
    let neighbours = block.places.windows(2).find(|pair| pair[0] < pair[1] && pair[1] != NOWHERE);
    let distance = neighbours.map_or(segment.len, |pair| pair[1] - pair[0]);
    part.height.saturating_mul(distance).saturating_mul(size_of::<S>()).div_ceil(segment.len.max(1)).min(LINE)
}

/// Returns the memory behind the segments of rows of A, `step` bytes for each of their steps. There is none if a segment does not reach to the next row's: what lies
/// behind it is then no part of the next rows.
fn behind<S>(a: *const S, places: &[usize], segments: &[Segment], step: usize) -> Option<Ahead<S>> {
    let (first, last, segment) = (places.first()?, places.last()?, segments.first()?);
    if last.checked_sub(*first)? > (places.len() - 1) * segment.len {
        return None;
    }
    let to_next = segments.get(1).map_or(0, |next| next.a.wrapping_sub(segment.a)).wrapping_mul(size_of::<S>());
    Some(Ahead { first: a.wrapping_add(last + segment.a + segment.len), step, skip: to_next.wrapping_sub(segment.len * step) as isize })
}
