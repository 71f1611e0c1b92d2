//! Tokens of loop variables move through the iterations of one frame, as in `frames.rs`: parking, completion, recycling of blocks.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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
    /// An iteration's number is read from its block.
    NumberInBlock,
    /// The whole number is compared with the 16 bits in the ring.
    NumberNotReduced,
    /// A completed block goes to the free list while its ring entry still names it.
    EntryKept,
}

const MAX_TOKENS: usize = 3;

struct Iteration {
    refs: Refs,
    parked: Parked,
    /// The number of the iteration that the block holds; `NO_NUMBER` for a free block. Written by the block's owner.
    number: UnsafeCell<u64>,
    /// The data that each token's work writes in the iteration, and the value of each token while it is parked.
    work: [UnsafeCell<u32>; MAX_TOKENS],
    parking: [UnsafeCell<u32>; MAX_TOKENS],
}

const NO_NUMBER: u64 = u64::MAX;

/// A loop of `length` iterations, numbered from `base` on.
struct Frame {
    design: Design,
    tokens: usize,
    base: u64,
    length: usize,
    ring: Vec<RingEntry>,
    enters: Enters,
    blocks: Vec<Iteration>,
    /// Counts for the assertions. They are not part of the protocol, so they are std's atomics, which add no interleavings to the model.
    fresh: AtomicUsize,
    completed: AtomicUsize,
    ended: AtomicUsize,
}

impl Frame {
    fn new(design: Design, tokens: usize, k: usize, length: usize, base: u64) -> Frame {
        let block = |i| Iteration {
            refs: Refs::new(if i == 0 { tokens as u64 } else { 0 }),
            parked: Parked::new(),
            number: UnsafeCell::new(if i == 0 { base } else { NO_NUMBER }),
            work: [0; MAX_TOKENS].map(UnsafeCell::new),
            parking: [0; MAX_TOKENS].map(UnsafeCell::new),
        };
        let first = (base % k as u64) as usize;
        let ring = (0..k).map(|i| RingEntry::new(if i == first { RingWord::new(1, base) } else { RingWord::FREE })).collect();
        Frame {
            design,
            tokens,
            base,
            length,
            ring,
            enters: Enters::new(0),
            blocks: (0..length + tokens).map(block).collect(),
            fresh: AtomicUsize::new(1),
            completed: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        }
    }

    fn entry(&self, number: u64) -> &RingEntry {
        &self.ring[(number % self.ring.len() as u64) as usize]
    }

    fn number(&self, block: usize) -> u64 {
        self.blocks[block].number.with(|number| unsafe { *number })
    }

    /// Returns true if the word names iteration `number`.
    fn is(&self, word: RingWord, number: u64) -> bool {
        match self.design {
            Design::NumberInBlock => !word.is_free() && self.number(word.address() - 1) == number,
            Design::NumberNotReduced => !word.is_free() && word.0 >> 48 == number,
            _ => word.is(number),
        }
    }

    fn has_place(&self, number: u64) -> bool {
        let word = self.entry(number).load();
        self.is(word, number) || (word.is_free() && self.enters.all_arrived())
    }

    fn tokens_of(&self, bits: u64) -> Vec<usize> {
        (0..self.tokens).filter(|token| bits >> token & 1 != 0).collect()
    }
}

/// A thread with its items and its free blocks.
struct Thread<'f> {
    frame: &'f Frame,
    ready: Vec<(usize, usize)>,
    pool: Vec<usize>,
}

