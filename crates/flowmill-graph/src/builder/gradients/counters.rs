//! The counters of a loop and of the loop that runs backwards, and what orders their iterations.

use super::loops::BackwardLoop;
use crate::builder::context::{Context, ContextKind, WhileContext};
use crate::builder::{ContextId, ScopedBuilder};
use crate::{NodeId, OutputId};
use flowmill_tensor::{Result, Tensor, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

impl ScopedBuilder<'_> {
    /// Adds a counter to loop `forward`, and the loop that runs backwards as often. `outer` is the backward loop of the loop around `forward`.
    pub(super) fn begin_backward(&mut self, forward: ContextId, outer: Option<ContextId>) -> Result<ContextId> {
        let root = self.scope.context();
        let around = self.context(forward).outer;
        let scope = self.scope.in_context(around);
        let (count, forward_index) = self.within(scope.clone(), |b| b.count_forward(forward, outer))?;
        let count = match outer {
            None => count,
            Some(outer) => {
                if let Some(around) = around {
                    self.context_mut(around).known.insert(count);
                }
                // The inner loop's number of iterations in each of the outer's.
                let scope = self.scope.in_context(Some(outer));
                self.within(scope, |b| b.recall(outer, count))?
            }
        };
        let backward_scope = match outer {
            Some(outer) => self.scope.in_context(Some(outer)),
            None => scope,
        };
        self.within(backward_scope, |b| b.count_backward(forward, outer, root, count, forward_index))
    }

    /// `n = 0; while (...) n += 1` as one more variable of a loop: its last value, and the counter's `NextIteration`.
    fn count_forward(&mut self, forward: ContextId, outer: Option<ContextId>) -> Result<(OutputId, OutputId)> {
        let zero = self.constant("f_count", &Tensor::scalar(0i32))?;
        if let Some(index) = outer.and_then(|o| self.backward(o)).map(|l| l.forward_index) {
            // The pushes of one execution of the inner loop come before those of the next.
            if let Some(add) = self.graph.input_node(index.node, 0) {
                self.graph.add_control_edge(add, zero.node)?;
            }
        }
        let pivot = self.while_context(forward).and_then(|l| l.pivot);
        let Some(pivot) = pivot else { bail!(Internal, "the loop has no condition") };
        let inside = self.scope.in_context(Some(forward));
        self.within(inside, |b| {
            b.context_mut(forward).known.insert(zero);
            let enter = b.enter_named(forward, zero, "f_count")?;
            let merge = b.call("Merge", &[enter, enter])?;
            let switch = b.switch(merge, pivot)?;
            let one = b.scalar(1i32)?;
            let index = b.call("Add", &[switch.output(1), one])?;
            let next = b.call("NextIteration", &[index])?;
            b.connect_back(next, merge.node, 1)?;
            let exit = b.op("Exit").name("f_count").input(switch.output(0)).output()?;
            // An exit of no variable: its gradient does not come up, since it is an integer.
            if let Some(outer) = b.context(forward).outer {
                b.context_mut(outer).known.insert(exit);
            }
            Ok((exit, next))
        })
    }

    /// `while (n >= 1) n -= 1`: the backward loop.
    fn count_backward(
        &mut self,
        forward: ContextId,
        outer: Option<ContextId>,
        root: Option<ContextId>,
        count: OutputId,
        forward_index: OutputId,
    ) -> Result<ContextId> {
        let one = self.constant("b_count", &Tensor::scalar(1i32))?;
        let base = self.context(forward).name.rsplit('/').next().unwrap_or("while_context").to_owned();
        let name = self.unique_name(&base, true);
        let parallel_iterations = self.while_context(forward).map_or(1, |l| l.parallel_iterations);
        let looped = WhileContext {
            parallel_iterations,
            backward: Some(Box::new(BackwardLoop {
                forward,
                outer,
                root,
                forward_index,
                backward_index: forward_index,
                history: FxHashMap::default(),
                merges: BTreeMap::new(),
                forward_sync: None,
                backward_sync: None,
            })),
            ..WhileContext::default()
        };
        let id = self.add_context(Context {
            name,
            outer: self.scope.context(),
            kind: ContextKind::While(looped),
            known: FxHashSet::from_iter([count]),
            stands_for: FxHashMap::default(),
        });
        let inside = self.scope.in_context(Some(id));
        let (index, zero) = self.within(inside, |b| {
            let enter = b.enter_named(id, count, "b_count")?;
            let merge = b.call("Merge", &[enter, enter])?;
            if let Some(looped) = b.while_context_mut(id) {
                looped.pivot_for_cond = Some(merge);
            }
            let go_on = b.call("GreaterEqual", &[merge, one])?;
            let pivot = b.op("LoopCond").name("b_count").input(go_on).output()?;
            let switch = b.switch(merge, pivot)?;
            let index = b.call("Sub", &[switch.output(1), one])?;
            if let Some(looped) = b.while_context_mut(id) {
                looped.pivot = Some(pivot);
                looped.pivot_for_body = Some(index);
            }
            let next = b.call("NextIteration", &[index])?;
            b.connect_back(next, merge.node, 1)?;
            let exit = b.op("Exit").name("b_count").input(switch.output(0)).output()?;
            b.hand_out_of_loop(id, exit);
            Ok((next, exit))
        })?;
        if let Some(backward) = self.backward_mut(id) {
            backward.backward_index = index;
        }
        if let Some(outer) = outer {
            // The pops of one execution of the inner loop come before those of the next.
            let sync = self.backward_sync(outer)?;
            self.graph.add_control_edge(zero.node, sync)?;
        }
        Ok(id)
    }

    /// Returns the node that runs after the pushes in a forward iteration's conditionals, and before the next iteration.
    pub(super) fn forward_sync(&mut self, id: ContextId) -> Result<NodeId> {
        let Some(looped) = self.backward(id) else { bail!(Internal, "no backward loop") };
        if let Some(sync) = looped.forward_sync {
            return Ok(sync);
        }
        let (forward, index) = (looped.forward, looped.forward_index);
        let sync = self.sync("f_sync", forward, index)?;
        if let Some(looped) = self.backward_mut(id) {
            looped.forward_sync = Some(sync);
        }
        Ok(sync)
    }

    /// Returns the node that runs after the pops of a backward iteration, and before the next iteration.
    pub(super) fn backward_sync(&mut self, id: ContextId) -> Result<NodeId> {
        let Some(looped) = self.backward(id) else { bail!(Internal, "no backward loop") };
        if let Some(sync) = looped.backward_sync {
            return Ok(sync);
        }
        let index = looped.backward_index;
        let sync = self.sync("b_sync", id, index)?;
        if let Some(looped) = self.backward_mut(id) {
            looped.backward_sync = Some(sync);
        }
        Ok(sync)
    }

    fn sync(&mut self, name: &str, context: ContextId, index: OutputId) -> Result<NodeId> {
        let scope = self.scope.unconditional();
        let sync = self.within(scope, |b| b.op("ControlTrigger").name(name).finish())?;
        self.state.context_of.insert(sync, context);
        self.graph.add_control_edge(sync, index.node)?;
        Ok(sync)
    }
}
