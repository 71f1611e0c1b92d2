//! Finds the ops of a graph that have no kernel, and tells which of them a step needs.

use flowmill::{ImportOptions, Result, SessionOptions, files, import_graph_def, kernels, new_graph, proto, registry, session, signatures};
use flowmill_runtime::plan::is_runnable;
use proto::{AttrValue, GraphDef, MetaGraphDef, NodeDef, OpDef};
use std::collections::{BTreeMap, BTreeSet};

/// Ops with the names of their nodes; those of functions behind the function's.
type Nodes = BTreeMap<String, Vec<String>>;

/// A run that a model is made for.
#[derive(Debug, Default)]
pub(super) struct Step {
    feeds: BTreeSet<String>,
    fetches: Vec<String>,
    targets: Vec<String>,
}

/// The runs of a graph with signatures: each of them, and what loading runs. Without signatures, as of a graph in training, everything.
pub(super) fn steps_of_meta_graph(meta: &MetaGraphDef) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = signatures(meta)?
        .into_values()
        .map(|signature| Step {
            feeds: signature.inputs.into_values().map(|s| s.tensor).collect(),
            fetches: signature.outputs.into_values().map(|s| s.tensor).collect(),
            targets: Vec::new(),
        })
        .collect();
    if steps.is_empty() {
        return Ok(meta.graph_def.iter().map(step_of_graph).collect());
    }
    if let Some(op) = files::init_op(meta)? {
        steps.push(Step { targets: vec![op], ..Step::default() });
    }
    if let Some(saver) = meta.saver_def.as_ref().filter(|saver| !saver.restore_op_name.is_empty()) {
        steps.push(Step { targets: vec![op_of(&saver.restore_op_name).to_owned()], ..Step::default() });
    }
    steps.retain(|step| !step.fetches.is_empty() || !step.targets.is_empty());
    Ok(steps)
}

/// The run of everything in a graph, with its placeholders fed.
pub(super) fn step_of_graph(def: &GraphDef) -> Step {
    let taken: BTreeSet<&str> = def.node.iter().flat_map(|node| &node.input).map(|input| op_of(input)).collect();
    Step {
        feeds: def
            .node
            .iter()
            .filter(|n| matches!(n.op.as_str(), "Placeholder" | "PlaceholderV2"))
            .map(|n| format!("{}:0", n.name))
            .collect(),
        fetches: Vec::new(),
        targets: def.node.iter().filter(|n| !taken.contains(n.name.as_str())).map(|n| n.name.clone()).collect(),
    }
}

/// The ops of a graph that have no kernel.
#[derive(Debug, Default)]
pub(super) struct Support {
    /// A step needs them.
    pub(super) unsupported: Nodes,
    /// No step needs them.
    pub(super) not_needed: Nodes,
    /// A step's part of the graph has them, until the passes leave them out.
    pub(super) folded: Nodes,
    /// Nobody says what they are: the graph does not load.
    pub(super) unknown: Nodes,
}

impl Support {
    /// Prepares the steps of a graph that has ops without kernels, and sees which of these are left.
    ///
    /// # Errors
    /// Returns `InvalidArgument`, `NotFound` and the other errors of importing a graph, except those for unknown ops.
    pub(super) fn of(def: &GraphDef, producer_ops: &[OpDef], steps: &[Step]) -> Result<Support> {
        let (registry, kernels) = (registry()?, kernels());
        let functions: BTreeMap<&str, &[NodeDef]> = def
            .library
            .iter()
            .flat_map(|library| &library.function)
            .filter_map(|f| Some((f.signature.as_ref()?.name.as_str(), f.node_def.as_slice())))
            .collect();
        let (mut missing, mut found) = (Nodes::new(), Support::default());
        let of_functions = functions.iter().flat_map(|(name, body)| body.iter().map(move |node| (node, format!("{name}/{}", node.name))));
        for (node, name) in def.node.iter().map(|node| (node, node.name.clone())).chain(of_functions) {
            if functions.contains_key(node.op.as_str()) || registry.get(&node.op).is_some_and(|op| is_runnable(op, &kernels)) {
                continue;
            }
            let is_defined = registry.get(&node.op).is_some() || producer_ops.iter().any(|op| op.name == node.op);
            let nodes = if is_defined { &mut missing } else { &mut found.unknown };
            nodes.entry(node.op.clone()).or_default().push(name);
        }
        if missing.is_empty() || !found.unknown.is_empty() {
            found.unsupported = missing;
            return Ok(found);
        }
        let mut graph = new_graph()?;
        import_graph_def(&mut graph, def.clone(), &ImportOptions { producer_ops: producer_ops.to_vec(), ..ImportOptions::default() })?;
        let session = session(graph, SessionOptions { allow_soft_placement: true, ..SessionOptions::default() })?;
        let (mut left, mut needed) = (BTreeSet::new(), BTreeSet::new());
        for step in steps {
            needed.extend(ops_needed(def, &functions, step));
            let feeds: Vec<&str> = step.feeds.iter().map(String::as_str).collect();
            let [fetches, targets] = [&step.fetches, &step.targets].map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
            match session.ops_without_kernels(&feeds, &fetches, &targets) {
                Ok(ops) => left.extend(ops.into_keys()),
                // A step that cannot be prepared at all is as bad for its ops.
                Err(_) => left.extend(needed.iter().map(|op| (*op).to_owned())),
            }
        }
        for (op, nodes) in missing {
            let kind = match (left.contains(&op), needed.contains(op.as_str())) {
                (true, _) => &mut found.unsupported,
                (false, true) => &mut found.folded,
                (false, false) => &mut found.not_needed,
            };
            kind.insert(op, nodes);
        }
        Ok(found)
    }
}

/// Returns the ops of the nodes that a step needs before any pass, those of functions included.
fn ops_needed<'a>(def: &'a GraphDef, functions: &BTreeMap<&'a str, &'a [NodeDef]>, step: &Step) -> BTreeSet<&'a str> {
    let nodes: BTreeMap<&str, &NodeDef> = def.node.iter().map(|node| (node.name.as_str(), node)).collect();
    let fed: BTreeSet<&str> = step.feeds.iter().map(|tensor| tensor.strip_suffix(":0").unwrap_or(tensor)).collect();
    let mut ahead: Vec<&NodeDef> = step
        .fetches
        .iter()
        .chain(&step.targets)
        .map(|name| op_of(name))
        .filter(|name| !fed.contains(name))
        .filter_map(|name| nodes.get(name).copied())
        .collect();
    let (mut ops, mut seen) = (BTreeSet::new(), BTreeSet::new());
    while let Some(node) = ahead.pop() {
        if !seen.insert(std::ptr::from_ref(node)) {
            continue;
        }
        ops.insert(node.op.as_str());
        let inputs = node.input.iter().filter(|input| !fed.contains(input.strip_suffix(":0").unwrap_or(input)));
        // The inputs of a node of a function are names in its body, all of which is needed anyway.
        ahead.extend(inputs.filter_map(|input| nodes.get(op_of(input)).copied()));
        let called = node.attr.values().flat_map(AttrValue::functions).map(|function| function.name.as_str()).chain([node.op.as_str()]);
        ahead.extend(called.filter_map(|name| functions.get(name)).flat_map(|body| body.iter()));
    }
    ops
}

/// Returns the node of `node`, `node:0`, `^node` or, in a function, `node:out:0`.
fn op_of(name: &str) -> &str {
    let name = name.strip_prefix('^').unwrap_or(name);
    name.split_once(':').map_or(name, |(op, _)| op)
}
