//! Work shared by threads, and several steps at once.

use crate::support::*;
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{FrameId, NodeKind};
use flowmill_runtime::{Cost, Kernel, KernelContext};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

const ROOT: FrameId = FrameId::ROOT;

fn expensive(f: impl Fn(&mut KernelContext<'_>) -> flowmill_tensor::Result<()> + Send + Sync + 'static) -> Arc<dyn Kernel> {
    Arc::new(Fun(f, Cost::Expensive))
}

#[test]
fn two_expensive_kernels_run_at_the_same_time() {
    // Each waits for the other to have started: only two threads can get through.
    let started = Arc::new(AtomicUsize::new(0));
    let kernel = {
        let started = started.clone();
        expensive(move |ctx| {
            started.fetch_add(1, Ordering::SeqCst);
            eventually(|| started.load(Ordering::SeqCst) >= 2);
            ctx.set_output(0, int(1));
            Ok(())
        })
    };
    let mut b = Builder::new();
    let nodes = [0; 2].map(|_| b.node("Big", NodeKind::Op, ROOT, &[], 1, Some(kernel.clone())));
    let sum = b.add(ROOT, out(nodes[0]), out(nodes[1]));
    b.ret(out(sum));
    assert_eq!(run_with(&b.plan(), &[], all_options()[1]).unwrap(), [Some(2)]);
}

#[test]
fn one_thread_means_the_calling_one() {
    let seen: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let kernel = {
        let seen = seen.clone();
        expensive(move |_| {
            seen.lock().unwrap().push(std::thread::current().id());
            Ok(())
        })
    };
    let mut b = Builder::new();
    for _ in 0..20 {
        b.node("Big", NodeKind::Op, ROOT, &[], 0, Some(kernel.clone()));
    }
    let plan = b.plan();
    run_with(&plan, &[], RunOptions { num_threads: 1, ..RunOptions::default() }).unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 20);
    assert!(seen.iter().all(|&id| id == std::thread::current().id()));
}

#[test]
fn behaviour_34_many_steps_of_one_plan_at_once() {
    let mut b = Builder::new();
    let (n, zero) = (b.arg(), b.constant(ROOT, 0));
    let slow = expensive(|ctx| {
        let x = ctx.input(0)?.to_scalar::<i64>()?;
        ctx.set_output(0, int(std::hint::black_box((0..200).fold(x, |a, _| a.wrapping_add(1))) - 199));
        Ok(())
    });
    let exits = b.while_loop(
        ROOT,
        4,
        &[zero, zero],
        |b, f, v| {
            let n = b.invariant(ROOT, f, n);
            out(b.op(f, &[v[0], n], pure(|x| i64::from(x[0] < x[1]))))
        },
        |b, f, v| {
            let i = b.node("Big", NodeKind::Op, f, &[v[0]], 1, Some(slow.clone()));
            let a = b.node("Big", NodeKind::Op, f, &[v[1]], 1, Some(slow));
            vec![out(i), out(a)]
        },
    );
    b.ret(exits[0]);
    b.ret(exits[1]);
    let plan = b.plan();
    std::thread::scope(|scope| {
        for t in 0..6 {
            let plan = &plan;
            scope.spawn(move || {
                for i in 0..30 {
                    let n = t * 7 + i;
                    assert_eq!(run_with(plan, &[n], all_options()[t as usize % 3]).unwrap(), [Some(n), Some(n)]);
                }
            });
        }
    });
}

#[test]
fn kernels_may_run_plans_and_fork() {
    let mut inner = Builder::new();
    let x = inner.arg();
    let kernel = expensive(|ctx| {
        let x = ctx.input(0)?.to_scalar::<i64>()?;
        let (a, b) = flowmill_runtime::intra_op::join(|| x * 2, || x * 3);
        ctx.set_output(0, int(a + b));
        Ok(())
    });
    let parts: Vec<_> = (0..4).map(|_| inner.node("Big", NodeKind::Op, ROOT, &[x], 1, Some(kernel.clone()))).collect();
    let all: Vec<_> = parts.iter().map(|&p| out(p)).collect();
    let sum = inner.op(ROOT, &all, pure(|x| x.iter().sum()));
    inner.ret(out(sum));
    let inner = inner.plan();

    let mut outer = Builder::new();
    let x = outer.arg();
    let call = expensive(move |ctx| {
        let results = inner.run(ctx.device_step(), vec![ctx.take(0)?], RunOptions::default())?;
        ctx.set_output(0, results[0].clone().unwrap());
        Ok(())
    });
    let calls: Vec<_> = (0..8).map(|_| out(outer.node("Call", NodeKind::Op, ROOT, &[x], 1, Some(call.clone())))).collect();
    let sum = outer.op(ROOT, &calls, pure(|x| x.iter().sum()));
    outer.ret(out(sum));
    let plan = outer.plan();
    for _ in 0..20 {
        for options in all_options() {
            assert_eq!(run_with(&plan, &[3], options).unwrap(), [Some(8 * 4 * 15)]);
        }
    }
}

/// A kernel that waits for its pieces while it holds a lock: what its thread runs meanwhile must not be a node that wants the lock.
#[test]
fn a_lock_held_while_a_kernel_forks_is_safe() {
    fn work(depth: u32) -> i64 {
        if depth == 0 {
            return std::hint::black_box((0..300).sum::<i64>()) - 44849;
        }
        let (a, b) = flowmill_runtime::intra_op::join(|| work(depth - 1), || work(depth - 1));
        a + b
    }
    let total = Arc::new(Mutex::new(0));
    let kernel = {
        let total = total.clone();
        expensive(move |ctx| {
            let mut total = total.lock().unwrap();
            *total += work(5);
            ctx.set_output(0, int(1));
            Ok(())
        })
    };
    let mut b = Builder::new();
    let nodes: Vec<_> = (0..12).map(|_| out(b.node("Big", NodeKind::Op, ROOT, &[], 1, Some(kernel.clone())))).collect();
    let sum = b.op(ROOT, &nodes, pure(|x| x.iter().sum()));
    b.ret(out(sum));
    let plan = b.plan();
    std::thread::scope(|scope| {
        for t in 0..4 {
            let (plan, pool) = (&plan, pool());
            scope.spawn(move || {
                for _ in 0..25 {
                    // On the calling thread, or moved to the pool as steps are: `install` would let a step begin inside of a kernel.
                    let pool = (t > 0).then_some(pool);
                    let sum = run_with(plan, &[], RunOptions { pool, ..RunOptions::default() });
                    assert_eq!(sum.unwrap(), [Some(12)]);
                }
            });
        }
    });
    assert_eq!(*total.lock().unwrap(), 4 * 25 * 12 * 32);
}
