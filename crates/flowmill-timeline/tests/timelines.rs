//! Timelines of steps: lanes, dataflow, memory, the critical path, traces and pages.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use flowmill_proto::{AllocationDescription, DeviceStepStats, NodeExecStats, NodeOutput, StepStats, TensorDescription, TensorShapeProto};
use flowmill_timeline::{ChromeOptions, EventKind, OpTime, Timeline};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

const CPU: &str = "/job:localhost/replica:0/task:0/device:CPU:0";
const CPU_1: &str = "/job:localhost/replica:0/task:0/device:CPU:1";
/// Nanoseconds since the epoch.
const START: i64 = 1_700_000_000_000_000_000;

fn node(label: &str, thread: u32, start: i64, end: i64) -> NodeExecStats {
    NodeExecStats {
        node_name: label.split(" = ").next().unwrap().to_owned(),
        timeline_label: label.to_owned(),
        all_start_nanos: START + start,
        all_start_micros: (START + start) / 1000,
        all_end_rel_nanos: end - start,
        scheduled_nanos: START + start,
        thread_id: thread,
        ..NodeExecStats::default()
    }
}

fn with_output(mut node: NodeExecStats, bytes: i64, address: u64) -> NodeExecStats {
    let allocation = AllocationDescription { requested_bytes: bytes, allocator_name: "cpu".into(), ptr: address, ..Default::default() };
    let description = TensorDescription {
        dtype: 1,
        shape: Some(TensorShapeProto::default()),
        allocation_description: Some(allocation),
        ..Default::default()
    };
    node.output.push(NodeOutput { slot: 0, tensor_description: Some(description), ..Default::default() });
    node
}

fn stats(devices: Vec<(&str, Vec<NodeExecStats>)>) -> StepStats {
    let device = |(device, node_stats): (&str, _)| DeviceStepStats { device: device.to_owned(), node_stats, ..Default::default() };
    StepStats { dev_stats: devices.into_iter().map(device).collect(), ..Default::default() }
}

fn timeline(devices: Vec<(&str, Vec<NodeExecStats>)>) -> Timeline {
    Timeline::new(&stats(devices), OpTime::Schedule)
}

fn chrome(timeline: &Timeline, options: ChromeOptions) -> Vec<Value> {
    let mut text = Vec::new();
    timeline.write_chrome(&mut text, options).unwrap();
    let trace: Value = serde_json::from_slice(&text).unwrap();
    trace["traceEvents"].as_array().unwrap().clone()
}

/// Returns the nanoseconds of a time in microseconds.
fn nanos(value: &Value) -> i128 {
    (value.as_f64().unwrap() * 1e3).round() as i128
}

/// Checks that the slices of each thread of each process nest or do not overlap.
fn assert_nested(events: &[Value]) {
    let mut rows: BTreeMap<(u64, u64), Vec<(i128, i128)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let start = nanos(&event["ts"]);
        let row = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        rows.entry(row).or_default().push((start, start + nanos(&event["dur"])));
    }
    for mut slices in rows.into_values() {
        slices.sort_by_key(|&(start, end)| (start, -end));
        let mut open: Vec<i128> = Vec::new();
        for (start, end) in slices {
            while open.last().is_some_and(|&last| last <= start) {
                open.pop();
            }
            assert!(open.last().is_none_or(|&last| end <= last), "a slice from {start} to {end} crosses one that ends at {open:?}");
            open.push(end);
        }
    }
}

#[test]
fn events_of_a_lane_nest_or_do_not_overlap() {
    let events = vec![
        node("outer = Call()", 3, 0, 100),
        node("inner = Neg()", 3, 10, 20),
        node("crossing = Neg()", 3, 50, 150),
        node("after = Neg()", 3, 100, 120),
        node("other = Neg()", 5, 0, 10),
    ];
    let made = timeline(vec![(CPU, events)]);
    let lanes: Vec<(usize, usize)> = made.events.iter().map(|event| (event.lane, event.depth)).collect();
    assert_eq!(lanes, [(0, 0), (0, 1), (1, 0), (0, 0), (2, 0)]);
    assert_eq!(made.devices[0].lanes.iter().map(|lane| lane.name.as_str()).collect::<Vec<_>>(), ["thread 3", "thread 3 (2)", "thread 5"]);
    assert_nested(&chrome(&made, ChromeOptions::default()));
}

