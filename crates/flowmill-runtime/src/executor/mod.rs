//! The executor: a dataflow machine for graphs with loops. README.md beside this file is its protocol.

mod asynchronous;
mod block;
mod fire;
mod frames;
mod freeze;
mod plan;
mod protocol;
mod run;
mod stats;
mod sync;
mod tables;
mod threads;
mod timer;
mod validate;
mod wake;
mod worker;

pub use freeze::MAX_PARALLEL_ITERATIONS;
pub use plan::{Plan, RunOptions};
pub use stats::{NodeStats, StatsCollector};
pub(crate) use threads::piece;
pub use threads::{begin, enter};
