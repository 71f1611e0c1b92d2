//! A flag to sleep on.

use super::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;
use std::time::Duration;

/// One thread waits, others notify; a notification before the wait is not lost.
pub(super) struct Wake {
    notified: Mutex<bool>,
    changed: Condvar,
}

impl Default for Wake {
    fn default() -> Wake {
        Wake { notified: Mutex::new(false), changed: Condvar::new() }
    }
}

impl Wake {
    // Nothing panics under the lock.
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.notified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn notify(&self) {
        *self.lock() = true;
        self.changed.notify_one();
    }

    /// Returns true once notified since the last such return, false after `timeout`.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut notified = self.lock();
        while !*notified {
            match timeout {
                None => notified = self.changed.wait(notified).unwrap_or_else(PoisonError::into_inner),
                Some(timeout) => {
                    let (guard, result) = self.changed.wait_timeout(notified, timeout).unwrap_or_else(PoisonError::into_inner);
                    notified = guard;
                    if result.timed_out() {
                        break;
                    }
                }
            }
        }
        std::mem::take(&mut *notified)
    }
}
