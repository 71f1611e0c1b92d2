//! Strands: sets of cheap nodes that become ready at the same time, compiled to one program.
//!
//! Two nodes outside of all loops that have the same set of costly ancestors can start at the same time with any number of threads, so running one
//! after the other costs only their own short times. Such a set is convex: a node on a path between two nodes of the set has the same costly
//! ancestors and belongs to it.
//!
//! If each costly node depends on the one before, or if there is only one thread, costly nodes cannot run in parallel, and they join the strand.

use super::lower::{Lowering, mark_last_uses};
use super::rewrite::{Rewriter, cost_of};
use super::run::{Code, Instr, Operand, Reg, RegisterPool, Strand};
use crate::kernel::{Cost, Kernel};
use crate::plan::{FrameId, NodeKind, OutputType, PlanEdge, PlanNode, PlanNodeId};
use flowmill_graph::OpTraits;
use flowmill_tensor::{DType, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Graphs with more costly nodes than this are not clustered, because the size of the sets of ancestors grows quadratically.
const MAX_COSTLY: usize = 1024;
/// The smallest number of nodes for which a program pays.
const MIN_MEMBERS: usize = 2;

/// Replaces every worthwhile cluster of the root frame by a strand.
pub(super) fn fuse_strands(graph: &mut Rewriter, single_thread: bool) -> Result<()> {
    for members in clusters(graph, single_thread) {
        fuse(graph, &members)?;
    }
    Ok(())
}

fn can_join(node: &PlanNode) -> bool {
    let kind = matches!(node.kind, NodeKind::Op | NodeKind::Const(_) | NodeKind::Merge | NodeKind::ControlTrigger | NodeKind::Program);
    kind && node.frame == FrameId::ROOT && !node.may_wait()
}

/// Returns true if every costly node depends on the one before it. The check: no two costly nodes have the same number of costly nodes on the longest
/// path to them.
fn are_in_a_row(graph: &Rewriter, order: &[PlanNodeId]) -> bool {
    let mut depths: FxHashMap<PlanNodeId, u32> = FxHashMap::default();
    let mut taken = FxHashSet::default();
    for &id in order {
        let Some(node) = graph.get(id) else { continue };
        let mut depth = node.inputs.iter().chain(&node.controls).filter_map(|e| depths.get(&e.node)).copied().max().unwrap_or(0);
        if node.cost >= Cost::Expensive {
            depth += 1;
            if !taken.insert(depth) {
                return false;
            }
        }
        depths.insert(id, depth);
    }
    true
}

/// Interned sets of costly ancestors, with an id for each set.
struct Sets {
    ids: FxHashMap<Vec<u32>, u32>,
    sets: Vec<Vec<u32>>,
}

impl Sets {
    fn intern(&mut self, set: Vec<u32>) -> u32 {
        if let Some(&id) = self.ids.get(&set) {
            return id;
        }
        let id = self.sets.len() as u32;
        self.sets.push(set.clone());
        self.ids.insert(set, id);
        id
    }

    fn union(&mut self, a: u32, b: u32) -> u32 {
        if a == b {
            return a;
        }
        let (x, y) = (&self.sets[a as usize], &self.sets[b as usize]);
        let mut out = Vec::with_capacity(x.len() + y.len());
        out.extend_from_slice(x);
        out.extend_from_slice(y);
        out.sort_unstable();
        out.dedup();
        self.intern(out)
    }

    fn with(&mut self, set: u32, element: u32) -> u32 {
        let mut out = self.sets[set as usize].clone();
        if let Err(at) = out.binary_search(&element) {
            out.insert(at, element);
        }
        self.intern(out)
    }
}

fn clusters(graph: &Rewriter, single_thread: bool) -> Vec<FxHashSet<PlanNodeId>> {
    let all: FxHashSet<PlanNodeId> = graph.ids().collect();
    // What remains of loops is cyclic through its NextIterations; everything of a loop counts as costly.
    let back = |_: PlanNodeId, e: PlanEdge| matches!(graph.get(e.node).map(|n| &n.kind), Some(NodeKind::NextIteration));
    let Some(order) = graph.topological(&all, &back) else { return Vec::new() };
    let alone = single_thread || are_in_a_row(graph, &order);
    let joins = |n: &PlanNode| can_join(n) && (alone || n.cost == Cost::Cheap);
    // A node outside of all strands that has producers and consumers must not lie between two members of one strand.
    let is_costly = |id: PlanNodeId, n: &PlanNode| match n.kind {
        NodeKind::Arg(_) => false,
        NodeKind::Ret(_) => graph.is_waited_for(id),
        _ => !joins(n),
    };
    let costly = order.iter().filter(|&&id| graph.get(id).is_some_and(|n| is_costly(id, n))).count();
    if costly > MAX_COSTLY {
        return Vec::new();
    }
    let mut sets = Sets { ids: FxHashMap::default(), sets: Vec::new() };
    let empty = sets.intern(Vec::new());
    // The ancestors of a node's consumers, the node itself among them where it is costly.
    let mut after: FxHashMap<PlanNodeId, u32> = FxHashMap::default();
    let mut found: BTreeMap<u32, FxHashSet<PlanNodeId>> = BTreeMap::new();
    for &id in &order {
        let Some(node) = graph.get(id) else { continue };
        let mut set = empty;
        for edge in node.inputs.iter().chain(&node.controls) {
            set = sets.union(set, after.get(&edge.node).copied().unwrap_or(empty));
        }
        if joins(node) {
            found.entry(set).or_default().insert(id);
        }
        after.insert(id, if is_costly(id, node) { sets.with(set, id.0) } else { set });
    }
    for members in found.values_mut() {
        drop_lone_constants(graph, members);
    }
    let worthwhile = |m: &FxHashSet<PlanNodeId>| {
        m.iter().filter(|&&id| graph.get(id).is_some_and(|n| !matches!(n.kind, NodeKind::Const(_)))).count() >= MIN_MEMBERS
    };
    found.into_values().filter(worthwhile).collect()
}

/// Removes the constants that no other member reads or waits for, consumers before producers.
///
/// The set stays convex. A constant may have control inputs, from members too, so one that a member waits for may lie on a path between
/// two members and has to stay, also if the member that waits is a constant itself.
fn drop_lone_constants(graph: &Rewriter, members: &mut FxHashSet<PlanNodeId>) {
    let Some(order) = graph.topological(members, &|_, _| false) else { return };
    for id in order.into_iter().rev() {
        let is_const = matches!(graph.get(id).map(|n| &n.kind), Some(NodeKind::Const(_)));
        if is_const && !graph.consumers(id).iter().any(|c| members.contains(c)) {
            members.remove(&id);
        }
    }
}

fn fuse(graph: &mut Rewriter, members: &FxHashSet<PlanNodeId>) -> Result<()> {
    fuse_members(graph, members, &FxHashSet::default(), |_, strand, _| strand)
}

/// Replaces a convex set of nodes of one frame by a strand. The strand holds the values of `constants`, which are constants without control inputs
/// outside of the set, instead of taking them as inputs. `adopt` returns the kernel that runs in place of the strand of this name; it is told which inputs
/// are read, and not only waited for.
///
/// # Errors
/// Returns `Internal` if the edges of the graph are inconsistent.
pub(super) fn fuse_members(
    graph: &mut Rewriter,
    members: &FxHashSet<PlanNodeId>,
    constants: &FxHashSet<PlanNodeId>,
    adopt: impl FnOnce(&str, Arc<dyn Kernel>, &[bool]) -> Arc<dyn Kernel>,
) -> Result<()> {
    let Some(order) = graph.topological(members, &|_, _| false) else { return Ok(()) };
    let Some(frame) = order.first().and_then(|&id| graph.get(id)).map(|node| node.frame) else { return Ok(()) };
    let mut lowering = Lowering::new(graph, &members.union(constants).copied().collect());
    for &constant in constants {
        lowering.assume_live(PlanEdge { node: constant, slot: 0 });
    }
    let mut inputs: Vec<PlanEdge> = Vec::new();
    for &id in &order {
        let Some(node) = graph.get(id) else { continue };
        for &edge in node.inputs.iter().chain(&node.controls).filter(|e| !members.contains(&e.node)) {
            if lowering.reg(edge).is_err() {
                let reg = lowering.fresh();
                lowering.bind(edge, reg);
                if matches!(graph.get(edge.node).map(|n| &n.kind), Some(NodeKind::Arg(_))) {
                    lowering.assume_live(edge);
                }
                inputs.push(edge);
            }
        }
    }
    let mut code = Code::default();
    for &id in &order {
        lowering.node(id, &mut code)?;
    }
    let outgoing = graph.sorted_outgoing(graph.outgoing(members), members);
    let input_regs = inputs.iter().map(|&e| lowering.reg(e)).collect::<Result<Vec<_>>>()?;
    let output_regs = outgoing.iter().map(|&e| lowering.reg(e)).collect::<Result<Vec<_>>>()?;
    let kept: FxHashSet<Reg> = (0..lowering.num_constants()).chain(output_regs.iter().copied()).collect();
    mark_last_uses(&mut code, &mut FxHashSet::default(), &kept);
    let cost = cost_of(order.iter().filter_map(|&id| graph.get(id)));
    // Whoever waits for a node is given its first output, or a flag where that does not tell whether it ran.
    let type_of = |e: PlanEdge| {
        let first = PlanEdge { slot: 0, ..e };
        let is_flag = e.slot == PlanEdge::CONTROL && lowering.reg(first).ok() != lowering.reg(e).ok();
        if is_flag {
            OutputType { dtype: DType::Bool, is_ref: false }
        } else {
            graph.edge_type(if e.slot == PlanEdge::CONTROL { first } else { e })
        }
    };
    let outputs = outgoing.iter().map(|&e| type_of(e)).collect();
    let name = graph.get(order[0]).map_or_else(|| "strand".into(), |n| format!("{}/strand", n.name));
    let (constants, num_regs) = lowering.finish();
    let mut strand = Strand {
        code,
        pool: RegisterPool::new(Vec::new(), 0),
        inputs: input_regs,
        outputs: output_regs.iter().map(|&reg| Operand { reg, take: false, deref: false }).collect(),
    };
    let num_regs = reuse_registers(&mut strand, constants.len(), num_regs);
    strand.pool = RegisterPool::new(constants, num_regs);
    let takes_ref = vec![true; inputs.len()];
    let read: FxHashSet<PlanEdge> = order.iter().filter_map(|&id| graph.get(id)).flat_map(|node| node.inputs.iter().copied()).collect();
    let reads_input: Vec<bool> = inputs.iter().map(|edge| read.contains(edge)).collect();
    let kernel = adopt(&name, Arc::new(strand), &reads_input);
    let program = PlanNode {
        name: name.into(),
        op: "_Strand".into(),
        traits: OpTraits::default(),
        kind: NodeKind::Program,
        kernel: Some(kernel),
        cost,
        frame,
        inputs,
        takes_ref,
        controls: Vec::new(),
        outputs,
        shapes: outgoing.iter().map(|&edge| graph.edge_shape(edge)).collect(),
    };
    graph.replace(members, program, &outgoing);
    Ok(())
}

/// Renumbers registers so that a value's register is free again after its last use: a long chain then needs only two registers, which stay in the
/// innermost cache. Registers that must be adjacent are never reused. Returns the new number of registers.
fn reuse_registers(strand: &mut Strand, num_constants: usize, num_regs: usize) -> usize {
    const NEVER: usize = usize::MAX;
    let Code { instrs, calls } = &mut strand.code;
    let mut last_use = vec![None; num_regs];
    for &reg in &strand.inputs {
        last_use[reg as usize] = Some(0);
    }
    for (at, instr) in instrs.iter_mut().enumerate() {
        visit(instr, calls, &mut |reg| last_use[*reg as usize] = Some(at));
    }
    for output in &strand.outputs {
        last_use[output.reg as usize] = Some(NEVER);
    }
    let mut renamed: Vec<Option<Reg>> = vec![None; num_regs];
    for c in 0..num_constants {
        renamed[c] = Some(c as Reg);
        last_use[c] = Some(NEVER);
    }
    let mut next = num_constants as Reg;
    let mut free: Vec<Reg> = Vec::new();
    for &reg in &strand.inputs {
        renamed[reg as usize] = Some(next);
        next += 1;
    }
    for (at, instr) in instrs.iter_mut().enumerate() {
        let group = group_of(instr, calls);
        let mut done: Vec<Reg> = Vec::new();
        for reg in group.clone() {
            if renamed[reg as usize].is_none() && group.len() > 1 {
                renamed[reg as usize] = Some(next);
                next += 1;
            }
        }
        visit(instr, calls, &mut |reg| {
            let old = *reg as usize;
            let new = *renamed[old].get_or_insert_with(|| {
                free.pop().unwrap_or_else(|| {
                    next += 1;
                    next - 1
                })
            });
            if last_use[old] == Some(at) && group.len() <= 1 {
                done.push(new);
            }
            *reg = new;
        });
        done.sort_unstable();
        done.dedup();
        free.extend(done);
    }
    for reg in &mut strand.inputs {
        *reg = renamed[*reg as usize].unwrap_or(*reg);
    }
    for operand in &mut strand.outputs {
        operand.reg = renamed[operand.reg as usize].unwrap_or(operand.reg);
    }
    next as usize
}

/// Returns the result registers of an instruction that must be adjacent.
fn group_of(instr: &Instr, calls: &[super::run::Call]) -> std::ops::Range<Reg> {
    match instr {
        Instr::Call(call) => {
            let call = &calls[*call as usize];
            call.dst..call.dst + call.callee.outputs.len() as Reg
        }
        Instr::Switch { dst, .. } => *dst..*dst + 2,
        Instr::Scalar1 { dst, .. } | Instr::Scalar2 { dst, .. } | Instr::Move { dst, .. } | Instr::Merge { dst, .. } => *dst..*dst + 1,
    }
}

/// Shows every register of an instruction once a mention: what it reads, then what it writes (of a group, the first).
fn visit(instr: &mut Instr, calls: &mut [super::run::Call], see: &mut dyn FnMut(&mut Reg)) {
    let see_call = |call: &mut super::run::Call, see: &mut dyn FnMut(&mut Reg)| {
        call.operands.iter_mut().for_each(|o| see(&mut o.reg));
        call.controls.iter_mut().for_each(&mut *see);
        if !call.callee.outputs.is_empty() {
            see(&mut call.dst);
        }
        if let Some(live) = &mut call.live {
            see(live);
        }
    };
    match instr {
        Instr::Call(call) => see_call(&mut calls[*call as usize], see),
        Instr::Scalar1 { a, dst, call, .. } => {
            see_call(&mut calls[*call as usize], see);
            let call = &calls[*call as usize];
            (*a, *dst) = (call.operands[0].reg, call.dst);
        }
        Instr::Scalar2 { a, b, dst, call, .. } => {
            see_call(&mut calls[*call as usize], see);
            let call = &calls[*call as usize];
            (*a, *b, *dst) = (call.operands[0].reg, call.operands[1].reg, call.dst);
        }
        Instr::Move { src, dst, controls, .. } => {
            see(&mut src.reg);
            controls.iter_mut().for_each(&mut *see);
            see(dst);
        }
        Instr::Merge { sources, dst, index, .. } => {
            sources.iter_mut().for_each(|o| see(&mut o.reg));
            see(dst);
            if let Some(index) = index {
                see(index);
            }
        }
        Instr::Switch { data, pred, dst, controls, live, .. } => {
            see(&mut data.reg);
            see(&mut pred.reg);
            controls.iter_mut().for_each(&mut *see);
            see(dst);
            if let Some(live) = live {
                see(live);
            }
        }
    }
}
