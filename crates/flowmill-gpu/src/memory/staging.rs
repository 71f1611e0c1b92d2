//! Page-locked buffers of the host, through which tensors are copied to and from a GPU.

use crate::backend::{Gpu, PinnedMemory};
use flowmill_tensor::Result;
use flowmill_tensor::sync::Mutex;
use std::ops::Deref;
use std::sync::Arc;

/// The size of the smallest buffers in bytes.
const SMALLEST: usize = 1 << 12;
/// Unused buffers are kept up to this many bytes.
const KEPT_BYTES: usize = 256 << 20;

/// A pool of staging buffers, whose sizes are powers of two.
pub(crate) struct Staging {
    gpu: Arc<dyn Gpu>,
    unused: Mutex<Unused>,
}

#[derive(Default)]
struct Unused {
    /// The buffers of each size, indexed by the logarithm of the size.
    buffers: Vec<Vec<Arc<dyn PinnedMemory>>>,
    bytes: usize,
}

/// A buffer of a pool, which goes back to the pool when it is dropped.
pub(crate) struct StagingBuffer {
    pool: Arc<Staging>,
    memory: Arc<dyn PinnedMemory>,
}

impl Staging {
    pub(crate) fn new(gpu: Arc<dyn Gpu>) -> Arc<Staging> {
        Arc::new(Staging { gpu, unused: Mutex::default() })
    }

    /// Returns a buffer of at least `bytes` bytes.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the host's memory is full.
    pub(crate) fn take(self: &Arc<Staging>, bytes: usize) -> Result<StagingBuffer> {
        let size = bytes.max(SMALLEST).next_power_of_two();
        let kept = {
            let mut unused = self.unused.lock();
            let found = unused.buffers.get_mut(size.ilog2() as usize).and_then(Vec::pop);
            unused.bytes -= found.as_ref().map_or(0, |memory| memory.len());
            found
        };
        let memory = match kept {
            Some(memory) => memory,
            None => self.gpu.allocate_pinned(size)?,
        };
        Ok(StagingBuffer { pool: self.clone(), memory })
    }
}

impl Deref for StagingBuffer {
    type Target = dyn PinnedMemory;

    fn deref(&self) -> &(dyn PinnedMemory + 'static) {
        &*self.memory
    }
}

impl Drop for StagingBuffer {
    fn drop(&mut self) {
        let size = self.memory.len();
        let class = size.ilog2() as usize;
        let mut unused = self.pool.unused.lock();
        if unused.bytes + size <= KEPT_BYTES {
            if unused.buffers.len() <= class {
                unused.buffers.resize_with(class + 1, Vec::new);
            }
            unused.bytes += size;
            unused.buffers[class].push(self.memory.clone());
        }
    }
}
