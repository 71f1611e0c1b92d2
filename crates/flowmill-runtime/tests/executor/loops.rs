//! Frames and iterations.

use crate::support::*;
use flowmill_runtime::Cost;
use flowmill_runtime::plan::{FrameId, NodeKind, PlanEdge};
use flowmill_runtime::program::{FuseOptions, fuse};
use flowmill_tensor::PartialShape;
use std::cell::Cell;

const ROOT: FrameId = FrameId::ROOT;
const PARALLEL: [u32; 5] = [1, 2, 3, 10, 32];

fn less(b: &mut Builder, frame: FrameId, a: PlanEdge, c: PlanEdge) -> PlanEdge {
    out(b.op(frame, &[a, c], pure(|x| i64::from(x[0] < x[1]))))
}

/// `i = 0; a = 1; while i < n { i += 1; a = a * 3 + i }` with `n` a loop invariant.
fn counting(b: &mut Builder, k: u32) -> Vec<PlanEdge> {
    let (n, zero, one) = (b.arg(), b.constant(ROOT, 0), b.constant(ROOT, 1));
    b.while_loop(
        ROOT,
        k,
        &[zero, one],
        |b, f, v| {
            let n = b.invariant(ROOT, f, n);
            less(b, f, v[0], n)
        },
        |b, f, v| {
            let i = b.op(f, &[v[0]], pure(|x| x[0] + 1));
            let a = b.op(f, &[v[1], out(i)], pure(|x| x[0].wrapping_mul(3).wrapping_add(x[1])));
            vec![out(i), out(a)]
        },
    )
}

#[test]
fn a_while_loop_counts() {
    for k in PARALLEL {
        let mut b = Builder::new();
        for value in counting(&mut b, k) {
            b.ret(value);
        }
        for n in [0, 1, 2, 5, 100] {
            let a = (1..=n).fold(1i64, |a, i| a.wrapping_mul(3).wrapping_add(i));
            assert_eq!(run(&b, &[n]), [Some(n.max(0)), Some(a)], "k={k} n={n}");
        }
    }
}

#[test]
fn a_loop_of_many_iterations_keeps_its_memory() {
    let mut b = Builder::new();
    let exits = counting(&mut b, 10);
    b.ret(exits[0]);
    assert_eq!(run(&b, &[100_000]), [Some(100_000)]);
}

#[test]
fn nested_loops_multiply() {
    for k in PARALLEL {
        for inner_k in [1, 10] {
            let mut b = Builder::new();
            let (n, m, zero) = (b.arg(), b.arg(), b.constant(ROOT, 0));
            let exits = b.while_loop(
                ROOT,
                k,
                &[zero, zero],
                |b, f, v| {
                    let n = b.invariant(ROOT, f, n);
                    less(b, f, v[0], n)
                },
                |b, f, v| {
                    let m = b.invariant(ROOT, f, m);
                    let start = b.constant(f, 0);
                    let inner = b.while_loop(
                        f,
                        inner_k,
                        &[start, v[1]],
                        |b, g, w| {
                            let m = b.invariant(f, g, m);
                            less(b, g, w[0], m)
                        },
                        |b, g, w| {
                            let outer = b.invariant(f, g, v[0]);
                            let j = b.op(g, &[w[0]], pure(|x| x[0] + 1));
                            let sum = b.op(g, &[w[1], w[0], outer], pure(|x| x[0] + x[1] * x[2]));
                            vec![out(j), out(sum)]
                        },
                    );
                    let i = b.op(f, &[v[0]], pure(|x| x[0] + 1));
                    vec![out(i), inner[1]]
                },
            );
            b.ret(exits[0]);
            b.ret(exits[1]);
            for (n, m) in [(0, 3), (1, 0), (4, 5), (12, 7)] {
                let sum = (0..n).flat_map(|i| (0..m).map(move |j| i * j)).sum();
                assert_eq!(run(&b, &[n, m]), [Some(n), Some(sum)], "k={k},{inner_k} n={n} m={m}");
            }
        }
    }
}

