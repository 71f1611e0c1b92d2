//! The state words of the executor, and the memory ordering of each change. README.md explains why the orderings suffice. The loom models use these
//! types.
//!
//! `shared` is false until a run hands work to a second thread. Until then one thread owns everything, and plain loads and stores replace
//! read-modify-write instructions.

use super::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Adds to a word and returns its old value. With `shared`, the addition is atomic and has the ordering `order`.
#[inline(always)]
fn add(word: &AtomicU64, delta: u64, shared: bool, order: Ordering) -> u64 {
    if shared {
        word.fetch_add(delta, order)
    } else {
        let old = word.load(Ordering::Relaxed);
        word.store(old.wrapping_add(delta), Ordering::Relaxed);
        old
    }
}

/// The effect of an arrival on its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// The node still waits for other arrivals, or has fired already.
    Pending,
    /// This arrival was the last one and the node fires live.
    Live,
    /// This arrival was the last one and the node fires dead.
    Dead,
}

/// Counts what a node still waits for in one iteration.
///
/// An ordinary node: bits 0–31 arrivals missing, bits 32–63 dead arrivals.
/// A Merge: bits 0–23 control inputs missing, bits 24–43 data inputs that have not arrived dead, bits 44–63 the decision: 0 is open,
/// [`MERGE_DEAD`] dead, else the winning input plus 1. It fires once, when it is decided and no control input is missing.
#[repr(transparent)]
pub(super) struct Counter(AtomicU64);

const DEAD: u64 = 1 << 32;
const MERGE_DATA: u64 = 1 << 24;
const MERGE_CONTROLS: u64 = MERGE_DATA - 1;
const MERGE_DECISION: u64 = 1 << 44;
const MERGE_DEAD: u64 = (1 << 20) - 1;

/// The largest number of data inputs of a Merge.
pub(super) const MAX_MERGE_INPUTS: usize = (1 << 20) - 2;
/// The largest number of control inputs of a Merge.
pub(super) const MAX_MERGE_CONTROLS: usize = MERGE_CONTROLS as usize;

/// Returns the initial value of an ordinary node's counter.
pub(super) fn ordinary(pending: u32) -> u64 {
    u64::from(pending)
}

/// Returns the initial value of a Merge's counter. The numbers must be within the limits above.
pub(super) fn merge(data: usize, controls: usize) -> u64 {
    data as u64 * MERGE_DATA + controls as u64
}

fn decision(word: u64) -> u64 {
    word / MERGE_DECISION
}

fn merge_arrival(word: u64) -> Arrival {
    match decision(word) {
        0 => Arrival::Pending,
        _ if word & MERGE_CONTROLS != 0 => Arrival::Pending,
        MERGE_DEAD => Arrival::Dead,
        _ => Arrival::Live,
    }
}

impl Counter {
    pub(super) fn new(word: u64) -> Counter {
        Counter(AtomicU64::new(word))
    }

    /// Records the arrival of an input of an ordinary node. Acquire-release ordering: the thread that fires the node sees the values of all inputs.
    #[inline(always)]
    pub(super) fn arrive(&self, dead: bool, shared: bool) -> Arrival {
        let delta = (if dead { DEAD } else { 0 }).wrapping_sub(1);
        let old = add(&self.0, delta, shared, Ordering::AcqRel);
        debug_assert!(old as u32 != 0, "an arrival at a node that has fired");
        if old as u32 != 1 {
            Arrival::Pending
        } else if dead || old >= DEAD {
            Arrival::Dead
        } else {
            Arrival::Live
        }
    }

