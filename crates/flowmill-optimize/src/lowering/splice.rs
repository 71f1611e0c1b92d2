//! Copies a function's body into a graph.

use super::conditional::Liveness;
use super::functions::{Body, Functions, called};
use flowmill_graph::{ARG, DeviceName, Graph, Node, NodeId, OutputId, RETVAL};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NameAttrList, NodeDef};
use flowmill_tensor::{Bytes, DType, Result, bail};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A tensor that replaces an argument of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) source: OutputId,
    /// True if the tensor arrives exactly once each time the body is to run. This is false for a loop invariant.
    pub(crate) is_gated: bool,
}

/// The position that a body is copied to.
pub(crate) struct Place<'a> {
    /// The node it is copied for.
    pub(crate) caller: NodeId,
    /// The prefix of the copies' names.
    pub(crate) prefix: &'a str,
    /// The device of the caller, which has the parts that the devices of the body's nodes leave open.
    pub(crate) device: &'a str,
    pub(crate) args: &'a [Argument],
    /// A node that runs before the body each time the body is to run. `None` if the body runs once per step.
    pub(crate) gate: Option<NodeId>,
}

/// A copied body.
pub(crate) struct Spliced {
    /// The tensors that replace the function's results. They arrive only when the body ran.
    pub(crate) results: Vec<OutputId>,
    /// The copies of the body's effects.
    pub(crate) effects: Vec<NodeId>,
}

/// Adds a node whose name begins with `name`.
pub(crate) fn add(
    graph: &mut Graph,
    op: &str,
    name: &str,
    device: &str,
    attrs: &[(&str, AttrValue)],
    inputs: &[OutputId],
    controls: &[NodeId],
) -> Result<NodeId> {
    let name = free_name(graph, name);
    let attr = attrs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    graph.add_node_with_inputs(NodeDef { name, op: op.into(), device: device.into(), attr, ..Default::default() }, inputs, controls)
}

/// A type as an attribute.
pub(crate) fn type_attr(dtype: DType) -> AttrValue {
    Value::Type(dtype.number()).into()
}

fn free_name(graph: &mut Graph, name: &str) -> String {
    if graph.find_node(name).is_none() { name.to_owned() } else { graph.new_name(name) }
}

/// Copies `body` into the graph.
///
/// Every copy runs exactly when the body is to run: it has an input that arrives only then, or waits for the gate. Nodes whose parts may end up in
/// different frames or branches (control flow, and calls, branches and loops that are lowered later) get only inputs that arrive only then.
pub(crate) fn splice(graph: &mut Graph, functions: &mut Functions, body: &Body, place: &Place<'_>) -> Result<Spliced> {
    if body.is_noinline {
        return call(graph, functions, body, place);
    }
    let link = functions.enter(place.caller, &body.name);
    let mut copier = Copier { graph, body, place, nodes: FxHashMap::default(), gated: BTreeMap::new(), orders: FxHashMap::default() };
    let is_copied = |n: &&Node| !n.is_op(ARG) && !n.is_op(RETVAL);
    for node in body.graph.op_nodes().filter(is_copied) {
        let id = copier.copy(node)?;
        functions.note(id, link);
    }
    for node in body.graph.op_nodes().filter(is_copied) {
        copier.connect(node)?;
    }
    let results = body.retvals.iter().map(|&id| copier.result(id)).collect::<Result<_>>()?;
    let effects = body.effects.iter().filter_map(|id| copier.nodes.get(id).copied()).collect();
    Ok(Spliced { results, effects })
}

