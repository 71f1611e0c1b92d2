//! Sessions, which compile the part of a graph that a step needs, cache the plan, and run it.
#![deny(missing_docs, unreachable_pub, unnameable_types)]

mod compile;
mod devices;
mod session;

pub use compile::SimulatedStep;
pub use session::{
    Callable, CallableOptions, CostPlacement, Fetches, PlacementPolicy, RunOptions, RunOutcome, Runner, Session, SessionOptions,
    StepGraphs, ThreadPoolOption, ToNodeName, ToTensorName,
};
