//! Delivery of state changes to subscribers, in order, without a lock of the repository.

use super::StateChange;
use flowmill::sync::Mutex;
use std::collections::VecDeque;

pub(super) type Subscriber = Box<dyn Fn(&StateChange) + Send + Sync>;

#[derive(Default)]
pub(super) struct Events {
    pending: Mutex<VecDeque<StateChange>>,
    subscribers: Mutex<Vec<Subscriber>>,
}

impl Events {
    /// Appends a change. The caller holds the tracker's lock, which gives the order.
    pub(super) fn push(&self, change: StateChange) {
        self.pending.lock().push_back(change);
    }

    /// Delivers what is pending. If another thread is delivering, that thread delivers these changes as well. A subscriber may call the repository.
    pub(super) fn deliver(&self) {
        while !self.pending.lock().is_empty() {
            let Some(subscribers) = self.subscribers.try_lock() else { return };
            while let Some(change) = self.next() {
                subscribers.iter().for_each(|subscriber| subscriber(&change));
            }
        }
    }

    /// Adds a subscriber that first gets `current()`, then every later change. Earlier changes that are still pending go to the others alone.
    pub(super) fn subscribe(&self, subscriber: Subscriber, current: impl FnOnce(&dyn Fn()) -> Vec<StateChange>) {
        let mut subscribers = self.subscribers.lock();
        // Under the tracker's lock: what is pending then is part of `current`.
        let old = Mutex::new(VecDeque::new());
        let current = current(&|| std::mem::swap(&mut *self.pending.lock(), &mut *old.lock()));
        for change in old.into_inner() {
            subscribers.iter().for_each(|subscriber| subscriber(&change));
        }
        current.iter().for_each(&subscriber);
        subscribers.push(subscriber);
        drop(subscribers);
        self.deliver();
    }

    /// Takes one change, without holding the lock while it is delivered.
    fn next(&self) -> Option<StateChange> {
        self.pending.lock().pop_front()
    }
}
