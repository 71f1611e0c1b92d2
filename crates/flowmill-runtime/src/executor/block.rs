//! The memory of a running step: one block for each iteration and for each frame, recycled through free lists of their size.

use super::protocol::{Counter, Enters, Parked, Refs, RingEntry, RingWord};
use super::sync::{AtomicBool, AtomicPtr};
use super::tables::FrameTable;
use crate::kernel::IterationPath;
use flowmill_tensor::Tensor;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::mem::size_of;
use std::ptr::{NonNull, null_mut};

/// The slot of an input: `None` before the value arrives, if it is dead, and after it was taken.
pub(super) type Slot = Option<Tensor>;

/// One iteration of a frame: this header, then counters, child frames, parked bits, slots.
#[repr(C)]
pub(super) struct Iteration {
    pub refs: Refs,
    /// The number of the iteration. It changes only while one thread owns the block.
    pub number: Cell<u64>,
    /// Its frame; null for the root.
    pub frame: *const Frame,
    pub slots: *mut Slot,
    pub children: *const AtomicPtr<Frame>,
    pub parked: *const Parked,
    pub frame_id: u32,
}

/// The iteration that a kernel is called in, for as long as the call lasts.
#[derive(Clone, Copy)]
pub(crate) struct IterationRef<'a>(&'a Iteration);

// SAFETY: the pieces of a kernel's call may read the number on other threads; it changes only where no call is under way.
unsafe impl Send for IterationRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for IterationRef<'_> {}

impl<'a> IterationRef<'a> {
    /// # Safety
    /// The iteration is kept alive, by a reference that the caller holds, for `'a`.
    #[inline(always)]
    pub(super) unsafe fn new(iteration: *const Iteration) -> IterationRef<'a> {
        // SAFETY: passed on to the caller.
        IterationRef(unsafe { &*iteration })
    }

    /// Returns the iteration's number and those of the iterations around it, the outermost first.
    pub(crate) fn path(self) -> IterationPath {
        let (mut path, mut iteration) = (IterationPath::new(), self.0);
        // SAFETY: a live iteration keeps its frame alive, and a live frame the iteration around it. Numbers do not change meanwhile.
        while let Some(frame) = unsafe { iteration.frame.as_ref() } {
            path.push(iteration.number.get());
            // SAFETY: as above.
            iteration = unsafe { &*frame.parent };
        }
        path.reverse();
        path
    }
}

/// A live loop: this header, then the ring, the loop invariants, which Exits have fired.
#[repr(C)]
pub(super) struct Frame {
    /// The iteration around the loop.
    pub parent: *const Iteration,
    pub invariants: *mut Slot,
    pub exited: *const AtomicBool,
    pub enters: Enters,
    pub frame_id: u32,
}

/// The layout of a frame's blocks: the offset of each part, and the sizes of the blocks, in bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Layouts {
    children: usize,
    parked: usize,
    slots: usize,
    pub iteration_bytes: usize,
    invariants: usize,
    exited: usize,
    pub frame_bytes: usize,
}

const ALIGN: usize = 64;

const fn align_up(n: usize) -> usize {
    (n + 15) & !15
}

impl Layouts {
    pub(super) fn new(t: &FrameTable) -> Layouts {
        let children = size_of::<Iteration>() + t.first.len() * size_of::<Counter>();
        let parked = children + t.num_children * size_of::<AtomicPtr<Frame>>();
        let slots = align_up(parked + t.parked_words() * size_of::<Parked>());
        let iteration_bytes = slots + t.num_slots() * size_of::<Slot>();
        let invariants = align_up(size_of::<Frame>() + t.parallel_iterations as usize * size_of::<RingEntry>());
        let exited = invariants + t.num_invariants * size_of::<Slot>();
        let frame_bytes = exited + t.exits.len() * size_of::<AtomicBool>();
        Layouts { children, parked, slots, iteration_bytes, invariants, exited, frame_bytes }
    }
}

