//! Profiles by every view.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_proto::tfprof::OptionsProto;
use flowmill_proto::{AllocatorMemoryUsed, DeviceStepStats, NodeExecStats, StepStats};
use flowmill_timeline::profile::{CodeFrame, ProfileOptions, Profiler, View};

const CPU: &str = "/job:localhost/replica:0/task:0/device:CPU:0";

const GRAPH: &str = "
x = Placeholder() {dtype=f32, shape=[2,3]}
layer/w = VariableV2() {dtype=f32, shape=[3,4]}
layer/read = Identity(layer/w) {T=f32}
layer/product = MatMul(x, layer/read) {T=f32}
y = Relu(layer/product) {T=f32}
";

fn options(change: impl FnOnce(&mut OptionsProto)) -> ProfileOptions {
    let all = || vec![".*".to_owned()];
    let mut message = OptionsProto {
        max_depth: 100,
        step: -1,
        order_by: "name".into(),
        account_type_regexes: all(),
        start_name_regexes: all(),
        show_name_regexes: all(),
        select: ["micros", "params", "float_ops", "bytes", "occurrence"].map(str::to_owned).to_vec(),
        ..OptionsProto::default()
    };
    change(&mut message);
    ProfileOptions::new(message).unwrap()
}

/// Returns a profiler of the graph with two steps, of which the second took twice as long.
fn profiler() -> Profiler {
    let registry = std::sync::Arc::new(flowmill_ops::registry().unwrap());
    let graph = parse_graph(GRAPH, &registry, &ConstantTable::default()).unwrap();
    let mut profiler = Profiler::new(&graph).unwrap();
    for step in [1, 2] {
        let node = |name: &str, op: &str, micros: i64| NodeExecStats {
            node_name: name.into(),
            timeline_label: format!("{name} = {op}()"),
            all_start_micros: 1000,
            all_end_rel_micros: micros * step,
            memory: vec![AllocatorMemoryUsed { total_bytes: 32, ..Default::default() }],
            ..Default::default()
        };
        let node_stats = vec![node("layer/product", "MatMul", 20), node("y", "Relu", 10), node("x/_1", "_Recv", 2)];
        let device = DeviceStepStats { device: CPU.into(), node_stats, ..Default::default() };
        profiler.add_step(step, &StepStats { dev_stats: vec![device], ..Default::default() });
    }
    profiler
}

#[test]
fn scopes_add_up() {
    let profile = profiler().show(View::Scope, &options(|_| {}));
    let root = profile.graph_node();
    assert_eq!(root.children.iter().map(|child| child.name.as_str()).collect::<Vec<_>>(), ["layer", "x", "y"]);
    assert_eq!((root.total_exec_micros, root.total_parameters, root.total_requested_bytes), (48, 12, 96));
    let layer = &root.children[0];
    assert_eq!((layer.exec_micros, layer.total_exec_micros, layer.total_parameters, layer.total_float_ops), (0, 30, 12, 2 * 2 * 3 * 4));
    assert_eq!(layer.children.iter().map(|child| child.name.as_str()).collect::<Vec<_>>(), ["layer/product", "layer/read", "layer/w"]);
    let text = profile.text();
    assert!(text.starts_with("node name | # parameters | # float_ops | requested bytes | total execution time"), "{text}");
    assert!(text.contains("\n  layer (0/12 params, 0/48 flops"), "{text}");
    assert!(text.contains("\n    layer/w (3x4, 12/12 params"), "{text}");
}

#[test]
fn one_step_or_the_mean_of_all() {
    let micros = |step| profiler().show(View::Scope, &options(|o| o.step = step)).graph_node().total_exec_micros;
    assert_eq!((micros(1), micros(2), micros(-1), micros(3)), (32, 64, 48, 0));
}

#[test]
fn dataflow_begins_at_results() {
    let root = profiler().show(View::Graph, &options(|_| {})).graph_node();
    assert_eq!(root.children[1].name, "y");
    let product = &root.children[1].children[0];
    assert_eq!((product.name.as_str(), product.children.len()), ("layer/product", 2));
    assert_eq!(product.children[0].children[0].name, "layer/w");
}

#[test]
fn ops_are_nested_as_in_tensorflow() {
    let profile = profiler().show(View::Op, &options(|o| o.order_by = "micros".into()));
    let root = profile.multi_graph_node();
    let first = &root.children[0];
    let second = &first.children[0];
    assert_eq!((first.name.as_str(), first.exec_micros, first.total_exec_micros), ("MatMul", 30, 48));
    assert_eq!((second.name.as_str(), second.exec_micros, second.total_exec_micros), ("Relu", 15, 18));
    assert_eq!(first.graph_nodes[0].name, "layer/product");
    assert!(profile.text().contains("MatMul") && profile.text().contains("(62.50%)"), "{}", profile.text());
}

