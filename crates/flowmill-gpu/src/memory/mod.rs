//! Memory of a GPU: regions from the driver, blocks within them, and page-locked staging buffers.

mod allocator;
mod blocks;
mod staging;

pub(crate) use allocator::{Allocator, Block};
pub use allocator::{MemoryOptions, MemoryStats};
pub(crate) use staging::Staging;
