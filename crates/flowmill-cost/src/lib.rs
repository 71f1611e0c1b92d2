//! The cost model: what the nodes of a graph cost on the devices of a machine, how long a step takes, and where its nodes run best.
//!
//! * [`CostModel`] has the costs of a graph's nodes: static estimates ([`NodeEstimate`]), and [`MeasuredCosts`] in their place.
//! * [`Machine`] describes devices and links.
//! * [`TaskGraph`] is a graph with the costs of its nodes on one machine. [`simulate()`] runs it in simulated time; [`place()`] looks for the placement
//!   with the least simulated time; [`heft()`] and [`simple_placement`] are others to compare it with, and [`lower_bound`] is a time that no placement is
//!   faster than.
//! * [`Report`] and [`svg()`] show a schedule, beside the measured one if there is one.
//!
//! All times are integers, in nanoseconds, so that schedules are exact and the same on all machines.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod bound;
mod cluster;
mod constraints;
mod cost_graph;
mod estimate;
mod heft;
mod kernel_class;
mod loops;
mod machine;
mod measured;
mod model;
mod order;
mod palette;
mod place;
mod report;
mod roofline;
mod saturating;
mod simulate;
mod svg;
mod tasks;
mod trip_counts;

pub use bound::lower_bound;
pub use constraints::Constraints;
pub use cost_graph::add_to_cost_graph;
pub use estimate::{NodeEstimate, StepShapes};
pub use heft::heft;
pub use kernel_class::{KernelClass, KernelRate, THIN_CONVOLUTION_CHANNELS, THIN_PRODUCT_ROWS};
pub use machine::{Bandwidth, DeviceModel, KernelWork, Link, MAX_DEVICES, Machine};
pub use measured::{Average, MeasuredCosts, MeasuredNode, MeasuredOutput, OutputSample, Sample};
pub use model::{Assumptions, CostModel, GraphTasks};
pub use palette::{COLOURS, OTHER_COLOUR};
pub use place::{SearchOptions, critical_path, place, simple_placement};
pub use report::{MeasuredStep, MeasuredTask, Report, ReportRow};
pub use roofline::{Limit, MemoryLevel, Roofline};
pub use simulate::{Objective, Schedule, Transfer, simulate, upward_ranks};
pub use svg::svg;
pub use tasks::{Dependency, DeviceSet, Task, TaskGraph};
