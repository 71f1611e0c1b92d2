//! Conditionals: both branches in the graph, guarded by `Switch`, joined by `Merge`.

use super::context::{Context, ContextKind};
use super::{Branch, ContextId, Scope, ScopedBuilder};
use crate::OutputId;
use flowmill_tensor::{DType, Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// A conditional whose branches are being built, one after the other. Whoever builds with closures uses [`ScopedBuilder::cond`].
#[derive(Debug)]
pub struct CondBuilder {
    pred: OutputId,
    pivots: [OutputId; 2],
    outer: Scope,
    results: [Option<Vec<OutputId>>; 2],
    open: Option<(Branch, ContextId)>,
}

impl ScopedBuilder<'_> {
    /// `then_fn()` if `pred` is true, `else_fn()` if it is false: as many tensors, of the same types, from both. Returns the tensors that
    /// have the values of the branch taken.
    ///
    /// # Errors
    /// `InvalidArgument` if `pred` is no boolean or the branches' results do not fit; what the closures give.
    pub fn cond(
        &mut self,
        name: &str,
        pred: OutputId,
        then_fn: impl FnOnce(&mut Self) -> Result<Vec<OutputId>>,
        else_fn: impl FnOnce(&mut Self) -> Result<Vec<OutputId>>,
    ) -> Result<Vec<OutputId>> {
        self.within_name(name, |b| {
            let mut cond = CondBuilder::begin(b, pred)?;
            cond.open(b, Branch::True)?;
            let results = then_fn(b);
            cond.close(b, results)?;
            cond.open(b, Branch::False)?;
            let results = else_fn(b);
            cond.close(b, results)?;
            cond.finish(b)
        })
    }
}

impl CondBuilder {
    /// Begins a conditional in the current scope.
    ///
    /// # Errors
    /// `InvalidArgument` if `pred` is no boolean.
    pub fn begin(b: &mut ScopedBuilder<'_>, pred: OutputId) -> Result<CondBuilder> {
        if b.graph.output_type(pred)?.dtype != DType::Bool {
            bail!(InvalidArgument, "pred of a conditional is a boolean, not {} as '{}'", b.dtype(pred), b.graph.tensor_name(pred));
        }
        let switch = b.switch_here(pred, pred)?;
        let if_true = b.op("Identity").name("switch_t").input(switch.output(1)).output()?;
        let if_false = b.op("Identity").name("switch_f").input(switch.output(0)).output()?;
        let pred = b.op("Identity").name("pred_id").input(pred).output()?;
        for node in [switch, if_true.node, if_false.node, pred.node] {
            b.state.unfetchable.insert(node);
        }
        Ok(CondBuilder { pred, pivots: [if_false, if_true], outer: b.scope.clone(), results: [None, None], open: None })
    }

    /// Returns the predicate as a branch sees it. Nodes that depend on it run only if the branch is taken.
    pub fn pivot(&self, branch: Branch) -> OutputId {
        self.pivots[branch as usize]
    }

    /// Begins a branch: what the builder adds from now on runs only when it is taken.
    ///
    /// # Errors
    /// `FailedPrecondition` if a branch is open.
    pub fn open(&mut self, b: &mut ScopedBuilder<'_>, branch: Branch) -> Result<ContextId> {
        if self.open.is_some() {
            bail!(FailedPrecondition, "A branch of the conditional is open");
        }
        let pivot = self.pivots[branch as usize];
        let name = b.unique_name("cond_text", true);
        let context = Context {
            name,
            outer: self.outer.context(),
            kind: ContextKind::Cond { pred: self.pred, pivot, branch },
            known: FxHashSet::from_iter([self.pred, pivot]),
            stands_for: FxHashMap::from_iter([(self.pred, self.pred)]),
        };
        let id = b.add_context(context);
        b.state.context_of.insert(pivot.node, id);
        b.set_scope(self.outer.in_context(Some(id)));
        self.open = Some((branch, id));
        Ok(id)
    }

    /// Ends the open branch with its results; with the branch's error, gives that back. The scope is the one around the conditional again.
    ///
    /// # Errors
    /// The branch's, and `FailedPrecondition` if none is open.
    pub fn close(&mut self, b: &mut ScopedBuilder<'_>, results: Result<Vec<OutputId>>) -> Result<()> {
        let Some((branch, id)) = self.open.take() else { bail!(FailedPrecondition, "No branch of the conditional is open") };
        let inside = self.outer.in_context(Some(id));
        let results = results.and_then(|r| b.within(inside, |b| r.into_iter().map(|r| self.hand_out(b, id, branch, r)).collect()));
        b.set_scope(self.outer.clone());
        self.results[branch as usize] = Some(results?);
        Ok(())
    }

    /// Returns a branch's result as it leaves the branch: one from outside passes through a `Switch`, so that it is dead if the branch is not taken.
    fn hand_out(&self, b: &mut ScopedBuilder<'_>, id: ContextId, branch: Branch, value: OutputId) -> Result<OutputId> {
        if b.context(id).known.contains(&value) {
            return Ok(b.context(id).stands_for.get(&value).copied().unwrap_or(value));
        }
        b.context_mut(id).known.insert(value);
        let arrived = match b.context(id).outer {
            Some(outer) => b.bring_into(outer, value)?,
            None => value,
        };
        // Known before the `Switch` is made, which would be handed it through another one otherwise.
        let context = b.context_mut(id);
        context.known.insert(arrived);
        context.stands_for.insert(arrived, arrived);
        let inside = b.switch(arrived, self.pred)?.output(branch as u32);
        b.context_mut(id).stands_for.insert(value, inside);
        Ok(inside)
    }

    /// Joins the branches.
    ///
    /// # Errors
    /// `InvalidArgument` if their results differ in number or types, `FailedPrecondition` if a branch is missing.
    pub fn finish(&mut self, b: &mut ScopedBuilder<'_>) -> Result<Vec<OutputId>> {
        let [Some(if_false), Some(if_true)] = std::mem::take(&mut self.results) else {
            bail!(FailedPrecondition, "A conditional needs both branches");
        };
        if if_false.len() != if_true.len() {
            bail!(InvalidArgument, "true_fn and false_fn must return the same number of tensors: {} and {}", if_true.len(), if_false.len());
        }
        let mut merged = Vec::with_capacity(if_true.len());
        for (f, t) in if_false.into_iter().zip(if_true) {
            if b.dtype(f) != b.dtype(t) {
                bail!(
                    InvalidArgument,
                    "Outputs of true_fn and false_fn must have the same type: {} and {}, from '{}' and '{}'",
                    b.dtype(t),
                    b.dtype(f),
                    b.graph.tensor_name(t),
                    b.graph.tensor_name(f)
                );
            }
            let both_refs = [f, t].iter().all(|&x| b.op_for(x, "Merge", "RefMerge") == "RefMerge");
            let op = if both_refs { "RefMerge" } else { "Merge" };
            merged.push(b.op(op).name("Merge").inputs(&[f, t]).output()?);
        }
        Ok(merged)
    }
}
