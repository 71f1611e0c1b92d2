//! Removes nodes that no result and no effect needs.
//!
//! Before: `y = Neg(x)`, without consumers. After: nothing.
//!
//! Sound because only the results of a step and the effects of the nodes that `_SINK` waits for are visible. TensorFlow does not run nodes that these
//! do not need, by data or by control, either. Needs nothing to run before it.

use crate::PassContext;
use flowmill_graph::{Graph, NodeId, RETVAL, traverse};
use flowmill_tensor::Result;

pub(crate) fn run(graph: &mut Graph, _: PassContext<'_>) -> Result<usize> {
    let mut targets = vec![NodeId::SINK];
    targets.extend(graph.op_nodes().filter(|n| n.is_op(RETVAL)).map(|n| n.id()));
    traverse::prune(graph, &targets)
}
