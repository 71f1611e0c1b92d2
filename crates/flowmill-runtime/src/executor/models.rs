//! Loom models of the state words: every interleaving of two or three threads, within a bound on preemptions, and with every value that the
//! memory model lets a load see. Each protocol has mutants, which loom must reject: a model that accepts them would prove nothing.
//!
//! The `unsafe` blocks read and write loom's cells, which check every access for a race.

use super::{Arrival, Counter, Enters, Live, Parked, Participants, Refs, RingEntry, RingWord, merge, ordinary};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(model);
}

fn rejects(model: impl Fn() + Send + Sync + 'static) {
    assert!(catch_unwind(AssertUnwindSafe(|| check(model))).is_err(), "loom accepts a mutant");
}

mod pending_counts {
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Design {
        Sound,
        RelaxedCount,
    }

    fn node_of_three_inputs(design: Design) {
        struct Node {
            counter: Counter,
            slots: [UnsafeCell<u32>; 3],
            fired: AtomicU32,
        }
        let node = Arc::new(Node { counter: Counter::new(ordinary(3)), slots: [0; 3].map(UnsafeCell::new), fired: AtomicU32::new(0) });
        let deliver = move |node: &Node, input: usize| {
            node.slots[input].with_mut(|slot| unsafe { *slot = input as u32 + 1 });
            let arrival = match design {
                Design::Sound => node.counter.arrive(input == 2, true),
                Design::RelaxedCount if node.counter.0.fetch_sub(1, Ordering::Relaxed) == 1 => Arrival::Dead,
                Design::RelaxedCount => Arrival::Pending,
            };
            if arrival != Arrival::Pending {
                assert_eq!(arrival, Arrival::Dead);
                for (i, slot) in node.slots.iter().enumerate() {
                    slot.with(|slot| assert_eq!(unsafe { *slot }, i as u32 + 1));
                }
                node.fired.fetch_add(1, Ordering::Relaxed);
            }
        };
        let threads = [0, 1].map(|input| {
            let node = node.clone();
            loom::thread::spawn(move || deliver(&node, input))
        });
        deliver(&node, 2);
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(node.fired.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_node_fires_once_and_sees_all_inputs() {
        check(|| node_of_three_inputs(Design::Sound));
    }

    #[test]
    fn rejected_relaxed_count() {
        rejects(|| node_of_three_inputs(Design::RelaxedCount));
    }

    /// Two live inputs and one control input; with `atomic` false each arrival is a load and a store.
    fn merge_of_two(atomic: bool) {
        struct Node {
            counter: Counter,
            slots: [UnsafeCell<u32>; 2],
            fired: AtomicU32,
        }
        let node = Arc::new(Node { counter: Counter::new(merge(2, 1)), slots: [0; 2].map(UnsafeCell::new), fired: AtomicU32::new(0) });
        let fire = |node: &Node| {
            let winner = node.counter.winner();
            node.slots[winner as usize].with(|slot| assert_eq!(unsafe { *slot }, winner + 1));
            node.fired.fetch_add(1, Ordering::Relaxed);
        };
        let deliver = move |node: &Node, input: u32| {
            node.slots[input as usize].with_mut(|slot| unsafe { *slot = input + 1 });
            match node.counter.merge_live(input, atomic) {
                None => node.slots[input as usize].with_mut(|slot| unsafe { *slot = 0 }),
                Some(Arrival::Live) => fire(node),
                Some(arrival) => assert_eq!(arrival, Arrival::Pending),
            }
        };
        let threads = [0, 1].map(|input| {
            let node = node.clone();
            loom::thread::spawn(move || deliver(&node, input))
        });
        if node.counter.merge_control(atomic) == Arrival::Live {
            fire(&node);
        }
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(node.fired.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_merge_has_one_winner() {
        check(|| merge_of_two(true));
    }

    #[test]
    fn rejected_merge_that_is_not_atomic() {
        rejects(|| merge_of_two(false));
    }

    #[test]
    fn a_merge_of_dead_inputs_is_dead_once() {
        check(|| {
            let counter = Arc::new(Counter::new(merge(2, 1)));
            let threads = [0, 1].map(|_| {
                let counter = counter.clone();
                loom::thread::spawn(move || u32::from(counter.merge_dead(false, true) == Arrival::Dead))
            });
            let mut fired = u32::from(counter.merge_control(true) == Arrival::Dead);
            for thread in threads {
                fired += thread.join().unwrap();
            }
            assert_eq!(fired, 1);
        });
    }
}

/// Tokens of two variables move through the iterations of one frame, as in `frames.rs`.
mod iterations {
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Design {
        Sound,
        /// A parked token is left to others, without a look whether the place became free.
        NoSecondLook,
        /// The two sides of parking are acquire and release only.
        NoFence,
        /// An iteration does not wait for its predecessor.
        NoPredecessor,
        /// References are dropped without order.
        RelaxedRefs,
        /// The place of a completed iteration is freed after the successor's reference is dropped.
        SuccessorFirst,
    }

    const TOKENS: usize = 2;

    struct Iteration {
        refs: Refs,
        parked: Parked,
        /// What a token does in the iteration, and its value while it is parked.
        work: [UnsafeCell<u32>; TOKENS],
        parking: [UnsafeCell<u32>; TOKENS],
        complete: AtomicBool,
    }

    pub(super) struct Frame {
        design: Design,
        ring: Vec<RingEntry>,
        enters: Enters,
        iterations: Vec<Iteration>,
        ended: AtomicU32,
    }

    type Ready = Vec<(usize, usize)>;

    impl Frame {
        fn new(design: Design, k: usize, length: usize) -> Frame {
            let iteration = |i| Iteration {
                // Iteration 0 is worked on by both tokens; later ones have their creator and their predecessor.
                refs: Refs::new(if i > 0 && design == Design::NoPredecessor { 1 } else { 2 }),
                parked: Parked::new(),
                work: [0; TOKENS].map(UnsafeCell::new),
                parking: [0; TOKENS].map(UnsafeCell::new),
                complete: AtomicBool::new(false),
            };
            let ring = (0..k).map(|i| RingEntry::new(if i == 0 { RingWord::new(1, 0) } else { RingWord::FREE })).collect();
            Frame { design, ring, enters: Enters::new(0), iterations: (0..length).map(iteration).collect(), ended: AtomicU32::new(0) }
        }

        /// Moves tokens until none is left with this thread.
        fn run(&self, mut ready: Ready) {
            while let Some((token, i)) = ready.pop() {
                let iteration = &self.iterations[i];
                assert!(!iteration.complete.load(Ordering::Relaxed), "work on a complete iteration");
                iteration.work[token].with_mut(|work| unsafe { *work += 1 });
                if i + 1 < self.iterations.len() {
                    self.next_iteration(token, i, &mut ready);
                }
                self.release(i, 1, &mut ready);
            }
        }

        fn has_place(&self, number: usize) -> bool {
            let word = self.ring[number % self.ring.len()].load();
            word.is(number as u64) || (word.is_free() && self.enters.all_arrived())
        }

        fn next_iteration(&self, token: usize, i: usize, ready: &mut Ready) {
            if self.ring.len() > 1 && self.has_place(i + 1) {
                return self.deliver(i + 1, &[token], ready);
            }
            self.iterations[i].parking[token].with_mut(|value| unsafe { *value = token as u32 + 1 });
            match self.design {
                Design::NoFence => drop(self.iterations[i].parked.0.fetch_or(1 << token, Ordering::AcqRel)),
                _ => self.iterations[i].parked.park(token as u32, true),
            }
            if self.design != Design::NoSecondLook && self.ring.len() > 1 && self.has_place(i + 1) {
                self.unpark(i, ready);
            }
        }

        fn unpark(&self, from: usize, ready: &mut Ready) {
            let bits = self.iterations[from].parked.take(true);
            let tokens: Vec<_> = (0..TOKENS).filter(|t| bits >> t & 1 != 0).collect();
            for &token in &tokens {
                self.iterations[from].parking[token].with(|value| assert_eq!(unsafe { *value }, token as u32 + 1));
            }
            if !tokens.is_empty() {
                self.deliver(from + 1, &tokens, ready);
            }
        }

        fn deliver(&self, number: usize, tokens: &[usize], ready: &mut Ready) {
            let entry = &self.ring[number % self.ring.len()];
            let word = RingWord::new(number + 1, number as u64);
            let held = u64::from(!entry.load().is(number as u64) && entry.publish(word, true).is_ok());
            assert!(entry.load().is(number as u64), "the place belongs to another iteration");
            ready.extend(tokens.iter().map(|&token| (token, number)));
            let n = tokens.len() as u64;
            if n > held {
                self.iterations[number].refs.add(n - held, true);
            }
        }

        fn release(&self, i: usize, n: u64, ready: &mut Ready) {
            let last = match self.design {
                Design::RelaxedRefs => self.iterations[i].refs.0.fetch_sub(n, Ordering::Relaxed) == n,
                _ => self.iterations[i].refs.release(n, true),
            };
            if last {
                self.complete(i, ready);
            }
        }

        fn complete(&self, i: usize, ready: &mut Ready) {
            let iteration = &self.iterations[i];
            assert!(!iteration.complete.swap(true, Ordering::Relaxed), "complete twice");
            if i > 0 {
                assert!(self.iterations[i - 1].complete.load(Ordering::Relaxed), "complete before its predecessor");
            }
            // All tokens have been here, and what they wrote is seen.
            iteration.work.iter().for_each(|work| work.with_mut(|work| assert_eq!(unsafe { *work }, 1)));
            let k = self.ring.len();
            if k == 1 {
                return self.restart(i, ready);
            }
            if !self.ring[(i + 1) % k].load().is(i as u64 + 1) {
                self.ended.fetch_add(1, Ordering::Relaxed);
                return;
            }
            if self.design == Design::SuccessorFirst {
                self.release(i + 1, 1, ready);
            }
            self.ring[i % k].free(self.design != Design::NoFence);
            let newest = i + k - 1;
            if self.ring[newest % k].load().is(newest as u64) {
                self.unpark(newest, ready);
            }
            if !matches!(self.design, Design::NoPredecessor | Design::SuccessorFirst) {
                self.release(i + 1, 1, ready);
            }
        }

        /// The ring has one place: the completed iteration becomes the next one, here a new block of the model.
        fn restart(&self, i: usize, ready: &mut Ready) {
            if !self.iterations[i].parked.any() {
                self.ended.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let bits = self.iterations[i].parked.take(true);
            let tokens: Vec<_> = (0..TOKENS).filter(|t| bits >> t & 1 != 0).collect();
            self.iterations[i + 1].refs.reset(tokens.len() as u64);
            ready.extend(tokens.into_iter().map(|token| (token, i + 1)));
        }
    }

    fn two_tokens(design: Design, k: usize, length: usize) {
        let frame = Arc::new(Frame::new(design, k, length));
        let other = frame.clone();
        let thread = loom::thread::spawn(move || other.run(vec![(1, 0)]));
        frame.run(vec![(0, 0)]);
        thread.join().unwrap();
        assert_eq!(frame.ended.load(Ordering::Relaxed), 1, "the frame has not ended");
        assert!(frame.iterations.iter().all(|i| i.complete.load(Ordering::Relaxed)));
    }

    #[test]
    fn one_iteration_at_a_time() {
        check(|| two_tokens(Design::Sound, 1, 3));
    }

    #[test]
    fn two_iterations_at_once() {
        check(|| two_tokens(Design::Sound, 2, 3));
    }

    #[test]
    fn two_iterations_at_once_in_a_longer_loop() {
        check(|| two_tokens(Design::Sound, 2, 4));
    }

    #[test]
    fn three_iterations_at_once() {
        check(|| two_tokens(Design::Sound, 3, 4));
    }

    #[test]
    fn rejected_no_second_look() {
        rejects(|| two_tokens(Design::NoSecondLook, 2, 4));
    }

    #[test]
    fn rejected_no_fence() {
        rejects(|| two_tokens(Design::NoFence, 2, 4));
    }

    #[test]
    fn rejected_no_predecessor() {
        rejects(|| two_tokens(Design::NoPredecessor, 2, 3));
    }

    #[test]
    fn rejected_relaxed_references() {
        rejects(|| two_tokens(Design::RelaxedRefs, 2, 3));
    }

    #[test]
    fn rejected_successor_before_place() {
        rejects(|| two_tokens(Design::SuccessorFirst, 2, 4));
    }
}

/// Two Enters of one frame fire on two threads: one of them makes the frame, and the frame ends after both.
mod frames {
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
}

/// A run is cancelled while two threads move tokens; its blocks are freed when nobody uses them any more.
mod cancellation {
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Design {
        Sound,
        /// Work is handed over before it counts.
        OfferBeforeCount,
        /// A worker that stops drops the references of its items, so that iterations complete although others were left undone.
        ReleaseOnStop,
    }

    struct Run {
        design: Design,
        live: Live,
        cancelled: AtomicBool,
        offered: AtomicBool,
        refs: Refs,
        block: UnsafeCell<u32>,
        visits: [UnsafeCell<u32>; 2],
        completed: AtomicU32,
        destroyed: AtomicU32,
    }

    impl Run {
        /// Fires an item in the iteration, which has two.
        fn fire(&self, item: usize) {
            if self.cancelled.load(Ordering::Relaxed) {
                if self.design == Design::ReleaseOnStop && self.refs.release(1, true) {
                    self.complete();
                }
                return;
            }
            self.block.with(|_| ());
            self.visits[item].with_mut(|visit| unsafe { *visit += 1 });
            if self.refs.release(1, true) {
                self.complete();
            }
        }

        fn complete(&self) {
            self.visits.iter().for_each(|visit| visit.with(|visit| assert_eq!(unsafe { *visit }, 1, "complete without its work")));
            self.completed.fetch_add(1, Ordering::Relaxed);
        }

        /// Both threads find the end; the caller's thread frees the blocks then.
        fn destroy(&self) {
            self.block.with_mut(|block| unsafe { *block = u32::MAX });
            self.visits.iter().for_each(|visit| visit.with_mut(|visit| unsafe { *visit = 0 }));
            self.destroyed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn cancelled_run(design: Design) {
        let run = Arc::new(Run {
            design,
            live: Live::new(),
            cancelled: AtomicBool::new(false),
            offered: AtomicBool::new(false),
            refs: Refs::new(2),
            block: UnsafeCell::new(0),
            visits: [0; 2].map(UnsafeCell::new),
            completed: AtomicU32::new(0),
            destroyed: AtomicU32::new(0),
        });
        let canceller = run.clone();
        let canceller = loom::thread::spawn(move || canceller.cancelled.store(true, Ordering::Relaxed));
        let helper = run.clone();
        let helper = loom::thread::spawn(move || {
            if helper.offered.swap(false, Ordering::AcqRel) {
                helper.fire(1);
                if helper.live.finish() {
                    helper.destroy();
                }
            }
        });
        // The caller's thread hands one item over and fires the other one.
        if design == Design::OfferBeforeCount {
            run.offered.swap(true, Ordering::AcqRel);
            run.live.add();
        } else {
            run.live.add();
            run.offered.swap(true, Ordering::AcqRel);
        }
        run.fire(0);
        if run.offered.swap(false, Ordering::AcqRel) {
            run.fire(1);
            assert!(!run.live.finish());
        }
        if run.live.finish() {
            run.destroy();
        }
        canceller.join().unwrap();
        helper.join().unwrap();
        assert!(run.live.has_ended());
        assert_eq!(run.destroyed.load(Ordering::Relaxed), 1);
        assert!(run.completed.load(Ordering::Relaxed) <= 1);
    }

    #[test]
    fn blocks_outlive_their_users() {
        check(|| cancelled_run(Design::Sound));
    }

    #[test]
    fn rejected_offer_before_count() {
        rejects(|| cancelled_run(Design::OfferBeforeCount));
    }

    #[test]
    fn rejected_release_on_stop() {
        rejects(|| cancelled_run(Design::ReleaseOnStop));
    }
}

/// A helper leaves while work is handed over: somebody looks at the queue.
mod leaving {
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Design {
        Sound,
        NoFence,
        NoLastLook,
    }

    fn hand_over(design: Design) {
        let participants = Arc::new(Participants::new());
        participants.rejoin();
        let queue = Arc::new(AtomicBool::new(false));
        let helper = {
            let (participants, queue) = (participants.clone(), queue.clone());
            loom::thread::spawn(move || {
                match design {
                    Design::NoFence => drop(participants.0.fetch_sub(1, Ordering::AcqRel)),
                    _ => participants.leave(),
                }
                // True where the helper stays for the work.
                design != Design::NoLastLook && queue.load(Ordering::Acquire) && participants.join(2)
            })
        };
        queue.store(true, Ordering::Release);
        let called = match design {
            Design::NoFence => participants.0.load(Ordering::Relaxed) < 2,
            _ => participants.join(2),
        };
        assert!(helper.join().unwrap() || called, "work that nobody looks at");
    }

    #[test]
    fn work_is_seen() {
        check(|| hand_over(Design::Sound));
    }

    #[test]
    fn rejected_no_fence() {
        rejects(|| hand_over(Design::NoFence));
    }

    #[test]
    fn rejected_no_last_look() {
        rejects(|| hand_over(Design::NoLastLook));
    }
}
