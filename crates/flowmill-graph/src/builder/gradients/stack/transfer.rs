//! Nodes of one graph that are added to another one.

use crate::builder::gradients::functions::{FunctionGraph, add_functions};
use crate::builder::{ContextId, ScopedBuilder};
use crate::{Node, NodeId, OutputId};
use flowmill_proto::NodeDef;
use flowmill_tensor::{PartialShape, Result};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// New nodes of a graph's copy.
pub(super) struct NewNodes<'a> {
    copy: &'a FunctionGraph,
    nodes: BTreeMap<NodeId, &'a Node>,
}

/// The tensors that replace inputs of the nodes that are added, by their ids in the copy. Other inputs have the same ids in both graphs.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) tensors: FxHashMap<OutputId, OutputId>,
    /// The control-flow context that the nodes are added to.
    pub(super) context: Option<ContextId>,
    /// True if the nodes are added to the graph that was copied, whose nodes they may wait for.
    pub(super) is_copied_graph: bool,
}

impl<'a> NewNodes<'a> {
    pub(super) fn new(copy: &'a FunctionGraph, nodes: impl Iterator<Item = NodeId>) -> NewNodes<'a> {
        NewNodes { copy, nodes: nodes.filter_map(|id| Some((id, copy.graph.get(id)?))).collect() }
    }

    pub(super) fn has(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// Returns the tensors of other nodes that the nodes take, in the order in which they take them.
    pub(super) fn inputs(&self) -> Vec<OutputId> {
        self.nodes.keys().flat_map(|&id| self.copy.graph.inputs(id)).filter(|t| !self.has(t.node)).collect()
    }

    /// Adds the nodes to the builder's graph, with the functions that they call; returns their ids by those in the copy. Colocation is left
    /// out, and so are control inputs that the graph does not have.
    pub(super) fn add_to(&self, b: &mut ScopedBuilder<'_>, sources: &Sources) -> Result<BTreeMap<NodeId, NodeId>> {
        let graph = &self.copy.graph;
        add_functions(b.graph_mut(), graph.library(), self.nodes.values().copied())?;
        let mut outside = FxHashMap::default();
        for input in self.inputs() {
            let source = sources.tensors.get(&input).copied().unwrap_or(input);
            outside.insert(
                input,
                match sources.context {
                    Some(context) => b.bring_into(context, source)?,
                    None => source,
                },
            );
        }
        let mut ids = BTreeMap::new();
        for (&id, node) in &self.nodes {
            let name = match b.graph().find_node(node.name()) {
                Some(_) => b.state_mut().names.unique(node.name(), true),
                None => node.name().to_owned(),
            };
            let mut def = NodeDef { name, input: Vec::new(), ..graph.node_def(id)? };
            def.attr.remove("_class");
            ids.insert(id, b.graph_mut().add_node_with_inputs(def, &[], &[])?);
        }
        for (&id, &new) in &ids {
            for (i, input) in graph.inputs(id).enumerate() {
                let source = ids.get(&input.node).map(|node| node.output(input.slot)).or_else(|| outside.get(&input).copied());
                b.graph_mut().add_edge(source.unwrap_or(input), new, i)?;
            }
            for control in graph.control_inputs(id) {
                if let Some(control) = ids.get(&control).copied().or(sources.is_copied_graph.then_some(control)) {
                    b.graph_mut().add_control_edge(control, new)?;
                }
            }
        }
        b.state.catch_up(b.graph);
        for (&id, &new) in &ids {
            for slot in 0..graph[id].num_outputs() as u32 {
                b.merge_shape(new.output(slot), &self.copy.state.shapes().shape(id.output(slot)))?;
            }
            if let Some(context) = sources.context {
                b.note_in_context(context, new);
            }
        }
        Ok(ids)
    }

    /// Extends a node of the builder's graph as the one of the same id in the copy was extended; `ids` are those of its new inputs' nodes.
    pub(super) fn extend(&self, b: &mut ScopedBuilder<'_>, node: NodeId, ids: &BTreeMap<NodeId, NodeId>) -> Result<()> {
        let (ours, theirs) = (b.graph().node(node)?, self.copy.graph.node(node)?);
        let (num_inputs, num_outputs) = (ours.num_inputs(), ours.num_outputs());
        add_functions(b.graph_mut(), self.copy.graph.library(), std::iter::once(theirs))?;
        let place = |t: OutputId| ids.get(&t.node).copied().unwrap_or(t.node).output(t.slot);
        let more: Vec<OutputId> = self.copy.graph.inputs(node).skip(num_inputs).map(place).collect();
        let new = num_outputs as u32..theirs.num_outputs() as u32;
        let shapes: Vec<PartialShape> = new.map(|slot| self.copy.state.shapes().shape(node.output(slot))).collect();
        b.extend_node(node, theirs.op(), theirs.attrs().clone(), &more, &shapes)
    }
}
