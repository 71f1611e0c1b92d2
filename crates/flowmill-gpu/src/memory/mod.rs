//! Memory of a GPU: regions from the driver, blocks within them, and page-locked staging buffers.

mod allocator;
mod blocks;
mod holder;
mod staging;

pub(crate) use allocator::Allocator;
pub use allocator::MemoryOptions;
pub(crate) use holder::Accounted;
pub(crate) use staging::Staging;