#[test]
fn arrows_lead_from_producers_to_consumers_in_other_lanes() {
    let made =
        timeline(vec![(CPU, vec![node("a = Const()", 0, 0, 10), node("b = Neg(a)", 0, 10, 20), node("c = Neg(a:0, ^b)", 1, 30, 40)])]);
    assert_eq!(
        made.events[2].inputs.iter().map(|input| (input.is_data, input.producer)).collect::<Vec<_>>(),
        [(true, Some(0)), (false, Some(1))]
    );
    let events = chrome(&made, ChromeOptions::default());
    let flows: Vec<(&str, u64, i128)> = events
        .iter()
        .filter(|event| event["cat"] == "DataFlow")
        .map(|event| (event["ph"].as_str().unwrap(), event["tid"].as_u64().unwrap(), nanos(&event["ts"])))
        .collect();
    assert_eq!(flows, [("s", 0, 9), ("t", 1, 30), ("s", 0, 19), ("t", 1, 30)]);
    let without = chrome(&made, ChromeOptions { dataflow: false, ..ChromeOptions::default() });
    assert!(without.iter().all(|event| event["cat"] != "DataFlow"));
}

#[test]
fn a_receive_belongs_to_its_send() {
    let copy = format!("[0B] edge_1_x from {CPU} to {CPU_1}");
    let received = format!("[64B] edge_1_x from {CPU} to {CPU_1}");
    let made = timeline(vec![
        (CPU, vec![node("x = Neg()", 0, 0, 40), node(&format!("x/_1 = _Send(x) {copy}"), 0, 40, 50)]),
        (CPU_1, vec![node(&format!("x/_2 = _Recv() {received}"), 1, 0, 60), node("y = Neg(x/_2)", 1, 60, 90)]),
    ]);
    let kinds: Vec<EventKind> = made.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Compute, EventKind::Send, EventKind::Receive, EventKind::Compute]);
    assert_eq!((made.events[2].sender, made.events[1].copy.as_ref().unwrap().bytes), (Some(1), 64));
    assert_eq!(made.devices[1].lanes.iter().map(|lane| lane.name.as_str()).collect::<Vec<_>>(), ["thread 1", "receives"]);
    let path = made.critical_path();
    assert_eq!((path.events, path.running, path.waiting), (vec![0, 1, 2, 3], 90, 0));
    let events = chrome(&made, ChromeOptions::default());
    let copies: Vec<&Value> = events.iter().filter(|event| event["cat"] == "Copy").collect();
    assert_eq!((copies.len(), nanos(&copies[0]["ts"]), nanos(&copies[1]["ts"])), (2, 49, 59));
    assert_nested(&events);
}

#[test]
fn a_tensor_of_another_process_has_no_op() {
    let label = "[1024B] edge_160_conv2/biases/read from /job:ps/replica:0/task:3/cpu:0 to /job:worker/replica:0/task:0/cpu:0";
    let received = NodeExecStats {
        node_name: "RecvTensor".into(),
        all_start_micros: 12345,
        op_end_rel_micros: 42,
        timeline_label: label.into(),
        ..Default::default()
    };
    let made = timeline(vec![("/job:worker/replica:0/task:0/cpu:0", vec![received])]);
    let event = &made.events[0];
    assert_eq!((&*event.op, event.kind, event.duration()), ("RecvTensor", EventKind::Receive, 42_000));
    assert_eq!(made.start_nanos, 12_345_000);
}

