//! The address space of large blocks, and the system calls for it.

use crate::heap::{HUGE_PAGE, Heap, SPACE};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Memory becomes accessible in steps of this many bytes, so that a system that limits what may be written to counts no more than is used.
const GROWTH: usize = 32 << 20;

/// The address of the space, which is reserved for the first block; `None` if the system refuses it.
static START: OnceLock<Option<usize>> = OnceLock::new();
static STATE: Mutex<State> = Mutex::new(State { heap: Heap::new(), accessible: 0 });

struct State {
    heap: Heap,
    /// Bytes from the start of the space on that may be written to.
    accessible: usize,
}

/// A block of memory.
pub(crate) struct Block {
    pub(crate) start: *mut u8,
    /// True if all its bytes are zero.
    pub(crate) is_zero: bool,
}

/// Returns a block of `size` bytes, aligned to a granule; `None` if the space is full or the system has no memory.
pub(crate) fn allocate(size: usize) -> Option<Block> {
    let start = (*START.get_or_init(reserve))?;
    let mut state = lock();
    let run = state.heap.take(size)?;
    if !state.grow_to(start, run.offset + size) {
        state.heap.free(run.offset, size);
        return None;
    }
    Some(Block { start: (start + run.offset) as *mut u8, is_zero: run.is_zero })
}

/// Returns true if `block` came from [`allocate`].
pub(crate) fn contains(block: *mut u8) -> bool {
    START.get().copied().flatten().is_some_and(|start| (start..start + SPACE).contains(&block.addr()))
}

/// Frees a block.
///
/// # Safety
/// The block came from [`allocate`] with this size and is not used after the call.
pub(crate) unsafe fn deallocate(block: *mut u8, size: usize) {
    let Some(start) = START.get().copied().flatten() else { return };
    let mut state = lock();
    if state.heap.free(block.addr() - start, size) {
        state.heap.purge(|offset| {
            // SAFETY: no block uses the page, and none can take it while the lock is held.
            unsafe { rustix::mm::madvise((start + offset) as *mut c_void, HUGE_PAGE, Advice::LinuxDontNeed) }.is_ok()
        });
    }
}

/// Asks for huge pages under the pages that lie within a block.
#[cold]
pub(crate) fn advise_huge_pages(block: *mut u8, size: usize) {
    // Advice is given by whole pages, whose size is at most this.
    const PAGE: usize = 64 << 10;
    let skipped = block.align_offset(PAGE);
    let pages = block.wrapping_add(skipped);
    let size = size.saturating_sub(skipped) / PAGE * PAGE;
    // SAFETY: the pages are within the block, and the advice changes no contents. A system without huge pages returns an error, which changes nothing.
    let _ = unsafe { rustix::mm::madvise(pages.cast(), size, Advice::LinuxHugepage) };
}

impl State {
    /// Makes the first `size` bytes of the space accessible. Returns false if the system has no memory for them.
    fn grow_to(&mut self, start: usize, size: usize) -> bool {
        if size > self.accessible {
            let end = size.next_multiple_of(GROWTH).min(SPACE);
            let (new, len) = ((start + self.accessible) as *mut c_void, end - self.accessible);
            // SAFETY: the range lies in the space, and nothing uses it yet.
            if unsafe { rustix::mm::mprotect(new, len, MprotectFlags::READ | MprotectFlags::WRITE) }.is_err() {
                return false;
            }
            // SAFETY: as above. A system without huge pages returns an error, which changes nothing.
            let _ = unsafe { rustix::mm::madvise(new, len, Advice::LinuxHugepage) };
            self.accessible = end;
        }
        true
    }
}

/// Reserves the address space, from a huge page on, without memory. Returns its start.
fn reserve() -> Option<usize> {
    // SAFETY: a mapping at an address of the system's choice replaces nothing.
    let mapping =
        unsafe { rustix::mm::mmap_anonymous(null_mut(), SPACE + HUGE_PAGE, ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE) };
    let start = mapping.ok()?.addr().next_multiple_of(HUGE_PAGE);
    hold_across_forks();
    Some(start)
}

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock that a thread holds while it forks, so that the child does not find it held by a thread that the child does not have.
struct HeldByFork(UnsafeCell<Option<MutexGuard<'static, State>>>);

// SAFETY: only the thread that holds the lock uses the cell: in the handlers before and after its fork.
unsafe impl Sync for HeldByFork {}

static HELD_BY_FORK: HeldByFork = HeldByFork(UnsafeCell::new(None));

fn hold_across_forks() {
    extern "C" fn before() {
        let guard = lock();
        // SAFETY: this thread holds the lock.
        unsafe { *HELD_BY_FORK.0.get() = Some(guard) };
    }
    extern "C" fn after() {
        // SAFETY: `before` ran in this thread, which holds the lock; the child's only thread is its copy.
        drop(unsafe { (*HELD_BY_FORK.0.get()).take() });
    }
    // SAFETY: the handlers do not unwind. Without memory for them the call returns an error, and forks go without.
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
}
