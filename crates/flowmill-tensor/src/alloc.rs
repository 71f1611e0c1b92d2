//! Memory for tensor elements: 64-byte aligned blocks in size classes, kept for reuse.
//!
//! A block is zeroed when it first comes from the system and keeps whatever its last user wrote after that, so that its bytes are
//! always initialised and kernels can take `&mut [T]` without clearing megabytes first. Blocks up to [`SMALL_MAX`] bytes are kept
//! per thread, larger ones in one list per class; at most [`CACHE_MAX`] bytes are kept in those lists.

use crate::allocator::{Allocator, Charge};
use crate::sync::Mutex;
use crate::{Bytes, Result, bail};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Alignment of every block in bytes: a cache line, and an AVX-512 register.
const ALIGN: usize = 64;
/// The smallest class in bytes.
const MIN_CLASS: usize = 128;
/// Classes a power of two: 1, 1¼, 1½, 1¾.
const STEPS: usize = 4;
/// Number of classes; the largest is 2^47 bytes.
const NUM_CLASSES: usize = 40 * STEPS;
/// Largest block in bytes that a thread keeps for itself.
const SMALL_MAX: usize = 16 << 10;
/// Blocks of one class that a thread keeps.
const SMALL_KEPT: usize = 16;
/// Bytes kept in the shared lists.
const CACHE_MAX: usize = 512 << 20;
/// [`check_memory`] tries blocks of at least this size in bytes out.
const PROBED_MIN: usize = 64 << 20;
/// Blocks from this size in bytes count towards the memory limit.
const COUNTED_MIN: usize = 64 << 10;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static CACHED: AtomicUsize = AtomicUsize::new(0);
static LIMIT: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(physical_memory()));
static LISTS: [Mutex<Vec<Block>>; NUM_CLASSES] = [const { Mutex::new(Vec::new()) }; NUM_CLASSES];

thread_local! {
    static SMALL: RefCell<Vec<Vec<Block>>> = const { RefCell::new(Vec::new()) };
}

/// The bytes tensors may hold at once in blocks of at least 64 KiB; at first the machine's physical memory. A tensor of strings is a block of
/// its elements and of the contents that it alone holds when it is made.
pub fn memory_limit() -> usize {
    LIMIT.load(Relaxed)
}

/// Changes [`memory_limit`]. Tensors that exist already are kept.
pub fn set_memory_limit(bytes: usize) {
    LIMIT.store(bytes, Relaxed);
}

/// Returns the bytes held now in blocks of at least 64 KiB.
pub fn live_bytes() -> usize {
    LIVE.load(Relaxed)
}

/// Returns the blocks that are kept for reuse to the allocator, but for those of up to 16 KiB that threads keep for themselves. Returns their number of
/// bytes. For after a large model was dropped: tensors that are allocated next come from the system.
pub fn release_unused_memory() -> usize {
    let mut released = 0;
    for (class, list) in LISTS.iter().enumerate() {
        let blocks = std::mem::take(&mut *list.lock());
        let bytes = class_bytes(class);
        for block in blocks {
            CACHED.fetch_sub(bytes, Relaxed);
            released += bytes;
            give_back(class, block);
        }
    }
    released
}

/// Refuses `count` elements of type `T` that the process cannot hold: those that would pass [`memory_limit`] with what tensors hold already,
/// and those for which the allocator has no room. For what is held besides tensors, before it is made.
///
/// # Errors
/// `ResourceExhausted` for too many.
pub fn check_memory<T>(count: usize) -> Result<()> {
    let bytes = count.saturating_mul(size_of::<T>().max(1));
    let fits = bytes < COUNTED_MIN || bytes.saturating_add(live_bytes()) <= memory_limit();
    // A block that is not touched costs a system call.
    if !fits || (bytes >= PROBED_MIN && Vec::<u8>::new().try_reserve_exact(bytes).is_err()) {
        bail!(ResourceExhausted, "OOM when allocating {count} elements of {} bytes: the limit is {}", size_of::<T>(), memory_limit());
    }
    Ok(())
}

