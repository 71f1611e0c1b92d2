//! The timer: one thread of the process cancels steps at their deadlines, and makes the calls that kernels schedule.

use crate::cancel::{CancelToken, Registration};
use flowmill_tensor::Error;
use flowmill_tensor::sync::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Instant;

/// The deadlines of one process. A process that was forked makes its own: in its parent's, a thread may seem to wait that it does not have, and
/// be the one that a notification goes to.
struct Timer {
    process: u32,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    deadlines: BTreeMap<(Instant, u64), CancelToken>,
    has_thread: bool,
    /// The time at which the thread wakes by itself; `None` if it waits for a notification. The deadline that it waited for may have been removed since.
    wakes_at: Option<Instant>,
}

/// The timer of this process or of one that it was forked from. Timers are never freed: there is one per process.
static TIMER: AtomicPtr<Timer> = AtomicPtr::new(null_mut());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A watched deadline. Dropping this ends the watch.
pub(super) struct Deadline {
    timer: &'static Timer,
    at: Instant,
    id: u64,
}

fn exceeded() -> Error {
    Error::deadline_exceeded("Timed out waiting for notification")
}

/// Returns the timer of this process.
fn timer() -> &'static Timer {
    let process = std::process::id();
    let mut seen = TIMER.load(Ordering::Acquire);
    loop {
        // SAFETY: what is stored here is a leaked box.
        if let Some(timer) = unsafe { seen.as_ref() }.filter(|timer| timer.process == process) {
            return timer;
        }
        let made = Box::into_raw(Box::new(Timer { process, state: Mutex::default(), changed: Condvar::new() }));
        match TIMER.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => seen = made,
            Err(other) => {
                // SAFETY: nobody else has seen the box.
                drop(unsafe { Box::from_raw(made) });
                seen = other;
            }
        }
    }
}

/// Cancels `token` at the time `at`, or at once if that has passed.
pub(super) fn watch(at: Instant, token: &CancelToken) -> Option<Deadline> {
    if at <= Instant::now() {
        token.cancel(exceeded());
        return None;
    }
    Some(insert(at, token))
}

/// A scheduled call. Dropping this cancels the call, unless it is being made.
pub struct Alarm {
    _deadline: Deadline,
    _registration: Option<Registration>,
}

/// Calls `f` at the time `at`, or soon if that has passed. All timers of the process share the thread that calls `f`, so `f` must neither block nor
/// compute for long.
pub fn call_at(at: Instant, f: impl FnOnce() + Send + 'static) -> Alarm {
    let token = CancelToken::new();
    let registration = token.on_cancel(move |_| f());
    Alarm { _deadline: insert(at, &token), _registration: registration }
}

fn insert(at: Instant, token: &CancelToken) -> Deadline {
    let (timer, id) = (timer(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut state = timer.state.lock();
    state.deadlines.insert((at, id), token.clone());
    if !state.has_thread {
        match std::thread::Builder::new().name("flowmill-timer".to_owned()).spawn(|| run(timer)) {
            Ok(_) => state.has_thread = true,
            // Without a thread the deadline is not kept, which is better than to fail the step.
            Err(_) => drop(state.deadlines.remove(&(at, id))),
        }
    } else if state.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
        // Most deadlines are removed before they pass. The thread is not woken for one that follows them and is later.
        timer.changed.notify_one();
    }
    Deadline { timer, at, id }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let token = self.timer.state.lock().deadlines.remove(&(self.at, self.id));
        drop(token);
    }
}

fn run(timer: &Timer) {
    let mut state = timer.state.lock();
    loop {
        state.wakes_at = state.deadlines.first_key_value().map(|(key, _)| key.0);
        match state.wakes_at {
            None => state = timer.changed.wait(state),
            Some(at) if at > Instant::now() => (state, _) = timer.changed.wait_for(state, at.saturating_duration_since(Instant::now())),
            Some(_) => {
                if let Some((_, token)) = state.deadlines.pop_first() {
                    // Callbacks of the token run outside the lock.
                    drop(state);
                    token.cancel(exceeded());
                    state = timer.state.lock();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn an_earlier_call_comes_first_also_after_others_were_dropped() {
        let (calls, made) = mpsc::channel();
        let call = |name: &'static str, after: u64| {
            let calls = calls.clone();
            call_at(Instant::now() + Duration::from_millis(after), move || {
                let _ = calls.send(name);
            })
        };
        for _ in 0..100 {
            drop(call("dropped", 60_000));
            let _kept = call("never", 120_000);
            let _soon = call("soon", 1);
            assert_eq!(made.recv_timeout(Duration::from_secs(30)), Ok("soon"));
        }
    }

    #[test]
    fn calls_come_in_the_order_of_their_times_and_a_dropped_one_not_at_all() {
        let (calls, made) = mpsc::channel();
        let call = |name: &'static str, after: u64| {
            let calls = calls.clone();
            call_at(Instant::now() + Duration::from_millis(after), move || {
                let _ = calls.send(name);
            })
        };
        let (_late, dropped, _early, _past) = (call("late", 60), call("dropped", 40), call("early", 20), call("past", 0));
        drop(dropped);
        let order: Vec<_> = (0..3).filter_map(|_| made.recv_timeout(Duration::from_secs(30)).ok()).collect();
        assert_eq!(order, ["past", "early", "late"]);
    }
}