#[test]
fn a_branch_inside_a_loop() {
    for k in PARALLEL {
        let mut b = Builder::new();
        let (n, zero) = (b.arg(), b.constant(ROOT, 0));
        let exits = b.while_loop(
            ROOT,
            k,
            &[zero, zero],
            |b, f, v| {
                let n = b.invariant(ROOT, f, n);
                less(b, f, v[0], n)
            },
            |b, f, v| {
                let odd = b.op(f, &[v[0]], pure(|x| x[0] % 2));
                let s = b.switch(f, v[1], out(odd));
                let even = b.op(f, &[edge(s, 0)], pure(|x| x[0] + 1));
                let odd = b.op(f, &[edge(s, 1)], pure(|x| x[0] * 2));
                let m = b.merge(f, &[out(even), out(odd)]);
                let i = b.op(f, &[v[0]], pure(|x| x[0] + 1));
                vec![out(i), out(m)]
            },
        );
        b.ret(exits[1]);
        let want = (0..20).fold(0, |a, i| if i % 2 == 1 { a * 2 } else { a + 1 });
        assert_eq!(run(&b, &[20]), [Some(want)], "k={k}");
    }
}

#[test]
fn a_loop_in_a_branch_not_taken_gives_dead_results() {
    for k in PARALLEL {
        let mut b = Builder::new();
        let (x, p) = (b.arg(), b.arg());
        let s = b.switch(ROOT, x, p);
        let live = b.pass(ROOT, x);
        let exits = b.while_loop(
            ROOT,
            k,
            &[edge(s, 1)],
            |b, f, v| {
                let five = b.invariant(ROOT, f, edge(s, 1));
                less(b, f, v[0], five)
            },
            |b, f, v| {
                // A live invariant in a dead loop.
                let one = b.invariant(ROOT, f, out(live));
                vec![out(b.add(f, v[0], one))]
            },
        );
        let m = b.merge(ROOT, &[edge(s, 0), exits[0]]);
        b.ret(exits[0]);
        b.ret(out(m));
        assert_eq!(run(&b, &[3, 0]), [None, Some(3)], "k={k}");
        assert_eq!(run(&b, &[3, 1]), [Some(3), Some(3)], "k={k}");
    }
}

#[test]
fn nodes_of_invariants_only_run_in_every_iteration() {
    for k in PARALLEL {
        let mut b = Builder::new();
        let (n, step, zero) = (b.arg(), b.arg(), b.constant(ROOT, 0));
        let exits = b.while_loop(
            ROOT,
            k,
            &[zero],
            |b, f, v| {
                let n = b.invariant(ROOT, f, n);
                less(b, f, v[0], n)
            },
            |b, f, v| {
                let step = b.invariant(ROOT, f, step);
                let twice = b.add(f, step, step);
                vec![out(b.add(f, v[0], out(twice)))]
            },
        );
        b.ret(exits[0]);
        assert_eq!(run(&b, &[30, 2]), [Some(32)], "k={k}");
    }
}

/// One variable of a loop is dead from the start, the other lives on. From iteration 1 on nothing arrives for the dead one, so a loop inside
/// waits for an Enter that never comes: its frame is stuck, and with it the outer one.
#[test]
fn a_run_ends_though_a_frame_is_stuck() {
    for k in PARALLEL {
        let mut b = Builder::new();
        let (x, p) = (b.arg(), b.arg());
        let live = b.pass(ROOT, x);
        let dead = b.switch(ROOT, x, p);
        let exits = b.while_loop(
            ROOT,
            k,
            &[out(live), edge(dead, 1)],
            |b, f, v| out(b.op(f, &[v[0]], pure(|x| i64::from(x[0] < 5)))),
            |b, f, v| {
                let inner = b.while_loop(
                    f,
                    k,
                    &[v[0], v[1]],
                    |b, g, w| out(b.op(g, &[w[0]], pure(|x| i64::from(x[0] < 7)))),
                    |b, g, w| vec![out(b.op(g, &[w[0]], pure(|x| x[0] + 1))), out(b.op(g, &[w[1]], pure(|x| x[0] + 1)))],
                );
                vec![out(b.op(f, &[v[0]], pure(|x| x[0] + 1))), inner[1]]
            },
        );
        b.ret(exits[0]);
        b.ret(exits[1]);
        // Both live: the inner loop adds 7 - i in outer iteration i.
        assert_eq!(run(&b, &[0, 1]), [Some(5), Some(7 + 6 + 5 + 4 + 3)], "k={k}");
        // Stuck iterations take places of the ring.
        assert_eq!(run(&b, &[0, 0]), [(k > 5).then_some(5), None], "k={k}");
    }
}