fn physical_memory() -> usize {
    let kilobytes = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<usize>().ok()
    });
    kilobytes.map_or(16 << 30, |kb| kb.saturating_mul(1024))
}

/// A raw block of one class. Plain data: whoever holds it owns the memory.
struct Block(NonNull<u8>);

// SAFETY: a block is plain memory owned by its holder; nothing in it is tied to a thread.
unsafe impl Send for Block {}

/// An owned block of at least `len` initialised bytes.
pub(crate) struct Buffer {
    ptr: NonNull<u8>,
    len: usize,
    class: usize,
    charge: Charge,
}

// SAFETY: the buffer owns its memory exclusively; shared access is only ever reading.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

fn class_of(len: usize) -> usize {
    if len <= MIN_CLASS {
        return 0;
    }
    let power = (len - 1).ilog2();
    let base = 1usize << power;
    let step = (len - 1 - base) / (base / STEPS);
    (power as usize - MIN_CLASS.ilog2() as usize) * STEPS + step + 1
}

fn class_bytes(class: usize) -> usize {
    if class == 0 {
        return MIN_CLASS;
    }
    let base = MIN_CLASS << ((class - 1) / STEPS);
    base + base / STEPS * ((class - 1) % STEPS + 1)
}

fn layout(class: usize) -> Option<Layout> {
    Layout::from_size_align(class_bytes(class), ALIGN).ok()
}

/// Counts a block of this many bytes, for a tensor of `len`.
///
/// # Errors
/// `ResourceExhausted` past the memory limit; nothing is counted then.
fn count(bytes: usize, len: usize) -> Result<()> {
    if bytes < COUNTED_MIN {
        return Ok(());
    }
    let add = |live: usize| live.checked_add(bytes).filter(|&sum| sum <= memory_limit());
    if let Err(live) = LIVE.fetch_update(Relaxed, Relaxed, add) {
        bail!(ResourceExhausted, "OOM when allocating a tensor of {len} bytes: {live} bytes are held and the limit is {}", memory_limit());
    }
    Ok(())
}

fn uncount(bytes: usize) {
    if bytes >= COUNTED_MIN {
        LIVE.fetch_sub(bytes, Relaxed);
    }
}

/// The elements of a tensor of strings, counted towards the memory limit.
pub(crate) struct Strings {
    values: Vec<Bytes>,
    counted: usize,
    charge: Charge,
}

impl Strings {
    /// Counts the elements, and what their contents take that nobody else holds: shared contents count where they were made.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit.
    pub(crate) fn new(values: Vec<Bytes>, allocator: &Allocator) -> Result<Strings> {
        let contents: usize = values.iter().filter(|v| v.is_unique()).map(Bytes::len).sum();
        let bytes = contents.saturating_add(values.len() * size_of::<Bytes>());
        let charge = allocator.charge(bytes)?;
        count(bytes, bytes)?;
        Ok(Strings { values, counted: bytes, charge })
    }

    /// One string, counted whatever the limit: it exists already.
    pub(crate) fn one(value: Bytes) -> Strings {
        let bytes = if value.is_unique() { value.len() } else { 0 };
        if bytes >= COUNTED_MIN {
            LIVE.fetch_add(bytes, Relaxed);
        }
        Strings { values: vec![value], counted: bytes, charge: Charge::default() }
    }
}

impl Strings {
    pub(crate) fn charge(&self) -> &Charge {
        &self.charge
    }
}

impl std::ops::Deref for Strings {
    type Target = [Bytes];

    fn deref(&self) -> &[Bytes] {
        &self.values
    }
}

impl Drop for Strings {
    fn drop(&mut self) {
        uncount(self.counted);
    }
}

