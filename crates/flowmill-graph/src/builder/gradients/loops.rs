//! Loops that run backwards.
//!
//! The gradient of a loop is a second loop. The forward loop gets a counter of its iterations, and the backward loop runs as often. What a gradient
//! needs of the forward loop's values is pushed on a stack in each forward iteration and popped in the backward one; loop invariants and
//! constants are simply used again. Pushes are ordered before the next forward iteration and pops before the next backward one, so that the
//! stacks' order is that of the iterations however many of them run at once.

use crate::builder::context::{ContextKind, WhileContext};
use crate::builder::{ContextId, ScopedBuilder};
use crate::{NodeId, OutputId};
use flowmill_tensor::{DType, Result, Tensor, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The part of a loop's context that backward loops have.
#[derive(Clone, Debug)]
pub(in crate::builder) struct BackwardLoop {
    /// The loop whose gradient it is.
    pub(in crate::builder) forward: ContextId,
    /// The backward loop around it.
    pub(super) outer: Option<ContextId>,
    /// The context in which the walk began and in which stacks live.
    pub(super) root: Option<ContextId>,
    /// The counters' `NextIteration`s.
    pub(super) forward_index: OutputId,
    pub(super) backward_index: OutputId,
    /// The tensors of this loop that have the values of the forward loop's tensors.
    pub(super) history: FxHashMap<OutputId, OutputId>,
    /// The `Merge` that is the gradient of a `Switch`.
    pub(super) merges: BTreeMap<NodeId, OutputId>,
    /// Pushes in conditionals come before the first, pops before the second.
    pub(super) forward_sync: Option<NodeId>,
    pub(super) backward_sync: Option<NodeId>,
}

/// The backward loops of one walk.
#[derive(Debug, Default)]
pub(super) struct LoopStates {
    /// Exits by forward loop, in the order in which they are met.
    loops: Vec<(ContextId, Exits)>,
}

/// The exits of a forward loop: its gradient begins when all are known to have one or to have none.
#[derive(Debug)]
struct Exits {
    backward: ContextId,
    all: Vec<OutputId>,
    num_pending: usize,
    deferred: Vec<OutputId>,
    unused: Vec<OutputId>,
}

impl LoopStates {
    /// Makes the backward loops of all loops between the `xs` and the `ys`, whose exits become part of what is between.
    pub(super) fn new(b: &mut ScopedBuilder<'_>, between: &mut Vec<NodeId>) -> Result<LoopStates> {
        let mut states = LoopStates::default();
        let mut members: FxHashSet<NodeId> = between.iter().copied().collect();
        let exits: Vec<NodeId> = between.iter().copied().filter(|&n| b.graph()[n].is_exit()).collect();
        if !exits.is_empty()
            && let Some(&pop) = between.iter().find(|&&n| b.graph()[n].is_op("StackPopV2"))
        {
            // The loop is a gradient that another process made. What was pushed is not followed here.
            bail!(Unimplemented, "Second-order gradient for while loops not supported: '{}'", b.graph()[pop].name());
        }
        for exit in exits {
            let Some(forward) = b.context_of(exit).and_then(|c| b.loop_of(Some(c))) else { continue };
            states.add(b, forward, between, &mut members)?;
        }
        Ok(states)
    }

    fn add(
        &mut self,
        b: &mut ScopedBuilder<'_>,
        forward: ContextId,
        between: &mut Vec<NodeId>,
        members: &mut FxHashSet<NodeId>,
    ) -> Result<()> {
        if self.state(forward).is_some() {
            return Ok(());
        }
        let Some(looped) = b.while_context(forward) else { return Ok(()) };
        let all = looped.exits.clone();
        if looped.backward.is_some() {
            bail!(Unimplemented, "Second-order gradient for while loops not supported.");
        }
        // An outer loop comes first: the inner one's counts are kept on its stacks.
        let outer = b.loop_of(b.context(forward).outer);
        let outer = outer.and_then(|outer| self.state(outer)).map(|s| s.backward);
        let backward = b.begin_backward(forward, outer)?;
        for exit in &all {
            if members.insert(exit.node) {
                between.push(exit.node);
            }
        }
        self.loops.push((forward, Exits { backward, num_pending: all.len(), all, deferred: Vec::new(), unused: Vec::new() }));
        Ok(())
    }

    /// Returns the loops that the walk made.
    pub(super) fn backward_loops(&self) -> impl Iterator<Item = ContextId> {
        self.loops.iter().map(|(_, state)| state.backward)
    }

    fn state(&self, forward: ContextId) -> Option<&Exits> {
        self.loops.iter().find(|(f, _)| *f == forward).map(|(_, s)| s)
    }

    fn state_mut(&mut self, forward: ContextId) -> Option<&mut Exits> {
        self.loops.iter_mut().find(|(f, _)| *f == forward).map(|(_, s)| s)
    }

    /// Returns the context in which a node's gradient is made. An exit's is summed outside of its loop, `before` it is handed in.
    pub(super) fn backward_context(&self, b: &ScopedBuilder<'_>, node: NodeId, before: bool) -> Option<ContextId> {
        let context = if before { b.output_context(node) } else { b.context_of(node) };
        let forward = b.loop_of(context)?;
        self.state(forward).map(|s| s.backward)
    }

    /// Returns true if a node is the `Switch` of a loop's variable.
    pub(super) fn is_loop_switch(&self, b: &ScopedBuilder<'_>, node: NodeId) -> bool {
        b.graph()[node].is_switch() && b.context_of(node).is_some_and(|c| b.while_context(c).is_some())
    }

    /// Exits that nothing between the `xs` and the `ys` takes, of loops all of whose exits are such; they begin the walk with zeros.
    pub(super) fn unused_exits(&mut self, b: &ScopedBuilder<'_>, pending: &mut FxHashMap<NodeId, i32>, ys: &[NodeId]) -> Vec<OutputId> {
        let mut found = Vec::new();
        for (forward, state) in &mut self.loops {
            for &exit in &state.all {
                if pending.get(&exit.node).copied().unwrap_or(0) > 0 {
                    continue;
                }
                state.num_pending -= 1;
                if !ys.contains(&exit.node) {
                    state.unused.push(exit);
                }
                if state.num_pending == 0 {
                    found.append(&mut state.unused);
                }
            }
            for enter in b.while_context(*forward).map(|l| l.enters.clone()).unwrap_or_default() {
                if let Some(count @ 0) = pending.get_mut(&enter.node) {
                    *count = 1;
                }
            }
        }
        found
    }

    /// Notes an exit whose consumers were all visited. With the loop's last one, returns all its exits, and for each whether it begins with zeros.
    pub(super) fn defer_exit(
        &mut self,
        b: &ScopedBuilder<'_>,
        exit: OutputId,
        has_grads: impl Fn(OutputId) -> bool,
    ) -> Option<Vec<(OutputId, bool)>> {
        let forward = b.context_of(exit.node).and_then(|c| b.loop_of(Some(c)))?;
        let state = self.state_mut(forward)?;
        state.deferred.push(exit);
        state.num_pending -= 1;
        if state.num_pending > 0 {
            return None;
        }
        let (used, unused): (Vec<_>, Vec<_>) = state.deferred.drain(..).partition(|&e| has_grads(e));
        let is_used = !used.is_empty();
        let unused = state.unused.drain(..).chain(unused).map(|e| (e, is_used));
        Some(used.into_iter().map(|e| (e, false)).chain(unused).collect())
    }

    /// Zeros for an exit that nothing depends on, if the loop's other exits matter. Called outside of the loop.
    pub(super) fn zeros_for_exit(&mut self, b: &mut ScopedBuilder<'_>, exit: OutputId) -> Result<OutputId> {
        let Some(forward) = b.context_of(exit.node) else { return b.zeros_like(exit) };
        let outer_backward = b.loop_of(b.context(forward).outer).and_then(|o| self.state(o)).map(|s| s.backward);
        let scope = b.scope().in_context(outer_backward);
        let dtype = b.dtype(exit);
        let Some(outer) = outer_backward else { return b.within(scope.in_context(b.context(forward).outer), |b| b.zeros_like(exit)) };
        b.within(scope, |b| match b.shape(exit).to_shape() {
            Some(shape) => b.constant("zeros", &Tensor::zeros(dtype, shape)?),
            None => {
                let around = b.scope().in_context(b.context(forward).outer);
                let shape = b.within(around, |b| b.dynamic_shape_of(exit))?;
                let shape = b.recall(outer, shape)?;
                b.zeros_of_shape(shape, dtype)
            }
        })
    }

    /// Zeros for an output that has no gradient of its own, for its op's gradient function. `None` for one that needs none.
    pub(super) fn zeros_for_output(&mut self, b: &mut ScopedBuilder<'_>, output: OutputId) -> Result<Option<OutputId>> {
        if self.is_loop_switch(b, output.node) || matches!(b.dtype(output), DType::Resource) {
            return Ok(None);
        }
        let Some(context) = b.context_of(output.node) else { return b.zeros_like(output).map(Some) };
        let backward = b.loop_of(Some(context)).and_then(|f| self.state(f)).map(|s| s.backward);
        let is_cond_switch = b.graph()[output.node].is_switch();
        match (backward, is_cond_switch) {
            (None, false) => b.zeros_like(output).map(Some),
            (None, true) => b.zeros_for_other_branch(context, output).map(Some),
            (Some(id), _) => b.zeros_in_loop(id, context, output, is_cond_switch).map(Some),
        }
    }

    /// Adds zeros for the variables whose gradient in one iteration does not come from the next iteration.
    pub(super) fn finish(&self, b: &mut ScopedBuilder<'_>) -> Result<()> {
        for (_, state) in &self.loops {
            let id = state.backward;
            let merges: Vec<OutputId> = b.backward(id).map(|l| l.merges.values().copied().collect()).unwrap_or_default();
            for merge in merges {
                let (Some(first), Some(second)) = (b.graph().input(merge.node, 0), b.graph().input(merge.node, 1)) else { continue };
                if first != second {
                    continue;
                }
                let dtype = b.dtype(first);
                let inside = b.scope().in_context(Some(id));
                let zeros = match b.shape(first).to_shape() {
                    Some(shape) => b.within(inside.clone(), |b| b.constant("zeros", &Tensor::zeros(dtype, shape)?))?,
                    None => {
                        let outside = b.scope().in_context(b.context(id).outer);
                        let entering = b.graph().input(first.node, 0).unwrap_or(first);
                        b.within(outside, |b| b.call("ZerosLike", &[entering]))?
                    }
                };
                let next = b.within(inside, |b| b.call("NextIteration", &[zeros]))?;
                b.connect_back(next, merge.node, 1)?;
            }
        }
        Ok(())
    }
}

impl ScopedBuilder<'_> {
    pub(in crate::builder) fn while_context(&self, id: ContextId) -> Option<&WhileContext> {
        match &self.context(id).kind {
            ContextKind::While(looped) => Some(looped),
            ContextKind::Cond { .. } => None,
        }
    }

    pub(in crate::builder) fn while_context_mut(&mut self, id: ContextId) -> Option<&mut WhileContext> {
        match &mut self.context_mut(id).kind {
            ContextKind::While(looped) => Some(looped),
            ContextKind::Cond { .. } => None,
        }
    }

    /// The loop that a loop is the gradient of.
    pub(in crate::builder) fn forward_loop(&self, id: ContextId) -> Option<ContextId> {
        self.backward(id).map(|l| l.forward)
    }

    /// Returns the backward data of a loop, if it is a backward loop.
    pub(super) fn backward(&self, id: ContextId) -> Option<&BackwardLoop> {
        self.while_context(id)?.backward.as_deref()
    }

    pub(super) fn backward_mut(&mut self, id: ContextId) -> Option<&mut BackwardLoop> {
        self.while_context_mut(id)?.backward.as_deref_mut()
    }

    /// Returns the backward loop that the nodes being made are in or directly belong to, if it is that of `forward`.
    pub(super) fn backward_of(&self, forward: Option<ContextId>) -> Option<ContextId> {
        let id = self.loop_of(self.scope.context())?;
        self.backward(id).filter(|l| Some(l.forward) == forward).map(|_| id)
    }

    /// Returns an `Enter` of a variable called `name` into loop `id`, in the current scope.
    pub(super) fn enter_named(&mut self, id: ContextId, value: OutputId, name: &str) -> Result<OutputId> {
        let frame = self.context(id).name.clone();
        let parallel_iterations = self.while_context(id).map_or(1, |l| l.parallel_iterations);
        let enter = self
            .op("Enter")
            .name(name)
            .input(value)
            .attr("frame_name", frame)
            .attr("is_constant", false)
            .attr("parallel_iterations", parallel_iterations)
            .output()?;
        if let Some(looped) = self.while_context_mut(id) {
            looped.enters.push(enter);
        }
        Ok(enter)
    }

    /// Makes an exit of loop `id` known around it.
    pub(super) fn hand_out_of_loop(&mut self, id: ContextId, exit: OutputId) {
        if let Some(looped) = self.while_context_mut(id) {
            looped.exits.push(exit);
        }
        if let Some(outer) = self.context(id).outer {
            self.context_mut(outer).known.insert(exit);
        }
    }
}
