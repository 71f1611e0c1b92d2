//! Deadlines: one thread of the process cancels the steps whose time is over.

use crate::cancel::CancelToken;
use flowmill_tensor::Error;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

#[derive(Default)]
struct Timer {
    deadlines: BTreeMap<(Instant, u64), CancelToken>,
    /// The process that has the thread; one that was forked from it has none.
    thread_in: u32,
}

static TIMER: Mutex<Timer> = Mutex::new(Timer { deadlines: BTreeMap::new(), thread_in: 0 });
static CHANGED: Condvar = Condvar::new();
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A deadline being watched; dropping it ends that.
pub(super) struct Deadline(Instant, u64);

fn exceeded() -> Error {
    Error::deadline_exceeded("Timed out waiting for notification")
}

/// Cancels `token` at `at`, at once where that is past.
pub(super) fn watch(at: Instant, token: &CancelToken) -> Option<Deadline> {
    if at <= Instant::now() {
        token.cancel(exceeded());
        return None;
    }
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut timer = TIMER.lock();
    timer.deadlines.insert((at, id), token.clone());
    let process = std::process::id();
    if timer.thread_in != process {
        match std::thread::Builder::new().name("flowmill-timer".to_owned()).spawn(run) {
            Ok(_) => timer.thread_in = process,
            // Without a thread the deadline is not kept, which is better than to fail the step.
            Err(_) => drop(timer.deadlines.remove(&(at, id))),
        }
    } else if timer.deadlines.first_key_value().is_some_and(|(key, _)| key.1 == id) {
        CHANGED.notify_one();
    }
    Some(Deadline(at, id))
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let token = TIMER.lock().deadlines.remove(&(self.0, self.1));
        drop(token);
    }
}

fn run() {
    let mut timer = TIMER.lock();
    loop {
        match timer.deadlines.first_key_value().map(|(key, _)| key.0) {
            None => CHANGED.wait(&mut timer),
            Some(at) if at > Instant::now() => drop(CHANGED.wait_until(&mut timer, at)),
            Some(_) => {
                if let Some((_, token)) = timer.deadlines.pop_first() {
                    // Callbacks of the token run outside the lock.
                    drop(timer);
                    token.cancel(exceeded());
                    timer = TIMER.lock();
                }
            }
        }
    }
}
