//! The nodes that a session with one GPU runs on the CPU, with the reasons.

use super::text;
use flowmill::device::{Device, HostDevice};
use flowmill::gpu::PlannedGpu;
use flowmill::graph::{DeviceName, Node};
use flowmill::{DType, ImportOptions, Result, Session, SessionOptions, import_graph_def, kernels, new_graph, proto};
use proto::{GraphDef, OpDef};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Places the nodes of a graph as a session with one CPU, one GPU and soft placement does.
///
/// # Errors
/// Returns the errors of importing and placing the graph.
pub(super) fn placement(def: &GraphDef, producer_ops: &[OpDef]) -> Result<Value> {
    let mut graph = new_graph()?;
    import_graph_def(&mut graph, def.clone(), &ImportOptions { producer_ops: producer_ops.to_vec(), ..ImportOptions::default() })?;
    let gpu: Arc<dyn Device> = Arc::new(PlannedGpu::new(0));
    let graph = Arc::new(flowmill::sync::RwLock::new(graph));
    let options = SessionOptions { allow_soft_placement: true, ..SessionOptions::default() };
    let session = Session::with_devices(graph.clone(), vec![HostDevice::cpu(0, kernels()), gpu.clone()], options)?;
    let placed = session.placement()?;
    let gpu_name = gpu.attributes().name.to_string();
    let (mut on_gpu, mut on_cpu) = (0, BTreeMap::<String, BTreeMap<String, Vec<String>>>::new());
    let graph = graph.read();
    for node in graph.op_nodes() {
        if placed.get(node.name()).is_some_and(|device| *device == gpu_name) {
            on_gpu += 1;
        } else {
            on_cpu.entry(reason(node, &gpu)).or_default().entry(node.op().to_owned()).or_default().push(node.name().to_owned());
        }
    }
    Ok(json!({ "gpu": on_gpu, "cpu": on_cpu }))
}

/// Returns the reason for which a node is not on the GPU.
fn reason(node: &Node, gpu: &Arc<dyn Device>) -> String {
    let requests_other =
        !node.device().is_empty() && DeviceName::parse_requested(node.device()).is_ok_and(|wanted| !wanted.matches(&gpu.attributes().name));
    if requests_other {
        return format!("requests {}", node.device());
    }
    let kernels = gpu.kernels();
    if kernels.contains(node.op()) && !kernels.supports(node.op(), node.attrs()) {
        let types = kernels.defs(node.op()).iter().map(|def| {
            let types =
                |(attr, dtypes): &(&str, &[DType])| format!("{attr} in {}", dtypes.iter().map(|t| t.name()).collect::<Vec<_>>().join(", "));
            def.constraints().iter().map(types).collect::<Vec<_>>().join("; ")
        });
        return format!("GPU kernels of {} have {}", node.op(), types.collect::<Vec<_>>().join(", or "));
    }
    let has_strings = node.input_types().iter().chain(node.output_types()).any(|t| t.dtype == DType::String);
    match kernels.contains(node.op()) {
        true => "is placed with the nodes that it is colocated with or serves".to_owned(),
        false if has_strings => "strings are in the host's memory".to_owned(),
        false if node.op() == "Placeholder" || node.op() == "Const" || node.op() == "NoOp" => {
            "is placed with the nodes that use it".to_owned()
        }
        false => "no GPU kernel".to_owned(),
    }
}

/// Prints the result of [`placement`].
pub(super) fn print(devices: &Value) {
    const EXAMPLES: usize = 3;
    let Some(reasons) = devices["cpu"].as_object() else { return };
    let ops = || reasons.values().filter_map(Value::as_object).flatten();
    let on_cpu: usize = ops().filter_map(|(_, nodes)| nodes.as_array()).map(Vec::len).sum();
    say!("  with a GPU: {} nodes on GPU:0, {on_cpu} on CPU:0", devices["gpu"]);
    for (reason, ops) in reasons {
        for (op, nodes) in ops.as_object().into_iter().flatten() {
            let nodes = nodes.as_array().map_or(&[][..], Vec::as_slice);
            let examples: Vec<String> = nodes.iter().take(EXAMPLES).map(text).collect();
            let more = if nodes.len() > EXAMPLES { ", ..." } else { "" };
            say!("    CPU:0 {op}: {reason}; {} nodes: {}{more}", nodes.len(), examples.join(", "));
        }
    }
}
