//! The tensors that go from one part of a step to another, by the numbers that partitioning gave them.
//!
//! Outside of loops a tensor has a cell of its own (`cell_state.rs`). In a loop it is sent once per iteration, and the two sides meet in a table under
//! its number and the iteration.

use super::cell_state::{CellArrival, CellState};
use crate::device::Device;
use crate::kernel::IterationPath;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Error, Result, Tensor, bail, error};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::cell::UnsafeCell;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

/// A tensor on its way, with the device whose memory it is in; `None` for the host's.
#[derive(Clone)]
pub struct Parcel {
    /// The tensor.
    pub tensor: Tensor,
    /// The device whose memory the tensor is in.
    pub device: Option<Arc<dyn Device>>,
}

/// The result of a receive: `None` for a dead tensor.
pub type Received = Result<Option<Parcel>>;

type Waiter = Box<dyn FnOnce(Received) + Send>;

/// The number of parts of the table, each with a lock.
const NUM_SHARDS: usize = 16;

/// The transfers of one step.
pub struct Transfers {
    /// The names of the tensors, for messages.
    names: Arc<[String]>,
    cells: Box<[Cell]>,
    shards: [Mutex<FxHashMap<Key, Side>>; NUM_SHARDS],
    aborted: OnceLock<Error>,
    /// The transfers that were waited for when the step was aborted.
    awaited: Mutex<Vec<u32>>,
}

type Key = (u32, IterationPath);

/// The side that has come first.
enum Side {
    Sent(Option<Parcel>),
    Waiting(Waiter),
}

struct Cell {
    state: CellState,
    value: UnsafeCell<Option<Parcel>>,
    waiter: UnsafeCell<Option<Waiter>>,
}

// SAFETY: `state` says which thread may use `value` and `waiter`; see its page.
unsafe impl Sync for Cell {}

impl Cell {
    fn new() -> Cell {
        Cell { state: CellState::new(), value: UnsafeCell::new(None), waiter: UnsafeCell::new(None) }
    }

    /// # Safety
    /// The value belongs to this thread by the rules of [`CellState`].
    unsafe fn take_value(&self) -> Option<Parcel> {
        // SAFETY: passed on to the caller.
        unsafe { (*self.value.get()).take() }
    }

    /// # Safety
    /// The waiter belongs to this thread by the rules of [`CellState`].
    unsafe fn take_waiter(&self) -> Option<Waiter> {
        // SAFETY: passed on to the caller.
        unsafe { (*self.waiter.get()).take() }
    }
}

impl Transfers {
    /// Makes the transfers of a step. `names` are those of the tensors, by their numbers.
    pub fn new(names: Arc<[String]>) -> Transfers {
        let cells = names.iter().map(|_| Cell::new()).collect();
        Transfers { names, cells, shards: Default::default(), aborted: OnceLock::new(), awaited: Mutex::default() }
    }

    /// Sends tensor `number`; `None` is dead.
    ///
    /// # Errors
    /// Returns the reason of the abort after it, and `Internal` if the tensor was sent before or there is no such transfer.
    pub fn send(&self, number: u32, iteration: &IterationPath, value: Option<Parcel>) -> Result<()> {
        if !iteration.is_empty() {
            return self.send_in_loop(number, iteration, value);
        }
        let cell = self.cell(number)?;
        if !cell.state.claim_send() {
            bail!(Internal, "{} was sent twice", self.name(number));
        }
        // SAFETY: only the thread that has claimed the value writes it, before it says so.
        unsafe { *cell.value.get() = value };
        match cell.state.send() {
            CellArrival::First => Ok(()),
            CellArrival::Second => {
                // SAFETY: both belong to the thread that has met the other side.
                let (value, waiter) = unsafe { (cell.take_value(), cell.take_waiter()) };
                if let Some(waiter) = waiter {
                    waiter(Ok(value));
                }
                Ok(())
            }
            CellArrival::Aborted => Err(self.reason()),
        }
    }

    /// Takes tensor `number` if it was sent already. Returns `None` if it was not.
    pub fn try_receive(&self, number: u32, iteration: &IterationPath) -> Option<Option<Parcel>> {
        if iteration.is_empty() {
            let cell = self.cells.get(number as usize)?;
            // SAFETY: the value belongs to the thread whose `take` returns true.
            return cell.state.take().then(|| unsafe { cell.take_value() });
        }
        match self.shard(number, iteration).lock().entry((number, iteration.clone())) {
            Entry::Occupied(entry) if matches!(entry.get(), Side::Sent(_)) => match entry.remove() {
                Side::Sent(value) => Some(value),
                Side::Waiting(_) => None,
            },
            _ => None,
        }
    }

