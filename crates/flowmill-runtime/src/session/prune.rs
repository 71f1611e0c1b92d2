//! The part of a graph that a run needs.

use flowmill_graph::{ARG, Graph, NodeId, OutputId, RETVAL, TensorName};
use flowmill_proto::{AttrValue, DataType, NodeDef};
use flowmill_tensor::{Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// A new graph with what `fetches` and `targets` need: each feed is an `_Arg` node in the place of the tensor, each fetch gets a `_Retval`,
/// each target a control edge to `_SINK`, which tells passes to keep it.
///
/// # Errors
/// `NotFound` for names that are not in the graph, `InvalidArgument` for malformed names, a tensor fed twice, and where nothing is asked for;
/// in TensorFlow's words.
pub(super) fn prune(graph: &Graph, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Graph> {
    if fetches.is_empty() && targets.is_empty() {
        bail!(InvalidArgument, "Must specify at least one target to fetch or execute.");
    }
    let mut fed: FxHashMap<OutputId, usize> = FxHashMap::default();
    for (i, name) in feeds.iter().enumerate() {
        let output = find(graph, name, "FeedInputs: unable to find feed output")?;
        if fed.insert(output, i).is_some() {
            bail!(InvalidArgument, "Endpoint \"{name}\" fed more than once.");
        }
    }
    let outputs = fetches.iter().map(|name| find(graph, name, "FetchOutputs node: not found")).collect::<Result<Vec<_>>>()?;
    let mut wanted = Vec::new();
    for name in targets {
        // A target may be given as a control output or as a tensor.
        let node = TensorName::parse(name).and_then(|t| graph.find_node(t.node));
        match node {
            Some(node) => wanted.push(node.id()),
            None => bail!(NotFound, "PruneForTargets: Some target nodes not found: {name}"),
        }
    }
    let fed_placeholders: FxHashMap<NodeId, usize> =
        fed.iter().filter(|(o, _)| graph.get(o.node).is_some_and(|n| n.is_op("Placeholder") || n.is_op("PlaceholderV2"))).map(|(o, &i)| (o.node, i)).collect();
    let part = Part { graph, fed, fed_placeholders };
    let needed = part.needed(&outputs, &wanted);
    part.extract(feeds, &outputs, &wanted, &needed)
}

fn find(graph: &Graph, name: &str, phrase: &str) -> Result<OutputId> {
    let Some(tensor) = TensorName::parse(name).filter(|t| !t.is_control()) else {
        bail!(InvalidArgument, "'{name}' is not the name of a tensor");
    };
    let Some(node) = graph.find_node(tensor.node) else { bail!(NotFound, "{phrase} {name}") };
    match u32::try_from(tensor.slot) {
        Ok(slot) if (slot as usize) < node.num_outputs() => Ok(node.id().output(slot)),
        _ => bail!(InvalidArgument, "{name}: output index should be < {}", node.num_outputs()),
    }
}

struct Part<'a> {
    graph: &'a Graph,
    fed: FxHashMap<OutputId, usize>,
    /// Control edges from a fed placeholder come from the feed.
    fed_placeholders: FxHashMap<NodeId, usize>,
}

impl Part<'_> {
    /// The nodes from which what is wanted can be reached without passing a feed.
    fn needed(&self, outputs: &[OutputId], targets: &[NodeId]) -> FxHashSet<NodeId> {
        let mut needed = FxHashSet::default();
        let mut stack: Vec<NodeId> = outputs.iter().filter(|o| !self.fed.contains_key(o)).map(|o| o.node).chain(targets.iter().copied()).collect();
        while let Some(id) = stack.pop() {
            if !needed.insert(id) {
                continue;
            }
            for edge in self.graph.in_edges(id) {
                let is_fed = match edge.source() {
                    Some(output) => self.fed.contains_key(&output),
                    None => self.fed_placeholders.contains_key(&edge.src),
                };
                if !is_fed && edge.src != NodeId::SOURCE {
                    stack.push(edge.src);
                }
            }
        }
        needed
    }

    fn extract(&self, feeds: &[&str], outputs: &[OutputId], targets: &[NodeId], needed: &FxHashSet<NodeId>) -> Result<Graph> {
        let mut part = Graph::new(self.graph.registry().clone());
        part.set_library(self.graph.library().clone());
        part.set_versions(self.graph.versions().clone());
        let mut ids: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for node in self.graph.op_nodes().filter(|n| needed.contains(&n.id())) {
            let mut def = self.graph.node_def(node.id())?;
            def.input.clear();
            ids.insert(node.id(), part.add_node(def)?);
        }
        let mut args = vec![None; feeds.len()];
        for (output, &i) in &self.fed {
            args[i] = Some(*output);
        }
        let mut arg_ids = Vec::with_capacity(feeds.len());
        for (i, output) in args.into_iter().flatten().enumerate() {
            let dtype = self.graph.output_type(output)?.dtype.number();
            let name = part.new_name("feed");
            arg_ids.push(part.add_node(boundary(name, ARG, dtype, i))?);
        }
        let source = |o: OutputId| match self.fed.get(&o) {
            Some(&i) => arg_ids.get(i).map(|id| id.output(0)),
            None => ids.get(&o.node).map(|id| id.output(o.slot)),
        };
        for (&old, &new) in sorted(&ids) {
            for edge in self.graph.in_edges(old).filter(|e| e.src != NodeId::SOURCE) {
                match edge.source() {
                    Some(output) => {
                        if let Some(from) = source(output) {
                            part.add_edge(from, new, edge.dst_input as usize)?;
                        }
                    }
                    None => {
                        let from = match self.fed_placeholders.get(&edge.src) {
                            Some(&i) => arg_ids.get(i),
                            None => ids.get(&edge.src),
                        };
                        if let Some(&from) = from {
                            part.add_control_edge(from, new)?;
                        }
                    }
                }
            }
        }
        for (i, &output) in outputs.iter().enumerate() {
            let dtype = self.graph.output_type(output)?.dtype.number();
            let name = part.new_name("fetch");
            let id = part.add_node(boundary(name, RETVAL, dtype, i))?;
            if let Some(from) = source(output) {
                part.add_edge(from, id, 0)?;
            }
        }
        for target in targets {
            if let Some(&id) = ids.get(target) {
                part.add_control_edge(id, NodeId::SINK)?;
            }
        }
        Ok(part)
    }
}

fn sorted(ids: &FxHashMap<NodeId, NodeId>) -> Vec<(&NodeId, &NodeId)> {
    let mut pairs: Vec<_> = ids.iter().collect();
    pairs.sort_unstable();
    pairs
}

fn boundary(name: String, op: &str, dtype: i32, index: usize) -> NodeDef {
    let dtype = AttrValue::from(DataType::try_from(dtype).unwrap_or_default());
    NodeDef { name, op: op.into(), attr: [("T".into(), dtype), ("index".into(), AttrValue::from(index as i64))].into(), ..NodeDef::default() }
}
