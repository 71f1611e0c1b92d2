//! Merges nodes that compute the same values (common subexpression elimination).
//!
//! Before: `a = Neg(x)`, `b = Neg(x)`, `c = Mul(a, b)`. After: `a = Neg(x)`, `c = Mul(a, a)`.
//!
//! Sound because two nodes with the same op, attributes, device, inputs and control inputs compute the same values and are dead together, if the op
//! has no state. The inputs of a commutative op may be swapped. Constants of up to [`MAX_WRITTEN`] bytes are compared by value, larger ones by their
//! address in memory. Only pure nodes are merged (`is_pure`), of those without inputs only constants, and calls of functions without effects.
//!
//! Needs nothing to run before it; later passes that fold or fuse leave fewer duplicates when it runs after them.

use crate::PassContext;
use crate::stateless::StatelessFunctions;
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Graph, Node, NodeId, OutputId, Role, is_pure};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, Message};
use flowmill_tensor::Result;
use rustc_hash::FxHashMap;

/// Constants of up to this many bytes are compared by value.
const MAX_WRITTEN: usize = 1024;

pub(crate) fn run(graph: &mut Graph, PassContext { limit, .. }: PassContext<'_>) -> Result<usize> {
    let mut first: FxHashMap<Key, NodeId> = FxHashMap::default();
    let mut functions = StatelessFunctions::default();
    let mut count = 0;
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some(key) = graph.get(id).filter(|n| is_mergeable(graph, n, &mut functions)).map(|n| key(graph, n)) else { continue };
        match first.get(&key) {
            Some(&kept) => {
                merge(graph, id, kept)?;
                count += 1;
            }
            None => {
                first.insert(key, id);
            }
        }
    }
    Ok(count)
}

/// Equal for nodes that compute the same.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: String,
    device: String,
    /// Encoded; names are in order.
    attrs: Vec<u8>,
    /// Address and length of a large constant's values, which its message shares.
    content: Option<(usize, usize)>,
    inputs: Vec<OutputId>,
    controls: Vec<NodeId>,
}

fn is_mergeable(graph: &Graph, node: &Node, functions: &mut StatelessFunctions) -> bool {
    let has_inputs = node.num_inputs() > 0 || node.role() == Role::Const;
    node.num_outputs() > 0 && has_inputs && (is_pure(graph, node) || functions.is_pure_call(graph, node))
}

fn key(graph: &Graph, node: &Node) -> Key {
    let mut inputs: Vec<OutputId> = graph.inputs(node.id()).collect();
    if node.op_def().is_commutative {
        inputs.sort_unstable();
    }
    let mut controls: Vec<NodeId> = graph.control_inputs(node.id()).collect();
    controls.sort_unstable();
    let (mut attrs, mut content) = (Vec::new(), None);
    for (name, value) in node.attrs().iter() {
        attrs.extend_from_slice(name.as_bytes());
        attrs.push(0);
        match &value.value {
            Some(Value::Tensor(tensor)) if tensor.tensor_content.len() > MAX_WRITTEN => {
                content = Some((tensor.tensor_content.as_ptr() as usize, tensor.tensor_content.len()));
                let mut rest = tensor.clone();
                rest.tensor_content.clear();
                attrs.extend(AttrValue::from(Value::Tensor(rest)).encode_length_delimited_to_vec());
            }
            _ => attrs.extend(value.encode_length_delimited_to_vec()),
        }
    }
    Key { op: node.op().to_owned(), device: node.device().to_owned(), attrs, content, inputs, controls }
}

/// Replaces `duplicate` by `kept`.
fn merge(graph: &mut Graph, duplicate: NodeId, kept: NodeId) -> Result<()> {
    for edge in graph.out_edges(duplicate).collect::<Vec<_>>() {
        match edge.source() {
            Some(source) => graph.update_edge(kept.output(source.slot), edge.dst, edge.dst_input as usize).map(|_| ())?,
            None => graph.add_control_edge(kept, edge.dst).map(|_| ())?,
        }
    }
    graph.remove_node(duplicate)
}
