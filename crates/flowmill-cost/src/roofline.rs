//! The roofline of a machine: the least time that work takes, whoever computes it.
//!
//! The model is that of Williams, Waterman and Patterson (2009): a kernel computes no faster than the processor's arithmetic, and no faster than its bytes
//! come from where they are. Here bytes come from the smallest cache that holds all of a kernel's tensors, or from memory.

/// A cache, or memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryLevel {
    /// The most bytes that it holds.
    pub capacity: u64,
    /// Bytes per second that kernels read and write.
    pub bytes_per_second: f64,
}

/// The limits of a machine with a number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    /// Arithmetic operations of `float32` per second. A multiplication and an addition are two.
    pub flops_per_second: f64,
    /// The caches, the smallest first, and memory.
    pub levels: Vec<MemoryLevel>,
}

/// The limit of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Arithmetic, which takes this many seconds.
    Arithmetic(f64),
    /// The movement of bytes, which takes this many seconds.
    Bytes(f64),
}

impl Limit {
    /// Returns the limit of so many executions.
    #[must_use]
    pub fn times(self, count: f64) -> Limit {
        match self {
            Limit::Arithmetic(seconds) => Limit::Arithmetic(seconds * count),
            Limit::Bytes(seconds) => Limit::Bytes(seconds * count),
        }
    }

    /// Returns the seconds.
    pub fn seconds(self) -> f64 {
        match self {
            Limit::Arithmetic(seconds) | Limit::Bytes(seconds) => seconds,
        }
    }
}

impl Roofline {
    /// Returns the limit of a kernel that computes `operations` and whose tensors have `bytes` bytes.
    pub fn limit(&self, operations: f64, bytes: f64) -> Limit {
        let level = self.levels.iter().find(|level| bytes <= level.capacity as f64).or(self.levels.last());
        let moved = level.map_or(0.0, |level| bytes / level.bytes_per_second);
        let computed = operations / self.flops_per_second;
        if computed >= moved { Limit::Arithmetic(computed) } else { Limit::Bytes(moved) }
    }
}
