//! Chooses the nodes whose work a device records and replays: [`sets`] finds the sets that become strands of a device.
//!
//! A node can be in a set if its kernel is replayable and its inputs in the host's memory follow from constants and shapes. Nodes without a kernel that
//! pass such a tensor on can be, too.
//!
//! A set is run when all its inputs have arrived. So no path may lead from a member to a node outside and back, also through other devices: the *level* of
//! a node is the greatest number of changes from candidates to other nodes on the paths to it, in the graph of all parts, and the members of a set have one
//! level. A path that leaves the set comes back at a higher level.
//!
//! Some nodes wait for effects of others without an edge between them: a dequeue, for example. The members of a set depend on the same ones of these nodes
//! (*waiters*). If a waiter waits for an effect of a member, no member depends on the waiter.
//!
//! The connected parts of what is left are the sets. Back edges of loops do not count inside of the loop, because a set runs once in each iteration. The exits
//! of a loop depend on all that its iterations do, so they count as consumers of the loop's `NextIteration`s on all devices.

use super::{Part, session_device};
use crate::compile::Environment;
use flowmill_graph::{Graph, Node, NodeId, OutputId, Role, TRANSFER};
use flowmill_partition::{Devices, Memory};
use flowmill_runtime::plan::{FrameId, NodeKind, PlanEdge, PlanGraph, PlanNode, PlanNodeId, kernel_def};
use flowmill_tensor::Result;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Units with more waiters than this have no sets, because the size of the sets of waiters grows quadratically.
const MAX_WAITERS: usize = 512;

