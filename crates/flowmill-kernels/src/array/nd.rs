//! Copies between row-major data and strided data, on which transposes, slices, broadcasts, reversals and related rearrangements are built.

use super::item::Item;
use crate::parallel;
use smallvec::SmallVec;
use std::ops::Range;

/// The sizes of a strided iteration.
pub type Dims = SmallVec<[usize; 8]>;
/// The strides of a strided iteration, in elements; a stride of zero repeats an element, a negative one goes backwards.
pub type Strides = SmallVec<[isize; 8]>;

/// Copies of at least this many elements are split over threads.
pub const PARALLEL_MIN: usize = 1 << 16;
/// The number of elements that one task copies.
pub const PARALLEL_CHUNK: usize = 1 << 14;
/// The number of bytes of a cache line.
const CACHE_LINE: usize = 64;
/// The edge of the square tiles in which two dimensions are exchanged: sixteen cache lines on each side.
const TILE: usize = 16;

/// Returns the strides of row-major data.
pub fn row_major(dims: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(1, dims.len());
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(dims[i].max(1) as isize);
    }
    strides
}

/// Calls `f` with the two offsets of every index, in row-major order. Each side is given by its first offset and its strides.
pub fn for_each_index(dims: &[usize], a: (isize, &[isize]), b: (isize, &[isize]), mut f: impl FnMut(usize, usize)) {
    if dims.contains(&0) {
        return;
    }
    let (mut at, mut bt) = (a.0, b.0);
    let mut index: Dims = SmallVec::from_elem(0, dims.len());
    loop {
        f(at as usize, bt as usize);
        let mut axis = dims.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            index[axis] += 1;
            at += a.1[axis];
            bt += b.1[axis];
            if index[axis] < dims[axis] {
                break;
            }
            at -= a.1[axis] * dims[axis] as isize;
            bt -= b.1[axis] * dims[axis] as isize;
            index[axis] = 0;
        }
    }
}

/// Drops dimensions of one element and merges adjacent dimensions that a single stride can cover.
fn coalesce(dims: &[usize], strides: &[isize]) -> (Dims, Strides) {
    let (mut out_dims, mut out_strides) = (Dims::new(), Strides::new());
    for (&dim, &stride) in dims.iter().zip(strides) {
        if dim == 1 {
            continue;
        }
        match (out_dims.last_mut(), out_strides.last_mut()) {
            (Some(last_dim), Some(last_stride)) if *last_stride == stride * dim as isize => {
                *last_dim *= dim;
                *last_stride = stride;
            }
            _ => {
                out_dims.push(dim);
                out_strides.push(stride);
            }
        }
    }
    (out_dims, out_strides)
}

/// Fills `out`, row-major of sizes `dims`, with the elements of `source` at the given strides from `offset`.
///
/// Every index must lie in `source`, and `out` must have as many elements as `dims`.
pub fn read_strided<T: Item>(out: &mut [T], source: &[T], offset: isize, dims: &[usize], strides: &[isize]) {
    if out.is_empty() {
        return;
    }
    let (dims, strides) = coalesce(dims, strides);
    let Some(&outermost) = dims.first() else {
        out.clone_from_slice(&source[offset as usize..][..1]);
        return;
    };
    if out.len() < PARALLEL_MIN || outermost < 2 {
        return read_block(out, source, offset, &dims, &strides);
    }
    let inner = out.len() / outermost;
    // Elements that are adjacent in the source, and so in a cache line, belong to one task.
    let line = CACHE_LINE / size_of::<T>();
    let least = if strides[0] == 1 && outermost >= 2 * line { line } else { 1 };
    let rows = (PARALLEL_CHUNK / inner).max(least);
    parallel::chunks(out, rows * inner, |i, chunk| {
        let mut dims = dims.clone();
        dims[0] = chunk.len() / inner;
        read_block(chunk, source, offset + strides[0] * (i * rows) as isize, &dims, &strides);
    });
}

