//! The copy of an outer graph that a walk goes through, and the division of what the walk has added.

use super::Target;
use super::transfer::{NewNodes, Sources};
use crate::builder::context::ContextKind;
use crate::builder::gradients::functions::{FunctionGraph, tensors_of};
use crate::builder::gradients::{Grad, GradientOptions, GradientWalk, IndexedSlices, Step};
use crate::builder::{ContextId, GraphStack, Scope, ScopedBuilder, StackOutput};
use crate::{NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::Result;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A copy of an outer graph, and the walk through it. The ids of the copied nodes are those of the outer graph.
#[derive(Debug)]
pub(super) struct OuterCopy {
    pub(super) level: usize,
    pub(super) walk: GradientWalk,
    pub(super) targets: Vec<Target>,
    copy: FunctionGraph,
    /// Nodes with smaller ids, and contexts with smaller numbers, are copies.
    first_new: usize,
    first_context: u32,
    /// The gradients that the walk begins with: the tensors of the innermost graph, by the copy's placeholders for them.
    begins: FxHashMap<OutputId, OutputId>,
}

impl OuterCopy {
    /// Copies the graph of a level and prepares a walk from `ys` of it, whose gradients are the tensors `starts` of the innermost graph.
    pub(super) fn new(
        stack: &mut impl GraphStack,
        scope: &Scope,
        level: usize,
        ys: &[OutputId],
        starts: &[OutputId],
        (xs, targets): (&[OutputId], Vec<Target>),
        options: GradientOptions,
    ) -> Result<OuterCopy> {
        let top = stack.top();
        let (known, names) = stack.build(top, scope, |b| {
            let known = starts.iter().map(|&s| (b.dtype(s), b.shape(s), b.state().shapes().value(s).and_then(|v| v.elements.clone())));
            Ok((known.collect::<Vec<_>>(), b.state().names.clone()))
        })?;
        let mut copy = stack.build(level, &Scope::root(), |b| {
            Ok(FunctionGraph { graph: b.graph().clone(), state: b.state().clone(), function: String::new() })
        })?;
        // The new nodes move to the innermost graph under their own names.
        copy.state.names.mark_all(&names);
        copy.state.take_extended();
        let (first_new, first_context) = (copy.graph.num_node_ids(), copy.state.contexts.len() as u32);
        let outside = Scope::root().named(scope.name()).on_device(scope.device());
        let (begins, walk) = copy.build(outside, |b| {
            let mut begins = Vec::with_capacity(known.len());
            for (dtype, shape, elements) in known {
                let begin = b.op("Placeholder").name("captured_grad").attr("dtype", Value::Type(dtype.number()));
                let begin = begin.attr("shape", shape.to_proto()).output()?;
                b.state_mut().set_elements(begin, elements);
                begins.push(begin);
            }
            let grad_ys: Vec<Option<OutputId>> = begins.iter().copied().map(Some).collect();
            Ok((begins, GradientWalk::new(b, ys, xs, &grad_ys, options)?))
        })?;
        let begins = begins.into_iter().zip(starts.iter().copied()).collect();
        Ok(OuterCopy { level, walk, targets, copy, first_new, first_context, begins })
    }

    /// Walks to the next custom gradient, or to the end.
    pub(super) fn advance(&mut self) -> Result<Step> {
        let walk = &mut self.walk;
        self.copy.build(Scope::root(), |b| walk.advance(b))
    }

    /// Returns the graph of the node whose gradient the caller makes: the body of a function, or the copy.
    pub(super) fn body(&mut self) -> Option<&mut FunctionGraph> {
        Some(self.walk.body().unwrap_or(&mut self.copy))
    }

    /// Adds what the walk has added to the graphs of the stack; returns the gradients as tensors of the innermost graph.
    pub(super) fn finish(&mut self, stack: &mut impl GraphStack, scope: &Scope, grads: Vec<Option<Grad>>) -> Result<Vec<Option<Grad>>> {
        let extended: BTreeSet<NodeId> = self.copy.state.take_extended().into_iter().filter(|n| n.index() < self.first_new).collect();
        let forward = self.forward_part(&extended);
        let added = NewNodes::new(&self.copy, forward.iter().copied());
        let (first_context, copy) = (self.first_context, &self.copy);
        let in_outer = stack.build(self.level, &Scope::root(), |b| {
            let ids = added.add_to(b, &Sources { is_copied_graph: true, ..Sources::default() })?;
            for (&old, &new) in &ids {
                if let Some(context) = copy.state.context_of.get(&old).filter(|c| c.0 < first_context) {
                    b.note_in_context(*context, new);
                }
            }
            extended.iter().try_for_each(|&node| added.extend(b, node, &ids))?;
            Ok(ids)
        })?;
        let is_begin: FxHashSet<NodeId> = self.begins.keys().map(|t| t.node).collect();
        let rest = self.new_nodes().filter(|n| !is_begin.contains(n) && !forward.contains(n));
        let moved = NewNodes::new(&self.copy, rest);
        // The forward tensors that the gradients need are captured; the gradients to begin with are there.
        let parts = grads.iter().flatten().flat_map(tensors_of);
        let mut sources = Sources { tensors: self.begins.clone(), context: scope.context(), is_copied_graph: false };
        for tensor in moved.inputs().into_iter().chain(parts) {
            if moved.has(tensor.node) || sources.tensors.contains_key(&tensor) {
                continue;
            }
            let node = in_outer.get(&tensor.node).copied().unwrap_or(tensor.node);
            let outside = StackOutput { level: self.level, output: node.output(tensor.slot) };
            sources.tensors.insert(tensor, stack.resolve(scope, outside)?);
        }
        let sources = &sources;
        stack.build(stack.top(), scope, |b| {
            let ids = moved.add_to(b, sources)?;
            let place = |tensor: OutputId| match (sources.tensors.get(&tensor), ids.get(&tensor.node)) {
                (Some(&source), _) => source,
                (None, Some(id)) => id.output(tensor.slot),
                (None, None) => tensor,
            };
            grads.iter().map(|grad| grad.as_ref().map(|grad| moved_grad(b, copy, grad, place)).transpose()).collect()
        })
    }

    fn new_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.copy.graph.op_nodes().map(|n| n.id()).filter(|id| id.index() >= self.first_new)
    }

    /// Returns the new nodes that belong to the forward part: those in its loops, such as counters and stacks of values, and those that the new inputs
    /// of extended calls need.
    fn forward_part(&self, extended: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
        let graph = &self.copy.graph;
        let is_new = |node: &NodeId| node.index() >= self.first_new;
        let mut todo: Vec<NodeId> = self.new_nodes().filter(|&n| self.is_in_forward_loop(n)).collect();
        todo.extend(extended.iter().flat_map(|&n| graph.inputs(n)).map(|t| t.node).filter(is_new));
        let mut forward = BTreeSet::new();
        while let Some(id) = todo.pop() {
            if !forward.insert(id) {
                continue;
            }
            todo.extend(graph.inputs(id).map(|t| t.node).chain(graph.control_inputs(id)).filter(is_new));
            todo.extend(graph.out_edges(id).filter(|e| !e.is_control() && graph[e.dst].is_exit()).map(|e| e.dst));
        }
        forward
    }

    /// Returns true if the innermost loop around a node is one of the outer graph.
    fn is_in_forward_loop(&self, node: NodeId) -> bool {
        let mut context = self.copy.state.context_of.get(&node).copied();
        while let Some(ContextId(number)) = context {
            let Some(found) = self.copy.state.contexts.get(number as usize) else { return false };
            if matches!(found.kind, ContextKind::While(_)) {
                return number < self.first_context;
            }
            context = found.outer;
        }
        false
    }
}

/// Returns a gradient of the copy in the innermost graph, in which `place` finds its tensors. A known shape of slices becomes a constant.
fn moved_grad(b: &mut ScopedBuilder<'_>, copy: &FunctionGraph, grad: &Grad, place: impl Fn(OutputId) -> OutputId) -> Result<Grad> {
    Ok(match grad {
        Grad::Dense(tensor) => Grad::Dense(place(*tensor)),
        Grad::Slices(slices) => Grad::Slices(IndexedSlices {
            values: place(slices.values),
            indices: place(slices.indices),
            dense_shape: match slices.dense_shape {
                Some(shape) => Some(match copy.state.shapes().value(shape).and_then(|v| v.constant.as_ref()) {
                    Some(known) => b.constant("Const", known)?,
                    None => place(shape),
                }),
                None => None,
            },
        }),
    })
}