impl Thread<'_> {
    /// Moves tokens until none is left with this thread.
    fn run(&mut self) {
        while let Some((token, block)) = self.ready.pop() {
            let number = self.frame.number(block);
            assert_ne!(number, NO_NUMBER, "work on a free block");
            self.frame.blocks[block].work[token].with_mut(|work| unsafe { *work += 1 });
            if number - self.frame.base + 1 < self.frame.length as u64 {
                self.next_iteration(token, block, number + 1);
            }
            self.release(block, 1);
        }
    }

    fn next_iteration(&mut self, token: usize, block: usize, next: u64) {
        let (frame, iteration) = (self.frame, &self.frame.blocks[block]);
        let parallel = frame.ring.len() > 1;
        if parallel && frame.has_place(next) {
            return self.deliver(next, &[token]);
        }
        iteration.parking[token].with_mut(|value| unsafe { *value = token as u32 + 1 });
        match frame.design {
            Design::NoFence => drop(iteration.parked.0.fetch_or(1 << token, Ordering::AcqRel)),
            _ => iteration.parked.park(token as u32, true),
        }
        if frame.design != Design::NoSecondLook && parallel && frame.has_place(next) {
            self.unpark(block);
        }
    }

    fn unpark(&mut self, from: usize) {
        let tokens = self.take_parked(from);
        if !tokens.is_empty() {
            self.deliver(self.frame.number(from) + 1, &tokens);
        }
    }

    fn take_parked(&mut self, from: usize) -> Vec<usize> {
        let iteration = &self.frame.blocks[from];
        let tokens = self.frame.tokens_of(iteration.parked.take(true));
        for &token in &tokens {
            iteration.parking[token].with_mut(|value| assert_eq!(std::mem::take(unsafe { &mut *value }), token as u32 + 1));
        }
        tokens
    }

    fn deliver(&mut self, number: u64, tokens: &[usize]) {
        let frame = self.frame;
        let entry = frame.entry(number);
        let word = entry.load();
        let (target, held) = if frame.is(word, number) { (word.address() - 1, 0) } else { self.create(entry, number) };
        self.ready.extend(tokens.iter().map(|&token| (token, target)));
        let n = tokens.len() as u64;
        if n > held {
            frame.blocks[target].refs.add(n - held, true);
        }
    }

    /// Makes iteration `number`, if no other thread does; with the references held.
    fn create(&mut self, entry: &RingEntry, number: u64) -> (usize, u64) {
        let frame = self.frame;
        let block = self.pool.pop().unwrap_or_else(|| frame.fresh.fetch_add(1, Relaxed));
        let iteration = &frame.blocks[block];
        iteration.number.with_mut(|n| assert_eq!(std::mem::replace(unsafe { &mut *n }, number), NO_NUMBER, "the block is in use"));
        iteration.work.iter().for_each(|work| work.with_mut(|work| unsafe { *work = 0 }));
        // The creator and the predecessor.
        iteration.refs.reset(if frame.design == Design::NoPredecessor { 1 } else { 2 });
        match entry.publish(RingWord::new(block + 1, number), true) {
            Ok(()) => (block, 1),
            Err(other) => {
                assert!(frame.is(other, number), "the place belongs to another iteration");
                self.free(block);
                (other.address() - 1, 0)
            }
        }
    }

    fn free(&mut self, block: usize) {
        self.frame.blocks[block].number.with_mut(|number| unsafe { *number = NO_NUMBER });
        self.pool.push(block);
    }

    fn release(&mut self, block: usize, n: u64) {
        let refs = &self.frame.blocks[block].refs;
        let last = match self.frame.design {
            Design::RelaxedRefs => refs.0.fetch_sub(n, Ordering::Relaxed) == n,
            _ => refs.release(n, true),
        };
        if last {
            self.complete(block);
        }
    }

    fn complete(&mut self, block: usize) {
        let (frame, iteration) = (self.frame, &self.frame.blocks[block]);
        let number = frame.number(block);
        assert_eq!(frame.completed.fetch_add(1, Relaxed) as u64, number - frame.base, "complete twice, or before its predecessor");
        // All tokens have been here, and what they wrote is seen.
        iteration.work[..frame.tokens].iter().for_each(|work| work.with_mut(|work| assert_eq!(unsafe { *work }, 1)));
        let k = frame.ring.len() as u64;
        if k == 1 {
            return self.restart(block, number);
        }
        let word = frame.entry(number + 1).load();
        if !frame.is(word, number + 1) {
            frame.ended.fetch_add(1, Relaxed);
            return;
        }
        let successor = word.address() - 1;
        if frame.design == Design::SuccessorFirst {
            self.release(successor, 1);
        }
        if frame.design == Design::EntryKept {
            self.free(block);
        } else {
            frame.entry(number).free(frame.design != Design::NoFence);
            self.free(block);
        }
        let newest = number + k - 1;
        let word = frame.entry(newest).load();
        if frame.is(word, newest) {
            self.unpark(word.address() - 1);
        }
        if !matches!(frame.design, Design::NoPredecessor | Design::SuccessorFirst) {
            self.release(successor, 1);
        }
    }

    /// The ring has one place: the completed block becomes the next iteration.
    fn restart(&mut self, block: usize, number: u64) {
        let (frame, iteration) = (self.frame, &self.frame.blocks[block]);
        if !iteration.parked.any() {
            frame.ended.fetch_add(1, Relaxed);
            return;
        }
        let tokens = self.take_parked(block);
        iteration.number.with_mut(|n| unsafe { *n = number + 1 });
        iteration.work.iter().for_each(|work| work.with_mut(|work| unsafe { *work = 0 }));
        iteration.refs.reset(tokens.len() as u64);
        self.ready.extend(tokens.into_iter().map(|token| (token, block)));
    }
}

