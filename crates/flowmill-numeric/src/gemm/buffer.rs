//! Cache-line-aligned memory for packed operands, and a per-thread cache of it for temporaries.

use std::cell::RefCell;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A zeroed array that starts on a cache line.
#[derive(Clone, Default)]
pub(crate) struct Buffer<T> {
    lines: Vec<Line>,
    len: usize,
    elem: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn zeroed(len: usize) -> Self {
        let lines = (len * size_of::<T>()).div_ceil(size_of::<Line>());
        Self { lines: vec![Line([0; 64]); lines], len, elem: PhantomData }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

/// Temporaries larger than this are returned to the allocator instead of being kept by their thread.
const KEPT_BYTES: usize = 8 << 20;

thread_local! {
    static SPARE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with a temporary of `len` elements with unspecified contents. Each thread reuses its temporaries.
///
/// Calls may nest, also through a job that the thread executes while it waits inside `f`.
pub fn with_scratch<T: Pod, R>(len: usize, f: impl FnOnce(&mut [T]) -> R) -> R {
    let lines = (len * size_of::<T>()).div_ceil(size_of::<Line>());
    let mut spare = SPARE.with(|s| s.borrow_mut().pop()).unwrap_or_default();
    if spare.len() < lines {
        spare = vec![Line([0; 64]); lines];
    }
    let result = f(&mut bytemuck::cast_slice_mut(&mut spare[..lines])[..len]);
    if spare.len() * size_of::<Line>() <= KEPT_BYTES {
        SPARE.with(|s| s.borrow_mut().push(spare));
    }
    result
}
