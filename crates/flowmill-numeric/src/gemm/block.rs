//! The rows of A and the panels of B that a thread multiplies at a time.

use super::direct::Segments;
use super::driver::Places;
use super::tile::LDA;
use smallvec::SmallVec;
use std::ops::Range;

/// The rows of a B in memory that are multiplied at a time. With 32, products of 32 and 64 rows take 1.2 times as long.
const FAR_ROWS: usize = 64;

/// A tile of a block: some rows of A.
pub(super) struct TileRows {
    pub(super) row: usize,
    pub(super) height: usize,
    pub(super) in_place: bool,
}

/// The rows of A of a block, and how its tiles read them.
pub(super) struct BlockRows<'a, S> {
    pub(super) rows: Range<usize>,
    pub(super) ks: Range<usize>,
    /// The memory in which some tiles read their rows in place, and the segments of a row there.
    pub(super) data: &'a [S],
    pub(super) segments: Segments,
    /// The beginnings of all rows, if there are segments.
    pub(super) places: Places,
    pub(super) parts: SmallVec<[TileRows; 32]>,
    /// The number of parts into which `ks` are divided for packing.
    pub(super) chunks: usize,
}

impl<S> BlockRows<'_, S> {
    /// Returns the steps of a chunk, from the block's first one.
    pub(super) fn chunk(&self, chunk: usize) -> Range<usize> {
        steps_piece(self.ks.len(), self.chunks, chunk)
    }

    /// Returns the chunks, each divided into parts of at most [`FAR_ROWS`] steps.
    pub(super) fn short_steps(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        (0..self.chunks).flat_map(|chunk| {
            let Range { start, end } = self.chunk(chunk);
            let count = (end - start).div_ceil(FAR_ROWS);
            (0..count).map(move |i| {
                let part = steps_piece(end - start, count, i);
                (chunk, start + part.start..start + part.end)
            })
        })
    }

    /// Returns the first element of a row in the packed rows of a chunk.
    pub(super) fn place_of(&self, chunk: usize, row: usize) -> usize {
        (chunk * self.rows.len() + row - self.rows.start) * LDA
    }
}

/// Returns part `i` of `len` steps in `parts` parts. All but the last are whole groups of 16 steps, which some kernels multiply at a time. No part is longer than
/// the longest of equal parts, rounded up to groups.
pub(super) fn steps_piece(len: usize, parts: usize, i: usize) -> Range<usize> {
    let longest = len.div_ceil(parts.max(1)).next_multiple_of(16);
    (i * longest).min(len)..((i + 1) * longest).min(len)
}

/// Adjacent panels of B that are multiplied at a time.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) panel: usize,
    pub(super) count: usize,
}

#[cfg(test)]
mod tests {
    use super::super::tile::KC;
    use super::steps_piece;

    #[test]
    fn parts_are_whole_groups_of_steps() {
        for len in 1..5000usize {
            for longest in [KC, 9 * KC] {
                let parts = len.div_ceil(longest);
                let all: Vec<_> = (0..parts).map(|i| steps_piece(len, parts, i)).collect();
                assert!(
                    all.iter().all(|part| part.start.is_multiple_of(16) && !part.is_empty() && part.len() <= longest),
                    "{len}: {all:?}"
                );
                assert!(
                    all.windows(2).all(|pair| pair[0].end == pair[1].start) && all[0].start == 0 && all[parts - 1].end == len,
                    "{len}: {all:?}"
                );
            }
        }
    }
}
