//! Estimates of nodes from static shapes, measurements in their place, and the constraints that a graph sets.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use flowmill_cost::{
    Assumptions, Constraints, CostModel, KernelClass, KernelRate, KernelWork, Machine, MeasuredCosts, NodeEstimate, OutputSample, Sample,
    add_to_cost_graph,
};
use flowmill_graph::Graph;
use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_proto::CostGraphDef;
use flowmill_tensor::{DType, PartialShape};
use std::sync::Arc;

fn graph(text: &str) -> Graph {
    parse_graph(text, &Arc::new(flowmill_ops::registry().unwrap()), &ConstantTable::default()).unwrap()
}

fn estimate(text: &str, name: &str) -> NodeEstimate {
    let graph = graph(text);
    let model = CostModel::new(&graph, &Assumptions::default()).unwrap();
    model.estimate(graph.find_node(name).unwrap().id()).unwrap().clone()
}

fn placeholders(shapes: &[&str]) -> String {
    shapes.iter().enumerate().map(|(i, shape)| format!("p{i} = Placeholder() {{dtype=f32, shape={shape}}}\n")).collect()
}

/// Asserts the number of operations of the node `y`, whose inputs are placeholders of these shapes.
fn assert_operations(shapes: &[&str], node: &str, expected: f64) {
    let found = estimate(&format!("{}y = {node}\n", placeholders(shapes)), "y");
    assert_eq!(found.operations, expected, "{node} of {shapes:?}");
    assert!(found.is_exact);
}

#[test]
fn products_count_two_operations_per_term() {
    assert_operations(&["[3,4]", "[4,5]"], "MatMul(p0, p1)", 2.0 * 60.0);
    assert_operations(&["[4,3]", "[4,5]"], "MatMul(p0, p1) {transpose_a=true}", 2.0 * 60.0);
    assert_operations(&["[7,3,4]", "[4,5]"], "BatchMatMulV2(p0, p1)", 2.0 * 7.0 * 60.0);
    assert_operations(&["[7,4,3]", "[7,4,5]"], "BatchMatMulV2(p0, p1) {adj_x=true}", 2.0 * 7.0 * 60.0);
    assert_operations(&["[2,7,3]", "[2,7,5]"], "Einsum(p0, p1) {equation=\"bij,bik->bjk\"}", 2.0 * 2.0 * 7.0 * 3.0 * 5.0);
    assert_operations(&["[2,6,7,3]", "[3,5]"], "Einsum(p0, p1) {equation=\"...i,ij->...j\"}", 2.0 * 84.0 * 15.0);
}

#[test]
fn attention_counts_its_two_products() {
    let expected = 2.0 * (2.0 * 4.0) * (10.0 * 6.0 * 8.0 + 10.0 * 6.0 * 3.0);
    let attrs = |interleaved| format!("{{T=f32, N=0, program=[], interleaved={interleaved}}}");
    let apart = format!("_FusedAttention(p0, p1, p2) {}", attrs("[false,false,false,false]"));
    assert_operations(&["[2,4,10,8]", "[2,4,6,8]", "[2,4,6,3]"], &apart, expected);
    let interleaved = format!("_FusedAttention(p0, p1, p2) {}", attrs("[true,true,true,true]"));
    assert_operations(&["[2,10,4,8]", "[2,6,4,8]", "[2,6,4,3]"], &interleaved, expected);
}

