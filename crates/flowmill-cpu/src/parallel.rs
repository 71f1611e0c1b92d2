//! The one place where compute kernels fork.
//!
//! Kernels cut their work into fixed pieces and give them to [`run`] or [`chunks`]. Which thread takes a piece is the pool's business;
//! what a piece computes, bit for bit, never depends on it.

use parking_lot::Mutex;

/// The threads that [`run`] can use: those of the current pool, or one where the step stays on its caller's thread.
pub fn threads() -> usize {
    flowmill_runtime::intra_op::threads()
}

/// Runs `f(0) … f(pieces - 1)`, each once, and returns when all are done.
///
/// Pieces are halved recursively: the calling thread starts with the first ones, other threads take the farthest half
/// first. With one piece a thread, a caller that repeats the same call finds the same piece's data in its own cache.
pub fn run(pieces: usize, f: impl Fn(usize) + Sync) {
    run_all(pieces, &f);
}

/// Behind a pointer, so that the code that forks exists once and not for every kernel.
fn run_all(pieces: usize, f: &(dyn Fn(usize) + Sync)) {
    if threads() == 1 {
        (0..pieces).for_each(f);
    } else {
        halve(0, pieces, f);
    }
}

fn halve(first: usize, end: usize, f: &(dyn Fn(usize) + Sync)) {
    if end - first <= 1 {
        if first < end {
            f(first);
        }
    } else {
        let middle = first + (end - first).div_ceil(2);
        flowmill_runtime::intra_op::join(|| halve(first, middle, f), || halve(middle, end, f));
    }
}

/// Calls `f(i, chunk)` for every chunk of `len` elements of `data` (the last may be shorter), on several threads.
pub fn chunks<T: Send>(data: &mut [T], len: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    all_chunks(data, len.max(1), &f);
}

/// Behind a pointer, as [`run_all`].
fn all_chunks<T: Send>(data: &mut [T], len: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if threads() == 1 || data.len() <= len {
        data.chunks_mut(len).enumerate().for_each(|(i, chunk)| f(i, chunk));
        return;
    }
    // Each lock is taken once, by the thread that the chunk goes to.
    let parts: Vec<Mutex<&mut [T]>> = data.chunks_mut(len).map(Mutex::new).collect();
    run_all(parts.len(), &|i| f(i, *parts[i].lock()));
}

/// The `piece`-th of `pieces` nearly equal ranges that cover `0..len`.
pub fn piece(len: usize, pieces: usize, piece: usize) -> std::ops::Range<usize> {
    let (each, longer) = (len / pieces, len % pieces);
    let start = piece * each + piece.min(longer);
    start..start + each + usize::from(piece < longer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_visited_once_with_its_number() {
        let mut data = vec![0usize; 1003];
        chunks(&mut data, 10, |i, chunk| chunk.iter_mut().for_each(|x| *x += i + 1));
        assert!(data.iter().enumerate().all(|(at, &x)| x == at / 10 + 1));
    }

    #[test]
    fn pieces_cover_the_range() {
        let ranges: Vec<_> = (0..3).map(|i| piece(10, 3, i)).collect();
        assert_eq!(ranges, [0..4, 4..7, 7..10]);
    }
}
