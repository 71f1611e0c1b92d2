//! A model of the restart of a block, in a loop that runs one iteration at a time: the completed block becomes the next iteration. Roots of that
//! iteration may fire on other threads only after all parked tokens are taken, because they park new tokens in the same places.

use super::*;

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    /// Roots go to other threads before the parked tokens are taken.
    RootsFirst,
    /// A root goes to another thread without a reference of its own.
    RootWithoutReference,
}

const OLD: u32 = 1;
const NEW: u32 = 2;

struct Iteration {
    refs: Refs,
    parked: Parked,
    parking: UnsafeCell<u32>,
    /// The run's queue: whether the root waits there.
    queue: AtomicBool,
    delivered: AtomicU32,
    completed: AtomicU32,
}

impl Iteration {
    fn offer_root(&self, design: Design) {
        if design != Design::RootWithoutReference {
            self.refs.add(1, true);
        }
        self.queue.swap(true, Ordering::AcqRel);
    }

    /// The root and the NextIteration behind it fire.
    fn fire_root(&self) {
        assert_eq!(self.completed.load(Ordering::Relaxed), 0, "work on a complete iteration");
        self.parking.with_mut(|value| {
            assert_eq!(std::mem::replace(unsafe { &mut *value }, NEW), 0, "a token is parked over another");
        });
        self.parked.park(0, true);
        self.release();
    }

    fn release(&self) {
        if self.refs.release(1, true) {
            self.completed.fetch_add(1, Ordering::Relaxed);
            assert!(self.parked.any());
            self.parking.with(|value| assert_eq!(unsafe { *value }, NEW));
        }
    }
}

fn restart(design: Design) {
    let iteration = Arc::new(Iteration {
        refs: Refs::new(0),
        parked: Parked::new(),
        parking: UnsafeCell::new(OLD),
        queue: AtomicBool::new(false),
        delivered: AtomicU32::new(0),
        completed: AtomicU32::new(0),
    });
    iteration.parked.park(0, true);
    let other = iteration.clone();
    let helper = loom::thread::spawn(move || {
        if other.queue.swap(false, Ordering::AcqRel) {
            other.fire_root();
        }
    });
    iteration.refs.reset(1);
    if design == Design::RootsFirst {
        iteration.offer_root(design);
    }
    assert_eq!(iteration.parked.take(true), 1);
    let token = iteration.parking.with_mut(|value| std::mem::take(unsafe { &mut *value }));
    iteration.delivered.store(token, Ordering::Relaxed);
    if design != Design::RootsFirst {
        iteration.offer_root(design);
    }
    iteration.release();
    if iteration.queue.swap(false, Ordering::AcqRel) {
        iteration.fire_root();
    }
    helper.join().unwrap();
    assert_eq!(iteration.delivered.load(Ordering::Relaxed), OLD);
    assert_eq!(iteration.completed.load(Ordering::Relaxed), 1);
}

#[test]
fn roots_wait_for_the_parked_tokens() {
    check(|| restart(Design::Sound));
}

#[test]
fn rejected_roots_first() {
    rejects(|| restart(Design::RootsFirst));
}

#[test]
fn rejected_root_without_reference() {
    rejects(|| restart(Design::RootWithoutReference));
}
