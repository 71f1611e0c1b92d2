//! A profile as TensorFlow's messages. Their times are microseconds.

use crate::profile::options::View;
use crate::profile::show::ShownTree;
use crate::profile::stats::Stats;
use crate::profile::tree::{MAX_LEVELS, Row};
use flowmill_proto::tfprof::{GraphNodeProto, MultiGraphNodeProto};

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn micros(nanos: u64) -> i64 {
    number(nanos / 1000)
}

/// Returns a row with the rows below it.
pub(crate) fn graph_node(row: &Row) -> GraphNodeProto {
    let Row { own, total, .. } = row;
    GraphNodeProto {
        name: row.name.clone(),
        run_count: number(own.runs),
        exec_micros: micros(own.nanos),
        accelerator_exec_micros: micros(own.accelerator_nanos),
        cpu_exec_micros: micros(own.cpu_nanos),
        requested_bytes: number(own.requested_bytes),
        peak_bytes: number(own.peak_bytes),
        residual_bytes: number(own.residual_bytes),
        output_bytes: number(own.output_bytes),
        parameters: number(own.parameters),
        float_ops: number(own.float_ops),
        devices: row.devices.iter().cloned().collect(),
        total_definition_count: number(total.definitions),
        total_run_count: number(total.runs),
        total_exec_micros: micros(total.nanos),
        total_accelerator_exec_micros: micros(total.accelerator_nanos),
        total_cpu_exec_micros: micros(total.cpu_nanos),
        total_requested_bytes: number(total.requested_bytes),
        total_peak_bytes: number(total.peak_bytes),
        total_residual_bytes: number(total.residual_bytes),
        total_output_bytes: number(total.output_bytes),
        total_parameters: number(total.parameters),
        total_float_ops: number(total.float_ops),
        shapes: row.output_shapes.iter().take(1).map(|shape| shape.to_proto()).collect(),
        input_shapes: row.input_shapes.iter().enumerate().map(|(i, shape)| (i as i32, shape.to_proto())).collect(),
        children: row.children.iter().map(graph_node).collect(),
        ..GraphNodeProto::default()
    }
}

/// Returns the rows of a view by op or by code. In the view by op each op is below the one before it, as TensorFlow nests them, and its totals are those
/// of all ops from it on.
pub(crate) fn multi_graph_node(tree: &ShownTree, view: View) -> MultiGraphNodeProto {
    let root = &tree.root;
    if view != View::Op {
        return multi_node(root);
    }
    let mut children: Vec<MultiGraphNodeProto> = Vec::new();
    let mut below = Stats::default();
    for (i, row) in root.children.iter().enumerate().rev() {
        below.add(row.own);
        let mut message =
            MultiGraphNodeProto { children: Vec::new(), ..multi_node(&Row { total: below, children: Vec::new(), ..row.clone() }) };
        if i < MAX_LEVELS {
            message.children = std::mem::take(&mut children);
        }
        children.insert(0, message);
    }
    MultiGraphNodeProto { children, ..multi_node(&Row { children: Vec::new(), ..root.clone() }) }
}

fn multi_node(row: &Row) -> MultiGraphNodeProto {
    let Row { own, total, .. } = row;
    MultiGraphNodeProto {
        name: row.name.clone(),
        exec_micros: micros(own.nanos),
        accelerator_exec_micros: micros(own.accelerator_nanos),
        cpu_exec_micros: micros(own.cpu_nanos),
        requested_bytes: number(own.requested_bytes),
        peak_bytes: number(own.peak_bytes),
        residual_bytes: number(own.residual_bytes),
        output_bytes: number(own.output_bytes),
        parameters: number(own.parameters),
        float_ops: number(own.float_ops),
        total_exec_micros: micros(total.nanos),
        total_accelerator_exec_micros: micros(total.accelerator_nanos),
        total_cpu_exec_micros: micros(total.cpu_nanos),
        total_requested_bytes: number(total.requested_bytes),
        total_peak_bytes: number(total.peak_bytes),
        total_residual_bytes: number(total.residual_bytes),
        total_output_bytes: number(total.output_bytes),
        total_parameters: number(total.parameters),
        total_float_ops: number(total.float_ops),
        graph_nodes: row.members.iter().map(graph_node).collect(),
        children: row.children.iter().map(multi_node).collect(),
        ..MultiGraphNodeProto::default()
    }
}