#[test]
fn control_edges_inside_loops() {
    for k in PARALLEL {
        let mut b = Builder::new();
        let (n, zero) = (b.arg(), b.constant(ROOT, 0));
        let invariant = Cell::new(None);
        let exits = b.while_loop(
            ROOT,
            k,
            &[zero],
            |b, f, v| {
                let n = b.invariant(ROOT, f, n);
                invariant.set(Some(n.node));
                less(b, f, v[0], n)
            },
            |b, f, v| {
                // A constant gated by the pivot, as TensorFlow makes it, and by an invariant.
                let pivot = b.pass(f, v[0]);
                let one = b.node("Const", NodeKind::Const(int(1)), f, &[], 1, None);
                b.node_mut(one).controls = vec![control(pivot), control(invariant.get().unwrap())];
                vec![out(b.add(f, v[0], out(one)))]
            },
        );
        b.ret(exits[0]);
        assert_eq!(run(&b, &[9]), [Some(9)], "k={k}");
    }
}

#[test]
fn a_loop_merge_with_control_inputs() {
    for k in PARALLEL {
        let mut b = Builder::new();
        let (n, zero) = (b.arg(), b.constant(ROOT, 0));
        let exits = b.while_loop(
            ROOT,
            k,
            &[zero],
            |b, f, v| {
                let n = b.invariant(ROOT, f, n);
                let gate = b.pass(f, n);
                b.node_mut(v[0].node).controls = vec![control(gate)];
                less(b, f, v[0], n)
            },
            |b, f, v| vec![out(b.op(f, &[v[0]], pure(|x| x[0] + 2)))],
        );
        b.ret(exits[0]);
        assert_eq!(run(&b, &[9]), [Some(10)], "k={k}");
    }
}

#[test]
fn a_loop_of_more_variables_than_a_word_has_bits() {
    for k in [1, 2, 10] {
        let mut b = Builder::new();
        let (n, zero) = (b.arg(), b.constant(ROOT, 0));
        let exits = b.while_loop(
            ROOT,
            k,
            &[zero; 150],
            |b, f, v| {
                let n = b.invariant(ROOT, f, n);
                less(b, f, v[149], n)
            },
            |b, f, v| (0..150).map(|i| out(b.op(f, &[v[i]], pure(move |x| x[0] + 1 + i as i64 / 149)))).collect(),
        );
        for exit in exits {
            b.ret(exit);
        }
        let want: Vec<_> = (0..150).map(|i| Some(if i == 149 { 10 } else { 5 })).collect();
        assert_eq!(run(&b, &[10]), want, "k={k}");
    }
}

#[test]
fn an_exit_that_is_live_twice_is_an_error() {
    let mut b = Builder::new();
    let (n, zero) = (b.arg(), b.constant(ROOT, 0));
    let exits = b.while_loop(
        ROOT,
        1,
        &[zero],
        |b, f, v| {
            let n = b.invariant(ROOT, f, n);
            less(b, f, v[0], n)
        },
        |b, f, v| {
            let leak = b.exit(f, v[0]);
            b.ret(leak);
            vec![out(b.op(f, &[v[0]], pure(|x| x[0] + 1)))]
        },
    );
    b.ret(exits[0]);
    assert_eq!(run(&b, &[1]), [Some(0), Some(1)]);
    assert!(run_error(&b, &[3]).message().contains("more than one iteration"));
}

#[test]
fn a_loop_that_needs_its_own_result_is_refused() {
    let mut b = Builder::new();
    let x = b.arg();
    let frame = b.frame(ROOT, 4);
    let first = b.enter(ROOT, frame, x);
    let exit = b.exit(frame, first);
    let second = b.enter(ROOT, frame, exit);
    b.pass(frame, second);
    assert!(flowmill_runtime::Plan::new(b.graph).err().unwrap().message().contains("cycle"));
}

#[test]
fn a_loop_of_tensors_that_may_be_large_is_costly() {
    let cost = |shape: PartialShape| {
        let mut b = Builder::new();
        for value in counting(&mut b, 10) {
            b.ret(value);
        }
        for node in &mut b.graph.nodes {
            node.shapes = vec![shape.clone(); node.outputs.len()];
        }
        let fused = fuse(b.graph, FuseOptions { single_thread: false, ..FuseOptions::ALL }).unwrap();
        fused.nodes.iter().find(|n| &*n.op == "_Loop").map(|n| n.cost)
    };
    assert_eq!(cost(PartialShape::scalar()), Some(Cost::Cheap));
    assert_eq!(cost(PartialShape::new(&[2, 8])), Some(Cost::Cheap));
    assert_eq!(cost(PartialShape::new(&[40, 128])), Some(Cost::Expensive));
    assert_eq!(cost(PartialShape::new(&[-1, 8])), Some(Cost::Expensive));
    assert_eq!(cost(PartialShape::default()), Some(Cost::Expensive));
}
