//! Exclusive ownership of a team's gate: only the owner may publish work.

use crate::executor::sync::{AtomicBool, Ordering};

/// True while a thread owns the team's gate and the data published behind it. Ownership passes from thread to thread.
pub(super) struct Ownership(AtomicBool);

impl Ownership {
    pub(super) fn new() -> Ownership {
        Ownership(AtomicBool::new(false))
    }

    /// Makes the calling thread the owner if there is none. Acquire ordering: all writes of the last owner before [`Ownership::release`] are visible,
    /// and the work may be written.
    pub(super) fn take(&self) -> bool {
        !self.0.load(Ordering::Relaxed) && !self.0.swap(true, Ordering::Acquire)
    }

    /// Releases the ownership. The owner calls this after it closed the gate and found it empty.
    pub(super) fn release(&self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(all(test, feature = "loom"))]
mod models {
    use super::super::gate::Gate;
    use super::*;
    use loom::cell::UnsafeCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    #[derive(Clone, Copy, PartialEq)]
    enum Design {
        Sound,
        RelaxedTake,
        RelaxedRelease,
        /// Another thread may become the owner between the look and the store.
        LookThenStore,
        /// The owner goes before the gate is empty.
        ReleaseBeforeEmpty,
    }

    struct Team {
        design: Design,
        ownership: Ownership,
        gate: Gate,
        work: UnsafeCell<u32>,
    }

    impl Team {
        fn take(&self) -> bool {
            let word = &self.ownership.0;
            match self.design {
                Design::RelaxedTake => !word.swap(true, Ordering::Relaxed),
                Design::LookThenStore => {
                    let is_free = !word.load(Ordering::Acquire);
                    word.store(true, Ordering::Relaxed);
                    is_free
                }
                _ => self.ownership.take(),
            }
        }

        fn release(&self) {
            match self.design {
                Design::RelaxedRelease => self.ownership.0.store(false, Ordering::Relaxed),
                _ => self.ownership.release(),
            }
        }

        /// A thread publishes work, if no other does, and takes it back.
        fn publish(&self, work: u32) {
            if !self.take() {
                return;
            }
            self.work.with_mut(|published| {
                assert_eq!(std::mem::replace(unsafe { &mut *published }, work), 0, "two owners");
            });
            self.gate.open();
            self.gate.close();
            if self.design == Design::ReleaseBeforeEmpty {
                self.work.with_mut(|published| unsafe { *published = 0 });
                return self.release();
            }
            while !self.gate.is_empty() {
                loom::thread::yield_now();
            }
            self.work.with_mut(|published| unsafe { *published = 0 });
            self.release();
        }

        fn visit(&self) {
            if self.gate.enter() {
                self.work.with(|published| assert_ne!(unsafe { *published }, 0));
                self.gate.leave();
            }
        }
    }

    fn two_owners_and_a_visitor(design: Design) {
        let team = Arc::new(Team { design, ownership: Ownership::new(), gate: Gate::new(), work: UnsafeCell::new(0) });
        let (other, visitor) = (team.clone(), team.clone());
        let threads = [loom::thread::spawn(move || other.publish(2)), loom::thread::spawn(move || visitor.visit())];
        team.publish(1);
        threads.into_iter().for_each(|t| t.join().unwrap());
    }

    fn check(design: Design) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || two_owners_and_a_visitor(design));
    }

    #[test]
    fn the_work_goes_from_owner_to_owner() {
        check(Design::Sound);
    }

    #[test]
    fn rejected_mutants() {
        for design in [Design::RelaxedTake, Design::RelaxedRelease, Design::LookThenStore, Design::ReleaseBeforeEmpty] {
            assert!(catch_unwind(AssertUnwindSafe(|| check(design))).is_err(), "loom accepts a mutant");
        }
    }
}
