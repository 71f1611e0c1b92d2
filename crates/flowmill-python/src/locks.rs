//! Locks that threads with the GIL may take without a deadlock.
//!
//! Two rules keep the GIL and the locks apart:
//!
//! 1. A thread that waits for a lock does not hold the GIL. Otherwise the lock's holder could wait for the GIL.
//! 2. A thread that holds a lock runs no Python code and does not wait for the GIL. Python code may switch threads, or come back for the same lock.
//!
//! [`with`] is the only way to a locked value and enforces both rules. An uncontended lock is taken with the GIL held, because releasing the GIL costs
//! more than adding an operation to a graph. If a lock is contended, the GIL is released until the closure has returned. The closure is `Send`, so
//! it cannot capture a `Python` token or a `Bound` object, and neither can its result. Debug builds also check that no thread attaches
//! to the interpreter or locks anything else inside of the closure.

use flowmill_tensor::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use pyo3::Python;
use std::cell::Cell;

/// One lock, or several as a tuple. A tuple's locks are taken from left to right.
pub trait Lock: acquire::Acquire {}

impl<L: acquire::Acquire> Lock for L {}

mod acquire {
    /// Taking a lock. Only [`super::with`] may do so.
    pub trait Acquire: Copy + Send {
        type Guard;

        fn try_acquire(self) -> Option<Self::Guard>;

        fn acquire(self) -> Self::Guard;
    }
}

/// A mutex whose value only [`with`] reaches.
#[derive(Default)]
pub struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    pub const fn new(value: T) -> Locked<T> {
        Locked(Mutex::new(value))
    }
}

impl<'a, T: Send> acquire::Acquire for &'a Locked<T> {
    type Guard = MutexGuard<'a, T>;

    fn try_acquire(self) -> Option<Self::Guard> {
        self.0.try_lock()
    }

    #[allow(clippy::disallowed_methods, reason = "only called without the GIL")]
    fn acquire(self) -> Self::Guard {
        self.0.lock()
    }
}

/// A value to be locked for reading beside others.
pub(crate) struct Reading<'a, T>(pub &'a RwLock<T>);

/// A value to be locked for writing.
pub(crate) struct Writing<'a, T>(pub &'a RwLock<T>);

impl<T> Clone for Reading<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Reading<'_, T> {}

impl<T> Clone for Writing<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Writing<'_, T> {}

impl<'a, T: Send + Sync> acquire::Acquire for Reading<'a, T> {
    type Guard = RwLockReadGuard<'a, T>;

    fn try_acquire(self) -> Option<Self::Guard> {
        self.0.try_read()
    }

    #[allow(clippy::disallowed_methods, reason = "only called without the GIL")]
    fn acquire(self) -> Self::Guard {
        self.0.read()
    }
}

impl<'a, T: Send + Sync> acquire::Acquire for Writing<'a, T> {
    type Guard = RwLockWriteGuard<'a, T>;

    fn try_acquire(self) -> Option<Self::Guard> {
        self.0.try_write()
    }

    #[allow(clippy::disallowed_methods, reason = "only called without the GIL")]
    fn acquire(self) -> Self::Guard {
        self.0.write()
    }
}

impl acquire::Acquire for () {
    type Guard = ();

    fn try_acquire(self) -> Option<()> {
        Some(())
    }

    fn acquire(self) {}
}

impl<A: acquire::Acquire, B: acquire::Acquire> acquire::Acquire for (A, B) {
    type Guard = (A::Guard, B::Guard);

    fn try_acquire(self) -> Option<Self::Guard> {
        Some((self.0.try_acquire()?, self.1.try_acquire()?))
    }

    fn acquire(self) -> Self::Guard {
        (self.0.acquire(), self.1.acquire())
    }
}

/// Runs `f` with the guard of a lock, or with the guards of several. See the module for what `f` may do.
pub(crate) fn with<L: Lock, R: Send>(py: Python<'_>, lock: L, f: impl FnOnce(&mut L::Guard) -> R + Send) -> R {
    assert_none_held();
    if let Some(mut guard) = lock.try_acquire() {
        let _held = Held::new();
        return f(&mut guard);
    }
    with_detached(py, lock, f)
}

/// Like [`with`], for an `f` that takes long: the GIL is released in any case.
pub(crate) fn with_detached<L: Lock, R: Send>(py: Python<'_>, lock: L, f: impl FnOnce(&mut L::Guard) -> R + Send) -> R {
    assert_none_held();
    py.detach(move || {
        let mut guard = lock.acquire();
        let _held = Held::new();
        f(&mut guard)
    })
}

thread_local! {
    /// True while this thread is in a closure of [`with`]. Debug builds only.
    static IS_HELD: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as holding locks, until it is dropped.
struct Held;

impl Held {
    fn new() -> Held {
        if cfg!(debug_assertions) {
            IS_HELD.set(true);
        }
        Held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            IS_HELD.set(false);
        }
    }
}

/// Panics in debug builds if this thread holds a lock: what follows may wait for the GIL, for another lock, or run Python code.
pub(crate) fn assert_none_held() {
    debug_assert!(!IS_HELD.get(), "this thread holds a lock while it needs the GIL or another lock");
}
