//! How many threads a kernel may use inside itself.
//!
//! Kernels run on rayon's pool. A session with one thread says so here instead of entering a pool of one, which would cost more than most
//! kernels; a session with a number of its own has a pool of that size, which its steps run in.

use std::cell::Cell;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// The threads that a kernel on this thread may use, itself included.
#[inline]
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Whether [`alone`] is in effect.
pub(crate) fn is_alone() -> bool {
    ALONE.get()
}

/// Calls `f` with [`threads`] being 1.
pub(crate) fn alone<R>(f: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _reset = Reset(ALONE.replace(true));
    f()
}

/// `rayon::join` for kernels. While one of the two waits, its thread may take pieces of kernels, but neither a node nor a step, which could
/// take long, or need a lock that the waiting kernel holds.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if ALONE.get() {
        return (a(), b());
    }
    rayon::join(|| crate::executor::piece(a), || crate::executor::piece(b))
}