/// Returns for each part the sets of nodes that become strands of its device. Each has at least `min_kernels` kernels that enqueue work.
pub(super) fn sets(parts: &[Part<'_>], plans: &[PlanGraph], env: &Environment) -> Result<Vec<Vec<Vec<PlanNodeId>>>> {
    let mut found = vec![Vec::new(); parts.len()];
    let Some(min_kernels) = env.options.fuse.min_replayed else { return Ok(found) };
    let mut replays = Vec::new();
    for part in parts {
        replays.push(session_device(env, part.device)?.device.replays_strands());
    }
    if !replays.contains(&true) {
        return Ok(found);
    }
    let Some(whole) = Whole::new(parts, plans) else { return Ok(found) };
    for (i, part) in parts.iter().enumerate().filter(|&(i, _)| replays[i]) {
        found[i] =
            PartSets { whole: &whole, part: i, graph: &part.unit.graph, device: part.device, plan: &plans[i], env }.sets(min_kernels);
    }
    Ok(found)
}

/// A node of the graph of all parts: a part, and a node of its plan.
type Place = (usize, usize);

/// The graph of all parts, in topological order.
struct Whole {
    /// The number of each node of each part's plan.
    numbers: Vec<FxHashMap<NodeId, usize>>,
    order: Vec<Place>,
    producers: Vec<Vec<Vec<Place>>>,
    /// For each node the interned set of waiters that it depends on.
    waiters: Vec<Vec<u32>>,
}

/// Returns the number of the transfer that a send or a receive takes part in, if partitioning has added it.
fn transfer(node: &Node, role: Role) -> Option<i64> {
    node.attrs().get::<i64>(TRANSFER).ok().filter(|_| node.role() == role)
}

impl Whole {
    /// Returns `None` for a graph with too many waiters or with a cycle.
    fn new(parts: &[Part<'_>], plans: &[PlanGraph]) -> Option<Whole> {
        let nodes = |part: usize| parts[part].unit.graph.op_nodes().enumerate();
        let all = || (0..parts.len()).flat_map(|part| nodes(part).map(move |(i, node)| ((part, i), node)));
        let numbers: Vec<FxHashMap<NodeId, usize>> =
            (0..parts.len()).map(|part| nodes(part).map(|(i, node)| (node.id(), i)).collect()).collect();
        let sends: FxHashMap<i64, Place> = all().filter_map(|(place, node)| Some((transfer(node, Role::Send)?, place))).collect();
        let mut producers: Vec<Vec<Vec<Place>>> = numbers.iter().map(|part| vec![Vec::new(); part.len()]).collect();
        let mut back_edges: FxHashMap<Vec<&str>, Vec<Place>> = FxHashMap::default();
        for (place, _) in all() {
            let plan = &plans[place.0];
            if plan.nodes.get(place.1).is_some_and(|node| matches!(node.kind, NodeKind::NextIteration)) {
                back_edges.entry(frame_names(plan, place.1)).or_default().push(place);
            }
        }
        let mut is_waiter: FxHashSet<Place> = FxHashSet::default();
        for ((part, i), node) in all() {
            let graph = &parts[part].unit.graph;
            let is_back_edge = |id| graph.get(id).is_some_and(Node::is_next_iteration);
            let sources = graph.in_edges(node.id()).map(|edge| edge.src).filter(|&src| !is_back_edge(src));
            let mut from: Vec<Place> = sources.filter_map(|src| Some((part, *numbers[part].get(&src)?))).collect();
            let sent = transfer(node, Role::Recv).and_then(|number| sends.get(&number).copied());
            from.extend(sent);
            let planned = plans[part].nodes.get(i)?;
            if matches!(planned.kind, NodeKind::Exit) {
                from.extend(back_edges.get(&frame_names(&plans[part], i)).into_iter().flatten());
            }
            if sent.is_none() && planned.may_wait() {
                is_waiter.insert((part, i));
            }
            producers[part][i] = from;
        }
        if is_waiter.len() > MAX_WAITERS {
            return None;
        }
        let order = topological(&producers)?;
        let waiters = waiters(&order, &producers, &is_waiter);
        Some(Whole { numbers, order, producers, waiters })
    }
}

/// Returns the names of a node's frame and of the frames around it, which are the same on all devices.
fn frame_names(plan: &PlanGraph, node: usize) -> Vec<&str> {
    let frame = |id: FrameId| plan.frames.get(id.0 as usize);
    let innermost = plan.nodes.get(node).and_then(|node| frame(node.frame));
    std::iter::successors(innermost, |inner| inner.parent.and_then(frame)).map(|frame| &*frame.name).collect()
}

/// Returns the nodes in an order in which producers precede consumers, or `None` if there is a cycle.
fn topological(producers: &[Vec<Vec<Place>>]) -> Option<Vec<Place>> {
    let mut consumers: Vec<Vec<Vec<Place>>> = producers.iter().map(|part| vec![Vec::new(); part.len()]).collect();
    let mut pending: Vec<Vec<usize>> = producers.iter().map(|part| part.iter().map(Vec::len).collect()).collect();
    let mut order: Vec<Place> = Vec::new();
    for (part, nodes) in producers.iter().enumerate() {
        for (i, from) in nodes.iter().enumerate() {
            from.iter().for_each(|&(p, n)| consumers[p][n].push((part, i)));
            if from.is_empty() {
                order.push((part, i));
            }
        }
    }
    let mut next = 0;
    while let Some(&(part, i)) = order.get(next) {
        next += 1;
        for &(p, n) in &consumers[part][i] {
            pending[p][n] -= 1;
            if pending[p][n] == 0 {
                order.push((p, n));
            }
        }
    }
    (order.len() == producers.iter().map(Vec::len).sum::<usize>()).then_some(order)
}

/// Returns for each node a number of the set of waiters that it depends on, itself included. Equal sets have equal numbers.
fn waiters(order: &[Place], producers: &[Vec<Vec<Place>>], is_waiter: &FxHashSet<Place>) -> Vec<Vec<u32>> {
    let mut numbers: FxHashMap<Vec<Place>, u32> = FxHashMap::default();
    numbers.insert(Vec::new(), 0);
    let mut sets: Vec<Vec<Place>> = vec![Vec::new()];
    let mut of: Vec<Vec<u32>> = producers.iter().map(|part| vec![0; part.len()]).collect();
    for &(part, i) in order {
        let mut from: Vec<u32> = producers[part][i].iter().map(|&(p, n)| of[p][n]).collect();
        from.sort_unstable();
        from.dedup();
        let own = is_waiter.contains(&(part, i));
        of[part][i] = match from[..] {
            [] if !own => 0,
            [one] if !own => one,
            _ => {
                let mut set: Vec<Place> = from.iter().flat_map(|&number| &sets[number as usize]).copied().collect();
                set.extend(own.then_some((part, i)));
                set.sort_unstable();
                set.dedup();
                *numbers.entry(set).or_insert_with_key(|set| {
                    sets.push(set.clone());
                    sets.len() as u32 - 1
                })
            }
        };
    }
    of
}

/// The sets of one part.
struct PartSets<'a> {
    whole: &'a Whole,
    part: usize,
    graph: &'a Graph,
    device: usize,
    plan: &'a PlanGraph,
    env: &'a Environment,
}

/// The memory of the tensors that a node leaves, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Candidate {
    /// No member of any set.
    No,
    /// The kernel of the device, with outputs in the memory that its registration says.
    Kernel,
    /// Passes on a tensor of the device.
    PassesDevice,
    /// Passes on a tensor of the host that follows from constants and shapes.
    PassesStatic,
}

