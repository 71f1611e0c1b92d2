//! Partitioning of a graph by device.
//!
//! A tensor that a node of another device consumes goes through a `_Send` on its own device and a `_Recv` on the other, once for each tensor and
//! device. A control edge between devices is sent as an empty tensor. The parts of a step share nothing but its rendezvous.

use super::unit::Unit;
use super::{HOST, Part, Placement};
use crate::devices::{Devices, SessionDevice};
use flowmill_graph::arg_ranges;
use flowmill_graph::{ControlFlow, FrameId, Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, NodeDef};
use flowmill_tensor::{DType, Result, Tensor, bail, error};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// An edge whose ends are on different devices, or in different memories of one.
struct Crossing {
    src: NodeId,
    /// The output; `None` for a control edge.
    slot: Option<u32>,
    dst: NodeId,
    dst_input: usize,
    /// The consumer's kernel takes the tensor in the host's memory.
    to_host_memory: bool,
}

/// Splits a unit into one part for each device that has nodes. The first part is the host's, which has all arguments and results.
///
/// # Errors
/// Returns `Unimplemented` for an edge within a loop that leads from one device to another, and for a function body on several devices.
pub(super) fn partition<'a>(unit: Unit<'a>, placement: Placement, devices: &Devices) -> Result<Vec<Part<'a>>> {
    let Placement::Several(mut placed) = placement else { return Ok(vec![Part { unit, device: HOST }]) };
    if !unit.is_step() {
        bail!(Unimplemented, "Function {} has nodes on several devices: only functions that can be inlined may", unit.name);
    }
    let Unit { name, function, mut graph, arg_types, num_results, functions, .. } = unit;
    let flow = ControlFlow::new(&graph)?;
    let mut cut = Cut { graph: &mut graph, devices, placed: &mut placed, flow, received: FxHashMap::default() };
    for crossing in cut.crossings() {
        cut.cross(&crossing)?;
    }
    let used: BTreeSet<usize> = placed.values().copied().chain([HOST]).collect();
    let mut parts = Vec::with_capacity(used.len());
    for device in used {
        let mut graph = graph.clone();
        for id in graph.op_node_ids() {
            if placed.get(&id).copied().unwrap_or(HOST) != device {
                graph.remove_node(id)?;
            }
        }
        let (arg_types, num_results) = if device == HOST { (arg_types.clone(), num_results) } else { (Vec::new(), 0) };
        parts.push(Part { unit: Unit { name: name.clone(), function, graph, shapes: None, arg_types, num_results, functions }, device });
    }
    Ok(parts)
}

struct Cut<'a> {
    graph: &'a mut Graph,
    devices: &'a Devices,
    placed: &'a mut FxHashMap<NodeId, usize>,
    flow: ControlFlow,
    /// The receives made so far. The key is the output, the receiving device, and whether the tensor is received in the host's memory.
    received: FxHashMap<(NodeId, Option<u32>, usize, bool), NodeId>,
}