impl Iteration {
    /// Makes an iteration with all its parts initialised: counters from `counters`, no values, no child frames.
    pub(super) fn create(
        pool: &mut BlockPool,
        t: &FrameTable,
        counters: &[u64],
        frame: *const Frame,
        number: u64,
        refs: u64,
    ) -> NonNull<Iteration> {
        let block = pool.take(t.layouts.iteration_bytes);
        let base = block.as_ptr();
        let l = &t.layouts;
        // SAFETY: the block has `iteration_bytes` bytes, 64-aligned; `Layouts::new` places each part inside it, aligned for its type
        // (at most 16), and all parts are written before the block is seen by anyone.
        unsafe {
            let slots: *mut Slot = base.add(l.slots).cast();
            for i in 0..t.num_slots() {
                slots.add(i).write(None);
            }
            let children: *mut AtomicPtr<Frame> = base.add(l.children).cast();
            for i in 0..t.num_children {
                children.add(i).write(AtomicPtr::new(null_mut()));
            }
            let parked: *mut Parked = base.add(l.parked).cast();
            for i in 0..t.parked_words() {
                parked.add(i).write(Parked::new());
            }
            let header = Iteration { refs: Refs::new(refs), number: Cell::new(number), frame, slots, children, parked, frame_id: t.id };
            base.cast::<Iteration>().write(header);
            (*base.cast::<Iteration>()).reset_counters(counters);
        }
        block.cast()
    }

    /// Sets all counters, one for each word of `counters`.
    ///
    /// # Safety
    /// No other thread uses the iteration, and `counters` is a template of its frame.
    pub(super) unsafe fn reset_counters(&self, counters: &[u64]) {
        // SAFETY: counters follow the header, one for each word of the template.
        unsafe {
            let first = (&raw const *self).add(1).cast::<Counter>().cast_mut();
            for (i, &word) in counters.iter().enumerate() {
                first.add(i).write(Counter::new(word));
            }
        }
    }

    /// Returns counter `i`.
    ///
    /// # Safety
    /// `i` is within the frame's template.
    #[inline(always)]
    pub(super) unsafe fn counter(&self, i: u32) -> &Counter {
        // SAFETY: counters follow the header.
        unsafe { &*(&raw const *self).add(1).cast::<Counter>().add(i as usize) }
    }

    /// Returns the pointer to child frame `i`.
    ///
    /// # Safety
    /// `i` is below the frame's number of children.
    pub(super) unsafe fn child(&self, i: u32) -> &AtomicPtr<Frame> {
        // SAFETY: `children` points to that many entries in this block.
        unsafe { &*self.children.add(i as usize) }
    }

    /// Returns word `i` of the parked bits.
    ///
    /// # Safety
    /// `i` is below the frame's `parked_words`.
    pub(super) unsafe fn parked(&self, i: usize) -> &Parked {
        // SAFETY: `parked` points to that many words in this block.
        unsafe { &*self.parked.add(i) }
    }
}

impl Frame {
    /// Makes a frame whose iteration 0 is not set yet.
    pub(super) fn create(pool: &mut BlockPool, t: &FrameTable, parent: *const Iteration) -> NonNull<Frame> {
        let block = pool.take(t.layouts.frame_bytes);
        let base = block.as_ptr();
        let l = &t.layouts;
        // SAFETY: as in `Iteration::create`.
        unsafe {
            let invariants: *mut Slot = base.add(l.invariants).cast();
            for i in 0..t.num_invariants {
                invariants.add(i).write(None);
            }
            let exited: *mut AtomicBool = base.add(l.exited).cast();
            for i in 0..t.exits.len() {
                exited.add(i).write(AtomicBool::new(false));
            }
            let ring = base.cast::<Frame>().add(1).cast::<RingEntry>();
            for i in 0..t.parallel_iterations as usize {
                ring.add(i).write(RingEntry::new(RingWord::FREE));
            }
            base.cast::<Frame>().write(Frame { parent, invariants, exited, enters: Enters::new(t.num_enters), frame_id: t.id });
        }
        block.cast()
    }

    /// Returns entry `i` of the ring.
    ///
    /// # Safety
    /// `i` is below the frame's `parallel_iterations`.
    #[inline]
    pub(super) unsafe fn ring(&self, i: u64) -> &RingEntry {
        // SAFETY: the ring follows the header.
        unsafe { &*(&raw const *self).add(1).cast::<RingEntry>().add(i as usize) }
    }

