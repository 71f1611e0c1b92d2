//! Memory of a GPU: regions from the driver, blocks within them, pools for recorded work, and page-locked staging buffers.

mod allocator;
mod blocks;
mod holder;
mod pool;
mod staging;

pub use allocator::MemoryOptions;
pub(crate) use allocator::{Allocator, Reclaim};
pub(crate) use holder::Accounted;
pub(crate) use pool::Pool;
pub(crate) use staging::Staging;
