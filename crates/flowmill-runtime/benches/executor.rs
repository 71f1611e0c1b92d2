//! Nanoseconds that the executor takes by itself: tiny kernels, minimum of many runs on one thread.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/executor/support.rs"]
#[allow(dead_code)]
mod support;

use flowmill_runtime::executor::{Plan, RunOptions};
use flowmill_runtime::plan::{FrameId, NodeKind};
use flowmill_runtime::{Cost, Kernel, KernelContext};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::*;

const ROOT: FrameId = FrameId::ROOT;
const ONE_THREAD: RunOptions<'static> = RunOptions { num_threads: 1, pool: None, stats: None };

/// The fastest of the runs that fit into a second, in nanoseconds for each of `units`. Left out where the command line names other benches.
fn measure(name: &str, units: usize, plan: &Arc<Plan>, args: &[i64], options: RunOptions<'_>) {
    if std::env::args().skip(1).find(|a| !a.starts_with("--")).is_some_and(|wanted| !name.contains(&wanted)) {
        return;
    }
    let step = Arc::new(step());
    let mut best = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(700) {
        let args = args.iter().map(|&a| int(a)).collect();
        let before = Instant::now();
        std::hint::black_box(plan.run(&step, args, options).unwrap());
        best = best.min(before.elapsed());
    }
    println!("{name:<44} {:>9.1} ns", best.as_nanos() as f64 / units as f64);
}

/// Binary functions on scalars, as the CPU's kernels treat them.
fn binary(f: fn(i64, i64) -> i64) -> Option<Arc<dyn Kernel>> {
    fun(move |ctx| {
        let a = ctx.input(0)?.scalar_bits(INT.dtype).unwrap() as i64;
        let b = ctx.input(1)?.scalar_bits(INT.dtype).unwrap() as i64;
        ctx.set_output(0, int(f(a, b)));
        Ok(())
    })
}

fn chain(length: usize) -> Builder {
    let mut b = Builder::new();
    let (mut x, one) = (b.arg(), b.constant(ROOT, 1));
    for _ in 0..length {
        x = out(b.op(ROOT, &[x, one], binary(i64::wrapping_add)));
    }
    b.ret(x);
    b
}

fn wide(width: usize) -> Builder {
    let mut b = Builder::new();
    let x = b.arg();
    for _ in 0..width {
        b.op(
            ROOT,
            &[x],
            fun(|ctx| {
                let bits = ctx.input(0)?.scalar_bits(INT.dtype).unwrap();
                ctx.set_output(0, int((bits as f64).sqrt() as i64));
                Ok(())
            }),
        );
    }
    b.ret(x);
    b
}

fn empty(b: &mut Builder, after: Option<usize>, count: usize) {
    for i in 0..count {
        let node = b.node("NoOp", NodeKind::Op, ROOT, &[], 0, None);
        let before = if i == 0 { after } else { None };
        if let Some(before) = before {
            b.node_mut(node).controls = vec![control(flowmill_runtime::plan::PlanNodeId(before as u32))];
        }
    }
}

fn empty_chain(length: usize) -> Builder {
    let mut b = Builder::new();
    for i in 0..length {
        empty(&mut b, i.checked_sub(1), 1);
    }
    b
}

/// A binary tree from its root to its leaves.
fn empty_tree(nodes: usize) -> Builder {
    let mut b = Builder::new();
    for i in 0..nodes {
        empty(&mut b, if i == 0 { None } else { Some((i - 1) / 2) }, 1);
    }
    b
}

/// One node, then all but two, then one.
fn empty_wide(nodes: usize) -> Builder {
    let mut b = Builder::new();
    empty(&mut b, None, 1);
    let middle = 1..nodes - 1;
    middle.clone().for_each(|_| empty(&mut b, Some(0), 1));
    let last = b.node("NoOp", NodeKind::Op, ROOT, &[], 0, None);
    b.node_mut(last).controls = middle.map(|i| control(flowmill_runtime::plan::PlanNodeId(i as u32))).collect();
    b
}

/// `while i < n { i += 1; a *= c }`, with the limit as a loop invariant.
fn while_loop(k: u32) -> Builder {
    let mut b = Builder::new();
    let (n, zero, one) = (b.arg(), b.constant(ROOT, 0), b.constant(ROOT, 1));
    let exits = b.while_loop(
        ROOT,
        k,
        &[zero, one],
        |b, f, v| {
            let n = b.invariant(ROOT, f, n);
            out(b.op(f, &[v[0], n], binary(|i, n| i64::from(i < n))))
        },
        |b, f, v| {
            let (step, factor) = (b.constant(f, 1), b.constant(f, 3));
            vec![out(b.op(f, &[v[0], step], binary(i64::wrapping_add))), out(b.op(f, &[v[1], factor], binary(i64::wrapping_mul)))]
        },
    );
    b.ret(exits[0]);
    b.ret(exits[1]);
    b
}

