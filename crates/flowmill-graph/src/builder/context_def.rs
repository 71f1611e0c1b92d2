//! Control-flow contexts as the messages that collections of MetaGraphs hold, and back.

use super::context::{Branch, Context, ContextKind, WhileContext};
use super::{ContextId, ScopedBuilder};
use crate::{OutputId, TensorName};
use flowmill_proto::control_flow_context_def::Ctxt;
use flowmill_proto::{CondContextDef, ControlFlowContextDef, ValuesDef, WhileContextDef};
use flowmill_tensor::{Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};

impl ScopedBuilder<'_> {
    /// Returns the context, and those inside of it, as a message.
    ///
    /// # Errors
    /// `NotFound` if there is no such context.
    pub fn context_def(&self, id: ContextId) -> Result<ControlFlowContextDef> {
        let Some(context) = self.state.contexts.get(id.0 as usize) else {
            bail!(NotFound, "The graph has no control-flow context {}", id.0);
        };
        let inside = (0..self.state.contexts.len() as u32).map(ContextId);
        let inside = inside.filter(|&c| self.context(c).outer == Some(id) && self.while_context(c).is_none_or(|l| l.backward.is_none()));
        let nested_contexts = inside.map(|c| self.context_def(c)).collect::<Result<_>>()?;
        let name = |o: OutputId| self.graph.tensor_name(o);
        let optional = |o: Option<OutputId>| o.map_or_else(String::new, name);
        let context_name = context.name.clone();
        let values_def = Some(self.values_def(context));
        let ctxt = match &context.kind {
            ContextKind::Cond { pred, pivot, branch } => Ctxt::CondCtxt(CondContextDef {
                context_name,
                pred_name: name(*pred),
                pivot_name: name(*pivot),
                branch: *branch as i32,
                values_def,
                nested_contexts,
                ..CondContextDef::default()
            }),
            ContextKind::While(looped) => Ctxt::WhileCtxt(WhileContextDef {
                context_name,
                parallel_iterations: i32::try_from(looped.parallel_iterations).unwrap_or(i32::MAX),
                back_prop: !looped.is_constant,
                swap_memory: looped.swap_memory,
                pivot_name: optional(looped.pivot),
                pivot_for_pred_name: optional(looped.pivot_for_cond),
                pivot_for_body_name: optional(looped.pivot_for_body),
                loop_exit_names: looped.exits.iter().copied().map(name).collect(),
                loop_enter_names: looped.enters.iter().copied().map(name).collect(),
                maximum_iterations_name: optional(looped.maximum_iterations),
                values_def,
                nested_contexts,
                ..WhileContextDef::default()
            }),
        };
        Ok(ControlFlowContextDef { ctxt: Some(ctxt), ..ControlFlowContextDef::default() })
    }

    fn values_def(&self, context: &Context) -> ValuesDef {
        let name = |o: OutputId| self.graph.tensor_name(o);
        let mut values: Vec<String> = context.known.iter().copied().map(name).collect();
        values.sort_unstable();
        let external_values = context.stands_for.iter().map(|(&outside, &inside)| (name(outside), name(inside))).collect();
        ValuesDef { values, external_values, ..ValuesDef::default() }
    }

    /// Makes a context, and those inside of it, of a message. Their nodes are in the graph already, under names that begin with `prefix/` unless that
    /// is empty; the context around it is that of the scope.
    ///
    /// # Errors
    /// `InvalidArgument` for a message without contents and for tensors that the graph does not have.
    pub fn add_context_def(&mut self, def: &ControlFlowContextDef, prefix: &str) -> Result<ContextId> {
        let outer = self.scope.context();
        self.add_context_def_in(def, prefix, outer)
    }

    fn add_context_def_in(&mut self, def: &ControlFlowContextDef, prefix: &str, outer: Option<ContextId>) -> Result<ContextId> {
        let (name, kind, values, nested) = match &def.ctxt {
            Some(Ctxt::CondCtxt(def)) => {
                let branch = if def.branch == 0 { Branch::False } else { Branch::True };
                let (pred, pivot) = (self.named_tensor(&def.pred_name, prefix)?, self.named_tensor(&def.pivot_name, prefix)?);
                (&def.context_name, ContextKind::Cond { pred, pivot, branch }, &def.values_def, &def.nested_contexts)
            }
            Some(Ctxt::WhileCtxt(def)) => {
                let all = |names: &[String]| names.iter().map(|n| self.named_tensor(n, prefix)).collect::<Result<Vec<_>>>();
                let optional = |name: &str| if name.is_empty() { Ok(None) } else { self.named_tensor(name, prefix).map(Some) };
                let looped = WhileContext {
                    parallel_iterations: def.parallel_iterations.into(),
                    is_constant: !def.back_prop,
                    swap_memory: def.swap_memory,
                    maximum_iterations: optional(&def.maximum_iterations_name)?,
                    pivot_for_cond: optional(&def.pivot_for_pred_name)?,
                    pivot_for_body: optional(&def.pivot_for_body_name)?,
                    pivot: optional(&def.pivot_name)?,
                    enters: all(&def.loop_enter_names)?,
                    exits: all(&def.loop_exit_names)?,
                    backward: None,
                };
                (&def.context_name, ContextKind::While(looped), &def.values_def, &def.nested_contexts)
            }
            None => bail!(InvalidArgument, "A ControlFlowContextDef is of a conditional or of a loop; this one is of neither"),
        };
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        let (mut known, mut stands_for) = (FxHashSet::default(), FxHashMap::default());
        if let Some(values) = values {
            for value in &values.values {
                known.insert(self.named_tensor(value, prefix)?);
            }
            for (outside, inside) in &values.external_values {
                stands_for.insert(self.named_tensor(outside, prefix)?, self.named_tensor(inside, prefix)?);
            }
        }
        let mut own: Vec<_> = known.iter().filter(|v| !stands_for.contains_key(*v)).map(|v| v.node).collect();
        own.sort_unstable();
        let id = self.add_context(Context { name, outer, kind, known, stands_for });
        for node in own {
            // Nodes that were built in a context cannot be fed or fetched; those of a message can, as in TensorFlow.
            self.state.context_of.insert(node, id);
        }
        // What is in an inner context is known to the outer one too, but not one of its nodes.
        for inner in nested {
            self.add_context_def_in(inner, prefix, Some(id))?;
        }
        Ok(id)
    }

    /// Returns the tensor that a message calls `name`.
    fn named_tensor(&self, name: &str, prefix: &str) -> Result<OutputId> {
        let whole = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        let found = TensorName::parse(&whole).and_then(|t| Some((self.graph.find_node(t.node)?, u32::try_from(t.slot).ok()?)));
        match found {
            Some((node, slot)) if (slot as usize) < node.num_outputs() => Ok(node.id().output(slot)),
            _ => bail!(InvalidArgument, "A control-flow context names '{whole}', which is not in the graph"),
        }
    }
}
