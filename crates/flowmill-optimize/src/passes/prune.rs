//! Removes what no result needs.
//!
//! Before: `y = Neg(x)`, whose value goes nowhere. After: nothing.
//!
//! Sound because a step shows only its results and the effects of the nodes that `_SINK` waits for: whatever neither needs, by data or by
//! control, is not run by TensorFlow either. Needs nothing to run before it.

use crate::Evaluator;
use flowmill_graph::{Graph, NodeId, RETVAL, traverse};
use flowmill_tensor::Result;

pub(crate) fn run(graph: &mut Graph, _: &dyn Evaluator) -> Result<usize> {
    let mut targets = vec![NodeId::SINK];
    targets.extend(graph.op_nodes().filter(|n| n.is_op(RETVAL)).map(|n| n.id()));
    traverse::prune(graph, &targets)
}
