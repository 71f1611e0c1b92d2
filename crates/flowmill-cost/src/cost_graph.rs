//! Measured costs in TensorFlow's form, `CostGraphDef`.

use crate::measured::MeasuredCosts;
use flowmill_graph::{Graph, Node, NodeId, Role};
use flowmill_proto::cost_graph_def::Node as CostNode;
use flowmill_proto::cost_graph_def::node::{InputInfo, OutputInfo};
use flowmill_proto::{CostGraphDef, TensorShapeProto};
use flowmill_tensor::PartialShape;

/// Adds the nodes of a graph that ran on one device, with their measured costs, to a cost graph.
///
/// Each node's `compute_cost` is its longest execution in microseconds, and the sizes of its outputs are the largest ones, as in TensorFlow. A node that
/// was not measured, such as a constant, has no cost, and its outputs have size -1. Ids continue those of the nodes that are there.
pub fn add_to_cost_graph(cost_graph: &mut CostGraphDef, graph: &Graph, device: &str, measured: &MeasuredCosts) {
    let offset = cost_graph.node.len() as i32;
    let mut ids = vec![-1i32; graph.num_node_ids()];
    for (i, node) in graph.nodes().enumerate() {
        ids[node.id().index()] = offset.saturating_add(i as i32);
    }
    let id_of = |node: NodeId| ids.get(node.index()).copied().unwrap_or(-1);
    cost_graph.node.extend(graph.nodes().map(|node| cost_node(graph, node, device, measured, &id_of)));
}

fn cost_node(graph: &Graph, node: &Node, device: &str, measured: &MeasuredCosts, id_of: &dyn Fn(NodeId) -> i32) -> CostNode {
    let costs = measured.get(node.name());
    let input = |i: usize| {
        let tensor = graph.input(node.id(), i);
        let (preceding_node, preceding_port) = tensor.map_or((-1, -1), |tensor| (id_of(tensor.node), tensor.slot as i32));
        InputInfo { preceding_node, preceding_port, ..InputInfo::default() }
    };
    let output = |i: usize| {
        let largest = costs.and_then(|costs| costs.outputs.get(i)?.largest.as_ref());
        let unknown = TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() };
        OutputInfo {
            size: largest.map_or(-1, |sample| i64::try_from(sample.bytes).unwrap_or(i64::MAX)),
            alias_input_port: if node.traits().passes_on && i == 0 { 0 } else { -1 },
            shape: Some(largest.map_or(unknown, |sample| PartialShape::to_proto(&sample.shape))),
            dtype: largest.map_or(0, |sample| sample.dtype.number()),
            ..OutputInfo::default()
        }
    };
    let mut control_input: Vec<i32> = graph.control_inputs(node.id()).map(id_of).collect();
    control_input.sort_unstable();
    CostNode {
        name: node.name().to_owned(),
        device: device.to_owned(),
        id: id_of(node.id()),
        input_info: (0..node.num_inputs()).map(input).collect(),
        output_info: (0..node.num_outputs()).map(output).collect(),
        temporary_memory_size: costs.map_or(0, |costs| i64::try_from(costs.max_temporary).unwrap_or(i64::MAX)),
        compute_cost: costs.map_or(0, |costs| i64::try_from(costs.max_time.div_ceil(1000)).unwrap_or(i64::MAX)),
        is_final: node.role() == Role::Send,
        control_input,
        ..CostNode::default()
    }
}
