//! Register-tile kernels that read the rows of A where they lie, instead of from a packed block.
//!
//! A row is a list of segments of memory: a row of a matrix is one, a patch of an image one for each row of the window. Each element of C is the same
//! chain of multiply-adds as in the packed form, so that both forms return the same bits.

use super::dot::Dot;
use super::finish::{Destination, finish_tile};
use super::tile::SumOf;
use crate::simd::prefetch;
use crate::simd::vector::Lanes;
use smallvec::SmallVec;

/// A part of the chain of multiply-adds: some steps, whose elements of A are equally far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The distance from the beginning of a row of A to the first element.
    pub(crate) a: usize,
    /// The first row of B.
    pub(crate) b: usize,
    /// The number of steps.
    pub(crate) len: usize,
}

/// The segments of all rows of A.
pub type Segments = SmallVec<[Segment; 8]>;

/// Returns the parts of `segments`, which are in the order of B, that multiply rows `k0..k0 + len` of B.
pub(crate) fn part(segments: &[Segment], k0: usize, len: usize) -> Segments {
    let clip = |s: &Segment| {
        let (first, end) = (s.b.max(k0), (s.b + s.len).min(k0 + len));
        (first < end).then(|| Segment { a: s.a + (first - s.b), b: first, len: end - first })
    };
    segments.iter().filter_map(clip).collect()
}

/// The operands of one tile call.
pub(crate) struct DirectTile<'a, S, C> {
    pub segments: &'a [Segment],
    pub a: *const S,
    /// The elements after `a` at which the rows of A begin.
    pub rows: &'a [usize],
    /// The distance between two elements of a segment.
    pub step: usize,
    /// The panel of B; row `p` is at `b + p * ldb`.
    pub b: *const S,
    pub ldb: usize,
    pub to: Destination<C>,
    /// Memory to bring into the cache.
    pub ahead: Ahead<S>,
}

/// Memory that is brought into the cache during a call: that behind each segment of a tile's last row, where the next tile's rows begin.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<S> {
    /// The memory behind the first segment.
    pub first: *const S,
    /// The bytes for each step.
    pub step: usize,
    /// The bytes from the end of the memory behind a segment to that behind the next one.
    pub skip: isize,
}

impl<S> Ahead<S> {
    /// Brings one line again and again, which is in the cache.
    pub(crate) fn none(cached: *const S) -> Self {
        Self { first: cached, step: 0, skip: 0 }
    }
}

/// A kernel for tiles of one shape.
pub(crate) type DirectFn<S, C> = unsafe fn(&DirectTile<'_, S, C>);

/// # Safety
/// The CPU has D's instruction set; `t.rows` has `R` places, from which all elements of the segments can be read; the other pointers are good for `R`
/// rows and `t.to.cols` columns (of B: `W` vectors); `t.to.cols` reaches into the last vector.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(crate) unsafe fn direct_tile<D: Dot, const R: usize, const W: usize>(t: &DirectTile<'_, D::Step, SumOf<D>>) {
    // SAFETY: everything below stays inside the memory that the caller guarantees.
    unsafe {
        let columns = |w: usize| t.to.cols.saturating_sub(w * D::Sums::LANES).min(D::Sums::LANES);
        let whole = t.to.cols == W * D::Sums::LANES;
        let load = |p: *const SumOf<D>, w: usize| if whole { D::Sums::load(p) } else { D::Sums::load_part(p, columns(w)) };
        let mut start = [[D::Sums::zero(); W]; R];
        if t.to.load {
            for (i, row) in start.iter_mut().enumerate() {
                for (w, v) in row.iter_mut().enumerate() {
                    *v = load(t.to.c.add(i * t.to.ldc + w * D::Sums::LANES), w);
                }
            }
        }
        // Separate variables that are indexed by constants only, so that the compiler keeps them in registers.
        let mut acc = start;
        let mut rows = [t.a; R];
        for i in 0..R {
            rows[i] = t.a.add(*t.rows.get_unchecked(i));
        }
        let mut ahead = t.ahead.first;
        for segment in t.segments {
            let mut at = segment.a;
            let mut b = t.b.add(segment.b * t.ldb);
            for _ in 0..segment.len {
                let mut bs = [D::zero(); W];
                for w in 0..W {
                    bs[w] = D::load(b.add(w * D::Sums::LANES));
                }
                for i in 0..R {
                    let x = D::splat(*rows[i].add(at));
                    for w in 0..W {
                        acc[i][w] = D::add_products(x, bs[w], acc[i][w]);
                    }
                }
                prefetch::for_read(ahead);
                ahead = ahead.wrapping_byte_add(t.ahead.step);
                at += t.step;
                b = b.add(t.ldb);
            }
            ahead = ahead.wrapping_byte_offset(t.ahead.skip);
        }
        finish_tile::<D::Sums, R, 1, W>(acc.map(|row| [row]), &t.to);
    }
}
