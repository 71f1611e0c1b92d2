//! The allocator of a GPU's memory: it asks the driver for few large regions and keeps them.

use super::blocks::{ALIGNMENT, Blocks};
use super::holder;
use super::pool::{self, Pool};
use crate::backend::{Address, Gpu};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Code, Error, MemoryStats, Result, bail, error};
use std::sync::{Arc, Weak};

/// The size of the first region that is allocated on demand; each further one is twice as large.
const FIRST_REGION: usize = 1 << 21;

/// The number of holders that an error for a full memory names.
const NUM_HOLDERS: usize = 5;

/// The limits of the memory that is used of a GPU. The fields are those of TensorFlow's `GPUOptions`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryOptions {
    /// The part of the GPU's memory that may be used (`per_process_gpu_memory_fraction`). `None` leaves the driver its reserve.
    pub fraction: Option<f64>,
    /// Allocates regions when they are needed (`allow_growth`). If false, all memory that may be used is allocated at once.
    pub allow_growth: bool,
}

impl Default for MemoryOptions {
    fn default() -> MemoryOptions {
        MemoryOptions { fraction: None, allow_growth: true }
    }
}

/// The allocator of one GPU.
///
/// A freed block may be allocated again at once, while work that uses it is still enqueued: the compute stream does the new owner's work after that
/// work. Work of other streams must first wait for an event of the compute stream.
pub(crate) struct Allocator {
    gpu: Arc<dyn Gpu>,
    device: Arc<str>,
    state: Mutex<State>,
    /// The holders of memory that can give it back when the rest is full.
    reclaimed: Mutex<Vec<Weak<dyn Reclaim>>>,
}

/// A holder of memory that is not needed.
pub(crate) trait Reclaim: Send + Sync {
    /// Frees the memory that is not in use.
    fn reclaim(&self);
}

struct State {
    blocks: Blocks,
    regions: Vec<Address>,
    next_region: usize,
    stats: MemoryStats,
}

/// A block of a GPU's memory, which is freed when it is dropped.
pub(crate) struct Block {
    source: Source,
    address: Address,
}

enum Source {
    Allocator(Arc<Allocator>),
    Pool(Arc<Pool>),
}

impl Block {
    pub(crate) fn address(&self) -> Address {
        self.address
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match &self.source {
            Source::Pool(pool) => pool.give_back(self.address),
            Source::Allocator(allocator) => {
                pool::note_free(allocator, self.address);
                let mut state = allocator.state.lock();
                let freed = state.blocks.give_back(self.address);
                state.stats.bytes_in_use -= freed;
            }
        }
    }
}

impl Allocator {
    /// Makes the allocator of the device with this name.
    ///
    /// # Errors
    /// Returns the driver's error, and `InvalidArgument` for a fraction that is not positive.
    pub(crate) fn new(gpu: Arc<dyn Gpu>, device: String, options: MemoryOptions) -> Result<Arc<Allocator>> {
        let (free, total) = (gpu.free_memory()?, gpu.properties().memory);
        let limit = match options.fraction {
            Some(fraction) if fraction > 0.0 => ((total as f64 * fraction) as usize).min(free),
            Some(fraction) => bail!(InvalidArgument, "per_process_gpu_memory_fraction is {fraction}, which is not positive"),
            // The driver needs some memory for kernels, stacks and libraries.
            None => free.saturating_sub((free / 20).clamp(32 << 20, 600 << 20)),
        };
        let state = State {
            blocks: Blocks::default(),
            regions: Vec::new(),
            next_region: FIRST_REGION,
            stats: MemoryStats { bytes_limit: limit & !(ALIGNMENT - 1), ..MemoryStats::default() },
        };
        let allocator = Arc::new(Allocator { gpu, device: device.into(), state: Mutex::new(state), reclaimed: Mutex::default() });
        if !options.allow_growth {
            let mut state = allocator.state.lock();
            let all = state.stats.bytes_limit;
            allocator.add_region(&mut state, all, all)?;
        }
        Ok(allocator)
    }

    /// Allocates a block of at least one byte.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if no region has room and no region can be added.
    pub(crate) fn allocate(self: &Arc<Allocator>, bytes: usize) -> Result<Arc<Block>> {
        let Some(bytes) = bytes.max(1).checked_next_multiple_of(ALIGNMENT) else { bail!(ResourceExhausted, "{bytes} bytes are too many") };
        if let Some(pool) = pool::current(self) {
            let address = pool.take(bytes)?;
            return Ok(Arc::new(Block { source: Source::Pool(pool), address }));
        }
        let address = match self.take(bytes) {
            Err(e) if e.code() == Code::ResourceExhausted && self.reclaim() => self.take(bytes)?,
            taken => taken?,
        };
        pool::note_allocation(self, address, bytes);
        Ok(Arc::new(Block { source: Source::Allocator(self.clone()), address }))
    }

