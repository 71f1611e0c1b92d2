//! An allocator for programs that run graphs.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: flowmill_allocator::Allocator = flowmill_allocator::Allocator;
//! ```
//!
//! Graphs are many small blocks, which come from `mimalloc`: adding an operation takes a fifth fewer instructions than with the system's allocator. The
//! elements of tensors and packed weights are large blocks, which lie side by side on huge pages, if the system has them (Linux, `madvise` or `always` in
//! `/sys/kernel/mm/transparent_hugepage/enabled`). A huge page takes one entry of the TLB, and the processor's prefetchers do not stop at every 4 KiB in it.

#[cfg(target_os = "linux")]
mod heap;
#[cfg(target_os = "linux")]
mod space;

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};

/// The allocator, to be declared as `#[global_allocator]`.
///
/// Blocks of elements are recognised by their alignment to a cache line. Small ones, and all blocks of other kinds, come from `mimalloc`.
pub struct Allocator;

/// The sizes in bytes of the blocks that lie on huge pages. Smaller blocks would lie on few pages of their own, larger ones fill huge pages alone.
#[cfg(target_os = "linux")]
const SIZES: std::ops::Range<usize> = 16 << 10..16 << 20;
/// The alignment of the elements of tensors and of packed weights: a cache line.
#[cfg(target_os = "linux")]
const CACHE_LINE: usize = 64;

#[cfg(target_os = "linux")]
fn holds_elements(layout: Layout) -> bool {
    layout.align() >= CACHE_LINE && layout.align() <= heap::GRANULE && SIZES.contains(&layout.size())
}

// SAFETY: a block comes from `space` or from `mimalloc`, whose contracts are those of the trait, and returns to the one that it came from.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        #[cfg(target_os = "linux")]
        if holds_elements(layout)
            && let Some(block) = space::allocate(layout.size())
        {
            return block.start;
        }
        // SAFETY: the caller's promises are those that `mimalloc` needs.
        with_huge_pages(unsafe { MiMalloc.alloc(layout) }, layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        #[cfg(target_os = "linux")]
        if holds_elements(layout)
            && let Some(block) = space::allocate(layout.size())
        {
            if !block.is_zero {
                // SAFETY: the block has at least the layout's size.
                unsafe { block.start.write_bytes(0, layout.size()) };
            }
            return block.start;
        }
        // SAFETY: as above.
        with_huge_pages(unsafe { MiMalloc.alloc_zeroed(layout) }, layout)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        #[cfg(target_os = "linux")]
        if holds_elements(layout) && space::contains(block) {
            // SAFETY: the caller gives up the block, which came from `allocate` with this size.
            return unsafe { space::deallocate(block, layout.size()) };
        }
        // SAFETY: as above; the block came from `mimalloc`.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        #[cfg(target_os = "linux")]
        {
            // SAFETY: the caller guarantees that the size, rounded up to the alignment, is a valid layout.
            let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
            if holds_elements(new) || holds_elements(layout) {
                // SAFETY: the caller's promises are those of `alloc` and `dealloc`; both blocks have the lesser of the sizes, and do not overlap.
                return unsafe {
                    let moved = self.alloc(new);
                    if !moved.is_null() {
                        std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    moved
                };
            }
        }
        // SAFETY: as above; the block came from `mimalloc`.
        unsafe { MiMalloc.realloc(block, layout, size) }
    }
}

/// Other blocks of at least this size in bytes, such as the bytes of a model's file, get huge pages of their own.
#[cfg(target_os = "linux")]
const HUGE_PAGES_MIN: usize = 4 << 20;

/// Asks for huge pages under a block of `mimalloc` that fills some.
#[inline]
fn with_huge_pages(block: *mut u8, layout: Layout) -> *mut u8 {
    #[cfg(target_os = "linux")]
    if layout.size() >= HUGE_PAGES_MIN && !block.is_null() {
        space::advise_huge_pages(block, layout.size());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = layout;
    block
}
