//! Loops whose iterations cannot overlap, compiled to loops without frames.
//!
//! A loop in TensorFlow's usual form has one `LoopCond`. Each variable enters by `Enter` into a `Merge`. The value of the `Merge` goes to the
//! condition and, through a `Switch` on the condition, either to the body and a `NextIteration` or to an `Exit`. The frame's nodes are sorted by the
//! side of these switches that they depend on into three lists: nodes that run before the condition is known, the body, and nodes that run at the
//! end.
//!
//! Such a loop becomes a program if its iterations cannot overlap anyway. This is so if the loop has no costly node or the step has one thread. It is
//! also so if its costly nodes depend on one another in a row, and either iterations run one at a time or the first costly node of an iteration
//! depends on the last one of the iteration before.
//!
//! The number of iterations is not known here, so a program is cheap only if all tensors of its body are known to be small.

use super::lower::{Lowering, is_switch, mark_last_uses};
use super::rewrite::{Rewriter, cost_of};
use super::run::{Code, Entry, Loop, Operand, Reg, RegisterPool};
use crate::kernel::Cost;
use crate::plan::{FrameId, NodeKind, OutputType, PlanEdge, PlanNode, PlanNodeId};
use flowmill_graph::{OpTraits, Role};
use flowmill_tensor::{Result, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The largest number of elements of a small tensor. A kernel takes less than about a tenth of a microsecond for it.
const SMALL_ELEMENTS: usize = 256;

/// Replaces every loop that has the usual form and whose iterations cannot overlap, innermost first.
pub(super) fn fuse_loops(graph: &mut Rewriter, single_thread: bool) -> Result<()> {
    // A parent stands before its children.
    for frame in (1..graph.frames().len()).rev() {
        let frame = FrameId(frame as u32);
        let Some(shape) = LoopShape::of(graph, frame) else { continue };
        if shape.has_nothing_to_overlap(graph, frame, single_thread)
            && let Some((program, members, outputs)) = build(graph, &shape)?
        {
            graph.replace(&members, program, &outputs);
        }
    }
    Ok(())
}

/// A loop variable.
struct Variable {
    enter: PlanNodeId,
    merge: PlanNodeId,
    next: PlanNodeId,
}

/// A loop of the usual form, with its nodes sorted by their dependence on the condition.
struct LoopShape {
    members: FxHashSet<PlanNodeId>,
    enters: Vec<PlanNodeId>,
    variables: Vec<Variable>,
    exits: Vec<PlanNodeId>,
    condition: PlanNodeId,
    /// The switches on the condition.
    switches: FxHashSet<PlanNodeId>,
    before: Vec<PlanNodeId>,
    body: Vec<PlanNodeId>,
    after: Vec<PlanNodeId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Body,
    After,
}

impl LoopShape {
    /// Returns the loop of `frame` if it has the usual form.
    fn of(graph: &Rewriter, frame: FrameId) -> Option<LoopShape> {
        let mut shape = LoopShape {
            members: FxHashSet::default(),
            enters: Vec::new(),
            variables: Vec::new(),
            exits: Vec::new(),
            condition: PlanNodeId(0),
            switches: FxHashSet::default(),
            before: Vec::new(),
            body: Vec::new(),
            after: Vec::new(),
        };
        let (mut conditions, mut merges) = (Vec::new(), Vec::new());
        for id in graph.ids() {
            let node = graph.get(id)?;
            match node.kind {
                NodeKind::Enter { frame: child, .. } if child == frame => shape.enters.push(id),
                _ if node.frame != frame => continue,
                // A loop inside that stayed a frame.
                NodeKind::Enter { .. } | NodeKind::Arg(_) | NodeKind::Ret(_) => return None,
                NodeKind::Exit => shape.exits.push(id),
                NodeKind::Merge if node.inputs.iter().any(|e| is_next_iteration(graph, *e)) => merges.push(id),
                NodeKind::Op if node.traits.role == Role::LoopCond => conditions.push(id),
                _ if node.may_wait() || node.kernel.as_ref().is_some_and(|k| k.depends_on_iteration()) => return None,
                // It sends a dead tensor in the last iteration, which the loop's body does not run in.
                _ if node.traits.role == Role::Send => return None,
                _ => {}
            }
            shape.members.insert(id);
        }
        let [condition] = conditions[..] else { return None };
        shape.condition = condition;
        for merge in merges {
            shape.variables.push(variable(graph, merge)?);
        }
        // An Enter that is no invariant gives its value to the first iteration only, which is what a variable's Merge takes.
        let enters_once = |id: PlanNodeId| matches!(graph.get(id).map(|n| &n.kind), Some(NodeKind::Enter { is_constant: false, .. }));
        if shape
            .enters
            .iter()
            .any(|&id| enters_once(id) && !shape.variables.iter().any(|v| v.enter == id && graph.consumers(id) == [v.merge]))
        {
            return None;
        }
        let nexts = shape.members.iter().filter(|&&id| matches!(graph.get(id).map(|n| &n.kind), Some(NodeKind::NextIteration))).count();
        if nexts != shape.variables.len() {
            return None;
        }
        shape.sort(graph)?;
        Some(shape)
    }

    /// Sorts the members into the three lists. Returns `None` if one depends on both sides of the condition.
    fn sort(&mut self, graph: &Rewriter) -> Option<()> {
        let order = graph.topological(&self.members, &|_, e| is_next_iteration(graph, e))?;
        let mut sides: FxHashMap<PlanNodeId, Side> = FxHashMap::default();
        for id in order {
            let node = graph.get(id)?;
            let is_enter = self.enters.contains(&id);
            if is_switch(node) && node.inputs[1].node == self.condition {
                // The two outputs are on two sides; nobody may wait for the switch itself.
                if graph.is_waited_for(id) || !node.controls.is_empty() || sides.get(&node.inputs[0].node) != Some(&Side::Before) {
                    return None;
                }
                self.switches.insert(id);
                continue;
            }
            let mut side = Side::Before;
            for edge in node.inputs.iter().chain(&node.controls) {
                if is_enter || is_next_iteration(graph, *edge) {
                    continue;
                }
                let of_edge = match self.switches.contains(&edge.node) {
                    true if edge.slot == 0 => Side::After,
                    true => Side::Body,
                    false => *sides.get(&edge.node)?,
                };
                if side != Side::Before && of_edge != Side::Before && side != of_edge {
                    return None;
                }
                if of_edge != Side::Before {
                    side = of_edge;
                }
            }
            let fits = match node.kind {
                NodeKind::Exit => side == Side::After,
                NodeKind::NextIteration => side == Side::Body,
                _ => id != self.condition || side == Side::Before,
            };
            if !fits {
                return None;
            }
            sides.insert(id, side);
            match side {
                Side::Before => self.before.push(id),
                Side::Body => self.body.push(id),
                Side::After => self.after.push(id),
            }
        }
        Some(())
    }

    /// Returns true if no parallelism is lost when the iterations run one after the other on one thread.
    fn has_nothing_to_overlap(&self, graph: &Rewriter, frame: FrameId, single_thread: bool) -> bool {
        let costly: Vec<PlanNodeId> = self
            .before
            .iter()
            .chain(&self.body)
            .chain(&self.after)
            .copied()
            .filter(|&id| graph.get(id).is_some_and(|n| n.cost >= Cost::Expensive))
            .collect();
        let (Some(&first), Some(&last)) = (costly.first(), costly.last()) else { return true };
        if single_thread {
            return true;
        }
        let in_a_row = costly.windows(2).all(|pair| self.reaches(graph, pair[0], pair[1], false));
        let one_at_a_time = graph.frames()[frame.0 as usize].parallel_iterations == 1;
        in_a_row && (one_at_a_time || self.reaches(graph, last, first, true))
    }

    /// Returns the scheduler's cost of all iterations.
    fn cost(&self, graph: &Rewriter) -> Cost {
        let is_small =
            |&edge: &PlanEdge| edge.slot == PlanEdge::CONTROL || graph.edge_shape(edge).num_elements().is_some_and(|n| n <= SMALL_ELEMENTS);
        let mut body = self.body.iter().filter_map(|&id| graph.get(id));
        if !body.all(|node| node.inputs.iter().all(is_small)) {
            return Cost::Expensive;
        }
        cost_of(self.members.iter().filter_map(|&id| graph.get(id)))
    }

    /// Returns true if a path leads from `from` to `to` within one iteration or, with `into_next`, also into the next iteration.
    fn reaches(&self, graph: &Rewriter, from: PlanNodeId, to: PlanNodeId, into_next: bool) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack = vec![from];
        while let Some(id) = stack.pop() {
            for &consumer in graph.consumers(id) {
                let crosses = matches!(graph.get(id).map(|n| &n.kind), Some(NodeKind::NextIteration));
                if !self.members.contains(&consumer) || (crosses && !into_next) || !seen.insert(consumer) {
                    continue;
                }
                if consumer == to {
                    return true;
                }
                stack.push(consumer);
            }
        }
        false
    }
}

