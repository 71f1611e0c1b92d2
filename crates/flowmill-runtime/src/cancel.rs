//! Cancellation of steps.

use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The reason why a step ends early, as the error that its other nodes report.
pub type CancelReason = Error;

/// A token that cancels one step, shared by everything that works on the step. The first reason is kept.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<State>);

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    reason: Option<CancelReason>,
    next: u64,
    callbacks: BTreeMap<u64, Box<dyn FnOnce(&CancelReason) + Send>>,
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CancelToken(cancelled: {})", self.is_cancelled())
    }
}

/// A callback registered with a token. Dropping this unregisters the callback.
pub struct Registration {
    token: CancelToken,
    id: u64,
}

impl CancelToken {
    /// Makes a token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Returns true if the step is cancelled. Costs one relaxed load.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Cancels the step with `reason`, unless it is cancelled already, and calls the registered callbacks without holding the lock.
    pub fn cancel(&self, reason: CancelReason) {
        let callbacks = {
            let mut inner = self.0.inner.lock();
            if inner.reason.is_some() {
                return;
            }
            inner.reason = Some(reason.clone());
            self.0.cancelled.store(true, Ordering::Release);
            std::mem::take(&mut inner.callbacks)
        };
        for callback in callbacks.into_values() {
            callback(&reason);
        }
    }

    /// Returns the reason if the step is cancelled.
    pub fn reason(&self) -> Option<CancelReason> {
        self.0.inner.lock().reason.clone()
    }

    /// Returns an error if the step is cancelled. Kernels that run for long call this from time to time.
    ///
    /// # Errors
    /// Returns the reason of the cancellation, marked as derived.
    pub fn check(&self) -> Result<()> {
        if !self.is_cancelled() {
            return Ok(());
        }
        match self.reason() {
            Some(reason) => Err(reason.derived()),
            None => Ok(()),
        }
    }

    /// Returns an error if the step is cancelled: the error that the step itself ends with.
    ///
    /// # Errors
    /// Returns the reason of the cancellation.
    pub fn reason_if_cancelled(&self) -> Result<()> {
        match self.is_cancelled().then(|| self.reason()).flatten() {
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }

    /// Registers `callback` to be called when the step is cancelled. If it is cancelled already, calls `callback` at once and returns `None`.
    pub fn on_cancel(&self, callback: impl FnOnce(&CancelReason) + Send + 'static) -> Option<Registration> {
        let reason = {
            let mut inner = self.0.inner.lock();
            match &inner.reason {
                Some(reason) => reason.clone(),
                None => {
                    let id = inner.next;
                    inner.next += 1;
                    inner.callbacks.insert(id, Box::new(callback));
                    return Some(Registration { token: self.clone(), id });
                }
            }
        };
        callback(&reason);
        None
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Dropped outside the lock: a callback may own what registers or cancels again.
        let callback = self.token.0.inner.lock().callbacks.remove(&self.id);
        drop(callback);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowmill_tensor::error;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn the_first_reason_wins_and_callbacks_run_once() {
        let (token, calls) = (CancelToken::new(), Arc::new(AtomicU32::new(0)));
        let count = |calls: &Arc<AtomicU32>| {
            let calls = calls.clone();
            move |_: &CancelReason| {
                calls.fetch_add(1, Ordering::Relaxed);
            }
        };
        let kept = token.on_cancel(count(&calls));
        drop(token.on_cancel(count(&calls)));
        assert!(kept.is_some() && token.check().is_ok());
        token.cancel(error!(Cancelled, "first"));
        token.cancel(error!(Internal, "second"));
        assert_eq!(calls.load(Ordering::Relaxed), 1, "a dropped registration is not called");
        let e = token.check().unwrap_err();
        assert_eq!((e.message(), e.is_derived()), ("first", true));
        assert!(token.on_cancel(count(&calls)).is_none());
        assert_eq!(calls.load(Ordering::Relaxed), 2, "a late one is called at once");
    }
}