#[test]
fn code_is_a_tree_of_calls() {
    let mut profiler = profiler();
    let frame = |line, text: &str| CodeFrame { file: "model.py".into(), line, function: "build".into(), text: text.into() };
    profiler.set_trace("layer/product", vec![frame(1, "build()"), frame(7, "matmul(x, w)")]);
    profiler.set_trace("y", vec![frame(1, "build()"), frame(8, "relu(h)")]);
    profiler.set_trace("none", vec![frame(9, "")]);
    let root = profiler.show(View::Code, &options(|_| {})).multi_graph_node();
    assert_eq!(root.children.len(), 1);
    let call = &root.children[0];
    assert_eq!((call.name.as_str(), call.exec_micros, call.total_exec_micros), ("model.py:1:build:build()", 0, 45));
    assert_eq!(
        call.children.iter().map(|line| (line.name.as_str(), line.exec_micros)).collect::<Vec<_>>(),
        [("model.py:7:build:matmul(x, w)", 30), ("model.py:8:build:relu(h)", 15)]
    );
    let advice = profiler.advise(&[]);
    let reports = &advice.checkers["ExpensiveOperationChecker"].reports;
    assert_eq!(reports.len(), 3);
    assert!(reports[0].contains("MatMul, cpu: 30us") && reports[2].contains("model.py:7"), "{reports:?}");
    assert!(profiler.advise(&["Other".to_owned()]).checkers["Other"].reports.is_empty());
}

#[test]
fn options_select_rows() {
    let names = |view, change: fn(&mut OptionsProto)| -> Vec<String> {
        let mut profiler = profiler();
        profiler.add_type("layer/w", "_trainable_variables");
        let mut found = Vec::new();
        let root = profiler.show(view, &options(change)).graph_node();
        let mut pending = vec![&root];
        while let Some(row) = pending.pop() {
            found.push(row.name.clone());
            pending.extend(row.children.iter().rev());
        }
        found.split_off(1)
    };
    assert_eq!(names(View::Scope, |o| o.account_type_regexes = vec!["_trainable_variables".into()]), ["layer", "layer/w"]);
    assert_eq!(names(View::Scope, |o| o.account_type_regexes = vec![".*CPU:0".into()]), ["layer", "layer/product", "x", "x/_1", "y"]);
    assert_eq!(names(View::Graph, |o| o.account_type_regexes = vec!["MatMul|Variable.*".into()]), ["layer/product", "layer/w"]);
    assert_eq!(names(View::Scope, |o| o.min_micros = 20), ["layer", "layer/product"]);
    assert_eq!(names(View::Scope, |o| o.hide_name_regexes = vec!["layer".into()]).len(), 6);
    assert_eq!(names(View::Scope, |o| o.trim_name_regexes = vec!["layer".into()]), ["layer", "x", "x/_1", "y"]);
    assert_eq!(names(View::Scope, |o| o.start_name_regexes = vec!["layer".into()])[0], "layer");
    assert_eq!(names(View::Scope, |o| o.max_depth = 1), ["layer", "x", "y"]);
    assert_eq!(names(View::Scope, |o| o.show_name_regexes = vec![".*w".into()]), ["layer/w"]);
    let displayed = profiler().show(
        View::Scope,
        &options(|o| {
            o.show_name_regexes = vec!["y".into()];
            o.account_displayed_op_only = true;
        }),
    );
    assert_eq!(displayed.graph_node().total_exec_micros, 15);
}

#[test]
fn a_pattern_that_is_no_expression_is_an_error() {
    let message = OptionsProto { show_name_regexes: vec!["(".into()], ..OptionsProto::default() };
    assert!(ProfileOptions::new(message).err().unwrap().message().contains("'('"));
    assert!(View::from_name("other").err().unwrap().message().contains("unknown cmd"));
}

#[test]
fn deep_names_and_long_chains_end() {
    let registry = std::sync::Arc::new(flowmill_ops::registry().unwrap());
    let deep = vec!["s"; 3000].join("/");
    let mut text = format!("{deep} = Placeholder() {{dtype=f32, shape=[1]}}\nn0 = Neg({deep}) {{T=f32}}\n");
    for i in 1..3000 {
        text += &format!("n{i} = Neg(n{}) {{T=f32}}\n", i - 1);
    }
    let graph = parse_graph(&text, &registry, &ConstantTable::default()).unwrap();
    let profiler = Profiler::new(&graph).unwrap();
    for view in [View::Scope, View::Graph] {
        let root = profiler.show(view, &options(|o| o.max_depth = 10_000)).graph_node();
        assert_eq!(root.total_definition_count, 3001);
    }
}
