//! The graph of one step: feeds and fetches instead of what is around them.

use crate::traverse::{Neighbours, Visit, prune, reverse_depth_first, reverse_reachable};
use crate::{ARG, Edge, Graph, NodeId, OUTPUT_SHAPES, OutputId, RETVAL, Role, TensorName, placeholder_shape};
use flowmill_proto::{AttrValue, DataType, NodeDef};
use flowmill_tensor::{DType, Result, bail};
use hashbrown::HashSet;

/// The nodes that [`rewrite_for_execution`] made of feeds, fetches and targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionGraph {
    /// For each feed, its `_Arg`, whose attribute `index` is the feed's place. `None` if nothing that is left takes the feed.
    pub args: Vec<Option<NodeId>>,
    /// The types of the feeds.
    pub arg_types: Vec<DType>,
    /// For each fetch, its `_Retval`, whose attribute `index` is the fetch's place.
    pub retvals: Vec<NodeId>,
    /// The types of the fetches.
    pub retval_types: Vec<DType>,
    /// For each target, its node.
    pub targets: Vec<NodeId>,
}

/// Turns a graph into what one step runs: every fed tensor becomes an `_Arg`, every fetched one gets a `_Retval`, and what neither
/// fetches nor targets need is removed. Feeds and fetches are names of tensors (`x`, `x:1`), targets names of nodes.
///
/// The `_Arg` of a fed reference is a value: a node that would write through it is an error. The `_Arg` of a fed placeholder has the static shape of
/// the placeholder, [`placeholder_shape`], so that values of other shapes must not be fed.
///
/// # Errors
/// `InvalidArgument` if something is fed twice or nothing is asked for, `NotFound` for names that do not exist. The graph may be
/// half rewritten then.
pub fn rewrite_for_execution<S: AsRef<str>>(graph: &mut Graph, feeds: &[S], fetches: &[S], targets: &[S]) -> Result<ExecutionGraph> {
    rewrite_with_connections(graph, feeds, fetches, targets, &[])
}

/// Returns a copy of the part of a graph that [`rewrite_with_connections`] may look at for these names. What it makes of the part it would make of
/// the whole, without copying nodes that the step does not need; ids are the same. Names that do not exist are left for it to report.
pub fn part_for_execution<S: AsRef<str>>(graph: &Graph, feeds: &[S], fetches: &[S], targets: &[S], connections: &[(S, S)]) -> Graph {
    let node = |name: &S| Some(graph.find_node(TensorName::parse(name.as_ref())?.node)?.id());
    let fed: HashSet<OutputId> = feeds.iter().filter_map(|feed| find_feed(graph, feed.as_ref()).ok()).collect();
    let sources = connections.iter().map(|(from, _)| from);
    let wanted: Vec<NodeId> =
        fetches.iter().chain(sources).filter_map(node).chain(targets.iter().filter_map(|target| find_target(graph, target))).collect();
    let mut keep = vec![false; graph.num_node_ids()];
    let is_passed = |edge: &Edge| edge.source().is_none_or(|source| !fed.contains(&source));
    reverse_depth_first(graph, &wanted, Neighbours::AsAdded, is_passed, |visit| {
        if let Visit::Enter(node) = visit {
            keep[node.index()] = true;
        }
    });
    // The nodes of replaced tensors; what these need may go.
    for replaced in feeds.iter().chain(connections.iter().map(|(_, to)| to)).filter_map(node) {
        keep[replaced.index()] = true;
    }
    graph.part(&keep)
}

