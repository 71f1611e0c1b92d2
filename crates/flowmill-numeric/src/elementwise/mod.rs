//! Element-wise loops over slices: functions of one and of two elements, in place or not, with NumPy's broadcasting, on several threads if there is
//! much to do.
//!
//! Each element of a result is computed independently, so it does not depend on how the work is divided.

pub mod complex;
pub mod double;
mod floor_div;
pub mod inverse_trigonometric;
mod operand;
mod select;
mod truncate;
mod word;

pub use floor_div::{floor_quotient, floor_quotients};
pub use operand::{Operand, broadcast_positions};
pub use select::{Selectable, replace_unless, select};
pub use truncate::Truncate;
pub use word::Word;

use crate::parallel;

/// The number of elements of cost 1 from which element-wise work is split over threads.
pub const PARALLEL_MIN: usize = 1 << 16;
/// The number of elements of cost 1 that one task computes.
const BLOCK: usize = 1 << 14;
/// The number of elements that a loop processes at a time if an operand must be copied; buffers of this size stay in the L1 cache.
pub const CHUNK: usize = 512;
/// Like [`CHUNK`], for small tensors, for which clearing a larger buffer would cost more than the work.
const SMALL_CHUNK: usize = 64;
/// The cost of a transcendental function, in simple operations.
pub const TRANSCENDENTAL: usize = 8;

/// Calls `body(start, block)` for blocks that cover `out`, on several threads if `out.len() * cost` is large.
pub fn for_blocks<D: Send>(out: &mut [D], cost: usize, body: &(dyn Fn(usize, &mut [D]) + Sync)) {
    if out.len().saturating_mul(cost) < PARALLEL_MIN {
        body(0, out);
        return;
    }
    let block = (BLOCK / cost.max(1)).max(CHUNK);
    parallel::chunks(out, block, |i, chunk| body(i * block, chunk));
}

/// Calls `body(start, parts)` for blocks that cover `out` and consist of whole parts of `part` elements, on several threads if `out` is large.
pub fn for_whole_parts<D: Send>(out: &mut [D], part: usize, body: &(dyn Fn(usize, &mut [D]) + Sync)) {
    if out.len() < PARALLEL_MIN {
        body(0, out);
        return;
    }
    let block = (BLOCK / part.max(1)).max(1) * part;
    parallel::chunks(out, block, |i, chunk| body(i * block, chunk));
}

/// Copies `chunk` to `buffer`, which is at least as long, and returns the copy as elements of `A` if that is the same type as `D`, otherwise `None`.
fn copy_as<'b, A: Word, D: Word, const N: usize>(chunk: &[D], buffer: &'b mut [D; N]) -> Option<&'b [A]> {
    buffer[..chunk.len()].copy_from_slice(chunk);
    let buffer: &dyn std::any::Any = buffer;
    buffer.downcast_ref::<[A; N]>().map(|b| &b[..chunk.len()])
}

/// A function of one element, applied to slices of equal length: computes `dst[i] = f(src[i])`.
pub type Map<A, D> = fn(&[A], &mut [D]);

/// Computes `dst[i] = f(src[i])`. `cost` is the cost of an element in simple operations.
pub fn map<A: Word, D: Word>(f: Map<A, D>, cost: usize, src: &[A], dst: &mut [D]) {
    for_blocks(dst, cost, &|start, block| f(&src[start..start + block.len()], block));
}

/// Computes `data[i] = f(data[i])` for a function whose result has the type of its argument: `A` is `D`.
pub fn map_in_place<A: Word, D: Word>(f: Map<A, D>, cost: usize, data: &mut [D]) {
    if data.len() <= SMALL_CHUNK {
        map_chunks_in_place::<A, D, SMALL_CHUNK>(f, data)
    } else {
        for_blocks(data, cost, &|_, block| map_chunks_in_place::<A, D, CHUNK>(f, block))
    }
}

fn map_chunks_in_place<A: Word, D: Word, const N: usize>(f: Map<A, D>, data: &mut [D]) {
    let mut buffer = [D::default(); N];
    for chunk in data.chunks_mut(N) {
        if let Some(copy) = copy_as::<A, D, N>(chunk, &mut buffer) {
            f(copy, chunk);
        }
    }
}

/// A function of two elements, applied to slices of equal length: computes `dst[i] = f(a[i], b[i])`.
pub type Zip<A, D> = fn(&[A], &[A], &mut [D]);

/// The operand whose memory is used for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// The left operand.
    Left,
    /// The right operand.
    Right,
}

/// Computes `dst[i] = f(left[i], right[i])`. `cost` is the cost of an element in simple operations.
pub fn zip<A: Word, D: Word>(f: Zip<A, D>, cost: usize, left: &Operand<'_, A>, right: &Operand<'_, A>, dst: &mut [D]) {
    if let (Some(a), Some(b)) = (left.whole(), right.whole()) {
        for_blocks(dst, cost, &|start, block| f(&a[start..start + block.len()], &b[start..start + block.len()], block));
    } else if dst.len() <= SMALL_CHUNK {
        zip_chunks::<A, D, SMALL_CHUNK>(f, left, right, 0, dst);
    } else {
        for_blocks(dst, cost, &|start, block| zip_chunks::<A, D, CHUNK>(f, left, right, start, block));
    }
}

fn zip_chunks<A: Word, D: Word, const N: usize>(
    f: Zip<A, D>,
    left: &Operand<'_, A>,
    right: &Operand<'_, A>,
    start: usize,
    block: &mut [D],
) {
    let (mut x, mut y) = ([A::default(); N], [A::default(); N]);
    for (i, chunk) in block.chunks_mut(N).enumerate() {
        let at = start + i * N;
        f(left.read(at, chunk.len(), &mut x), right.read(at, chunk.len(), &mut y), chunk);
    }
}

/// Like [`zip`], in the memory of the operand that `side` names, which has the result's shape. `A` is `D`.
pub fn zip_in_place<A: Word, D: Word>(f: Zip<A, D>, cost: usize, data: &mut [D], other: &Operand<'_, A>, side: InPlace) {
    if data.len() <= SMALL_CHUNK {
        zip_chunks_in_place::<A, D, SMALL_CHUNK>(f, other, side, 0, data);
    } else {
        for_blocks(data, cost, &|start, block| zip_chunks_in_place::<A, D, CHUNK>(f, other, side, start, block));
    }
}

fn zip_chunks_in_place<A: Word, D: Word, const N: usize>(
    f: Zip<A, D>,
    other: &Operand<'_, A>,
    side: InPlace,
    start: usize,
    block: &mut [D],
) {
    let (mut buffer, mut gathered) = ([D::default(); N], [A::default(); N]);
    for (i, chunk) in block.chunks_mut(N).enumerate() {
        let other = other.read(start + i * N, chunk.len(), &mut gathered);
        match (copy_as::<A, D, N>(chunk, &mut buffer), side) {
            (Some(own), InPlace::Left) => f(own, other, chunk),
            (Some(own), InPlace::Right) => f(other, own, chunk),
            (None, _) => {}
        }
    }
}
