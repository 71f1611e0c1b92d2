//! A flag to sleep on.

use super::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;
use std::time::Duration;

/// One thread waits, others notify; a notification before the wait is not lost.
pub(super) struct Wake {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct State {
    is_notified: bool,
    /// A thread sleeps. Without one, a notification costs no system call.
    has_waiter: bool,
}

impl Default for Wake {
    fn default() -> Wake {
        Wake { state: Mutex::new(State::default()), changed: Condvar::new() }
    }
}

impl Wake {
    // Nothing panics under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn notify(&self) {
        let before = {
            let mut state = self.lock();
            let before = *state;
            state.is_notified = true;
            before
        };
        if before.has_waiter && !before.is_notified {
            self.changed.notify_one();
        }
    }

    /// Returns true once notified since the last such return, false after `timeout`.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut state = self.lock();
        state.has_waiter = true;
        while !state.is_notified {
            match timeout {
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(timeout) => {
                    let (guard, result) = self.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner);
                    state = guard;
                    if result.timed_out() {
                        break;
                    }
                }
            }
        }
        state.has_waiter = false;
        std::mem::take(&mut state.is_notified)
    }
}
