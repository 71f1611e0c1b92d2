//! A dead Enter decides a Merge while live inputs of other threads are on their way to its slots; then the iteration ends and is swept.

use super::*;

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    /// The firing of a dead Merge empties all slots.
    DeadEmptiesSlots,
    /// The firing of a live Merge has exclusive access to all slots.
    LiveOwnsSlots,
    /// A thread drops its reference of the iteration before it drops a value that came too late.
    ReleaseBeforeDrop,
    /// An input that comes too late leaves its value to others.
    LoserKeepsValue,
}

const INPUTS: usize = 2;

struct Iteration {
    design: Design,
    merge: Counter,
    refs: Refs,
    /// The value in each slot; 0 is none.
    slots: [UnsafeCell<u32>; INPUTS],
    passed_on: AtomicU32,
    fired: AtomicU32,
    swept: AtomicU32,
}

impl Iteration {
    /// A live input arrives under a reference.
    fn live(&self, input: usize) {
        self.slots[input].with_mut(|slot| unsafe { *slot = input as u32 + 1 });
        let arrival = self.merge.merge_live(input as u32, true);
        if arrival.is_none() && self.design == Design::ReleaseBeforeDrop {
            self.release();
            return self.slots[input].with_mut(|slot| unsafe { *slot = 0 });
        }
        match arrival {
            None if self.design == Design::LoserKeepsValue => {}
            None => self.slots[input].with_mut(|slot| unsafe { *slot = 0 }),
            Some(arrival) => self.fire(arrival),
        }
        self.release();
    }

    /// The dead Enter, another input, arrives under a reference.
    fn dead_enter(&self) {
        self.fire(self.merge.merge_dead(true, true));
        self.release();
    }

    fn control(&self) {
        self.fire(self.merge.merge_control(true));
        self.release();
    }

    fn fire(&self, arrival: Arrival) {
        match arrival {
            Arrival::Pending => return,
            Arrival::Dead if self.design == Design::DeadEmptiesSlots => {
                self.slots.iter().for_each(|slot| slot.with_mut(|slot| unsafe { *slot = 0 }));
            }
            Arrival::Dead => {}
            Arrival::Live => {
                let winner = self.merge.winner();
                if self.design == Design::LiveOwnsSlots {
                    self.slots.iter().for_each(|slot| slot.with_mut(|_| ()));
                }
                let value = self.slots[winner as usize].with_mut(|slot| unsafe { std::mem::take(&mut *slot) });
                assert_eq!(value, winner + 1);
                self.passed_on.store(value, Ordering::Relaxed);
            }
        }
        self.fired.fetch_add(1, Ordering::Relaxed);
    }

    /// The last reference: the slots are swept, and the block goes to another iteration.
    fn release(&self) {
        if self.refs.release(1, true) {
            self.slots.iter().for_each(|slot| slot.with_mut(|slot| assert_eq!(unsafe { *slot }, 0, "a value of a fired Merge is left")));
            self.swept.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// `live` inputs on threads of their own; the dead Enter, where there is one, and a control input on this thread.
fn arrivals(design: Design, live: usize, has_dead: bool, has_control: bool) {
    let iteration = Arc::new(Iteration {
        design,
        merge: Counter::new(merge(live + usize::from(has_dead), usize::from(has_control))),
        refs: Refs::new((live + usize::from(has_dead) + usize::from(has_control)) as u64),
        slots: [0; INPUTS].map(UnsafeCell::new),
        passed_on: AtomicU32::new(0),
        fired: AtomicU32::new(0),
        swept: AtomicU32::new(0),
    });
    let threads: Vec<_> = (0..live)
        .map(|input| {
            let iteration = iteration.clone();
            loom::thread::spawn(move || iteration.live(input))
        })
        .collect();
    if has_dead {
        iteration.dead_enter();
    }
    if has_control {
        iteration.control();
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(iteration.fired.load(Ordering::Relaxed), 1, "a Merge fires once");
    assert_eq!(iteration.swept.load(Ordering::Relaxed), 1);
    assert!(has_dead || iteration.passed_on.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_dead_enter_and_a_live_input() {
    check(|| arrivals(Design::Sound, 1, true, false));
}

#[test]
fn a_dead_enter_and_two_live_inputs() {
    check(|| arrivals(Design::Sound, 2, true, false));
}

#[test]
fn a_dead_enter_a_live_input_and_a_control_input() {
    check(|| arrivals(Design::Sound, 1, true, true));
}

#[test]
fn two_live_inputs_and_a_control_input() {
    check(|| arrivals(Design::Sound, 2, false, true));
}

#[test]
fn rejected_dead_merge_that_empties_slots() {
    rejects(|| arrivals(Design::DeadEmptiesSlots, 1, true, false));
}

#[test]
fn rejected_live_merge_that_owns_slots() {
    rejects(|| arrivals(Design::LiveOwnsSlots, 2, false, false));
}

#[test]
fn rejected_release_before_drop() {
    rejects(|| arrivals(Design::ReleaseBeforeDrop, 1, true, false));
}

#[test]
fn rejected_late_value_left() {
    rejects(|| arrivals(Design::LoserKeepsValue, 1, true, false));
}
