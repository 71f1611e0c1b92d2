//! Removes the frames of loops that are known to run their body once or not at all.
//!
//! Before: `e = Enter(x)`, `m = Merge(e, n)`, `s:2 = Switch(m, LoopCond(…))`, `n = NextIteration(f(s:1))`, `y = Exit(s)`. After: `y = f(x)` for one iteration, and
//! `y = x` for none.
//!
//! Sound because the condition, computed from the constants that enter the loop, says how often the body runs. The nodes of a body that runs once are then
//! nodes of the frame around the loop; those of one that never runs are dead, and go. Guards:
//! * each loop variable has one `Enter`, one `NextIteration` and one `Switch`, and nothing else decides on the values of the loop;
//! * the condition and the variables that it depends on follow from constants in at most [`MAX_STEPS`] nodes, which have no effects;
//! * a body that never runs has no nested loops, results of the step, or tensors for other devices;
//! * no control edge leads into the nodes that make the loop, except from the loop's own; variables are no references;
//! * all of these nodes are on one device.
//!
//! `fold_constants` runs earlier: bounds are constant. The condition that is left is removed by `prune`.

use crate::PassContext;
use crate::rewrite::{bypass, constant, has_no_control_inputs};
use flowmill_graph::{ControlFlow, Frame, FrameId, Graph, Node, NodeId, OutputId, Role, Target, evaluate_node, has_effects};
use flowmill_tensor::{Result, Tensor};
use rustc_hash::FxHashMap;

/// The largest number of nodes that are evaluated to find the value of a condition.
const MAX_STEPS: usize = 64;
/// The largest value that is computed for it.
const MAX_BYTES: usize = 1 << 10;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    if !graph.op_nodes().any(|n| n.role() == Role::LoopCond) {
        return Ok(0);
    }
    let flow = ControlFlow::new(graph)?;
    let mut count = 0;
    // Inner loops come last in the list and first here, so that the frame around a loop is there.
    for (i, frame) in flow.frames().iter().enumerate().rev() {
        if count == limit {
            break;
        }
        let Some(found) = KnownLoop::find(graph, &flow, FrameId(i as u32), frame, target) else { continue };
        found.remove(graph)?;
        count += 1;
    }
    if count > 0 {
        // Sizes in a loop are those of any iteration.
        shapes.clear();
    }
    Ok(count)
}

/// A variable of a loop.
struct LoopVariable {
    enter: NodeId,
    merge: NodeId,
    /// `None` if only the condition uses the variable.
    switch: Option<NodeId>,
    next: NodeId,
    exits: Vec<NodeId>,
}

/// A loop whose number of iterations is known.
struct KnownLoop {
    variables: Vec<LoopVariable>,
    /// The `Enter`s of what all iterations share.
    constants: Vec<NodeId>,
    condition: NodeId,
    /// The nodes of the body, if it never runs.
    body: Option<Vec<NodeId>>,
}

impl KnownLoop {
    fn find(graph: &Graph, flow: &ControlFlow, id: FrameId, frame: &Frame, target: &dyn Target) -> Option<KnownLoop> {
        let condition = frame.loop_cond?;
        let device = graph.get(condition)?.device();
        let (mut variables, mut constants) = (Vec::new(), Vec::new());
        for &enter in &frame.enters {
            let node = graph.get(enter).filter(|n| n.device() == device && !n.output_types().iter().any(|t| t.is_ref))?;
            if !has_no_control_inputs(graph, enter) {
                return None;
            }
            if node.attrs().get_or("is_constant", false).ok()? {
                constants.push(enter);
            } else {
                variables.push(variable(graph, enter, condition, device)?);
            }
        }
        // All merges and switches on the condition are those of variables.
        let switches = graph.out_edges(condition).filter(|e| !e.is_control()).count();
        let is_whole =
            switches == variables.iter().filter(|v| v.switch.is_some()).count() && !graph.out_edges(condition).any(|e| e.is_control());
        if !is_whole || !has_no_control_inputs(graph, condition) {
            return None;
        }
        let mut evaluation = Evaluation { graph, target, variables: &variables, values: FxHashMap::default(), steps: 0 };
        for variable in &variables {
            let start = constant(graph, graph.input(variable.enter, 0)?).filter(|c| c.value.num_bytes() <= MAX_BYTES);
            evaluation.values.extend(start.map(|start| (variable.merge.output(0), start.value)));
        }
        let condition_of = graph.input(condition, 0)?;
        if !evaluation.value(condition_of)?.to_scalar::<bool>().ok()? {
            let body = dead_body(graph, flow, id, &variables)?;
            return Some(KnownLoop { variables, constants, condition, body: Some(body) });
        }
        let next = variables.iter().map(|v| Some((v.merge.output(0), evaluation.value(graph.input(v.next, 0)?)?)));
        let next: Vec<Option<(OutputId, Tensor)>> = next.collect();
        evaluation.values = next.into_iter().flatten().collect();
        let goes_on = evaluation.value(condition_of)?.to_scalar::<bool>().ok()?;
        (!goes_on).then_some(KnownLoop { variables, constants, condition, body: None })
    }