/// Like [`read_strided`], on one thread, over coalesced dimensions of which there is at least one.
fn read_block<T: Item>(out: &mut [T], source: &[T], offset: isize, dims: &[usize], strides: &[isize]) {
    let last = dims.len() - 1;
    let (len, step) = (dims[last], strides[last]);
    let out_strides = row_major(dims);
    let contiguous_axis = strides[..last].iter().position(|&s| s == 1);
    match contiguous_axis {
        Some(axis) if step != 0 && step != 1 => {
            let without =
                |values: &[isize]| -> Strides { values[..last].iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &v)| v).collect() };
            let outer: Dims = dims[..last].iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &d)| d).collect();
            for_each_index(&outer, (0, &without(&out_strides)), (offset, &without(strides)), |to, from| {
                let (out, out_step, rows) = (&mut out[to..], out_strides[axis] as usize, dims[axis]);
                match usize::try_from(step) {
                    Ok(step) if step >= rows => T::transpose(out, out_step, &source[from..], step, rows, len),
                    _ => exchange(out, out_step, source, from, step, rows, len),
                }
            });
        }
        _ => for_each_index(&dims[..last], (0, &out_strides[..last]), (offset, &strides[..last]), |to, from| {
            read_row(&mut out[to..to + len], source, from, step);
        }),
    }
}

/// Fills one row with elements that are `step` apart in `source`.
#[inline]
fn read_row<T: Item>(out: &mut [T], source: &[T], from: usize, step: isize) {
    match step {
        1 => out.clone_from_slice(&source[from..from + out.len()]),
        0 => out.fill(source[from].clone()),
        -1 => {
            let items = &source[from + 1 - out.len()..=from];
            out.iter_mut().zip(items.iter().rev()).for_each(|(to, item)| *to = item.clone());
        }
        _ => {
            let mut at = from as isize;
            for slot in out {
                *slot = source[at as usize].clone();
                at += step;
            }
        }
    }
}

/// Computes `out[r * out_step + c] = source[from + r + c * step]` for `rows` × `columns` elements, in tiles.
pub(super) fn exchange<T: Item>(out: &mut [T], out_step: usize, source: &[T], from: usize, step: isize, rows: usize, columns: usize) {
    for row in (0..rows).step_by(TILE) {
        let row_end = rows.min(row + TILE);
        for column in (0..columns).step_by(TILE) {
            let width = TILE.min(columns - column);
            let start = from as isize + column as isize * step;
            for r in row..row_end {
                read_row(&mut out[r * out_step + column..][..width], source, (start + r as isize) as usize, step);
            }
        }
    }
}

/// Writes `source`, row-major of sizes `dims`, to the elements of `out` at the given strides from `offset`.
///
/// Every index must lie in `out`, and `source` must have as many elements as `dims`.
pub fn write_strided<T: Item>(out: &mut [T], offset: isize, dims: &[usize], strides: &[isize], source: &[T]) {
    if source.is_empty() {
        return;
    }
    let (dims, strides) = coalesce(dims, strides);
    let Some(last) = dims.len().checked_sub(1) else {
        out[offset as usize] = source[0].clone();
        return;
    };
    let (len, step) = (dims[last], strides[last]);
    let source_strides = row_major(&dims);
    for_each_index(&dims[..last], (offset, &strides[..last]), (0, &source_strides[..last]), |to, from| {
        let row = &source[from..from + len];
        if step == 1 {
            out[to..to + len].clone_from_slice(row);
            return;
        }
        let mut at = to as isize;
        for item in row {
            out[at as usize] = item.clone();
            at += step;
        }
    });
}

/// Copies the elements at all indices below `dims` from one strided side to another. Each side is given by its elements, its first offset and its
/// strides.
///
/// Every index must lie inside both sides.
pub fn copy_strided<T: Item>(out: (&mut [T], isize, &[isize]), source: (&[T], isize, &[isize]), dims: &[usize]) {
    let (to, from) = (out.0, source.0);
    match dims.split_last() {
        Some((&len, outer)) if out.2.last() == Some(&1) && source.2.last() == Some(&1) => {
            for_each_index(outer, (out.1, out.2), (source.1, source.2), |a, b| to[a..a + len].clone_from_slice(&from[b..b + len]));
        }
        _ => for_each_index(dims, (out.1, out.2), (source.1, source.2), |a, b| to[a] = from[b].clone()),
    }
}