impl Cut<'_> {
    fn device_of(&self, node: NodeId) -> usize {
        self.placed.get(&node).copied().unwrap_or(HOST)
    }

    fn crossings(&self) -> Vec<Crossing> {
        let mut found = Vec::new();
        for node in self.graph.op_nodes() {
            let (dst, device) = (node.id(), self.device_of(node.id()));
            for (dst_input, input) in self.graph.inputs(dst).enumerate() {
                let to_host_memory = self.takes_in_host_memory(node, dst_input);
                // Within a device, a tensor may have to be copied to the host's memory.
                if self.device_of(input.node) != device || (device != HOST && to_host_memory) {
                    found.push(Crossing { src: input.node, slot: Some(input.slot), dst, dst_input, to_host_memory });
                }
            }
            for src in self.graph.control_inputs(dst) {
                if self.graph.get(src).is_some_and(|n| !n.is_source_or_sink()) && self.device_of(src) != device {
                    found.push(Crossing { src, slot: None, dst, dst_input: 0, to_host_memory: true });
                }
            }
        }
        found
    }

    /// Replaces an edge by one from a receive.
    fn cross(&mut self, crossing: &Crossing) -> Result<()> {
        let &Crossing { src, slot, dst, dst_input, to_host_memory } = crossing;
        let key = (src, slot, self.device_of(dst), to_host_memory);
        let receive = match self.received.get(&key) {
            Some(&receive) => receive,
            None => {
                let receive = self.send(crossing)?;
                self.received.insert(key, receive);
                receive
            }
        };
        match slot {
            Some(_) => drop(self.graph.update_edge(receive.output(0), dst, dst_input)?),
            None => {
                let edge = self.graph.in_edges(dst).find(|e| e.is_control() && e.src == src).map(|e| e.id);
                if let Some(edge) = edge {
                    self.graph.remove_edge(edge)?;
                }
                self.graph.add_control_edge(receive, dst)?;
            }
        }
        Ok(())
    }

    /// Returns true if the kernel of a node takes data input `i` in the host's memory: if its registration says so, or if the engine reads
    /// the input itself.
    fn takes_in_host_memory(&self, node: &Node, i: usize) -> bool {
        // All memory of a CPU is the host's.
        let Some(device) = self.devices.get(self.device_of(node.id())).map(|d| &d.device).filter(|d| !d.is_host()) else { return false };
        if let Some(input) = node.role().host_input() {
            return i == input;
        }
        let Some(def) = device.kernels().find(node.op(), node.attrs()) else { return false };
        let args = &node.op_def().inputs;
        let ranges = arg_ranges(args, node.attrs()).unwrap_or_default();
        args.iter().zip(ranges).any(|(arg, range)| range.contains(&i) && def.is_in_host_memory(&arg.name))
    }

    /// Adds a send and the receive on the other device. Returns the receive.
    fn send(&mut self, crossing: &Crossing) -> Result<NodeId> {
        let &Crossing { src, slot, dst, to_host_memory, .. } = crossing;
        let (from, to) = (self.device_of(src), self.device_of(dst));
        if self.flow.output_frame_of(src) != FrameId::ROOT {
            let (src, dst) = (self.graph.node(src)?.name(), self.graph.node(dst)?.name());
            bail!(
                Unimplemented,
                "The loop around {{{{node {src}}}}} is on several devices: its output goes to {{{{node {dst}}}}} on another one"
            );
        }
        let source = match slot {
            Some(slot) => src.output(slot),
            // An empty tensor is what crosses for a control edge: dead where the node is.
            None => {
                let token = Tensor::zeros(DType::F32, [0])?.to_proto()?;
                self.add("Const", from, &[], &[src], [("dtype", type_attr(DType::F32)), ("value", AttrValue::from(token))])?.output(0)
            }
        };
        let dtype = self.graph.output_type(source)?.dtype;
        let attrs = self.key(source, from, to, to_host_memory)?;
        let (send, receive) = if to_host_memory { ("_HostSend", "_HostRecv") } else { ("_Send", "_Recv") };
        let send = self.add(send, from, &[source], &[], attrs.clone().into_iter().chain([("T", type_attr(dtype))]))?;
        // What _SINK waits for is kept by all passes.
        self.graph.add_control_edge(send, NodeId::SINK)?;
        self.add(receive, to, &[], &[], attrs.into_iter().chain([("tensor_type", type_attr(dtype))]))
    }

    /// Returns the attributes that a send and its receive share.
    fn key(&self, source: OutputId, from: usize, to: usize, to_host_memory: bool) -> Result<Vec<(&'static str, AttrValue)>> {
        let name = |device: &SessionDevice| device.device.attributes().name.to_string();
        let missing = || error!(Internal, "a node is on a device that the session does not have");
        let (from, to) = (self.devices.get(from).ok_or_else(missing)?, self.devices.get(to).ok_or_else(missing)?);
        let memory = if to_host_memory { ";host" } else { "" };
        let tensor = format!("{}:{}{memory}", self.graph.node(source.node)?.name(), source.slot);
        Ok(vec![
            ("tensor_name", tensor.as_str().into()),
            ("send_device", name(from).as_str().into()),
            ("recv_device", name(to).as_str().into()),
            ("send_device_incarnation", (from.device.attributes().incarnation as i64).into()),
        ])
    }

    fn add(
        &mut self,
        op: &str,
        device: usize,
        inputs: &[OutputId],
        controls: &[NodeId],
        attrs: impl IntoIterator<Item = (&'static str, AttrValue)>,
    ) -> Result<NodeId> {
        let name = self.graph.new_name(&format!("{op}_between_devices"));
        let attr: BTreeMap<String, AttrValue> = attrs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let id = self.graph.add_node_with_inputs(NodeDef { name, op: op.to_owned(), attr, ..NodeDef::default() }, inputs, controls)?;
        self.placed.insert(id, device);
        Ok(id)
    }
}

fn type_attr(dtype: DType) -> AttrValue {
    Value::Type(dtype.number()).into()
}