/// Like [`rewrite_for_execution`], with connections: of each pair of names, the first tensor's value is fed for the second within the step.
///
/// # Errors
/// Returns `InvalidArgument` if a connection begins at an unknown tensor or needs its own end, and the errors of [`rewrite_for_execution`].
pub fn rewrite_with_connections<S: AsRef<str>>(
    graph: &mut Graph,
    feeds: &[S],
    fetches: &[S],
    targets: &[S],
    connections: &[(S, S)],
) -> Result<ExecutionGraph> {
    if fetches.is_empty() && targets.is_empty() {
        bail!(InvalidArgument, "Must specify at least one target to fetch or execute.");
    }
    let mut fed = HashSet::new();
    let mut outputs = Vec::with_capacity(feeds.len());
    for feed in feeds {
        let output = find_feed(graph, feed.as_ref())?;
        if !fed.insert(output) {
            bail!(InvalidArgument, "Endpoint \"{}\" fed more than once.", feed.as_ref());
        }
        outputs.push(output);
    }
    let mut connected = Vec::with_capacity(connections.len());
    for (from, to) in connections {
        let from = find_connection(graph, from.as_ref())?;
        let output = find_feed(graph, to.as_ref())?;
        if !fed.insert(output) {
            bail!(InvalidArgument, "Endpoint \"{}\" fed more than once.", to.as_ref());
        }
        connected.push((from, output));
    }
    let mut fetched = Vec::with_capacity(fetches.len());
    for fetch in fetches {
        fetched.push(find_fetch(graph, fetch.as_ref())?);
    }
    let mut result = ExecutionGraph { targets: find_targets(graph, targets)?, ..Default::default() };

    let mut args = Vec::with_capacity(outputs.len());
    for (index, &output) in outputs.iter().enumerate() {
        let dtype = graph.output_type(output)?.dtype;
        let shape = placeholder_shape(graph, &graph[output.node]).unwrap_or_default();
        let arg = add_boundary(graph, ARG, "_arg", output, index, dtype, &[])?;
        if shape.rank().is_some() {
            graph.set_attr(arg, OUTPUT_SHAPES, vec![shape.to_proto()])?;
        }
        redirect(graph, output, arg)?;
        args.push((output, arg));
        result.arg_types.push(dtype);
    }
    let mut replaced = args.clone();
    for (from, output) in connected {
        // A tensor that is fed or connected already is its own source.
        let from = replaced.iter().find(|(fed, _)| *fed == from).map_or(from, |(_, node)| node.output(0));
        let identity = connect(graph, from, output)?;
        replaced.push((output, identity));
    }
    for (index, &output) in fetched.iter().enumerate() {
        let dtype = graph.output_type(output)?.dtype;
        let source = replaced.iter().find(|(fed, _)| *fed == output).map_or(output, |(_, node)| node.output(0));
        result.retvals.push(add_boundary(graph, RETVAL, "_retval", output, index, dtype, &[source])?);
        result.retval_types.push(dtype);
    }
    let wanted: Vec<NodeId> = result.retvals.iter().chain(&result.targets).copied().collect();
    prune(graph, &wanted)?;
    for (_, arg) in args {
        let left = graph.get(arg).map(|n| n.id());
        for edge in graph.out_edges(arg).filter(|e| !e.is_control()) {
            let node = &graph[edge.dst];
            let expected = node.input_types()[edge.dst_input as usize];
            graph.check_edge_types(arg.output(0), edge.dst_input as usize, node.name(), expected)?;
        }
        result.args.push(left);
    }
    Ok(result)
}

fn find_feed(graph: &Graph, name: &str) -> Result<OutputId> {
    let tensor = TensorName::parse(name).filter(|t| !t.is_control());
    let Some((tensor, node)) = tensor.and_then(|t| Some((t, graph.find_node(t.node)?))) else {
        bail!(NotFound, "FeedInputs: unable to find feed output {name}");
    };
    if tensor.slot as usize >= node.num_outputs() {
        bail!(InvalidArgument, "FeedInputs: {name} should have output index < {}", node.num_outputs());
    }
    Ok(node.id().output(tensor.slot as u32))
}

fn find_connection(graph: &Graph, name: &str) -> Result<OutputId> {
    let tensor = TensorName::parse(name).filter(|t| !t.is_control());
    let Some((tensor, node)) = tensor.and_then(|t| Some((t, graph.find_node(t.node)?))) else {
        bail!(InvalidArgument, "Requested tensor connection from unknown node: \"{name}\".");
    };
    if tensor.slot as usize >= node.num_outputs() {
        bail!(
            InvalidArgument,
            "Requested tensor connection from unknown edge: \"{name}\" (actual number of outputs = {}).",
            node.num_outputs()
        );
    }
    Ok(node.id().output(tensor.slot as u32))
}

