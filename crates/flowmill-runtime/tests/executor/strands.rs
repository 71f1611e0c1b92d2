//! Clusters of cheap nodes become strands that wait for nothing they produce themselves.

use crate::support::*;
use flowmill_runtime::Plan;
use flowmill_runtime::plan::{FrameId, NodeKind, PlanEdge, PlanNodeId};
use flowmill_runtime::program::{FuseOptions, fuse};
use std::sync::Arc;

const ROOT: FrameId = FrameId::ROOT;

/// Checks that the graph gives `want` as tokens and as strands, for every number of threads.
fn check(b: &Builder, args: &[i64], want: &[Option<i64>]) {
    assert_eq!(run(b, args), want);
    for single_thread in [false, true] {
        let fused = fuse(b.graph.clone(), FuseOptions { single_thread, ..FuseOptions::ALL }).unwrap();
        assert!(fused.nodes.iter().any(|n| &*n.op == "_Strand"), "nothing was fused");
        let plan = Arc::new(Plan::new(fused).unwrap());
        for options in all_options() {
            assert_eq!(run_with(&plan, args, options).unwrap(), want);
        }
    }
}

fn constant_after(b: &mut Builder, value: i64, waits_for: PlanNodeId) -> PlanEdge {
    let constant = b.constant(ROOT, value);
    b.node_mut(constant.node).controls.push(control(waits_for));
    constant
}

/// A conditional of constants: 2 behind a chain of `length` constants that wait for one another, or 0.
fn conditional(length: usize) -> (Builder, Vec<PlanEdge>) {
    let mut b = Builder::new();
    let test = b.arg();
    let switch = b.switch(ROOT, test, test);
    let pivots = [0, 1].map(|side| b.pass(ROOT, edge(switch, side)));
    let mut chain = vec![constant_after(&mut b, 1, pivots[1])];
    for _ in 1..length {
        let next = constant_after(&mut b, 1, chain[chain.len() - 1].node);
        chain.push(next);
    }
    let taken = constant_after(&mut b, 2, chain[length - 1].node);
    let other = constant_after(&mut b, 0, pivots[0]);
    let merge = b.merge(ROOT, &[other, taken]);
    b.ret(out(merge));
    (b, chain)
}

#[test]
fn a_constant_waits_for_constants_of_its_branch() {
    for length in 1..4 {
        let (b, _) = conditional(length);
        check(&b, &[1], &[Some(2)]);
        check(&b, &[0], &[Some(0)]);
    }
}

#[test]
fn a_constant_that_another_waits_for_is_also_read_outside() {
    let (mut b, chain) = conditional(3);
    for constant in chain {
        b.ret(constant);
    }
    check(&b, &[1], &[Some(2), Some(1), Some(1), Some(1)]);
    check(&b, &[0], &[Some(0), None, None, None]);
}

#[test]
fn a_node_waits_for_a_result() {
    let mut b = Builder::new();
    let x = b.arg();
    let first = b.add(ROOT, x, x);
    let second = b.add(ROOT, out(first), x);
    let result = b.ret(out(second));
    let third = b.add(ROOT, out(first), out(second));
    b.node_mut(third).controls.push(control(result));
    let last = b.add(ROOT, out(third), out(first));
    b.ret(out(last));
    assert!(matches!(b.graph.nodes[result.0 as usize].kind, NodeKind::Ret(0)));
    check(&b, &[1], &[Some(3), Some(7)]);
}
