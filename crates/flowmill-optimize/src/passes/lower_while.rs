//! Replaces `While` by a loop of frames that contains its condition and its body.
//!
//! Before: `y = While(x) {cond=@c, body=@b}`. After: `Enter`, `Merge`, `Switch`, `Exit` and `NextIteration` for each variable, the body of
//! `c` between `Merge` and `LoopCond`, that of `b` between `Switch` and `NextIteration`.
//!
//! Sound because the loop runs the same nodes on the same values. Every `Enter` waits for what the `While` waited for, and nodes that waited for the
//! `While` wait for every `Exit`. Effects of the condition come before its value is used, and effects of the body before the next iteration starts,
//! so effects happen in the order of the calls. Without effects, up to `parallel_iterations` iterations overlap, as in TensorFlow. A variable that
//! the body returns unchanged is an invariant: it enters once for all iterations. Nodes of the body that only invariants would start wait for a
//! pivot, which is live while the condition holds. A condition of any type is converted to a truth value as TensorFlow does (`ToBool`). Not lowered
//! are:
//! * loops of functions that `inline_calls` would not inline, except that a function marked `_noinline` becomes a call inside the loop;
//! * loops without variables: nothing would start their iterations.
//!
//! Needs nothing to run before it.

use crate::lowering::{
    Argument, Body, CallColocation, Class, Functions, Liveness, Place, Reason, add, gate_of, identity, inputs_gate, redirect, splice,
    type_attr,
};
use flowmill_graph::{Graph, Node, NodeId, OutputId, Role};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, NameAttrList};
use flowmill_tensor::{Bytes, DType, Result, bail};
use std::sync::Arc;

pub(crate) fn run(graph: &mut Graph, functions: &mut Functions) -> Result<usize> {
    let nodes = functions.candidates(graph, |n| n.role() == Role::While);
    if nodes.is_empty() {
        return Ok(0);
    }
    let liveness = functions.liveness(graph)?;
    let mut count = 0;
    for id in nodes {
        match parts(graph, functions, id) {
            Ok([cond, body]) => {
                let colocation = CallColocation::of(graph, id);
                Lowering::new(graph, id, &liveness)?.lower(graph, functions, &cond, &body)?;
                colocation.pass_on(graph)?;
                count += 1;
            }
            Err(reason) => functions.leave(id, reason),
        }
    }
    Ok(count)
}

/// The condition and the body.
fn parts(graph: &Graph, functions: &mut Functions, id: NodeId) -> std::result::Result<[Arc<Body>; 2], Reason> {
    let node = graph.get(id).ok_or(Reason::NotAFunction)?;
    if node.num_inputs() == 0 {
        return Err(Reason::NoVariables);
    }
    let mut part = |attr: &str| {
        let function = node.attrs().get::<&NameAttrList>(attr).map_err(|_| Reason::NotAFunction)?;
        functions.body(graph, id, function)
    };
    let (cond, body) = (part("cond")?, part("body")?);
    if !body.fits(node, 0..) || !cond.takes(node, 0..) || cond.retvals.len() != 1 {
        return Err(Reason::OtherTypes);
    }
    Ok([cond, body])
}

/// Returns true if the body returns argument `i` unchanged.
fn is_invariant(body: &Body, i: usize) -> bool {
    const MAX_STEPS: usize = 16;
    let graph = &body.graph;
    let mut source = graph.input(body.retvals[i], 0);
    for _ in 0..MAX_STEPS {
        let Some(node) = source.and_then(|o| graph.get(o.node)) else { return false };
        if body.args[i] == Some(node.id()) {
            return true;
        }
        if !node.is_op("Identity") || graph.control_inputs(node.id()).next().is_some() {
            return false;
        }
        source = graph.input(node.id(), 0);
    }
    false
}

/// One loop.
struct Lowering {
    node: NodeId,
    name: String,
    device: String,
    inputs: Vec<OutputId>,
    /// The devices that the producers of the inputs request. As in TensorFlow, the nodes of a variable request that of its input.
    devices: Vec<String>,
    /// The node that every `Enter` waits for.
    gate: Option<NodeId>,
    parallel_iterations: i64,
    class: Class,
}

impl Lowering {
    fn new(graph: &mut Graph, id: NodeId, liveness: &Liveness) -> Result<Lowering> {
        let gate = inputs_gate(graph, id, liveness)?;
        let node: &Node = graph.node(id)?;
        Ok(Lowering {
            node: id,
            name: node.name().to_owned(),
            device: node.device().to_owned(),
            inputs: graph.inputs(id).collect(),
            devices: graph.inputs(id).map(|input| Ok(graph.node(input.node)?.device().to_owned())).collect::<Result<_>>()?,
            gate,
            parallel_iterations: node.attrs().get_or("parallel_iterations", 10)?,
            class: liveness.of(id),
        })
    }

    fn add(&self, graph: &mut Graph, op: &str, attrs: &[(&str, AttrValue)], inputs: &[OutputId], controls: &[NodeId]) -> Result<NodeId> {
        add(graph, op, &format!("{}/{op}", self.name), &self.device, attrs, inputs, controls)
    }

    /// Adds a node of the variable of input `i`.
    fn add_for(
        &self,
        i: usize,
        graph: &mut Graph,
        op: &str,
        attrs: &[(&str, AttrValue)],
        input: &[OutputId],
        gate: &[NodeId],
    ) -> Result<NodeId> {
        add(graph, op, &format!("{}/{op}", self.name), &self.devices[i], attrs, input, gate)
    }

