//! Device placement by rules: [`place`] assigns a device to each node of a graph.
//!
//! The result is that of TensorFlow's placer for the same graph and devices:
//!
//! 1. Nodes that must share a device form a group (`colocate.rs`, `groups.rs`): the ends of an edge that carries a reference or a resource, datasets and
//!    the datasets they read, and nodes that name each other in the attribute `_class`. A resource that a function
//!    returns is followed to its origin (`returned.rs`). A loop needs no rule of its own: its nodes are in one group
//!    only as far as references, resources or `_class` connect them.
//! 2. A group has the device types for which every node has a kernel, and the merged requests of its nodes. A request for a resource is binding. The
//!    request of a node that takes the resource is dropped if it contradicts. With soft placement, so are types and numbers that contradict otherwise.
//! 3. Each node in turn gets the best device that its group permits (`candidates.rs`, `placer.rs`): kernels of higher priority first, then types of
//!    higher rank, then by name. Nodes without inputs follow their consumers, and nodes that only read a shape their producer. The first node
//!    of a group decides for all.
//!
//! The crate knows neither kernels nor devices, which it asks for through [`Kernels`]. Its running time is nearly linear in the size of the graph.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod candidates;
mod colocate;
mod explain;
mod groups;
mod intern;
mod placer;
mod requests;
mod returned;
mod types;

pub use placer::{PlaceOptions, Placement, place};
pub use types::Kernels;
