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
pub(crate) mod sync;
mod tables;
mod threads;
mod timer;
mod validate;
mod wake;
mod worker;

pub use freeze::MAX_PARALLEL_ITERATIONS;
pub use plan::{Plan, RunOptions};
pub use stats::{NodeStats, StatsCollector};
pub use threads::{begin, enter};
pub(crate) use threads::{is_in_run, piece};