    fn take(&self, bytes: usize) -> Result<Address> {
        let mut state = self.state.lock();
        let holder = holder::current();
        let mut found = state.blocks.take(bytes, holder.as_ref());
        if found.is_none() {
            let wanted = bytes.max(state.next_region);
            if self.add_region(&mut state, wanted, bytes)? {
                state.next_region = state.next_region.saturating_mul(2);
                found = state.blocks.take(bytes, holder.as_ref());
            }
        }
        let Some(address) = found else { return Err(self.exhausted(&state, bytes)) };
        let stats = &mut state.stats;
        stats.bytes_in_use += bytes;
        stats.peak_bytes_in_use = stats.peak_bytes_in_use.max(stats.bytes_in_use);
        stats.largest_allocation = stats.largest_allocation.max(bytes);
        stats.num_allocations += 1;
        Ok(address)
    }

    /// Registers a holder of memory that gives it back when the rest is full.
    pub(crate) fn reclaim_from(&self, holder: Weak<dyn Reclaim>) {
        let mut holders = self.reclaimed.lock();
        holders.retain(|holder| holder.strong_count() > 0);
        holders.push(holder);
    }

    /// Takes back memory that is not needed. Returns true if there was some.
    fn reclaim(&self) -> bool {
        let before = self.stats().bytes_in_use;
        let holders: Vec<Arc<dyn Reclaim>> = self.reclaimed.lock().iter().filter_map(Weak::upgrade).collect();
        holders.iter().for_each(|holder| holder.reclaim());
        self.stats().bytes_in_use < before
    }

    /// Calls `f`, and returns with its result the bytes that a pool needs for the allocations in the call.
    pub(crate) fn measure<R>(self: &Arc<Allocator>, f: impl FnOnce() -> R) -> (R, usize) {
        pool::measure(self, f)
    }

    /// Makes a pool of `bytes` bytes.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the memory is full.
    pub(crate) fn pool(self: &Arc<Allocator>, bytes: usize) -> Result<Arc<Pool>> {
        Ok(Pool::new(self.allocate(bytes)?, bytes))
    }

    /// Calls `f`. The allocations of this thread come from `pool` meanwhile.
    pub(crate) fn within<R>(self: &Arc<Allocator>, pool: &Arc<Pool>, f: impl FnOnce() -> R) -> R {
        pool.within(self, f)
    }

    /// Returns the device's name.
    pub(crate) fn device(&self) -> &Arc<str> {
        &self.device
    }

    /// Returns the statistics.
    pub(crate) fn stats(&self) -> MemoryStats {
        self.state.lock().stats
    }

    /// Adds a region of `wanted` bytes, or of fewer if memory is short, but at least `needed`. Returns false if there is no room.
    fn add_region(&self, state: &mut State, wanted: usize, needed: usize) -> Result<bool> {
        let left = state.stats.bytes_limit.saturating_sub(state.stats.bytes_reserved);
        let mut bytes = wanted.min(left) & !(ALIGNMENT - 1);
        while bytes >= needed {
            if let Some(start) = self.gpu.allocate(bytes)? {
                state.regions.push(start);
                state.blocks.add_region(start, bytes);
                state.stats.bytes_reserved += bytes;
                return Ok(true);
            }
            // TensorFlow backs off by a tenth, too.
            let fewer = (bytes - bytes / 10) & !(ALIGNMENT - 1);
            bytes = if fewer < needed && bytes > needed { needed } else { fewer };
            if bytes == 0 {
                break;
            }
        }
        Ok(false)
    }

    /// Returns the error for a full memory. It names the nodes that hold most of it, and says how the rest is split.
    fn exhausted(&self, state: &State, bytes: usize) -> Error {
        let stats = &state.stats;
        let free = stats.bytes_reserved - stats.bytes_in_use;
        let describe = |(holder, bytes, count): (Option<Arc<str>>, usize, usize)| {
            let holder = holder.map_or_else(|| "copies and constants".to_owned(), |node| format!("{{{{node {node}}}}}"));
            format!("{holder} {bytes} in {count} block{}", if count == 1 { "" } else { "s" })
        };
        let holders: Vec<String> = state.blocks.largest_holders(NUM_HOLDERS).into_iter().map(describe).collect();
        error!(
            ResourceExhausted,
            "OOM when allocating {bytes} bytes on {}: {} of {} bytes are in use, by {}. {free} bytes of the memory that was taken from the driver are free, \
             in {} blocks of which the largest has {}",
            self.device,
            stats.bytes_in_use,
            stats.bytes_limit,
            if holders.is_empty() { "nobody".to_owned() } else { holders.join(", ") },
            state.blocks.num_free(),
            state.blocks.largest_free(),
        )
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.regions.drain(..).for_each(|region| self.gpu.free(region));
    }
}
