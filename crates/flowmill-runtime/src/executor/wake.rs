//! A flag to sleep on.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// One thread waits, others notify; a notification before the wait is not lost.
#[derive(Default)]
pub(super) struct Wake {
    notified: Mutex<bool>,
    changed: Condvar,
}

impl Wake {
    pub(super) fn notify(&self) {
        *self.notified.lock() = true;
        self.changed.notify_one();
    }

    /// Returns true once notified since the last such return, false after `timeout`.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut notified = self.notified.lock();
        while !*notified {
            match timeout {
                None => self.changed.wait(&mut notified),
                Some(timeout) if self.changed.wait_for(&mut notified, timeout).timed_out() => return std::mem::take(&mut *notified),
                Some(_) => {}
            }
        }
        *notified = false;
        true
    }
}