#[test]
fn inputs_in_loops_are_of_the_same_iteration() {
    let made = timeline(vec![(
        CPU,
        vec![
            node("x = Neg() @ loop:0", 0, 0, 10),
            node("x = Neg() @ loop:1", 1, 0, 30),
            node("y = Neg(x) @ loop:1", 0, 30, 40),
            node("y = Neg(x) @ loop:0", 1, 35, 50),
            node("z = Neg(y)", 0, 60, 70),
        ],
    )]);
    let producers: Vec<Option<usize>> = made.events[2..].iter().map(|event| event.inputs[0].producer).collect();
    // Outside of the loop, the last firing counts.
    assert_eq!(producers, [Some(1), Some(0), Some(3)]);
}

#[test]
fn memory_lives_until_the_last_use_and_is_shared() {
    let made = timeline(vec![(
        CPU,
        vec![
            with_output(node("a = Const()", 0, 0, 10), 100, 0x10),
            with_output(node("b = Neg(a)", 0, 10, 20), 100, 0x20),
            // In place of `b`.
            with_output(node("c = Relu(b)", 0, 20, 30), 100, 0x20),
            with_output(node("d = Neg(c)", 0, 40, 50), 300, 0x30),
        ],
    )]);
    let samples: Vec<(u64, u64)> = made.memory().into_values().flatten().map(|sample| (sample.time, sample.bytes)).collect();
    assert_eq!(samples, [(0, 100), (10, 200), (20, 100), (40, 400), (50, 0)]);
    let peaks = made.memory_peaks();
    let peak = &peaks["cpu"];
    assert_eq!((peak.time, peak.bytes, peak.tensors.iter().map(|name| &**name).collect::<Vec<_>>()), (40, 400, vec!["b", "d"]));
    let counters = chrome(&made, ChromeOptions::default());
    assert_eq!(counters.iter().filter(|event| event["cat"] == "Memory").count(), 5);
}

