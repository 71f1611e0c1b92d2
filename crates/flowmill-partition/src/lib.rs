//! Partitioning: cuts a graph whose nodes have devices into one graph per device.
//!
//! [`partition`] works in these steps, each in a file:
//!
//! 1. `colocate`: nodes of control flow move to the device of a neighbour. A `Switch` goes to its data input and an `Exit` to its `Switch`;
//!    an `Enter` and a `NextIteration` are copied to each device that reads them. So a loop invariant is sent once, before the loop.
//! 2. `constants`: a small constant is copied to each device that reads it, because sending it would cost more in every step.
//! 3. `control_loops`: a loop with nodes on several devices gets a *control loop* on each device that needs one: `Enter`, `Merge`, `Switch` and
//!    `NextIteration` of a dummy tensor, driven by the predicate of the loop. It makes the iterations of the loop on that device.
//! 4. `transfers`: each edge between devices becomes an edge to a `_Send` and one from a `_Recv`, of which there is one pair per tensor and
//!    destination. A control edge is sent as an empty tensor. A receive in a loop has a control input from the control loop, so that it runs once per
//!    iteration. An edge between two nodes of a device that has its own memory is replaced, too, if its consumer takes the tensor in the memory that it
//!    is not in (`memory`).
//! 5. `delays`: with [`PartitionOptions::start_times`], receives wait until their tensors are soon needed.
//!
//! A tensor is sent in every iteration in which its producer runs, dead or live, and received in the iterations that the control loop makes. The two
//! are equal in number: the control loop goes on while the received predicate is true, and a dead loop, for example in a branch that is not taken,
//! sends a dead predicate, which ends the control loop in its first iteration.
//!
//! The behaviour is that of TensorFlow's partitioner, with these exceptions: TensorFlow copies neither constants nor loop invariants, and a device
//! whose nodes in a loop receive nothing runs them in the first iteration only.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod assignment;
mod colocate;
mod constants;
mod control_loops;
mod delays;
mod memory;
mod transfers;

pub use assignment::Assignment;
pub use constants::{MAX_COPIED_BYTES, put_constants_in_host_memory};
pub use memory::Memory;

use flowmill_graph::{Graph, Node, NodeId};
use flowmill_tensor::Result;

/// The properties of a session's devices that partitioning depends on. Devices are named by their numbers.
pub trait Devices {
    /// Returns the full name of a device.
    fn name(&self, device: usize) -> String;

    /// Returns the number that distinguishes a device from devices of the same name in other runs of the process.
    fn incarnation(&self, device: usize) -> u64;

    /// Returns true if the memory of a device is the host's.
    fn is_host(&self, device: usize) -> bool;

    /// Returns the memory in which a node takes data input `input` when it runs on `device`. Not called for devices whose memory is the host's.
    fn input_memory(&self, device: usize, node: &Node, input: usize) -> Memory;

    /// Returns the memory in which a node leaves output `output` when it runs on `device`. Not called for devices whose memory is the host's.
    fn output_memory(&self, device: usize, node: &Node, output: usize) -> Memory;
}

/// Options of [`partition`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PartitionOptions<'a> {
    /// The starts of the nodes in a simulated schedule, by node id, in any unit. With them, receives are delayed until their tensors are soon needed.
    pub start_times: Option<&'a [Option<u64>]>,
}

/// The result of [`partition`].
pub struct Partition {
    /// The device numbers of the parts, in ascending order, with their graphs. Node ids are those of the whole graph, and each node requests its device.
    pub parts: Vec<(usize, Graph)>,
    /// The tensors that go from part to part. Sends and receives name them by their index, in the attribute [`TRANSFER`](flowmill_graph::TRANSFER).
    pub transfers: Vec<Transfer>,
}

/// A tensor that goes from one part to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The name of the tensor, or of the node for a control edge: `x:0`, `^x`.
    pub tensor: String,
    /// The number of the device that sends the tensor.
    pub from: usize,
    /// The number of the device that receives the tensor.
    pub to: usize,
}

/// Cuts a graph into one graph per device that has nodes. Device 0 has a part in any case.
///
/// # Errors
/// Returns `InvalidArgument` for frames that do not fit together, for a loop over several devices without a predicate, for an edge between devices whose
/// producer does not run in every iteration of its loop, and for a reference that a node on another device would change.
pub fn partition(mut graph: Graph, mut assignment: Assignment, devices: &dyn Devices, options: PartitionOptions<'_>) -> Result<Partition> {
    transfers::forget(&mut graph)?;
    colocate::colocate(&mut graph, &mut assignment)?;
    constants::copy_to_consumers(&mut graph, &mut assignment)?;
    for (device, nodes) in assignment.nodes_by_device(&graph) {
        if !devices.is_host(device) {
            constants::put_in_host_memory(&mut graph, &nodes, device, devices, &mut assignment)?;
        }
    }
    let loops = control_loops::add(&mut graph, &mut assignment)?;
    let (transfers, nodes) = transfers::add(&mut graph, &mut assignment, devices, &loops)?;
    if let Some(start_times) = options.start_times {
        delays::delay(&mut graph, &assignment, &nodes, &loops, start_times)?;
    }
    let mut used = assignment.devices(&graph);
    used.insert(0);
    let used: Vec<usize> = used.into_iter().collect();
    let parts = graph.into_parts(used.len(), |id| used.binary_search(&assignment.device(id)).unwrap_or(usize::MAX));
    let mut parts: Vec<(usize, Graph)> = used.into_iter().zip(parts).collect();
    for (device, part) in &mut parts {
        part.set_all_devices(&devices.name(*device));
    }
    Ok(Partition { parts, transfers })
}

/// Returns true for an edge to or from `_SOURCE` or `_SINK`.
fn is_boundary(src: NodeId, dst: NodeId) -> bool {
    src <= NodeId::SINK || dst <= NodeId::SINK
}
