//! Trip counts of loops that follow from graphs.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../../flowmill-optimize/tests/support/functions.rs"]
mod functions;

use flowmill_cost::{Assumptions, CostModel, Machine};
use flowmill_graph::text::{ConstantTable, parse_graph};
use functions::parse_with_functions;
use std::sync::Arc;

/// The assumed number of iterations, which no loop of these tests has.
const ASSUMED: u64 = 1000;

/// Returns the executions per step of the node `inside`, by its time and that of the equal node `outside`.
fn executions(text: &str) -> u64 {
    let graph = parse_graph(text, &Arc::new(flowmill_ops::registry().unwrap()), &ConstantTable::default()).unwrap();
    let model = CostModel::new(&graph, &Assumptions { iterations: ASSUMED, ..Assumptions::default() }).unwrap();
    let machine = Machine::usual(&[("CPU".to_owned(), 1)]).unwrap();
    let time = |name: &str| model.times(graph.find_node(name).unwrap(), &machine)[0];
    assert_eq!(time("inside") % time("outside"), 0);
    time("inside") / time("outside")
}

/// Returns a loop whose counter begins at `start` and becomes `next`, an expression of `si:1`, while `condition`, an expression of `mi` and `limit`, is true.
fn counted(start: i32, limit: &str, condition: &str, next: &str) -> String {
    format!(
        "x = Placeholder() {{dtype=f32, shape=[64,64]}}\n\
         outside = MatMul(x, x)\n\
         start = Const() {{value=i32[]{{{start}}}}}\n\
         {limit}\n\
         e = Enter(outside) {{frame_name=\"l\"}}\n\
         ei = Enter(start) {{frame_name=\"l\"}}\n\
         limit = Enter(n) {{frame_name=\"l\", is_constant=true}}\n\
         m:2 = Merge(e, next)\n\
         mi:2 = Merge(ei, nexti)\n\
         {condition}\n\
         cond = LoopCond(less)\n\
         s:2 = Switch(m, cond)\n\
         si:2 = Switch(mi, cond)\n\
         one = Const() {{value=i32[]{{1}}}} ^s\n\
         three = Const() {{value=i32[]{{3}}}} ^s\n\
         inside = MatMul(s:1, s:1)\n\
         {next}\n\
         next = NextIteration(inside)\n\
         nexti = NextIteration(i)\n\
         y = Exit(s)\n"
    )
}

fn constant(n: i32) -> String {
    format!("n = Const() {{value=i32[]{{{n}}}}}")
}

#[test]
fn counters_with_constant_limits_have_trip_counts() {
    for (start, limit, condition, next, expected) in [
        (0, 128, "less = Less(mi, limit)", "i = AddV2(si:1, one)", 128),
        (0, 10, "less = Less(mi, limit)", "i = AddV2(three, si:1)", 4),
        (0, 9, "less = Less(mi, limit)", "i = AddV2(si:1, three)", 3),
        (0, 9, "less = LessEqual(mi, limit)", "i = AddV2(si:1, three)", 4),
        (20, 0, "less = Greater(mi, limit)", "i = Sub(si:1, one)", 20),
        (20, 0, "less = GreaterEqual(mi, limit)", "i = Sub(si:1, three)", 7),
        (0, 12, "less = Greater(limit, mi)", "i = AddV2(si:1, one)", 12),
        (3, 12, "less = NotEqual(mi, limit)", "i = AddV2(si:1, three)", 3),
        (7, 5, "less = Less(mi, limit)", "i = AddV2(si:1, one)", 0),
        // The counter passes through other nodes, and another one is compared than is kept.
        (
            0,
            12,
            "same = Identity(mi)\ntwo = Const() {value=i32[]{2}} ^same\nlater = AddV2(same, two)\nless = Less(later, limit)",
            "i = AddV2(si:1, one)",
            10,
        ),
        // Of two conditions the one that ends first, or the one that is understood.
        (0, 12, "other = Less(mi, start5)\nless0 = Less(mi, limit)\nless = LogicalAnd(less0, other)", "i = AddV2(si:1, one)", 5),
        (0, 12, "other = IsFinite(f)\nless0 = Less(mi, limit)\nless = LogicalAnd(less0, other)", "i = AddV2(si:1, one)", 12),
    ] {
        let helpers = "five = Const() {value=i32[]{5}}\nstart5 = Enter(five) {frame_name=\"l\", is_constant=true}\n\
                       f0 = Placeholder() {dtype=f32, shape=[]}\nf = Enter(f0) {frame_name=\"l\", is_constant=true}\n";
        let text = counted(start, &format!("{}\n{helpers}", constant(limit)), condition, next);
        assert_eq!(executions(&text), expected, "{condition}; {next}");
    }
}

#[test]
fn static_shapes_are_limits() {
    // The number of rows of a sequence, as a dynamic RNN computes it.
    let limit = "sequence = Placeholder() {dtype=f32, shape=[37,8,16]}\n\
                 shape = Shape(sequence)\n\
                 b = Const() {value=i32[1]{0}}\nt = Const() {value=i32[1]{1}}\n\
                 rows = StridedSlice(shape, b, t, t) {shrink_axis_mask=1}\n\
                 most = Const() {value=i32[]{50}}\n\
                 n = Minimum(rows, most)";
    assert_eq!(executions(&counted(0, limit, "less = Less(mi, limit)", "i = AddV2(si:1, one)")), 37);
}

