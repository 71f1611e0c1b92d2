//! References to Python objects that are given back by threads without the GIL.
//!
//! PyO3 keeps such references in a list behind a mutex. If one thread forks the process while another one holds that mutex, the child waits for
//! it for ever. The list here has no lock: whenever the process is forked, the list is whole.

use pyo3::prelude::*;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The references that wait for a thread with the GIL, the last one first.
static RETURNED: AtomicPtr<Node> = AtomicPtr::new(null_mut());

struct Node {
    object: Py<PyAny>,
    next: *mut Node,
}

/// A reference that any thread may drop. The object loses it when a thread with the GIL next calls [`collect`].
pub(crate) struct Reference(ManuallyDrop<Box<Node>>);

// SAFETY: `Py` is both; `next` is null until the node is in the list, which hands it to one thread.
unsafe impl Send for Reference {}
// SAFETY: as above; nothing is reached through a shared reference.
unsafe impl Sync for Reference {}

impl Reference {
    pub(crate) fn new(object: Py<PyAny>) -> Reference {
        Reference(ManuallyDrop::new(Box::new(Node { object, next: null_mut() })))
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: this is the only place that takes the box, and it runs once.
        let node = Box::into_raw(unsafe { ManuallyDrop::take(&mut self.0) });
        let mut first = RETURNED.load(Ordering::Relaxed);
        loop {
            // SAFETY: the node belongs to this thread until the exchange succeeds.
            unsafe { (*node).next = first };
            match RETURNED.compare_exchange_weak(first, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }
}

/// Drops the objects whose references were given back. They may run Python code.
pub(crate) fn collect(_: Python<'_>) {
    if RETURNED.load(Ordering::Relaxed).is_null() {
        return;
    }
    let mut next = RETURNED.swap(null_mut(), Ordering::Acquire);
    while !next.is_null() {
        // SAFETY: the exchange took the whole list, whose nodes came from boxes; each is taken once.
        let node = unsafe { Box::from_raw(next) };
        next = node.next;
        drop(node.object);
    }
}
