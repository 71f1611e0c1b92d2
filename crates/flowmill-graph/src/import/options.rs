//! The options and results of an import.

use super::{Names, Plan, Source, SourceNode};
use crate::{CONTROL_SLOT, Graph, NodeId, OutputId, TensorName};
use flowmill_proto::{NodeDef, OpDef};
use flowmill_tensor::{Result, bail};
use hashbrown::HashMap;
use std::cell::Cell;

/// The options with which a GraphDef is added to a graph.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Put before every name, with a slash between; empty for none.
    pub prefix: String,
    /// Renames a node whose name the graph has already, to `name_1` and so on; else that is an error.
    pub uniquify_names: bool,
    /// Renames the prefix if the graph has nodes under it already.
    pub uniquify_prefix: bool,
    /// Tensors of the message (`x`, `x:1`, `^x`) and the tensors of the graph that replace them as inputs.
    pub input_map: Vec<(String, String)>,
    /// Leaves out nodes all of whose outputs are in the input map.
    pub skip_mapped_nodes: bool,
    /// Tensors of the message, before the prefix, whose ids are wanted.
    pub return_tensors: Vec<String>,
    /// Nodes of the message, before the prefix, whose ids are wanted.
    pub return_nodes: Vec<String>,
    /// Nodes of the graph that have to run before any imported node: control inputs of those that take nothing from other imported nodes.
    pub control_dependencies: Vec<String>,
    /// The device of nodes that request none.
    pub default_device: String,
    /// Makes a colocation group that names no node of the message an error.
    pub validate_colocation: bool,
    /// Makes shapes that contradict each other an error.
    pub validate_shape: bool,
    /// The definitions of the ops that the message was made with, as a `MetaGraphDef` has them. Attributes that they say to have their default value, and
    /// that are not known here, are left out; ops that are not known here are taken from them.
    pub producer_ops: Vec<OpDef>,
    /// Makes definitions that fit their nodes for ops that nobody defines, so that a graph can be shown that cannot run. The types of their inputs and outputs,
    /// as far as other nodes tell, are attributes of the nodes.
    pub stand_ins: bool,
    /// Allows names that start with an underscore, as the bodies of functions may have.
    pub allow_internal_names: bool,
}

impl Default for ImportOptions {
    /// No prefix, no mapping; colocations are checked, shapes are not.
    fn default() -> ImportOptions {
        ImportOptions {
            prefix: String::new(),
            uniquify_names: false,
            uniquify_prefix: false,
            input_map: Vec::new(),
            skip_mapped_nodes: false,
            return_tensors: Vec::new(),
            return_nodes: Vec::new(),
            control_dependencies: Vec::new(),
            default_device: String::new(),
            validate_colocation: true,
            validate_shape: false,
            producer_ops: Vec::new(),
            stand_ins: false,
            allow_internal_names: false,
        }
    }
}

/// The results of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportResults {
    /// For each of `return_tensors`, its id: of the imported tensor, or of what the input map gives for it.
    pub return_tensors: Vec<OutputId>,
    /// For each of `return_nodes`, its id.
    pub return_nodes: Vec<NodeId>,
    /// The added nodes, in the order of the message.
    pub nodes: Vec<NodeId>,
    /// Keys of the input map that name nothing in the message.
    pub missing_unused_input_map_keys: Vec<String>,
    /// The meaning of `return_tensors` and `return_nodes` until ids are known.
    pending: (Vec<Pending>, Vec<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pending {
    Imported(u32, u32),
    Existing(OutputId),
}

impl ImportResults {
    /// Fills in the ids, given those of the message's nodes.
    pub(super) fn resolve(&mut self, ids: &[NodeId]) {
        let (tensors, nodes) = std::mem::take(&mut self.pending);
        self.return_tensors = tensors
            .iter()
            .map(|tensor| match *tensor {
                Pending::Imported(place, slot) => ids[place as usize].output(slot),
                Pending::Existing(output) => output,
            })
            .collect();
        self.return_nodes = nodes.iter().map(|&place| ids[place as usize]).collect();
    }
}

/// The input map with its values looked up.
pub(super) struct InputMap<'a> {
    sources: HashMap<TensorName<'a>, (Source, Cell<bool>)>,
    /// The nodes of `control_dependencies`.
    pub(super) control_dependencies: Vec<NodeId>,
}

