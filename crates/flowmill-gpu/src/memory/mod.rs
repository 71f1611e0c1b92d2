//! Memory of a GPU: regions from the driver, blocks within them, and page-locked staging buffers.

mod allocator;
mod blocks;
mod staging;

pub use allocator::MemoryOptions;
pub(crate) use allocator::{Allocator, Block};
pub(crate) use staging::Staging;
