//! The one place where compute kernels fork.
//!
//! Kernels cut their work into fixed pieces and give them to [`run`] or [`chunks`]. Which thread takes a piece is the pool's business;
//! what a piece computes, bit for bit, never depends on it.

use flowmill_tensor::sync::Mutex;

/// The threads that [`run`] can use: those of the current pool, or one where the step stays on its caller's thread.
pub fn threads() -> usize {
    flowmill_runtime::intra_op::threads()
}

/// Whether work of this estimated time on one thread gains from another thread. A helper that waits already joins within a microsecond, a
/// thread that sleeps takes several times as long to wake.
pub fn is_worth_forking(nanoseconds: usize) -> bool {
    const COLD: usize = 10_000;
    const WARM: usize = 4_000;
    nanoseconds >= WARM && threads() > 1 && (nanoseconds >= COLD || flowmill_runtime::intra_op::is_warm())
}

/// Runs `f(0) … f(pieces - 1)`, each once, and returns when all are done: see [`flowmill_runtime::intra_op::run`].
pub fn run(pieces: usize, f: impl Fn(usize) + Sync) {
    // Behind a pointer, so that the code that forks exists once and not for every kernel.
    flowmill_runtime::intra_op::run(pieces, &f);
}

/// Calls `f(i, chunk)` for every chunk of `len` elements of `data` (the last may be shorter), on several threads.
pub fn chunks<T: Send>(data: &mut [T], len: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    all_chunks(data, len.max(1), &f);
}

/// Behind a pointer, as in [`run`].
fn all_chunks<T: Send>(data: &mut [T], len: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if threads() == 1 || data.len() <= len {
        data.chunks_mut(len).enumerate().for_each(|(i, chunk)| f(i, chunk));
        return;
    }
    // Each lock is taken once, by the thread that the chunk goes to.
    let parts: Vec<Mutex<&mut [T]>> = data.chunks_mut(len).map(Mutex::new).collect();
    flowmill_runtime::intra_op::run(parts.len(), &|i| f(i, *parts[i].lock()));
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
