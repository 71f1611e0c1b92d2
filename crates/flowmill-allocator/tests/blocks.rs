//! The allocator in a program: contents, alignment, threads and forks.
#![allow(clippy::expect_used, missing_docs)]

use std::alloc::{GlobalAlloc, Layout};
use std::thread;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: flowmill_allocator::Allocator = flowmill_allocator::Allocator;

fn elements(size: usize) -> Layout {
    Layout::from_size_align(size, 64).expect("a valid layout")
}

/// A block filled with its own byte, which is checked when it is dropped.
struct Filled {
    block: *mut u8,
    layout: Layout,
    byte: u8,
}

impl Filled {
    fn new(layout: Layout, byte: u8) -> Filled {
        // SAFETY: the layout has a size; the block is written to within its size.
        unsafe {
            let block = ALLOCATOR.alloc_zeroed(layout);
            assert!(!block.is_null() && block.addr().is_multiple_of(layout.align()), "{layout:?}");
            assert!(std::slice::from_raw_parts(block, layout.size()).iter().all(|&b| b == 0), "{layout:?} is not zero");
            block.write_bytes(byte, layout.size());
            Filled { block, layout, byte }
        }
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        // SAFETY: the block has this layout and is not used again.
        unsafe {
            let bytes = std::slice::from_raw_parts(self.block, self.layout.size());
            assert!(bytes.iter().all(|&b| b == self.byte), "{:?} was written to by others", self.layout);
            ALLOCATOR.dealloc(self.block, self.layout);
        }
    }
}

/// Allocates and frees blocks of all kinds, of sizes that depend on `seed`.
fn churn(seed: u8) {
    let mut kept = std::collections::VecDeque::new();
    let mut state = u64::from(seed) + 1;
    for i in 0..300u32 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let size = 1usize << (4 + (state >> 33) % 19);
        let size = size + ((state >> 40) as usize % size);
        let align = [8, 64, 4096, 8192][(state >> 60) as usize % 4];
        kept.push_back(Filled::new(Layout::from_size_align(size, align).expect("a valid layout"), seed ^ i as u8));
        if kept.len() > 12 {
            kept.pop_front();
        }
    }
}

#[test]
fn threads_get_blocks_of_their_own() {
    thread::scope(|scope| (0..4).for_each(|seed| drop(scope.spawn(move || churn(seed)))));
}

#[test]
fn a_block_keeps_its_contents_when_its_size_changes() {
    let sizes = [1 << 10, 20 << 10, 3 << 20, 40 << 20, 17 << 20, 15 << 20, 100 << 10, 8 << 10];
    // SAFETY: each call has the layout that the block has, and the block is read and written within its size.
    unsafe {
        let mut layout = elements(512);
        let mut block = ALLOCATOR.alloc(layout);
        block.write_bytes(7, layout.size());
        for size in sizes {
            block = ALLOCATOR.realloc(block, layout, size);
            layout = elements(size);
            assert!(!block.is_null() && std::slice::from_raw_parts(block, 512).iter().all(|&b| b == 7), "{size}");
        }
        ALLOCATOR.dealloc(block, layout);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;

    fn resident_bytes() -> usize {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("the size of this process");
        pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number of pages") * 4096
    }

    #[test]
    fn memory_of_freed_blocks_returns_to_the_system() {
        let blocks: Vec<Filled> = (0..200).map(|i| Filled::new(elements(1 << 20), i as u8)).collect();
        let full = resident_bytes();
        drop(blocks);
        let freed = full.saturating_sub(resident_bytes());
        assert!(freed > 100 << 20, "{freed} of {full} bytes");
    }

    #[test]
    fn the_child_of_a_fork_can_allocate_while_others_do() {
        let end = Instant::now() + Duration::from_millis(500);
        thread::scope(|scope| {
            for seed in 0..3 {
                scope.spawn(move || {
                    while Instant::now() < end {
                        churn(seed)
                    }
                });
            }
            while Instant::now() < end {
                // SAFETY: the child calls the allocator alone, which holds its lock across forks, and leaves at once.
                let status = unsafe {
                    match libc::fork() {
                        0 => {
                            libc::alarm(20);
                            let block = ALLOCATOR.alloc(elements(1 << 20));
                            block.write_bytes(1, 1 << 20);
                            ALLOCATOR.dealloc(block, elements(1 << 20));
                            libc::_exit(0)
                        }
                        child => {
                            let mut status = -1;
                            libc::waitpid(child, &raw mut status, 0);
                            status
                        }
                    }
                };
                assert_eq!(status, 0, "the child hangs or crashes");
            }
        });
    }
}
