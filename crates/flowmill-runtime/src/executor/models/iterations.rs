//! Tokens of two variables move through the iterations of one frame, as in `frames.rs`.

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

struct Frame {
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
