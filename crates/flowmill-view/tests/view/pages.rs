//! Pages: their data, and what hostile names and attributes become.

use crate::{REGISTRY, graph, layers};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use flowmill_graph::Graph;
use flowmill_proto::{AllocatorMemoryUsed, DeviceStepStats, Message, NodeExecStats, RunMetadata, StepStats};
use flowmill_tensor::Code;
use flowmill_view::{Change, Facts, View, page};
use serde_json::Value;
use std::io::Read;

fn page_of(graph: &Graph, facts: &Facts) -> String {
    page("a model", &[View { name: "graph", about: "", graph, facts, passes: &[] }])
}

/// Returns the bytes of a block of a page.
fn block(page: &str, name: &str) -> Vec<u8> {
    let start = page.find(&format!("id=\"{name}\">")).unwrap_or_else(|| panic!("no block {name}"));
    let text = &page[start..];
    let text = &text[text.find('>').unwrap() + 1..text.find("</script>").unwrap()];
    let mut bytes = Vec::new();
    GzDecoder::new(&*STANDARD.decode(text).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

fn json(page: &str, name: &str) -> Value {
    serde_json::from_slice(&block(page, name)).unwrap()
}

#[test]
fn a_page_has_its_scopes_with_edges_and_shapes() {
    let page = page_of(&layers(2), &Facts::default());
    let contents = json(&page, "contents");
    assert_eq!(contents["views"][0]["num_nodes"], 13);
    let scopes = json(&page, "v0c0");
    let root = &scopes[0];
    assert_eq!(root["names"], serde_json::json!(["x"]));
    assert_eq!(root["scopes"][0]["name"], "net");
    assert_eq!(root["labels"], serde_json::json!(["float32[?,4]"]));
    let layer = scopes.as_array().unwrap().iter().find(|scope| scope["names"][0] == "w").unwrap();
    // The weights are drawn at the nodes that use them.
    assert_eq!(layer["attached"], serde_json::json!([[0, 2], [1, 3]]));
}

/// Returns the notes on the scopes of a page, by the paths of the scopes.
fn notes(page: &str) -> Vec<(String, String)> {
    let scopes = json(page, "v0c0");
    let scopes = scopes.as_array().unwrap();
    let path = |id: &Value| {
        let sub = scopes.iter().flat_map(|scope| scope["scopes"].as_array().unwrap()).find(|sub| sub["id"] == *id);
        sub.map_or_else(String::new, |sub| sub["name"].as_str().unwrap().to_owned())
    };
    let subs = scopes.iter().flat_map(|scope| scope["scopes"].as_array().unwrap().iter().map(move |sub| (path(&scope["id"]), sub)));
    let noted = subs.filter_map(|(outer, sub)| Some((format!("{outer}/{}", sub["name"].as_str()?), sub["note"].as_str()?.to_owned())));
    noted.filter(|(_, note)| !note.is_empty()).collect()
}

#[test]
fn loops_are_noted_at_the_scopes_of_their_conditions() {
    // The counter of a gradient belongs to the loop, and is elsewhere.
    let frame = "frame_name=\"f\", parallel_iterations=7, is_constant=false";
    let text = format!(
        "a/zero = Const() {{dtype=i32, value=i32[]{{0}}}}\na/loop/Enter = Enter(a/zero) {{T=i32, {frame}}}\n\
         a/loop/Merge = Merge(a/loop/Enter, a/loop/Next) {{N=2, T=i32}}\na/loop/cond/ten = Const() {{dtype=i32, value=i32[]{{10}}}} ^a/loop/Merge\n\
         a/loop/cond/Less = Less(a/loop/Merge, a/loop/cond/ten) {{T=i32}}\na/loop/LoopCond = LoopCond(a/loop/cond/Less)\n\
         a/loop/Switch:2 = Switch(a/loop/Merge, a/loop/LoopCond) {{T=i32}}\na/loop/one = Const() {{dtype=i32, value=i32[]{{1}}}} ^a/loop/Switch\n\
         a/loop/Add = AddV2(a/loop/Switch:1, a/loop/one) {{T=i32}}\na/loop/Next = NextIteration(a/loop/Add) {{T=i32}}\n\
         a/loop/Exit = Exit(a/loop/Switch) {{T=i32}}\na/after = Neg(a/loop/Exit) {{T=i32}}\n\
         gradients/Enter = Enter(a/zero) {{T=i32, {frame}}}\ngradients/Merge = Merge(gradients/Enter, gradients/Next) {{N=2, T=i32}}\n\
         gradients/Switch:2 = Switch(gradients/Merge, a/loop/LoopCond) {{T=i32}}\ngradients/Add = AddV2(gradients/Switch:1, a/loop/one) {{T=i32}}\n\
         gradients/Next = NextIteration(gradients/Add) {{T=i32}}\ngradients/Exit = Exit(gradients/Switch) {{T=i32}}\n"
    );
    let notes = notes(&page_of(&graph(&text), &Facts::default()));
    assert_eq!(notes, [("a/loop".to_owned(), "loop f, 7 iterations in parallel".to_owned())]);
}

#[test]
fn details_have_attributes_and_summaries_of_constants() {
    let page = page_of(&graph("w = Const() {dtype=f32, value=f32[3]{1,2,6}}\ny = Neg(w) {T=f32}\n"), &Facts::default());
    let details = json(&page, "v0d0");
    let value = details[0]["a"].as_array().unwrap().iter().find(|attr| attr[0] == "value").unwrap()[1].as_str().unwrap().to_owned();
    assert_eq!(value, "float32[3], 3 elements, 12 bytes; values 1, 2, 6; min 1, max 6, mean 3.0000");
    assert_eq!(details[1]["i"], serde_json::json!(["w:0"]));
    assert_eq!(details[1]["o"], serde_json::json!(["float32[3]"]));
    assert_eq!(details[1]["a"], serde_json::json!([["T", "float32"]]));
}

#[test]
fn the_index_has_the_edges_in_the_numbers_of_the_names() {
    let page = page_of(&graph("b/x = Placeholder() {dtype=f32}\na = Neg(b/x)\nc/y = Neg(a)\nb/z = Neg(c/y)\n"), &Facts::default());
    let names: Vec<String> = json(&page, "v0n")["nodes"].as_str().unwrap().split('\n').map(str::to_owned).collect();
    let numbers: Vec<u32> = block(&page, "v0e").chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    let mut edges: Vec<(&str, &str)> = numbers.chunks_exact(2).map(|e| (&*names[e[0] as usize], &*names[e[1] as usize])).collect();
    edges.sort_unstable();
    assert_eq!(edges, [("a", "y"), ("x", "a"), ("y", "z")]);
}

#[test]
fn hostile_texts_are_no_markup() {
    let hostile = "</script><script>alert(1)</script>";
    let mut graph = graph("x = Placeholder() {dtype=f32}\ny = Neg(x)\n");
    let id = graph.find_node("y").unwrap().id();
    graph
        .set_attr(id, "note", flowmill_proto::AttrValue::from(flowmill_proto::attr_value::Value::S(hostile.as_bytes().to_vec().into())))
        .unwrap();
    graph.set_device(id, "/device:CPU:0").unwrap();
    let mut facts = Facts::default();
    facts.devices.insert("y".to_owned(), format!("{hostile}\u{2028}\"'&\0"));
    facts.changes.insert("y".to_owned(), (hostile.to_owned(), Change::Changed));
    let page = page(
        &format!("{hostile}\"'"),
        &[View { name: hostile, about: hostile, graph: &graph, facts: &facts, passes: &[(hostile.to_owned(), 1)] }],
    );
    assert!(!page.contains("alert(1)</script>"), "only the page's own elements are markup");
    assert!(page.contains("<title>&lt;/script&gt;"));
    assert_eq!(json(&page, "contents")["views"][0]["name"], hostile);
}

#[test]
fn names_of_the_markup_are_not_replaced_in_titles() {
    let page = page("{{script}} {{data}}", &[]);
    assert!(page.contains("<title>{{script}} {{data}}</title>"));
    assert_eq!(page.matches("globalThis.flowmillView").count(), 1);
}

#[test]
fn an_empty_graph_and_no_graph_have_pages() {
    let page_of_empty = page_of(&Graph::new(REGISTRY.clone()), &Facts::default());
    assert_eq!(json(&page_of_empty, "v0c0")[0]["names"], serde_json::json!([]));
    assert_eq!(json(&page("none", &[]), "contents")["views"], serde_json::json!([]));
}

#[test]
fn pages_are_the_same_each_time() {
    let graph = layers(40);
    assert_eq!(page_of(&graph, &Facts::default()), page_of(&graph, &Facts::default()));
}

#[test]
fn large_graphs_are_in_several_chunks() {
    let page = page_of(&layers(1500), &Facts::default());
    assert!(json(&page, "contents")["views"][0]["num_chunks"].as_u64().unwrap() > 1);
}

#[test]
fn scripts_have_no_imports_and_load_nothing() {
    let page = page("x", &[]);
    assert!(!page.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
    assert!(page.contains("default-src 'none'"));
    for forbidden in ["http://", "https://", "fetch(", "XMLHttpRequest", "innerHTML"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

fn metadata(devices: &[(&str, &[(&str, i64, i64)])]) -> Vec<u8> {
    let stats = |&(name, micros, bytes): &(&str, i64, i64)| NodeExecStats {
        node_name: name.to_owned(),
        op_start_rel_micros: 1,
        op_end_rel_micros: 1 + micros,
        memory: vec![AllocatorMemoryUsed { total_bytes: bytes, ..Default::default() }],
        ..Default::default()
    };
    let device = |(name, nodes): &(&str, &[(&str, i64, i64)])| DeviceStepStats {
        device: (*name).to_owned(),
        node_stats: nodes.iter().map(stats).collect(),
        ..Default::default()
    };
    RunMetadata {
        step_stats: Some(StepStats { dev_stats: devices.iter().map(device).collect(), ..Default::default() }),
        ..Default::default()
    }
    .encode_to_vec()
}

#[test]
fn run_metadata_has_times_memory_and_devices() {
    let mut facts = Facts::default();
    facts
        .add_run_metadata(&metadata(&[
            ("/job:localhost/replica:0/task:0/device:CPU:0", &[("x", 5, 100), ("x", 7, 28), ("y", -3, -4)]),
            ("/device:GPU:0/stream:all", &[("x", 1000, 0)]),
        ]))
        .unwrap();
    let x = facts.costs["x"];
    assert_eq!((x.nanoseconds, x.bytes, x.executions), (12_000, 128, 2));
    assert_eq!((facts.costs["y"].nanoseconds, facts.costs["y"].bytes), (0, 0));
    assert_eq!(facts.devices["x"], "/job:localhost/replica:0/task:0/device:CPU:0");
}

#[test]
fn other_files_are_no_run_metadata() {
    let mut facts = Facts::default();
    assert_eq!(facts.add_run_metadata(b"\xff\xff no message").unwrap_err().code(), Code::DataLoss);
    assert_eq!(facts.add_run_metadata(b"").unwrap_err().code(), Code::NotFound);
}
