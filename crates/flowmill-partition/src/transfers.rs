//! Sends and receives in place of the edges between devices, and of those within a device between its memory and the host's.
//!
//! ```text
//! y = Neg(x) @B, x @A    →    _Send(x) @A; r = _Recv() @B; y = Neg(r)
//! y = Neg(z) ^x @B, x @A →    t = Const() ^x @A; _Send(t) @A; r = _Recv() @B; i = Identity(r) @B; y = Neg(z) ^i
//! ```
//!
//! The control outputs of a receive are live even if it receives a dead tensor. Those of the `Identity` behind it are not.
//!
//! There is one pair per tensor, receiving device and memory there. A reference is read when it is sent, and it is sent when the other inputs of its
//! consumer are there: the consumer then sees the assignments that it is ordered after. So each consumer of a reference has a pair of its own.

use crate::constants::is_in_host_memory;
use crate::control_loops::{ControlLoops, add_token, attrs, type_attr};
use crate::{Assignment, Devices, Transfer, is_boundary};
use flowmill_graph::{Edge, FrameId, Graph, NodeId, OutputId, TRANSFER};
use flowmill_proto::{AttrValue, NodeDef};
use flowmill_tensor::{Error, Result, bail};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Identifies a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    src: NodeId,
    /// The output; `None` for a control edge.
    slot: Option<u32>,
    /// The receiving device.
    to: usize,
    /// True if the tensor is received in the host's memory, although the receiving device has its own.
    in_host_memory: bool,
    /// The consumer, for a reference.
    reader: Option<NodeId>,
}

/// The nodes of a transfer.
#[derive(Clone, Copy)]
struct Pair {
    send: NodeId,
    /// The node that consumers read or wait for.
    received: NodeId,
}

struct Transfers<'a> {
    graph: &'a mut Graph,
    assignment: &'a mut Assignment,
    devices: &'a dyn Devices,
    loops: &'a ControlLoops,
    /// The devices of the transfers.
    ends: FxHashMap<usize, DeviceAttrs>,
    pairs: FxHashMap<Key, Pair>,
    transfers: Vec<Transfer>,
    nodes: Vec<TransferNodes>,
}

/// The send and the receive of a transfer, with the frame that both are in.
#[derive(Clone, Copy)]
pub(crate) struct TransferNodes {
    pub(crate) send: NodeId,
    pub(crate) receive: NodeId,
    pub(crate) frame: FrameId,
}

/// A device as an end of a transfer.
#[derive(Clone)]
struct DeviceAttrs {
    name: AttrValue,
    incarnation: AttrValue,
}

/// Removes the numbers from sends and receives that an earlier partitioning has added. They go on to meet under their names.
pub(crate) fn forget(graph: &mut Graph) -> Result<()> {
    let numbered: Vec<NodeId> = graph.op_nodes().filter(|node| node.attrs().contains(TRANSFER)).map(|node| node.id()).collect();
    numbered.into_iter().try_for_each(|id| graph.remove_attr(id, TRANSFER))
}

/// Replaces the edges between devices. Returns the tensors that are sent, with their sends and receives.
///
/// # Errors
/// Returns `InvalidArgument` for an edge in a loop whose producer does not run in every iteration, and for a reference that a node on another device
/// would change.
pub(crate) fn add(
    graph: &mut Graph,
    assignment: &mut Assignment,
    devices: &dyn Devices,
    loops: &ControlLoops,
) -> Result<(Vec<Transfer>, Vec<TransferNodes>)> {
    let consumers = graph.op_node_ids();
    let (ends, pairs) = (FxHashMap::default(), FxHashMap::default());
    let mut transfers = Transfers { graph, assignment, devices, loops, ends, pairs, transfers: Vec::new(), nodes: Vec::new() };
    let mut edges = Vec::new();
    for consumer in consumers {
        edges.clear();
        edges.extend(transfers.graph.in_edges(consumer).filter(|edge| !is_boundary(edge.src, edge.dst)));
        for edge in &edges {
            transfers.replace(edge, &edges)?;
        }
    }
    Ok((transfers.transfers, transfers.nodes))
}

