//! Pools of memory for recorded work, which has the same blocks whenever it is done again.
//!
//! The work is first done with blocks of the allocator while [`measure`] follows its allocations. Its blocks are then laid out in the same way in a pool,
//! so that no driver is asked for memory while the work is recorded.

use super::allocator::{Allocator, Block};
use super::blocks::Blocks;
use crate::backend::Address;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, bail};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// The bytes behind the start of a pool that its blocks are chosen from. The free rest is always the largest block, whatever the size of the pool, so
/// that the layout of the measured blocks is the one in the pool.
const SPACE: usize = 1 << 46;

/// Memory from which blocks are allocated while a thread records work.
pub(crate) struct Pool {
    memory: Arc<Block>,
    bytes: usize,
    blocks: Mutex<Blocks>,
}

/// The allocations of a thread while it does work that is recorded afterwards.
struct Measurement {
    allocator: Arc<Allocator>,
    blocks: Blocks,
    /// The blocks in the layout by their addresses in the GPU's memory.
    live: FxHashMap<Address, Address>,
    bytes: usize,
}

/// The way in which the allocations of a thread are measured or redirected.
enum Scope {
    Measured(Measurement),
    In(Arc<Allocator>, Arc<Pool>),
}

thread_local! {
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// Puts back the scope that was current before, also after a panic.
struct Restore(Option<Scope>);

impl Drop for Restore {
    fn drop(&mut self) {
        // A pool that is dropped asks for the scope.
        drop(SCOPE.replace(self.0.take()));
    }
}

fn blocks_from(start: Address) -> Blocks {
    let mut blocks = Blocks::default();
    blocks.add_region(start, SPACE);
    blocks
}

/// Calls `f`, and returns with its result the bytes that a pool needs for the allocations from `allocator` in the call.
pub(super) fn measure<R>(allocator: &Arc<Allocator>, f: impl FnOnce() -> R) -> (R, usize) {
    let measurement = Measurement { allocator: allocator.clone(), blocks: blocks_from(Address(0)), live: FxHashMap::default(), bytes: 0 };
    let restore = Restore(SCOPE.replace(Some(Scope::Measured(measurement))));
    let result = f();
    let bytes = SCOPE.with_borrow(|scope| match scope {
        Some(Scope::Measured(measurement)) => measurement.bytes,
        _ => 0,
    });
    drop(restore);
    (result, bytes)
}

/// Notes that this thread has allocated a block from `allocator`.
pub(super) fn note_allocation(allocator: &Arc<Allocator>, address: Address, bytes: usize) {
    SCOPE.with_borrow_mut(|scope| {
        if let Some(Scope::Measured(measurement)) = scope
            && Arc::ptr_eq(&measurement.allocator, allocator)
            && let Some(at) = measurement.blocks.take(bytes, None)
        {
            measurement.live.insert(address, at);
            measurement.bytes = measurement.bytes.max(at.0 as usize + bytes);
        }
    });
}

/// Notes that this thread has freed a block of `allocator`.
pub(super) fn note_free(allocator: &Arc<Allocator>, address: Address) {
    // Blocks may be dropped when the thread ends.
    let _ = SCOPE.try_with(|scope| {
        if let Some(Scope::Measured(measurement)) = &mut *scope.borrow_mut()
            && Arc::ptr_eq(&measurement.allocator, allocator)
            && let Some(at) = measurement.live.remove(&address)
        {
            measurement.blocks.give_back(at);
        }
    });
}

/// Returns the pool that this thread's allocations from `allocator` come from, if there is one.
pub(super) fn current(allocator: &Arc<Allocator>) -> Option<Arc<Pool>> {
    SCOPE.with_borrow(|scope| match scope {
        Some(Scope::In(own, pool)) if Arc::ptr_eq(own, allocator) => Some(pool.clone()),
        _ => None,
    })
}

impl Pool {
    /// Makes a pool of a block with room for `bytes` bytes.
    pub(super) fn new(memory: Arc<Block>, bytes: usize) -> Arc<Pool> {
        let blocks = Mutex::new(blocks_from(memory.address()));
        Arc::new(Pool { memory, bytes, blocks })
    }

    /// Calls `f`. The allocations from `allocator` of this thread come from the pool meanwhile.
    pub(super) fn within<R>(self: &Arc<Pool>, allocator: &Arc<Allocator>, f: impl FnOnce() -> R) -> R {
        let _restore = Restore(SCOPE.replace(Some(Scope::In(allocator.clone(), self.clone()))));
        f()
    }

    /// Returns true if the address is in the pool.
    pub(crate) fn contains(&self, address: Address) -> bool {
        let start = self.memory.address();
        start <= address && address < start.offset(self.bytes)
    }

    /// Allocates a block.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the pool is smaller than the measured work needs.
    pub(super) fn take(&self, bytes: usize) -> Result<Address> {
        let mut blocks = self.blocks.lock();
        match blocks.take(bytes, None) {
            Some(at) if at.offset(bytes) <= self.memory.address().offset(self.bytes) => Ok(at),
            Some(at) => {
                blocks.give_back(at);
                bail!(ResourceExhausted, "the work that is recorded needs more memory than it did before")
            }
            None => bail!(ResourceExhausted, "{bytes} bytes are too many"),
        }
    }

    pub(super) fn give_back(&self, address: Address) {
        self.blocks.lock().give_back(address);
    }
}