#[test]
fn loops_that_end_at_an_unknown_time_are_assumed_to_have_a_number() {
    for (limit, condition, next) in [
        ("n = Placeholder() {dtype=i32, shape=[]}", "less = Less(mi, limit)", "i = AddV2(si:1, one)"),
        // These never end, or count by what is not a constant.
        ("n = Const() {value=i32[]{5}}", "less = Less(mi, limit)", "i = Sub(si:1, one)"),
        ("n = Const() {value=i32[]{5}}", "less = NotEqual(mi, limit)", "i = AddV2(si:1, three)"),
        ("n = Const() {value=i32[]{5}}", "less = Less(mi, limit)", "i = Mul(si:1, three)"),
        ("n = Const() {value=i32[]{5}}", "less = Less(mi, limit)", "i = AddV2(si:1, si:1)"),
    ] {
        assert_eq!(executions(&counted(0, limit, condition, next)), ASSUMED, "{limit}; {condition}; {next}");
    }
}

#[test]
fn conditions_with_many_paths_end() {
    let ands: String = (1..=30).map(|i| format!("less{i} = LogicalAnd(less{0}, less{0})\n", i - 1)).collect();
    let condition = format!("less0 = Less(mi, limit)\n{ands}less = LogicalAnd(less30, less30)");
    assert_eq!(executions(&counted(0, &constant(6), &condition, "i = AddV2(si:1, one)")), 6);
}

#[test]
fn nodes_of_nested_loops_run_as_often_as_both_together() {
    let text = counted(0, &constant(6), "less = Less(mi, limit)", "i = AddV2(si:1, one)").replace(
        "inside = MatMul(s:1, s:1)\n",
        "zero2 = Const() {value=i32[]{0}} ^s\nf = Enter(s:1) {frame_name=\"k\"}\nfi = Enter(zero2) {frame_name=\"k\"}\n\
         n2 = Const() {value=i32[]{7}} ^s\nlimit2 = Enter(n2) {frame_name=\"k\", is_constant=true}\n\
         k:2 = Merge(f, nextk)\nki:2 = Merge(fi, nextki)\nless2 = Less(ki, limit2)\ncond2 = LoopCond(less2)\n\
         t:2 = Switch(k, cond2)\nti:2 = Switch(ki, cond2)\none2 = Const() {value=i32[]{1}} ^t\n\
         inside = MatMul(t:1, t:1)\nj = AddV2(ti:1, one2)\nnextk = NextIteration(inside)\nnextki = NextIteration(j)\nleft = Exit(t)\n",
    );
    let text = text.replace("next = NextIteration(inside)\n", "next = NextIteration(left)\n");
    assert_eq!(executions(&text), 42);
}

/// Returns a `StatelessWhile` over a counter and a matrix, whose body is `body` on `i` and whose condition is `condition` on `i` and `n`.
fn function_loop(condition: &str, body: &str) -> String {
    let args = "i = _Arg() {T=i32, index=0}\nn = _Arg() {T=i32, index=1}\nz = _Arg() {T=f32, index=2}\n";
    format!(
        "function goes_on\n{args}{condition}\nr:0 = _Retval(y) {{index=0}}\nend\n\
         function body\n{args}one = Const() {{value=i32[]{{1}}}}\n{body}\nw = MatMul(z, z)\n\
         r0:0 = _Retval(k) {{index=0}}\nr1:0 = _Retval(n) {{index=1}}\nr2:0 = _Retval(w) {{index=2}}\nend\n\
         x = Placeholder() {{dtype=f32, shape=[64,64]}}\n\
         two = Const() {{value=i32[]{{2}}}}\nten = Const() {{value=i32[]{{10}}}}\n\
         loop:3 = StatelessWhile(two, ten, x) {{T=[i32,i32,f32], cond=@goes_on, body=@body}}\n"
    )
}

#[test]
fn loops_of_functions_have_trip_counts() {
    for (condition, body, expected) in [
        ("y = Less(i, n)", "k = AddV2(i, one)", 8.0),
        ("y = GreaterEqual(n, i)", "k = AddV2(i, one)", 9.0),
        ("y = Less(i, n)", "k = Mul(i, n)", ASSUMED as f64),
    ] {
        let text = function_loop(condition, body);
        let graph = parse_with_functions(&text).unwrap();
        let model = CostModel::new(&graph, &Assumptions { iterations: ASSUMED, unknown_size: 64 }).unwrap();
        let estimate = model.estimate(graph.find_node("loop").unwrap().id()).unwrap();
        let calls: f64 =
            estimate.work.iter().filter(|work| work.class != flowmill_cost::KernelClass::Elementwise).map(|work| work.calls).sum();
        assert_eq!(calls, expected, "{condition}; {body}");
    }
}