impl<'a> InputMap<'a> {
    pub(super) fn resolve(graph: &Graph, options: &'a ImportOptions) -> Result<InputMap<'a>> {
        let mut sources = HashMap::with_capacity(options.input_map.len());
        for (key, value) in &options.input_map {
            let (Some(from), Some(to)) = (TensorName::parse(key), TensorName::parse(value)) else {
                bail!(InvalidArgument, "input_map entry {key}->{value} is not a pair of tensor names");
            };
            if from.is_control() != to.is_control() {
                bail!(InvalidArgument, "input_map entry {key}->{value} between control edge and non-control edge");
            }
            let Some(node) = graph.find_node(to.node) else {
                bail!(InvalidArgument, "node '{}' in input_map does not exist in graph (input_map entry: {key}->{value})", to.node);
            };
            if to.slot >= node.num_outputs() as i32 {
                bail!(
                    InvalidArgument,
                    "input_map entry {key}->{value} names an output that node '{}' does not have: it has {}",
                    to.node,
                    node.num_outputs()
                );
            }
            sources.insert(from, (Source { node: SourceNode::Existing(node.id()), slot: to.slot }, Cell::new(false)));
        }
        let mut control_dependencies = Vec::new();
        for name in &options.control_dependencies {
            let Some(node) = graph.find_node(name.strip_prefix('^').unwrap_or(name)) else {
                bail!(InvalidArgument, "node '{name}' in control_dependencies does not exist in graph");
            };
            control_dependencies.push(node.id());
        }
        Ok(InputMap { sources, control_dependencies })
    }

    /// Returns the source that replaces a tensor.
    pub(super) fn get(&self, node: &str, slot: i32) -> Option<Source> {
        if self.sources.is_empty() {
            return None;
        }
        self.sources.get(&TensorName { node, slot }).map(|(source, _)| *source)
    }

    /// Like [`InputMap::get`], and marks the entry as used.
    pub(super) fn take(&self, node: &str, slot: i32) -> Option<Source> {
        if self.sources.is_empty() {
            return None;
        }
        let (source, used) = self.sources.get(&TensorName { node, slot })?;
        used.set(true);
        Some(*source)
    }

    /// Checks what the caller wants returned.
    pub(super) fn results(&self, nodes: &[NodeDef], names: &Names, plan: &Plan, options: &ImportOptions) -> Result<ImportResults> {
        let mut results = ImportResults::default();
        for tensor in &options.return_tensors {
            let Some(name) = TensorName::parse(tensor).filter(|n| !n.is_control()) else {
                bail!(InvalidArgument, "Requested return tensor '{tensor}' is not the name of a tensor");
            };
            if let Some(Source { node: SourceNode::Existing(id), slot }) = self.take(name.node, name.slot) {
                results.pending.0.push(Pending::Existing(id.output(slot as u32)));
                continue;
            }
            let Some(place) = names.find(nodes, name.node) else {
                bail!(InvalidArgument, "Requested return tensor '{}:{}' not found in graph def", name.node, name.slot);
            };
            let outputs = plan.nodes[place as usize].signature.outputs().len();
            if name.slot >= outputs as i32 {
                bail!(InvalidArgument, "Invalid return output {} of node '{}', which has {outputs} output(s)", name.slot, name.node);
            }
            results.pending.0.push(Pending::Imported(place, name.slot as u32));
        }
        for name in &options.return_nodes {
            let Some(place) = names.find(nodes, name) else {
                bail!(InvalidArgument, "Requested return node '{name}' not found in graph def");
            };
            if plan.nodes[place as usize].skipped {
                bail!(InvalidArgument, "Requested return node '{name}' is left out: the input map replaces all its outputs");
            }
            results.pending.1.push(place);
        }
        for (key, _) in &options.input_map {
            let Some(name) = TensorName::parse(key) else { continue };
            let used = self.sources.get(&name).is_some_and(|(_, used)| used.get());
            let exists = names
                .find(nodes, name.node)
                .is_some_and(|place| name.slot == CONTROL_SLOT || name.slot < plan.nodes[place as usize].signature.outputs().len() as i32);
            if !used && !exists {
                results.missing_unused_input_map_keys.push(key.clone());
            }
        }
        Ok(results)
    }
}
