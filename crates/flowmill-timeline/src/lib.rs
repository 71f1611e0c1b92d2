//! Timelines of steps, made of the statistics that a traced step collects.
//!
//! ```text
//! StatsCollector ─▶ step_stats ─▶ StepStats ─▶ Timeline ─┬▶ chrome: a trace for Perfetto and Chrome
//!                  (record.rs)   (TensorFlow's message)  ├▶ page: one HTML file
//!                                                        ├▶ shares: time by op, by node, by scope
//!                                                        └▶ memory, critical path
//! ```
//!
//! `StepStats` is the one input, so that the command line, the Python API and files that TensorFlow wrote are read alike. What TensorFlow's message
//! has no field for is in the labels of nodes: see `label.rs`. [`profile`] has the views of TensorFlow 1's profiler.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod chrome;
mod critical_path;
mod dataflow;
mod label;
mod lanes;
mod memory;
mod page;
pub mod profile;
mod record;
mod shares;
mod timeline;

pub use chrome::ChromeOptions;
pub use critical_path::CriticalPath;
pub use memory::{MemoryPeak, MemorySample};
pub use record::step_stats;
pub use shares::{Share, Shares};
pub use timeline::{Copied, Device, Event, EventKind, Input, Lane, OpTime, OutputTensor, Timeline};
