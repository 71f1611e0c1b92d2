//! Allocators with an account: limits, statistics, and the account of tensors that are derived from others.
#![allow(clippy::unwrap_used)]

use flowmill_tensor::{Allocator, Bytes, Code, DType, Tensor};
use std::sync::Barrier;
use std::thread;

const KB: usize = 1 << 10;
const MB: usize = 1 << 20;

fn in_use(allocator: &Allocator) -> usize {
    allocator.stats().unwrap().bytes_in_use
}

#[test]
fn statistics_count_blocks_until_they_are_freed() {
    let allocator = Allocator::with_limit("here", 10 * MB);
    let a = allocator.zeros(DType::F32, [MB / 4]).unwrap();
    let b = allocator.uninit(DType::U8, [2 * MB]).unwrap();
    assert_eq!(in_use(&allocator), 3 * MB);
    let shared = b.clone();
    drop((a, b));
    assert_eq!(in_use(&allocator), 2 * MB);
    drop(shared);
    let stats = allocator.stats().unwrap();
    assert_eq!((stats.bytes_in_use, stats.peak_bytes_in_use, stats.largest_allocation), (0, 3 * MB, 2 * MB));
    assert_eq!((stats.num_allocations, stats.bytes_limit), (2, 10 * MB));
    assert_eq!(Allocator::process().stats(), None);
}

#[test]
fn small_tensors_take_no_block() {
    let allocator = Allocator::with_limit("here", 0);
    assert!(allocator.zeros(DType::F64, []).is_ok());
    assert!(allocator.vector(&[1f32; 16]).is_ok());
    assert_eq!(allocator.vector(&[1f32; 17]).unwrap_err().code(), Code::ResourceExhausted);
}

#[test]
fn more_than_the_limit_is_an_error_that_names_the_owner() {
    let allocator = Allocator::with_limit("/device:CPU:1", 3 * MB);
    let held = allocator.zeros(DType::F32, [MB / 4]).unwrap();
    let error = allocator.zeros(DType::F32, [MB]).unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted);
    let expected = "OOM when allocating 4194304 bytes on /device:CPU:1: 1048576 bytes are in use and the limit is 3145728 \
                    (shape[1048576] and type float32)";
    assert_eq!(error.message(), expected);
    assert_eq!(in_use(&allocator), MB);
    drop(held);
    assert!(allocator.zeros(DType::U8, [3 * MB]).is_ok());
}

#[test]
fn a_refused_allocation_does_not_disturb_others() {
    const THREADS: usize = 4;
    let allocator = Allocator::with_limit("here", THREADS * MB);
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..500 {
                    assert!(allocator.uninit(DType::U8, [5 * MB]).is_err());
                    assert!(allocator.uninit(DType::U8, [MB]).is_ok());
                }
            });
        }
    });
    assert_eq!(in_use(&allocator), 0);
}

#[test]
fn derived_tensors_belong_to_the_same_account() {
    let allocator = Allocator::with_limit("here", 10 * MB);
    let original = allocator.zeros(DType::U8, [4, KB]).unwrap();
    let mut copy = original.clone();
    copy.as_mut_slice::<u8>().unwrap()[0] = 1;
    assert_eq!(in_use(&allocator), 8 * KB);
    let view = original.view(KB, [KB]).unwrap();
    drop(original);
    assert_eq!(in_use(&allocator), 8 * KB, "the view holds the block");
    let mut changed = view.clone();
    changed.as_mut_slice::<u8>().unwrap()[0] = 1;
    assert_eq!(in_use(&allocator), 9 * KB);
    drop((view, copy, changed));
    assert_eq!(in_use(&allocator), 0);
    let foreign = Tensor::from_bytes(DType::U8, [KB], Bytes::from(vec![0; KB])).unwrap();
    let written = allocator.writable(foreign).unwrap();
    assert_eq!(in_use(&allocator), KB);
    drop(written);
}

#[test]
fn strings_and_reservations_count() {
    let allocator = Allocator::with_limit("here", 2 * MB);
    let strings = allocator.from_strings([2], vec![Bytes::from(vec![b'a'; MB]), Bytes::new()]).unwrap();
    assert_eq!(in_use(&allocator), MB + 2 * size_of::<Bytes>());
    assert_eq!(allocator.reserve::<f64>(MB / 8).err().unwrap().code(), Code::ResourceExhausted);
    drop(strings);
    let reserved = allocator.reserve::<f64>(MB / 8).unwrap();
    assert_eq!(in_use(&allocator), MB);
    drop(reserved);
    assert_eq!(in_use(&allocator), 0);
}