/// Replaces the uses of `to` by an `Identity` of `from`.
fn connect(graph: &mut Graph, from: OutputId, to: OutputId) -> Result<NodeId> {
    if reverse_reachable(graph, &[from.node])[to.node.index()] {
        bail!(
            InvalidArgument,
            "Requested Tensor connection between nodes \"{}\" and \"{}\" would create a cycle.",
            graph[to.node].name(),
            graph[from.node].name()
        );
    }
    let (given, wanted) = (graph.output_type(from)?.dtype, graph.output_type(to)?.dtype);
    if given != wanted {
        bail!(
            InvalidArgument,
            "Requested Tensor connection between nodes \"{}\" and \"{}\" of types {wanted} and {given}.",
            graph[to.node].name(),
            graph[from.node].name()
        );
    }
    let mut name = format!("_identity_{}_{}", graph[to.node].name(), to.slot);
    if graph.find_node(&name).is_some() {
        name = graph.new_name(&name);
    }
    let attr = [("T".to_owned(), AttrValue::from(DataType::try_from(given.number()).unwrap_or_default()))];
    let def = NodeDef { name, op: "Identity".into(), attr: attr.into(), ..Default::default() };
    let identity = graph.add_node_with_inputs(def, &[from], &[])?;
    redirect(graph, to, identity)?;
    Ok(identity)
}

fn find_fetch(graph: &Graph, name: &str) -> Result<OutputId> {
    let tensor = TensorName::parse(name).filter(|t| !t.is_control());
    let Some((tensor, node)) = tensor.and_then(|t| Some((t, graph.find_node(t.node)?))) else {
        bail!(NotFound, "FetchOutputs node {name}: not found");
    };
    if node.num_outputs() == 0 {
        bail!(
            InvalidArgument,
            "Tried to fetch data for '{name}', which has no output.  To run to a node but not fetch any data, name it as a target."
        );
    }
    if tensor.slot as usize >= node.num_outputs() {
        bail!(InvalidArgument, "FetchOutputs {name}: output index too large, must be < {}", node.num_outputs());
    }
    Ok(node.id().output(tensor.slot as u32))
}

fn find_target<S: AsRef<str>>(graph: &Graph, name: &S) -> Option<NodeId> {
    graph.find_node(name.as_ref().strip_prefix('^').unwrap_or(name.as_ref())).map(|n| n.id())
}

fn find_targets<S: AsRef<str>>(graph: &Graph, targets: &[S]) -> Result<Vec<NodeId>> {
    let missing: Vec<&str> = targets.iter().filter(|t| find_target(graph, t).is_none()).map(|t| t.as_ref()).collect();
    if !missing.is_empty() {
        bail!(NotFound, "PruneForTargets: Some target nodes not found: {}", missing.join(" "));
    }
    Ok(targets.iter().filter_map(|t| find_target(graph, t)).collect())
}

fn add_boundary(
    graph: &mut Graph,
    op: &str,
    prefix: &str,
    output: OutputId,
    index: usize,
    dtype: DType,
    inputs: &[OutputId],
) -> Result<NodeId> {
    let mut name = format!("{prefix}_{}_{}_{index}", graph[output.node].name(), output.slot);
    if graph.find_node(&name).is_some() {
        name = graph.new_name(&name);
    }
    let dtype = DataType::try_from(dtype.number()).unwrap_or_default();
    let attr = [("T".to_owned(), AttrValue::from(dtype)), ("index".to_owned(), AttrValue::from(index as i64))];
    graph.add_node_with_inputs(NodeDef { name, op: op.into(), attr: attr.into(), ..Default::default() }, inputs, &[])
}

/// Replaces a fed tensor by an `_Arg`. Nodes that wait for a fed placeholder wait for the `_Arg`.
fn redirect(graph: &mut Graph, output: OutputId, arg: NodeId) -> Result<()> {
    let is_placeholder = graph[output.node].role() == Role::Placeholder;
    let edges: Vec<Edge> = graph.out_edges(output.node).collect();
    for edge in edges {
        if edge.source() == Some(output) {
            graph.remove_edge(edge.id)?;
            graph.connect(arg.output(0), edge.dst, edge.dst_input as usize)?;
        } else if edge.is_control() && is_placeholder {
            graph.remove_edge(edge.id)?;
            graph.add_control_edge(arg, edge.dst)?;
        }
    }
    Ok(())
}