#[test]
fn the_critical_path_has_waits() {
    let mut late = node("d = Neg(b, c)", 0, 80, 100);
    late.scheduled_nanos = START + 60;
    let made =
        timeline(vec![(CPU, vec![node("a = Const()", 0, 0, 10), node("b = Neg(a)", 0, 10, 20), node("c = Neg(a)", 1, 10, 60), late])]);
    let path = made.critical_path();
    assert_eq!((path.events, path.running, path.waiting), (vec![0, 2, 3], 80, 20));
    assert_eq!(made.events[3].wait(), 20);
    let marked = chrome(&made, ChromeOptions::default());
    let names = |category: &str| -> Vec<String> {
        marked
            .iter()
            .filter(|event| event["cat"] == category && event["ph"] == "b")
            .map(|event| event["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!((names("CriticalPath"), names("Wait")), (vec!["a".to_owned(), "c".to_owned(), "d".to_owned()], vec!["wait".to_owned()]));
}

#[test]
fn kernels_on_streams_extend_their_nodes() {
    let mut kernel = node("x", 0, 50, 90);
    kernel.node_name = "y:MatMul".into();
    let devices = || vec![(CPU, vec![node("y = MatMul()", 0, 0, 10)]), ("/device:GPU:0/stream:all", vec![kernel.clone()])];
    let of = |op_time| {
        let made = Timeline::new(&stats(devices()), op_time);
        assert_eq!((&*made.events[1].name, &*made.events[1].op, made.events[1].kind), ("y", "MatMul", EventKind::Kernel));
        (made.events[0].start, made.events[0].end)
    };
    assert_eq!((of(OpTime::Schedule), of(OpTime::Gpu), of(OpTime::All)), ((0, 10), (50, 90), (0, 90)));
}

#[test]
fn names_cannot_leave_the_pages_data() {
    let name = "</script><script>alert(1)</script><!--\u{2028}\"\\";
    let made = timeline(vec![(CPU, vec![node(&format!("{name} = Neg()"), 0, 0, 10)])]);
    let mut page = Vec::new();
    made.write_page(&mut page, "<b>&{{data}}").unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("<title>&lt;b&gt;&amp;{{data}}</title>") && !page.contains("alert(1)</script>"));
    let data = page.split_once(r#"<script type="application/json" id="data">"#).unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["strings"][data["events"]["name"][0].as_u64().unwrap() as usize], name);
}

#[test]
fn shares_are_sorted_by_time() {
    let made = timeline(vec![(CPU, vec![node("l/a = Neg()", 0, 0, 10), node("l/m/b = Relu()", 0, 10, 40), node("c = Neg()", 0, 40, 45)])]);
    let rows = |shares: flowmill_timeline::Shares| -> Vec<(String, usize, u64)> {
        shares.rows.into_iter().map(|row| (row.name, row.calls, row.nanos)).collect()
    };
    assert_eq!(rows(made.by_op()), [("Relu".to_owned(), 1, 30), ("Neg".to_owned(), 2, 15)]);
    assert_eq!(rows(made.by_scope(1)), [("l".to_owned(), 2, 40), ("(no scope)".to_owned(), 1, 5)]);
    assert_eq!(made.by_scope(2).rows[0].name, "l/m");
    assert!(made.by_op().text(1).contains("1 more"));
}

#[test]
fn sums_of_endless_times_saturate() {
    let endless = |label: &str| NodeExecStats { all_end_rel_nanos: i64::MAX, ..node(label, 0, 0, 10) };
    let ops = ["Abs", "Exp", "Neg", "Relu"];
    let made = timeline(vec![(CPU, ops.iter().map(|op| endless(&format!("{op} = {op}()"))).collect())]);
    assert_eq!(made.by_op().nanos, u64::MAX);
    assert!(made.by_op().text(1).contains("3 more"));
}

prop_compose! {
    fn any_node()(
        name in "[a-c/:_^ @=(),]{0,6}", label in prop_oneof!["[a-c] = [A-C]\\(([a-c](:1)?(, )?){0,3}\\)( @ f:[0-2](,[0-2])?)?", "\\PC{0,30}"],
        start in prop_oneof![START..START + 200, any::<i64>()], duration in prop_oneof![0i64..60, any::<i64>()],
        scheduled in prop_oneof![START..START + 200, any::<i64>()], thread in 0u32..3, bytes in prop_oneof![0i64..100, any::<i64>()], address in 0u64..4,
    ) -> NodeExecStats {
        let made = NodeExecStats {
            node_name: name, timeline_label: label, all_start_nanos: start, all_end_rel_nanos: duration, scheduled_nanos: scheduled, thread_id: thread,
            ..NodeExecStats::default()
        };
        with_output(made, bytes, address)
    }
}

proptest! {
    #[test]
    fn any_statistics_have_a_timeline(nodes in prop::collection::vec(any_node(), 0..20), others in prop::collection::vec(any_node(), 0..5)) {
        for op_time in [OpTime::Schedule, OpTime::Gpu, OpTime::All] {
            let made = Timeline::new(&stats(vec![(CPU, nodes.clone()), ("/device:GPU:0/stream:all", others.clone())]), op_time);
            let options = ChromeOptions { tensors: true, ..ChromeOptions::default() };
            let events = chrome(&made, options);
            // Floats hold the times of usual steps exactly.
            if made.duration() < 1 << 40 {
                assert_nested(&events);
            }
            chrome(&made, ChromeOptions { absolute: true, lines: false, ..options });
            made.write_page(Vec::new(), "any").unwrap();
            made.memory_peaks();
            for shares in [made.by_op(), made.by_node(), made.by_scope(1)] {
                prop_assert!(shares.text(0).lines().count() <= 1);
            }
            let path = made.critical_path();
            prop_assert!(path.events.windows(2).all(|pair| made.events[pair[0]].end <= made.events[pair[1]].end));
            prop_assert!(path.running.saturating_add(path.waiting) <= made.duration());
        }
    }
}
