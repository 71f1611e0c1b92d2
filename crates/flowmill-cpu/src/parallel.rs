//! The one place where compute kernels fork.
//!
//! Kernels cut their work into as many fixed pieces as [`threads`] and give them to [`run`]. Which thread takes a piece
//! is the pool's business; what a piece computes, bit for bit, never depends on it.

/// The threads that [`run`] can use: those of the current rayon pool.
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Runs `f(0) … f(pieces - 1)`, each once, and returns when all are done.
///
/// Pieces are halved recursively: the calling thread starts with the first ones, other threads take the farthest half
/// first. With one piece a thread, a caller that repeats the same call finds the same piece's data in its own cache.
pub fn run<F: Fn(usize) + Sync>(pieces: usize, f: F) {
    fn halve<F: Fn(usize) + Sync>(first: usize, end: usize, f: &F) {
        if end - first <= 1 {
            if first < end {
                f(first);
            }
        } else {
            let middle = first + (end - first).div_ceil(2);
            rayon::join(|| halve(first, middle, f), || halve(middle, end, f));
        }
    }
    halve(0, pieces, &f);
}

/// The `piece`-th of `pieces` nearly equal ranges that cover `0..len`.
pub fn piece(len: usize, pieces: usize, piece: usize) -> std::ops::Range<usize> {
    let (each, longer) = (len / pieces, len % pieces);
    let start = piece * each + piece.min(longer);
    start..start + each + usize::from(piece < longer)
}
