//! Gradients of gradients through loops of frames.
//!
//! The gradient of a loop of frames is a loop that pops what the forward loop pushed on stacks, and no gradient flows through a stack. So each walk
//! that differentiates such a loop leaves a [`LoopGradient`] with the graph: what it was asked for, and what it returned. When a later walk would
//! have to go through that gradient, [`substitute_loop_gradients`] makes it once more in a form that can be differentiated: the part of
//! the graph between the `xs` and the `ys` becomes a function, whose loops become `While`s when its call is differentiated. The later walk goes
//! through the second form in place of the first, any number of times; the nodes of the first stay as they are.
//!
//! The function runs the forward part again. That is sound for what returns the same values in one step: everything without effects, reads of
//! variables, and TensorArrays, which the function makes anew. What random ops return in a loop is recorded by the forward loop, and the function
//! reads the records (`records.rs`). A part with other effects is refused.

use super::functions::{define, func, is_repeatable, is_stateful, type_list};
use super::reach::{find_between, reach};
use super::records::{self, Record};
use super::{Grad, GradientOptions, add_gradients, tensor_arrays};
use crate::builder::{ContextId, ScopedBuilder};
use crate::{FunctionArg, FunctionPart, Node, NodeId, OutputId, function_def};
use flowmill_tensor::{DType, Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// The request and the results of a walk that differentiated loops of frames.
#[derive(Clone, Debug)]
pub(in crate::builder) struct LoopGradient {
    pub(super) ys: Vec<OutputId>,
    pub(super) grad_ys: Vec<Option<OutputId>>,
    pub(super) xs: Vec<OutputId>,
    pub(super) options: GradientOptions,
    pub(super) grads: Vec<Option<Grad>>,
    /// The backward loops that the walk made.
    pub(super) loops: Vec<ContextId>,
}

/// Tensors that a walk reads in place of others.
#[derive(Debug, Default)]
pub(super) struct Substitutes(FxHashMap<OutputId, OutputId>);

impl Substitutes {
    /// Returns the tensor that replaces `tensor`, which may be itself.
    pub(super) fn of(&self, tensor: OutputId) -> OutputId {
        *self.0.get(&tensor).unwrap_or(&tensor)
    }

    /// Returns the data inputs of a node as the walk sees them.
    pub(super) fn inputs(&self, b: &ScopedBuilder<'_>, node: NodeId) -> impl Iterator<Item = OutputId> {
        b.graph().inputs(node).map(|input| self.of(input))
    }

    /// Calls `f` with every output of a node and each of its consumers, as the walk sees them, in no particular order.
    pub(super) fn for_each_consumer(&self, b: &ScopedBuilder<'_>, node: NodeId, mut f: impl FnMut(OutputId, NodeId)) {
        for edge in b.graph().out_edges(node).filter(|e| !e.is_control()) {
            let output = node.output(edge.src_output as u32);
            if !self.0.contains_key(&output) {
                f(output, edge.dst);
            }
        }
        for (&old, &new) in self.0.iter().filter(|(_, new)| new.node == node) {
            b.graph().consumers(old).for_each(|edge| f(new, edge.dst));
        }
    }
}

/// Makes the gradients of loops that are between the `xs` and the `ys` in a form that can be differentiated.
///
/// # Errors
/// `Unimplemented` for a backward loop that no walk of this graph has made, as after an import, and for one that cannot be run again.
pub(super) fn substitute_loop_gradients(b: &mut ScopedBuilder<'_>, ys: &[OutputId], xs: &[OutputId]) -> Result<Substitutes> {
    let mut substitutes = Substitutes::default();
    if b.state().loop_gradients.is_empty() {
        return Ok(substitutes);
    }
    let mut made = FxHashSet::default();
    loop {
        let reached = reach(b, xs, &substitutes);
        let between = find_between(b, ys, &reached, &substitutes);
        let backward = between.iter().filter(|&&n| b.graph()[n].is_exit()).find_map(|&exit| {
            let context = b.context_of(exit)?;
            b.while_context(context)?.backward.as_ref().map(|_| context)
        });
        let Some(backward) = backward else { return Ok(substitutes) };
        let record = b.state().loop_gradients.iter().position(|g| g.loops.contains(&backward));
        let Some(record) = record.filter(|&r| made.insert(r)) else {
            bail!(Unimplemented, "Second-order gradient for while loops not supported: '{}'", b.context_name(backward));
        };
        let gradient = b.state().loop_gradients[record].clone();
        let scope = b.scope().unconditional().in_context(None);
        let again = b.within(scope, |b| gradient.repeat(b))?;
        for (old, new) in gradient.grads.iter().zip(again) {
            if let (Some(old), Some(new)) = (old, new) {
                pair(b, old, &new, &mut substitutes)?;
            }
        }
    }
}

/// Substitutes the tensors of `new` for those of `old`. A dense gradient replaces the sums that densified the slices.
fn pair(b: &ScopedBuilder<'_>, old: &Grad, new: &Grad, substitutes: &mut Substitutes) -> Result<()> {
    match (old, new) {
        (Grad::Dense(old), Grad::Dense(new)) => {
            substitutes.0.insert(*old, *new);
        }
        (Grad::Slices(old), Grad::Slices(new)) if old.dense_shape.is_some() == new.dense_shape.is_some() => {
            substitutes.0.extend([(old.values, new.values), (old.indices, new.indices)]);
            substitutes.0.extend(old.dense_shape.zip(new.dense_shape));
        }
        (Grad::Slices(old), Grad::Dense(new)) => {
            let sums = b.graph().consumers(old.values).map(|e| e.dst).filter(|&n| b.graph()[n].is_op("UnsortedSegmentSum"));
            let sums = sums.filter(|&n| b.graph().input(n, 0) == Some(old.values) && b.graph().input(n, 1) == Some(old.indices));
            substitutes.0.extend(sums.map(|sum| (sum.output(0), *new)));
        }
        _ => bail!(Unimplemented, "Second-order gradient for while loops not supported if the first-order gradient is IndexedSlices"),
    }
    Ok(())
}

impl LoopGradient {
    /// Returns the request of a walk that has not returned yet.
    pub(super) fn requested(ys: Vec<OutputId>, grad_ys: &[Option<OutputId>], xs: &[OutputId], options: &GradientOptions) -> LoopGradient {
        let (grad_ys, xs, options) = (grad_ys.to_vec(), xs.to_vec(), options.clone());
        LoopGradient { ys, grad_ys, xs, options, grads: Vec::new(), loops: Vec::new() }
    }

    /// Makes the gradients once more, through a call of what is between the `xs` and the `ys`.
    fn repeat(&self, b: &mut ScopedBuilder<'_>) -> Result<Vec<Option<Grad>>> {
        let (mut leaves, to_record) = self.leaves(b)?;
        let records = to_record.into_iter().map(|n| Record::in_loop(b, n)).collect::<Result<Vec<_>>>()?;
        leaves.extend(records.iter().map(Record::list));
        leaves.sort_unstable();
        let args = leaves.iter().map(|&l| FunctionArg::new(b.graph(), b.state().shapes(), l)).collect::<Result<Vec<_>>>()?;
        let part = FunctionPart { args: &args, results: &self.ys, ..FunctionPart::default() };
        let mut def = function_def(b.graph(), "forward", &part)?;
        for record in &records {
            let arg = leaves.binary_search(&record.list()).ok().and_then(|i| def.signature.as_ref()?.input_arg.get(i));
            let Some(arg) = arg.map(|arg| arg.name.clone()) else { bail!(Internal, "a record is not an argument of the function") };
            records::read_in(b, &mut def, record, &arg)?;
        }
        tensor_arrays::as_lists(&mut def)?;
        let op = if is_stateful(&def) { "StatefulPartitionedCall" } else { "PartitionedCall" };
        let f = func(define(b, def)?);
        let types = type_list(self.ys.iter().map(|&y| b.dtype(y)));
        let call = b.op(op).name("forward").inputs(&leaves).attr("Tin", type_list(args.iter().map(|a| a.dtype)));
        let call = call.attr("Tout", types).attr("f", f).finish()?;
        let mut ys = Vec::with_capacity(self.ys.len());
        for (slot, &y) in self.ys.iter().enumerate() {
            let output = call.output(slot as u32);
            let shape = b.shape(y);
            b.merge_shape(output, &shape)?;
            ys.push(output);
        }
        add_gradients(b, &ys, &self.xs, &self.grad_ys, &GradientOptions { name: Some("again".into()), ..self.options.clone() })
    }

    /// Returns the tensors that the function takes, the `xs` and what does not depend on them, and the nodes of loops whose outputs are to be recorded.
    fn leaves(&self, b: &ScopedBuilder<'_>) -> Result<(Vec<OutputId>, Vec<NodeId>)> {
        let reached = reach(b, &self.xs, &Substitutes::default());
        let cuts: FxHashSet<OutputId> = self.xs.iter().chain(&self.options.stop_gradients).copied().collect();
        let (mut leaves, mut recorded, mut seen) = (Vec::new(), Vec::new(), FxHashSet::default());
        let mut todo = self.ys.clone();
        while let Some(tensor) = todo.pop() {
            if !seen.insert(tensor) {
                continue;
            }
            let node = b.graph().node(tensor.node)?;
            let is_part =
                b.context_of(node.id()).is_some() || reached.contains(&node.id()) || is_repeatable(node) || uses_tensor_array(b, node);
            if !is_part || cuts.contains(&tensor) {
                leaves.push(tensor);
                continue;
            }
            if node.op_def().is_stateful() && !runs_alike_again(b, node) {
                if records::can_record(b, node) {
                    recorded.push(node.id());
                    continue;
                }
                if b.context_of(node.id()).is_none() && records::stops_gradients(node) {
                    leaves.push(tensor);
                    continue;
                }
                let (name, op) = (node.name(), node.op());
                bail!(Unimplemented, "Second-order gradient for while loops not supported with '{name}' ({op}), which would run twice");
            }
            todo.extend(b.graph().inputs(node.id()));
        }
        recorded.sort_unstable();
        recorded.dedup();
        Ok((leaves, recorded))
    }
}

/// Returns true if a node with effects returns the same in each of its runs in a step: it only reads, or works on a TensorArray, of which each run
/// has its own.
fn runs_alike_again(b: &ScopedBuilder<'_>, node: &Node) -> bool {
    matches!(node.op(), "VarHandleOp" | "ReadVariableOp" | "ResourceGather" | "ResourceGatherNd") || uses_tensor_array(b, node)
}

/// Returns true for `TensorArrayV3` and every node that takes its handle.
fn uses_tensor_array(b: &ScopedBuilder<'_>, node: &Node) -> bool {
    let mut node = node;
    loop {
        if node.is_op("TensorArrayV3") {
            return true;
        }
        let handle = b.graph().inputs(node.id()).next().filter(|&i| b.dtype(i) == DType::Resource);
        match handle.and_then(|h| b.graph().get(h.node)) {
            Some(producer) => node = producer,
            None => return false,
        }
    }
}