fn is_next_iteration(graph: &Rewriter, edge: PlanEdge) -> bool {
    matches!(graph.get(edge.node).map(|n| &n.kind), Some(NodeKind::NextIteration))
}

fn variable(graph: &Rewriter, merge: PlanNodeId) -> Option<Variable> {
    let node = graph.get(merge)?;
    let [a, b] = node.inputs[..] else { return None };
    let (enter, next) = if is_next_iteration(graph, b) { (a.node, b.node) } else { (b.node, a.node) };
    let enters = matches!(graph.get(enter)?.kind, NodeKind::Enter { is_constant: false, .. });
    let index = PlanEdge { node: merge, slot: 1 };
    let index_is_read =
        graph.consumers(merge).iter().filter_map(|&c| graph.get(c)).any(|c| c.inputs.contains(&index) || c.controls.contains(&index));
    let only_consumer = graph.consumers(next) == [merge];
    let carries_ref = node.outputs.first().is_some_and(|o| o.is_ref);
    (enters && node.controls.is_empty() && !index_is_read && only_consumer && !carries_ref).then_some(Variable { enter, merge, next })
}

type Built = (PlanNode, FxHashSet<PlanNodeId>, Vec<PlanEdge>);

fn build(graph: &Rewriter, shape: &LoopShape) -> Result<Option<Built>> {
    let outgoing = graph.outgoing(&shape.members);
    // Only Exits lead out of a loop.
    if outgoing.iter().any(|e| !shape.exits.contains(&e.node)) {
        return Ok(None);
    }
    let mut lowering = Lowering::new(graph, &shape.members);
    let value = |node: PlanNodeId| PlanEdge { node, slot: 0 };
    let control = |node: PlanNodeId| PlanEdge { node, slot: PlanEdge::CONTROL };

    let (mut inputs, mut entries, mut gates) = (Vec::new(), Vec::new(), Vec::new());
    for &enter in &shape.enters {
        let Some(node) = graph.get(enter) else { return Ok(None) };
        let [source] = node.inputs[..] else { return Ok(None) };
        let reg = lowering.fresh();
        inputs.push(source);
        let deref = node.takes_ref != [true] && graph.edge_type(source).is_ref;
        entries.push(Entry { reg, deref, node: (node.name.clone(), node.op.clone()) });
        for &edge in &node.controls {
            let gate = lowering.fresh();
            inputs.push(edge);
            entries.push(Entry { reg: gate, deref: false, node: (node.name.clone(), node.op.clone()) });
            gates.push((reg, gate));
        }
        lowering.bind(value(enter), reg);
        lowering.bind(control(enter), reg);
    }
    let mut kept: FxHashSet<Reg> = (0..lowering.num_constants()).chain(entries.iter().map(|e| e.reg)).collect();

    let mut entry = Vec::new();
    for v in &shape.variables {
        let reg = lowering.fresh();
        entry.push((lowering.reg(value(v.enter))?, reg));
        lowering.bind(value(v.merge), reg);
        lowering.bind(control(v.merge), reg);
    }
    let variables: FxHashMap<PlanNodeId, usize> =
        shape.variables.iter().enumerate().flat_map(|(i, v)| [(v.merge, i), (v.next, i)]).collect();
    let is_variable = |id: PlanNodeId| variables.contains_key(&id) || shape.enters.contains(&id);

    let mut before = Code::default();
    for &id in shape.before.iter().filter(|&&id| !is_variable(id)) {
        lowering.node(id, &mut before)?;
    }
    // Where the condition is live, so is everything it was computed from.
    assume_live_ancestors(graph, shape, &mut lowering);
    for &switch in &shape.switches {
        let Some(node) = graph.get(switch) else { return Ok(None) };
        let data = lowering.operand(node, 0)?;
        if data.deref {
            return Ok(None);
        }
        for slot in 0..2 {
            let edge = PlanEdge { node: switch, slot };
            lowering.bind(edge, data.reg);
            if lowering.is_live(node.inputs[0]) {
                lowering.assume_live(edge);
            }
        }
    }
    let (mut body, mut back) = (Code::default(), vec![(0, 0); shape.variables.len()]);
    for &id in &shape.body {
        match variables.get(&id) {
            None => lowering.node(id, &mut body)?,
            Some(&i) => {
                let Some(node) = graph.get(id) else { return Ok(None) };
                let (dst, src, controls) = (lowering.fresh(), lowering.operand(node, 0)?, lowering.controls(node)?);
                lowering.push_move(&mut body, node, src, dst, controls)?;
                back[i] = (dst, lowering.reg(value(shape.variables[i].merge))?);
            }
        }
    }
    let mut after = Code::default();
    for &id in &shape.after {
        let Some(node) = graph.get(id) else { return Ok(None) };
        if matches!(node.kind, NodeKind::Exit) {
            let (dst, src, controls) = (lowering.fresh(), lowering.operand(node, 0)?, lowering.controls(node)?);
            lowering.push_move(&mut after, node, src, dst, controls)?;
            lowering.bind(value(id), dst);
            lowering.bind(control(id), dst);
        } else {
            lowering.node(id, &mut after)?;
        }
    }
    let output_regs = outgoing.iter().map(|&e| lowering.reg(e)).collect::<Result<Vec<_>>>()?;
    kept.extend(&output_regs);
    let condition_reg = lowering.reg(value(shape.condition))?;
    mark_pieces(&mut before, &mut body, &mut after, &kept, condition_reg);
    let outputs: Vec<OutputType> = outgoing.iter().map(|&e| graph.edge_type(PlanEdge { node: e.node, slot: 0 })).collect();
    let shapes = outgoing.iter().map(|&e| graph.edge_shape(PlanEdge { node: e.node, slot: 0 })).collect();
    let Some(condition) = graph.get(shape.condition) else { return Ok(None) };
    let cost = shape.cost(graph);
    let frame = graph.get(shape.enters[0]).map_or(FrameId::ROOT, |n| n.frame);
    let (constants, num_regs): (Vec<Tensor>, usize) = lowering.finish();
    let program = Loop {
        before,
        body,
        after,
        pool: RegisterPool::new(constants, num_regs),
        inputs: entries,
        gates,
        entry,
        back,
        condition: Operand { reg: condition_reg, take: false, deref: false },
        outputs: output_regs.iter().map(|&reg| Operand { reg, take: false, deref: false }).collect(),
        node: condition.name.clone(),
    };
    let node = PlanNode {
        name: condition.name.clone(),
        op: "_Loop".into(),
        traits: OpTraits::default(),
        kind: NodeKind::Program,
        kernel: Some(Arc::new(program)),
        cost,
        frame,
        takes_ref: vec![true; inputs.len()],
        inputs,
        controls: Vec::new(),
        outputs,
        shapes,
    };
    Ok(Some((node, shape.members.clone(), outgoing)))
}

