//! The rendezvous: it hands tensors from the `_Send` nodes of a step to the matching `_Recv` nodes.
//!
//! The nodes that partitioning has added meet under a number ([`Transfers`]), all others under a name.

mod cell_state;
#[cfg(all(test, feature = "loom"))]
mod models;
mod transfers;

pub use transfers::{Parcel, Received, Transfers};

use crate::kernel::IterationPath;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Error, Result, Tensor, bail, error};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// A tensor that was sent; `None` is dead.
pub(crate) type Sent = Option<Tensor>;

/// The key that matches a send with its receive: the tensor's name, and the iteration of the loops around both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RendezvousKey {
    /// A name that identifies the tensor and the devices.
    pub name: Arc<str>,
    /// The iteration that the tensor belongs to, which separates iterations that run at the same time.
    pub iteration: IterationPath,
}

impl From<&str> for RendezvousKey {
    fn from(name: &str) -> RendezvousKey {
        RendezvousKey { name: name.into(), iteration: IterationPath::new() }
    }
}

type Waiter = Box<dyn FnOnce(Result<Sent>) + Send>;

/// Matches sends and receives by key, in first-in first-out order. A receive may come before or after its send.
#[derive(Default)]
pub struct Rendezvous {
    state: Mutex<State>,
    /// The transfers between the parts of the step; `None` for a step with one part.
    transfers: Option<Box<Transfers>>,
}

#[derive(Default)]
struct State {
    aborted: Option<Error>,
    queues: FxHashMap<RendezvousKey, Queue>,
}

#[derive(Default)]
struct Queue {
    sent: VecDeque<Sent>,
    waiting: VecDeque<Waiter>,
}

impl Rendezvous {
    /// Makes a rendezvous without tensors.
    pub fn new() -> Rendezvous {
        Rendezvous::default()
    }

    /// Makes a rendezvous for a step of several parts.
    pub fn with_transfers(transfers: Transfers) -> Rendezvous {
        Rendezvous { state: Mutex::default(), transfers: Some(Box::new(transfers)) }
    }

    /// Returns the transfers between the parts of the step, if it has several parts.
    #[inline]
    pub fn transfers(&self) -> Option<&Transfers> {
        self.transfers.as_deref()
    }

    /// Sends a tensor to the first receive of `key`, which may be waiting already or come later.
    ///
    /// # Errors
    /// Returns the reason of [`Rendezvous::abort`] after it was called.
    pub fn send(&self, key: &RendezvousKey, value: Sent) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(e) = &state.aborted {
            return Err(e.clone());
        }
        let queue = state.queues.entry(key.clone()).or_default();
        match queue.waiting.pop_front() {
            None => queue.sent.push_back(value),
            Some(waiter) => {
                drop(state);
                waiter(Ok(value));
            }
        }
        Ok(())
    }

    /// Calls `done` with the next tensor that was or will be sent to `key`, or with an error after [`Rendezvous::abort`].
    pub fn recv_async(&self, key: &RendezvousKey, done: impl FnOnce(Result<Sent>) + Send + 'static) {
        let mut state = self.state.lock();
        if let Some(e) = state.aborted.clone() {
            drop(state);
            return done(Err(e));
        }
        let queue = state.queues.entry(key.clone()).or_default();
        match queue.sent.pop_front() {
            None => queue.waiting.push_back(Box::new(done)),
            Some(value) => {
                drop(state);
                done(Ok(value));
            }
        }
    }

    /// Returns the first tensor that was sent to `key` and not received yet.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such tensor, and the reason of [`Rendezvous::abort`] after it was called.
    pub fn try_recv(&self, key: &RendezvousKey) -> Result<Sent> {
        let mut state = self.state.lock();
        if let Some(e) = &state.aborted {
            return Err(e.clone());
        }
        match state.queues.get_mut(key).and_then(|q| q.sent.pop_front()) {
            Some(value) => Ok(value),
            None => bail!(NotFound, "nothing was sent to {}", key.name),
        }
    }

    /// Ends all waiting receives, and every later send and receive, with `reason`. The reason of the first call is kept.
    pub fn abort(&self, reason: Error) {
        if let Some(transfers) = &self.transfers {
            transfers.abort(&reason);
        }
        let waiting: Vec<Waiter> = {
            let mut state = self.state.lock();
            if state.aborted.is_some() {
                return;
            }
            state.aborted = Some(reason.clone());
            state.queues.drain().flat_map(|(_, q)| q.waiting).collect()
        };
        for waiter in waiting {
            waiter(Err(reason.clone()));
        }
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        // Making an error costs as much as a part of a small step.
        if self.transfers.is_some() || !self.state.get_mut().queues.is_empty() {
            self.abort(error!(Cancelled, "the rendezvous was dropped"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowmill_tensor::Code;

    type Received = Arc<Mutex<Vec<Result<Sent>>>>;

    /// Collects the results of receives, in the order in which they end.
    fn inbox() -> (Received, impl Fn(Result<Sent>) + Clone) {
        let received = Received::default();
        let to = received.clone();
        (received, move |r| to.lock().push(r))
    }

    fn one(received: &Received) -> Result<Sent> {
        assert_eq!(received.lock().len(), 1);
        received.lock()[0].clone()
    }

    #[test]
    fn behaviour_12_a_receive_gets_what_is_sent_before_or_after_it() {
        let (rendezvous, (before, done)) = (Rendezvous::new(), inbox());
        rendezvous.send(&"a".into(), Some(Tensor::scalar(1i32))).unwrap();
        rendezvous.recv_async(&"a".into(), done);
        assert_eq!(one(&before), Ok(Some(Tensor::scalar(1i32))));

        let (after, done) = inbox();
        rendezvous.recv_async(&"b".into(), done);
        assert!(after.lock().is_empty());
        rendezvous.send(&"b".into(), None).unwrap();
        assert_eq!(one(&after), Ok(None), "a dead tensor is sent as one");
    }

    #[test]
    fn behaviour_12_several_sends_of_one_key_queue_in_order() {
        let rendezvous = Rendezvous::new();
        for i in 0..3 {
            rendezvous.send(&"k".into(), Some(Tensor::scalar(i))).unwrap();
        }
        for i in 0..3 {
            assert_eq!(rendezvous.try_recv(&"k".into()), Ok(Some(Tensor::scalar(i))));
        }
        assert_eq!(rendezvous.try_recv(&"k".into()).unwrap_err().code(), Code::NotFound);
    }

    #[test]
    fn behaviour_12_after_an_abort_both_sides_get_its_reason() {
        let (rendezvous, (waiting, done)) = (Rendezvous::new(), inbox());
        rendezvous.recv_async(&"k".into(), done.clone());
        rendezvous.abort(error!(Aborted, "the step ended"));
        assert_eq!(one(&waiting).unwrap_err().code(), Code::Aborted);
        assert_eq!(rendezvous.send(&"k".into(), None).unwrap_err().message(), "the step ended");
        rendezvous.abort(error!(Internal, "a later reason"));
        let (late, done) = inbox();
        rendezvous.recv_async(&"k".into(), done);
        assert_eq!(one(&late).unwrap_err().message(), "the step ended", "the first reason stays");
    }

    #[test]
    fn dropping_it_ends_what_waits() {
        let (waiting, done) = inbox();
        Rendezvous::new().recv_async(&"k".into(), done);
        assert_eq!(one(&waiting).unwrap_err().code(), Code::Cancelled);
    }
}
