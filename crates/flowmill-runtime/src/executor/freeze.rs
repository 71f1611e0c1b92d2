//! Freezes a `PlanGraph` into the tables that the executor reads.

use super::block::Layouts;
use super::protocol;
use super::tables::{
    BLOCKING, Delivery, EXPENSIVE, Edge, FrameTable, Kind, LearnedCost, MAY_BE_DEAD, NONE, Node, NodeName, PREPARE, Prepare, Source, Tables,
};
use super::validate::validate;
use crate::kernel::Cost;
use crate::plan::{NodeKind, OutputType, PlanEdge, PlanGraph, PlanNode, PlanNodeId, SharedWeights};
use flowmill_tensor::{DType, Result, Tensor};

/// The largest number of iterations of a loop that run at once. Greater numbers in a graph are reduced to it.
pub const MAX_PARALLEL_ITERATIONS: u32 = 1024;

pub(super) fn freeze(graph: PlanGraph) -> Result<Tables> {
    validate(&graph)?;
    Ok(Freezer::new(&graph).freeze())
}

/// The way in which a consumer receives a producer's output.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    /// An edge delivers the value when the producer fires.
    Edge,
    /// The producer is a constant that waits for nothing: it has arrived when the step starts.
    Const(u32),
    /// The producer is a loop invariant: it arrives in iteration 0 and stays in the frame for all iterations.
    Invariant(u32),
}

struct Freezer<'a> {
    graph: &'a PlanGraph,
    origins: Vec<Origin>,
    consts: Vec<Tensor>,
    prepare: Vec<Prepare>,
    costs: Vec<LearnedCost>,
    frames: Vec<FrameBuilder>,
    nodes: Vec<Node>,
    /// The counter of each node, or `NONE`.
    counters: Vec<u32>,
    deliveries: Vec<(Delivery, Delivery)>,
}

#[derive(Default)]
struct FrameBuilder {
    table: FrameTable,
    first: Vec<u64>,
    later: Vec<u64>,
    first_roots: Vec<u32>,
    later_roots: Vec<u32>,
    next_iterations: Vec<u32>,
    exits: Vec<u32>,
}