#[test]
fn a_convolution_and_its_gradients_have_equal_work() {
    let expected = 2.0 * (2.0 * 8.0 * 8.0) * (3.0 * 3.0 * 4.0 * 5.0);
    let attrs = "{strides=[1,1,1,1], padding=\"SAME\"}";
    assert_operations(&["[2,8,8,4]", "[3,3,4,5]"], &format!("Conv2D(p0, p1) {attrs}"), expected);
    let sizes = "s = Const() {dtype=i32, value=i32[4]{2,8,8,4}}\nf = Const() {dtype=i32, value=i32[4]{3,3,4,5}}\n";
    let inputs = placeholders(&["[2,8,8,4]", "[3,3,4,5]", "[2,8,8,5]"]);
    for node in ["Conv2DBackpropInput(s, p1, p2)", "Conv2DBackpropFilter(p0, f, p2)"] {
        assert_eq!(estimate(&format!("{sizes}{inputs}y = {node} {attrs}\n"), "y").operations, expected, "{node}");
    }
    // One input channel per output channel.
    assert_operations(&["[2,8,8,4]", "[3,3,4,2]"], &format!("DepthwiseConv2dNative(p0, p1) {attrs}"), 2.0 * (2.0 * 64.0 * 8.0) * 9.0);
    // Each of the three on its own positions.
    let block =
        "_FusedSeparableConv2D(p0, p1, p2, p3) {T=f32, num_expansion=1, num_args=0, num_projection=1, strides=[1,2,2,1], padding=\"SAME\"}";
    let expected = 2.0 * (2.0 * 64.0 * 4.0 * 8.0 + 2.0 * 16.0 * (8.0 * 9.0 + 8.0 * 5.0));
    assert_operations(&["[2,8,8,4]", "[3,3,8,1]", "[1,1,4,8]", "[1,1,8,5]"], block, expected);
    // The sum and the product behind the convolution.
    let program = "_FusedConv2DElementwise(p0, p1, p2) {T=f32, num_epilogue=0, N=1, pieces=list(int)[0,1,0,1], program=list(string)[\"Add 0 1\",\"Mul 2 1\"], outputs=list(int)[3], strides=[1,1,1,1], padding=\"SAME\"}";
    assert_operations(&["[2,8,8,4]", "[3,3,4,6]", "[6]"], program, 2.0 * 64.0 * 6.0 * (2.0 * 9.0 * 4.0 + 2.0));
    let pool = "MaxPool(p0) {ksize=[1,2,2,1], strides=[1,2,2,1], padding=\"VALID\"}";
    assert_operations(&["[2,8,8,4]"], pool, (2.0 * 4.0 * 4.0 * 4.0) * 4.0);
}

#[test]
fn other_families_grow_with_their_shapes() {
    assert_operations(&["[10,20]", "[20]"], "AddV2(p0, p1)", 200.0);
    assert_operations(&["[10,20]"], "Tanh(p0)", 20.0 * 200.0);
    assert_operations(&["[5,8,8]"], "Cholesky(p0)", 5.0 * 512.0);
    let single = estimate(&format!("{}y = Cholesky(p0)\n", placeholders(&["[16,16]"])), "y").operations;
    assert_eq!(single, 4096.0);
    let cell = ["[2,3]", "[2,4]", "[2,4]", "[7,16]", "[4]", "[4]", "[4]", "[16]"];
    assert_operations(&cell, "LSTMBlockCell(p0, p1, p2, p3, p4, p5, p6, p7)", 2.0 * 2.0 * 7.0 * 16.0);
    let fft = estimate("x = Placeholder() {dtype=c64, shape=[3,8]}\ny = FFT(x)\n", "y");
    assert_eq!(fft.operations, 5.0 * 24.0 * 3.0);
}

#[test]
fn nodes_that_share_or_select_memory_do_not_read_all_of_it() {
    let table = "t = Placeholder() {dtype=f32, shape=[100000,64]}\ni = Placeholder() {dtype=i32, shape=[8]}\n";
    let gather = estimate(&format!("{table}a = Const() {{value=i32[]{{0}}}}\ny = GatherV2(t, i, a)\n"), "y");
    assert_eq!((gather.operations, gather.bytes_read, gather.bytes_written), (0.0, 8 * 64 * 4, 8 * 64 * 4));
    for node in ["Reshape(t, s)", "Identity(t)", "Shape(t)"] {
        let text = format!("{table}s = Const() {{value=i32[1]{{-1}}}}\ny = {node}\n");
        let found = estimate(&text, "y");
        assert_eq!((found.operations, found.bytes_read, found.bytes_written), (0.0, 0, 0), "{node}");
    }
}

#[test]
fn constants_and_variables_are_held_between_steps() {
    let text = "c = Const() {value=f32[2]{1,2}}\n\
                v = VarHandleOp() {dtype=f32, shape=[10,3]}\nr = ReadVariableOp(v) {dtype=f32}\nx = VariableV2() {dtype=f64, shape=[5]}\n";
    let resident = |name| estimate(text, name).resident;
    assert_eq!([resident("c"), resident("v"), resident("x"), resident("r")], [8, 120, 40, 0]);
    assert!(estimate(text, "c").is_free);
}