    fn lower(&self, graph: &mut Graph, functions: &mut Functions, cond: &Body, body: &Body) -> Result<()> {
        let mut is_variable: Vec<bool> = (0..self.inputs.len()).map(|i| !is_invariant(body, i)).collect();
        if !is_variable.contains(&true) {
            // Something has to start the iterations.
            is_variable[0] = true;
        }
        let types = self.inputs.iter().map(|&o| graph.output_type(o).map(|t| t.dtype)).collect::<Result<Vec<DType>>>()?;
        let of_type = |i: usize| ("T", type_attr(types[i]));
        let gate: Vec<NodeId> = self.gate.into_iter().collect();
        let frame: AttrValue = Value::S(Bytes::from(format!("{}:loop", self.name))).into();

        let (mut enters, mut merges) = (Vec::new(), Vec::new());
        for (i, &input) in self.inputs.iter().enumerate() {
            let attrs = [
                of_type(i),
                ("frame_name", frame.clone()),
                ("is_constant", (!is_variable[i]).into()),
                ("parallel_iterations", self.parallel_iterations.into()),
            ];
            let enter = self.add_for(i, graph, "Enter", &attrs, &[input], &gate)?.output(0);
            enters.push(enter);
            merges.push(match is_variable[i] {
                true => Some(self.add_for(i, graph, "Merge", &[of_type(i), ("N", 2i64.into())], &[enter], &[])?.output(0)),
                false => None,
            });
        }
        let first = merges.iter().flatten().next().map(|m| m.node);

        let args: Vec<Argument> =
            (0..enters.len()).map(|i| Argument { source: merges[i].unwrap_or(enters[i]), is_gated: merges[i].is_some() }).collect();
        let prefix = format!("{}/cond", self.name);
        let cond =
            splice(graph, functions, cond, &Place { caller: self.node, prefix: &prefix, device: &self.device, args: &args, gate: first })?;
        let dtype = graph.output_type(cond.results[0])?.dtype;
        let truth = self.add(graph, "ToBool", &[("T", type_attr(dtype))], &cond.results, &[])?.output(0);
        let condition = self.add(graph, "LoopCond", &[], &[truth], &cond.effects)?.output(0);

        let mut switches = Vec::new();
        for (i, merge) in merges.iter().enumerate() {
            switches.push(match merge {
                Some(merge) => Some(self.add_for(i, graph, "Switch", &[of_type(i)], &[*merge, condition], &[])?),
                None => None,
            });
        }
        let pivot = self.add(graph, "Switch", &[("T", type_attr(DType::Bool))], &[condition, condition], &[])?;
        let prefix = format!("{}/body", self.name);
        let pivot = identity(graph, pivot.output(1), &format!("{prefix}/pivot"), &self.device, &[])?.node;
        let args: Vec<Argument> = (0..enters.len())
            .map(|i| Argument { source: switches[i].map_or(enters[i], |s| s.output(1)), is_gated: switches[i].is_some() })
            .collect();
        let place = Place { caller: self.node, prefix: &prefix, device: &self.device, args: &args, gate: Some(pivot) };
        let body = splice(graph, functions, body, &place)?;
        let done = gate_of(graph, &format!("{prefix}/done"), &self.device, [], body.effects)?;
        let done: Vec<NodeId> = done.into_iter().collect();
        for (i, merge) in merges.iter().enumerate() {
            if let Some(merge) = merge {
                let next = self.add_for(i, graph, "NextIteration", &[of_type(i)], &[body.results[i]], &done)?;
                graph.add_edge(next.output(0), merge.node, 1)?;
            }
        }
        self.leave(graph, functions, &switches, &types)
    }

    /// Makes the Exits that have consumers, and replaces the outputs of the node by them.
    fn leave(&self, graph: &mut Graph, functions: &mut Functions, switches: &[Option<NodeId>], types: &[DType]) -> Result<()> {
        let mut exits: Vec<Option<OutputId>> = vec![None; switches.len()];
        let mut exit = |graph: &mut Graph, i: usize| -> Result<Option<OutputId>> {
            let Some(switch) = switches[i] else { return Ok(None) };
            if exits[i].is_none() {
                let id = self.add_for(i, graph, "Exit", &[("T", type_attr(types[i]))], &[switch.output(0)], &[])?;
                functions.add_join(id, self.class);
                exits[i] = Some(id.output(0));
            }
            Ok(exits[i])
        };
        let is_waited_for = graph.out_edges(self.node).any(|e| e.is_control());
        let any = switches.iter().position(Option::is_some).unwrap_or(0);
        let mut all = Vec::new();
        if is_waited_for {
            for i in 0..switches.len() {
                all.extend(exit(graph, i)?);
            }
        }
        let mut invariants: Vec<Option<OutputId>> = vec![None; switches.len()];
        let output = |graph: &mut Graph, slot: u32| -> Result<OutputId> {
            let i = slot as usize;
            if let Some(exit) = exit(graph, i)? {
                return Ok(exit);
            }
            // An invariant comes out when the loop is done, as the others do.
            if let Some(done) = invariants[i] {
                return Ok(done);
            }
            let Some(after) = exit(graph, any)? else { bail!(Internal, "a loop without variables") };
            let done = identity(graph, self.inputs[i], &format!("{}/Exit", self.name), &self.devices[i], &[after.node])?;
            invariants[i] = Some(done);
            Ok(done)
        };
        redirect(graph, self.node, output, |graph| gate_of(graph, &format!("{}/done", self.name), &self.device, all, []))
    }
}
