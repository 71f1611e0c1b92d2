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

use crate::control_loops::{ControlLoops, TOKEN_TYPE, attrs_of, token_template, type_attr};
use crate::memory::OutputMemories;
use crate::{Assignment, Devices, Memory, Transfer, is_boundary};
use flowmill_graph::{Edge, FrameId, Graph, KEEP_MEMORY, NodeId, NodeTemplate, OutputId, OwnAttr, Role, TRANSFER};
use flowmill_tensor::{DType, Result, bail};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;
use std::sync::Arc;

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
    /// True if the receiver takes the tensor in the sender's memory.
    keeps_memory: bool,
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
    memories: OutputMemories<'a>,
    templates: FxHashMap<Route, PairTemplates>,
    /// The templates of a dummy tensor and of the node that is live if it is.
    control: Option<(NodeTemplate, NodeTemplate)>,
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

/// The properties that all transfers with the same templates have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Route {
    from: usize,
    to: usize,
    in_host_memory: bool,
    keeps_memory: bool,
    dtype: DType,
}

/// The templates of a send and a receive, which differ from others of the route in the attributes of [`own_attrs`].
struct PairTemplates {
    send: NodeTemplate,
    receive: NodeTemplate,
}

impl PairTemplates {
    fn new(graph: &mut Graph, devices: &dyn Devices, route: Route) -> Result<PairTemplates> {
        let Route { from, to, in_host_memory, keeps_memory, dtype } = route;
        let ends = [
            ("send_device", devices.name(from).into()),
            ("recv_device", devices.name(to).into()),
            ("send_device_incarnation", (devices.incarnation(from) as i64).into()),
        ];
        let [send, receive] = if in_host_memory { ["_HostSend", "_HostRecv"] } else { ["_Send", "_Recv"] };
        let example = own_attrs(0, "");
        let mut template = |op, type_name| {
            let keep = keeps_memory.then(|| (KEEP_MEMORY, true.into()));
            let attrs = ends.iter().cloned().chain([(type_name, type_attr(dtype))]).chain(keep);
            graph.template(op, attrs_of(attrs), &example)
        };
        Ok(PairTemplates { send: template(send, "T")?, receive: template(receive, "tensor_type")? })
    }
}

/// Returns the attributes of transfer `number`, of a tensor of the node called `name`.
fn own_attrs(number: usize, name: &str) -> Arc<[OwnAttr]> {
    let mut tensor_name = String::with_capacity(name.len() + "edge__".len() + MAX_DIGITS);
    let _ = write!(tensor_name, "edge_{number}_");
    tensor_name.push_str(name);
    Arc::new([(TRANSFER, (number as i64).into()), ("tensor_name", tensor_name.into())])
}

/// The digits of most numbers, for which strings have room.
const MAX_DIGITS: usize = 10;

/// Returns the name of a tensor, or that of a node for a control edge: see [`Transfer::tensor`].
fn tensor_name(node: &str, slot: Option<u32>) -> String {
    let mut name = String::with_capacity(node.len() + 1 + MAX_DIGITS);
    if slot.is_none() {
        name.push('^');
    }
    name.push_str(node);
    if let Some(slot) = slot {
        let _ = write!(name, ":{slot}");
    }
    name
}

/// Removes the numbers from sends and receives that an earlier partitioning has added. They go on to meet under their names.
pub(crate) fn forget(graph: &mut Graph) -> Result<()> {
    let numbered: Vec<NodeId> = graph
        .op_nodes()
        .filter(|node| matches!(node.role(), Role::Send | Role::Recv) && node.attrs().contains(TRANSFER))
        .map(|node| node.id())
        .collect();
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
    let memories = OutputMemories::new(graph, assignment, devices);
    let mut transfers = Transfers {
        graph,
        assignment,
        devices,
        loops,
        memories,
        templates: FxHashMap::default(),
        control: None,
        pairs: FxHashMap::default(),
        transfers: Vec::new(),
        nodes: Vec::new(),
    };
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
        let wanted = if self.devices.is_host(to) { Memory::Either } else { self.devices.input_memory(to, consumer, input) };
        if from == to && (wanted == Memory::Either || self.memories.of(self.graph, self.assignment, output) == wanted) {
            return Ok(());
        }
        let in_host_memory = wanted == Memory::Host;
        let keeps_memory = consumer.role() == Role::Retval && consumer.attrs().get_or(KEEP_MEMORY, false)?;
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
        let pair = self.pair(Key { src: output.node, slot: Some(output.slot), to, in_host_memory, keeps_memory, reader })?;
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
        self.pair(Key { src, slot: None, to, in_host_memory, keeps_memory: false, reader: None }).map(|pair| pair.received)
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

    fn add_pair(&mut self, &Key { src, slot, to, in_host_memory, keeps_memory, .. }: &Key) -> Result<Pair> {
        let from = self.assignment.device(src);
        let frame = self.loops.frame_of_outputs(src);
        let name = self.graph.node(src)?.shared_name().clone();
        if from != to && frame != FrameId::ROOT && self.loops.is_irregular(src) {
            bail!(
                InvalidArgument,
                "{{{{node {name}}}}} does not run in every iteration of its loop, so that its output cannot be sent from {} to {}",
                self.devices.name(from),
                self.devices.name(to)
            );
        }
        let source = match slot {
            Some(slot) => src.output(slot),
            None => self.add_token(src, &name, from)?,
        };
        let route = Route { from, to, in_host_memory, keeps_memory, dtype: self.graph.output_type(source)?.dtype };
        let templates = match self.templates.entry(route) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(PairTemplates::new(self.graph, self.devices, route)?),
        };
        let number = self.transfers.len();
        self.transfers.push(Transfer { tensor: tensor_name(&name, slot), from, to });
        let own = own_attrs(number, &name);
        let send = self.graph.add_node_of(&templates.send, &name, Some(&own), &[source])?;
        let receive = self.graph.add_node_of(&templates.receive, &name, Some(&own), &[])?;
        self.assignment.set(send, from);
        self.assignment.set(receive, to);
        self.nodes.push(TransferNodes { send, receive, frame });
        let received = match &self.control {
            Some((_, identity)) if slot.is_none() => {
                let identity = self.graph.add_node_of(identity, &name, None, &[receive.output(0)])?;
                self.assignment.set(identity, to);
                identity
            }
            _ => receive,
        };
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

    /// Adds a constant that carries no data and runs after `src`, which is called `name`.
    fn add_token(&mut self, src: NodeId, name: &str, device: usize) -> Result<OutputId> {
        let (token, _) = match &mut self.control {
            Some(control) => control,
            control => {
                let identity = self.graph.template("Identity", attrs_of([("T", type_attr(TOKEN_TYPE))]), &[])?;
                control.insert((token_template(self.graph)?, identity))
            }
        };
        let token = self.graph.add_node_of(token, name, None, &[])?;
        self.graph.add_control_edge(src, token)?;
        self.assignment.set(token, device);
        Ok(token.output(0))
    }
}