impl PartSets<'_> {
    fn sets(&self, min_kernels: usize) -> Vec<Vec<PlanNodeId>> {
        let nodes: Vec<&Node> = self.graph.op_nodes().collect();
        let mut candidates = vec![Candidate::No; nodes.len()];
        for &(_, i) in self.whole.order.iter().filter(|(part, _)| *part == self.part) {
            candidates[i] = self.candidate(nodes[i], &self.plan.nodes[i], &candidates);
        }
        let mut levels: Vec<Vec<u32>> = self.whole.producers.iter().map(|part| vec![0; part.len()]).collect();
        let is_candidate = |(part, i): Place| part == self.part && candidates[i] != Candidate::No;
        for &(part, i) in &self.whole.order {
            let consumer = is_candidate((part, i));
            let leaves = |&(p, n): &Place| levels[p][n] + u32::from(is_candidate((p, n)) && !consumer);
            levels[part][i] = self.whole.producers[part][i].iter().map(leaves).max().unwrap_or(0);
        }
        // Connected nodes with one key have one root.
        let mut roots: Vec<usize> = (0..nodes.len()).collect();
        let key = |i: usize| -> (FrameId, u32, u32) { (self.plan.nodes[i].frame, levels[self.part][i], self.whole.waiters[self.part][i]) };
        for i in 0..nodes.len() {
            for &(part, producer) in &self.whole.producers[self.part][i] {
                if is_candidate((self.part, i)) && is_candidate((part, producer)) && key(i) == key(producer) {
                    let (a, b) = (root(&mut roots, i), root(&mut roots, producer));
                    roots[a.max(b)] = a.min(b);
                }
            }
        }
        let mut sets: BTreeMap<usize, Vec<PlanNodeId>> = BTreeMap::new();
        for i in (0..nodes.len()).filter(|&i| candidates[i] != Candidate::No) {
            sets.entry(root(&mut roots, i)).or_default().push(PlanNodeId(i as u32));
        }
        let enqueues = |id: &&PlanNodeId| {
            let node = nodes[id.0 as usize];
            let memory = |output| self.env.devices.output_memory(self.device, node, output);
            candidates[id.0 as usize] == Candidate::Kernel && (0..node.num_outputs()).any(|output| memory(output) == Memory::Device)
        };
        sets.into_values().filter(|set| set.iter().filter(enqueues).count() >= min_kernels.max(1)).collect()
    }

    /// Returns what a node is, by the candidates among its producers.
    fn candidate(&self, node: &Node, planned: &PlanNode, candidates: &[Candidate]) -> Candidate {
        let is_plain = |edge: &PlanEdge| {
            let producer = self.plan.nodes.get(edge.node.0 as usize);
            producer.and_then(|p| p.outputs.get(edge.slot as usize)).is_some_and(|output| !output.is_ref && output.dtype.size().is_some())
        };
        let has_plain_tensors = planned.inputs.iter().all(is_plain)
            && planned.outputs.iter().all(|output| !output.is_ref && output.dtype.size().is_some())
            && !planned.takes_ref.contains(&true);
        if !matches!(planned.kind, NodeKind::Op) || !has_plain_tensors || node.op_def().is_stateful() {
            return Candidate::No;
        }
        let Some(kernel) = &planned.kernel else {
            let passes = node.num_inputs() == 1 && node.num_outputs() == 1;
            let source = if passes { self.graph.input(node.id(), 0) } else { None };
            return match source.map(|source| self.memory(source, candidates)) {
                Some(Some(Memory::Device)) => Candidate::PassesDevice,
                Some(Some(Memory::Host)) => Candidate::PassesStatic,
                _ => Candidate::No,
            };
        };
        let devices = &self.env.devices;
        let own = devices.get(self.device).and_then(|own| kernel_def(node, &own.device, &devices.host().device));
        let is_replayable = own.is_some_and(|(def, is_own)| is_own && def.is_replayable());
        if !is_replayable || planned.may_wait() || kernel.depends_on_iteration() {
            return Candidate::No;
        }
        let is_static = |i: usize| {
            devices.input_memory(self.device, node, i) == Memory::Device
                || self.graph.input(node.id(), i).is_some_and(|source| self.memory(source, candidates) == Some(Memory::Host))
        };
        if (0..node.num_inputs()).all(is_static) { Candidate::Kernel } else { Candidate::No }
    }

    /// Returns the memory that an output is in if it is the device's, or if it is the host's and the value follows from constants and shapes.
    fn memory(&self, output: OutputId, candidates: &[Candidate]) -> Option<Memory> {
        let number = *self.whole.numbers[self.part].get(&output.node)?;
        match (&self.plan.nodes.get(number)?.kind, candidates[number]) {
            (NodeKind::Const(value), _) => Some(if value.device_memory().is_some() { Memory::Device } else { Memory::Host }),
            (_, Candidate::PassesDevice) => Some(Memory::Device),
            (_, Candidate::PassesStatic) => Some(Memory::Host),
            (_, candidate) => {
                let made_in = self.env.devices.output_memory(self.device, self.graph.get(output.node)?, output.slot as usize);
                (made_in == Memory::Device || (made_in == Memory::Host && candidate == Candidate::Kernel)).then_some(made_in)
            }
        }
    }
}

fn root(roots: &mut [usize], mut i: usize) -> usize {
    while roots[i] != i {
        roots[i] = roots[roots[i]];
        i = roots[i];
    }
    i
}
