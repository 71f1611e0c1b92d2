//! The executor: a dataflow machine for graphs with loops. README.md beside this file is its protocol.

mod asynchronous;
mod block;
mod crew;
mod fire;
mod frames;
mod freeze;
mod handle;
mod parts;
mod place;
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

pub(crate) use asynchronous::OutstandingCall;
pub(crate) use block::IterationRef;
pub(crate) use crew::Crew;
pub use freeze::MAX_PARALLEL_ITERATIONS;
pub use handle::{Executor, ExecutorThreads, threads_or_cores};
pub use parts::{PartResults, PartsDone, PlanCall, call_parts, run_parts, start_parts};
pub use plan::{Plan, RunOptions};
pub use run::{Done, Results};
pub use stats::{InputStats, NodeStats, OutputStats, StatsCollector};
pub(crate) use threads::{is_in_run, piece, spawn_postponed};
pub use timer::{Alarm, call_at};