    fn update(&self, shared: bool, change: impl Fn(u64) -> u64) -> (u64, u64) {
        let mut old = self.0.load(Ordering::Acquire);
        loop {
            let new = change(old);
            if !shared {
                self.0.store(new, Ordering::Relaxed);
                return (old, new);
            }
            match self.0.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return (old, new),
                Err(now) => old = now,
            }
        }
    }

    /// Records the arrival of a live data input of a Merge, whose value is in its slot already. Returns `None` if the Merge was decided before. The
    /// slot then belongs to the caller, which must drop the value: the firing, which may be over, reads only the slot of the winner.
    pub(super) fn merge_live(&self, input: u32, shared: bool) -> Option<Arrival> {
        let won = |word: u64| if decision(word) == 0 { word + (u64::from(input) + 1) * MERGE_DECISION } else { word };
        let (old, new) = self.update(shared, won);
        (decision(old) == 0).then(|| merge_arrival(new))
    }

    /// Records the arrival of a dead data input of a Merge. With `decides` (for an input from an Enter), the Merge is dead regardless of other
    /// inputs.
    pub(super) fn merge_dead(&self, decides: bool, shared: bool) -> Arrival {
        let (old, new) = self.update(shared, |word| {
            let word = word - MERGE_DATA;
            let last = word & (MERGE_DECISION - 1) < MERGE_DATA;
            if decision(word) == 0 && (decides || last) { word + MERGE_DEAD * MERGE_DECISION } else { word }
        });
        if decision(old) == 0 { merge_arrival(new) } else { Arrival::Pending }
    }

    /// Records the arrival of a control input of a Merge, dead or not.
    pub(super) fn merge_control(&self, shared: bool) -> Arrival {
        let (_, new) = self.update(shared, |word| word - 1);
        merge_arrival(new)
    }

    /// Returns the winning input of a Merge that fires live.
    pub(super) fn winner(&self) -> u32 {
        (decision(self.0.load(Ordering::Acquire)) as u32).wrapping_sub(1)
    }
}

/// Counts the references that keep an iteration from being complete: items of work on it, live child frames, and Enters that have not arrived (in
/// iteration 0) or the predecessor (in later ones).
#[repr(transparent)]
pub(super) struct Refs(AtomicU64);

impl Refs {
    pub(super) fn new(refs: u64) -> Refs {
        Refs(AtomicU64::new(refs))
    }

    /// Sets the count of an iteration that no other thread can reach.
    pub(super) fn reset(&self, refs: u64) {
        self.0.store(refs, Ordering::Relaxed);
    }

    /// Adds references. The caller holds a reference, or something that holds one.
    #[inline(always)]
    pub(super) fn add(&self, n: u64, shared: bool) {
        add(&self.0, n, shared, Ordering::Relaxed);
    }

    /// Drops references, and returns true if they were the last. Acquire-release ordering: all work that was done under the references is visible to
    /// the thread that completes the iteration.
    #[inline(always)]
    #[must_use]
    pub(super) fn release(&self, n: u64, shared: bool) -> bool {
        let old = add(&self.0, n.wrapping_neg(), shared, Ordering::AcqRel);
        debug_assert!(old >= n, "more references dropped than held");
        old == n
    }
}

/// An entry of a frame's ring of iterations: free, or the address of a block with its iteration number's low 16 bits, so that a number is
/// read without touching a block that may be recycled.
#[repr(transparent)]
pub(super) struct RingEntry(AtomicU64);

/// The value of a ring entry at one time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct RingWord(u64);

const ADDRESS_BITS: u32 = 48;

impl RingWord {
    pub(super) const FREE: RingWord = RingWord(0);

    /// `address` has at most 48 bits and is not null.
    pub(super) fn new(address: usize, number: u64) -> RingWord {
        RingWord(address as u64 | number << ADDRESS_BITS)
    }

    pub(super) fn is_free(self) -> bool {
        self == RingWord::FREE
    }

    pub(super) fn is(self, number: u64) -> bool {
        !self.is_free() && self.0 >> ADDRESS_BITS == number & 0xffff
    }

    pub(super) fn address(self) -> usize {
        (self.0 & ((1 << ADDRESS_BITS) - 1)) as usize
    }
}

impl RingEntry {
    pub(super) fn new(word: RingWord) -> RingEntry {
        RingEntry(AtomicU64::new(word.0))
    }

    /// Returns the entry's value. Acquire ordering: the writes of the block's creator are visible.
    #[inline]
    pub(super) fn load(&self) -> RingWord {
        RingWord(self.0.load(Ordering::Acquire))
    }

    /// Stores a new iteration in a free entry. Release ordering: threads that read the entry see the block's contents. Returns the entry's value as
    /// an error if another thread stored one first.
    pub(super) fn publish(&self, word: RingWord, shared: bool) -> Result<(), RingWord> {
        if !shared {
            debug_assert!(self.load().is_free());
            self.0.store(word.0, Ordering::Relaxed);
            return Ok(());
        }
        self.0.compare_exchange(RingWord::FREE.0, word.0, Ordering::AcqRel, Ordering::Acquire).map(drop).map_err(RingWord)
    }