    /// Calls `done` with tensor `number` when it was sent, or with an error after an abort.
    pub fn receive(&self, number: u32, iteration: &IterationPath, done: impl FnOnce(Received) + Send + 'static) {
        if !iteration.is_empty() {
            return self.receive_in_loop(number, iteration, Box::new(done));
        }
        let cell = match self.cell(number) {
            Ok(cell) => cell,
            Err(e) => return done(Err(e)),
        };
        if !cell.state.claim_receive() {
            return done(Err(error!(Internal, "{} was received twice", self.name(number))));
        }
        // SAFETY: only the thread that has claimed the waiter writes it, before it says so.
        unsafe { *cell.waiter.get() = Some(Box::new(done)) };
        let received = match cell.state.receive() {
            CellArrival::First => return,
            // SAFETY: the value belongs to the thread that has met the other side.
            CellArrival::Second => Ok(unsafe { cell.take_value() }),
            CellArrival::Aborted => Err(self.reason()),
        };
        // SAFETY: in both cases the waiter belongs to this thread.
        if let Some(waiter) = unsafe { cell.take_waiter() } {
            waiter(received);
        }
    }

    fn send_in_loop(&self, number: u32, iteration: &IterationPath, value: Option<Parcel>) -> Result<()> {
        let mut shard = self.shard(number, iteration).lock();
        if let Some(reason) = self.aborted.get() {
            return Err(reason.clone());
        }
        match shard.entry((number, iteration.clone())) {
            Entry::Vacant(entry) => {
                entry.insert(Side::Sent(value));
                Ok(())
            }
            Entry::Occupied(entry) if matches!(entry.get(), Side::Waiting(_)) => {
                let side = entry.remove();
                drop(shard);
                if let Side::Waiting(waiter) = side {
                    waiter(Ok(value));
                }
                Ok(())
            }
            Entry::Occupied(_) => bail!(Internal, "{} was sent twice in iteration {iteration:?}", self.name(number)),
        }
    }

    fn receive_in_loop(&self, number: u32, iteration: &IterationPath, waiter: Waiter) {
        let mut shard = self.shard(number, iteration).lock();
        let received = match self.aborted.get() {
            Some(reason) => Err(reason.clone()),
            None => match shard.entry((number, iteration.clone())) {
                Entry::Vacant(entry) => {
                    entry.insert(Side::Waiting(waiter));
                    return;
                }
                Entry::Occupied(entry) if matches!(entry.get(), Side::Sent(_)) => match entry.remove() {
                    Side::Sent(value) => Ok(value),
                    Side::Waiting(_) => return,
                },
                Entry::Occupied(_) => Err(error!(Internal, "{} was received twice in iteration {iteration:?}", self.name(number))),
            },
        };
        drop(shard);
        waiter(received);
    }

    /// Ends all receives, and every later send and receive, with `reason`. The reason of the first call is kept.
    pub fn abort(&self, reason: &Error) {
        if self.aborted.set(reason.clone()).is_err() {
            return;
        }
        let (mut waiters, mut awaited): (Vec<Waiter>, Vec<u32>) = Default::default();
        for (number, cell) in (0..).zip(&self.cells) {
            if cell.state.abort() {
                awaited.push(number);
                // SAFETY: the waiter belongs to the thread that has aborted the cell.
                waiters.extend(unsafe { cell.take_waiter() });
            }
        }
        for shard in &self.shards {
            for ((number, _), side) in std::mem::take(&mut *shard.lock()) {
                if let Side::Waiting(waiter) = side {
                    awaited.push(number);
                    waiters.push(waiter);
                }
            }
        }
        *self.awaited.lock() = awaited;
        for waiter in waiters {
            waiter(Err(reason.clone()));
        }
    }

    /// Returns the names of the tensors that were waited for when the step was aborted, each once, in the order of their numbers.
    pub fn awaited(&self) -> Vec<&str> {
        let mut numbers = self.awaited.lock().clone();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(|number| self.name(number)).collect()
    }

    fn cell(&self, number: u32) -> Result<&Cell> {
        self.cells.get(number as usize).ok_or_else(|| error!(Internal, "There is no transfer {number}"))
    }

    fn shard(&self, number: u32, iteration: &IterationPath) -> &Mutex<FxHashMap<Key, Side>> {
        let hash = FxBuildHasher.hash_one((number, iteration.last()));
        &self.shards[(hash >> 32) as usize % NUM_SHARDS]
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("?", String::as_str)
    }

    fn reason(&self) -> Error {
        self.aborted.get().cloned().unwrap_or_else(|| error!(Internal, "a transfer was aborted without a reason"))
    }
}
