//! Control-flow contexts: which loop or branch a node is in, and how tensors from outside come in.
//!
//! A node made inside of a loop's body may take a tensor from outside: the loop's context then makes an `Enter` for it, once. Inside of a branch it
//! is a `Switch` on the branch's predicate. Contexts nest, and a tensor passes each of them on its way in. TensorFlow's `CondContext` and
//! `WhileContext` behave so; exported graphs are equal.

use super::gradients::BackwardLoop;
use super::{Scope, ScopedBuilder};
use crate::{NodeId, OpDef, OutputId, Role};
use flowmill_tensor::{Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// A context of one graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ContextId(pub u32);

/// A side of a conditional. As an output of `Switch`, the discriminant is the slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Branch {
    /// Taken if the predicate is false.
    False = 0,
    /// Taken if the predicate is true.
    True = 1,
}

/// Returns the branch that is not taken if `branch` is.
pub(super) fn other(branch: Branch) -> Branch {
    match branch {
        Branch::False => Branch::True,
        Branch::True => Branch::False,
    }
}

#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) name: String,
    pub(super) outer: Option<ContextId>,
    pub(super) kind: ContextKind,
    /// Tensors that came up in the context: its own, and outside ones that were brought in.
    pub(super) known: FxHashSet<OutputId>,
    /// The tensors that replace outside tensors in this context.
    pub(super) stands_for: FxHashMap<OutputId, OutputId>,
}

#[derive(Clone, Debug)]
pub(super) enum ContextKind {
    Cond { pred: OutputId, pivot: OutputId, branch: Branch },
    While(WhileContext),
}

/// A loop being built, or built.
#[derive(Clone, Debug, Default)]
pub(super) struct WhileContext {
    pub(super) parallel_iterations: i64,
    /// True if no gradient flows through the loop.
    pub(super) is_constant: bool,
    pub(super) swap_memory: bool,
    pub(super) maximum_iterations: Option<OutputId>,
    /// A tensor that is computed in each iteration: nodes of the condition that depend on it run in each iteration.
    pub(super) pivot_for_cond: Option<OutputId>,
    /// A tensor that is computed in each iteration, for nodes of the body; set once the body is being built.
    pub(super) pivot_for_body: Option<OutputId>,
    /// The `LoopCond`.
    pub(super) pivot: Option<OutputId>,
    /// The variables' `Enter`s and `Exit`s.
    pub(super) enters: Vec<OutputId>,
    pub(super) exits: Vec<OutputId>,
    /// Set for a loop that is the gradient of another one.
    pub(super) backward: Option<Box<BackwardLoop>>,
}

impl Context {
    /// Returns the tensor that nodes depend on in order to run when the branch is taken, or in each iteration.
    pub(super) fn pivot(&self) -> Option<OutputId> {
        match &self.kind {
            ContextKind::Cond { pivot, .. } => Some(*pivot),
            ContextKind::While(looped) => looped.pivot_for_body.or(looped.pivot_for_cond),
        }
    }
}