    fn remove(self, graph: &mut Graph) -> Result<()> {
        for id in self.body.iter().flatten() {
            graph.remove_node(*id)?;
        }
        for variable in &self.variables {
            let (Some(start), next) = (graph.input(variable.enter, 0), graph.input(variable.next, 0)) else { continue };
            // The value that leaves the loop: what the last iteration made, or what came in.
            let last = next.filter(|_| self.body.is_none()).unwrap_or(start);
            for &exit in &variable.exits {
                bypass(graph, exit, last)?;
            }
            if graph.get(variable.next).is_some() {
                graph.remove_node(variable.next)?;
            }
            for id in [variable.switch, Some(variable.merge), Some(variable.enter)].into_iter().flatten() {
                bypass(graph, id, start)?;
            }
        }
        for enter in self.constants {
            if let Some(source) = graph.input(enter, 0) {
                bypass(graph, enter, source)?;
            }
        }
        graph.remove_node(self.condition)
    }
}

/// Returns the variable that an `Enter` brings into the loop of this condition.
fn variable(graph: &Graph, enter: NodeId, condition: NodeId, device: &str) -> Option<LoopVariable> {
    let only = |id: NodeId| {
        let mut edges = graph.out_edges(id);
        edges.next().filter(|e| !e.is_control() && edges.next().is_none())
    };
    let is_plain = |n: &Node| n.device() == device && has_no_control_inputs(graph, n.id());
    let merge = graph.get(only(enter)?.dst).filter(|n| n.is_merge() && n.num_inputs() == 2 && is_plain(n))?;
    if graph.out_edges(merge.id()).any(|e| e.src_output == 1) {
        return None;
    }
    let is_next = |input: OutputId| graph.get(input.node).is_some_and(Node::is_next_iteration);
    let next = graph.inputs(merge.id()).find(|&input| is_next(input))?.node;
    only(next)?;
    let mut switches = graph.out_edges(merge.id()).filter(|e| !e.is_control()).filter_map(|e| graph.get(e.dst)).filter(|n| n.is_switch());
    let switch = switches.next();
    if switches.next().is_some() || !graph.get(next).is_some_and(is_plain) {
        return None;
    }
    let mut exits = Vec::new();
    if let Some(switch) = switch {
        let is_decided = graph.input(switch.id(), 1).is_some_and(|predicate| predicate.node == condition);
        // A control edge from a `Switch` is of every iteration, the last one included.
        if !is_decided || !is_plain(switch) || graph.out_edges(switch.id()).any(|e| e.is_control()) {
            return None;
        }
        for edge in graph.out_edges(switch.id()).filter(|e| e.src_output == 0) {
            graph.get(edge.dst).filter(|n| n.is_exit() && is_plain(n))?;
            exits.push(edge.dst);
        }
    }
    Some(LoopVariable { enter, merge: merge.id(), switch: switch.map(Node::id), next, exits })
}

/// Returns the nodes that are live only if the body runs.
fn dead_body(graph: &Graph, flow: &ControlFlow, frame: FrameId, variables: &[LoopVariable]) -> Option<Vec<NodeId>> {
    let switches: Vec<NodeId> = variables.iter().filter_map(|v| v.switch).collect();
    let mut stack: Vec<NodeId> = switches.iter().flat_map(|&s| graph.out_edges(s)).filter(|e| e.src_output == 1).map(|e| e.dst).collect();
    let mut body = Vec::new();
    let mut seen = vec![false; graph.num_node_ids()];
    while let Some(id) = stack.pop() {
        let node = graph.get(id)?;
        if node.is_next_iteration() || id <= NodeId::SINK || std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        let leaves = node.is_control_flow() || matches!(node.role(), Role::Retval | Role::Send | Role::ControlTrigger);
        if leaves || flow.frame_of(id) != frame || flow.output_frame_of(id) != frame {
            return None;
        }
        body.push(id);
        stack.extend(graph.out_edges(id).map(|e| e.dst));
    }
    Some(body)
}

/// The values of a loop's tensors in one iteration.
struct Evaluation<'a> {
    graph: &'a Graph,
    target: &'a dyn Target,
    variables: &'a [LoopVariable],
    values: FxHashMap<OutputId, Tensor>,
    steps: usize,
}

impl Evaluation<'_> {
    /// Returns the value of a tensor of the condition or the body, if it follows from the known ones.
    fn value(&mut self, tensor: OutputId) -> Option<Tensor> {
        if let Some(value) = self.values.get(&tensor) {
            return Some(value.clone());
        }
        self.steps += 1;
        let node = self.graph.get(tensor.node).filter(|_| self.steps <= MAX_STEPS)?;
        let input = |i: usize| self.graph.input(tensor.node, i);
        if let Some(found) = constant(self.graph, tensor).filter(|c| c.value.num_bytes() <= MAX_BYTES) {
            return Some(found.value);
        }
        if self.variables.iter().any(|v| v.switch == Some(tensor.node)) {
            return if tensor.slot == 1 { self.value(input(0)?) } else { None };
        }
        if node.is_enter() {
            let is_constant = node.attrs().get_or("is_constant", false).ok()?;
            return is_constant
                .then(|| constant(self.graph, input(0)?))
                .flatten()
                .map(|found| found.value)
                .filter(|v| v.num_bytes() <= MAX_BYTES);
        }
        if node.traits().passes_on && !node.is_control_flow() {
            return self.value(input(0)?);
        }
        if node.is_control_flow() || has_effects(self.graph, node) {
            return None;
        }
        let inputs: Vec<OutputId> = self.graph.inputs(tensor.node).collect();
        let inputs: Vec<Tensor> = inputs.into_iter().map(|input| self.value(input)).collect::<Option<_>>()?;
        let outputs = evaluate_node(self.target, self.graph, tensor.node, &inputs, MAX_BYTES)?;
        let value = outputs.into_iter().nth(tensor.slot as usize)?;
        self.values.insert(tensor, value.clone());
        Some(value)
    }
}
