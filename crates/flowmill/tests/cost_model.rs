//! Measured costs of a session's steps, merged with estimates.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use flowmill::cost::{Assumptions, CostModel, Machine};
use flowmill::graph::text::{ConstantTable, parse_graph};
use flowmill::{SessionOptions, Shape, Tensor, registry, session};

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