impl ScopedBuilder<'_> {
    pub(super) fn add_context(&mut self, context: Context) -> ContextId {
        let id = ContextId(self.state.contexts.len() as u32);
        self.state.contexts.push(context);
        id
    }

    pub(super) fn context(&self, id: ContextId) -> &Context {
        &self.state.contexts[id.0 as usize]
    }

    pub(super) fn context_mut(&mut self, id: ContextId) -> &mut Context {
        &mut self.state.contexts[id.0 as usize]
    }

    /// The context's name, such as `while/while_context`.
    pub fn context_name(&self, id: ContextId) -> &str {
        &self.context(id).name
    }

    /// Returns the context around a context.
    pub fn outer_context(&self, id: ContextId) -> Option<ContextId> {
        self.context(id).outer
    }

    /// Returns the innermost loop that a context is or is in.
    pub fn loop_of(&self, mut context: Option<ContextId>) -> Option<ContextId> {
        while let Some(id) = context {
            if matches!(self.context(id).kind, ContextKind::While(_)) {
                return context;
            }
            context = self.context(id).outer;
        }
        None
    }

    /// Returns the context that a node's outputs are in: for an `Exit` the one around its loop.
    pub fn output_context(&self, node: NodeId) -> Option<ContextId> {
        let context = self.context_of(node)?;
        if self.graph.get(node).is_some_and(|n| n.is_exit()) { self.context(context).outer } else { Some(context) }
    }

    /// Checks that no input of a node in `context` is of a loop that the context is not in. Loops that are gradients of others take what they need of these,
    /// and `Enter` and `Switch` bring tensors in.
    pub(super) fn check_loops(&self, context: Option<ContextId>, name: &str, role: Role, inputs: &[OutputId]) -> Result<()> {
        if self.state.contexts.is_empty() {
            return Ok(());
        }
        let own = self.loop_of(context);
        let is_exempt = match role {
            Role::Enter | Role::Switch => true,
            Role::Merge | Role::Exit | Role::NextIteration | Role::LoopCond => own.is_none(),
            _ => false,
        };
        for input in inputs.iter().filter(|_| !is_exempt) {
            let Some(theirs) = self.loop_of(self.output_context(input.node)) else { continue };
            let reaches = |id: ContextId| id == theirs || self.forward_loop(id).is_some();
            if self.forward_loop(theirs).is_some() || std::iter::successors(context, |&id| self.context(id).outer).any(reaches) {
                continue;
            }
            let input = self.graph.node(input.node)?.name();
            let why = if own.is_some() { "they are in different while loops".to_owned() } else { format!("'{input}' is in a while loop") };
            bail!(InvalidArgument, "Cannot use '{input}' as input to '{name}' because {why}. See info log for more details.");
        }
        Ok(())
    }

    /// Returns the tensor that replaces `value` in a context; adds the nodes that bring it in if there are none yet.
    pub(super) fn bring_into(&mut self, id: ContextId, value: OutputId) -> Result<OutputId> {
        let context = self.context(id);
        if context.known.contains(&value) || (self.context_of(value.node) == Some(id) && matches!(context.kind, ContextKind::While(_))) {
            return Ok(context.stands_for.get(&value).copied().unwrap_or(value));
        }
        self.context_mut(id).known.insert(value);
        if matches!(self.context(id).kind, ContextKind::While(_))
            && let Some(recalled) = self.recall_if_forward(value)?
        {
            self.context_mut(id).stands_for.insert(value, recalled);
            return Ok(recalled);
        }
        let outer = self.context(id).outer;
        let arrived = match outer {
            Some(outer) => self.bring_into(outer, value)?,
            None => value,
        };
        let inside = match &self.context(id).kind {
            ContextKind::Cond { pred, branch, .. } => {
                let (pred, branch) = (*pred, *branch);
                if arrived != value {
                    let context = self.context_mut(id);
                    context.known.insert(arrived);
                    context.stands_for.insert(arrived, arrived);
                }
                self.guard(id, arrived, pred)?.output(branch as u32)
            }
            ContextKind::While(_) => self.enter_loop(id, arrived, true)?,
        };
        self.context_mut(id).stands_for.insert(value, inside);
        Ok(inside)
    }

    /// Returns a `Switch` of a tensor from outside on a conditional's predicate.
    pub(super) fn guard(&mut self, id: ContextId, value: OutputId, pred: OutputId) -> Result<NodeId> {
        let switch = self.within(self.scope.unconditional(), |b| b.switch(value, pred))?;
        self.state.context_of.insert(switch, id);
        self.state.unfetchable.insert(switch);
        self.make_known(Some(id), switch);
        Ok(switch)
    }

    /// Returns a `Switch` or, for a reference, a `RefSwitch`, where the data are.
    pub(super) fn switch(&mut self, data: OutputId, pred: OutputId) -> Result<NodeId> {
        let mut scope = self.scope.colocated_with([data.node]);
        let node = self.graph.node(data.node)?;
        if node.is_op("Switch") {
            // It shares the group of what it switches already.
            scope = self.scope.on_device(node.device());
        }
        self.within(scope, |b| b.switch_here(data, pred))
    }

    /// Returns a `Switch` or, for a reference, a `RefSwitch`.
    pub(super) fn switch_here(&mut self, data: OutputId, pred: OutputId) -> Result<NodeId> {
        let op = self.op_for(data, "Switch", "RefSwitch");
        self.op(op).name("Switch").inputs(&[data, pred]).finish()
    }

    /// Returns an `Enter` of a tensor into a loop; `is_constant` for one that stays the same in all iterations.
    pub(super) fn enter_loop(&mut self, id: ContextId, value: OutputId, is_constant: bool) -> Result<OutputId> {
        let context = self.context(id);
        let ContextKind::While(looped) = &context.kind else { return Ok(value) };
        let (frame, parallel_iterations) = (context.name.clone(), looped.parallel_iterations);
        let op = self.op_for(value, "Enter", "RefEnter");
        let scope = self.scope.unconditional();
        let enter = self.within(scope, |b| {
            b.op(op)
                .name("Enter")
                .input(value)
                .attr("frame_name", frame.as_str())
                .attr("is_constant", is_constant)
                .attr("parallel_iterations", parallel_iterations)
                .output()
        })?;
        self.state.unfeedable.insert(enter.node);
        self.place_enter(id, value.node, enter.node)?;
        self.context_mut(id).known.insert(enter);
        Ok(enter)
    }

    /// Puts an `Enter` into its loop's context, waiting for what the loop as a whole waits for.
    fn place_enter(&mut self, id: ContextId, producer: NodeId, enter: NodeId) -> Result<()> {
        for node in self.scope.control_inputs(&[producer]) {
            if self.is_around(self.output_context(node), id) {
                self.graph.add_control_edge(node, enter)?;
            }
        }
        self.state.context_of.insert(enter, id);
        self.scope.note(enter);
        Ok(())
    }

    /// Returns true if a context is around loop `id` and inside of, or the same as, the next loop around that.
    fn is_around(&self, context: Option<ContextId>, id: ContextId) -> bool {
        let mut around = self.context(id).outer;
        let outer_loop = self.loop_of(around);
        while around != context {
            if around.is_none() || around == outer_loop {
                return false;
            }
            around = around.and_then(|a| self.context(a).outer);
        }
        true
    }

    /// Returns the control inputs for a node in a context, out of those that its surroundings ask for.
    ///
    /// Those in the same loop stay. In a loop, one from outside becomes a data input of an `Identity` in the loop, which the node waits for. A node
    /// that nothing else ties to the loop or branch waits for its pivot.
    pub(super) fn control_inputs_in(
        &mut self,
        id: ContextId,
        op_def: &OpDef,
        inputs: &[OutputId],
        control: Vec<NodeId>,
    ) -> Result<Vec<NodeId>> {
        let own_loop = self.loop_of(Some(id));
        let (mut inside, outside): (Vec<NodeId>, Vec<NodeId>) = match own_loop {
            None => (control, Vec::new()),
            Some(_) => control.into_iter().partition(|&c| self.loop_of(self.output_context(c)) == own_loop),
        };
        let is_call = self.graph.library().op_def(&op_def.name).is_some() || op_def.traits.role == Role::SymbolicGradient;
        let context = self.context(id);
        let needs_pivot = match &context.kind {
            ContextKind::Cond { .. } if inputs.is_empty() => !inside.iter().any(|&c| self.is_in(c, id)),
            ContextKind::Cond { .. } => is_call,
            ContextKind::While(_) => inside.is_empty() && (is_call || inputs.iter().all(|i| self.is_invariant(i.node))),
        };
        if needs_pivot
            && let Some(pivot) = context.pivot()
            && !inside.contains(&pivot.node)
        {
            inside.push(pivot.node);
        }
        if matches!(self.context(id).kind, ContextKind::While(_)) && !outside.is_empty() {
            let scope = Scope::root().named(self.scope.name()).in_context(Some(id));
            let waits: Vec<OutputId> = outside.into_iter().filter(|&o| self.graph[o].num_outputs() > 0).map(|o| o.output(0)).collect();
            for value in waits {
                let identity = self.within(scope.clone(), |b| b.call("Identity", &[value]))?;
                inside.push(identity.node);
            }
        }
        Ok(inside)
    }

    /// Returns true if a node is in a context or in one inside of it.
    fn is_in(&self, node: NodeId, id: ContextId) -> bool {
        let mut context = self.output_context(node);
        while let Some(c) = context {
            if c == id {
                return true;
            }
            context = self.context(c).outer;
        }
        false
    }

    /// Returns true if a node is the `Enter` of a loop's invariant.
    pub(super) fn is_invariant(&self, node: NodeId) -> bool {
        self.graph.get(node).is_some_and(|n| n.is_enter() && n.attrs().get_or("is_constant", false).unwrap_or(false))
    }

    /// Notes a node that was made in a context.
    pub(super) fn note_in_context(&mut self, id: ContextId, node: NodeId) {
        self.state.context_of.insert(node, id);
        self.make_known(Some(id), node);
        let leaves = self.graph[node].is_exit() && self.context(id).outer.is_none();
        if !leaves {
            self.state.unfetchable.insert(node);
            self.state.unfeedable.insert(node);
        }
    }

    /// Makes a node's outputs known to a context and all around it.
    pub(super) fn make_known(&mut self, mut id: Option<ContextId>, node: NodeId) {
        let num_outputs = self.graph[node].num_outputs() as u32;
        while let Some(c) = id {
            let context = self.context_mut(c);
            context.known.extend((0..num_outputs).map(|slot| node.output(slot)));
            id = context.outer;
        }
    }

    /// Returns the op for values, or its twin for references.
    pub(super) fn op_for(&self, data: OutputId, value: &'static str, reference: &'static str) -> &'static str {
        if self.output_type(data).is_some_and(|t| t.is_ref) { reference } else { value }
    }
}
