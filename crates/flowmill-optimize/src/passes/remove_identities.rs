//! Removes nodes that pass on their input unchanged.
//!
//! Before: `y = Identity(x) ^c`, `z = Neg(y)`. After: `z = Neg(x) ^c`. Each output of an `IdentityN` is replaced by its input likewise.
//!
//! Sound because consumers receive the same tensor, wait for the same nodes, and are dead in the same cases. These nodes are kept:
//! * nodes that read a reference: they read the value at their position in the order of execution;
//! * nodes with a control edge behind control flow or a receive: a `Switch` runs for both branches, its `Identity` in one;
//! * nodes that order control flow by control edges, which count differently for a `Merge`;
//! * nodes whose removal would add more edges than it removes;
//! * nodes that pass a tensor from one device to another;
//! * an `IdentityN` that other nodes wait for, or one of whose inputs may be dead while another is live;
//! * a `GuaranteeConst` of a resource, which the plan refuses.
//!
//! Needs nothing to run before it.

use crate::PassContext;
use crate::bypass::{Bypass, Substitute};
use flowmill_graph::{Graph, Moves, Node, OutputId};
use flowmill_tensor::{DType, Result};

pub(crate) fn run(graph: &mut Graph, PassContext { limit, .. }: PassContext<'_>) -> Result<usize> {
    let (mut bypass, mut count) = (Bypass::default(), 0);
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(node) = graph.get(id) else { continue };
        if node.traits().moves == Moves::Each {
            let sources: Vec<OutputId> = graph.inputs(id).collect();
            count += usize::from(bypass.try_remove_all(graph, id, &sources)?);
        } else if passes_on(node) && !is_refused(node) {
            let Some(source) = graph.input(id, 0) else { continue };
            let substitute = Substitute { source, controls: graph.control_inputs(id).collect(), drops_inputs: false };
            count += usize::from(bypass.try_remove(graph, id, substitute)?);
        }
    }
    Ok(count)
}

/// Returns true if the node returns its first input, apart from gradients and feeds. Nodes that bring a tensor into or out of a frame do more.
fn passes_on(node: &Node) -> bool {
    node.traits().passes_on && !node.is_control_flow() && node.output_types().iter().all(|t| !t.is_ref)
}

/// Returns true for an error that stays one.
fn is_refused(node: &Node) -> bool {
    node.is_op("GuaranteeConst") && node.input_types().first().is_some_and(|t| t.dtype == DType::Resource)
}