fn assume_live_ancestors(graph: &Rewriter, shape: &LoopShape, lowering: &mut Lowering<'_>) {
    let mut stack = vec![shape.condition];
    let mut seen = FxHashSet::default();
    while let Some(id) = stack.pop() {
        let Some(node) = graph.get(id) else { continue };
        // A Merge is live when one input is, and a program decides for itself: nothing follows for their inputs.
        let strict = matches!(node.kind, NodeKind::Op) && !shape.switches.contains(&id);
        if !seen.insert(id) {
            continue;
        }
        for slot in [0, PlanEdge::CONTROL] {
            lowering.assume_live(PlanEdge { node: id, slot });
        }
        if strict {
            for edge in node.inputs.iter().chain(&node.controls) {
                lowering.assume_live(*edge);
                stack.push(edge.node);
            }
        }
    }
}

/// Marks last uses in all three lists of code. An iteration runs the first list and then one of the other two, so a register that either of these
/// reads has no last use in the first. Registers of variables and of the condition are written anew in each iteration and may be taken; `kept`
/// registers may not.
fn mark_pieces(before: &mut Code, body: &mut Code, after: &mut Code, kept: &FxHashSet<Reg>, condition: Reg) {
    let mut read_later = FxHashSet::from_iter([condition]);
    for piece in [body, after] {
        let mut seen = FxHashSet::default();
        mark_last_uses(piece, &mut seen, kept);
        read_later.extend(seen);
    }
    mark_last_uses(before, &mut read_later, kept);
}
