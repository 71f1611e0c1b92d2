//! The gate to a team's published work. Threads that enter it may read the work; the owner takes the work back when the gate is closed and empty.

use crate::executor::sync::{AtomicU32, Ordering};

/// Bit 0: open. The rest counts in steps of two who is inside.
pub(super) struct Gate(AtomicU32);

const OPEN: u32 = 1;
const VISITOR: u32 = 2;

impl Gate {
    pub(super) fn new() -> Gate {
        Gate(AtomicU32::new(0))
    }

    /// Opens the gate, so that visitors may read what was written before. Only the owner calls this, while the gate is closed and empty.
    pub(super) fn open(&self) {
        self.0.store(OPEN, Ordering::Release);
    }

    /// Returns true if the gate was open a moment ago. This is a hint: the load is relaxed.
    #[inline]
    pub(super) fn looks_open(&self) -> bool {
        self.0.load(Ordering::Relaxed) & OPEN != 0
    }

    /// Goes in if the gate is open. What the owner wrote before [`Gate::open`] may be read until [`Gate::leave`].
    pub(super) fn enter(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while word & OPEN != 0 {
            match self.0.compare_exchange_weak(word, word + VISITOR, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Goes out.
    pub(super) fn leave(&self) {
        self.0.fetch_sub(VISITOR, Ordering::Release);
    }

    /// Closes the gate to new visitors. Visitors that are inside may stay.
    pub(super) fn close(&self) {
        self.0.fetch_and(!OPEN, Ordering::Relaxed);
    }

    /// Returns true if no visitor is inside. After [`Gate::close`], the work of all visitors is then visible, and the published data belongs to the
    /// owner again.
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

#[cfg(all(test, feature = "loom"))]
mod models {
    use super::*;
    use loom::cell::UnsafeCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    #[derive(Clone, Copy, PartialEq)]
    enum Design {
        Sound,
        /// The owner takes the work back without waiting for who is inside.
        NoWait,
        RelaxedLeave,
        RelaxedOpen,
    }

    /// An owner who publishes twice, two visitors who read the published cell and write one each.
    fn model(design: Design) {
        struct Shared {
            gate: Gate,
            published: UnsafeCell<u32>,
            done: [UnsafeCell<u32>; 2],
        }
        let shared = Arc::new(Shared { gate: Gate::new(), published: UnsafeCell::new(0), done: [0, 0].map(UnsafeCell::new) });
        let visitors = [0, 1].map(|me| {
            let shared = shared.clone();
            loom::thread::spawn(move || {
                if shared.gate.enter() {
                    let round = shared.published.with(|p| unsafe { *p });
                    assert!(round > 0);
                    shared.done[me].with_mut(|d| unsafe { *d = round });
                    match design {
                        Design::RelaxedLeave => drop(shared.gate.0.fetch_sub(VISITOR, Ordering::Relaxed)),
                        _ => shared.gate.leave(),
                    }
                }
            })
        });
        for round in 1..3 {
            shared.published.with_mut(|p| unsafe { *p = round });
            match design {
                Design::RelaxedOpen => shared.gate.0.store(OPEN, Ordering::Relaxed),
                _ => shared.gate.open(),
            }
            shared.gate.close();
            while design != Design::NoWait && !shared.gate.is_empty() {
                loom::thread::yield_now();
            }
            for done in &shared.done {
                done.with(|d| assert!(unsafe { *d } <= round));
            }
        }
        visitors.into_iter().for_each(|v| v.join().unwrap());
    }

    fn check(design: Design) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || model(design));
    }

    #[test]
    fn visitors_see_what_was_published_and_are_gone_before_it_is_taken_back() {
        check(Design::Sound);
    }

    #[test]
    fn rejected_mutants() {
        for design in [Design::NoWait, Design::RelaxedLeave, Design::RelaxedOpen] {
            assert!(catch_unwind(AssertUnwindSafe(|| check(design))).is_err(), "loom accepts a mutant");
        }
    }
}
