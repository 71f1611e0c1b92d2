//! The state of the cell of a send and its receive outside of loops: written once, read once, without a lock.
//!
//! A cell has a value, a waiter and a state word. The sender writes the value, then sets [`SENT`]. The receiver writes its waiter, then sets
//! [`WAITING`]. Whoever sets the second of these two bits takes both out. [`ABORTED`] ends the cell: the aborting thread takes a waiter that is alone, and
//! whoever comes later finds the bit and keeps its own.
//!
//! | change | ordering | partner | what it publishes |
//! |---|---|---|---|
//! | `claim_send`, `claim_receive` | Relaxed | each other | nothing: only one thread writes the value, and one the waiter |
//! | `send` | AcqRel | `receive`, `take`, `abort` | the value, to the receiver; acquires the waiter |
//! | `receive`, `take` | AcqRel | `send`, `abort` | the waiter, to the sender or to the aborting thread; acquires the value |
//! | `abort` | AcqRel | `receive` | acquires the waiter |
//!
//! Every call ends: none of them waits for another thread.

use crate::executor::sync::{AtomicU32, Ordering};

/// The value is being written, or has been.
const SEND_CLAIMED: u32 = 1;
/// The waiter is being written, or has been.
const RECEIVE_CLAIMED: u32 = 2;
/// The value is there.
const SENT: u32 = 4;
/// The waiter is there, or the receiver has taken the value without one.
const WAITING: u32 = 8;
/// No more values are handed over.
const ABORTED: u32 = 16;

/// The state that a sender or a receiver finds when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellArrival {
    /// It is the first: what the thread has written stays in the cell.
    First,
    /// It is the second: value and waiter belong to this thread.
    Second,
    /// The cell is aborted: what the thread has written belongs to it again.
    Aborted,
}

/// The state word of a cell.
pub(super) struct CellState(AtomicU32);

impl CellState {
    pub(super) fn new() -> CellState {
        CellState(AtomicU32::new(0))
    }

    /// Returns true if this thread may write the value. Only the first call does.
    pub(super) fn claim_send(&self) -> bool {
        self.0.fetch_or(SEND_CLAIMED, Ordering::Relaxed) & SEND_CLAIMED == 0
    }

    /// Returns true if this thread may write the waiter. Only the first call does.
    pub(super) fn claim_receive(&self) -> bool {
        self.0.fetch_or(RECEIVE_CLAIMED, Ordering::Relaxed) & RECEIVE_CLAIMED == 0
    }

    /// Says that the value is written.
    pub(super) fn send(&self) -> CellArrival {
        Self::arrival(self.0.fetch_or(SENT, Ordering::AcqRel), WAITING)
    }

    /// Says that the waiter is written.
    pub(super) fn receive(&self) -> CellArrival {
        Self::arrival(self.0.fetch_or(WAITING, Ordering::AcqRel), SENT)
    }

    /// Returns true if the value is there, has not been taken, and belongs to this thread from now on. Otherwise nothing has changed.
    pub(super) fn take(&self) -> bool {
        let state = self.0.load(Ordering::Relaxed);
        let taken = state | RECEIVE_CLAIMED | WAITING;
        state & (SENT | RECEIVE_CLAIMED | ABORTED) == SENT
            && self.0.compare_exchange(state, taken, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Returns true if the value is there.
    #[cfg(all(test, feature = "loom"))]
    pub(super) fn send_is_done(&self) -> bool {
        self.0.load(Ordering::Acquire) & SENT != 0
    }

    /// Aborts the cell. Returns true if there is a waiter that no value has come for, which belongs to this thread from now on.
    pub(super) fn abort(&self) -> bool {
        self.0.fetch_or(ABORTED, Ordering::AcqRel) & (SENT | WAITING | ABORTED) == WAITING
    }

    fn arrival(before: u32, other: u32) -> CellArrival {
        match before {
            _ if before & ABORTED != 0 => CellArrival::Aborted,
            _ if before & other != 0 => CellArrival::Second,
            _ => CellArrival::First,
        }
    }
}
