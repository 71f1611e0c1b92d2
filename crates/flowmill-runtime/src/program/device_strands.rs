//! Strands on devices with memory of their own: sets of nodes whose kernels only enqueue work, replaced by one node whose work the device may record.
//!
//! The caller chooses the sets, since the order of nodes may depend on other devices. What remains is what it is for other strands: instructions in
//! topological order, which run for dead and live inputs alike.

use super::cluster::fuse_members;
use super::rewrite::Rewriter;
use crate::device::Device;
use crate::plan::{NodeKind, PlanGraph, PlanNodeId};
use flowmill_tensor::Result;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Replaces each set by a strand that `device` may record. Each set has nodes of one frame, the sets are disjoint, and no path leaves a set and comes
/// back, also through other sets and through other devices.
///
/// # Errors
/// Returns `Internal` if the edges of the graph are inconsistent.
pub fn fuse_device_strands(graph: PlanGraph, sets: &[Vec<PlanNodeId>], device: &Arc<dyn Device>) -> Result<PlanGraph> {
    let mut graph = Rewriter::new(graph)?;
    for set in sets {
        let members: FxHashSet<PlanNodeId> = set.iter().copied().collect();
        let producers = set.iter().filter_map(|&id| graph.get(id)).flat_map(|node| &node.inputs).map(|edge| edge.node);
        let is_constant = |id: &PlanNodeId| {
            !members.contains(id) && graph.get(*id).is_some_and(|n| matches!(n.kind, NodeKind::Const(_)) && n.controls.is_empty())
        };
        let constants: FxHashSet<PlanNodeId> = producers.filter(is_constant).collect();
        fuse_members(&mut graph, &members, &constants, |name, strand, reads| device.adopt_strand(name, strand, reads))?;
    }
    graph.finish()
}
