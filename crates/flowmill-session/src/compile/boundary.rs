//! Feeds and fetches in the memory of devices.
//!
//! ```text
//! x = _Arg(); y = Neg(x) @A        →    x = _Arg(); i = Identity(x) @B; y = Neg(i) @A
//! r = _Retval(y)                   →    i = Identity(y) @B; r = _Retval(i) {_keep_memory=true}
//! ```
//!
//! The boundary itself stays on the host, where a step begins and ends. A fed value that is in the memory of `B` reaches the `Identity` without a copy,
//! and a result that has the attribute leaves it without one.

use crate::session::Signature;
use flowmill_graph::{Edge, Graph, KEEP_MEMORY, NodeId, OutputId};
use flowmill_proto::{AttrValue, DataType, NodeDef};
use flowmill_tensor::{Result, bail};

/// Adds the nodes for the feeds and fetches of the signature that have devices. `args` and `results` are the nodes of all feeds and fetches in order.
///
/// # Errors
/// Returns `InvalidArgument` for a tensor that is not among the feeds or fetches.
pub(super) fn put_on_devices(graph: &mut Graph, signature: &Signature, args: &[Option<NodeId>], results: &[NodeId]) -> Result<()> {
    let [feeds, fetches, _] = signature.lists();
    let position = |names: &[&str], name: &str, what: &str| match names.iter().position(|other| is_same(other, name)) {
        Some(i) => Ok(i),
        None => bail!(InvalidArgument, "The device of '{name}' is given, which is not a {what} of the step"),
    };
    for (name, device) in signature.feed_devices() {
        let Some(arg) = args.get(position(&feeds, name, "feed")?).copied().flatten() else { continue };
        let edges: Vec<Edge> = graph.out_edges(arg).filter(|edge| !edge.is_control()).collect();
        let here = identity(graph, arg.output(0), device)?;
        for edge in edges {
            graph.update_edge(here.output(0), edge.dst, edge.dst_input as usize)?;
        }
    }
    for (name, device) in signature.fetch_devices() {
        let Some(&result) = results.get(position(&fetches, name, "fetch")?) else { continue };
        let Some(source) = graph.input_edge(result, 0).and_then(|edge| edge.source()) else { continue };
        let here = identity(graph, source, device)?;
        graph.update_edge(here.output(0), result, 0)?;
        graph.set_attr(result, KEEP_MEMORY, true)?;
    }
    Ok(())
}

/// Returns true if two names are of one tensor: output 0 may be left out.
fn is_same(a: &str, b: &str) -> bool {
    a.strip_suffix(":0").unwrap_or(a) == b.strip_suffix(":0").unwrap_or(b)
}

/// Adds an `Identity` of a tensor on a device.
fn identity(graph: &mut Graph, source: OutputId, device: &str) -> Result<NodeId> {
    let dtype = graph.output_type(source)?.dtype;
    let name = graph.new_name(&format!("_on_device_{}", graph.node(source.node)?.name()));
    let attr = [("T".to_owned(), AttrValue::from(DataType::try_from(dtype.number()).unwrap_or_default()))];
    let def = NodeDef { name, op: "Identity".into(), device: device.into(), attr: attr.into(), ..NodeDef::default() };
    graph.add_node_with_inputs(def, &[source], &[])
}