impl<'a> Freezer<'a> {
    fn new(graph: &'a PlanGraph) -> Freezer<'a> {
        let mut frames: Vec<FrameBuilder> = Vec::with_capacity(graph.frames.len());
        for (id, info) in graph.frames.iter().enumerate() {
            let mut frame = FrameBuilder::default();
            frame.table.id = id as u32;
            frame.table.name = info.name.clone();
            frame.table.parent = info.parent.map(|p| p.0);
            frame.table.parallel_iterations = info.parallel_iterations.clamp(1, MAX_PARALLEL_ITERATIONS);
            if let Some(parent) = info.parent {
                let parent = &mut frames[parent.0 as usize].table;
                frame.table.child_index = parent.num_children as u32;
                parent.num_children += 1;
            }
            frames.push(frame);
        }
        Freezer {
            graph,
            origins: Vec::new(),
            consts: Vec::new(),
            prepare: Vec::new(),
            costs: Vec::new(),
            frames,
            nodes: Vec::new(),
            counters: Vec::new(),
            deliveries: Vec::new(),
        }
    }

    fn freeze(mut self) -> Tables {
        self.find_origins();
        let mut group = 0;
        for (id, node) in self.graph.nodes.iter().enumerate() {
            let frozen = self.node(id as u32, node, group);
            group += frozen.num_outputs + 1;
            self.nodes.push(frozen);
        }
        let (edges, groups) = self.edges(group as usize);
        let graph = self.graph;
        let mut checks = Vec::with_capacity(group as usize);
        for node in &graph.nodes {
            checks.extend(&node.outputs);
            checks.push(OutputType { dtype: DType::Bool, is_ref: false });
        }
        Tables {
            args: (0..self.nodes.len() as u32).filter(|&n| self.nodes[n as usize].kind == Kind::Arg).collect(),
            max_outputs: self.nodes.iter().map(|n| n.num_outputs as usize).max().unwrap_or(0),
            nodes: self.nodes.into(),
            edges: edges.into(),
            groups: groups.into(),
            checks: checks.into(),
            prepare: self.prepare.into(),
            consts: self.consts.into(),
            frames: self.frames.into_iter().map(FrameBuilder::finish).collect(),
            names: graph.nodes.iter().map(|n| NodeName { name: n.name.clone(), op: n.op.clone() }).collect(),
            inputs: None,
            arg_types: graph.args.clone().into(),
            num_results: graph.num_results,
            costs: self.costs.into(),
        }
    }

    /// Constants without control inputs and loop invariants need no delivery. A constant that is an input of a Merge does: it competes.
    fn find_origins(&mut self) {
        let mut competes = vec![false; self.graph.nodes.len()];
        for node in self.graph.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Merge)) {
            node.inputs.iter().for_each(|e| competes[e.node.0 as usize] = true);
        }
        for (id, node) in self.graph.nodes.iter().enumerate() {
            self.origins.push(match &node.kind {
                NodeKind::Const(value) if node.controls.is_empty() && !competes[id] => {
                    self.consts.push(value.clone());
                    Origin::Const(self.consts.len() as u32 - 1)
                }
                NodeKind::Enter { frame, is_constant: true } => {
                    let frame = &mut self.frames[frame.0 as usize].table;
                    frame.num_invariants += 1;
                    Origin::Invariant(frame.num_invariants as u32 - 1)
                }
                _ => Origin::Edge,
            });
        }
    }

    fn node(&mut self, id: u32, node: &PlanNode, group: u32) -> Node {
        let slot = self.frames[node.frame.0 as usize].table.num_input_slots as u32;
        self.frames[node.frame.0 as usize].table.num_input_slots += node.inputs.len();
        let prepare = self.prepare_inputs(node);
        let mut flags = if prepare.0 < prepare.1 { PREPARE } else { 0 };
        let (kind, mut arg, mut extra) = self.kind(id, node);
        let is_const = matches!(self.origins[id as usize], Origin::Const(_));
        if !is_const && kind != Kind::Arg {
            self.count_arrivals(id, node);
        } else {
            self.counters.push(NONE);
            self.deliveries.push((Delivery::Direct, Delivery::Direct));
        }
        match kind {
            Kind::Op | Kind::Program | Kind::Async if node.cost >= Cost::Expensive => {
                flags |= if node.cost == Cost::Blocking { EXPENSIVE | BLOCKING } else { EXPENSIVE };
                arg = self.costs.len() as u32;
                self.costs.push(LearnedCost::new());
            }
            Kind::Merge => arg = self.counters[id as usize],
            Kind::EnterConst => {
                if let Origin::Invariant(i) = self.origins[id as usize] {
                    extra = i;
                }
            }
            _ => {}
        }
        if node.may_leave_outputs_unset() {
            flags |= MAY_BE_DEAD;
        }
        Node {
            kernel: node.kernel.clone(),
            kind,
            flags,
            num_inputs: node.inputs.len() as u32,
            num_outputs: node.outputs.len() as u32,
            slot,
            group,
            arg,
            extra,
            prepare,
        }
    }

    fn kind(&mut self, id: u32, node: &PlanNode) -> (Kind, u32, u32) {
        let frame = &mut self.frames[node.frame.0 as usize];
        match &node.kind {
            NodeKind::Op => match &node.kernel {
                None if node.inputs.is_empty() && node.outputs.is_empty() => (Kind::NoOp, 0, 0),
                None => (Kind::Pass, 0, 0),
                Some(kernel) if kernel.as_async().is_some() => (Kind::Async, 0, 0),
                Some(_) => (Kind::Op, 0, 0),
            },
            NodeKind::Program => (Kind::Program, 0, 0),
            NodeKind::Arg(i) => (Kind::Arg, *i as u32, 0),
            NodeKind::Ret(i) => (Kind::Ret, *i as u32, 0),
            NodeKind::Const(value) => match self.origins[id as usize] {
                Origin::Const(c) => (Kind::Const, c, 0),
                _ => {
                    self.consts.push(value.clone());
                    (Kind::Const, self.consts.len() as u32 - 1, 0)
                }
            },
            NodeKind::Merge => (Kind::Merge, NONE, 0),
            NodeKind::Enter { frame: child, is_constant } => {
                self.frames[child.0 as usize].table.num_enters += 1;
                (if *is_constant { Kind::EnterConst } else { Kind::Enter }, child.0, 0)
            }
            NodeKind::Exit => {
                frame.exits.push(id);
                (Kind::Exit, frame.exits.len() as u32 - 1, 0)
            }
            NodeKind::NextIteration => {
                frame.next_iterations.push(id);
                (Kind::NextIteration, frame.next_iterations.len() as u32 - 1, 0)
            }
            NodeKind::ControlTrigger => (Kind::ControlTrigger, 0, 0),
        }
    }

    /// Lists how to fill the inputs that no edge delivers, and then which inputs to dereference. Values come first, because they may be references.
    /// Returns the range of the list.
    fn prepare_inputs(&mut self, node: &PlanNode) -> (u32, u32) {
        let start = self.prepare.len() as u32;
        for (input, edge) in node.inputs.iter().enumerate() {
            let is_token = edge.slot == PlanEdge::CONTROL;
            let source = match self.origins[edge.node.0 as usize] {
                Origin::Edge => continue,
                Origin::Const(_) if is_token => Source::Token,
                Origin::Const(c) => Source::Const(c),
                Origin::Invariant(i) if is_token => Source::InvariantToken(i),
                Origin::Invariant(i) => Source::Invariant(i),
            };
            self.prepare.push(Prepare { input: input as u32, source });
        }
        if !matches!(node.kind, NodeKind::ControlTrigger | NodeKind::Merge) {
            for edge in &node.controls {
                if let Origin::Invariant(i) = self.origins[edge.node.0 as usize] {
                    self.prepare.push(Prepare { input: 0, source: Source::InvariantLiveness(i) });
                }
            }
        }
        for (input, edge) in node.inputs.iter().enumerate() {
            let output = self.graph.nodes[edge.node.0 as usize].outputs.get(edge.slot as usize);
            if output.is_some_and(|o| o.is_ref) && !node.takes_ref.get(input).copied().unwrap_or(false) {
                self.prepare.push(Prepare { input: input as u32, source: Source::Dereference });
            }
        }
        (start, self.prepare.len() as u32)
    }

    /// Allocates a counter for a node that waits for more than one arrival, and makes a node that waits for none a root.
    fn count_arrivals(&mut self, id: u32, node: &PlanNode) {
        let count = |edges: &[PlanEdge], want: fn(Origin) -> bool| edges.iter().filter(|e| want(self.origins[e.node.0 as usize])).count();
        let arrives = |o: Origin| !matches!(o, Origin::Const(_));
        let is_invariant = |o: Origin| matches!(o, Origin::Invariant(_));
        let (data, controls) = (count(&node.inputs, arrives), count(&node.controls, arrives));
        let invariant_controls = count(&node.controls, is_invariant);
        let invariants = count(&node.inputs, is_invariant) + invariant_controls;
        let (counts, words) = match node.kind {
            NodeKind::Merge => {
                (!self.is_loop_merge(node), (protocol::merge(data, controls), protocol::merge(data, controls - invariant_controls)))
            }
            _ => (
                data + controls > 1,
                (protocol::ordinary((data + controls) as u32), protocol::ordinary((data + controls - invariants) as u32)),
            ),
        };
        let frame = &mut self.frames[node.frame.0 as usize];
        if counts {
            self.counters.push(frame.first.len() as u32);
            frame.first.push(words.0);
            frame.later.push(words.1);
        } else {
            self.counters.push(NONE);
        }
        if !matches!(node.kind, NodeKind::Merge) {
            if data + controls == 0 {
                frame.first_roots.push(id);
            }
            if data + controls == invariants {
                frame.later_roots.push(id);
            }
        }
        self.deliveries.push(match (&node.kind, counts) {
            (NodeKind::Merge, true) => (Delivery::Merge, Delivery::MergeControl),
            (NodeKind::Merge, false) => (Delivery::Direct, Delivery::Direct),
            (NodeKind::ControlTrigger, true) => (Delivery::CountIgnoreDead, Delivery::CountIgnoreDead),
            (NodeKind::ControlTrigger, false) => (Delivery::DirectIgnoreDead, Delivery::DirectIgnoreDead),
            (NodeKind::Program, true) => (Delivery::CountIgnoreDead, Delivery::Count),
            (NodeKind::Program, false) => (Delivery::DirectIgnoreDead, Delivery::Direct),
            (_, true) => (Delivery::Count, Delivery::Count),
            (_, false) => (Delivery::Direct, Delivery::Direct),
        });
    }

    /// A Merge of one Enter and one NextIteration gets one token in every iteration.
    fn is_loop_merge(&self, node: &PlanNode) -> bool {
        let kinds: Vec<_> = node.inputs.iter().map(|e| &self.graph.nodes[e.node.0 as usize].kind).collect();
        node.controls.is_empty()
            && matches!(kinds[..], [NodeKind::Enter { .. }, NodeKind::NextIteration] | [NodeKind::NextIteration, NodeKind::Enter { .. }])
    }

    /// Returns all edges, ordered by the group that they leave from, and the start of each group. Edges of a group are in the order of delivery.
    fn edges(&self, num_groups: usize) -> (Vec<Edge>, Vec<u32>) {
        let weights = SharedWeights::find(self.graph.nodes.iter().map(Some));
        let is_first =
            |edge: &PlanEdge, to: usize| weights.as_ref().is_some_and(|weights| weights.are_same(edge.node, PlanNodeId(to as u32)));
        let mut found: Vec<(u32, bool, Edge)> = Vec::new();
        for (to, node) in self.graph.nodes.iter().enumerate() {
            let (data, control) = self.deliveries[to];
            let counter = self.counters[to];
            for (input, edge) in node.inputs.iter().enumerate() {
                let origin = self.origins[edge.node.0 as usize];
                let slot = if origin == Origin::Edge { self.nodes[to].slot + input as u32 } else { NONE };
                let from_enter = matches!(self.graph.nodes[edge.node.0 as usize].kind, NodeKind::Enter { .. });
                let delivery = if data == Delivery::Merge && from_enter { Delivery::MergeEnter } else { data };
                found.push((self.group(edge, origin), !is_first(edge, to), Edge { to: to as u32, slot, counter, delivery }));
            }
            for edge in &node.controls {
                found.push((
                    self.group(edge, self.origins[edge.node.0 as usize]),
                    true,
                    Edge { to: to as u32, slot: NONE, counter, delivery: control },
                ));
            }
        }
        found.retain(|&(group, ..)| group != NONE);
        found.sort_by_key(|&(group, is_later, _)| (group, is_later));
        let mut groups = vec![0u32; num_groups + 1];
        found.iter().for_each(|&(group, ..)| groups[group as usize + 1] += 1);
        for g in 0..num_groups {
            groups[g + 1] += groups[g];
        }
        (found.into_iter().map(|(.., edge)| edge).collect(), groups)
    }

    fn group(&self, edge: &PlanEdge, origin: Origin) -> u32 {
        if matches!(origin, Origin::Const(_)) {
            return NONE;
        }
        let from = &self.nodes[edge.node.0 as usize];
        from.group + edge.slot.min(from.num_outputs)
    }
}

impl FrameBuilder {
    fn finish(self) -> FrameTable {
        let mut table = self.table;
        table.first = self.first.into();
        table.later = self.later.into();
        table.first_roots = self.first_roots.into();
        table.later_roots = self.later_roots.into();
        table.next_iterations = self.next_iterations.into();
        table.exits = self.exits.into();
        table.layouts = Layouts::new(&table);
        table
    }
}