impl Transfers<'_> {
    /// Makes an edge begin at a receive if its ends are on different devices, or in different memories. `siblings` are all edges into its consumer.
    fn replace(&mut self, edge: &Edge, siblings: &[Edge]) -> Result<()> {
        let (from, to) = (self.assignment.device(edge.src), self.assignment.device(edge.dst));
        let Some(output) = edge.source() else {
            if from != to {
                let receive = self.control(edge.src, to)?;
                self.graph.remove_edge(edge.id)?;
                self.graph.add_control_edge(receive, edge.dst)?;
            }
            return Ok(());
        };
        let (consumer, input) = (self.graph.node(edge.dst)?, edge.dst_input as usize);
        let in_host_memory = !self.devices.is_host(to) && self.devices.takes_in_host_memory(to, consumer, input);
        if from == to && (!in_host_memory || is_in_host_memory(self.graph, edge.src)) {
            return Ok(());
        }
        let is_ref = self.graph.output_type(output)?.is_ref;
        if is_ref && from != to && consumer.input_types().get(input).is_some_and(|t| t.is_ref) {
            bail!(
                InvalidArgument,
                "{{{{node {}}}}} on {} takes a reference of {{{{node {}}}}}, which is on {}",
                consumer.name(),
                self.devices.name(to),
                self.graph.node(edge.src)?.name(),
                self.devices.name(from)
            );
        }
        let is_merge = consumer.is_merge();
        let reader = is_ref.then_some(edge.dst);
        let pair = self.pair(Key { src: output.node, slot: Some(output.slot), to, in_host_memory, reader })?;
        if is_ref && !is_merge {
            self.read_after(pair.send, from, siblings)?;
        }
        self.graph.update_edge(pair.received.output(0), edge.dst, input).map(drop)
    }

    /// Makes the send of a reference wait for the producers of `inputs`, which are those of its consumer, as far as they are no references.
    fn read_after(&mut self, send: NodeId, from: usize, inputs: &[Edge]) -> Result<()> {
        for input in inputs {
            if input.source().is_some_and(|output| self.graph.output_type(output).is_ok_and(|t| t.is_ref)) {
                continue;
            }
            let producer = if self.assignment.device(input.src) == from { input.src } else { self.control(input.src, from)? };
            self.graph.add_control_edge(producer, send)?;
        }
        Ok(())
    }

    /// Returns the node on a device that runs after `src`, which is on another device.
    fn control(&mut self, src: NodeId, to: usize) -> Result<NodeId> {
        let in_host_memory = !self.devices.is_host(to);
        self.pair(Key { src, slot: None, to, in_host_memory, reader: None }).map(|pair| pair.received)
    }

    /// Returns the nodes of a transfer, which are added if they do not exist.
    fn pair(&mut self, key: Key) -> Result<Pair> {
        if let Some(&pair) = self.pairs.get(&key) {
            return Ok(pair);
        }
        let pair = self.add_pair(&key)?;
        self.pairs.insert(key, pair);
        Ok(pair)
    }

    fn end(&mut self, device: usize) -> DeviceAttrs {
        let devices = self.devices;
        let end = || DeviceAttrs { name: devices.name(device).as_str().into(), incarnation: (devices.incarnation(device) as i64).into() };
        self.ends.entry(device).or_insert_with(end).clone()
    }

    fn add_pair(&mut self, &Key { src, slot, to, in_host_memory, .. }: &Key) -> Result<Pair> {
        let from = self.assignment.device(src);
        let frame = self.loops.frame_of_outputs(src);
        let name = self.graph.node(src)?.name().to_owned();
        if from != to && frame != FrameId::ROOT && self.loops.is_irregular(src) {
            bail!(
                InvalidArgument,
                "{{{{node {name}}}}} does not run in every iteration of its loop, so that its output cannot be sent from {} to {}",
                self.devices.name(from),
                self.devices.name(to)
            );
        }
        let (source, tensor) = match slot {
            Some(slot) => (src.output(slot), format!("{name}:{slot}")),
            None => {
                let token = add_token(self.graph, &name, &[src])?;
                self.assignment.set(token, from);
                (token.output(0), format!("^{name}"))
            }
        };
        let dtype = type_attr(self.graph.output_type(source)?.dtype);
        let number = self.transfers.len();
        let (sender, receiver) = (self.end(from), self.end(to));
        let key = attrs([
            ("tensor_name", format!("edge_{number}_{name}").as_str().into()),
            ("send_device", sender.name),
            ("recv_device", receiver.name),
            ("send_device_incarnation", sender.incarnation),
            (TRANSFER, (number as i64).into()),
        ]);
        self.transfers.push(Transfer { tensor, from, to });
        let [send, receive] = if in_host_memory { ["_HostSend", "_HostRecv"] } else { ["_Send", "_Recv"] };
        let mut add = |op: &str, device: usize, inputs: &[OutputId], type_name: &str, mut attr: BTreeMap<String, AttrValue>| {
            attr.insert(type_name.to_owned(), dtype.clone());
            let name = self.graph.new_name(&name);
            let node = self.graph.add_node_with_inputs(NodeDef { name, op: op.to_owned(), attr, ..NodeDef::default() }, inputs, &[])?;
            self.assignment.set(node, device);
            Ok::<_, Error>(node)
        };
        let send = add(send, from, &[source], "T", key.clone())?;
        let receive = add(receive, to, &[], "tensor_type", key)?;
        self.nodes.push(TransferNodes { send, receive, frame });
        let received = if slot.is_some() { receive } else { add("Identity", to, &[receive.output(0)], "T", BTreeMap::new())? };
        // What _SINK waits for is kept by all passes.
        self.graph.add_control_edge(send, NodeId::SINK)?;
        if from == to {
            // A send signals though its tensor is dead, so the receive runs as often as the send.
            self.graph.add_control_edge(send, receive)?;
        } else if let Some(merge) = self.loops.merge(frame, to) {
            self.graph.add_control_edge(merge, receive)?;
        }
        Ok(Pair { send, received })
    }
}
