//! Loops of frames in a function's body as loops by functions.
//!
//! A body that was built in TensorFlow's first way, or lowered, has loops of `Enter`, `Merge`, `Switch`, `NextIteration` and `Exit`. The backward part
//! of such a body would need tensors out of its frames. So before a body is differentiated each of its loops becomes a `While`, whose gradient is
//! that of any other: the frame's variables and invariants become the loop's variables, what leads to `LoopCond` its condition, and what leads
//! to the `NextIteration`s its body. When the graph runs, the lowering of `While` gives frames again.

use super::{func, is_stateful, name_of, shape_list, type_list};
use crate::builder::{BuilderState, Scope, ScopedBuilder};
use crate::{ControlFlow, FrameId, FunctionArg, FunctionPart, Graph, NodeId, OutputId, ShapeRefiner, function_def};
use flowmill_proto::{AttrValue, NodeDef};
use flowmill_tensor::{PartialShape, Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// Turns all loops of frames into `While`s, whose functions are added to the graph's library. `kept`, which may name nodes in loops, names the loops then.
///
/// # Errors
/// `Unimplemented` for a frame that is no loop as `while_loop` makes it, and the errors of [`ControlFlow::new`].
pub(super) fn raise_loops(graph: &mut Graph, function: &str, kept: &mut [NodeId]) -> Result<()> {
    while graph.op_nodes().any(|n| n.is_enter()) {
        let flow = ControlFlow::new(graph)?;
        // A frame is listed after the one around it: the last has none inside of it.
        let innermost = FrameId(flow.frames().len().saturating_sub(1) as u32);
        let name = flow.frame(innermost).name.clone();
        let made = Loop::new(graph, &flow, innermost).and_then(|looped| looped.replace(graph, function, kept));
        made.map_err(|e| e.append(format_args!("\n\t in the loop with frame '{name}' of function '{function}'")))?;
    }
    Ok(())
}

/// A variable that changes.
struct Variable {
    start: OutputId,
    merge: NodeId,
    next: OutputId,
}

/// A loop of a frame that has no other frames in it.
struct Loop {
    /// The scope of the frame's name: all but its last part.
    name: String,
    parallel_iterations: u32,
    enters: Vec<NodeId>,
    /// All nodes that run in the frame.
    nodes: Vec<NodeId>,
    variables: Vec<Variable>,
    /// `Enter`s of what is the same in all iterations.
    invariants: Vec<NodeId>,
    condition: OutputId,
    /// Each `Exit` with the variable that it returns.
    exits: Vec<(NodeId, usize)>,
    /// The tensors that replace the loop's tensors in its functions.
    replaced: FxHashMap<OutputId, OutputId>,
}

impl Loop {
    fn new(graph: &Graph, flow: &ControlFlow, id: FrameId) -> Result<Loop> {
        let frame = flow.frame(id);
        let nodes: Vec<NodeId> = graph.op_nodes().map(|n| n.id()).filter(|&n| flow.frame_of(n) == id).collect();
        let Some(loop_cond) = frame.loop_cond else { bail!(Unimplemented, "The gradient of a frame without LoopCond in a function") };
        let Some(condition) = graph.input(loop_cond, 0) else { bail!(Internal, "a LoopCond without input") };
        let mut looped = Loop {
            name: frame.name.rsplit_once('/').map_or(&*frame.name, |(name, _)| name).to_owned(),
            parallel_iterations: frame.parallel_iterations,
            enters: frame.enters.clone(),
            nodes,
            variables: Vec::new(),
            invariants: Vec::new(),
            condition,
            exits: Vec::new(),
            replaced: FxHashMap::from_iter([(loop_cond.output(0), condition)]),
        };
        looped.find_variables(graph)?;
        for &node in &looped.nodes {
            if graph[node].is_switch()
                && let Some(value) = graph.input(node, 0)
                && graph.input_node(node, 1) == Some(loop_cond)
            {
                looped.replaced.insert(node.output(1), value);
            }
        }
        for &exit in looped.nodes.iter().filter(|&&n| graph[n].is_exit()) {
            let of = looped.variable_of(graph, exit, loop_cond);
            let Some(variable) = of else { bail!(Unimplemented, "'{}' is the Exit of no variable of its loop", graph[exit].name()) };
            looped.exits.push((exit, variable));
        }
        Ok(looped)
    }

    fn find_variables(&mut self, graph: &Graph) -> Result<()> {
        for &enter in &self.enters {
            let Some(start) = graph.input(enter, 0) else { bail!(Internal, "an Enter without input") };
            if graph[enter].output_types().iter().any(|t| t.is_ref) {
                bail!(Unimplemented, "'{}' lets a reference into a loop of a function", graph[enter].name());
            }
            let mut is_invariant = false;
            for edge in graph.consumers(enter.output(0)) {
                let merge = edge.dst;
                let next =
                    (0..graph[merge].num_inputs()).filter_map(|i| graph.input_node(merge, i)).find(|&n| graph[n].is_next_iteration());
                let Some(next) = next.filter(|_| graph[merge].is_merge()) else {
                    is_invariant = true;
                    continue;
                };
                let is_plain = graph[merge].num_inputs() == 2 && graph.consumers(merge.output(1)).next().is_none();
                let Some(next) = graph.input(next, 0).filter(|_| is_plain) else {
                    bail!(Unimplemented, "'{}' is not the Merge of a loop's variable", graph[merge].name());
                };
                self.variables.push(Variable { start, merge, next });
            }
            if is_invariant {
                self.invariants.push(enter);
            }
        }
        Ok(())
    }

    /// Returns the variable that an `Exit` gives: it comes from the variable's `Switch`.
    fn variable_of(&self, graph: &Graph, exit: NodeId, loop_cond: NodeId) -> Option<usize> {
        let switch = graph.input(exit, 0).filter(|s| s.slot == 0 && graph[s.node].is_switch())?;
        if graph.input_node(switch.node, 1) != Some(loop_cond) {
            return None;
        }
        let mut value = graph.input(switch.node, 0)?;
        while graph[value.node].is_op("Identity") {
            value = graph.input(value.node, 0)?;
        }
        self.variables.iter().position(|v| v.merge.output(0) == value)
    }

    /// Returns the frame's nodes that `targets` need.
    fn needed(&self, graph: &Graph, targets: impl IntoIterator<Item = OutputId>) -> FxHashSet<NodeId> {
        let stops: FxHashSet<NodeId> = self.variables.iter().map(|v| v.merge).chain(self.enters.iter().copied()).collect();
        let resolve =
            |tensor: OutputId| Some(*self.replaced.get(&tensor).unwrap_or(&tensor)).map(|t| t.node).filter(|n| !stops.contains(n));
        let mut todo: Vec<NodeId> = targets.into_iter().filter_map(resolve).collect();
        let mut needed = FxHashSet::default();
        while let Some(node) = todo.pop() {
            if needed.insert(node) {
                todo.extend(graph.inputs(node).filter_map(resolve));
            }
        }
        needed
    }

    /// Returns the nodes that the body runs whether or not its results need them: nodes with effects that do not belong to the condition.
    fn effects(&self, graph: &Graph, in_condition: &FxHashSet<NodeId>) -> Vec<NodeId> {
        let is_effect = |&n: &NodeId| graph[n].op_def().is_stateful() && !in_condition.contains(&n);
        self.nodes.iter().copied().filter(is_effect).collect()
    }

    fn args(&self, graph: &Graph, shapes: &ShapeRefiner) -> Result<Vec<FunctionArg>> {
        let tensors = self.variables.iter().map(|v| v.merge.output(0)).chain(self.invariants.iter().map(|e| e.output(0)));
        tensors.map(|t| FunctionArg::new(graph, shapes, t)).collect()
    }

    /// Puts a `While` in the loop's place.
    fn replace(self, graph: &mut Graph, function: &str, kept: &mut [NodeId]) -> Result<()> {
        let args = {
            let mut state = BuilderState::default();
            let b = ScopedBuilder::new(graph, &mut state, Scope::root())?;
            self.args(b.graph(), b.state().shapes())?
        };
        let results: Vec<OutputId> = self.variables.iter().map(|v| v.next).chain(self.invariants.iter().map(|e| e.output(0))).collect();
        let in_condition = self.needed(graph, [self.condition]);
        let effects = self.effects(graph, &in_condition);
        let targets = results.iter().copied().chain(effects.iter().map(|e| e.output(0)));
        if let Some(shared) = self.needed(graph, targets).intersection(&in_condition).find(|&&n| graph[n].op_def().is_stateful()) {
            bail!(Unimplemented, "'{}' has effects and is part of the loop's condition and of its body", graph[*shared].name());
        }
        let base = format!("{function}_{}", self.name.replace('/', "_"));
        let part = FunctionPart { args: &args, results: &[self.condition], replaced: self.replaced.clone(), ..FunctionPart::default() };
        let condition = function_def(graph, &format!("{base}_cond"), &part)?;
        let part =
            FunctionPart { args: &args, results: &results, kept: &effects, control_results: &effects, replaced: self.replaced.clone() };
        let body = function_def(graph, &format!("{base}_body"), &part)?;
        let op = if is_stateful(&condition) || is_stateful(&body) { "While" } else { "StatelessWhile" };

        let inputs: Vec<OutputId> =
            self.variables.iter().map(|v| v.start).chain(self.invariants.iter().filter_map(|&e| graph.input(e, 0))).collect();
        let mut controls: Vec<NodeId> = self.enters.iter().flat_map(|&e| graph.control_inputs(e)).filter(|&c| c > NodeId::SINK).collect();
        controls.sort_unstable();
        controls.dedup();
        let shapes: Vec<&PartialShape> = args.iter().map(|a| &a.shape).collect();
        let attr: [(&str, AttrValue); 6] = [
            ("T", type_list(args.iter().map(|a| a.dtype))),
            ("cond", func(name_of(&condition)).into()),
            ("body", func(name_of(&body)).into()),
            ("output_shapes", shape_list(shapes)),
            ("parallel_iterations", i64::from(self.parallel_iterations).into()),
            ("_lower_using_switch_merge", true.into()),
        ];
        for def in [condition, body] {
            graph.library_mut().add(def)?;
        }
        let name = graph.new_name(&format!("{}/loop", self.name));
        let attr = attr.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let made = graph.add_node_with_inputs(NodeDef { name, op: op.into(), attr, ..NodeDef::default() }, &inputs, &controls)?;
        self.take_place(graph, made, kept)
    }

    /// Connects the consumers of the `Exit`s to `made`, and removes the frame.
    fn take_place(&self, graph: &mut Graph, made: NodeId, kept: &mut [NodeId]) -> Result<()> {
        for &(exit, variable) in &self.exits {
            graph.replace_output(exit.output(0), made.output(variable as u32))?;
            let waiting: Vec<NodeId> = graph.out_edges(exit).filter(|e| e.is_control() && e.dst > NodeId::SINK).map(|e| e.dst).collect();
            for dst in waiting {
                graph.add_control_edge(made, dst)?;
            }
        }
        for &node in self.nodes.iter().chain(&self.enters) {
            kept.iter_mut().filter(|k| **k == node).for_each(|k| *k = made);
            graph.remove_node(node)?;
        }
        Ok(())
    }
}
