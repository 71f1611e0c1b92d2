//! Converts the statistics of a step to TensorFlow's `StepStats`.

use crate::label::{CopyLabel, write_iteration};
use flowmill_proto::{
    AllocationDescription, AllocatorMemoryUsed, DeviceStepStats, NodeExecStats, NodeOutput, StepStats, TensorDescription,
};
use flowmill_runtime::{NodeStats, OutputStats, StatsCollector};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Takes what was collected, as TensorFlow's message: devices by name, nodes in the order in which they ended.
pub fn step_stats(stats: &StatsCollector) -> StepStats {
    let start = stats.start_time() as i64;
    let mut devices: BTreeMap<Arc<str>, Vec<NodeExecStats>> = BTreeMap::new();
    for node in stats.take() {
        let device = node.device.clone();
        devices.entry(device).or_default().push(node_exec_stats(&node, start));
    }
    let of_device = |(device, node_stats): (Arc<str>, _)| DeviceStepStats { device: device.to_string(), node_stats, ..Default::default() };
    StepStats { dev_stats: devices.into_iter().map(of_device).collect(), ..Default::default() }
}

/// `start` is the time when the collector's clock started, in microseconds since the Unix epoch.
fn node_exec_stats(node: &NodeStats, start: i64) -> NodeExecStats {
    let nanos = |t: u64| start.saturating_mul(1000).saturating_add(t as i64);
    let duration = node.end.saturating_sub(node.start) as i64;
    let allocator_name = allocator_of(&node.device);
    let of_output = |(slot, output): (usize, &Option<OutputStats>)| Some(node_output(slot, output.as_ref()?, &allocator_name));
    NodeExecStats {
        node_name: node.name.to_string(),
        timeline_label: label(node),
        all_start_micros: nanos(node.start) / 1000,
        all_start_nanos: nanos(node.start),
        op_end_rel_micros: duration / 1000,
        op_end_rel_nanos: duration,
        all_end_rel_micros: duration / 1000,
        all_end_rel_nanos: duration,
        scheduled_micros: nanos(node.scheduled) / 1000,
        scheduled_nanos: nanos(node.scheduled),
        thread_id: node.thread,
        output: node.outputs.iter().enumerate().filter_map(of_output).collect(),
        memory: vec![AllocatorMemoryUsed {
            allocator_name,
            total_bytes: node.output_bytes as i64,
            allocator_bytes_in_use: node.device_bytes.map_or(0, |bytes| bytes as i64),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn node_output(slot: usize, output: &OutputStats, allocator_name: &str) -> NodeOutput {
    let allocation = AllocationDescription {
        requested_bytes: output.bytes as i64,
        allocated_bytes: output.bytes as i64,
        allocator_name: allocator_name.to_owned(),
        ptr: output.address,
        ..Default::default()
    };
    let description = TensorDescription {
        dtype: output.dtype as i32,
        shape: Some(output.shape.to_proto()),
        allocation_description: Some(allocation),
        ..Default::default()
    };
    NodeOutput { slot: slot as i32, tensor_description: Some(description), ..Default::default() }
}

/// Returns the name of the allocator of a device: its type in small letters.
fn allocator_of(device: &str) -> String {
    let device_type = device.rsplit_once("device:").map_or("cpu", |(_, device)| device.split(':').next().unwrap_or(device));
    device_type.to_lowercase()
}

fn label(node: &NodeStats) -> String {
    let mut label = format!("{} = {}(", node.name, node.op);
    for (i, input) in node.inputs.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        let _ = match input.slot {
            None => write!(label, "{comma}^{}", input.name),
            Some(0) => write!(label, "{comma}{}", input.name),
            Some(slot) => write!(label, "{comma}{}:{slot}", input.name),
        };
    }
    label.push(')');
    if let Some(transfer) = &node.transfer {
        CopyLabel { bytes: node.output_bytes, tensor: &transfer.tensor, from: &transfer.from, to: &transfer.to }.write(&mut label);
    }
    if let Some(frame) = &node.frame {
        write_iteration(&mut label, frame, &node.iteration);
    }
    label
}