    /// Returns the flag that is set once Exit `i` has passed on a live value.
    ///
    /// # Safety
    /// `i` is below the frame's number of Exits.
    pub(super) unsafe fn exited(&self, i: u32) -> &AtomicBool {
        // SAFETY: `exited` points to that many flags in this block.
        unsafe { &*self.exited.add(i as usize) }
    }
}

const SMALL: usize = 4096;
const NUM_SMALL: usize = SMALL / ALIGN;
const NUM_LARGE: usize = 12;
/// The largest number of bytes that one thread keeps in its free lists. Blocks beyond it go back to the allocator.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// Free blocks by size class: multiples of 64 bytes up to 4 KiB, then powers of two up to 16 MiB; larger ones are not kept.
pub(super) struct BlockPool {
    free: [*mut u8; NUM_SMALL + NUM_LARGE],
    kept_bytes: usize,
}

// SAFETY: the pool owns its free blocks, which nothing else refers to.
unsafe impl Send for BlockPool {}

fn class_of(bytes: usize) -> (Option<usize>, usize) {
    let small = bytes.div_ceil(ALIGN).max(1);
    if small <= NUM_SMALL {
        return (Some(small - 1), small * ALIGN);
    }
    let size = bytes.next_power_of_two();
    let class = (size / SMALL).trailing_zeros() as usize;
    if class <= NUM_LARGE { (Some(NUM_SMALL + class - 1), size) } else { (None, align_up(bytes)) }
}

fn layout(size: usize) -> Layout {
    // A plan has fewer than 2³² slots, so the size is far below the limit of a layout.
    Layout::from_size_align(size, ALIGN).unwrap_or_else(|_| handle_alloc_error(Layout::new::<u8>()))
}

impl BlockPool {
    pub(super) const fn new() -> BlockPool {
        BlockPool { free: [null_mut(); NUM_SMALL + NUM_LARGE], kept_bytes: 0 }
    }

    /// Returns an uninitialised block of at least `bytes` bytes.
    pub(super) fn take(&mut self, bytes: usize) -> NonNull<u8> {
        let (class, size) = class_of(bytes);
        if let Some(class) = class
            && let Some(block) = NonNull::new(self.free[class])
        {
            // SAFETY: a free block begins with the pointer to the next one.
            self.free[class] = unsafe { block.cast::<*mut u8>().read() };
            self.kept_bytes -= size;
            return block;
        }
        // SAFETY: the size is not zero.
        let block = unsafe { alloc(layout(size)) };
        match NonNull::new(block) {
            // Ring words keep an address in 48 bits.
            Some(block) if block.as_ptr().addr() >> 48 == 0 => block,
            _ => handle_alloc_error(layout(size)),
        }
    }

    /// Returns a block to the pool.
    ///
    /// # Safety
    /// The block came from [`BlockPool::take`] of any thread's pool, with the same `bytes`, and no thread uses it any more.
    pub(super) unsafe fn put(&mut self, block: NonNull<u8>, bytes: usize) {
        let (class, size) = class_of(bytes);
        match class {
            Some(class) if self.kept_bytes + size <= MAX_KEPT_BYTES => {
                // SAFETY: the block is free and has at least 64 bytes.
                unsafe { block.cast::<*mut u8>().write(self.free[class]) };
                self.free[class] = block.as_ptr();
                self.kept_bytes += size;
            }
            // SAFETY: allocated with this layout.
            _ => unsafe { dealloc(block.as_ptr(), layout(size)) },
        }
    }
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        for class in 0..self.free.len() {
            let size = if class < NUM_SMALL { (class + 1) * ALIGN } else { SMALL << (class - NUM_SMALL + 1) };
            while let Some(block) = NonNull::new(self.free[class]) {
                // SAFETY: a free block begins with the pointer to the next one and was allocated with its class's layout.
                unsafe {
                    self.free[class] = block.cast::<*mut u8>().read();
                    dealloc(block.as_ptr(), layout(size));
                }
            }
        }
    }
}
