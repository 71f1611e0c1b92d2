//! The lowering passes together: nesting, its bounds, and what the other passes see behind them.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::{ControlFlow, Graph};
use flowmill_optimize::{Functions, LOWERING, MAX_ADDED_NODES, MAX_NESTING, Options, Report, lower, optimize};
use support::Arithmetic;
use support::functions::parse_with_functions;

/// Lowers the graph of a step and runs no other pass.
fn lowered(text: &str) -> (Graph, Report) {
    let mut graph = parse_with_functions(text).unwrap();
    let report = lower(&mut graph, &Options::default());
    assert_eq!(report.num_failures(), 0, "{report:?}");
    graph.validate().unwrap();
    ControlFlow::new(&graph).unwrap();
    (graph, report)
}

fn count(graph: &Graph, op: &str) -> usize {
    graph.op_nodes().filter(|n| n.is_op(op)).count()
}

/// A function `name` of one `float32`, whose body is made of these lines on `a` and gives `y`.
fn function(name: &str, lines: &str) -> String {
    format!("function {name}\na = _Arg() {{T=f32, index=0}}\n{lines}r:0 = _Retval(y) {{index=0}}\nend\n")
}

fn call(of: &str, input: &str, name: &str) -> String {
    format!("{name} = PartitionedCall({input}) {{Tin=[f32], Tout=[f32], f=@{of}}}\n")
}

const MAIN: &str = "x = _Arg() {T=f32, index=0}\ny = PartitionedCall(x) {Tin=[f32], Tout=[f32], f=@f0}\nr:0 = _Retval(y) {index=0}\n";

#[test]
fn a_loop_in_a_branch_in_a_loop_is_three_pieces_of_one_graph() {
    let text = "function positive
a = _Arg() {T=f32, index=0}
zero = Const() {value=f32[]{0.0}}
y = Greater(a, zero)
r:0 = _Retval(y) {index=0}
end
function decrement
a = _Arg() {T=f32, index=0}
one = Const() {value=f32[]{1.0}}
y = Sub(a, one)
r:0 = _Retval(y) {index=0}
end
function to_zero
a = _Arg() {T=f32, index=0}
y = StatelessWhile(a) {T=[f32], cond=@positive, body=@decrement, parallel_iterations=7}
r:0 = _Retval(y) {index=0}
end
function body
a = _Arg() {T=f32, index=0}
p = positive(a)
y = StatelessIf(p, a) {Tcond=bool, Tin=[f32], Tout=[f32], then_branch=@to_zero, else_branch=@decrement}
r:0 = _Retval(y) {index=0}
end
x = _Arg() {T=f32, index=0}
y = StatelessWhile(x) {T=[f32], cond=@positive, body=@body}
r:0 = _Retval(y) {index=0}
";
    let (graph, report) = lowered(text);
    assert_eq!(report.left, []);
    assert_eq!(LOWERING.iter().map(|p| report.num_changes(p.name)).collect::<Vec<_>>(), [1, 0, 1, 2]);
    let flow = ControlFlow::new(&graph).unwrap();
    let frames: Vec<(&str, u32)> = flow.frames().iter().map(|f| (&*f.name, f.parallel_iterations)).collect();
    assert_eq!(frames, [("", 1), ("y:loop", 10), ("y/body/y/then/y:loop", 7)]);
    assert_eq!((count(&graph, "StatelessWhile"), count(&graph, "StatelessIf"), count(&graph, "LoopCond")), (0, 0, 2));
    assert!(graph.find_node("y/body/y/then/y/body/one").is_some());
}

#[test]
fn functions_that_call_each_other_in_a_circle_stay_calls_once() {
    let text = function("f0", &call("f1", "a", "y")) + &function("f1", &call("f0", "a", "y")) + MAIN;
    let (graph, report) = lowered(&text);
    assert_eq!(count(&graph, "PartitionedCall"), 1);
    assert_eq!(report.left, [("the function is recursive", 1)]);
    let mut body = parse_with_functions(&text.replace("f=@f0", "f=@f1")).unwrap();
    let report = lower(&mut body, &Options { function: "f1", ..Options::default() });
    assert_eq!(report.left, [("the function is recursive", 1)], "the body of the function itself counts");
}

#[test]
fn a_chain_of_functions_ends_at_the_bound() {
    let mut text = String::new();
    for i in 0..MAX_NESTING + 20 {
        text += &function(&format!("f{i}"), &call(&format!("f{}", i + 1), "a", "y"));
    }
    text += &function(&format!("f{}", MAX_NESTING + 20), "y = Neg(a)\n");
    let (graph, report) = lowered(&(text + MAIN));
    assert_eq!((count(&graph, "PartitionedCall"), count(&graph, "Neg")), (1, 0));
    assert_eq!(report.left, [("functions nest too deeply", 1)]);
}

#[test]
fn a_tree_of_calls_ends_at_the_bound() {
    const MAX: usize = 1000;
    let mut text = String::new();
    for level in 0..30 {
        let callee = format!("f{}", level + 1);
        let lines = call(&callee, "a", "left") + &call(&callee, "a", "right") + "y = Add(left, right)\n";
        text += &function(&format!("f{level}"), &lines);
    }
    text += &function("f30", "y = Neg(a)\n");
    let mut graph = parse_with_functions(&(text + MAIN)).unwrap();
    let mut functions = Functions::new("").with_max_added_nodes(MAX);
    while LOWERING.iter().map(|p| (p.run)(&mut graph, &mut functions).unwrap()).sum::<usize>() > 0 {}
    assert!(graph.num_nodes() <= MAX + 10);
    assert!(matches!(functions.left()[..], [("the graph would grow too large", n)] if n == count(&graph, "PartitionedCall") && n > 100));
    const { assert!(MAX < MAX_ADDED_NODES) };
}

#[test]
fn a_product_in_a_function_takes_the_scale_that_its_caller_applies() {
    let text = "function dense
a = _Arg() {T=f32, index=0}
w = _Arg() {T=f32, index=1}
m = MatMul(a, w) {T=f32}
r:0 = _Retval(m) {index=0}
end
x = _Arg() {T=f32, index=0}
w = Const() {value=f32[2,2]{1.0,2.0,3.0,4.0}}
s = Const() {value=f32[2]{10.0,100.0}}
y = StatefulPartitionedCall(x, w) {Tin=[f32,f32], Tout=[f32], f=@dense}
z = Mul(y, s)
r:0 = _Retval(z) {index=0}
";
    let mut graph = parse_with_functions(text).unwrap();
    let report = lower(&mut graph, &Options::default()).then(optimize(&mut graph, &Options::default(), &Arithmetic));
    assert_eq!(report.num_changes("fold_batch_norm"), 1, "{report:?}\n{graph}");
    assert_eq!(count(&graph, "Mul"), 0);
    let disabled: Vec<String> = LOWERING.iter().map(|p| p.name.to_owned()).collect();
    let mut graph = parse_with_functions(text).unwrap();
    let options = Options { disabled: &disabled, ..Options::default() };
    let report = lower(&mut graph, &options).then(optimize(&mut graph, &options, &Arithmetic));
    assert_eq!((report.num_changes("fold_batch_norm"), count(&graph, "Mul")), (0, 1));
}