/// Each token starts in the first iteration on a thread of its own.
fn run(design: Design, tokens: usize, k: usize, length: usize, base: u64) {
    let frame = Arc::new(Frame::new(design, tokens, k, length, base));
    let start = |frame: &Frame, token| Thread { frame, ready: vec![(token, 0)], pool: Vec::new() }.run();
    let threads: Vec<_> = (1..tokens)
        .map(|token| {
            let frame = frame.clone();
            loom::thread::spawn(move || start(&frame, token))
        })
        .collect();
    start(&frame, 0);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(frame.ended.load(Relaxed), 1, "the frame has not ended");
    assert_eq!(frame.completed.load(Relaxed), length);
}

#[test]
fn one_iteration_at_a_time() {
    check(|| run(Design::Sound, 2, 1, 3, 0));
}

#[test]
fn two_iterations_at_once() {
    check(|| run(Design::Sound, 2, 2, 3, 0));
}

#[test]
fn two_iterations_at_once_in_a_longer_loop() {
    check(|| run(Design::Sound, 2, 2, 4, 0));
}

#[test]
fn three_iterations_at_once() {
    check(|| run(Design::Sound, 2, 3, 4, 0));
}

#[test]
fn numbers_beyond_16_bits() {
    check(|| run(Design::Sound, 2, 2, 4, 65_534));
}

#[test]
fn three_tokens_one_iteration_at_a_time() {
    bounded(2, || run(Design::Sound, 3, 1, 3, 0)).unwrap();
}

#[test]
fn three_tokens_two_iterations_at_once() {
    bounded(2, || run(Design::Sound, 3, 2, 3, 0)).unwrap();
}

#[test]
fn rejected_no_second_look() {
    rejects(|| run(Design::NoSecondLook, 2, 2, 4, 0));
}

#[test]
fn rejected_no_fence() {
    rejects(|| run(Design::NoFence, 2, 2, 4, 0));
}

#[test]
fn rejected_no_predecessor() {
    rejects(|| run(Design::NoPredecessor, 2, 2, 3, 0));
}

#[test]
fn rejected_relaxed_references() {
    rejects(|| run(Design::RelaxedRefs, 2, 2, 3, 0));
}

#[test]
fn rejected_successor_before_place() {
    rejects(|| run(Design::SuccessorFirst, 2, 2, 4, 0));
}

#[test]
fn rejected_number_in_block() {
    rejects(|| run(Design::NumberInBlock, 2, 2, 4, 0));
}

#[test]
fn rejected_number_not_reduced() {
    rejects(|| run(Design::NumberNotReduced, 2, 2, 4, 65_534));
}

#[test]
fn rejected_entry_kept() {
    rejects(|| run(Design::EntryKept, 2, 2, 4, 0));
}

#[test]
fn rejected_three_tokens_no_predecessor() {
    assert!(bounded(2, || run(Design::NoPredecessor, 3, 2, 3, 0)).is_err());
}

#[test]
fn rejected_three_tokens_no_second_look() {
    assert!(bounded(2, || run(Design::NoSecondLook, 3, 2, 4, 0)).is_err());
}
