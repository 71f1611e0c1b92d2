//! Loops: entering and leaving frames, starting iterations, and completing them.

use super::block::{Frame, Iteration, Slot};
use super::protocol::RingWord;
use super::sync::{AtomicPtr, Ordering};
use super::tables::{FrameTable, Kind, Node};
use super::worker::Worker;
use flowmill_tensor::{Result, bail};
use std::ptr::{NonNull, null_mut};

/// An iteration to deliver to, with what the caller must settle there.
struct Target {
    iteration: *const Iteration,
    ready: u64,
    held: u64,
}

fn ring_word(iteration: NonNull<Iteration>, number: u64) -> RingWord {
    RingWord::new(iteration.as_ptr().expose_provenance(), number)
}

fn iteration_of(word: RingWord) -> *const Iteration {
    std::ptr::with_exposed_provenance(word.address())
}

impl Worker<'_> {
    fn create_iteration(&mut self, t: &FrameTable, counters: &[u64], frame: *const Frame, number: u64, refs: u64) -> NonNull<Iteration> {
        self.run.count_blocks(1);
        Iteration::create(self.pool(), t, counters, frame, number, refs)
    }

    /// # Safety
    /// Nobody uses the iteration any more, and its slots are empty.
    unsafe fn free_iteration(&mut self, t: &FrameTable, iteration: *const Iteration) {
        self.run.count_blocks(-1);
        if let Some(block) = NonNull::new(iteration.cast_mut()) {
            // SAFETY: made by `create` for this frame.
            unsafe { self.pool().put(block.cast(), t.layouts.iteration_bytes) };
        }
    }

    /// # Safety
    /// Nobody uses the frame any more, and its invariants are dropped.
    unsafe fn free_frame(&mut self, t: &FrameTable, frame: *const Frame) {
        self.run.count_blocks(-1);
        if let Some(block) = NonNull::new(frame.cast_mut()) {
            // SAFETY: made by `create` for this frame.
            unsafe { self.pool().put(block.cast(), t.layouts.frame_bytes) };
        }
    }

    /// Fires an Enter: its value goes into iteration 0 of the child frame, which the first Enter to arrive creates.
    ///
    /// # Safety
    /// The caller works on `iteration` under a reference.
    pub(super) unsafe fn enter(&mut self, node: &Node, iteration: *const Iteration, value: Slot) {
        let t = &self.tables.frames[node.arg as usize];
        // SAFETY: the frame lives until all its Enters have arrived and this one has not; so does iteration 0, by the reference that stands for
        // this Enter, and with it its entry of the ring.
        unsafe {
            let place = (*iteration).child(t.child_index);
            let mut frame: *const Frame = place.load(Ordering::Acquire);
            if frame.is_null() {
                frame = self.create_frame(t, place, iteration);
            }
            let first = iteration_of((*frame).ring(0).load());
            let dead = value.is_none();
            let mut ready = 0;
            if node.kind == Kind::EnterConst {
                // Published by the counters of the consumers and by `enters`.
                *(*frame).invariants.add(node.extra as usize) = value;
                ready += self.signal(first, node.group, dead);
            } else {
                ready += self.deliver(first, node.group, value);
            }
            ready += self.signal(first, node.group + 1, dead);
            if (*frame).enters.arrive(self.shared) && t.parallel_iterations > 1 {
                self.unpark(t, frame, first);
            }
            self.settle(first, ready, 1);
        }
    }

    unsafe fn create_frame(&mut self, t: &FrameTable, place: &AtomicPtr<Frame>, parent: *const Iteration) -> *const Frame {
        self.run.count_blocks(1);
        let frame = Frame::create(self.pool(), t, parent).as_ptr();
        let roots = t.first_roots.len() as u64;
        let first = self.create_iteration(t, &t.first, frame, 0, u64::from(t.num_enters) + roots);
        // SAFETY: the frame is new; the parent is kept alive by the caller.
        unsafe {
            let published = (*frame).ring(0).publish(ring_word(first, 0), false);
            debug_assert!(published.is_ok());
            if !self.shared {
                place.store(frame, Ordering::Relaxed);
            } else if let Err(other) = place.compare_exchange(null_mut(), frame, Ordering::AcqRel, Ordering::Acquire) {
                self.free_iteration(t, first.as_ptr());
                self.free_frame(t, frame);
                return other;
            }
            // Before the frame can end: this thread's Enter has not arrived.
            (*parent).refs.add(1, self.shared);
            let mut ready = 0;
            for &root in &t.first_roots {
                ready += self.ready(first.as_ptr(), root, false);
            }
            self.settle(first.as_ptr(), ready, roots);
        }
        frame
    }

    /// Fires a live Exit: its value goes to the parent, once in the life of the frame.
    ///
    /// # Safety
    /// The caller works on `iteration` under a reference.
    pub(super) unsafe fn exit(&mut self, node: &Node, iteration: *const Iteration, value: Slot) -> Result<()> {
        // SAFETY: the iteration keeps its frame alive, and the frame the iteration around it.
        unsafe {
            let frame = (*iteration).frame;
            if (*frame).exited(node.arg).swap(true, Ordering::Relaxed) {
                bail!(InvalidArgument, "an Exit is live in more than one iteration of its loop");
            }
            let parent = (*frame).parent;
            let ready = self.deliver(parent, node.group, value) + self.signal(parent, node.group + 1, false);
            self.settle(parent, ready, 0);
        }
        Ok(())
    }

    /// Fires a live NextIteration: its value goes to the next iteration, or is parked until that iteration has a place in the ring.
    ///
    /// # Safety
    /// The caller works on `iteration` under a reference.
    pub(super) unsafe fn next_iteration(&mut self, node: &Node, iteration: *const Iteration, value: Slot) {
        // SAFETY: the iteration keeps its frame alive; the parking slot belongs to this node until its bit is set.
        unsafe {
            let frame = (*iteration).frame;
            let t = &self.tables.frames[(*frame).frame_id as usize];
            let next = (*iteration).number.get() + 1;
            let parallel = t.parallel_iterations > 1;
            if parallel && has_place(t, frame, next) {
                let mut target = self.next_target(t, frame, next);
                target.ready += self.give_next(node, target.iteration, value);
                return self.settle(target.iteration, target.ready, target.held);
            }
            (*iteration).slots.add(t.parking_slot(node.arg as usize)).write(value);
            (*iteration).parked(node.arg as usize / 64).park(node.arg % 64, self.shared);
            // With one iteration at a time, the token waits for the completion of this one.
            if parallel && has_place(t, frame, next) {
                self.unpark(t, frame, iteration);
            }
        }
    }

    unsafe fn give_next(&mut self, node: &Node, next: *const Iteration, value: Slot) -> u64 {
        // SAFETY: passed on to the caller.
        unsafe { self.deliver(next, node.group, value) + self.signal(next, node.group + 1, false) }
    }

    /// Moves the tokens parked in `from` to the next iteration, which has a place.
    ///
    /// # Safety
    /// The caller holds something that keeps `from` incomplete, and so the next iteration too.
    unsafe fn unpark(&mut self, t: &FrameTable, frame: *const Frame, from: *const Iteration) {
        let mut target: Option<Target> = None;
        for word in 0..t.parked_words() {
            // SAFETY: passed on to the caller.
            let mut bits = unsafe { (*from).parked(word).take(self.shared) };
            while bits != 0 {
                let i = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                // SAFETY: the bit makes this thread the owner of the parked value; it was set before.
                unsafe {
                    let value = (*(*from).slots.add(t.parking_slot(i))).take();
                    let next = (*from).number.get() + 1;
                    let target = match &mut target {
                        Some(target) => target,
                        None => target.insert(self.next_target(t, frame, next)),
                    };
                    let node = &self.tables.nodes[t.next_iterations[i] as usize];
                    target.ready += self.give_next(node, target.iteration, value);
                }
            }
        }
        if let Some(target) = target {
            // SAFETY: the iteration is not complete, see above.
            unsafe { self.settle(target.iteration, target.ready, target.held) };
        }
    }

    /// Returns iteration `number`, which is created if it does not exist.
    ///
    /// # Safety
    /// The caller holds something that keeps iteration `number - 1` incomplete, and `number` has a place.
    unsafe fn next_target(&mut self, t: &FrameTable, frame: *const Frame, number: u64) -> Target {
        // SAFETY: the frame lives as long as its iterations.
        let entry = unsafe { (*frame).ring(number % u64::from(t.parallel_iterations)) };
        let existing = |word: RingWord| Target { iteration: iteration_of(word), ready: 0, held: 0 };
        let word = entry.load();
        if word.is(number) {
            return existing(word);
        }
        // One reference for this thread, one for the predecessor, which is not complete.
        let created = self.create_iteration(t, &t.later, frame, number, 2);
        match entry.publish(ring_word(created, number), self.shared) {
            Err(other) => {
                debug_assert!(other.is(number));
                // SAFETY: nobody has seen it.
                unsafe { self.free_iteration(t, created.as_ptr()) };
                existing(other)
            }
            Ok(()) => {
                let mut ready = 0;
                for &root in &t.later_roots {
                    ready += self.ready(created.as_ptr(), root, false);
                }
                Target { iteration: created.as_ptr(), ready, held: 1 }
            }
        }
    }

    /// Completes an iteration: its successor may then complete, a waiting iteration may start, or the frame ends.
    ///
    /// # Safety
    /// The caller dropped the iteration's last reference.
    pub(super) unsafe fn complete(&mut self, iteration: *const Iteration) {
        // SAFETY: the iteration is this thread's; its frame lives until its last iteration is complete.
        unsafe {
            let frame = (*iteration).frame;
            let t = &self.tables.frames[(*frame).frame_id as usize];
            if t.parallel_iterations == 1 {
                return if self.has_parked(t, iteration) { self.restart(t, frame, iteration) } else { self.end_last(t, frame, iteration) };
            }
            let number = (*iteration).number.get();
            let k = u64::from(t.parallel_iterations);
            let word = (*frame).ring((number + 1) % k).load();
            if !word.is(number + 1) {
                return self.end_last(t, frame, iteration);
            }
            let successor = iteration_of(word);
            self.sweep(t, iteration);
            (*frame).ring(number % k).free(self.shared);
            self.free_iteration(t, iteration);
            // The newest iteration there can be is the one whose tokens wait for the place that is free now.
            let newest = (*frame).ring((number + k - 1) % k).load();
            if newest.is(number + k - 1) {
                self.unpark(t, frame, iteration_of(newest));
            }
            // Last, because this reference keeps all later iterations and the frame alive.
            self.settle(successor, 0, 1);
        }
    }

    /// # Safety
    /// The caller owns the iteration.
    unsafe fn has_parked(&self, t: &FrameTable, iteration: *const Iteration) -> bool {
        // SAFETY: passed on to the caller.
        (0..t.parked_words()).any(|word| unsafe { (*iteration).parked(word).any() })
    }

    /// Turns the block of a completed iteration into the next iteration, in a loop that runs one iteration at a time.
    ///
    /// # Safety
    /// The caller dropped the iteration's last reference.
    unsafe fn restart(&mut self, t: &FrameTable, frame: *const Frame, iteration: *const Iteration) {
        // SAFETY: the iteration is this thread's alone until its tokens are delivered: what gets ready meanwhile is kept from other threads,
        // where a NextIteration that fires would park its new token over the old one.
        unsafe {
            self.hold_back();
            for i in 0..t.num_input_slots {
                *(*iteration).slots.add(i) = None;
            }
            (*iteration).reset_counters(&t.later);
            (*iteration).number.set((*iteration).number.get() + 1);
            (*iteration).refs.reset(1);
            let mut ready = 0;
            for &root in &t.later_roots {
                ready += self.ready(iteration, root, false);
            }
            for word in 0..t.parked_words() {
                let mut bits = (*iteration).parked(word).take(self.shared);
                while bits != 0 {
                    let i = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let value = (*(*iteration).slots.add(t.parking_slot(i))).take();
                    ready += self.give_next(&self.tables.nodes[t.next_iterations[i] as usize], iteration, value);
                }
            }
            debug_assert!((*frame).enters.all_arrived());
            self.offer_held_back();
            self.settle(iteration, ready, 1);
        }
    }

    unsafe fn end_last(&mut self, t: &FrameTable, frame: *const Frame, iteration: *const Iteration) {
        // SAFETY: no iteration of the frame is left besides this one, which is the caller's.
        unsafe {
            self.sweep(t, iteration);
            self.free_iteration(t, iteration);
            self.end_frame(t, frame);
        }
    }

    /// Ends a frame whose last iteration is complete: Exits that were never live deliver dead values.
    unsafe fn end_frame(&mut self, t: &FrameTable, frame: *const Frame) {
        // SAFETY: nobody else uses the frame; it holds a reference of its parent.
        unsafe {
            let parent = (*frame).parent;
            let mut ready = 0;
            for (i, &exit) in t.exits.iter().enumerate() {
                if !(*frame).exited(i as u32).load(Ordering::Relaxed) {
                    let node = &self.tables.nodes[exit as usize];
                    ready += self.deliver(parent, node.group, None) + self.signal(parent, node.group + 1, true);
                }
            }
            self.drop_invariants(t, frame);
            (*parent).child(t.child_index).store(null_mut(), Ordering::Relaxed);
            self.free_frame(t, frame);
            self.settle(parent, ready, 1);
        }
    }

    /// # Safety
    /// Nobody uses the frame any more.
    unsafe fn drop_invariants(&self, t: &FrameTable, frame: *const Frame) {
        for i in 0..t.num_invariants {
            // SAFETY: passed on to the caller.
            unsafe { *(*frame).invariants.add(i) = None };
        }
    }

    /// Drops values that were never used because another input of the node never arrived. A value that reached a Merge too late is dropped by the
    /// thread that delivered it, under a reference of the iteration.
    ///
    /// # Safety
    /// Nobody uses the iteration any more.
    unsafe fn sweep(&self, t: &FrameTable, iteration: *const Iteration) {
        for i in 0..t.num_slots() {
            // SAFETY: passed on to the caller.
            unsafe { *(*iteration).slots.add(i) = None };
        }
    }

    /// Frees an iteration and all frames below it. Called for the root at the end of a run, in any state. This is not recursive, because frames may
    /// be nested deeper than the stack allows.
    ///
    /// # Safety
    /// The run has ended.
    pub(super) unsafe fn destroy_tree(&mut self, root: *const Iteration) {
        debug_assert!(self.completed().is_empty());
        self.completed().push(root);
        while let Some(iteration) = self.completed().pop() {
            // SAFETY: no other thread uses any block; what is reachable has not been freed.
            unsafe {
                let t = &self.tables.frames[(*iteration).frame_id as usize];
                for child in 0..t.num_children as u32 {
                    let frame = (*iteration).child(child).load(Ordering::Relaxed);
                    if frame.is_null() {
                        continue;
                    }
                    let t = &self.tables.frames[(*frame).frame_id as usize];
                    for i in 0..u64::from(t.parallel_iterations) {
                        let word = (*frame).ring(i).load();
                        if !word.is_free() {
                            self.completed().push(iteration_of(word));
                        }
                    }
                    self.drop_invariants(t, frame);
                    self.free_frame(t, frame);
                }
                self.sweep(t, iteration);
                self.free_iteration(t, iteration);
            }
        }
    }
}

/// Returns true if the iteration exists, or if its block may be made now.
unsafe fn has_place(t: &FrameTable, frame: *const Frame, number: u64) -> bool {
    // SAFETY: passed on to the caller.
    unsafe {
        let word = (*frame).ring(number % u64::from(t.parallel_iterations)).load();
        word.is(number) || (word.is_free() && (*frame).enters.all_arrived())
    }
}
