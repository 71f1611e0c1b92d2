//! A flag to sleep on.

use parking_lot::{Condvar, Mutex};

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

    /// Returns once notified since the last return.
    pub(super) fn wait(&self) {
        let mut notified = self.notified.lock();
        while !*notified {
            self.changed.wait(&mut notified);
        }
        *notified = false;
    }
}