/// Adds a call of a function that must not be inlined.
fn call(graph: &mut Graph, functions: &mut Functions, body: &Body, place: &Place<'_>) -> Result<Spliced> {
    let types = |outputs: &[DType]| -> AttrValue {
        Value::List(Box::new(ListValue { r#type: outputs.iter().map(|t| t.number()).collect(), ..Default::default() })).into()
    };
    let inputs: Vec<OutputId> = place.args.iter().map(|a| a.source).collect();
    let dtypes = inputs.iter().map(|&o| graph.output_type(o).map(|t| t.dtype)).collect::<Result<Vec<_>>>()?;
    let returned: Vec<DType> =
        body.retvals.iter().filter_map(|&id| body.graph.get(id)).flat_map(|n| n.input_types().iter().map(|t| t.dtype)).collect();
    let function = NameAttrList { name: body.name.to_string(), attr: body.attrs.clone(), ..Default::default() };
    let function = Value::Func(Box::new(function)).into();
    let attrs = [("Tin", types(&dtypes)), ("Tout", types(&returned)), ("f", function), ("_noinline", true.into())];
    let op = if body.effects.is_empty() { "PartitionedCall" } else { "StatefulPartitionedCall" };
    let gate: Vec<NodeId> = place.gate.into_iter().collect();
    let id = add(graph, op, &format!("{}/call", place.prefix), place.device, &attrs, &inputs, &gate)?;
    let link = functions.enter(place.caller, &body.name);
    functions.note(id, link);
    let effects = if body.effects.is_empty() { Vec::new() } else { vec![id] };
    Ok(Spliced { results: (0..returned.len() as u32).map(|slot| id.output(slot)).collect(), effects })
}

struct Copier<'a> {
    graph: &'a mut Graph,
    body: &'a Body,
    place: &'a Place<'a>,
    /// The copy of each node of the body.
    nodes: FxHashMap<NodeId, NodeId>,
    /// Arguments made to wait for the gate.
    gated: BTreeMap<usize, OutputId>,
    /// For tensors of control flow, nodes that run when they arrive.
    orders: FxHashMap<OutputId, NodeId>,
}

impl Copier<'_> {
    fn copy(&mut self, node: &Node) -> Result<NodeId> {
        let prefix = self.place.prefix;
        let mut attr = node.attrs().to_map();
        if node.is_enter()
            && let Ok(frame) = node.attrs().get::<&str>("frame_name")
        {
            attr.insert("frame_name".into(), text(format!("{prefix}:{frame}")));
        }
        if let Some(Value::List(list)) = attr.get_mut("_class").and_then(|a| a.value.as_mut()) {
            for class in &mut list.s {
                let other = std::str::from_utf8(class).ok().and_then(|c| c.strip_prefix("loc:@"));
                if let Some(other) = other.filter(|o| self.body.graph.find_node(o).is_some()) {
                    *class = Bytes::from(format!("loc:@{prefix}/{other}"));
                }
            }
        }
        let name = free_name(self.graph, &format!("{prefix}/{}", node.name()));
        let device = device_in(node.device(), self.place.device);
        let def = NodeDef { name, op: node.op().to_owned(), device, attr, ..Default::default() };
        let id = self.graph.add_node_with_inputs(def, &[], &[])?;
        self.nodes.insert(node.id(), id);
        Ok(id)
    }

    fn connect(&mut self, node: &Node) -> Result<()> {
        let id = self.node(node.id())?;
        // These would not be dead, or not stay in one iteration, by one dead input.
        let is_strict = !node.is_control_flow() && called(&self.body.graph, node).is_none();
        let mut is_gated = self.place.gate.is_none();
        for (i, source) in self.body.graph.inputs(node.id()).enumerate() {
            let source = match self.arg(source.node) {
                Some(arg) if is_strict => {
                    is_gated |= self.argument(arg)?.is_gated;
                    self.argument(arg)?.source
                }
                Some(arg) => {
                    is_gated = true;
                    self.gated_argument(arg)?
                }
                None => {
                    is_gated = true;
                    self.node(source.node)?.output(source.slot)
                }
            };
            self.graph.add_edge(source, id, i)?;
        }
        for control in self.body.graph.control_inputs(node.id()).collect::<Vec<_>>() {
            let before = match self.arg(control) {
                Some(arg) => {
                    let source = self.gated_argument(arg)?;
                    self.order(source)?
                }
                None => self.node(control)?,
            };
            is_gated = true;
            self.graph.add_control_edge(before, id)?;
        }
        if let Some(gate) = self.place.gate.filter(|_| !is_gated) {
            self.graph.add_control_edge(gate, id)?;
        }
        Ok(())
    }

    fn result(&mut self, retval: NodeId) -> Result<OutputId> {
        let Some(source) = self.body.graph.input(retval, 0) else { bail!(Internal, "a result that is not connected") };
        match self.arg(source.node) {
            Some(arg) => self.gated_argument(arg),
            None => Ok(self.node(source.node)?.output(source.slot)),
        }
    }

    fn node(&self, id: NodeId) -> Result<NodeId> {
        match self.nodes.get(&id) {
            Some(&id) => Ok(id),
            None => bail!(Internal, "a node of function {} was not copied", self.body.name),
        }
    }

    /// The index of the argument that a node of the body is.
    fn arg(&self, id: NodeId) -> Option<usize> {
        self.body.arg_indices.get(&id).copied()
    }

    fn argument(&self, i: usize) -> Result<Argument> {
        match self.place.args.get(i) {
            Some(&arg) => Ok(arg),
            None => bail!(Internal, "function {} has no argument {i}", self.body.name),
        }
    }

    /// The argument, arriving only when the body is to run.
    fn gated_argument(&mut self, i: usize) -> Result<OutputId> {
        let arg = self.argument(i)?;
        let Some(gate) = self.place.gate.filter(|_| !arg.is_gated) else { return Ok(arg.source) };
        if let Some(&output) = self.gated.get(&i) {
            return Ok(output);
        }
        let name = format!("{}/input", self.place.prefix);
        let output = identity(self.graph, arg.source, &name, self.place.device, &[gate])?;
        self.gated.insert(i, output);
        Ok(output)
    }

    /// A node that runs when a tensor arrives. A `Switch` runs for all of its outputs.
    fn order(&mut self, source: OutputId) -> Result<NodeId> {
        if !self.graph.node(source.node)?.is_switch() {
            return Ok(source.node);
        }
        if let Some(&node) = self.orders.get(&source) {
            return Ok(node);
        }
        let name = format!("{}/input", self.place.prefix);
        let node = identity(self.graph, source, &name, self.place.device, &[])?.node;
        self.orders.insert(source, node);
        Ok(node)
    }
}

/// Returns the device that a node of a body requests after the body was inlined into a caller on device `caller`: its own, with the parts of the
/// caller's that its own leaves open. A name that is malformed is left as it is, for the placement's error.
fn device_in(own: &str, caller: &str) -> String {
    match (own.parse::<DeviceName>(), caller.parse::<DeviceName>()) {
        (Ok(_), Ok(_)) if own.is_empty() => caller.to_owned(),
        (Ok(own), Ok(caller)) if !own.is_full() => caller.overridden_by(&own).to_string(),
        _ => own.to_owned(),
    }
}

fn text(s: String) -> AttrValue {
    Value::S(Bytes::from(s)).into()
}

/// Passes a tensor on, after `controls`.
pub(crate) fn identity(graph: &mut Graph, source: OutputId, name: &str, device: &str, controls: &[NodeId]) -> Result<OutputId> {
    let dtype = graph.output_type(source)?.dtype;
    Ok(add(graph, "Identity", name, device, &[("T", type_attr(dtype))], &[source], controls)?.output(0))
}

/// One node that runs after all of these; `None` for none. Outputs of a `Switch` are waited for by an `Identity`.
pub(crate) fn gate_of(
    graph: &mut Graph,
    name: &str,
    device: &str,
    tensors: impl IntoIterator<Item = OutputId>,
    controls: impl IntoIterator<Item = NodeId>,
) -> Result<Option<NodeId>> {
    let mut nodes: Vec<NodeId> = controls.into_iter().collect();
    for tensor in tensors {
        nodes.push(match graph.node(tensor.node)?.is_switch() {
            true => identity(graph, tensor, &format!("{name}/input"), device, &[])?.node,
            false => tensor.node,
        });
    }
    nodes.sort_unstable();
    nodes.dedup();
    match nodes[..] {
        [] => Ok(None),
        [node] => Ok(Some(node)),
        _ => add(graph, "NoOp", name, device, &[], &[], &nodes).map(Some),
    }
}

/// One node that runs when everything `node` waits for is there and live, where its inputs do not all say so themselves: it has control
/// inputs, or some of its inputs may be dead without the others.
pub(crate) fn inputs_gate(graph: &mut Graph, node: NodeId, liveness: &Liveness) -> Result<Option<NodeId>> {
    let (name, device) = (format!("{}/inputs", graph.node(node)?.name()), graph.node(node)?.device().to_owned());
    let controls: Vec<NodeId> = graph.control_inputs(node).collect();
    let is_split = liveness.is_conditional(node) && !liveness.is_uniform(node);
    let tensors: Vec<OutputId> = if is_split { graph.inputs(node).collect() } else { Vec::new() };
    gate_of(graph, &name, &device, tensors, controls)
}

/// Replaces `node` by other tensors and removes it: its consumers take `output`, and nodes that wait for it wait for `done`. `done` is called only if
/// some node waits.
pub(crate) fn redirect(
    graph: &mut Graph,
    node: NodeId,
    mut output: impl FnMut(&mut Graph, u32) -> Result<OutputId>,
    done: impl FnOnce(&mut Graph) -> Result<Option<NodeId>>,
) -> Result<()> {
    let edges: Vec<_> = graph.out_edges(node).collect();
    for edge in edges.iter() {
        if let Some(source) = edge.source() {
            let new = output(graph, source.slot)?;
            graph.update_edge(new, edge.dst, edge.dst_input as usize)?;
        }
    }
    let waiting: Vec<NodeId> = edges.iter().filter(|e| e.is_control()).map(|e| e.dst).collect();
    if !waiting.is_empty()
        && let Some(done) = done(graph)?
    {
        for dst in waiting {
            graph.add_control_edge(done, dst)?;
        }
    }
    graph.remove_node(node)
}