/// Fills `out` from runs of `run` elements. The run at index `i, j, …` starts at `maps[0][i] + maps[1][j] + …` in `source`.
///
/// Every run must lie in `source`, and `out` must have `run` elements for each index.
pub fn read_mapped<T: Item>(out: &mut [T], source: &[T], maps: &[Vec<usize>], run: usize) {
    if out.is_empty() {
        return;
    }
    let (mut maps, mut run) = (maps, run);
    // Whole dimensions make the runs longer.
    while let Some((innermost, outer)) = maps.split_last()
        && innermost.iter().enumerate().all(|(i, &from)| from == i * run)
    {
        (maps, run) = (outer, run * innermost.len());
    }
    let Some((innermost, outer)) = maps.split_last() else {
        out.clone_from_slice(&source[..run]);
        return;
    };
    // Runs that follow each other in `source` are copied as one.
    let mut pieces: Vec<Range<usize>> = Vec::new();
    for &from in innermost {
        match pieces.last_mut() {
            Some(piece) if piece.end == from => piece.end += run,
            _ => pieces.push(from..from + run),
        }
    }
    let dims: Dims = outer.iter().map(Vec::len).collect();
    let mut index: Dims = SmallVec::from_elem(0, dims.len());
    for row in out.chunks_exact_mut(innermost.len() * run) {
        let start: usize = index.iter().zip(outer).map(|(&i, map)| map[i]).sum();
        let mut rest = row;
        for piece in &pieces {
            let (to, after) = rest.split_at_mut(piece.len());
            to.clone_from_slice(&source[start + piece.start..start + piece.end]);
            rest = after;
        }
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            if index[axis] < dims[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(source: &[u32], offset: isize, dims: &[usize], strides: &[isize]) -> Vec<u32> {
        let mut out = Vec::new();
        let zeros: Strides = dims.iter().map(|_| 0).collect();
        for_each_index(dims, (offset, strides), (0, &zeros), |a, _| out.push(source[a]));
        out
    }

    #[test]
    fn a_strided_read_equals_the_element_by_element_one() {
        let source: Vec<u32> = (0..120_000).collect();
        let cases: [(isize, &[usize], &[isize]); 13] = [
            (0, &[300, 400], &[1, 300]),
            (0, &[40, 3000], &[1, 40]),
            (0, &[20, 30, 200], &[1, 20, 600]),
            (119_999, &[120_000], &[-1]),
            (5, &[7, 1, 3], &[0, 9, 2]),
            (0, &[], &[]),
            (3, &[4, 0], &[1, 1]),
            (0, &[10, 20, 30, 20], &[12_000, 20, 400, 1]),
            (40, &[17, 33], &[1, 41]),
            // Windows that overlap, rows in descending order, and a reversed innermost dimension.
            (3, &[50, 300], &[1, 7]),
            (119_000, &[37, 29], &[1, -40]),
            (32, &[7, 33], &[33, -1]),
            (0, &[5, 75, 90], &[6750, 1, 75]),
        ];
        for (offset, dims, strides) in cases {
            let mut out = vec![0; dims.iter().product()];
            read_strided(&mut out, &source, offset, dims, strides);
            assert_eq!(out, reference(&source, offset, dims, strides), "{dims:?} {strides:?}");
        }
    }

    #[test]
    fn a_mapped_read_equals_the_run_by_run_one() {
        let source: Vec<u32> = (0..3 * 5 * 7 * 4).collect();
        let map = |indices: &[usize], step: usize| -> Vec<usize> { indices.iter().map(|i| i * step).collect() };
        let whole = |count: usize, step: usize| map(&(0..count).collect::<Vec<_>>(), step);
        let cases: [(Vec<Vec<usize>>, usize); 6] = [
            (vec![map(&[1, 0, 1, 2, 1], 140), map(&[1, 0, 1, 2, 3, 4, 3], 28), whole(7, 4)], 4),
            (vec![map(&[2, 0], 140), whole(5, 28), map(&[1, 0, 1, 2, 3, 4, 5, 6, 5], 4), whole(4, 1)], 1),
            (vec![whole(3, 140), whole(5, 28)], 28),
            (vec![map(&[4, 3, 2, 1, 0], 28), map(&[6, 5, 4, 4, 0, 1], 4), map(&[3, 2, 1, 0, 0, 1, 2, 3], 1)], 1),
            (vec![map(&[2], 140), Vec::new()], 3),
            (Vec::new(), 9),
        ];
        for (maps, run) in cases {
            let mut starts = vec![0];
            for map in &maps {
                starts = starts.iter().flat_map(|start| map.iter().map(move |at| start + at)).collect();
            }
            let want: Vec<u32> = starts.iter().flat_map(|&start| source[start..start + run].to_vec()).collect();
            let mut got = vec![0; want.len()];
            read_mapped(&mut got, &source, &maps, run);
            assert_eq!(got, want, "{maps:?} {run}");
        }
    }

    #[test]
    fn a_strided_write_undoes_the_read() {
        let source: Vec<u32> = (0..60).collect();
        let (dims, strides) = ([3, 4, 5], [1, 15, 3]);
        let mut read = vec![0; 60];
        read_strided(&mut read, &source, 0, &dims, &strides);
        let mut back = vec![0; 60];
        write_strided(&mut back, 0, &dims, &strides, &read);
        assert_eq!(back, source);
    }
}
