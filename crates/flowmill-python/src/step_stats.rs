//! Converts the statistics of a step to TensorFlow's `StepStats`.

use flowmill_proto::{AllocatorMemoryUsed, DeviceStepStats, Message, NodeExecStats, StepStats};
use flowmill_runtime::StatsCollector;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Takes what was collected and serialises it.
pub(crate) fn step_stats(stats: &StatsCollector) -> Vec<u8> {
    let start = stats.start_time() as i64;
    let mut devices: BTreeMap<Arc<str>, Vec<NodeExecStats>> = BTreeMap::new();
    for node in stats.take() {
        let nanos = |t: u64| start.saturating_mul(1000).saturating_add(t as i64);
        let stats = NodeExecStats {
            node_name: node.name.to_string(),
            timeline_label: format!("{} = {}()", node.name, node.op),
            all_start_micros: nanos(node.start) / 1000,
            all_start_nanos: nanos(node.start),
            op_end_rel_micros: (node.end.saturating_sub(node.start) / 1000) as i64,
            op_end_rel_nanos: node.end.saturating_sub(node.start) as i64,
            all_end_rel_micros: (node.end.saturating_sub(node.start) / 1000) as i64,
            all_end_rel_nanos: node.end.saturating_sub(node.start) as i64,
            scheduled_micros: nanos(node.scheduled) / 1000,
            scheduled_nanos: nanos(node.scheduled),
            thread_id: node.thread,
            memory: vec![AllocatorMemoryUsed {
                allocator_name: "cpu".to_owned(),
                total_bytes: node.output_bytes as i64,
                ..Default::default()
            }],
            ..Default::default()
        };
        devices.entry(node.device).or_default().push(stats);
    }
    let of_device = |(device, node_stats): (Arc<str>, _)| DeviceStepStats { device: device.to_string(), node_stats, ..Default::default() };
    StepStats { dev_stats: devices.into_iter().map(of_device).collect(), ..Default::default() }.encode_to_vec()
}