#[test]
fn unknown_sizes_are_assumed_and_marked() {
    let graph = graph("x = Placeholder() {dtype=f32, shape=[?,4]}\nw = Placeholder() {dtype=f32, shape=[4,5]}\ny = MatMul(x, w)\n");
    for batch in [1, 32] {
        let model = CostModel::new(&graph, &Assumptions { unknown_size: batch, ..Assumptions::default() }).unwrap();
        let found = model.estimate(graph.find_node("y").unwrap().id()).unwrap();
        assert_eq!((found.operations, found.is_exact), (40.0 * batch as f64, false));
        assert_eq!(found.outputs, [batch * 20]);
    }
}

/// A loop that multiplies a matrix by itself, with a node outside that computes the same.
const LOOP: &str = "\
x = Placeholder() {dtype=f32, shape=[64,64]}
outside = MatMul(x, x)
n = Const() {value=i32[]{10}}
zero = Const() {value=i32[]{0}}
e = Enter(outside) {frame_name=\"l\"}
ei = Enter(zero) {frame_name=\"l\"}
en = Enter(n) {frame_name=\"l\", is_constant=true}
m:2 = Merge(e, next)
mi:2 = Merge(ei, nexti)
less = Less(mi, en)
cond = LoopCond(less)
s:2 = Switch(m, cond)
si:2 = Switch(mi, cond)
one = Const() {value=i32[]{1}} ^s
inside = MatMul(s:1, s:1)
i = AddV2(si:1, one)
next = NextIteration(inside)
nexti = NextIteration(i)
y = Exit(s)
";

#[test]
fn a_loop_costs_its_iterations_and_is_placed_as_a_whole() {
    let graph = graph(LOOP);
    let machine = Machine::usual(&[("CPU".to_owned(), 2)]).unwrap();
    let model = CostModel::new(&graph, &Assumptions { iterations: 7, ..Assumptions::default() }).unwrap();
    let time = |name: &str| model.times(graph.find_node(name).unwrap(), &machine)[0];
    // The trip count follows from the graph.
    assert_eq!(time("inside"), 10 * time("outside"));
    let constraints = Constraints::of_graph(&graph, &machine).unwrap();
    let tasks = model.tasks(&graph, &machine, &constraints).unwrap();
    let group = |name: &str| tasks.tasks.tasks().iter().find(|t| &*t.name == name).unwrap().group;
    for name in ["m", "less", "cond", "s", "next", "y", "i"] {
        assert_eq!(group(name), group("inside"), "{name}");
    }
    assert_ne!(group("outside"), group("inside"));
}

#[test]
fn requests_colocations_and_resources_constrain_a_placement() {
    let text = "x = Placeholder() {dtype=f32, shape=[2]}\n\
                v = VarHandleOp() {dtype=f32, shape=[2]} @/device:CPU:1\n\
                r = ReadVariableOp(v) {dtype=f32}\n\
                a = AddV2(x, r) {_class=list(string)[\"loc:@v\"]}\n\
                b = Neg(a) @/device:GPU:0\n\
                c = Neg(b) @/job:localhost/device:CPU:2\n";
    let graph = graph(text);
    let machine = Machine::usual(&[("CPU".to_owned(), 3)]).unwrap();
    let model = CostModel::new(&graph, &Assumptions::default()).unwrap();
    let tasks = model.tasks(&graph, &machine, &Constraints::of_graph(&graph, &machine).unwrap()).unwrap().tasks;
    let placed = flowmill_cost::place(&tasks, &machine, &flowmill_cost::SearchOptions::default()).unwrap();
    let device = |name: &str| placed.devices[tasks.tasks().iter().position(|t| &*t.name == name).unwrap()];
    assert_eq!([device("x"), device("v"), device("r"), device("a"), device("c")], [0, 1, 1, 1, 2]);
}

fn sample(name: &str, nanoseconds: u64, bytes: u64) -> Sample<'_> {
    let output = OutputSample { dtype: DType::F32, shape: PartialShape::new(&[bytes as i64 / 4]), bytes };
    Sample { name, device: "/job:localhost/replica:0/task:0/device:CPU:0", nanoseconds, outputs: vec![Some(output)], temporary: 0 }
}

#[test]
fn measurements_replace_estimates_and_follow_changes() {
    let graph = graph("x = Placeholder() {dtype=f32, shape=[?]}\ny = Neg(x)\nz = Exp(y)\n");
    let machine = Machine::usual(&[("CPU".to_owned(), 2)]).unwrap();
    let estimated = CostModel::new(&graph, &Assumptions::default()).unwrap();
    let mut measured = MeasuredCosts::new();
    measured.add_step([sample("y", 1000, 400), sample("y", 3000, 400)]);
    let model = estimated.clone().with_measurements(measured.clone());
    let (y, z) = (graph.find_node("y").unwrap(), graph.find_node("z").unwrap());
    // Two executions of 2 µs on average.
    assert_eq!(model.times(y, &machine), [4000, 4000]);
    // A step that ran did not run this node: it is part of another one, or in a branch that was not taken.
    assert!(estimated.times(z, &machine)[0] > 0);
    assert_eq!(model.times(z, &machine), [0, 0]);
    let tasks = model.tasks(&graph, &machine, &Constraints::none(&graph)).unwrap();
    assert_eq!(tasks.tasks.tasks()[1].outputs, [400]);
    for _ in 0..500 {
        measured.add_step([sample("y", 50_000, 400)]);
    }
    assert_eq!(measured.num_steps(), 501);
    let average = measured.get("y").unwrap().time.get().unwrap();
    assert!((49_900.0..=50_000.0).contains(&average), "{average}");
}

#[test]
fn all_executions_of_a_step_count_equally() {
    let mut measured = MeasuredCosts::new();
    // More executions than a moving average of single ones would span.
    measured.add_step((0..1000).map(|i| sample("y", if i < 500 { 1000 } else { 3000 }, 4)));
    assert_eq!(measured.get("y").unwrap().time_per_step(), Some(2_000_000.0));
}

#[test]
fn a_measured_time_is_that_on_the_device_of_the_measurement() {
    let graph = graph("x = Placeholder() {dtype=f32, shape=[1000000]}\ny = Exp(x)\n");
    let machine = Machine::usual(&[("CPU".to_owned(), 1), ("GPU".to_owned(), 1)]).unwrap();
    let estimated = CostModel::new(&graph, &Assumptions::default()).unwrap();
    let y = graph.find_node("y").unwrap();
    let [on_cpu, on_gpu] = estimated.times(y, &machine)[..] else { panic!("two devices") };
    let mut measured = MeasuredCosts::new();
    let device = "/job:localhost/replica:0/task:0/device:GPU:0";
    measured.add_step([sample("y", 1, 4), Sample { device, ..sample("y", 2 * on_gpu, 4) }]);
    let times = estimated.with_measurements(measured).times(y, &machine);
    assert!(times[1].abs_diff(2 * on_gpu) <= 2, "{times:?}");
    assert!(times[0].abs_diff(2 * on_cpu) <= on_cpu / 100, "{times:?}");
}

/// Returns the classes of the kernels of the node `y`, whose inputs are placeholders of these shapes.
fn classes(shapes: &[&str], node: &str) -> Vec<KernelClass> {
    estimate(&format!("{}y = {node}\n", placeholders(shapes)), "y").work.iter().map(|work| work.class).collect()
}

#[test]
fn kernels_are_classed_by_their_shapes() {
    let conv = |filter: &str| classes(&["[2,8,8,64]", filter], "Conv2D(p0, p1) {strides=[1,1,1,1], padding=\"SAME\"}");
    assert_eq!(conv("[3,3,64,5]"), [KernelClass::Convolution]);
    assert_eq!(conv("[1,1,64,5]"), [KernelClass::PointwiseConvolution]);
    assert_eq!(
        classes(&["[2,8,8,3]", "[3,3,3,5]"], "Conv2D(p0, p1) {strides=[1,2,2,1], padding=\"SAME\"}"),
        [KernelClass::ThinConvolution]
    );
    let depthwise = "DepthwiseConv2dNative(p0, p1) {strides=[1,1,1,1], padding=\"SAME\"}";
    assert_eq!(classes(&["[2,8,8,64]", "[3,3,64,1]"], depthwise), [KernelClass::DepthwiseConvolution]);
    assert_eq!(classes(&["[8,64]", "[64,64]"], "MatMul(p0, p1)"), [KernelClass::ThinProduct]);
    assert_eq!(classes(&["[64,64]", "[64,64]"], "MatMul(p0, p1)"), [KernelClass::Product]);
    assert_eq!(classes(&["[64]"], "Exp(p0)"), [KernelClass::Elementwise]);
}

#[test]
fn epilogues_and_fused_programs_count_their_functions() {
    let plain = estimate(&format!("{}y = MatMul(p0, p1)\n", placeholders(&["[32,64]", "[64,16]", "[16]"])), "y");
    let node = "_FusedMatMul(p0, p1, p2) {T=f32, num_args=1, fused_ops=list(string)[\"BiasAdd\",\"Tanh\"]}";
    let fused = estimate(&format!("{}y = {node}\n", placeholders(&["[32,64]", "[64,16]", "[16]"])), "y");
    // One operation for each sum and twenty for each `Tanh`, but no call of another kernel.
    assert_eq!(fused.operations, plain.operations + 21.0 * 32.0 * 16.0);
    assert_eq!(fused.work.iter().map(|work| work.calls).sum::<f64>(), 1.0);
    let program =
        "_FusedElementwise(p0, p0) {T=f32, N=2, num_results=1, pieces=[0,1,0,1], program=list(string)[\"Exp 0\",\"Mul 2 1\"], outputs=[3]}";
    assert_operations(&["[10,20]"], program, 21.0 * 200.0);
}

#[test]
fn measured_rates_of_kernels_replace_usual_shares() {
    let mut device = Machine::usual(&[("CPU".to_owned(), 1)]).unwrap().devices()[0].clone();
    let work = |class| [KernelWork { class, calls: 2.0, operations: 1e9, bytes: 0.0 }];
    let usual = device.time_of(&work(KernelClass::DepthwiseConvolution));
    assert!(usual > device.time_of(&work(KernelClass::Product)));
    device.kernel_rates.insert(KernelClass::DepthwiseConvolution, KernelRate { operations_per_second: 1e9, seconds_per_call: 1e-3 });
    device.launch_seconds = 0.0;
    assert_eq!(device.time_of(&work(KernelClass::DepthwiseConvolution)), 1_002_000_000);
    let link = Machine::usual(&[("CPU".to_owned(), 1)]).unwrap().link(0, 0);
    let machine = Machine::new(vec![device.clone()], link, Vec::new()).unwrap();
    assert_eq!(Machine::from_json(&machine.to_json()).unwrap(), machine);
    device.kernel_rates.insert(KernelClass::Product, KernelRate { operations_per_second: 0.0, seconds_per_call: 0.0 });
    assert!(Machine::new(vec![device], link, Vec::new()).unwrap_err().to_string().contains("kernel rates of device 'CPU:0'"));
}

#[test]
fn a_cost_graph_has_ids_edges_and_largest_costs() {
    let graph = graph("x = Placeholder() {dtype=f32, shape=[?]}\ny = Neg(x)\nz = Exp(y) ^x\n");
    let mut measured = MeasuredCosts::new();
    measured.add_step([sample("y", 1000, 400)]);
    measured.add_step([sample("y", 2500, 80)]);
    let mut costs = CostGraphDef::default();
    add_to_cost_graph(&mut costs, &graph, "/device:CPU:0", &measured);
    let node = |name: &str| costs.node.iter().find(|n| n.name == name).unwrap();
    let (x, y, z) = (node("x"), node("y"), node("z"));
    assert_eq!((y.compute_cost, y.output_info[0].size, y.output_info[0].dtype), (3, 400, DType::F32.number()));
    assert_eq!((z.compute_cost, z.output_info[0].size), (0, -1));
    assert_eq!((y.input_info[0].preceding_node, y.input_info[0].preceding_port), (x.id, 0));
    assert_eq!((z.input_info[0].preceding_node, &z.control_input[..]), (y.id, &[x.id][..]));
    assert!(costs.node.iter().all(|n| n.device == "/device:CPU:0"));
    // The nodes of another device go on from these ids.
    let first = costs.node.len();
    add_to_cost_graph(&mut costs, &graph, "/device:CPU:1", &measured);
    assert_eq!(costs.node[first].id, first as i32);
}

#[test]
fn machines_are_read_from_text_and_checked() {
    let machine = Machine::usual(&[("CPU".to_owned(), 1), ("GPU".to_owned(), 2)]).unwrap();
    assert_eq!(Machine::from_json(&machine.to_json()).unwrap(), machine);
    assert_eq!(machine.devices().iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["CPU:0", "GPU:0", "GPU:1"]);
    let wrong = |from: &str, to: &str| Machine::from_json(&machine.to_json().replace(from, to)).unwrap_err().to_string();
    assert!(wrong("GPU:1", "GPU:0").contains("'GPU:0'"));
    assert!(wrong("50000000000.0", "-1").contains("CPU:0"));
    assert!(wrong("\"link\"", "\"lnik\"").contains("lnik"));
    assert!(Machine::usual(&[]).is_err() && Machine::usual(&[("CPU".to_owned(), 65)]).is_err());
}
