//! Lowers nodes in topological order to instructions over registers.

use super::rewrite::Rewriter;
use super::run::{Call, Code, Instr, Operand, Reg, scalar_instr};
use crate::invoke::Callee;
use crate::plan::{NodeKind, PlanEdge, PlanNode, PlanNodeId};
use flowmill_graph::Role;
use flowmill_tensor::{Result, Tensor, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// Lowers nodes to instructions, and records the register of each value.
pub(super) struct Lowering<'g> {
    graph: &'g Rewriter,
    /// The register of each value. The register of `(node, CONTROL)` is live if the node ran.
    regs: FxHashMap<PlanEdge, Reg>,
    /// Values that cannot be dead where the code runs.
    live: FxHashSet<PlanEdge>,
    constants: Vec<Tensor>,
    next: Reg,
}

/// The register that always holds a live value: the first constant.
const TRUE: Reg = 0;

impl<'g> Lowering<'g> {
    /// Makes a lowering for these members. Their constants get the first registers.
    pub(super) fn new(graph: &'g Rewriter, members: &FxHashSet<PlanNodeId>) -> Lowering<'g> {
        let mut sorted: Vec<PlanNodeId> = members.iter().copied().collect();
        sorted.sort_unstable();
        let mut this =
            Lowering { graph, regs: FxHashMap::default(), live: FxHashSet::default(), constants: vec![Tensor::scalar(true)], next: 0 };
        for id in sorted {
            if let Some(NodeKind::Const(value)) = graph.get(id).map(|n| &n.kind) {
                this.regs.insert(PlanEdge { node: id, slot: 0 }, this.constants.len() as Reg);
                this.constants.push(value.clone());
            }
        }
        this.next = this.constants.len() as Reg;
        this
    }

    /// Returns the number of registers, from 0 on, that hold constants.
    pub(super) fn num_constants(&self) -> Reg {
        self.constants.len() as Reg
    }

    /// Returns the constants and the number of registers. Called at the end.
    pub(super) fn finish(self) -> (Vec<Tensor>, usize) {
        (self.constants, self.next as usize)
    }

    /// Allocates a register.
    pub(super) fn fresh(&mut self) -> Reg {
        self.fresh_many(1)
    }

    fn fresh_many(&mut self, n: usize) -> Reg {
        let reg = self.next;
        self.next += n as Reg;
        reg
    }

    /// Records the register of a value.
    pub(super) fn bind(&mut self, edge: PlanEdge, reg: Reg) {
        self.regs.insert(edge, reg);
    }

    /// Records that a value cannot be dead.
    pub(super) fn assume_live(&mut self, edge: PlanEdge) {
        self.live.insert(edge);
    }

    /// Returns true if a value cannot be dead.
    pub(super) fn is_live(&self, edge: PlanEdge) -> bool {
        self.live.contains(&edge)
    }

    /// Returns the register of a value.
    ///
    /// # Errors
    /// Returns `Internal` if the value was not computed before.
    pub(super) fn reg(&self, edge: PlanEdge) -> Result<Reg> {
        match self.regs.get(&edge) {
            Some(&reg) => Ok(reg),
            None => bail!(Internal, "a program reads a value before it is computed: node {}, output {}", edge.node.0, edge.slot as i32),
        }
    }

    /// Returns the operand through which `node` reads its input `i`.
    pub(super) fn operand(&self, node: &PlanNode, i: usize) -> Result<Operand> {
        let edge = node.inputs[i];
        let takes_ref = node.takes_ref.get(i).copied().unwrap_or(false);
        Ok(Operand { reg: self.reg(edge)?, take: false, deref: !takes_ref && self.graph.edge_type(edge).is_ref })
    }

    fn operands(&self, node: &PlanNode) -> Result<Vec<Operand>> {
        (0..node.inputs.len()).map(|i| self.operand(node, i)).collect()
    }

    /// Returns the registers of the control inputs that may be dead.
    pub(super) fn controls(&self, node: &PlanNode) -> Result<Box<[Reg]>> {
        let mut regs = Vec::new();
        for &edge in node.controls.iter().filter(|&&e| !self.is_live(e)) {
            let reg = self.reg(edge)?;
            if !regs.contains(&reg) {
                regs.push(reg);
            }
        }
        Ok(regs.into())
    }

    /// Appends the instructions of one node.
    ///
    /// # Errors
    /// Returns `Internal` if an input has no register yet.
    pub(super) fn node(&mut self, id: PlanNodeId, code: &mut Code) -> Result<()> {
        let Some(node) = self.graph.get(id) else { bail!(Internal, "a program holds a node that was replaced") };
        let out = |slot: u32| PlanEdge { node: id, slot };
        let control = out(PlanEdge::CONTROL);
        let controls = self.controls(node)?;
        let inputs_live = controls.is_empty() && node.inputs.iter().all(|&e| self.is_live(e));
        match &node.kind {
            NodeKind::Const(_) => {
                let reg = self.reg(out(0))?;
                if controls.is_empty() {
                    self.live.extend([out(0), control]);
                    self.bind(control, TRUE);
                } else {
                    let (dst, src) = (self.fresh(), Operand { reg, take: false, deref: false });
                    self.push_move(code, node, src, dst, controls)?;
                    self.bind(out(0), dst);
                    self.bind(control, dst);
                }
            }
            NodeKind::ControlTrigger => {
                self.live.insert(control);
                self.bind(control, TRUE);
            }
            NodeKind::Merge => {
                let sources = self.operands(node)?.into();
                let dst = self.fresh();
                let index = (node.outputs.len() > 1).then(|| self.fresh());
                let call = self.push_name(code, node)?;
                // A Merge waits for its control inputs, whose instructions come first, but is live even if they are dead.
                code.instrs.push(Instr::Merge { sources, dst, index, call });
                self.bind(out(0), dst);
                if let Some(index) = index {
                    self.bind(out(1), index);
                }
                self.bind(control, dst);
            }
            NodeKind::Op if is_switch(node) => {
                let call = self.push_name(code, node)?;
                let dst = self.fresh_many(2);
                let live = self.graph.is_waited_for(id).then(|| self.fresh());
                code.instrs.push(Instr::Switch { data: self.operand(node, 0)?, pred: self.operand(node, 1)?, dst, controls, live, call });
                self.bind(out(0), dst);
                self.bind(out(1), dst + 1);
                if let Some(live) = live {
                    self.bind(control, live);
                }
            }
            NodeKind::Op if node.kernel.is_none() && node.outputs.is_empty() && inputs_live => {
                self.live.insert(control);
                self.bind(control, TRUE);
            }
            NodeKind::Op if node.kernel.is_none() && node.outputs.len() == 1 && node.inputs.len() == 1 => {
                let src = self.operand(node, 0)?;
                let dst = if controls.is_empty() && !src.deref {
                    src.reg
                } else {
                    let dst = self.fresh();
                    self.push_move(code, node, src, dst, controls)?;
                    dst
                };
                self.bind(out(0), dst);
                self.bind(control, dst);
                if inputs_live {
                    self.live.extend([out(0), control]);
                }
            }
            NodeKind::Op | NodeKind::Program => {
                let is_program = matches!(node.kind, NodeKind::Program);
                let dst = self.fresh_many(node.outputs.len());
                let needs_live = (is_program || node.outputs.is_empty() || node.traits.leaves_outputs_dead) && self.graph.is_waited_for(id);
                let live = needs_live.then(|| self.fresh());
                let plain = controls.is_empty() && live.is_none();
                let call = self.push_call(code, node, dst, live, controls)?;
                let scalar = node.kernel.as_ref().filter(|_| plain && node.outputs.len() == 1).and_then(|k| k.scalar_op());
                let instr = scalar.and_then(|op| scalar_instr(op, &code.calls[call as usize].operands, dst, call));
                code.instrs.push(instr.unwrap_or(Instr::Call(call)));
                for slot in 0..node.outputs.len() as u32 {
                    self.bind(out(slot), dst + slot);
                }
                self.bind(control, live.unwrap_or(dst));
                if inputs_live && !is_program && !node.traits.leaves_outputs_dead {
                    self.live.extend((0..node.outputs.len() as u32).map(out));
                    self.live.insert(control);
                }
            }
            _ => bail!(Internal, "node {} cannot be part of a program", node.name),
        }
        Ok(())
    }

    /// Appends an instruction that copies one value for `node`.
    ///
    /// # Errors
    /// Returns `Internal` if an input of the node has no register yet.
    pub(super) fn push_move(&self, code: &mut Code, node: &PlanNode, src: Operand, dst: Reg, controls: Box<[Reg]>) -> Result<()> {
        let call = self.push_name(code, node)?;
        code.instrs.push(Instr::Move { src, dst, controls, call });
        Ok(())
    }

    /// Returns the node as a call that is never made. It names an instruction without a kernel in errors.
    fn push_name(&self, code: &mut Code, node: &PlanNode) -> Result<u32> {
        self.push_call(code, node, TRUE, None, Box::new([]))
    }

    fn push_call(&self, code: &mut Code, node: &PlanNode, dst: Reg, live: Option<Reg>, controls: Box<[Reg]>) -> Result<u32> {
        code.calls.push(Call {
            callee: Callee::of(node),
            kernel: node.kernel.clone(),
            operands: self.operands(node)?.into(),
            controls,
            // Registers are numbered anew later, and one that holds nothing has no number then.
            dst: if node.outputs.is_empty() { TRUE } else { dst },
            live,
            accepts_dead: matches!(node.kind, NodeKind::Program),
        });
        Ok(code.calls.len() as u32 - 1)
    }
}

/// Returns true if the node is a two-way switch, which programs run without a call.
pub(super) fn is_switch(node: &PlanNode) -> bool {
    // `_SwitchN` has an index for a predicate.
    node.traits.role == Role::Switch && &*node.op != "_SwitchN" && node.inputs.len() == 2 && node.outputs.len() == 2
}

/// Marks the last reads of registers as takes, walking the code backwards. `seen` holds registers that are needed afterwards, and at the
/// end all that the code reads; `kept` ones are never taken.
pub(super) fn mark_last_uses(code: &mut Code, seen: &mut FxHashSet<Reg>, kept: &FxHashSet<Reg>) {
    let calls = &mut code.calls;
    for instr in code.instrs.iter_mut().rev() {
        match instr {
            Instr::Call(call) | Instr::Scalar1 { call, .. } | Instr::Scalar2 { call, .. } => {
                let call = &mut calls[*call as usize];
                seen.extend(call.controls.iter());
                take_last(call.operands.iter_mut().rev(), seen, kept);
            }
            Instr::Move { src, controls, .. } => {
                seen.extend(controls.iter());
                take_last([src].into_iter(), seen, kept);
            }
            Instr::Merge { sources, .. } => take_last(sources.iter_mut().rev(), seen, kept),
            Instr::Switch { data, pred, controls, .. } => {
                seen.extend(controls.iter());
                take_last([pred, data].into_iter(), seen, kept);
            }
        }
    }
}

fn take_last<'a>(operands: impl Iterator<Item = &'a mut Operand>, seen: &mut FxHashSet<Reg>, kept: &FxHashSet<Reg>) {
    for operand in operands {
        operand.take = seen.insert(operand.reg) && !kept.contains(&operand.reg);
    }
}
