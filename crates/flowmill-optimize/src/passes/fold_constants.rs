//! Evaluates nodes that depend on constants only.
//!
//! Before: `y = Mul(a, b) ^c` with constants `a`, `b`. After: `y = Const() {value=…} ^c`, with the control inputs of `a` and `b` added.
//!
//! Before: `s = Shape(x)`, where shape inference finds all sizes of `x`. After: `s = Const() {value=…}`. `ShapeN`, `Size` and `Rank` are folded
//! likewise.
//!
//! Sound for ops without state, because the kernel would compute the same value in every step. The new constant waits for all nodes that the folded
//! node waited for, directly or through its inputs. So it is dead in the same cases, and in a loop's frame it starts in each iteration. These are not
//! folded:
//! * nodes that are not pure or whose values no constant could hold (`is_foldable`);
//! * results that are larger than [`MAX_BYTES`], or whose size is not known beforehand;
//! * nodes whose evaluation fails: a step that runs them returns the error;
//! * shapes in loops and branches: a constant that waited for the tensor would add an order that the graph does not have;
//! * shapes of tensors that come from nodes with effects: a step runs these even if their values are not needed, and fails if a
//!   variable has no value.
//!
//! `remove_identities` runs earlier only for speed: constants are seen through `Identity`.

use crate::rewrite::{Constant, add_constant, constant_attrs, constant_input, follows_effects, node_def, replace};
use crate::{PassContext, Target};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Graph, NodeId, OutputId, ShapeRefiner, evaluate_node, is_foldable};
use flowmill_tensor::{Result, Tensor};

/// The largest result of one node that is kept as a constant. TensorFlow's limit.
const MAX_BYTES: usize = 10 << 20;

pub(crate) fn run(graph: &mut Graph, PassContext { target, limit, .. }: PassContext<'_>) -> Result<usize> {
    let order = topological_order(graph)?;
    let mut count = fold_shapes(graph, &order, limit)?;
    for id in order {
        if count == limit {
            break;
        }
        if let Some((outputs, controls)) = compute(graph, id, target) {
            substitute(graph, id, &outputs, &controls)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Puts constants in the place of the shapes, sizes and ranks that static inference knows, of tensors that every step has once. So the constants need
/// not wait for the tensors, which may go if nobody else needs them. The inference computes values that shapes depend on, which the analysis that passes
/// share leaves to this pass.
fn fold_shapes(graph: &mut Graph, order: &[NodeId], limit: usize) -> Result<usize> {
    let asked: Vec<NodeId> = order.iter().copied().filter(|&id| graph[id].traits().reads_shape).collect();
    // What has to run in any case; what comes after control flow may be dead, or of an iteration.
    let kept = follows_effects(graph, order);
    let asked: Vec<NodeId> = asked.into_iter().filter(|id| !kept[id.index()]).collect();
    let mut shapes = ShapeRefiner::new();
    // Where inference finds a fault, the step that gets there gives the error.
    if asked.is_empty() || shapes.infer_graph(graph).is_err() {
        return Ok(0);
    }
    let mut count = 0;
    for id in asked {
        if count == limit {
            break;
        }
        let values = (0..graph[id].num_outputs() as u32).map(|slot| shapes.value(id.output(slot))?.constant.clone());
        let Some(values) = values.collect::<Option<Vec<Tensor>>>().filter(|v| !v.is_empty()) else { continue };
        let controls: Vec<NodeId> = graph.control_inputs(id).collect();
        substitute(graph, id, &values, &controls)?;
        count += 1;
    }
    Ok(count)
}

/// The outputs of a node whose inputs are constants, and what these and the node wait for.
fn compute(graph: &Graph, id: NodeId, target: &dyn Target) -> Option<(Vec<Tensor>, Vec<NodeId>)> {
    let node = graph.get(id).filter(|n| is_foldable(graph, n))?;
    let inputs: Vec<Constant> = (0..node.num_inputs()).map(|i| constant_input(graph, id, i)).collect::<Option<_>>()?;
    let values: Vec<Tensor> = inputs.iter().map(|c| c.value.clone()).collect();
    let outputs = evaluate_node(target, graph, id, &values, MAX_BYTES)?;
    let mut controls: Vec<NodeId> = inputs.into_iter().flat_map(|c| c.controls).chain(graph.control_inputs(id)).collect();
    controls.sort_unstable();
    controls.dedup();
    Some((outputs, controls))
}

fn substitute(graph: &mut Graph, id: NodeId, outputs: &[Tensor], controls: &[NodeId]) -> Result<()> {
    if let [value] = outputs {
        let mut def = node_def(graph, "Const", String::new(), &[id]);
        def.attr = constant_attrs(value)?;
        return replace(graph, id, def, &[], controls).map(|_| ());
    }
    let mut constants: Vec<Option<OutputId>> = vec![None; outputs.len()];
    for edge in graph.out_edges(id).collect::<Vec<_>>() {
        let slot = edge.source().map_or(0, |s| s.slot as usize);
        let (Some(place), Some(value)) = (constants.get_mut(slot), outputs.get(slot)) else { continue };
        let source = match *place {
            Some(source) => source,
            None => *place.insert(add_constant(graph, value, controls, id)?),
        };
        if edge.is_control() {
            graph.add_control_edge(source.node, edge.dst)?;
        } else {
            graph.update_edge(source, edge.dst, edge.dst_input as usize)?;
        }
    }
    graph.remove_node(id)
}
