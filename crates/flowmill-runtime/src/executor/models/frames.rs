//! Two Enters of one frame fire on two threads: one of them makes the frame, and the frame ends after both.

use super::*;
use std::ptr::null_mut;

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    /// Iteration 0 does not wait for Enters that have not arrived.
    EntersNotCounted,
    /// The last Enter does not look at parked tokens.
    NoUnpark,
    /// An iteration may follow before all Enters have arrived.
    EarlyIteration,
}

struct Frame {
    first: Refs,
    enters: Enters,
    parked: Parked,
    invariant: UnsafeCell<u32>,
    next_iterations: AtomicU32,
    ended: AtomicU32,
}

struct Parent {
    design: Design,
    child: AtomicPtr<Frame>,
    made: AtomicU32,
}

impl Parent {
    fn frame(&self) -> &Frame {
        let mut frame = self.child.load(Ordering::Acquire);
        if frame.is_null() {
            let refs = if self.design == Design::EntersNotCounted { 1 } else { 2 };
            let new = Box::into_raw(Box::new(Frame {
                first: Refs::new(refs),
                enters: Enters::new(2),
                parked: Parked::new(),
                invariant: UnsafeCell::new(0),
                next_iterations: AtomicU32::new(0),
                ended: AtomicU32::new(0),
            }));
            frame = match self.child.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.made.fetch_add(1, Ordering::Relaxed);
                    new
                }
                Err(other) => {
                    drop(unsafe { Box::from_raw(new) });
                    other
                }
            };
        }
        unsafe { &*frame }
    }

    /// Iteration 1 reads the invariant.
    fn start_next(&self, frame: &Frame) {
        frame.invariant.with(|value| assert_eq!(unsafe { *value }, 7));
        frame.next_iterations.fetch_add(1, Ordering::Relaxed);
    }

    /// The Enter of a variable, whose token goes on to iteration 1 at once.
    fn enter_variable(&self) {
        let frame = self.frame();
        let last = frame.enters.arrive(true);
        self.after_enter(frame, last);
        if self.design == Design::EarlyIteration || frame.enters.all_arrived() {
            self.start_next(frame);
        } else {
            frame.parked.park(0, true);
            if frame.enters.all_arrived() && frame.parked.take(true) != 0 {
                self.start_next(frame);
            }
        }
        self.release(frame);
    }

    fn enter_invariant(&self) {
        let frame = self.frame();
        frame.invariant.with_mut(|value| unsafe { *value = 7 });
        let last = frame.enters.arrive(true);
        self.after_enter(frame, last);
        self.release(frame);
    }

    fn after_enter(&self, frame: &Frame, last: bool) {
        assert_eq!(frame.ended.load(Ordering::Relaxed), 0, "an Enter into a frame that has ended");
        if last && self.design != Design::NoUnpark && frame.parked.take(true) != 0 {
            self.start_next(frame);
        }
    }

    fn release(&self, frame: &Frame) {
        if frame.first.release(1, true) {
            assert!(frame.enters.all_arrived(), "the frame ends before an Enter");
            frame.ended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn two_enters(design: Design) {
    let parent = Arc::new(Parent { design, child: AtomicPtr::new(null_mut()), made: AtomicU32::new(0) });
    let other = parent.clone();
    let thread = loom::thread::spawn(move || other.enter_variable());
    parent.enter_invariant();
    thread.join().unwrap();
    assert_eq!(parent.made.load(Ordering::Relaxed), 1);
    let frame = unsafe { Box::from_raw(parent.child.load(Ordering::Acquire)) };
    assert_eq!(frame.next_iterations.load(Ordering::Relaxed), 1, "iteration 1 starts once");
    assert_eq!(frame.ended.load(Ordering::Relaxed), 1, "the frame ends once");
}

#[test]
fn a_late_enter() {
    check(|| two_enters(Design::Sound));
}

#[test]
fn rejected_enters_not_counted() {
    rejects(|| two_enters(Design::EntersNotCounted));
}

#[test]
fn rejected_no_unpark() {
    rejects(|| two_enters(Design::NoUnpark));
}

#[test]
fn rejected_early_iteration() {
    rejects(|| two_enters(Design::EarlyIteration));
}