impl Buffer {
    /// Returns a block for `len` bytes, charged to the allocator's account. Its bytes are initialised but unspecified; `zeroed` asks for zeros.
    pub(crate) fn new(len: usize, zeroed: bool, allocator: &Allocator) -> Result<Buffer> {
        let class = class_of(len);
        if class >= NUM_CLASSES {
            bail!(ResourceExhausted, "OOM when allocating a tensor of {len} bytes");
        }
        let bytes = class_bytes(class);
        let charge = allocator.charge(bytes)?;
        count(bytes, len)?;
        if let Some(block) = reuse(class, bytes) {
            let mut buffer = Buffer { ptr: block.0, len, class, charge };
            if zeroed {
                buffer.as_mut().fill(0);
            }
            return Ok(buffer);
        }
        // SAFETY: a class's layout is never of size zero.
        let ptr = layout(class).and_then(|layout| NonNull::new(unsafe { alloc_zeroed(layout) }));
        match ptr {
            Some(ptr) => Ok(Buffer { ptr, len, class, charge }),
            None => {
                uncount(bytes);
                bail!(ResourceExhausted, "OOM when allocating a tensor of {len} bytes: the system has none left")
            }
        }
    }

    pub(crate) fn charge(&self) -> &Charge {
        &self.charge
    }

    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.ptr.as_ptr()
    }

    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block has at least `len` bytes, all initialised, and is owned by `self`.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

fn reuse(class: usize, bytes: usize) -> Option<Block> {
    if bytes <= SMALL_MAX {
        return SMALL.try_with(|lists| lists.borrow_mut().get_mut(class)?.pop()).ok().flatten();
    }
    let block = LISTS[class].try_lock()?.pop()?;
    CACHED.fetch_sub(bytes, Relaxed);
    Some(block)
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let (class, bytes) = (self.class, class_bytes(self.class));
        uncount(bytes);
        let block = Block(self.ptr);
        let left = if bytes <= SMALL_MAX { keep_small(class, block) } else { keep_large(class, bytes, block) };
        if let Some(block) = left {
            give_back(class, block);
        }
    }
}

fn give_back(class: usize, block: Block) {
    if let Some(layout) = layout(class) {
        // SAFETY: the block came from `alloc_zeroed` with this class's layout, and the caller, who owned it, gives it up.
        unsafe { dealloc(block.0.as_ptr(), layout) };
    }
}

/// Keeps the block for this thread, or gives it back if there are enough (or the thread is ending).
fn keep_small(class: usize, block: Block) -> Option<Block> {
    let mut block = Some(block);
    let _ = SMALL.try_with(|lists| {
        let mut lists = lists.borrow_mut();
        if lists.len() <= class {
            lists.resize_with(class + 1, Vec::new);
        }
        if lists[class].len() < SMALL_KEPT {
            lists[class].extend(block.take());
        }
    });
    block
}

fn keep_large(class: usize, bytes: usize, block: Block) -> Option<Block> {
    if CACHED.load(Relaxed) + bytes > CACHE_MAX {
        return Some(block);
    }
    let Some(mut list) = LISTS[class].try_lock() else { return Some(block) };
    CACHED.fetch_add(bytes, Relaxed);
    list.push(block);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_it_is_chosen_for_and_wastes_at_most_a_quarter() {
        for len in (1..5000).chain([1 << 20, (1 << 20) + 1, (1 << 30) - 1, 3 << 33]) {
            let bytes = class_bytes(class_of(len));
            assert!(bytes >= len, "{len} in {bytes}");
            assert!(len <= MIN_CLASS || bytes as f64 <= len as f64 * 1.26, "{len} in {bytes}");
        }
    }

    #[test]
    fn more_than_the_limit_is_an_error() {
        let e = Buffer::new(usize::MAX / 4, false, Allocator::process()).err().map(|e| e.code());
        assert_eq!(e, Some(crate::Code::ResourceExhausted));
    }
}
