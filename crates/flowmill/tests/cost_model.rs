//! Measured costs of a session's steps, merged with estimates.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use flowmill::cost::{Assumptions, Bandwidth, CostModel, Machine};
use flowmill::graph::text::{ConstantTable, parse_graph};
use flowmill::{Callable, CostPlacement, PlacementPolicy, RunOptions, Session, SessionOptions, Shape, Tensor, registry, session};
use std::collections::BTreeSet;
use std::sync::Arc;

const GRAPH: &str = "\
x = Placeholder() {dtype=f32, shape=[?,16]}
w = Placeholder() {dtype=f32, shape=[16,4]}
y = MatMul(x, w)
";

#[test]
fn measured_sizes_and_times_replace_estimates() {
    let graph = parse_graph(GRAPH, &registry().unwrap(), &ConstantTable::default()).unwrap();
    let session = session(graph, SessionOptions { build_cost_model: 2, build_cost_model_after: 1, ..SessionOptions::default() }).unwrap();
    let callable = session.make_callable(&["x:0", "w:0"], &["y:0"], &[]).unwrap();
    for step in 0..6 {
        let x = Tensor::from_slice(Shape::new(&[32, 16]), &[1f32; 512]).unwrap();
        let w = Tensor::from_slice(Shape::new(&[16, 4]), &[1f32; 64]).unwrap();
        let outcome = callable.run_with(vec![x, w], &flowmill::RunOptions::default()).unwrap();
        // The first step is skipped, and of the others every second one is measured.
        assert_eq!(outcome.cost_graph.is_some(), step == 2 || step == 4, "step {step}");
        assert!(outcome.stats.is_none());
    }
    let measured = callable.measured_costs();
    assert_eq!(measured.num_steps(), 2);
    let product = measured.get("y").unwrap();
    assert_eq!((product.time.count(), product.outputs[0].bytes.get()), (2, Some(512.0)));
    assert!(product.max_time as f64 >= product.time.get().unwrap());

    let graph = session.graph_before_placement(&["x:0", "w:0"], &["y:0"], &[]).unwrap();
    let machine = Machine::usual(&[("CPU".to_owned(), 1)]).unwrap();
    let estimated = CostModel::new(&graph, &Assumptions::default()).unwrap();
    let node = graph.find_node("y").unwrap();
    let merged = estimated.clone().with_measurements(measured.clone());
    let expected = product.time_per_step().unwrap();
    assert!((merged.times(node, &machine)[0] as f64 - expected).abs() <= 1.0);
    assert_ne!(merged.times(node, &machine), estimated.times(node, &machine));
}

#[test]
fn nothing_is_measured_unless_the_options_say_so() {
    let graph = parse_graph(GRAPH, &registry().unwrap(), &ConstantTable::default()).unwrap();
    let session = session(graph, SessionOptions::default()).unwrap();
    let callable = session.make_callable(&["x:0", "w:0"], &["y:0"], &[]).unwrap();
    let zeros = |dims: &[usize]| Tensor::zeros(flowmill::DType::F32, Shape::new(dims)).unwrap();
    let outcome = callable.run_with(vec![zeros(&[2, 16]), zeros(&[16, 4])], &flowmill::RunOptions::default()).unwrap();
    assert!(outcome.cost_graph.is_none());
    assert_eq!(callable.measured_costs().num_steps(), 0);
}