fn nested(k: u32) -> Builder {
    let mut b = Builder::new();
    let (n, m, zero) = (b.arg(), b.arg(), b.constant(ROOT, 0));
    let less = || binary(|i, n| i64::from(i < n));
    let exits = b.while_loop(
        ROOT,
        k,
        &[zero, zero],
        |b, f, v| {
            let n = b.invariant(ROOT, f, n);
            out(b.op(f, &[v[0], n], less()))
        },
        |b, f, v| {
            let m = b.invariant(ROOT, f, m);
            let (start, step) = (b.constant(f, 0), b.constant(f, 1));
            let inner = b.while_loop(
                f,
                k,
                &[start, v[1]],
                |b, g, w| {
                    let m = b.invariant(f, g, m);
                    out(b.op(g, &[w[0], m], less()))
                },
                |b, g, w| {
                    let step = b.constant(g, 1);
                    vec![out(b.op(g, &[w[0], step], binary(i64::wrapping_add))), out(b.op(g, &[w[1], w[0]], binary(i64::wrapping_add)))]
                },
            );
            vec![out(b.op(f, &[v[0], step], binary(i64::wrapping_add))), inner[1]]
        },
    );
    b.ret(exits[1]);
    b
}

/// Two kernels of 20 µs in a loop's body that do not need each other.
fn two_slow(k: u32) -> Builder {
    let slow: Arc<dyn Kernel> = Arc::new(Fun(
        |ctx: &mut KernelContext<'_>| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(20) {
                std::hint::spin_loop();
            }
            let x = ctx.input(0)?.scalar_bits(INT.dtype).unwrap() as i64;
            ctx.set_output(0, int(x + 1));
            Ok(())
        },
        Cost::Expensive,
    ));
    let mut b = Builder::new();
    let (n, zero) = (b.arg(), b.constant(ROOT, 0));
    let exits = b.while_loop(
        ROOT,
        k,
        &[zero, zero],
        |b, f, v| {
            let n = b.invariant(ROOT, f, n);
            out(b.op(f, &[v[0], n], binary(|i, n| i64::from(i < n))))
        },
        |b, f, v| {
            vec![
                out(b.node("Slow", NodeKind::Op, f, &[v[0]], 1, Some(slow.clone()))),
                out(b.node("Slow", NodeKind::Op, f, &[v[1]], 1, Some(slow))),
            ]
        },
    );
    b.ret(exits[1]);
    b
}

fn main() {
    let Ok(pool) = flowmill_runtime::intra_op::pool(2) else { return eprintln!("the system gives no threads") };
    measure("run of one addition", 1, &chain(1).plan(), &[1], ONE_THREAD);
    measure("chain of 1,000 additions, a node", 1000, &chain(1000).plan(), &[1], ONE_THREAD);
    measure("chain of 10,000 additions, a node", 10_000, &chain(10_000).plan(), &[1], ONE_THREAD);
    measure("wide graph of 1,000 functions, a node", 1000, &wide(1000).plan(), &[2], ONE_THREAD);
    measure("chain of 1,000 empty nodes, a node", 1000, &empty_chain(1000).plan(), &[], ONE_THREAD);
    measure("tree of 1,023 empty nodes, a node", 1023, &empty_tree(1023).plan(), &[], ONE_THREAD);
    measure("tree of 65,535 empty nodes, a node", 65_535, &empty_tree(65_535).plan(), &[], ONE_THREAD);
    for threads in [1, 2] {
        let options = RunOptions { num_threads: threads, pool: (threads > 1).then_some(&pool), ..ONE_THREAD };
        let s = if threads > 1 { "s" } else { "" };
        measure(&format!("chain of empty nodes, 10,000, {threads} thread{s}, a node"), 10_000, &empty_chain(10_000).plan(), &[], options);
        measure(&format!("wide of empty nodes, 10,000, {threads} thread{s}, a node"), 10_000, &empty_wide(10_000).plan(), &[], options);
    }
    for k in [1, 10, 32] {
        measure(&format!("while loop, k = {k}, an iteration"), 1000, &while_loop(k).plan(), &[1000], ONE_THREAD);
    }
    for k in [1, 10] {
        measure(&format!("nested loops 20 x 20, k = {k}, an iteration"), 400, &nested(k).plan(), &[20, 20], ONE_THREAD);
        measure(&format!("inner loop of 2 trips, k = {k}, an outer one"), 200, &nested(k).plan(), &[200, 2], ONE_THREAD);
    }
    for threads in [1, 2] {
        let options = RunOptions { num_threads: threads, pool: (threads > 1).then_some(&pool), ..ONE_THREAD };
        measure(&format!("two kernels of 20 us, {threads} threads, an iteration"), 50, &two_slow(1).plan(), &[50], options);
    }
}
