//! Finds the nodes that can process a batch a few images at a time.
//!
//! Kernels with [`Kernel::batched_inputs`](crate::Kernel::batched_inputs) work image by image: convolutions, pooling windows, paddings. All such
//! nodes that depend on one tensor, and otherwise on constants, become one node: a [`BatchProgram`].
//!
//! No path leaves the set and comes back, because the only inputs of the set are the tensor and constants. The program is dead exactly when the
//! tensor is dead, as its members were.

use super::lower::{Lowering, mark_last_uses};
use super::rewrite::Rewriter;
use super::run::{Code, Reg};
use super::tiles::BatchProgram;
use crate::kernel::Cost;
use crate::plan::{NodeKind, PlanEdge, PlanNode, PlanNodeId};
use flowmill_graph::OpTraits;
use flowmill_tensor::{DType, Result, bail};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The smallest number of costly nodes for which a program pays. With one node, there is no tensor between nodes to keep in the cache.
const MIN_COSTLY: usize = 2;

/// Replaces each set of such nodes by a program.
pub(super) fn fuse_batches(graph: &mut Rewriter) -> Result<()> {
    let mut tried: FxHashSet<PlanEdge> = FxHashSet::default();
    let candidates: Vec<PlanNodeId> = graph.ids().filter(|&id| is_batched(graph, id)).collect();
    let Some(order) = graph.topological(&candidates.into_iter().collect(), &|_, _| false) else { return Ok(()) };
    for id in order {
        // What is left of the order comes from outside of all programs made so far.
        let Some(source) = graph.get(id).and_then(|n| source_of(graph, n)) else { continue };
        if !tried.insert(source) {
            continue;
        }
        let members = members_behind(graph, source);
        let costly = members.iter().filter(|&&m| graph.get(m).is_some_and(|n| n.cost == Cost::Expensive));
        if costly.count() >= MIN_COSTLY {
            replace(graph, source, &members)?;
        }
    }
    Ok(())
}

/// Returns true if the node can be a member of a batch program. The source of its batched inputs is not checked here.
fn is_batched(graph: &Rewriter, id: PlanNodeId) -> bool {
    graph.get(id).is_some_and(|node| {
        matches!(node.kind, NodeKind::Op)
            && node.kernel.as_ref().is_some_and(|k| k.batched_inputs() != 0)
            && node.controls.is_empty()
            && !graph.is_waited_for(id)
            && matches!(node.outputs[..], [o] if o.dtype == DType::F32 && !o.is_ref)
            && node.inputs.iter().enumerate().all(|(i, &edge)| is_batch_input(node, i) || graph.is_constant(edge.node))
    })
}

fn is_batch_input(node: &PlanNode, i: usize) -> bool {
    node.kernel.as_ref().is_some_and(|k| k.batched_inputs() >> i & 1 == 1)
}

fn batch_inputs(node: &PlanNode) -> impl Iterator<Item = PlanEdge> + '_ {
    node.inputs.iter().enumerate().filter(|(i, _)| is_batch_input(node, *i)).map(|(_, &edge)| edge)
}

/// Returns the tensor that all batched inputs of a node read, if it is a single `float32` tensor. A program begins with such a node.
fn source_of(graph: &Rewriter, node: &PlanNode) -> Option<PlanEdge> {
    let mut inputs = batch_inputs(node);
    let source = inputs.next()?;
    let output = graph.edge_type(source);
    (!output.is_ref && output.dtype == DType::F32 && inputs.all(|edge| edge == source)).then_some(source)
}

/// Returns the nodes whose inputs are `source`, one another's outputs and constants. They read `source` image by image, also if it is a constant.
fn members_behind(graph: &Rewriter, source: PlanEdge) -> FxHashSet<PlanNodeId> {
    let mut members = FxHashSet::default();
    let mut todo: Vec<PlanNodeId> = graph.consumers(source.node).to_vec();
    while let Some(id) = todo.pop() {
        let Some(node) = graph.get(id).filter(|_| !members.contains(&id) && is_batched(graph, id)) else { continue };
        let reads_images = node.inputs.iter().enumerate().all(|(i, &edge)| edge != source || is_batch_input(node, i));
        if reads_images && batch_inputs(node).all(|edge| edge == source || members.contains(&edge.node)) {
            members.insert(id);
            todo.extend(graph.consumers(id));
        }
    }
    members
}

fn replace(graph: &mut Rewriter, source: PlanEdge, members: &FxHashSet<PlanNodeId>) -> Result<()> {
    let Some(order) = graph.topological(members, &|_, _| false) else { bail!(Internal, "a cycle without NextIteration") };
    let results = graph.outgoing(members);
    let constants = members.iter().filter_map(|&id| graph.get(id)).flat_map(|n| &n.inputs).filter(|&&edge| graph.is_constant(edge.node));
    let mut lowering = Lowering::new(graph, &members.iter().copied().chain(constants.map(|edge| edge.node)).collect());
    let source_reg = lowering.fresh();
    lowering.bind(source, source_reg);
    let mut code = Code::default();
    for &id in &order {
        lowering.node(id, &mut code)?;
    }
    let result_regs = results.iter().map(|&edge| lowering.reg(edge)).collect::<Result<Vec<Reg>>>()?;
    let kept = (0..lowering.num_constants()).chain(result_regs.iter().copied()).collect();
    mark_last_uses(&mut code, &mut FxHashSet::default(), &kept);
    let (constants, num_regs) = lowering.finish();
    let Some(last) = order.last().and_then(|&id| graph.get(id)) else { return Ok(()) };
    let program = PlanNode {
        name: last.name.clone(),
        op: Arc::from("_BatchProgram"),
        traits: OpTraits::default(),
        kind: NodeKind::Program,
        frame: last.frame,
        outputs: results.iter().map(|&edge| graph.edge_type(edge)).collect(),
        shapes: results.iter().map(|&edge| graph.edge_shape(edge)).collect(),
        kernel: Some(Arc::new(BatchProgram::new(code, constants, num_regs, source_reg, result_regs))),
        cost: Cost::Expensive,
        inputs: vec![source],
        takes_ref: vec![false],
        controls: Vec::new(),
    };
    graph.replace(members, program, &results);
    Ok(())
}