/// Two chains of products, of an input whose sizes the graph leaves open.
const CHAINS: &str = "\
x = Placeholder() {dtype=f32, shape=[?,?]}
v = VarHandleOp() {dtype=f32, shape=[192,192], shared_name=\"v\"}
r = ReadVariableOp(v) {dtype=f32}
n = Neg(x)
a0 = MatMul(n, x)
a1 = MatMul(a0, x)
a2 = MatMul(a1, x)
a3 = MatMul(a2, x)
b0 = MatMul(x, x)
b1 = MatMul(b0, x)
b2 = MatMul(b1, x)
b3 = MatMul(b2, x)
sum = AddV2(a3, b3)
y = AddV2(sum, r)
init = AssignVariableOp(v, x) {dtype=f32}
";

/// Returns a session of two CPUs that measures each step, and places nodes again after two measured ones. Copies take so long that small products are not
/// worth one.
fn measuring_session(measured_steps: u64, min_gain: f64) -> Arc<Session> {
    let graph = parse_graph(CHAINS, &registry().unwrap(), &ConstantTable::default()).unwrap();
    let usual = Machine::usual(&[("CPU".to_owned(), 2)]).unwrap();
    let link = Bandwidth { bytes_per_second: 1e12, latency_seconds: 2e-6 };
    let machine = Machine::new(usual.devices().to_vec(), link, Vec::new()).unwrap();
    let placement = CostPlacement { machine: Some(Arc::new(machine)), measured_steps, min_gain, ..CostPlacement::default() };
    let options = SessionOptions {
        device_count: [("CPU".to_owned(), 2)].into(),
        placement: PlacementPolicy::CostModel(placement),
        build_cost_model: 1,
        ..SessionOptions::default()
    };
    session(graph, options).unwrap()
}

/// Returns the devices of the nodes of a step, and its result.
fn devices_of(callable: &Callable, x: &Tensor) -> (BTreeSet<String>, Tensor) {
    let options = RunOptions { output_partition_graphs: true, ..RunOptions::default() };
    let outcome = callable.run_with(vec![x.clone()], &options).unwrap();
    let devices = outcome.partition_graphs.iter().flat_map(|graph| &graph.node).map(|node| node.device.clone()).collect();
    (devices, outcome.values[0].clone())
}

#[test]
fn measured_costs_place_a_running_session_again() {
    let session = measuring_session(2, 0.05);
    let values: Vec<f32> = (0..192 * 192).map(|i| (i % 7) as f32 / 700.0).collect();
    let x = Tensor::from_slice(Shape::new(&[192, 192]), &values).unwrap();
    session.run_with(&[("x:0", x.clone())], &[], &["init"], &RunOptions::default()).unwrap();
    let callable = session.make_callable(&["x:0"], &["y:0"], &[]).unwrap();
    // Sizes that the graph leaves open are assumed to be 1, so that all products seem free.
    let (first, expected) = devices_of(&callable, &x);
    assert_eq!(first.len(), 1, "{first:?}");
    let predicted = |measured| session.simulate_step(&["x:0"], &["y:0"], &[], measured).unwrap().schedule.makespan;
    assert!(predicted(true) > 3 * predicted(false));
    // The second measured step ends with another placement.
    devices_of(&callable, &x);
    let (second, actual) = devices_of(&callable, &x);
    assert_eq!(second.len(), 2, "{second:?}");
    assert_eq!(actual, expected);
    // Other callables of the signature, and runs by name, have the new plan as well; the variable is where it was.
    let (other, value) = devices_of(&session.make_callable(&["x:0"], &["y:0"], &[]).unwrap(), &x);
    assert_eq!((other, value), (second, expected));
    let simulated = session.simulate_step(&["x:0"], &["y:0"], &[], true).unwrap();
    let device = |name: &str| simulated.schedule.devices[simulated.tasks.tasks().iter().position(|task| &*task.name == name).unwrap()];
    assert_eq!(device("v"), 0);
    let report = session.placement_report(&["x:0"], &["y:0"], &[]).unwrap();
    assert!(report.rows.iter().filter(|row| row.measured.is_some()).count() >= 8, "{}", report.text(20));
}

#[test]
fn a_placement_that_gains_too_little_or_is_not_wanted_is_not_replaced() {
    let x = Tensor::from_slice(Shape::new(&[192, 192]), &vec![0.01f32; 192 * 192]).unwrap();
    for (measured_steps, min_gain) in [(0, 0.05), (2, 0.9)] {
        let session = measuring_session(measured_steps, min_gain);
        session.run_with(&[("x:0", x.clone())], &[], &["init"], &RunOptions::default()).unwrap();
        let callable = session.make_callable(&["x:0"], &["y:0"], &[]).unwrap();
        for _ in 0..5 {
            assert_eq!(devices_of(&callable, &x).0.len(), 1, "{measured_steps} {min_gain}");
        }
    }
    // A session that prepares nothing more keeps its plans.
    let session = measuring_session(2, 0.05);
    session.run_with(&[("x:0", x.clone())], &[], &["init"], &RunOptions::default()).unwrap();
    let callable = session.make_callable(&["x:0"], &["y:0"], &[]).unwrap();
    session.finalize();
    for _ in 0..5 {
        assert_eq!(devices_of(&callable, &x).0.len(), 1);
    }
}

#[test]
fn a_graph_that_has_changed_is_placed_by_the_costs_of_its_signature() {
    let session = measuring_session(3, 0.05);
    let x = Tensor::from_slice(Shape::new(&[192, 192]), &vec![0.01f32; 192 * 192]).unwrap();
    session.run_with(&[("x:0", x.clone())], &[], &["init"], &RunOptions::default()).unwrap();
    let callable = session.make_callable(&["x:0"], &["y:0"], &[]).unwrap();
    assert_eq!(devices_of(&callable, &x).0.len(), 1);
    let node = session.graph().read().find_node("b3").unwrap().id();
    session.graph().write().set_attr(node, "transpose_b", false).unwrap();
    let again = session.make_callable(&["x:0"], &["y:0"], &[]).unwrap();
    assert_eq!(devices_of(&again, &x).0.len(), 2);
}

#[test]
fn nodes_are_fused_before_they_are_placed_by_cost() {
    let text = "x = Placeholder() {dtype=f32, shape=[64,64]}\nw = Const() {value=f32[]{0.5}}\ny = MatMul(x, x)\nb = Placeholder() {dtype=f32, shape=[64]}\n\
                z = BiasAdd(y, b)\nr = Relu(z)\n";
    let graph = parse_graph(text, &registry().unwrap(), &ConstantTable::default()).unwrap();
    let placement = PlacementPolicy::CostModel(CostPlacement::default());
    let device_count = [("CPU".to_owned(), 2)].into();
    let session = session(graph, SessionOptions { device_count, placement, ..SessionOptions::default() }).unwrap();
    let step = session.simulate_step(&["x:0", "b:0"], &["r:0"], &[], false).unwrap();
    let ops: Vec<&str> =
        step.tasks.tasks().iter().map(|task| &*task.op).filter(|op| !op.starts_with("_Arg") && !op.starts_with("_Ret")).collect();
    assert_eq!(ops, ["_FusedMatMul"]);
}

#[test]
fn a_step_is_simulated_only_where_the_cost_model_places_it() {
    let graph = parse_graph(GRAPH, &registry().unwrap(), &ConstantTable::default()).unwrap();
    let session = session(graph, SessionOptions { device_count: [("CPU".to_owned(), 2)].into(), ..SessionOptions::default() }).unwrap();
    let error = session.simulate_step(&["x:0", "w:0"], &["y:0"], &[], false).unwrap_err();
    assert_eq!(error.code(), flowmill::Code::FailedPrecondition);
}
