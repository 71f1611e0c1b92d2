//! Delays of receives, so that the memory of a device does not grow with the tensors that it could receive early.
//!
//! ```text
//! r = _Recv() @B; y = Add(w, r) @B    →    r = _Recv() ^x @B; y = Add(w, r) @B
//! ```
//!
//! A device that receives all its inputs as soon as they are sent also computes early what depends on them alone, and keeps the results until they are
//! used. So a receive waits for a node of its device that starts some time before the first consumer of the tensor does, by the start times of a
//! simulated schedule. The time in between is [`PREFETCH`] of [`EPOCHS`] parts of the whole schedule, as in TensorFlow.
//!
//! A receive waits only for a node that precedes it in one topological order of the graph with its transfers, so that no cycle arises, also not one over
//! several devices. The node must end in every step, live, and without waiting for anything outside of the graph: no `Switch`, no call of a function and
//! no node with state precedes it. Receives in loops are left alone, and nothing waits for nodes in loops.

use crate::control_loops::ControlLoops;
use crate::transfers::TransferNodes;
use crate::{Assignment, is_boundary};
use flowmill_graph::{FrameId, Graph, Node, NodeId, Role, traverse};
use flowmill_tensor::Result;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of parts that the time of the schedule is divided into.
const EPOCHS: u64 = 100;
/// The number of these parts between the node that a receive waits for and the first consumer of the tensor.
const PREFETCH: u64 = 6;

/// The nodes of one device that receives may wait for, with their start times, in ascending order.
type Triggers = Vec<(u64, NodeId)>;

/// Adds control edges to receives. `start_times` are the starts of the nodes in a schedule, by node id; nodes without one were added since.
pub(crate) fn delay(
    graph: &mut Graph,
    assignment: &Assignment,
    transfers: &[TransferNodes],
    loops: &ControlLoops,
    start_times: &[Option<u64>],
) -> Result<()> {
    let Some(end) = start_times.iter().copied().flatten().max() else { return Ok(()) };
    let lead = PREFETCH * (end / EPOCHS + 1);
    let mut receive_of: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut waits = vec![false; graph.num_node_ids()];
    let mut is_transfer = vec![false; graph.num_node_ids()];
    for transfer in transfers {
        is_transfer[transfer.send.index()] = true;
        is_transfer[transfer.receive.index()] = true;
        if assignment.device(transfer.send) != assignment.device(transfer.receive) {
            receive_of.insert(transfer.send, transfer.receive);
            waits[transfer.receive.index()] = transfer.frame == FrameId::ROOT;
        }
    }
    let times = complete_times(graph, start_times)?;
    let order = order(graph, &receive_of, &times);
    // Nodes that may be dead, or may wait for something outside of the graph, and all that depends on these.
    let mut is_uncertain = vec![false; graph.num_node_ids()];
    let mut triggers: FxHashMap<usize, Triggers> = FxHashMap::default();
    let mut edges = Vec::new();
    for id in order {
        let (node, device) = (graph.node(id)?, assignment.device(id));
        let has_inputs = graph.in_edges(id).any(|edge| !is_boundary(edge.src, edge.dst));
        let is_own = is_certain(node) || is_transfer[id.index()];
        is_uncertain[id.index()] |= !is_own || loops.frame_of(id) != FrameId::ROOT;
        if is_uncertain[id.index()] {
            let receive = receive_of.get(&id).copied();
            graph.out_edges(id).map(|edge| edge.dst).chain(receive).for_each(|dst| is_uncertain[dst.index()] = true);
        }
        let of_device = triggers.entry(device).or_default();
        if waits[id.index()] {
            let until = times[id.index()].and_then(|time| time.checked_sub(lead));
            let num_earlier = of_device.partition_point(|&(time, _)| until.is_some_and(|until| time <= until));
            edges.extend(num_earlier.checked_sub(1).map(|last| (of_device[last].1, id)));
        }
        // A node without inputs starts with the step, whenever the schedule would start it.
        let time = start_times.get(id.index()).copied().flatten();
        if let Some(time) = time.filter(|_| has_inputs && !is_uncertain[id.index()])
            && of_device.last().is_none_or(|&(last, _)| last <= time)
        {
            of_device.push((time, id));
        }
    }
    edges.into_iter().try_for_each(|(trigger, receive)| graph.add_control_edge(trigger, receive).map(drop))
}

/// Returns true for a node that ends in every step in which its inputs are live, with live outputs.
fn is_certain(node: &Node) -> bool {
    let has_reference = node.input_types().iter().chain(node.output_types()).any(|t| t.is_ref);
    let runs_alone = node.traits().is_pure() || matches!(node.role(), Role::Arg | Role::Retval | Role::NoOp | Role::PlaceholderWithDefault);
    runs_alone && !node.traits().leaves_outputs_dead && !has_reference
}

/// Returns the start times of all nodes. A node that the schedule does not have starts with its first consumer.
fn complete_times(graph: &Graph, start_times: &[Option<u64>]) -> Result<Vec<Option<u64>>> {
    let mut times = start_times.to_vec();
    times.resize(graph.num_node_ids(), None);
    for id in traverse::topological_order(graph)?.into_iter().rev() {
        if times[id.index()].is_none() {
            times[id.index()] = graph.out_edges(id).filter_map(|edge| times[edge.dst.index()]).min();
        }
    }
    Ok(times)
}

/// Returns the nodes in a topological order of the graph in which each receive follows its send. Of the nodes that could come next, the one with the
/// earliest start time does.
fn order(graph: &Graph, receive_of: &FxHashMap<NodeId, NodeId>, times: &[Option<u64>]) -> Vec<NodeId> {
    let is_edge = |edge: &flowmill_graph::Edge| !is_boundary(edge.src, edge.dst) && !traverse::is_back_edge(graph, edge);
    let mut pending = vec![0usize; graph.num_node_ids()];
    graph.edges().filter(is_edge).for_each(|edge| pending[edge.dst.index()] += 1);
    receive_of.values().for_each(|receive| pending[receive.index()] += 1);
    let key = |id: NodeId| Reverse((times[id.index()].unwrap_or(0), id));
    let mut ready: BinaryHeap<_> = graph.op_nodes().map(Node::id).filter(|id| pending[id.index()] == 0).map(key).collect();
    let mut order = Vec::with_capacity(graph.num_nodes());
    while let Some(Reverse((_, id))) = ready.pop() {
        order.push(id);
        let consumers = graph.out_edges(id).filter(is_edge).map(|edge| edge.dst);
        for dst in consumers.chain(receive_of.get(&id).copied()) {
            pending[dst.index()] -= 1;
            if pending[dst.index()] == 0 {
                ready.push(key(dst));
            }
        }
    }
    order
}