    /// Frees the entry of a completed iteration. The fence pairs with the one in [`Parked::park`]: either the parking thread sees that the entry is
    /// free, or the caller, which checks the parked tokens next, sees the token.
    pub(super) fn free(&self, shared: bool) {
        self.0.store(RingWord::FREE.0, Ordering::Release);
        if shared {
            fence(Ordering::SeqCst);
        }
    }
}

/// The tokens of an iteration that wait until the next iteration has a place in the ring: one bit for each NextIteration of a group of 64.
#[repr(transparent)]
pub(super) struct Parked(AtomicU64);

impl Parked {
    pub(super) fn new() -> Parked {
        Parked(AtomicU64::new(0))
    }

    /// Parks a token whose value is in its slot. The caller must then check again if the next iteration has a place, and if so call [`Parked::take`].
    pub(super) fn park(&self, bit: u32, shared: bool) {
        if shared {
            self.0.fetch_or(1 << bit, Ordering::AcqRel);
            fence(Ordering::SeqCst);
        } else {
            self.0.store(self.0.load(Ordering::Relaxed) | 1 << bit, Ordering::Relaxed);
        }
    }

    /// Returns true if a token is parked. Only the thread that owns the iteration calls this.
    pub(super) fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }

    /// Takes all parked tokens. Each token is returned to exactly one caller.
    pub(super) fn take(&self, shared: bool) -> u64 {
        if self.0.load(Ordering::Acquire) == 0 {
            return 0;
        }
        if shared {
            self.0.swap(0, Ordering::AcqRel)
        } else {
            let bits = self.0.load(Ordering::Relaxed);
            self.0.store(0, Ordering::Relaxed);
            bits
        }
    }
}

/// The Enters of a frame that have not arrived.
#[repr(transparent)]
pub(super) struct Enters(AtomicU32);

impl Enters {
    pub(super) fn new(enters: u32) -> Enters {
        Enters(AtomicU32::new(enters))
    }

    /// Records the arrival of an Enter, and returns true for the last one. The caller must then check the tokens parked in iteration 0. The fence
    /// pairs with the one in [`Parked::park`]. Release ordering publishes the loop invariants; the last arrival also acquires: see
    /// [`Enters::all_arrived`].
    pub(super) fn arrive(&self, shared: bool) -> bool {
        if !shared {
            let old = self.0.load(Ordering::Relaxed);
            self.0.store(old.wrapping_sub(1), Ordering::Relaxed);
            return old == 1;
        }
        let last = self.0.fetch_sub(1, Ordering::AcqRel) == 1;
        fence(Ordering::SeqCst);
        last
    }

    /// Returns true if iterations after the first may start. The load acquires: all loop invariants are then visible.
    pub(super) fn all_arrived(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

/// Counts what keeps a run from having ended: threads at work, work in the queue, and outstanding asynchronous kernels.
pub(super) struct Live(AtomicU64);

impl Live {
    /// Makes a count of one, for the calling thread.
    pub(super) fn new() -> Live {
        Live(AtomicU64::new(1))
    }

    /// Counts one more thread or item of work. The caller, or the work that it does, is counted already.
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes one from the count, and returns true if nothing is left. Acquire-release ordering: the thread that ends the run sees all work of the
    /// run.
    #[must_use]
    pub(super) fn finish(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Returns true if nothing keeps the run from having ended.
    #[cfg(all(test, feature = "loom"))]
    pub(super) fn has_ended(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

/// The threads that will look at a run's queue again before they leave.
pub(super) struct Participants(AtomicU32);

impl Participants {
    /// Makes a count of one, for the calling thread.
    pub(super) fn new() -> Participants {
        Participants(AtomicU32::new(1))
    }

    /// Reserves a place for one more thread, if fewer than `limit` are taken. Called after work was put into the queue. The fence pairs with the one
    /// in [`Participants::leave`]: either this call sees that a leaving thread gave up its place, or the leaving thread sees the work.
    pub(super) fn join(&self, limit: u32) -> bool {
        fence(Ordering::SeqCst);
        let mut now = self.0.load(Ordering::Relaxed);
        while now < limit {
            match self.0.compare_exchange_weak(now, now + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// Takes back the calling thread's place, regardless of the limit.
    pub(super) fn rejoin(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// Releases the calling thread's place. The caller must check the queue once more.
    pub(super) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, feature = "loom"))]
#[path = "models/mod.rs"]
mod models;
